// SPDX-License-Identifier: GPL-2.0-only
//! Where the reports of finished runs are kept: below the user's cache folder, unless the environment says otherwise.

use std::env;
use std::fs::{self, File};
use std::io::{self, Read, Seek, Take};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use clap::Args;
use nix::unistd::geteuid;
use tandem_experiments::{Digest, Store, memory};
use tandem_simulator::simulation::Bpf;

use crate::failure::Failure;

/// The folder of the store; `off`: none.
const FOLDER: &str = "TANDEM_STORE";
/// The size of the store.
const SIZE: &str = "TANDEM_STORE_SIZE";
/// Bytes of a store whose size nobody says: 1 GiB.
const DEFAULT_SIZE: u64 = 1 << 30;
/// The file of this program.
const PROGRAM: &str = "/proc/self/exe";

/// Bytes at the beginning of a program's file that its program headers are in.
const HEAD: u64 = 4096;
/// The type of a program header whose segment is loaded.
const PT_LOAD: u64 = 1;

/// The option of the commands that run many simulations.
#[derive(Debug, Args)]
pub struct StoreOption {
    /// Run everything again, whatever the store of finished runs has (TANDEM_STORE says where that is)
    #[arg(long)]
    pub fresh: bool,
}

/// Where reports are kept, and how many.
#[derive(Debug, Clone)]
pub struct Place {
    /// The folder.
    pub folder: PathBuf,
    /// Bytes that the reports may have.
    pub limit: u64,
    /// Whether the user named the folder: then there must be one.
    pub named: bool,
    /// How BPF programs run in the runs that are kept and looked for.
    pub bpf: Bpf,
}

impl Place {
    /// The place that the environment of this process says; `None` where there is none.
    ///
    /// # Errors
    /// `TANDEM_STORE_SIZE` is no size.
    pub fn of_process() -> Result<Option<Self>, Failure> {
        let limit = memory::size_of(SIZE)?.unwrap_or(DEFAULT_SIZE);
        let bpf = Bpf::default();
        let path = |name: &str| env::var_os(name).map(PathBuf::from);
        if let Some(folder) = path(FOLDER).filter(|folder| !folder.as_os_str().is_empty()) {
            return Ok((folder != Path::new("off")).then_some(Self { folder, limit, named: true, bpf }));
        }
        let folder = below_cache(path("XDG_CACHE_HOME"), path("HOME")).filter(|folder| is_own(folder));
        Ok(folder.map(|folder| Self { folder, limit, named: false, bpf }))
    }

    /// The same for runs whose BPF programs run so. The reports are the same, but who asks for another way than usual doubts
    /// just that, and must not be given what came out of the usual one.
    #[must_use]
    pub fn of_runs_by(self, bpf: Bpf) -> Self {
        Self { bpf, ..self }
    }

    /// Opens the store; `None` where it cannot be had.
    ///
    /// # Errors
    /// The user named the folder, and it cannot be made.
    pub fn open(&self) -> Result<Option<Store>, Failure> {
        let open = || -> io::Result<Store> {
            let mut program = Digest::of_reader(loaded(File::open(PROGRAM)?)?)?;
            if self.bpf != Bpf::default() {
                program = Digest::of(format!("{program} {}", self.bpf).as_bytes());
            }
            Store::open(&self.folder, self.limit, program)
        };
        match open() {
            Ok(store) => Ok(Some(store)),
            Err(error) if self.named => {
                let folder = self.folder.display();
                let help = format!("{FOLDER}=off goes without a store");
                Err(Failure::Options(format!("{FOLDER}={folder}: cannot be made: {error}\n  help: {help}")))
            }
            Err(_) => Ok(None),
        }
    }
}

/// The beginning of a program's file, up to the end of what is loaded of it: debug information stands behind that, several times
/// as long, and nothing that a program does follows from it. All of a file that has another form.
fn loaded(mut file: File) -> io::Result<Take<File>> {
    let mut head = Vec::new();
    file.by_ref().take(HEAD).read_to_end(&mut head)?;
    file.rewind()?;
    Ok(file.take(end_of_loaded(&head).unwrap_or(u64::MAX)))
}

