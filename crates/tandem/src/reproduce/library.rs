// SPDX-License-Identifier: GPL-2.0-only
//! The papers that the command carries.

use std::path::Path;

use tandem_experiments::Library;

// `PAPERS: &[(&str, &str)]`: paths below `papers/`, ascending, and texts; written by the build script.
include!(concat!(env!("OUT_DIR"), "/papers.rs"));

/// The text of a file that the command carries, by its path below `papers/`.
pub fn text(path: &str) -> Option<&'static str> {
    PAPERS.iter().find(|(name, _)| *name == path).map(|(_, text)| *text)
}

/// The files of the papers that the command carries.
pub fn bundled() -> Library {
    Library::of_texts(Path::new("papers"), PAPERS.iter().copied())
}
