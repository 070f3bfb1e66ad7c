// SPDX-License-Identifier: MIT OR Apache-2.0
//! The files in which a kernel describes itself: one value each, below a root that tests choose.

use std::fs;
use std::path::{Path, PathBuf};

/// The files below a root.
#[derive(Debug)]
pub(crate) struct Tree {
    root: PathBuf,
}

impl Tree {
    pub(crate) fn new(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// Where a file of the root is.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    /// The text of a file; `None` if it cannot be read, or is empty.
    pub(crate) fn text(&self, path: &str) -> Option<String> {
        let text = fs::read_to_string(self.path(path)).ok()?;
        Some(text.trim().to_owned()).filter(|text| !text.is_empty())
    }

    /// The text of a file below `/sys`.
    pub(crate) fn sys(&self, path: &str) -> Option<String> {
        self.text(&format!("sys/{path}"))
    }

    /// A file of a CPU.
    pub(crate) fn cpu_text(&self, cpu: usize, path: &str) -> Option<String> {
        self.sys(&format!("devices/system/cpu/cpu{cpu}/{path}"))
    }

    pub(crate) fn cpu_number(&self, cpu: usize, path: &str) -> Option<u64> {
        self.cpu_text(cpu, path)?.parse().ok()
    }

    /// A list of CPUs of a CPU.
    pub(crate) fn cpu_list(&self, cpu: usize, path: &str) -> Option<Vec<usize>> {
        list(&self.cpu_text(cpu, path)?)
    }

    /// Whether there is a file or a folder below `/sys`.
    pub(crate) fn has_sys(&self, path: &str) -> bool {
        self.path("sys").join(path).exists()
    }

    /// The names in a folder below `/sys`, sorted.
    pub(crate) fn names(&self, path: &str) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.path("sys").join(path)) else { return Vec::new() };
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

/// `0-3,8`, as the kernel writes it, of CPUs in ascending order.
pub(crate) fn list_text(cpus: &[usize]) -> String {
    let runs = cpus.chunk_by(|one, next| one + 1 == *next).filter_map(|run| Some((*run.first()?, *run.last()?)));
    let parts: Vec<String> =
        runs.map(|(first, last)| if first == last { first.to_string() } else { format!("{first}-{last}") }).collect();
    parts.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_cpus_reads_back_as_it_was_written() {
        for (text, cpus) in [("0", vec![0]), ("0-3,8", vec![0, 1, 2, 3, 8]), ("1,3,5-6", vec![1, 3, 5, 6])] {
            assert_eq!((list(text), list_text(&cpus)), (Some(cpus.clone()), text.to_owned()));
        }
        assert_eq!((list("0 1 2"), list("0-x"), list("0-99999999999")), (Some(vec![0, 1, 2]), None, None));
    }
}
