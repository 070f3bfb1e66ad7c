// SPDX-License-Identifier: MIT OR Apache-2.0
//! A scheduler as a user chooses it: an object file, the file beside it, variables to set.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tandem_bpf_vm::LinkCache;
use tandem_bpf_vm::compile::{CodeCache, When};
use tandem_bpf_vm::memory::Account;
use tandem_bpf_vm::object::{Object, ObjectError};
use tandem_bpf_vm::open::{OpenObject, Setting, SettingError};
use tandem_loader::bounded::Limit;
use tandem_loader::file::LoaderFile;

use super::{Request, SchedulerError, ops};
use crate::input::{InputError, nearest};
use crate::kernel::params::KernelParameters;
use crate::scx::abi::profile::Profile;
use crate::scx::abi::types::CPUMASK_BITS;
use crate::scx::kfuncs;

/// A sched_ext object, and how to load it.
#[derive(Debug, Clone)]
pub struct SchedExt {
    /// The object's file; of one that a program carries, its name there.
    pub path: PathBuf,
    /// What it is called: the name of the file, and what was set behind it.
    pub name: String,
    /// The object.
    pub object: Arc<Object>,
    /// What its own loader would do, from the TOML file beside it.
    pub sidecar: Option<LoaderFile>,
    /// Global variables to set, by name.
    pub settings: Vec<(String, String)>,
    /// The kernel version to run it on; `None`: the sidecar's, or the one that the object was built for.
    pub profile: Option<Profile>,
    /// What was compiled of it, for all runs of this process.
    pub code: Arc<CodeCache>,
    /// What was linked of it, likewise.
    pub linked: Arc<LinkCache>,
}

impl PartialEq for SchedExt {
    fn eq(&self, other: &Self) -> bool {
        self.path == other.path
            && self.name == other.name
            && self.settings == other.settings
            && self.profile == other.profile
    }
}

impl Eq for SchedExt {}

/// Why a file is no scheduler that could be loaded.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum OpenError {
    /// The file cannot be read.
    #[error("{}: cannot be read: {why}{}", path.display(), did_you_mean(.nearest))]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        why: String,
        /// A file beside it whose name is alike.
        nearest: Option<String>,
    },
    /// The file is no BPF object.
    #[error("{}: {why}", path.display())]
    Object {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: ObjectError,
    },
    /// The file is a BPF object, but holds no scheduler.
    #[error("{}: {why}", path.display())]
    Scheduler {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: Box<SchedulerError>,
    },
    /// The file beside it has a mistake, or sets what the object does not have.
    #[error("{0}")]
    Sidecar(#[from] InputError),
    /// What stands behind the path is no setting.
    #[error("`{0}` is no setting: expected NAME=VALUE behind the scheduler, as in ./scx_simple.bpf.o,fifo_sched=true")]
    Setting(String),
    /// One setting is given two values in the same place.
    #[error("{name} cannot be both {first} and {second}")]
    Twice {
        /// The setting.
        name: String,
        /// One value.
        first: String,
        /// The other.
        second: String,
    },
    /// A variable cannot be set so.
    #[error("{}: {why}", path.display())]
    Variable {
        /// The file.
        path: PathBuf,
        /// What is wrong with the setting.
        why: SettingError,
    },
}

fn did_you_mean(name: &Option<String>) -> String {
    name.as_ref().map_or_else(String::new, |name| format!("; did you mean {name}?"))
}

impl SchedExt {
    /// The path that a text begins with, up to a `,` or `+` or the end; `None` if the text is no path: it has no `/`, and
    /// nothing up to there ends in `.o`.
    ///
    /// A path may hold these characters itself: of several readings the longest that is a file counts.
    pub fn path_in(text: &str) -> Option<&str> {
        let ends = || text.match_indices([',', '+']).map(|(at, _)| at).chain([text.len()]);
        let prefixes = || ends().map(|end| &text[..end]).filter(|prefix| !prefix.is_empty());
        let object = prefixes().find(|prefix| prefix.ends_with(".o"));
        if object.is_none() && !text.split('=').next().unwrap_or_default().contains('/') {
            return None;
        }
        let is_file = |prefix: &&str| std::fs::metadata(prefix).is_ok_and(|metadata| !metadata.is_dir());
        prefixes().rfind(is_file).or(object).or_else(|| prefixes().next())
    }

