// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files of sysfs: one value each.

use std::fs;
use std::path::{Path, PathBuf};

/// The files below a root.
#[derive(Debug)]
pub(super) struct Sysfs {
    root: PathBuf,
}

impl Sysfs {
    pub(super) fn new(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// The text of a file below `/sys`; `None` if it cannot be read, or is empty.
    pub(super) fn text(&self, path: &str) -> Option<String> {
        let text = fs::read_to_string(self.root.join("sys").join(path)).ok()?;
        Some(text.trim().to_owned()).filter(|text| !text.is_empty())
    }

    /// A file of a CPU.
    pub(super) fn cpu_text(&self, cpu: usize, path: &str) -> Option<String> {
        self.text(&format!("devices/system/cpu/cpu{cpu}/{path}"))
    }

    pub(super) fn cpu_number(&self, cpu: usize, path: &str) -> Option<u64> {
        self.cpu_text(cpu, path)?.parse().ok()
    }

    /// A list of CPUs of a CPU.
    pub(super) fn cpu_list(&self, cpu: usize, path: &str) -> Option<Vec<usize>> {
        list(&self.cpu_text(cpu, path)?)
    }

    /// The names in a folder, sorted.
    pub(super) fn names(&self, path: &str) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.root.join("sys").join(path)) else { return Vec::new() };
        let mut names: Vec<String> = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
        names.sort();
        names
    }
}

/// `0-3,8` as the kernel writes lists (or `0 1 2`, as cpufreq does); `None` for anything else.
pub(crate) fn list(text: &str) -> Option<Vec<usize>> {
    let mut all = Vec::new();
    for part in text.split([',', ' ']).filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        // No kernel has more CPUs (NR_CPUS).
        if last > 1 << 16 {
            return None;
        }
        all.extend(first..=last);
    }
    Some(all)
}
