// SPDX-License-Identifier: MIT OR Apache-2.0
//! An observer that finds out for how long CPUs idled beside fair threads that waited, and nobody did anything about it.
//!
//! Balancing moves one thread to one CPU at a time, so with several of either a certain thread, or a certain CPU, may
//! well have to wait its turn. What must not last is a standstill: some CPU idles, some fair thread that may use it
//! waits, and no idle CPU takes over any waiting thread.

use std::collections::{BTreeMap, BTreeSet};

use tandem_simulator::machine::Machine;
use tandem_simulator::observer::{Observer, PrevState, TaskInfo};
use tandem_simulator::units::{CpuId, Nanos, TaskId};
use tandem_simulator::workload::Workload;

use super::audit::{allowed, kind_of};

/// Kernel priorities from here on are fair ones.
const FIRST_FAIR: i32 = 100;

/// Who waits, who idles, and the longest standstill.
pub struct Starvation<'r> {
    machine: &'r Machine,
    workload: &'r Workload,
    now: Nanos,
    /// CPUs that each thread may use (`None`: all); threads that are not fair are missing.
    fair: BTreeMap<TaskId, Option<BTreeSet<u32>>>,
    idle: BTreeSet<CpuId>,
    /// Threads that wait for a CPU, with the time since when.
    queued: BTreeMap<TaskId, Nanos>,
    /// An idle CPU took over a waiting thread at this instant.
    took_over: bool,
    /// Since when it has been at a standstill.
    since: Option<Nanos>,
    /// The longest standstill, and its end.
    pub worst: (Nanos, Nanos),
}

impl<'r> Starvation<'r> {
    pub fn new(machine: &'r Machine, workload: &'r Workload) -> Self {
        Self {
            machine,
            workload,
            now: 0,
            fair: BTreeMap::new(),
            idle: machine.online().collect(),
            queued: BTreeMap::new(),
            took_over: false,
            since: None,
            worst: (0, 0),
        }
    }

    /// Looks at what an instant left behind, once it is over.
    fn advance(&mut self, now: Nanos) {
        if now == self.now {
            return;
        }
        if std::mem::take(&mut self.took_over) || !self.somebody_starves() {
            self.since = None;
        }
        if self.somebody_starves() {
            let since = *self.since.get_or_insert(self.now);
            self.worst = self.worst.max((now - since, now));
        }
        self.now = now;
    }

    fn somebody_starves(&self) -> bool {
        let may =
            |allowed: &Option<BTreeSet<u32>>, cpu: &CpuId| allowed.as_ref().is_none_or(|set| set.contains(&cpu.0));
        let starves = |allowed| self.idle.iter().any(|cpu| may(allowed, cpu));
        self.queued.keys().filter_map(|task| self.fair.get(task)).any(starves)
    }
}

impl Observer for Starvation<'_> {
    fn task_new(&mut self, now: Nanos, task: &TaskInfo) {
        self.advance(now);
        if task.priority >= FIRST_FAIR {
            self.fair.insert(task.id, allowed(self.machine, kind_of(self.workload, &task.name)));
        }
    }

    fn sched_switch(&mut self, now: Nanos, cpu: CpuId, prev: Option<(TaskId, PrevState)>, next: Option<TaskId>) {
        self.advance(now);
        if let Some((task, PrevState::Runnable)) = prev {
            self.queued.insert(task, now);
        }
        let Some(task) = next else {
            self.idle.insert(cpu);
            return;
        };
        let was_idle = self.idle.remove(&cpu);
        let waited = self.queued.remove(&task).is_some_and(|since| since < now);
        self.took_over |= was_idle && waited;
    }

    fn sched_waking(&mut self, now: Nanos, task: TaskId, _target: CpuId, _waker: CpuId) {
        self.advance(now);
        self.queued.entry(task).or_insert(now);
    }
}
