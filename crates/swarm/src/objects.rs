// SPDX-License-Identifier: MIT OR Apache-2.0
//! The schedulers that cases load: compiled objects with the files beside them.

use std::io;
use std::path::Path;

use tandem_simulator::simulation::SchedExt;

/// The schedulers, the most harmless first: cases name them by their place here.
const NAMES: [&str; 9] =
    ["scx_simple", "single", "little", "o1", "tandem", "scx_qmap", "scx_flatcg", "scx_central", "faulty"];

/// A scheduler that can be loaded.
#[derive(Debug, Clone)]
pub struct Object {
    /// What it is called.
    pub name: &'static str,
    /// The object's bytes.
    pub bytes: Vec<u8>,
    /// The text of the file beside it.
    pub sidecar: String,
    /// What can be set, and to what.
    pub settings: Vec<Variable>,
}

/// A variable of a scheduler that can be set.
#[derive(Debug, Clone)]
pub struct Variable {
    /// The name of the variable.
    pub name: String,
    /// Values to set it to.
    pub values: Values,
}

/// Values of a variable.
#[derive(Debug, Clone)]
pub enum Values {
    /// One of these texts.
    Named(Vec<String>),
    /// A number in this range.
    Range(i64, i64),
}

/// All schedulers.
#[derive(Debug, Clone)]
pub struct Objects(pub Vec<Object>);

impl Objects {
    /// Reads the objects of a folder.
    ///
    /// # Errors
    /// One is missing, or cannot be read as a scheduler.
    pub fn read(folder: &Path) -> io::Result<Self> {
        NAMES.into_iter().map(|name| read(folder, name)).collect::<io::Result<_>>().map(Self)
    }
}

fn read(folder: &Path, name: &'static str) -> io::Result<Object> {
    let path = folder.join(format!("{name}.bpf.o"));
    let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
    let bytes = std::fs::read(&path).map_err(named)?;
    let sidecar = std::fs::read_to_string(path.with_file_name(format!("{name}.toml"))).unwrap_or_default();
    let scheduler = SchedExt::embedded(name, &bytes, &sidecar, "").map_err(io::Error::other)?;
    let set_by_loader = |name: &str| sidecar.contains(&format!("\n{name} = "));
    let variables = scheduler.variables();
    // Of an object that says which of its variables are settings, the others cannot be set.
    let some_are_settings = variables.iter().any(|variable| variable.tags.is_some());
    let constants = variables.into_iter().filter(|variable| variable.section.starts_with(".rodata"));
    let can_be_set = constants.filter(|variable| variable.tags.is_some() || !some_are_settings);
    let settings = can_be_set.filter(|variable| !set_by_loader(&variable.name)).filter_map(|variable| {
        let range = variable.tags.as_ref().and_then(|tags| tags.range);
        let values = match (&variable.type_name[..], range, variable.size) {
            (_, Some((least, most)), _) => Values::Range(i64::try_from(least).ok()?, i64::try_from(most).ok()?),
            _ if !variable.names.is_empty() => Values::Named(variable.names.clone()),
            (name, None, _) if name.contains("bool") => Values::Named(vec!["true".to_owned(), "false".to_owned()]),
            (name, None, 4 | 8) if !name.contains('[') && !name.contains("struct") => Values::Range(0, 1_000_000),
            _ => return None,
        };
        Some(Variable { name: variable.name, values })
    });
    let settings = settings.collect();
    Ok(Object { name, bytes, sidecar, settings })
}
