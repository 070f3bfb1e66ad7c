// SPDX-License-Identifier: GPL-2.0-only
//! Where the reports of finished runs are kept: below the user's cache folder, unless the environment says otherwise.

use std::env;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use clap::Args;
use nix::unistd::geteuid;
use tandem_experiments::{Digest, Store};

use crate::failure::Failure;
use crate::memory;

/// The folder of the store; `off`: none.
const FOLDER: &str = "TANDEM_STORE";
/// The size of the store.
const SIZE: &str = "TANDEM_STORE_SIZE";
/// Bytes of a store whose size nobody says: 1 GiB.
const DEFAULT_SIZE: u64 = 1 << 30;
/// The file of this program.
const PROGRAM: &str = "/proc/self/exe";

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
}

impl Place {
    /// The place that the environment of this process says; `None` where there is none.
    ///
    /// # Errors
    /// `TANDEM_STORE_SIZE` is no size.
    pub fn of_process() -> Result<Option<Self>, Failure> {
        let limit = memory::size_of(SIZE)?.unwrap_or(DEFAULT_SIZE);
        let path = |name: &str| env::var_os(name).map(PathBuf::from);
        if let Some(folder) = path(FOLDER).filter(|folder| !folder.as_os_str().is_empty()) {
            return Ok((folder != Path::new("off")).then_some(Self { folder, limit, named: true }));
        }
        let folder = below_cache(path("XDG_CACHE_HOME"), path("HOME")).filter(|folder| is_own(folder));
        Ok(folder.map(|folder| Self { folder, limit, named: false }))
    }

    /// Opens the store; `None` where it cannot be had.
    ///
    /// # Errors
    /// The user named the folder, and it cannot be made.
    pub fn open(&self) -> Result<Option<Store>, Failure> {
        let open = || -> io::Result<Store> {
            let program = Digest::of_reader(File::open(PROGRAM)?)?;
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
    fn what_is_no_folder_and_was_not_named_is_no_store_and_no_failure() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        let place = |named| Place { folder: file.join("runs"), limit: 1, named };
        assert!(place(false).open().unwrap().is_none());
        let message = place(true).open().unwrap_err().to_string();
        assert!(message.contains("TANDEM_STORE=off goes without a store"), "{message}");
        assert!(is_own(&folder.path().join("a/b/c")));
    }
}
