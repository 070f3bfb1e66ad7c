// SPDX-License-Identifier: MIT OR Apache-2.0
//! A scheduler as a user chooses it: an object file, the file beside it, variables to set.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tandem_bpf_vm::object::{Object, ObjectError};

use super::sidecar::Sidecar;
use crate::input::InputError;
use crate::scx::abi::profile::Profile;

/// A sched_ext object, and how to load it.
#[derive(Debug, Clone)]
pub struct SchedExt {
    /// How the user named it.
    pub name: String,
    /// The object.
    pub object: Arc<Object>,
    /// What its own loader would do, from the TOML file beside it.
    pub sidecar: Option<Sidecar>,
    /// Global variables to set, by name.
    pub settings: Vec<(String, String)>,
    /// The kernel version to run it on; `None`: the sidecar's, or the one that the object was built for.
    pub profile: Option<Profile>,
}

impl PartialEq for SchedExt {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.settings == other.settings && self.profile == other.profile
    }
}

impl Eq for SchedExt {}

/// Why a file is no scheduler that could be loaded.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum OpenError {
    /// It cannot be read.
    #[error("{}: cannot be read: {why}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        why: String,
    },
    /// It is no BPF object.
    #[error("{}: {why}", path.display())]
    Object {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: ObjectError,
    },
    /// The file beside it has a mistake.
    #[error("{0}")]
    Sidecar(#[from] InputError),
    /// What stands behind the path is no setting.
    #[error(
        "`{0}` is no setting: expected NAME=VALUE behind the object's path, as in ./scx_simple.bpf.o,fifo_sched=true"
    )]
    Setting(String),
}

impl SchedExt {
    /// Reads `PATH[,NAME=VALUE]...`, and the TOML file beside the object if there is one: `scx_central.toml` beside
    /// `scx_central.bpf.o`.
    ///
    /// # Errors
    /// [`OpenError`].
    pub fn open(text: &str) -> Result<Self, OpenError> {
        let mut parts = text.split(',');
        let path = Path::new(parts.next().unwrap_or_default());
        let setting = |part: &str| match part.split_once('=') {
            Some((name, value)) => Ok((name.trim().to_owned(), value.trim().to_owned())),
            None => Err(OpenError::Setting(part.to_owned())),
        };
        let settings = parts.map(setting).collect::<Result<_, _>>()?;
        let bytes = std::fs::read(path).map_err(|error| unreadable(path, &error))?;
        let object = Object::parse(&bytes).map_err(|why| OpenError::Object { path: path.to_owned(), why })?;
        let sidecar = sidecar_of(path)?;
        Ok(Self { name: text.to_owned(), object: Arc::new(object), sidecar, settings, profile: None })
    }

    /// Whether the object has a global variable of this name.
    pub fn has_variable(&self, name: &str) -> bool {
        let name = name.split(['.', '[']).next().unwrap_or(name);
        self.object.data.iter().any(|section| section.variables.iter().any(|variable| variable.name == *name))
    }
}

fn unreadable(path: &Path, error: &io::Error) -> OpenError {
    OpenError::Read { path: path.to_owned(), why: error.to_string() }
}

fn sidecar_of(object: &Path) -> Result<Option<Sidecar>, OpenError> {
    let name = object.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let stem = name.strip_suffix(".o").unwrap_or(&name);
    let stem = stem.strip_suffix(".bpf").unwrap_or(stem);
    let path = object.with_file_name(format!("{stem}.toml"));
    match std::fs::read_to_string(&path) {
        Ok(text) => Ok(Some(Sidecar::parse(&path, &text)?)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(unreadable(&path, &error)),
    }
}
