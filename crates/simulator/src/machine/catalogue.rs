// SPDX-License-Identifier: MIT OR Apache-2.0
//! The machines that come with the simulator: the files of `machines/`, embedded when it is built.

// `BUNDLED: &[(&str, &str)]`: names, ascending, and texts; written by the build script.
include!(concat!(env!("OUT_DIR"), "/bundled_machines.rs"));

/// The names of the bundled machines, ascending.
pub fn names() -> impl Iterator<Item = &'static str> {
    BUNDLED.iter().map(|(name, _)| *name)
}

/// The description of the bundled machine `name`; `None` if there is none.
pub fn text(name: &str) -> Option<&'static str> {
    BUNDLED.iter().find(|(bundled, _)| *bundled == name).map(|(_, text)| *text)
}