    /// Reads `PATH[,NAME=VALUE]...`, and the TOML file beside the object if there is one: `scx_central.toml` beside
    /// `scx_central.bpf.o`.
    ///
    /// # Errors
    /// [`OpenError`].
    pub fn open(text: &str) -> Result<Self, OpenError> {
        let path = Self::path_in(text).unwrap_or(text);
        let behind = &text[path.len()..];
        let settings = settings_in(behind)?;
        let path = Path::new(path);
        let bytes = read(path)?;
        Self::new(path, &bytes, behind, settings, LoaderFile::beside(path)?)
    }

    /// What [`SchedExt::open`] makes of `text` where the object's file has these bytes, and the file beside it this text: for
    /// who has them from another computer.
    ///
    /// # Errors
    /// [`OpenError`].
    pub fn open_as(text: &str, object: &[u8], sidecar: Option<&str>) -> Result<Self, OpenError> {
        let path = Self::path_in(text).unwrap_or(text);
        let behind = &text[path.len()..];
        let settings = settings_in(behind)?;
        let path = Path::new(path);
        let sidecar = sidecar.map(|text| LoaderFile::parse(&LoaderFile::path_beside(path), text)).transpose()?;
        Self::new(path, object, behind, settings, sidecar)
    }

    /// An object that a program carries, under a name of its own, with the text of the file about it; `behind` is what
    /// stands behind the name: `[,NAME=VALUE]...`.
    ///
    /// # Errors
    /// [`OpenError`].
    pub fn embedded(name: &str, object: &[u8], sidecar: &str, behind: &str) -> Result<Self, OpenError> {
        let path = Path::new(name);
        let sidecar = LoaderFile::parse(&LoaderFile::path_beside(path), sidecar)?;
        Self::new(path, object, behind, settings_in(behind)?, Some(sidecar))
    }

    fn new(
        path: &Path,
        object: &[u8],
        behind: &str,
        settings: Vec<(String, String)>,
        sidecar: Option<LoaderFile>,
    ) -> Result<Self, OpenError> {
        let mut object = Object::parse(object).map_err(|why| OpenError::Object { path: path.to_owned(), why })?;
        sidecar.as_ref().map_or(Ok(()), |file| file.choose_scheduler(&mut object))?;
        ops::find(&object).map_err(|why| OpenError::Scheduler { path: path.to_owned(), why: Box::new(why) })?;
        let name = display_name(path) + behind;
        let scheduler = Self {
            path: path.to_owned(),
            name,
            object: Arc::new(object),
            sidecar,
            settings,
            profile: None,
            code: Arc::default(),
            linked: Arc::default(),
        };
        scheduler.check()?;
        Ok(scheduler)
    }

    /// The same with more settings, made before its own.
    ///
    /// # Errors
    /// One is none of the object's variables, or no value of its type.
    pub fn with_settings(&self, mut settings: Vec<(String, String)>) -> Result<Self, OpenError> {
        agree(&settings)?;
        settings.extend(self.settings.iter().cloned());
        let scheduler = Self { settings, ..self.clone() };
        scheduler.check()?;
        Ok(scheduler)
    }

    /// The same, whose file is called by more of its path than the last part.
    #[must_use]
    pub fn called(&self, file: &str) -> Self {
        let behind = self.name.strip_prefix(&display_name(&self.path)).unwrap_or_default();
        Self { name: printable(file) + behind, ..self.clone() }
    }

