// SPDX-License-Identifier: GPL-2.0-only
//! Folders of `scenarios` with a list of cases and what a kernel did in them.

use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

/// The folder of `scenarios` with this name.
pub fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios").join(name)
}

/// A file's text.
#[track_caller]
pub fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The cases of a folder, in the order of its `cases.toml`.
#[track_caller]
pub fn cases<C: DeserializeOwned>(name: &str) -> Vec<C> {
    #[derive(serde::Deserialize)]
    struct Cases<C> {
        case: Vec<C>,
    }
    let path = folder(name).join("cases.toml");
    let cases: Cases<C> = toml::from_str(&read(&path)).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    cases.case
}