/// Where the last loaded segment of a file ends that begins with `head`; `None` unless the file is a 64-bit little-endian ELF and
/// all of its program headers are in `head`.
fn end_of_loaded(head: &[u8]) -> Option<u64> {
    let number = |at: usize, bytes: usize| -> Option<u64> {
        let field = head.get(at..at.checked_add(bytes)?)?;
        Some(field.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    };
    if !head.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    // Fields of `Elf64_Ehdr` and `Elf64_Phdr`, elf(5): e_phoff, e_phentsize, e_phnum; p_type, p_offset, p_filesz.
    let (table, size, count) =
        (usize::try_from(number(32, 8)?).ok()?, number(54, 2)? as usize, number(56, 2)? as usize);
    let mut end = None;
    for entry in 0..count {
        let at = table.checked_add(entry * size)?;
        if number(at, 4)? == PT_LOAD {
            end = end.max(Some(number(at.checked_add(8)?, 8)?.checked_add(number(at.checked_add(32)?, 8)?)?));
        }
    }
    end
}

/// The store's place below the cache folder, which the specification of base directories wants to be an absolute path.
fn below_cache(cache: Option<PathBuf>, home: Option<PathBuf>) -> Option<PathBuf> {
    let absolute = |path: &PathBuf| path.is_absolute();
    let cache = cache.filter(absolute).or_else(|| Some(home.filter(absolute)?.join(".cache")))?;
    Some(cache.join("tandem/runs"))
}

/// Whether the nearest folder that there is belongs to this user: `sudo` may leave the home of another.
fn is_own(folder: &Path) -> bool {
    let nearest = folder.ancestors().find_map(|folder| fs::metadata(folder).ok());
    nearest.is_some_and(|metadata| metadata.uid() == geteuid().as_raw())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_kept_below_the_cache_folder_and_else_below_that_of_the_home() {
        let path = |text: &str| Some(PathBuf::from(text));
        assert_eq!(below_cache(path("/c"), path("/home/ada")), path("/c/tandem/runs"));
        assert_eq!(below_cache(None, path("/home/ada")), path("/home/ada/.cache/tandem/runs"));
        // A relative path is invalid, says the specification, and to be ignored.
        assert_eq!(below_cache(path("c"), path("/home/ada")), path("/home/ada/.cache/tandem/runs"));
        assert_eq!(below_cache(path(""), path("")), None);
        assert_eq!(below_cache(None, None), None);
    }

    #[test]
    fn a_programs_file_counts_up_to_the_end_of_what_is_loaded() {
        // A header of 64 bytes, two program headers of 56 behind it: a note, and a segment of 0x30 bytes at 0x200.
        let mut head = vec![0; 64 + 2 * 56];
        head[..6].copy_from_slice(b"\x7fELF\x02\x01");
        (head[32], head[54], head[56]) = (64, 56, 2);
        (head[64], head[64 + 9], head[64 + 32]) = (4, 0x10, 0xff);
        (head[120], head[120 + 9], head[120 + 32]) = (1, 0x02, 0x30);
        assert_eq!(end_of_loaded(&head), Some(0x230));
        assert_eq!(end_of_loaded(&head[..150]), None, "not all headers are there");
        head[120] = 4;
        assert_eq!(end_of_loaded(&head), None, "nothing is loaded");
        assert_eq!(end_of_loaded(b"#!/bin/sh\n"), None);
        let length = io::copy(&mut loaded(File::open(PROGRAM).unwrap()).unwrap(), &mut io::sink()).unwrap();
        assert!((1 << 16..fs::metadata(PROGRAM).unwrap().len()).contains(&length));
    }

    #[test]
    fn what_is_no_folder_and_was_not_named_is_no_store_and_no_failure() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        let place = |named| Place { folder: file.join("runs"), limit: 1, named, bpf: Bpf::default() };
        assert!(place(false).open().unwrap().is_none());
        let message = place(true).open().unwrap_err().to_string();
        assert!(message.contains("TANDEM_STORE=off goes without a store"), "{message}");
        assert!(is_own(&folder.path().join("a/b/c")));
    }
}
