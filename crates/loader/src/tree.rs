// SPDX-License-Identifier: MIT OR Apache-2.0
//! The files in which a kernel describes itself: one value each, below a root that tests choose.

use std::fs;
use std::path::{Path, PathBuf};

use crate::cpus::CpuList;

/// The files below a root.
#[derive(Debug)]
pub struct Tree {
    root: PathBuf,
}

impl Tree {
    /// The files below `root`: `/` for the running kernel.
    pub fn new(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// Where a file of the root is.
    pub fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    /// The text of a file; `None` if it cannot be read, or is empty.
    pub fn text(&self, path: &str) -> Option<String> {
        let text = fs::read_to_string(self.path(path)).ok()?;
        Some(text.trim().to_owned()).filter(|text| !text.is_empty())
    }

    /// The text of a file below `/sys`.
    pub fn sys(&self, path: &str) -> Option<String> {
        self.text(&format!("sys/{path}"))
    }

    /// A file of a CPU.
    pub fn cpu_text(&self, cpu: usize, path: &str) -> Option<String> {
        self.sys(&format!("devices/system/cpu/cpu{cpu}/{path}"))
    }

    /// The number in a file of a CPU; `None` if it has none.
    pub fn cpu_number(&self, cpu: usize, path: &str) -> Option<u64> {
        self.cpu_text(cpu, path)?.parse().ok()
    }

    /// A list of CPUs of a CPU.
    pub fn cpu_list(&self, cpu: usize, path: &str) -> Option<Vec<usize>> {
        list(&self.cpu_text(cpu, path)?)
    }

    /// Whether there is a file or a folder below `/sys`.
    pub fn has_sys(&self, path: &str) -> bool {
        self.path("sys").join(path).exists()
    }

    /// The names in a folder below `/sys`, sorted.
    pub fn names(&self, path: &str) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.path("sys").join(path)) else { return Vec::new() };
        let mut names: Vec<String> = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
        names.sort();
        names
    }
}

/// The CPUs of a list, ascending; `None` if it is none.
pub fn list(text: &str) -> Option<Vec<usize>> {
    Some(CpuList::parse(text)?.iter().collect())
}
