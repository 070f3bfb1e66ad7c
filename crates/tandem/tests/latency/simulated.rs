// SPDX-License-Identifier: GPL-2.0-only
//! A case in the simulator.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Map, Value, json};
use tandem_simulator::machine::Machine;
use tandem_simulator::observer::{Observer, PrevState, TaskInfo};
use tandem_simulator::simulation::{Governor, Options, Scheduler, simulate};
use tandem_simulator::units::{CpuId, Nanos, TaskId, USEC};
use tandem_simulator::workload::Workload;

use super::case::Case;
use crate::equal;

/// What a sleeper does between being late and sleeping again: it looks at the clock and calls the kernel.
const CALL_US: u64 = 4;

/// What a tick takes: 2,601 instructions (`guest/paths`) of 2 ns (`-icount shift=1`).
const TICK_COST: Nanos = 5_202;

/// Latencies of each sleeper, in order, microseconds.
#[track_caller]
pub fn latencies(case: &Case, scheduler: &Scheduler, seed: u64) -> Vec<Vec<f64>> {
    let text = workload(case).to_string();
    let workload = Workload::parse(Path::new(&case.name), &text).unwrap_or_else(|error| panic!("{error}"));
    let mut options =
        Options { scheduler: scheduler.clone(), governor: Governor::Performance, seed, ..Options::default() };
    options.kernel.hz = case.hz;
    if case.base_slice_us > 0 {
        options.kernel.base_slice = Some(case.base_slice_us * USEC);
    }
    let mut watch = Watch { case, begins: BTreeMap::new(), due: BTreeMap::new(), late: BTreeMap::new() };
    let report = simulate(&machine(), &workload, &options, &mut watch).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(report.sched_ext.and_then(|scx| scx.exit), None, "{}", case.name);
    let late: Vec<Vec<f64>> = watch.late.into_values().collect();
    assert_eq!(late.len() as u64, case.sleepers, "{}", case.name);
    late
}

/// One CPU on which work takes time, and the tick.
fn machine() -> Machine {
    let mut machine = equal::machine(1);
    machine.costs.tick = TICK_COST;
    machine
}

/// From the start to when a sleeper begins.
fn delay_us(case: &Case, number: u64) -> u64 {
    number * case.period_us / case.sleepers
}

/// As rt-app JSON. A sleeper's n-th due time is n periods after it came.
fn workload(case: &Case) -> Value {
    let mut tasks = Map::new();
    let policy = ["SCHED_OTHER", "SCHED_IDLE", "SCHED_BATCH"][case.idle as usize];
    let mut hog = json!({ "instance": case.hogs, "policy": policy, "priority": case.hog_nice, "run": 100_000 });
    if case.hog_slice_us > 0 {
        hog["dl-runtime"] = json!(case.hog_slice_us);
    }
    if case.hogs > 0 {
        tasks.insert("hog".to_owned(), hog);
    }
    for number in 0..case.sleepers {
        let mut sleeper = json!({
            "delay": delay_us(case, number),
            "policy": "SCHED_OTHER",
            "priority": case.nice,
            "loop": case.count,
            "timer": { "ref": "unique", "period": case.period_us, "mode": "absolute" },
            "run": case.run_us + CALL_US,
        });
        if case.fifo > 0 {
            sleeper["policy"] = json!("SCHED_FIFO");
            sleeper["priority"] = json!(case.fifo);
        }
        if case.slice_us > 0 {
            sleeper["dl-runtime"] = json!(case.slice_us);
        }
        if case.slack_us > 0 {
            sleeper["tandem"] = json!({ "timer_slack_us": case.slack_us });
        }
        tasks.insert(format!("sleeper{number}"), sleeper);
    }
    let seconds = (case.count as u64 + 2) * case.period_us / 1_000_000 + 1;
    json!({ "global": { "duration": seconds }, "tasks": tasks })
}

/// How long after their due times sleepers ran.
#[derive(Debug)]
struct Watch<'a> {
    case: &'a Case,
    /// When each sleeper begins: due times are whole periods later.
    begins: BTreeMap<TaskId, Nanos>,
    /// The due time up to which a sleeper slept, once it has been woken.
    due: BTreeMap<TaskId, Nanos>,
    late: BTreeMap<TaskId, Vec<f64>>,
}

impl Observer for Watch<'_> {
    fn task_new(&mut self, _now: Nanos, task: &TaskInfo) {
        if let Some(number) = task.name.strip_prefix("sleeper").and_then(|number| number.parse().ok()) {
            self.begins.insert(task.id, delay_us(self.case, number) * USEC);
            self.late.insert(task.id, Vec::new());
        }
    }

    fn sched_wakeup(&mut self, now: Nanos, task: TaskId, _target: CpuId, _waker: CpuId) {
        // By the slack of its timer a sleeper is woken later, by less than a period.
        if let Some(begin) = self.begins.get(&task) {
            self.due.insert(task, now - (now - begin) % (self.case.period_us * USEC));
        }
    }

    fn sched_switch(&mut self, now: Nanos, _cpu: CpuId, _prev: Option<(TaskId, PrevState)>, next: Option<TaskId>) {
        let Some(next) = next else { return };
        if let (Some(due), Some(late)) = (self.due.remove(&next), self.late.get_mut(&next)) {
            late.push((now - due) as f64 / USEC as f64);
        }
    }
}
