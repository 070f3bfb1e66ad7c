// SPDX-License-Identifier: MIT OR Apache-2.0
//! How a user names a machine and one of its configurations.

use std::path::{Path, PathBuf};

use tandem_loader::bounded::Limit;

use crate::input::{InputError, valid_names};
use crate::machine::catalogue;

/// What a user asks for: `NAME`, `PATH`, `NAME:CONFIGURATION` or `PATH:CONFIGURATION`.
pub(super) struct Spec<'a> {
    /// As written, without the configuration.
    machine: &'a str,
    /// The machine's name: that of a bundled one, or the file's stem.
    pub(super) name: &'a str,
    pub(super) configuration: Option<&'a str>,
}

impl<'a> Spec<'a> {
    pub(super) fn parse(spec: &'a str) -> Self {
        // A path may hold colons itself; a bundled name does not.
        let whole = is_path(spec) && (spec.ends_with(".toml") || Path::new(spec).is_file());
        let (machine, configuration) = match spec.rsplit_once(':') {
            Some((machine, configuration)) if !whole => (machine, Some(configuration)),
            _ => (spec, None),
        };
        let stem = Path::new(machine).file_stem().and_then(|stem| stem.to_str());
        let name = if is_path(machine) { stem.unwrap_or(machine) } else { machine };
        Self { machine, name, configuration }
    }

    /// The file that is read; `None` for a bundled machine.
    pub(super) fn file(&self) -> Option<&'a Path> {
        is_path(self.machine).then(|| Path::new(self.machine))
    }

    /// The path for messages, and the text.
    pub(super) fn read(&self) -> Result<(PathBuf, String), InputError> {
        let path = Path::new(self.machine);
        if is_path(self.machine) {
            let text = Limit::DESCRIPTION
                .read_text(path)
                .map_err(|error| InputError::whole(path, format!("cannot read the machine description: {error}")))?;
            return Ok((path.to_owned(), text));
        }
        match catalogue::text(self.machine) {
            Some(text) => Ok((Path::new("machines").join(format!("{}.toml", self.machine)), text.to_owned())),
            None => Err(unknown_machine(self.machine)),
        }
    }
}

fn is_path(machine: &str) -> bool {
    machine.contains('/') || machine.ends_with(".toml")
}

fn unknown_machine(name: &str) -> InputError {
    let names: Vec<&str> = catalogue::names().collect();
    let help = valid_names(name, &names);
    let path = Path::new(name);
    let error = InputError::whole(path, "no bundled machine has this name");
    if path.is_file() { error.help(format!("to read the file, write `./{name}`; {help}")) } else { error.help(help) }
}
