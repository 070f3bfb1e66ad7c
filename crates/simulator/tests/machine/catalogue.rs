// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every bundled machine, in every configuration, is one that the simulator can run.

use std::path::{Path, PathBuf};
use std::{env, fs};

use super::invariants;
use tandem_simulator::machine::{Machine, catalogue, description};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../machines")
}

/// The descriptions in `machines/`, as the file system has them.
fn described() -> Vec<String> {
    let files = fs::read_dir(folder()).expect("the repository has a folder `machines`");
    let paths = files.map(|entry| entry.expect("its entries can be read").path());
    let descriptions = paths.filter(|path| path.extension().is_some_and(|extension| extension == "toml"));
    let mut names: Vec<String> =
        descriptions.map(|path| path.file_stem().unwrap_or_default().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn the_catalogue_holds_every_description() {
    assert_eq!(catalogue::names().collect::<Vec<_>>(), described());
    for name in described() {
        let file = fs::read_to_string(folder().join(format!("{name}.toml"))).expect("it can be read");
        assert_eq!(catalogue::text(&name), Some(file.as_str()), "{name} is not the file's text");
    }
}

#[test]
fn every_machine_loads_in_every_configuration() {
    let mut mistakes = Vec::new();
    let mut loaded = 0;
    for name in catalogue::names() {
        let path = PathBuf::from(format!("machines/{name}.toml"));
        let text = catalogue::text(name).expect("a name of the catalogue has a text");
        let configurations = description::configurations(&path, text).unwrap_or_default();
        let specs = configurations.iter().map(|(configuration, _)| format!("{name}:{configuration}"));
        for spec in std::iter::once(name.to_owned()).chain(specs) {
            match Machine::load(&spec) {
                Ok(machine) => {
                    assert_eq!(machine.name, spec);
                    invariants::check(&machine, &spec);
                }
                Err(mistake) => mistakes.push(mistake.to_string()),
            }
            loaded += 1;
        }
    }
    assert!(mistakes.is_empty(), "{}", mistakes.join("\n"));
    assert!(loaded >= described().len());
}
