// SPDX-License-Identifier: GPL-2.0-only
//! What a command read, and whether it is still the same.

use std::fmt;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tandem_experiments::Digest;
use tandem_simulator::bounded::Limit;
use tandem_simulator::machine::{Machine, catalogue};
use tandem_simulator::simulation::SchedExt;
use tandem_simulator::workload::bundled::BUNDLED;

use crate::bundled;
use crate::files::DASH;
use crate::reproduce::carried_text;

use super::BUNDLED_PAPER;

/// Something that a command read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Input {
    /// What it is to the command.
    pub kind: InputKind,
    /// What the command line calls it: a path, or the name of something bundled.
    pub name: String,
    /// The SHA-256 of its bytes, in hexadecimal digits.
    pub sha256: String,
}

/// What an input is to a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum InputKind {
    /// A machine's description.
    Machine,
    /// A workload.
    Workload,
    /// A scheduler's object.
    Object,
    /// The file beside a scheduler's object.
    LoaderFile,
    /// A file of an experiment or a paper.
    Experiment,
}

impl InputKind {
    /// What its digest is called in a trace.
    pub fn digest_name(self) -> &'static str {
        match self {
            Self::Machine => "machine_sha256",
            Self::Workload => "workload_sha256",
            Self::Object => "object_sha256",
            Self::LoaderFile => "loader_file_sha256",
            Self::Experiment => "experiment_sha256",
        }
    }
}

impl InputKind {
    /// How much is read of it.
    fn limit(self) -> Limit {
        match self {
            Self::Object => Limit::OBJECT,
            Self::Machine | Self::Workload | Self::LoaderFile | Self::Experiment => Limit::DESCRIPTION,
        }
    }
}

impl fmt::Display for InputKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Machine => "machine",
            Self::Workload => "workload",
            Self::Object => "object",
            Self::LoaderFile => "loader file",
            Self::Experiment => "file of the experiment",
        })
    }
}

impl Input {
    /// An input with these bytes.
    pub fn of(kind: InputKind, name: &str, bytes: &[u8]) -> Self {
        Self { kind, name: name.to_owned(), sha256: Digest::of(bytes).to_string() }
    }

    /// The machine that `spec` names; `None` if its file has gone meanwhile.
    pub fn machine(spec: &str) -> Option<Self> {
        Some(Self::of(InputKind::Machine, spec, &content(InputKind::Machine, spec)?))
    }

    /// A scheduler's object, and the file beside it if there is one.
    pub fn scheduler(scheduler: &SchedExt) -> Vec<Self> {
        let read = |kind, path: &Path| {
            let name = path.to_string_lossy();
            Some(Self::of(kind, &name, &content(kind, &name)?))
        };
        let object = read(InputKind::Object, &scheduler.path);
        let beside = scheduler.sidecar.as_ref().and_then(|_| read(InputKind::LoaderFile, &scheduler.sidecar_path()));
        object.into_iter().chain(beside).collect()
    }

    /// What has become of the input; `None` if it is the same.
    pub fn changed(&self) -> Option<String> {
        let Self { kind, name, sha256 } = self;
        if *kind == InputKind::Workload && name == DASH {
            return Some("the workload came through standard input, and is not there any more".to_owned());
        }
        let Some(content) = content(*kind, name) else { return Some(format!("the {kind} {name} cannot be read")) };
        let now = Digest::of(&content).to_string();
        (now != *sha256).then(|| format!("the {kind} {name} has changed: its SHA-256 was {sha256}, and is {now}"))
    }
}

/// The bytes of an input of this name; `None` if they cannot be read.
fn content(kind: InputKind, name: &str) -> Option<Vec<u8>> {
    let path = Path::new(name);
    let carried = match kind {
        InputKind::Machine => match Machine::file(name) {
            Some(file) => return kind.limit().read(&file).ok(),
            None => catalogue::text(name.split(':').next().unwrap_or(name)).map(str::as_bytes),
        },
        InputKind::Workload => {
            BUNDLED.iter().find(|(bundled, _)| *bundled == name && !path.exists()).map(|(_, text)| text.as_bytes())
        }
        InputKind::Object => bundled::named(name).map(|bundled| bundled.object),
        InputKind::LoaderFile => {
            bundled::named(&path.with_extension("").to_string_lossy()).map(|bundled| bundled.sidecar.as_bytes())
        }
        InputKind::Experiment => name.strip_prefix(BUNDLED_PAPER).and_then(carried_text).map(str::as_bytes),
    };
    carried.map(<[u8]>::to_vec).or_else(|| kind.limit().read(path).ok())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::arguments::object;

    #[test]
    fn a_file_that_was_changed_and_one_that_went_are_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("w.json");
        fs::write(&path, "abc").unwrap();
        let input = Input::of(InputKind::Workload, path.to_str().unwrap(), b"abc");
        // FIPS 180-2, appendix B.1.
        assert_eq!(input.sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(input.changed(), None);
        fs::write(&path, "abd").unwrap();
        assert!(input.changed().unwrap().contains("has changed: its SHA-256 was ba7816bf"));
        fs::remove_file(&path).unwrap();
        assert!(input.changed().unwrap().contains("cannot be read"));
    }

    #[test]
    fn what_the_command_carries_is_known_by_its_name() {
        assert_eq!(Input::machine("hikey960").unwrap().changed(), None);
        assert_eq!(Input::machine("precision-490:all-fast").unwrap().changed(), None);
        let inputs = Input::scheduler(&object("tandem,sorted=true").unwrap());
        assert_eq!(
            inputs.iter().map(|input| input.kind).collect::<Vec<_>>(),
            [InputKind::Object, InputKind::LoaderFile]
        );
        assert!(inputs.iter().all(|input| input.changed().is_none()));
        let other = Input { sha256: String::new(), ..inputs[0].clone() };
        assert!(other.changed().is_some());
    }
}
