// SPDX-License-Identifier: MIT OR Apache-2.0
//! Workloads in a few words, their runs, and checks of the reports.

use std::collections::BTreeMap;

use tandem_simulator::machine::Machine;
use tandem_simulator::metrics::Report;
use tandem_simulator::observer::{Observer, PrevState, TaskInfo};
use tandem_simulator::simulation::{Governor, Options};
use tandem_simulator::units::{CpuId, Nanos, SEC, TaskId};
use tandem_simulator::workload::Workload;

use crate::common;
pub use crate::common::task;

/// A workload of `tasks`, each `"name" : { ... }` as rt-app writes it.
pub fn workload(tasks: &[String]) -> Workload {
    common::workload(&format!(r#"{{ "tasks" : {{ {} }} }}"#, tasks.join(", ")))
}

/// `count` threads of `application` that never stop running; `more` are further fields of the task.
pub fn spinning(application: &str, count: u32, more: &str) -> String {
    format!(
        r#""{application}" : {{ "instance" : {count}, "tandem" : {{ "application" : "{application}" }},
            "loop" : -1, "run" : 1000000 {more} }}"#
    )
}

/// Options that leave the clock at its highest.
pub fn options(seed: u64, limit: Nanos) -> Options {
    Options { seed, time_limit: Some(limit), governor: Governor::Performance, ..Options::default() }
}

pub fn run_with(machine: &Machine, tasks: &[String], options: &Options) -> Report {
    common::run_with(machine, &workload(tasks), options)
}

/// A run at the highest clock of a bundled machine.
pub fn run(machine: &str, tasks: &[String], seed: u64, secs: u64) -> Report {
    run_with(&Machine::load(machine).unwrap(), tasks, &options(seed, secs * SEC))
}

/// Asserts that `got` is within this share of `expected`.
#[track_caller]
pub fn assert_near(got: f64, expected: f64, tolerance: f64) {
    assert!((got / expected - 1.0).abs() <= tolerance, "{got:.4} is not within {tolerance} of {expected:.4}");
}

/// Where each thread was put on a CPU, and when.
#[derive(Debug, Default)]
pub struct Places {
    names: BTreeMap<TaskId, String>,
    runs: BTreeMap<TaskId, Vec<(Nanos, CpuId)>>,
}

impl Observer for Places {
    fn task_new(&mut self, _now: Nanos, task: &TaskInfo) {
        self.names.insert(task.id, task.name.clone());
    }

    fn sched_switch(&mut self, now: Nanos, cpu: CpuId, _prev: Option<(TaskId, PrevState)>, next: Option<TaskId>) {
        if let Some(task) = next {
            self.runs.entry(task).or_default().push((now, cpu));
        }
    }
}

impl Places {
    /// Watches a run of these tasks.
    pub fn of(machine: &Machine, tasks: &[String], options: &Options) -> Self {
        Self::of_workload(machine, &workload(tasks), options)
    }

    /// Watches a run of this workload.
    pub fn of_workload(machine: &Machine, workload: &Workload, options: &Options) -> Self {
        let mut places = Self::default();
        common::watch(machine, workload, options, &mut places);
        places
    }

    /// The CPU that each thread whose name begins with `name` was on last at `time`.
    pub fn at(&self, name: &str, time: Nanos) -> Vec<CpuId> {
        let threads = self.names.iter().filter(|(_, thread)| thread.starts_with(name)).map(|(task, _)| task);
        let place =
            |task: &TaskId| self.runs.get(task)?.iter().rev().find(|(when, _)| *when <= time).map(|(_, cpu)| *cpu);
        threads.filter_map(place).collect()
    }

    /// Every CPU that a thread was put on from `time` on.
    pub fn since(&self, name: &str, time: Nanos) -> Vec<CpuId> {
        let task = self.names.iter().find(|(_, thread)| *thread == name).map(|(task, _)| *task).unwrap();
        self.runs[&task].iter().filter(|(when, _)| *when >= time).map(|(_, cpu)| *cpu).collect()
    }
}

/// Counts the CPUs that are equal in `key`, for each value of the key.
pub fn counts<K: Ord>(cpus: &[CpuId], key: impl Fn(CpuId) -> K) -> BTreeMap<K, usize> {
    let mut counts = BTreeMap::new();
    for cpu in cpus {
        *counts.entry(key(*cpu)).or_default() += 1;
    }
    counts
}
