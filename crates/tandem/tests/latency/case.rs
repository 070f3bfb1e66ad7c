// SPDX-License-Identifier: GPL-2.0-only
//! The cases of `scenarios/latency/cases.toml`, and what a kernel did in them.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::recorded;

/// One case. Settings and their defaults are those of `guest/counted/latency.c`, which says what they mean.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    pub name: String,
    /// `fair`, or the name of an object, with settings.
    pub scheduler: String,
    #[serde(default)]
    pub hogs: usize,
    #[serde(default = "one")]
    pub sleepers: u64,
    #[serde(default = "ten_ms")]
    pub period_us: u64,
    #[serde(default)]
    pub run_us: u64,
    #[serde(default = "three_hundred")]
    pub count: usize,
    #[serde(default)]
    pub nice: i32,
    #[serde(default)]
    pub hog_nice: i32,
    #[serde(default)]
    pub slice_us: u64,
    #[serde(default)]
    pub hog_slice_us: u64,
    #[serde(default)]
    pub base_slice_us: u64,
    #[serde(default)]
    pub idle: u32,
    #[serde(default)]
    pub fifo: u32,
    #[serde(default)]
    pub slack_us: u64,
    /// Ticks a second of the kernel.
    #[serde(default = "two_hundred_and_fifty")]
    pub hz: u64,
    /// Why the two differ, where that is known; docs/fidelity.md explains.
    #[serde(default)]
    pub known: Option<String>,
}

fn one() -> u64 {
    1
}

fn ten_ms() -> u64 {
    10_370
}

fn three_hundred() -> usize {
    300
}

fn two_hundred_and_fifty() -> u64 {
    250
}

impl Case {
    /// A tick, microseconds.
    pub fn tick_us(&self) -> f64 {
        1e6 / self.hz as f64
    }

    /// All, in the file's order.
    #[track_caller]
    pub fn all() -> Vec<Self> {
        recorded::cases("latency")
    }

    /// Latencies that the kernel's sleepers had, each in order, microseconds.
    #[track_caller]
    pub fn kernel(&self) -> Vec<Vec<f64>> {
        #[derive(Deserialize)]
        struct Recorded {
            case: Case,
            late_us: Vec<Vec<f64>>,
        }
        let folder =
            std::env::var_os("LATENCY").map_or_else(|| recorded::folder("latency").join("kernel"), PathBuf::from);
        let path = folder.join(format!("{}.json", self.name));
        let recorded: Recorded =
            serde_json::from_str(&recorded::read(&path)).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert_eq!(recorded.case, Self { known: None, ..self.clone() }, "{}: record it anew", path.display());
        recorded.late_us
    }
}
