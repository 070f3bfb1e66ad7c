// SPDX-License-Identifier: MIT OR Apache-2.0
//! Machine descriptions (TOML, schema 1; `docs/machines.md`) read into a [`Machine`].
//!
//! Top to bottom: `reader` gives tables whose keys `schema` knows and whose numbers are within a `range`; one module
//! per table turns them into rows (`tables` has all that `clusters` refer to); `numbering`, `topology` and `reference`
//! make the machine of them; `configuration` narrows it; `draft` is the whole way. [`values`] lists what a description says, value
//! by value. The first mistake ends the reading, with its place in the file.

mod boost;
mod cluster;
mod clusters;
mod configuration;
mod core_type;
mod cpu_list;
mod draft;
mod idle;
mod memory;
mod nodes;
mod numbering;
mod opp;
mod package;
mod provenance;
mod range;
mod reader;
mod reference;
pub mod schema;
mod spec;
mod tables;
mod topology;
pub mod values;

use std::path::{Path, PathBuf};

use toml::de::DeTable;

use self::draft::Draft;
use self::reader::{File, Table};
use self::spec::Spec;
use super::Machine;
use crate::input::InputError;

/// Most CPUs of one machine, as `CONFIG_NR_CPUS` on x86.
const MAX_CPUS: u32 = 8192;

impl Machine {
    /// Reads a machine: `NAME` of a bundled one or the path of a file (with a `/` or ending in `.toml`), and after a
    /// colon the name of one of its configurations.
    ///
    /// # Errors
    /// The first mistake, with its place and what was expected; or that there is no such machine or file.
    pub fn load(spec: &str) -> Result<Self, InputError> {
        Description::load(spec)?.machine()
    }

    /// The file that [`Machine::load`] reads; `None` for a bundled machine.
    pub fn file(spec: &str) -> Option<PathBuf> {
        Spec::parse(spec).file().map(Path::to_owned)
    }

    /// Reads the description `text`, the content of `path`, of the machine `name`.
    ///
    /// # Errors
    /// The first mistake, with its place and what was expected.
    pub fn parse(name: &str, path: &Path, text: &str, configuration: Option<&str>) -> Result<Self, InputError> {
        read_draft(path, text)?.finish(name, path, configuration)
    }
}

/// The text of a machine's description, and what is asked of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Description {
    /// What the machine is called: the name of a bundled one, or the file's stem.
    pub name: String,
    /// The file, for messages.
    pub path: PathBuf,
    /// Content of the file.
    pub text: String,
    /// The configuration that is asked for.
    pub configuration: Option<String>,
}

impl Description {
    /// Reads what [`Machine::load`] reads, without a look at what it says.
    ///
    /// # Errors
    /// There is no such machine or file.
    pub fn load(spec: &str) -> Result<Self, InputError> {
        let spec = Spec::parse(spec);
        let (path, text) = spec.read()?;
        let configuration = spec.configuration.map(str::to_owned);
        Ok(Self { name: spec.name.to_owned(), path, text, configuration })
    }

    /// The machine that is described.
    ///
    /// # Errors
    /// The first mistake, with its place and what was expected.
    pub fn machine(&self) -> Result<Machine, InputError> {
        Machine::parse(&self.name, &self.path, &self.text, self.configuration.as_deref())
    }
}

/// The names and titles of the configurations of the description `text`, in the order of the file.
///
/// # Errors
/// As [`Machine::parse`].
pub fn configurations(path: &Path, text: &str) -> Result<Vec<(String, String)>, InputError> {
    Ok(read_draft(path, text)?.configuration_titles())
}

fn read_draft(path: &Path, text: &str) -> Result<Draft, InputError> {
    let file = File { path, text };
    let entries = parse_toml(file)?;
    Draft::read(&Table::of_entries(file, "the file".to_owned(), &schema::DOCUMENT, &entries, 0)?)
}

fn parse_toml<'a>(file: File<'a>) -> Result<DeTable<'a>, InputError> {
    let entries = DeTable::parse(file.text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        file.error(at, format!("not TOML: {}", error.message().replace('\n', "; ")))
    })?;
    Ok(entries.into_inner())
}
