// SPDX-License-Identifier: MIT OR Apache-2.0
//! What happens to deadline tasks at a later time: new budget, the end of a sleeper's bandwidth, a look at the budget.

use super::Dl;
use crate::kernel::Kernel;
use crate::kernel::class::SchedClass;
use crate::kernel::task::{ClassId, TaskState};
use crate::units::{CpuId, Nanos, TaskId, USEC};

/// A timer of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Timer {
    /// `dl_timer`: a throttled task gets new budget.
    Replenish,
    /// `inactive_timer`: the 0-lag time of a task that sleeps or has left.
    Inactive,
}

impl Dl {
    fn timer(&mut self, task: TaskId, timer: Timer) -> &mut Option<Nanos> {
        let entity = &mut self.entities[task.index()];
        match timer {
            Timer::Replenish => &mut entity.timer,
            Timer::Inactive => &mut entity.inactive_timer,
        }
    }

    pub(super) fn set_timer(&mut self, kernel: &Kernel, task: TaskId, timer: Timer, at: Nanos) {
        self.cancel(task, timer);
        *self.timer(task, timer) = Some(at);
        self.timers.insert((at, task, timer));
        self.armed.push((kernel.task(task).cpu, at));
    }

    pub(super) fn cancel(&mut self, task: TaskId, timer: Timer) {
        if let Some(at) = self.timer(task, timer).take() {
            self.timers.remove(&(at, task, timer));
        }
    }

    /// `start_dl_timer`: new budget when the next period begins; false if it has begun already.
    pub(super) fn start_timer(&mut self, kernel: &Kernel, task: TaskId) -> bool {
        let act = self.entities[task.index()].next_period();
        // Compared in microseconds.
        if act.saturating_add(USEC) <= kernel.now {
            return false;
        }
        if self.entities[task.index()].timer.is_none() {
            self.set_timer(kernel, task, Timer::Replenish, act.max(kernel.now));
        }
        true
    }

    /// When [`Dl::serve`] is next to be called.
    pub fn next_timer(&self, kernel: &Kernel) -> Option<Nanos> {
        let timer = self.timers.first().map(|(at, ..)| *at);
        if !kernel.params.hrtick_dl {
            return timer;
        }
        self.rqs.iter().filter_map(|rq| rq.hrtick).chain(timer).min()
    }

    /// Whether some task waits for new budget.
    pub fn has_throttled(&self) -> bool {
        self.timers.iter().any(|(_, _, timer)| *timer == Timer::Replenish)
    }

    /// Timers are due.
    pub fn serve(&mut self, kernel: &mut Kernel) {
        while let Some((at, task, timer)) = self.timers.first().copied()
            && at <= kernel.now
        {
            self.cancel(task, timer);
            match timer {
                Timer::Replenish => self.task_timer(kernel, task),
                Timer::Inactive => self.inactive(kernel, task),
            }
        }
        for index in 0..self.rqs.len() {
            if self.rqs[index].hrtick.is_some_and(|at| at <= kernel.now) {
                self.hrtick(kernel, CpuId::at(index));
            }
        }
    }

    /// `dl_task_timer`: a throttled task has a new period.
    fn task_timer(&mut self, kernel: &mut Kernel, task: TaskId) {
        let entity = &mut self.entities[task.index()];
        if kernel.task(task).class != ClassId::Dl || entity.boost.is_some() || !entity.throttled {
            return;
        }
        if kernel.task(task).state != TaskState::Runnable {
            entity.replenish(kernel.now);
            return;
        }
        self.replenish_and_queue(kernel, task);
        let cpu = kernel.task(task).cpu;
        match kernel.rq(cpu).curr {
            Some(curr) if kernel.task(curr).class == ClassId::Dl => self.wakeup_preempt(kernel, cpu, task),
            _ => kernel.resched_curr(cpu),
        }
        self.push_dl_task(kernel, cpu);
    }

    /// `hrtick`: the budget of the running task should be used up.
    fn hrtick(&mut self, kernel: &mut Kernel, cpu: CpuId) {
        self.rqs[cpu.index()].hrtick = None;
        self.update_curr(kernel, cpu);
        kernel.update_dl_load_avg(cpu, true);
        self.start_hrtick(kernel, cpu);
    }

    /// `start_hrtick_dl`: looks again when the budget would be used up at full speed.
    pub(super) fn start_hrtick(&mut self, kernel: &Kernel, cpu: CpuId) {
        /// `hrtick_start` waits for no less.
        const SHORTEST: Nanos = 10 * USEC;
        let rq = &mut self.rqs[cpu.index()];
        let Some(curr) = rq.curr.filter(|_| kernel.params.hrtick_dl) else { return };
        let entity = &self.entities[curr.index()];
        if entity.queued.is_some() && entity.runtime > 0 && rq.first().is_some_and(|(_, first)| first == curr) {
            rq.hrtick = Some(kernel.rq_clock(cpu) + (entity.runtime as Nanos).max(SHORTEST));
        }
    }
}
