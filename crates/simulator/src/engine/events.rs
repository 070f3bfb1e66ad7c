// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kinds of events, and the slots of the queue that stand for them.

use crate::units::{CpuId, PerformanceDomainId, TaskId};

/// What the slots of the event queue stand for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slots {
    pub cpus: usize,
    pub domains: usize,
}

/// An event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Event {
    /// What runs on a CPU is through with its segment.
    Run(CpuId),
    /// The scheduler tick.
    Tick(CpuId),
    /// A new clock takes effect.
    Clock(PerformanceDomainId),
    /// What the scheduler ticks of this instant left to be done (`SCHED_SOFTIRQ`).
    Softirq,
    /// Fair tasks have waited long enough for real-time ones, or had their share.
    FairServer,
    /// A deadline task gets new budget, or another of the class's timers is due.
    Deadline,
    /// A timer of the loaded scheduler is due, or its watchdog.
    SchedExt,
    /// A cgroup comes, goes or gets another weight.
    Cgroup,
    /// A CPU comes or goes.
    Hotplug,
    /// The time limit.
    End,
    /// A thread's sleep is over.
    Timer(TaskId),
}

impl Slots {
    pub fn run(&self, cpu: CpuId) -> usize {
        cpu.index()
    }

    pub fn tick(&self, cpu: CpuId) -> usize {
        self.cpus + cpu.index()
    }

    pub fn clock(&self, domain: PerformanceDomainId) -> usize {
        2 * self.cpus + domain.index()
    }

    pub fn fair_server(&self) -> usize {
        2 * self.cpus + self.domains
    }

    pub fn softirq(&self) -> usize {
        self.fair_server() + 1
    }

    pub fn deadline(&self) -> usize {
        self.softirq() + 1
    }

    pub fn sched_ext(&self) -> usize {
        self.deadline() + 1
    }

    pub fn cgroup(&self) -> usize {
        self.sched_ext() + 1
    }

    pub fn hotplug(&self) -> usize {
        self.cgroup() + 1
    }

    pub fn end(&self) -> usize {
        self.hotplug() + 1
    }

    pub fn timer(&self, task: TaskId) -> usize {
        self.end() + 1 + task.index()
    }

    pub fn event(&self, slot: usize) -> Event {
        match slot {
            _ if slot < self.cpus => Event::Run(CpuId::at(slot)),
            _ if slot < 2 * self.cpus => Event::Tick(CpuId::at(slot - self.cpus)),
            _ if slot < self.fair_server() => Event::Clock(PerformanceDomainId::at(slot - 2 * self.cpus)),
            _ if slot == self.fair_server() => Event::FairServer,
            _ if slot == self.softirq() => Event::Softirq,
            _ if slot == self.deadline() => Event::Deadline,
            _ if slot == self.sched_ext() => Event::SchedExt,
            _ if slot == self.cgroup() => Event::Cgroup,
            _ if slot == self.hotplug() => Event::Hotplug,
            _ if slot == self.end() => Event::End,
            _ => Event::Timer(TaskId::at(slot - self.end() - 1)),
        }
    }
}
