// SPDX-License-Identifier: MIT OR Apache-2.0
//! What belongs to the package beside this library: the files of the schedulers that it carries, and its own file.
//!
//! The objects are GPL-2.0-only. They are read as files, as any other object is, and are no part of this library.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use pyo3::prelude::*;
use tandem_experiments::memory;
use tandem_experiments::{CarriedObject, Digest, FairOrCarried, LinuxWithin, Schedulers};
use tandem_simulator::simulation::{Bpf, SchedExt, Scheduler};

use crate::errors::OrRaise;

/// The names of the schedulers that the package carries.
pub const NAMES: [&str; 3] = ["tandem", "single", "o1"];
/// Schedulers that are kept open, so that a run need not read and compile them again.
const KEPT: usize = 32;

/// The files of a scheduler.
struct Files {
    name: &'static str,
    object: Vec<u8>,
    sidecar: String,
}

/// What the package has beside this library.
struct Package {
    files: Vec<Files>,
    library: PathBuf,
    digest: OnceLock<Digest>,
    open: Mutex<Vec<(String, Scheduler)>>,
}

static PACKAGE: OnceLock<Package> = OnceLock::new();

/// Says where the package's schedulers are, and this library's own file.
///
/// # Errors
/// `OSError`: a file is missing.
#[pyfunction]
#[pyo3(name = "_begin")]
pub fn begin(schedulers: PathBuf, library: PathBuf) -> PyResult<()> {
    let read = |name: &'static str| -> PyResult<Files> {
        let object = fs::read(schedulers.join(format!("{name}.bpf.o")))?;
        Ok(Files { name, object, sidecar: fs::read_to_string(schedulers.join(format!("{name}.toml")))? })
    };
    let files = NAMES.into_iter().map(read).collect::<PyResult<Vec<_>>>()?;
    PACKAGE.get_or_init(|| Package { files, library, digest: OnceLock::new(), open: Mutex::default() });
    Ok(())
}

/// The SHA-256 of this library's file: runs of another build have other keys.
///
/// # Errors
/// `OSError`: the file cannot be read.
pub fn program() -> PyResult<Digest> {
    let package = PACKAGE.get();
    let library = package.map_or(Path::new("tandem"), |package| &package.library);
    if let Some(digest) = package.and_then(|package| package.digest.get()) {
        return Ok(*digest);
    }
    let digest = Digest::of_reader(File::open(library)?)?;
    Ok(package.map_or(digest, |package| *package.digest.get_or_init(|| digest)))
}

/// The simulator, within the memory of this process that `TANDEM_MEMORY` says.
///
/// # Errors
/// `TANDEM_MEMORY` has no size.
pub fn linux() -> PyResult<&'static LinuxWithin> {
    static LINUX: OnceLock<LinuxWithin> = OnceLock::new();
    if let Some(linux) = LINUX.get() {
        return Ok(linux);
    }
    let memory = memory::budget().or_raise()?;
    Ok(LINUX.get_or_init(|| LinuxWithin { memory, bpf: Bpf::default() }))
}

/// `fair`, the schedulers of the package, and objects by path.
#[derive(Debug, Clone, Copy)]
pub struct OfPackage;

impl Schedulers for OfPackage {
    fn named(&self, text: &str) -> Result<Scheduler, Box<dyn std::error::Error + Send + Sync>> {
        let files: &[Files] = PACKAGE.get().map_or(&[], |package| &package.files);
        let object =
            |files: &'static Files| CarriedObject { name: files.name, object: &files.object, sidecar: &files.sidecar };
        let carried: Vec<CarriedObject<'_>> =
            PACKAGE.get().map_or(&[][..], |it| &it.files).iter().map(object).collect();
        let schedulers = FairOrCarried(&carried);
        // The file of an object may have changed since: only what is carried is kept.
        let name = text.split(',').next().unwrap_or_default();
        if files.iter().all(|files| files.name != name) {
            return Ok(schedulers.scheduler(text)?);
        }
        let mut open = PACKAGE.get().ok_or("no package")?.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, scheduler)) = open.iter().find(|(known, _)| known == text) {
            return Ok(scheduler.clone());
        }
        let scheduler = schedulers.scheduler(text)?;
        if open.len() == KEPT {
            open.remove(0);
        }
        open.push((text.to_owned(), scheduler.clone()));
        Ok(scheduler)
    }
}

/// The contents of an object's files, for a computer that does not have them.
pub struct Contents {
    /// The object.
    pub object: Vec<u8>,
    /// The file beside it.
    pub sidecar: Option<String>,
}

/// Objects by path from these contents, and whatever else [`OfPackage`] knows.
pub struct Shipped<'a>(pub &'a dyn Fn(&str) -> Option<&'a Contents>);

impl Schedulers for Shipped<'_> {
    fn named(&self, text: &str) -> Result<Scheduler, Box<dyn std::error::Error + Send + Sync>> {
        let contents = SchedExt::path_in(text).and_then(|path| (self.0)(path));
        let Some(Contents { object, sidecar }) = contents else { return OfPackage.named(text) };
        Ok(Scheduler::SchedExt(Arc::new(SchedExt::open_as(text, object, sidecar.as_deref())?)))
    }
}
