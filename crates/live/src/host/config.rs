// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a kernel was built with.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::PathBuf;

use flate2::read::GzDecoder;

use crate::tree::Tree;

/// No configuration is longer than a few hundred kilobytes.
const MOST_BYTES: u64 = 16 << 20;

/// The configuration that a kernel was built with, if anyone kept it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Config {
    /// The file it was read from, as seen from the root; `None` if there is none.
    pub path: Option<PathBuf>,
    /// Options that are set, without `CONFIG_`.
    options: BTreeMap<String, String>,
}

impl Config {
    /// Reads the configuration of the kernel `release`: what it says itself, else what its package left.
    pub(super) fn read(tree: &Tree, release: &str) -> Self {
        let plain = |path: &str| fs::read_to_string(tree.path(path)).ok();
        let files = [format!("boot/config-{release}"), format!("lib/modules/{release}/config")];
        let packed = || Some(("proc/config.gz".to_owned(), unpacked(tree, "proc/config.gz")?));
        let text = packed().or_else(|| files.into_iter().find_map(|path| plain(&path).map(|text| (path, text))));
        text.map_or_else(Self::default, |(path, text)| Self::parse(PathBuf::from("/").join(path), &text))
    }

    /// The configuration in a file's text.
    pub(crate) fn parse(path: PathBuf, text: &str) -> Self {
        let options = text.lines().filter_map(|line| line.strip_prefix("CONFIG_")?.split_once('='));
        let options = options.map(|(name, value)| (name.to_owned(), value.trim().to_owned())).collect();
        Self { path: Some(path), options }
    }

    /// Whether the kernel was built with `option` (`SCHED_CLASS_EXT`), as a module or not; `None` if nobody knows.
    pub fn has(&self, option: &str) -> Option<bool> {
        self.path.as_ref()?;
        Some(self.options.get(option).is_some_and(|value| value == "y" || value == "m"))
    }
}

fn unpacked(tree: &Tree, path: &str) -> Option<String> {
    let mut text = String::new();
    let file = File::open(tree.path(path)).ok()?;
    GzDecoder::new(file).take(MOST_BYTES).read_to_string(&mut text).ok()?;
    Some(text)
}
