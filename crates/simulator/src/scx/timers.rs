// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is due when: `bpf_timer`s, the watchdog.
//!
//! A kernel's timers go off in the soft interrupt of the CPU that armed them. Here the one of a pinned or unpinned timer
//! is the CPU that armed it; a kernel may move unpinned ones to a CPU that is awake anyway, which only a program that
//! asks for its CPU could tell.

use std::collections::BTreeMap;

use super::Ctx;
use super::callbacks::Active;
use super::host::ScxHost;
use crate::kernel::instant::Turn;
use crate::units::{CpuId, Nanos, USEC};

/// What can be due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Timer {
    /// A program's timer, by the address of its `struct bpf_timer`.
    Bpf(u64),
    /// The watchdog looks for tasks that wait too long.
    Watchdog,
}

/// A timer that went off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Due {
    /// The timer.
    pub timer: Timer,
    /// When it was to go off.
    pub at: Nanos,
    /// The CPU that armed it.
    pub cpu: CpuId,
}

/// A timer armed from a timer's callback goes off this much later at the earliest. (In a kernel, the interrupt itself
/// takes about as long; without it, a timer that arms itself for at once would stop the simulated time.)
const LEAST_DELAY: Nanos = USEC;

/// What is due when; what is due at the same time goes in the order of arming.
#[derive(Debug, Default)]
pub struct TimerQueue {
    /// Armed timers, by due time and then by order of arming.
    queue: BTreeMap<(Nanos, u64), Due>,
    /// Where each timer stands in `queue`.
    places: BTreeMap<Timer, (Nanos, u64)>,
    /// Timers armed so far.
    armed: u64,
    /// The time at which timers are being served.
    serving: Option<Nanos>,
    /// Timers of programs armed since the engine last asked: where, and when they are due. Idle CPUs know of them.
    pub armed_on: Vec<(CpuId, Nanos)>,
}

impl TimerQueue {
    /// When the next timer is due.
    pub fn next_timer(&self) -> Option<Nanos> {
        self.queue.first_key_value().map(|((due, _), _)| *due)
    }

    /// Arms `timer` for `due` on `cpu`; if it was armed, it moves.
    pub fn arm(&mut self, timer: Timer, due: Nanos, cpu: CpuId) {
        self.cancel(timer);
        let earliest = self.serving.map_or(0, |now| now + LEAST_DELAY);
        let place = (due.max(earliest), self.armed);
        self.armed += 1;
        if matches!(timer, Timer::Bpf(_)) {
            self.armed_on.push((cpu, place.0));
        }
        self.places.insert(timer, place);
        self.queue.insert(place, Due { timer, at: place.0, cpu });
    }

    /// Disarms `timer`; whether it was armed.
    pub fn cancel(&mut self, timer: Timer) -> bool {
        let place = self.places.remove(&timer);
        place.is_some_and(|place| self.queue.remove(&place).is_some())
    }

    /// Disarms all timers.
    pub fn clear(&mut self) {
        self.queue.clear();
        self.places.clear();
    }

    /// `from` goes offline: its timers go off on `to` instead (`hrtimers_cpu_dying`).
    pub fn migrate(&mut self, from: CpuId, to: CpuId) {
        for due in self.queue.values_mut().filter(|due| due.cpu == from) {
            due.cpu = to;
        }
    }

    /// Takes out the next timer that is due at `now`.
    pub fn pop_due(&mut self, now: Nanos) -> Option<Due> {
        if self.next_timer()? > now {
            return None;
        }
        let (_, due) = self.queue.pop_first()?;
        self.places.remove(&due.timer);
        Some(due)
    }
}

