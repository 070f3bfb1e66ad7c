// SPDX-License-Identifier: MIT OR Apache-2.0
//! What observers are told that want details: why threads wait, where they are queued, who holds what.
//!
//! Without such an observer nothing is gathered.

use super::Engine;
use crate::kernel::sync::WaitsFor;
use crate::kernel::task::{ClassId, Migration, TaskState};
use crate::machine::Machine;
use crate::observer::detail::{Class, Detail, Queue, WaitReason};
use crate::sched::core::Sched;
use crate::units::{CpuId, MSEC, MemoryDomainId, Nanos, TaskId};

/// Shortest span over which the traffic of memory is averaged.
const BANDWIDTH_SPAN: Nanos = MSEC;

/// What is kept to tell details.
#[derive(Debug)]
pub(super) struct Details {
    /// Whether the observer wants them.
    pub wanted: bool,
    /// Whether the scheduler's exit was told.
    exit_told: bool,
    /// When traffic was last told, and how much there was by then, by memory domain.
    traffic: (Nanos, Vec<f64>),
    /// Threads of which was told that their group's limit keeps them from running.
    throttled: Vec<bool>,
}

impl Details {
    /// Nothing has been told of a run on `machine`.
    pub fn new(wanted: bool, machine: &Machine) -> Self {
        Self { wanted, exit_told: false, traffic: (0, vec![0.0; machine.memory_domains.len()]), throttled: Vec::new() }
    }
}

impl From<ClassId> for Class {
    fn from(class: ClassId) -> Self {
        match class {
            ClassId::Dl => Self::Deadline,
            ClassId::Rt => Self::RealTime,
            ClassId::Fair => Self::Fair,
            ClassId::Ext => Self::Ext,
        }
    }
}

impl Engine<'_> {
    /// Tells a detail, if any is wanted.
    #[inline]
    pub(super) fn show(&mut self, detail: impl FnOnce() -> Detail) {
        if self.details.wanted {
            self.observer.detail(self.agenda.now(), &detail());
        }
    }

    /// Tells what a thread's class, priority and weight are.
    pub(super) fn show_scheduling(&mut self, task: TaskId) {
        if self.details.wanted {
            let entry = self.sched.kernel.task(task);
            let (class, priority, weight) = (entry.class.into(), entry.kernel_priority(), entry.weight);
            self.show(|| Detail::Scheduling { task, class, priority, weight });
        }
    }

    /// Tells which CPUs a thread may use.
    pub(super) fn show_affinity(&mut self, task: TaskId) {
        if self.details.wanted {
            let mask = self.sched.kernel.task(task).allowed.as_deref();
            let allowed = mask.map(|mask| mask.iter().collect());
            self.show(|| Detail::Affinity { task, allowed });
        }
    }

    /// Tells that a thread begins to wait.
    pub(super) fn show_wait(&mut self, task: TaskId, what: WaitsFor) {
        if self.details.wanted {
            let owner = match what {
                WaitsFor::Mutex(mutex) => self.shared.sync.owner(mutex),
                _ => None,
            };
            self.show(|| Detail::Waits { task, on: WaitReason::Object(what), owner });
        }
    }

    /// Tells that a thread of one of Linux's own classes is in the run queue of its CPU. Where those of a loaded scheduler
    /// are, sched_ext tells.
    pub(super) fn show_run_queue(&mut self, task: TaskId) {
        if !self.details.wanted {
            return;
        }
        self.show_sched_ext();
        let entry = self.sched.kernel.task(task);
        if !entry.is_ext() {
            let (cpu, depth) = (entry.cpu, self.sched.kernel.rq(entry.cpu).nr_running);
            self.show(|| Detail::Queued { task, queue: Queue::RunQueue(cpu), depth, by: None });
        }
    }

    /// Tells what happened under a loaded scheduler since this was last called.
    pub(super) fn show_sched_ext(&mut self) {
        let Some(scx) = &mut self.sched.ext else { return };
        if scx.state.shown.is_empty() {
            return;
        }
        let details = scx.state.shown.take();
        for detail in &details {
            self.observer.detail(self.agenda.now(), detail);
        }
        if let Some(scx) = &mut self.sched.ext {
            scx.state.shown.put_back(details);
        }
    }

    /// Counts the migrations since this was last called, and tells of them.
    #[inline]
    pub(super) fn count_migrations(&mut self) {
        if !self.sched.kernel.migrated.is_empty() {
            self.count_some_migrations();
        }
    }

    #[inline(never)]
    fn count_some_migrations(&mut self) {
        if self.details.wanted {
            for &Migration { task, from, to } in &self.sched.kernel.migrated {
                self.observer.detail(self.agenda.now(), &Detail::Migrates { task, from, to });
            }
        }
        self.threads.count_migrations(&mut self.sched.kernel.migrated);
    }

    /// Tells how busy `cpu` is as its governor sees it.
    pub(super) fn show_utilisation(&mut self, cpu: CpuId) {
        if self.details.wanted {
            let util = self.sched.cpufreq_util(cpu, 0);
            let util = (util.cfs + util.rt + util.dl).min(crate::units::CAPACITY_SCALE) as u32;
            self.show(|| Detail::Utilisation { cpu, util });
        }
    }

    /// Tells what is left to be told of this instant.
    pub(super) fn show_rest(&mut self) {
        if !self.details.wanted {
            return;
        }
        self.show_sched_ext();
        self.show_exit();
        self.show_throttled();
        self.show_bandwidth();
    }

    /// Tells what happened before a context switch.
    pub(super) fn show_before_switch(&mut self) {
        if self.details.wanted {
            self.show_sched_ext();
            self.show_exit();
            self.count_migrations();
        }
    }

    /// Tells why the loaded scheduler is gone, once.
    fn show_exit(&mut self) {
        let exit = self.sched.scx_exited.as_ref();
        let why = exit.filter(|_| !self.details.exit_told).map(|exit| format!("{}: {}", exit.reason, exit.message));
        self.details.exit_told = exit.is_some();
        if let Some(why) = why {
            self.show(|| Detail::Ejected { why });
        }
    }

    /// Tells which threads wait because their group has used up its limit.
    fn show_throttled(&mut self) {
        let Sched { kernel, fair, ext, .. } = &self.sched;
        if !fair.bandwidth_used() {
            return;
        }
        self.details.throttled.resize(kernel.tasks.len(), false);
        for (task, told) in kernel.tasks.iter().zip(&mut self.details.throttled) {
            let throttled = match task.class {
                _ if task.state != TaskState::Runnable || task.on_cpu => false,
                ClassId::Fair => fair.is_throttled(task.id),
                ClassId::Ext => ext.as_ref().is_some_and(|scx| scx.state.limits.held().contains(task.id)),
                _ => false,
            };
            if std::mem::replace(told, throttled) != throttled {
                self.observer.detail(self.agenda.now(), &Detail::Throttled { task: task.id, throttled });
            }
        }
    }

    /// Tells how fast each memory domain moved bytes, if enough time has passed.
    fn show_bandwidth(&mut self) {
        let (since, now) = (self.details.traffic.0, self.agenda.now());
        if now - since < BANDWIDTH_SPAN {
            return;
        }
        self.details.traffic.0 = now;
        for (index, bytes) in self.running.memory.traffic().enumerate() {
            let before = std::mem::replace(&mut self.details.traffic.1[index], bytes);
            let bytes_per_s = (bytes - before) * 1e9 / (now - since) as f64;
            let domain = MemoryDomainId::at(index);
            self.observer.detail(now, &Detail::Bandwidth { domain, since, bytes_per_s });
        }
    }
}
