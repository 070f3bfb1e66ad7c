// SPDX-License-Identifier: MIT OR Apache-2.0
//! Observers for tests: one records everything that happens, one adds up the power that it is told.

use tandem_simulator::observer::{Observer, PrevState, TaskInfo};
use tandem_simulator::units::{CpuId, Nanos, PackageId, TaskId, seconds};

/// Records everything, power to the last bit.
#[derive(Debug, Default, PartialEq)]
pub struct Recorder {
    pub events: Vec<(Nanos, Event)>,
}

/// What an observer is told.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    New(TaskInfo),
    Switch(CpuId, Option<(TaskId, PrevState)>, Option<TaskId>),
    Waking(TaskId, CpuId, CpuId),
    Frequency(CpuId, u32),
    Idle(CpuId, Option<u32>),
    CpuPower(CpuId, u64),
    PackagePower(PackageId, u64),
}

impl Observer for Recorder {
    fn task_new(&mut self, now: Nanos, task: &TaskInfo) {
        self.events.push((now, Event::New(task.clone())));
    }

    fn sched_switch(&mut self, now: Nanos, cpu: CpuId, prev: Option<(TaskId, PrevState)>, next: Option<TaskId>) {
        self.events.push((now, Event::Switch(cpu, prev, next)));
    }

    fn sched_wakeup(&mut self, now: Nanos, task: TaskId, target: CpuId, waker: CpuId) {
        self.events.push((now, Event::Waking(task, target, waker)));
    }

    fn cpu_frequency(&mut self, now: Nanos, cpu: CpuId, khz: u32) {
        self.events.push((now, Event::Frequency(cpu, khz)));
    }

    fn cpu_idle(&mut self, now: Nanos, cpu: CpuId, state: Option<u32>) {
        self.events.push((now, Event::Idle(cpu, state)));
    }

    fn wants_power(&self) -> bool {
        true
    }

    fn cpu_power(&mut self, now: Nanos, cpu: CpuId, watts: f64) {
        self.events.push((now, Event::CpuPower(cpu, watts.to_bits())));
    }

    fn package_power(&mut self, now: Nanos, package: PackageId, watts: f64) {
        self.events.push((now, Event::PackagePower(package, watts.to_bits())));
    }
}

/// Integrates one told power over time, independently of the simulator's own meters.
#[derive(Debug, Clone, Copy, Default)]
pub struct PowerSum {
    watts: f64,
    since: Nanos,
    joules: f64,
}

impl PowerSum {
    /// Sets the power from `now` on.
    pub fn set(&mut self, now: Nanos, watts: f64) {
        self.joules = self.joules_at(now);
        (self.since, self.watts) = (now, watts);
    }

    /// Energy up to now.
    pub fn joules_at(&self, now: Nanos) -> f64 {
        self.joules + self.watts * seconds(now - self.since)
    }
}
