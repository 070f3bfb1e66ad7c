// SPDX-License-Identifier: MIT OR Apache-2.0
//! The longest waits of a run with their causes: what `tandem why --json` prints.

use serde::{Deserialize, Serialize};

/// The longest waits of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Waits {
    /// The workload's name.
    pub workload: String,
    /// The machine's name, with its configuration.
    pub machine: String,
    /// The scheduler.
    pub scheduler: String,
    /// The governor.
    pub governor: String,
    /// Seed of all random streams.
    pub seed: u64,
    disturbed: bool,
    time_s: f64,
    ejected: Option<String>,
    #[serde(default)]
    warnings: Vec<String>,
    waits: Vec<Wait>,
    locks: Vec<Lock>,
    misses: Vec<Miss>,
    rounds: u64,
    late_rounds: u64,
    wait_causes: Vec<Cause>,
    lock_causes: Vec<Cause>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Cause {
    cause: String,
    count: u64,
    time_s: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Wait {
    task: String,
    cause: String,
    remedy: String,
    since_s: f64,
    waited_s: f64,
    ended: bool,
    class: String,
    start: Start,
    steps: Vec<Step>,
    missing_steps: u64,
    cpu: u32,
    ran_on: Option<u32>,
    ran_instead: Vec<Ran>,
    idle: Vec<Idle>,
    held_s: f64,
    throttled_s: f64,
    overhead: Overhead,
    earlier: Option<Earlier>,
    ejected: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Start {
    how: String,
    #[serde(default)]
    by: Option<String>,
    cpu: u32,
    #[serde(default)]
    from: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Step {
    at_s: f64,
    step: String,
    #[serde(default)]
    cpu: Option<i64>,
    #[serde(default)]
    queue: Option<String>,
    #[serde(default)]
    depth: Option<u32>,
    #[serde(default)]
    callback: Option<String>,
    #[serde(default)]
    callback_cpu: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Ran {
    task: String,
    time_s: f64,
    slowed_s: f64,
    class: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Idle {
    cpu: u32,
    idle_s: f64,
    from_s: f64,
    allowed: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Overhead {
    idle_exit_s: f64,
    switch_s: f64,
    cold_s: f64,
    kernel_s: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Earlier {
    cpu: u32,
    earlier_s: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Lock {
    task: String,
    cause: String,
    remedy: String,
    mutex: String,
    since_s: f64,
    waited_s: f64,
    ended: bool,
    before: u32,
    holders: Vec<Holder>,
    holder_waited_s: f64,
    ran_instead: Vec<Ran>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Holder {
    task: String,
    time_s: f64,
    turns: u32,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Miss {
    task: String,
    cause: String,
    remedy: String,
    due_s: f64,
    late_s: f64,
    ended: bool,
    period_s: f64,
    backlog_s: f64,
    work_s: f64,
    lost_to_clock_s: f64,
    lost_to_cpu_s: f64,
    waited_s: f64,
    overhead: Overhead,
    locked_s: f64,
    for_others_s: f64,
    migrations: u32,
}