impl Ctx<'_> {
    /// Runs what is due now, in the order of due times, then of arming.
    pub fn serve_timers(&mut self) {
        let now = self.kernel.now;
        self.scx.timers.serving = Some(now);
        while let Some(due) = self.scx.timers.pop_due(now) {
            // Whoever arms timers for at once, time and again, is ejected; what is due is still done.
            self.takes_turn(Turn::Timer, due.cpu);
            match due.timer {
                Timer::Bpf(address) => {
                    // The interrupt wakes an idle CPU.
                    self.kernel.idle_passes.push(due.cpu);
                    self.timer_fired(address, due.cpu);
                }
                Timer::Watchdog => self.scx_watchdog_timer(due.cpu),
            }
        }
        self.scx.timers.serving = None;
    }

    /// Runs a timer's callback on `cpu` (`bpf_timer_cb`): no run queue is locked, and no task is its argument.
    fn timer_fired(&mut self, address: u64, cpu: CpuId) {
        self.scx.calls.active.push(Active::outside(cpu, false));
        let mut host = ScxHost { scx: self.scx, kernel: self.kernel };
        let result = self.vm.timer_fired(address, &mut host);
        match result {
            Ok(outcome) => self.scx.calls.executed.push((cpu, outcome.instructions)),
            Err(fault) => {
                self.scx.calls.executed.push((cpu, self.vm.executed()));
                self.scx_fault(&fault);
            }
        }
        self.scx.calls.active.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CPU: CpuId = CpuId(1);

    fn due(queue: &mut TimerQueue, now: Nanos) -> Vec<Timer> {
        std::iter::from_fn(|| queue.pop_due(now)).map(|due| due.timer).collect()
    }

    #[test]
    fn timers_go_off_by_time_and_then_in_the_order_of_arming() {
        let mut queue = TimerQueue::default();
        queue.arm(Timer::Bpf(30), 200, CPU);
        queue.arm(Timer::Bpf(20), 100, CPU);
        queue.arm(Timer::Bpf(10), 100, CPU);
        queue.arm(Timer::Watchdog, 300, CPU);
        assert_eq!(queue.next_timer(), Some(100));
        assert_eq!(due(&mut queue, 200), [Timer::Bpf(20), Timer::Bpf(10), Timer::Bpf(30)]);
        assert_eq!(queue.next_timer(), Some(300));
    }

    #[test]
    fn an_armed_timer_moves_when_it_is_armed_again() {
        let mut queue = TimerQueue::default();
        queue.arm(Timer::Bpf(1), 100, CPU);
        queue.arm(Timer::Bpf(2), 100, CPU);
        queue.arm(Timer::Bpf(1), 100, CpuId(5));
        assert_eq!(queue.pop_due(100).map(|due| due.timer), Some(Timer::Bpf(2)));
        assert_eq!(queue.pop_due(100), Some(Due { timer: Timer::Bpf(1), at: 100, cpu: CpuId(5) }));
        assert_eq!(queue.pop_due(100), None);
    }

    #[test]
    fn cancelling_says_whether_the_timer_was_armed() {
        let mut queue = TimerQueue::default();
        queue.arm(Timer::Bpf(1), 100, CPU);
        assert!(queue.cancel(Timer::Bpf(1)));
        assert!(!queue.cancel(Timer::Bpf(1)));
        assert_eq!(queue.next_timer(), None);
    }

    #[test]
    fn a_timer_armed_by_a_timer_lets_time_go_on() {
        let mut queue = TimerQueue { serving: Some(5_000), ..TimerQueue::default() };
        queue.arm(Timer::Bpf(1), 0, CPU);
        assert_eq!(queue.next_timer(), Some(6_000));
        queue.arm(Timer::Bpf(1), 9_000, CPU);
        assert_eq!(queue.next_timer(), Some(9_000));
    }

    #[test]
    fn timers_leave_a_cpu_that_goes_offline() {
        let mut queue = TimerQueue::default();
        queue.arm(Timer::Bpf(1), 100, CpuId(3));
        queue.arm(Timer::Bpf(2), 100, CpuId(2));
        queue.migrate(CpuId(3), CpuId(0));
        let cpus: Vec<_> = std::iter::from_fn(|| queue.pop_due(100)).map(|due| due.cpu.0).collect();
        assert_eq!(cpus, [0, 2]);
    }
}
