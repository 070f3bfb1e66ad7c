// SPDX-License-Identifier: GPL-2.0-only
//! The cases of `scenarios/decisions/cases.toml`, and what a kernel decided in them.

use std::path::PathBuf;

use serde::Deserialize;

use crate::recorded;

/// One case: a machine and its states. The file says what its keys mean.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    pub name: String,
    pub sockets: usize,
    pub cores: usize,
    pub threads: usize,
    pub rounds: usize,
    pub period_us: u64,
    pub busy: Vec<u32>,
    pub wakers: Vec<u32>,
    /// `fair`, or the name of an object, with settings.
    pub schedulers: Vec<String>,
    /// Schedulers under which the two are known to differ; docs/fidelity.md says why.
    #[serde(default)]
    pub known: Vec<String>,
}

/// The CPU on which the thread slept, the CPU that it got, and whether it ran there before the next tick; none where the thread was
/// not asleep yet.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
pub struct Wakeup(pub Option<u32>, pub Option<u32>, pub Option<u8>);

/// Wake-ups while the CPUs of a mask had something to do.
#[derive(Debug, Deserialize)]
pub struct State {
    pub busy: u32,
    pub waker: u32,
    pub wakeups: Vec<Wakeup>,
}

impl Case {
    /// All, in the file's order.
    #[track_caller]
    pub fn all() -> Vec<Self> {
        recorded::cases("decisions")
    }

    /// CPUs of the machine.
    pub fn cpus(&self) -> usize {
        self.sockets * self.cores * self.threads
    }

    /// What the kernel decided under each scheduler, in order.
    #[track_caller]
    pub fn kernel(&self) -> Vec<Vec<State>> {
        #[derive(Deserialize)]
        struct Recorded {
            case: Case,
            runs: Vec<Run>,
        }
        #[derive(Deserialize)]
        struct Run {
            scheduler: String,
            states: Vec<State>,
        }
        let folder =
            std::env::var_os("DECISIONS").map_or_else(|| recorded::folder("decisions").join("kernel"), PathBuf::from);
        let path = folder.join(format!("{}.json", self.name));
        let recorded: Recorded =
            serde_json::from_str(&recorded::read(&path)).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let asked = Self { known: Vec::new(), ..self.clone() };
        assert_eq!(Self { known: Vec::new(), ..recorded.case }, asked, "{}: record it anew", path.display());
        let schedulers: Vec<_> = recorded.runs.iter().map(|run| run.scheduler.clone()).collect();
        assert_eq!(schedulers, self.schedulers, "{}: record it anew", path.display());
        recorded.runs.into_iter().map(|run| run.states).collect()
    }
}
