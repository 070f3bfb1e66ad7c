// SPDX-License-Identifier: GPL-2.0-only
//! The cases of `cases.toml` in `scenarios/switches` and `scenarios/published`, and what a kernel counted in them.

use std::collections::BTreeMap;
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
    pub hog_nice_step: u64,
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

/// What the kernel counted under one scheduler.
#[derive(Debug, Clone, Deserialize)]
pub struct Recorded {
    scheduler: String,
    threads: Vec<Thread>,
    /// How often each program of a loaded scheduler was called, by the first 15 characters of its name.
    #[serde(default)]
    pub calls: BTreeMap<String, u64>,
}

/// A thread's kind, its switches, its migrations, and its CPU time in microseconds where that was recorded.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
enum Thread {
    Timed(#[allow(dead_code, reason = "for readers of the file")] String, u64, u64, u64),
    Counted(#[allow(dead_code, reason = "for readers of the file")] String, u64, u64),
}

impl Thread {
    fn switches(&self) -> u64 {
        match self {
            Self::Timed(_, switches, ..) | Self::Counted(_, switches, _) => *switches,
        }
    }

    fn migrations(&self) -> u64 {
        match self {
            Self::Timed(_, _, migrations, _) | Self::Counted(_, _, migrations) => *migrations,
        }
    }
}

impl Recorded {
    /// All threads together, per second.
    pub fn counts(&self, case: &Case) -> Counts {
        let per_s = |sum: u64| sum as f64 / case.seconds as f64;
        Counts {
            switches: per_s(self.threads.iter().map(Thread::switches).sum()),
            migrations: per_s(self.threads.iter().map(Thread::migrations).sum()),
        }
    }

    /// Each thread's CPU time in percent of one CPU's, in the order of [`Case`]'s members.
    pub fn shares(&self, case: &Case) -> Vec<f64> {
        let share = |thread: &Thread| match thread {
            Thread::Timed(.., us) => *us as f64 / (case.seconds as f64 * 1e4),
            Thread::Counted(..) => panic!("{}: no time was recorded", case.name),
        };
        self.threads.iter().map(share).collect()
    }
}

/// What happened to all threads together, in a second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Counts {
    pub switches: f64,
    pub migrations: f64,
}

impl Case {
    /// What the kernel counted under each scheduler, in order; `folder` is below `scenarios`, unless the environment variable
    /// `elsewhere` names another one.
    #[track_caller]
    pub fn kernel(&self, folder: &str, elsewhere: &str) -> Vec<Recorded> {
        #[derive(Deserialize)]
        struct File {
            case: Case,
            runs: Vec<Recorded>,
        }
        let folder = std::env::var_os(elsewhere).map_or_else(|| recorded::folder(folder).join("kernel"), PathBuf::from);
        let path = folder.join(format!("{}.json", self.name));
        let file: File =
            serde_json::from_str(&recorded::read(&path)).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let asked = Self { known: Vec::new(), ..self.clone() };
        assert_eq!(file.case, asked, "{}: record it anew", path.display());
        for run in &file.runs {
            assert_eq!(run.threads.len() as u64, self.hogs + self.sleepers + 2 * self.pairs, "{}", self.name);
        }
        let schedulers: Vec<_> = file.runs.iter().map(|run| run.scheduler.clone()).collect();
        assert_eq!(schedulers, self.schedulers, "{}: record it anew", path.display());
        file.runs
    }
}
