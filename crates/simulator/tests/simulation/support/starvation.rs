// SPDX-License-Identifier: MIT OR Apache-2.0
//! An observer that finds out for how long a fair thread waited in a queue while a CPU that it may use idled.

use std::collections::BTreeSet;

use tandem_simulator::machine::Machine;
use tandem_simulator::observer::{Observer, PrevState, TaskInfo};
use tandem_simulator::units::{CpuId, Nanos, TaskId};
use tandem_simulator::workload::{TaskSpec, Workload};

use super::audit::{allowed, kind_of};

/// Kernel priorities from here on are fair ones.
const FIRST_FAIR: i32 = 100;

/// Who waits, who idles, and the longest time that both were true at once.
pub struct Starvation<'r> {
    machine: &'r Machine,
    workload: &'r Workload,
    now: Nanos,
    threads: Vec<Waiting>,
    idle: BTreeSet<CpuId>,
    /// Threads that wait for a CPU.
    queued: BTreeSet<TaskId>,
    /// Longest time, who waited, and until when.
    pub worst: (Nanos, TaskId, Nanos),
}

struct Waiting {
    allowed: Option<BTreeSet<u32>>,
    fair: bool,
    /// Since when an allowed CPU has idled without a break while it waited.
    since: Option<Nanos>,
}

impl<'r> Starvation<'r> {
    pub fn new(machine: &'r Machine, workload: &'r Workload) -> Self {
        Self {
            machine,
            workload,
            now: 0,
            threads: Vec::new(),
            idle: machine.online().collect(),
            queued: BTreeSet::new(),
            worst: (0, TaskId(0), 0),
        }
    }

    /// Looks at what an instant left behind, once it is over.
    fn advance(&mut self, now: Nanos) {
        if now == self.now {
            return;
        }
        for (index, thread) in self.threads.iter_mut().enumerate() {
            let id = TaskId::at(index);
            let may = |cpu: &CpuId| thread.allowed.as_ref().is_none_or(|cpus| cpus.contains(&cpu.0));
            let starves = thread.fair && self.queued.contains(&id) && self.idle.iter().any(may);
            thread.since = if starves { thread.since.or(Some(self.now)) } else { None };
            if let Some(since) = thread.since {
                self.worst = self.worst.max((now - since, id, now));
            }
        }
        self.now = now;
    }

    fn kind(&self, name: &str) -> &'r TaskSpec {
        kind_of(self.workload, name)
    }
}

impl Observer for Starvation<'_> {
    fn task_new(&mut self, now: Nanos, task: &TaskInfo) {
        self.advance(now);
        let allowed = allowed(self.machine, self.kind(&task.name));
        self.threads.push(Waiting { allowed, fair: task.priority >= FIRST_FAIR, since: None });
    }

    fn sched_switch(&mut self, now: Nanos, cpu: CpuId, prev: Option<(TaskId, PrevState)>, next: Option<TaskId>) {
        self.advance(now);
        if let Some((task, PrevState::Runnable)) = prev {
            self.queued.insert(task);
        }
        match next {
            Some(task) => {
                self.queued.remove(&task);
                self.idle.remove(&cpu);
            }
            None => _ = self.idle.insert(cpu),
        }
    }

    fn sched_waking(&mut self, now: Nanos, task: TaskId, _target: CpuId, _waker: CpuId) {
        self.advance(now);
        self.queued.insert(task);
    }
}
