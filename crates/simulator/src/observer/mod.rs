// SPDX-License-Identifier: MIT OR Apache-2.0
//! What an observer sees of a run while it goes on; the trace writer is one observer.
//!
//! [`detail`]: what an observer may ask for beyond switches and wake-ups. [`names`]: what is said of it.

pub mod detail;
pub mod names;

use detail::Detail;

use crate::units::{CpuId, Nanos, PackageId, TaskId};

/// A thread as a trace names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskInfo {
    /// Identifier of the thread; a trace shows [`TaskId::pid`].
    pub id: TaskId,
    /// Name of the thread (`comm`), with its instance.
    pub name: String,
    /// Index of the thread's application (process); `None` for system tasks.
    pub application: Option<usize>,
    /// Kernel priority as `sched_switch` prints it: 120 + nice for fair, 99 − priority for rt.
    pub priority: i32,
}

/// Why a thread left its CPU, as `sched_switch` prints `prev_state`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PrevState {
    /// `R`: the thread was preempted or yielded, and is still runnable.
    Runnable,
    /// `S`: the thread waits for a timer, a lock, another thread.
    Sleeping,
    /// `X`: the thread ended.
    Dead,
}

/// Processed events between two questions whether a run shall end: a fraction of a millisecond.
pub const EVENTS_BETWEEN_STOPS: u64 = 1024;

/// Receives what happens, in order of time. Every method has an empty default, so an observer implements only those it
/// needs.
pub trait Observer {
    /// Whether a run that did not come to its end may begin again, so that everything is told once more.
    fn may_begin_again(&self) -> bool {
        false
    }
    /// Whether the observer wants to be told of the run. One that does not is content with a report that is known from before.
    fn watches(&self) -> bool {
        true
    }
    /// Whether the run shall end now, without a report. It is asked once in [`EVENTS_BETWEEN_STOPS`] events, on the thread that
    /// simulates.
    fn stopped(&mut self) -> bool {
        false
    }
    /// A thread came into being.
    fn task_new(&mut self, _now: Nanos, _task: &TaskInfo) {}
    /// `cpu` goes from `prev` to `next`; `None` is the idle thread.
    fn sched_switch(&mut self, _now: Nanos, _cpu: CpuId, _prev: Option<(TaskId, PrevState)>, _next: Option<TaskId>) {}
    /// A thread is going to be woken, or to begin: `prev` is the CPU that it was on, a new one's parent's. What came of it is told at once
    /// behind this, at the same time.
    fn sched_waking(&mut self, _now: Nanos, _task: TaskId, _prev: CpuId, _waker: CpuId) {}
    /// A thread was woken; `target` is the CPU chosen for it, `waker` the CPU on which the wakeup happens.
    fn sched_wakeup(&mut self, _now: Nanos, _task: TaskId, _target: CpuId, _waker: CpuId) {}
    /// The same of a thread that begins.
    fn sched_wakeup_new(&mut self, now: Nanos, task: TaskId, target: CpuId, waker: CpuId) {
        self.sched_wakeup(now, task, target, waker);
    }
    /// The clock of `cpu` changed.
    fn cpu_frequency(&mut self, _now: Nanos, _cpu: CpuId, _khz: u32) {}
    /// `cpu` entered idle state number `Some(n)`, or left idle.
    fn cpu_idle(&mut self, _now: Nanos, _cpu: CpuId, _state: Option<u32>) {}
    /// Whether the observer is told [details](Detail): gathering them costs time.
    fn wants_details(&self) -> bool {
        false
    }
    /// Something happened that only observers are told of that want details.
    fn detail(&mut self, _now: Nanos, _detail: &Detail) {}
    /// Whether the observer is told of power changes; working them out costs time.
    fn wants_power(&self) -> bool {
        false
    }
    /// The power of `cpu` (its share of its core and cluster) changed.
    fn cpu_power(&mut self, _now: Nanos, _cpu: CpuId, _watts: f64) {}
    /// The power of a package (cores, clusters, uncore) changed.
    fn package_power(&mut self, _now: Nanos, _package: PackageId, _watts: f64) {}
    /// The run has ended, and `cpu` took so much more energy (less, if negative) than its power showed: for going into idle states
    /// and out of them. Told where it is not 0.
    fn unseen_energy(&mut self, _cpu: CpuId, _joules: f64) {}
    /// The same of a package's uncore.
    fn unseen_uncore_energy(&mut self, _package: PackageId, _joules: f64) {}
    /// The run has ended, and these times were measured of the threads of an application, by its index; `None`: of all
    /// applications together. Told to observers that want details, where there is a time.
    fn distribution(&mut self, _application: Option<usize>, _what: Measured, _times: &[TimesUpTo]) {}
}

/// What the report has distributions of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Measured {
    /// From a wakeup to the first instruction.
    WakeupLatency,
    /// From what activates a round to the end of its work.
    Response,
}

/// A step of a distribution: how many times were longer than the step before, and at most so long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimesUpTo {
    /// The longest that these times can be, in nanoseconds: at most 1/64 above each of them.
    pub most: Nanos,
    /// How many times.
    pub count: u32,
}

/// An observer that ignores everything.
#[derive(Debug, Default)]
pub struct NoObserver;

impl Observer for NoObserver {
    fn may_begin_again(&self) -> bool {
        true
    }

    fn watches(&self) -> bool {
        false
    }
}
