// SPDX-License-Identifier: GPL-2.0-only
//! The cases of `scenarios/switches/cases.toml`, and what a kernel counted in them.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::recorded;

/// One case. Settings and their defaults are those of `guest/counted/mix.c`, which says what they mean.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    pub name: String,
    /// `fair`, or the name of an object, with settings.
    pub schedulers: Vec<String>,
    #[serde(default = "ten")]
    pub seconds: u64,
    #[serde(default)]
    pub hogs: u64,
    #[serde(default)]
    pub sleepers: u64,
    #[serde(default = "ten_ms")]
    pub period_us: u64,
    #[serde(default)]
    pub step_us: u64,
    #[serde(default = "one_ms")]
    pub run_us: u64,
    #[serde(default)]
    pub pairs: u64,
    #[serde(default = "one_ms")]
    pub turn_us: u64,
    /// Schedulers under which the two are known to differ; docs/fidelity.md says why.
    #[serde(default)]
    pub known: Vec<String>,
}

fn ten() -> u64 {
    10
}

fn ten_ms() -> u64 {
    10_000
}

fn one_ms() -> u64 {
    1_000
}

/// What happened to all threads together, in a second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Counts {
    pub switches: f64,
    pub migrations: f64,
}

impl Case {
    /// All, in the file's order.
    #[track_caller]
    pub fn all() -> Vec<Self> {
        recorded::cases("switches")
    }

    /// What the kernel counted under each scheduler, in order.
    #[track_caller]
    pub fn kernel(&self) -> Vec<Counts> {
        #[derive(Deserialize)]
        struct Recorded {
            case: Case,
            runs: Vec<Run>,
        }
        #[derive(Deserialize)]
        struct Run {
            scheduler: String,
            threads: Vec<(String, u64, u64)>,
        }
        let folder =
            std::env::var_os("SWITCHES").map_or_else(|| recorded::folder("switches").join("kernel"), PathBuf::from);
        let path = folder.join(format!("{}.json", self.name));
        let recorded: Recorded =
            serde_json::from_str(&recorded::read(&path)).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let asked = Self { known: Vec::new(), ..self.clone() };
        assert_eq!(recorded.case, asked, "{}: record it anew", path.display());
        let of = |run: &Run| {
            let per_s = |sum: u64| sum as f64 / self.seconds as f64;
            assert_eq!(run.threads.len() as u64, self.hogs + self.sleepers + 2 * self.pairs, "{}", self.name);
            Counts {
                switches: per_s(run.threads.iter().map(|thread| thread.1).sum()),
                migrations: per_s(run.threads.iter().map(|thread| thread.2).sum()),
            }
        };
        let schedulers: Vec<_> = recorded.runs.iter().map(|run| run.scheduler.clone()).collect();
        assert_eq!(schedulers, self.schedulers, "{}: record it anew", path.display());
        recorded.runs.iter().map(of).collect()
    }
}