    /// How to load it into a kernel with these parameters, whose memory `account` pays for; it is compiled when
    /// `compiled` says.
    pub(crate) fn request<'a>(
        &'a self,
        parameters: &KernelParameters,
        account: &'a Account,
        compiled: Option<When>,
    ) -> Request<'a> {
        Request {
            settings: &self.settings,
            sidecar: self.sidecar.as_ref(),
            profile: self.profile,
            kfuncs: kfuncs::number,
            account,
            memory_limit: parameters.bpf_memory_mib << 20,
            budget: parameters.bpf_budget,
            run_budget: parameters.bpf_run_budget,
            code: compiled.map(|when| (&*self.code, when)),
            linked: &self.linked,
        }
    }

    /// Whether a user may set a variable of this name, or of what comes before a `.` or `[` in it: of an object that says
    /// which of its variables are settings (`btf_decl_tag`), one of these.
    pub fn has_setting(&self, name: &str) -> bool {
        OpenObject::new(self.object.clone()).is_setting(name)
    }

    /// The variables that a user may want to see or set: not those that loaders fill in, nor texts of messages.
    pub fn variables(&self) -> Vec<Setting> {
        let mut variables = OpenObject::new(self.object.clone()).variables();
        variables.retain(|variable| !is_loaders(&variable.name));
        variables
    }

    /// Where the file beside the object would be.
    pub fn sidecar_path(&self) -> PathBuf {
        Self::path_beside(&self.path)
    }

    /// Where the file beside an object at this path is: `scx_central.toml` beside `scx_central.bpf.o`.
    pub fn path_beside(object: &Path) -> PathBuf {
        LoaderFile::path_beside(object)
    }

    /// Tries the settings, on the largest machine there can be: what remains to go wrong with them are indexes.
    fn check(&self) -> Result<(), OpenError> {
        let mut open = OpenObject::new(self.object.clone());
        if let Some(sidecar) = &self.sidecar {
            sidecar.check(&mut open, CPUMASK_BITS)?;
        }
        for (name, value) in &self.settings {
            open.choose(name, value).map_err(|why| OpenError::Variable { path: self.path.clone(), why })?;
        }
        Ok(())
    }
}

/// The settings behind a scheduler's name: `[,NAME=VALUE]...`.
fn settings_in(behind: &str) -> Result<Vec<(String, String)>, OpenError> {
    let setting = |part: &str| match part.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => Ok((name.trim().to_owned(), value.trim().to_owned())),
        _ => Err(OpenError::Setting(part.to_owned())),
    };
    match behind.strip_prefix(',') {
        Some(settings) => {
            let settings: Vec<_> = settings.split(',').map(setting).collect::<Result<_, _>>()?;
            agree(&settings)?;
            Ok(settings)
        }
        None if behind.is_empty() => Ok(Vec::new()),
        None => Err(OpenError::Setting(behind.to_owned())),
    }
}

/// Settings that are made in one place must not contradict each other.
fn agree(settings: &[(String, String)]) -> Result<(), OpenError> {
    for (at, (name, second)) in settings.iter().enumerate() {
        if let Some((_, first)) = settings[..at].iter().find(|(other, value)| other == name && value != second) {
            let (name, first, second) = (name.clone(), first.clone(), second.clone());
            return Err(OpenError::Twice { name, first, second });
        }
    }
    Ok(())
}

/// Whether loaders fill in the variable themselves, enumerators of the kernel and the record of the exit, or it is the
/// text of a message (`scx_bpf_error`, `bpf_printk`).
fn is_loaders(name: &str) -> bool {
    name.starts_with("__") || name.contains(".___") || matches!(name, "uei" | "uei_dump" | "uei_dump_len")
}

/// The last part of a path.
fn display_name(path: &Path) -> String {
    printable(&path.file_name().unwrap_or(path.as_os_str()).to_string_lossy())
}

/// Without what would control a terminal: others choose the names of files.
fn printable(name: &str) -> String {
    name.chars().map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

fn read(path: &Path) -> Result<Vec<u8>, OpenError> {
    let unreadable = |error: io::Error| {
        let missing = error.kind() == io::ErrorKind::NotFound;
        OpenError::Read {
            path: path.to_owned(),
            why: error.to_string(),
            nearest: missing.then(|| alike(path)).flatten(),
        }
    };
    Limit::OBJECT.read(path).map_err(unreadable)
}

/// The object in the same folder whose name is most like a missing one's.
fn alike(path: &Path) -> Option<String> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let entries = std::fs::read_dir(folder).ok()?;
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name.ends_with(".o"))
        .collect();
    names.sort();
    let wanted = path.file_name()?.to_str()?;
    let found = nearest(wanted, names.iter().map(String::as_str))
        .or_else(|| names.iter().map(String::as_str).find(|name| name.strip_suffix(".bpf.o") == Some(wanted)))?;
    Some(printable(&path.with_file_name(found).to_string_lossy()))
}
