// SPDX-License-Identifier: GPL-2.0-only
//! The files in `scenarios`, and what a kernel did in them.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::run::Run;

/// What is compared of the two runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Compared {
    /// CPU time of each thread in the window.
    Shares,
    /// The order in which threads end.
    Order,
    /// For how long limited groups have to wait.
    Throttled,
    /// What each thread makes the scheduler hear.
    Callbacks,
}

/// One file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Stem of the scenario's file.
    #[serde(skip)]
    pub name: String,
    /// What it shows.
    #[serde(rename = "title")]
    _title: String,
    /// CPUs of the machine, equal ones.
    pub cpus: usize,
    /// What does the work in the guest: rt-app unless said otherwise.
    #[serde(default, rename = "player")]
    _player: Option<String>,
    /// What is compared.
    pub compare: Vec<Compared>,
    /// When shares are taken: seconds from the start.
    pub window_s: Option<[f64; 2]>,
    /// `fair`, or the name of an object, with settings.
    pub schedulers: Vec<String>,
    /// Where the two are known to differ.
    #[serde(default, rename = "difference")]
    differences: Vec<Difference>,
    /// rt-app JSON.
    pub workload: String,
}

/// Something known, which docs/fidelity.md explains.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Difference {
    scheduler: String,
    #[serde(rename = "reason")]
    _reason: String,
}

/// The project's root.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[track_caller]
fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

impl Scenario {
    /// All, by name.
    #[track_caller]
    pub fn all() -> Vec<Self> {
        let entries = std::fs::read_dir(root().join("scenarios")).unwrap().map(|entry| entry.unwrap().path());
        let mut paths: Vec<PathBuf> =
            entries.filter(|path| path.extension().is_some_and(|extension| extension == "toml")).collect();
        paths.sort();
        paths.iter().map(|path| Self::read(path)).collect()
    }

    #[track_caller]
    fn read(path: &Path) -> Self {
        let scenario: Self = toml::from_str(&read(path)).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        Self { name, ..scenario }
    }

    /// Whether it says of this scheduler that the two differ.
    pub fn knows(&self, scheduler: &str) -> bool {
        self.differences.iter().any(|difference| difference.scheduler == scheduler)
    }

    /// What the kernel did under the scheduler of this number.
    #[track_caller]
    pub fn kernel(&self, number: usize) -> Run {
        #[derive(Deserialize)]
        struct Recorded {
            runs: Vec<Run>,
        }
        let folder = std::env::var_os("FIDELITY").map_or_else(|| root().join("scenarios/kernel"), PathBuf::from);
        let path = folder.join(format!("{}.json", self.name));
        let recorded: Recorded =
            serde_json::from_str(&read(&path)).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let run = recorded.runs.into_iter().nth(number).unwrap_or_else(|| panic!("{}: too few", path.display()));
        assert_eq!(run.scheduler, self.schedulers[number], "{}: record it anew", path.display());
        run
    }
}
