// SPDX-License-Identifier: MIT OR Apache-2.0
//! Timer slack: a fair thread's timer may go off from the time on that it asked for, and must go off a little later.
//!
//! Hardware is set for the earliest time by which some timer must go off (`hrtimer_start_range_ns`). An interrupt that comes
//! before, for another timer, the tick or anything else, serves those that may go off already, up to the first that may not
//! (`__hrtimer_run_queues`).

use std::collections::BTreeMap;
use std::num::NonZeroU64;

use super::Engine;
use super::events::Event;
use crate::units::{CpuId, Nanos, TaskId};
use crate::workload::Policy;

/// The timers of a CPU: by when each must go off and the order of arming, whose it is and from when on it may.
type Range = BTreeMap<(Nanos, u64), (TaskId, Nanos)>;

/// The timers that may go off before they must, by CPU.
#[derive(Debug)]
pub(super) struct SoftTimers {
    ranges: Vec<Range>,
    /// Where each thread's timer stands, by thread.
    places: Vec<Option<Place>>,
    /// How many are armed.
    count: usize,
    /// Timers armed so far.
    armed: u64,
}

/// Where the timer of a thread stands: on which CPU, by when it must go off, and its number among those armed.
#[derive(Debug, Clone, Copy)]
struct Place {
    cpu: CpuId,
    hard: Nanos,
    armed: NonZeroU64,
}

impl SoftTimers {
    pub fn new(cpus: usize) -> Self {
        Self { ranges: vec![Range::new(); cpus], places: Vec::new(), count: 0, armed: 0 }
    }

    /// The timer of `task` on `cpu` may go off from `soft` on and must by `hard`.
    fn arm(&mut self, cpu: CpuId, task: TaskId, soft: Nanos, hard: Nanos) {
        self.armed += 1;
        self.ranges[cpu.index()].insert((hard, self.armed), (task, soft));
        if task.index() >= self.places.len() {
            self.places.resize(task.index() + 1, None);
        }
        let place = NonZeroU64::new(self.armed).map(|armed| Place { cpu, hard, armed });
        self.places[task.index()] = place;
        self.count += 1;
    }

    /// The timer of `task` has gone off, if it was one of these.
    #[inline]
    pub fn disarm(&mut self, task: TaskId) {
        if self.count == 0 {
            return;
        }
        if let Some(Place { cpu, hard, armed }) = self.places.get_mut(task.index()).and_then(Option::take) {
            self.ranges[cpu.index()].remove(&(hard, armed.get()));
            self.count -= 1;
        }
    }

    /// Takes out the first timer of `cpu`, if it may go off at `now` and is one that `serves` says goes off there.
    fn pop(&mut self, cpu: CpuId, now: Nanos, serves: impl Fn(TaskId) -> bool) -> Option<TaskId> {
        let first = self.ranges[cpu.index()].first_entry()?;
        let (task, soft) = *first.get();
        if soft > now || !serves(task) {
            return None;
        }
        let (task, _) = first.remove();
        self.places[task.index()] = None;
        self.count -= 1;
        Some(task)
    }

    /// `from` goes offline: its timers are those of `to`.
    pub fn migrate(&mut self, from: CpuId, to: CpuId) {
        let mut timers = std::mem::take(&mut self.ranges[from.index()]);
        for (task, _) in timers.values() {
            if let Some(place) = &mut self.places[task.index()] {
                place.cpu = to;
            }
        }
        self.ranges[to.index()].append(&mut timers);
    }
}

impl Engine<'_> {
    /// The thread `task` on `cpu` sets a timer for `time`; by when it must go off.
    pub(super) fn arm_soft(&mut self, cpu: CpuId, task: TaskId, time: Nanos) -> Nanos {
        let slack = self.timer_slack(task);
        if slack == 0 {
            return time;
        }
        let hard = time.saturating_add(slack);
        self.soft.arm(cpu, task, time, hard);
        hard
    }

    /// `task->timer_slack_ns`.
    fn timer_slack(&self, task: TaskId) -> Nanos {
        match self.sched.kernel.task(task).scheduling.policy {
            Policy::Fifo { .. } | Policy::RoundRobin { .. } | Policy::Deadline { .. } => 0,
            Policy::Other { .. } | Policy::Batch { .. } | Policy::Idle | Policy::Ext { .. } => {
                self.threads[task].kind.timer_slack.unwrap_or_else(|| self.sched.kernel.params.timer_slack())
            }
        }
    }

    /// `cpu` handles an interrupt: timers that may go off already do, those of kernel workers only where the tick goes on
    /// (`TIMER_DEFERRABLE`).
    #[inline]
    pub(super) fn expire_soft(&mut self, cpu: CpuId) {
        if self.soft.count == 0 {
            return;
        }
        let (idle, now) = (self.running[cpu].task.is_none(), self.agenda.now());
        while let Some(task) = self.soft.pop(cpu, now, |task| !(idle && self.threads[task].kind.disturbance)) {
            self.agenda.cancel(Event::Timer(task));
            self.timer_expires(task);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CPU: CpuId = CpuId(1);

    fn all(_: TaskId) -> bool {
        true
    }

    #[test]
    fn an_interrupt_serves_timers_up_to_the_first_that_may_not_go_off_yet() {
        let mut timers = SoftTimers::new(2);
        for (task, soft, hard) in [(1, 100, 150), (2, 120, 140), (3, 90, 200), (4, 145, 145)] {
            timers.arm(CPU, TaskId(task), soft, hard);
        }
        // In the order by which they must go off: 2 (120..140), 4 (145), 1 (100..150), 3 (90..200).
        assert_eq!(timers.pop(CPU, 119, all), None, "the first may not, although two others may");
        assert_eq!(timers.pop(CPU, 130, all), Some(TaskId(2)));
        assert_eq!(timers.pop(CPU, 130, all), None);
        assert_eq!(timers.pop(CPU, 145, |task| task != TaskId(4)), None, "the first waits for the tick");
        assert_eq!([(); 3].map(|()| timers.pop(CPU, 145, all)), [4, 1, 3].map(|task| Some(TaskId(task))));
    }

    #[test]
    fn timers_leave_a_cpu_that_goes_offline() {
        let mut timers = SoftTimers::new(2);
        timers.arm(CPU, TaskId(1), 100, 150);
        timers.migrate(CPU, CpuId(0));
        assert_eq!((timers.pop(CPU, 150, all), timers.pop(CpuId(0), 150, all)), (None, Some(TaskId(1))));
        timers.disarm(TaskId(1));
    }
}
