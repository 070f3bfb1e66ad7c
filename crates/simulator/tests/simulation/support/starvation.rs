// SPDX-License-Identifier: MIT OR Apache-2.0
//! An observer that finds out for how long CPUs idled while fair threads waited and no CPU took one over.
//!
//! Balancing moves one thread to one CPU at a time. With several waiting threads or idle CPUs, a certain one may well
//! have to wait for its turn. What must not last is a standstill: some CPU idles, some fair thread that may use it
//! waits, and no idle CPU takes over any waiting thread.

use std::collections::{BTreeMap, BTreeSet};

use tandem_simulator::machine::Machine;
use tandem_simulator::observer::{Observer, PrevState, TaskInfo};
use tandem_simulator::units::{CpuId, Nanos, TaskId};
use tandem_simulator::workload::Workload;

use super::audit::{allowed, kind_of};

/// Kernel priorities from here on are fair ones.
const FIRST_FAIR: i32 = 100;

/// The waiting threads, the idle CPUs, and the longest standstill.
pub struct Starvation<'r> {
    machine: &'r Machine,
    workload: &'r Workload,
    now: Nanos,
    /// CPUs that each fair thread may use (`None`: all); threads of other classes are missing.
    fair: BTreeMap<TaskId, Option<BTreeSet<u32>>>,
    idle: BTreeSet<CpuId>,
    /// Threads that wait for a CPU, and since when.
    queued: BTreeMap<TaskId, Nanos>,
    /// Whether an idle CPU took over a waiting thread at this instant.
    took_over: bool,
    /// Since when there has been a standstill.
    since: Option<Nanos>,
    /// Length and end of the longest standstill.
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

    /// Looks at the state that an instant left behind, once the instant is over.
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

    fn sched_wakeup(&mut self, now: Nanos, task: TaskId, _target: CpuId, _waker: CpuId) {
        self.advance(now);
        self.queued.entry(task).or_insert(now);
    }
}
