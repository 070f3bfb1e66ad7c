// SPDX-License-Identifier: GPL-2.0-only
//! The papers that the command carries.

use std::path::Path;

use tandem_experiments::Library;

// `PAPERS: &[(&str, &str)]`: paths below `papers/`, ascending, and texts; written by the build script.
include!(concat!(env!("OUT_DIR"), "/papers.rs"));

/// The files of the papers that the command carries.
pub fn bundled() -> Library {
    Library::of_texts(Path::new("papers"), PAPERS.iter().copied())
}
