// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rounds of periodic threads, and how late they end.

use super::cause::Cause;
use super::classify;
use super::locks::LockWait;
use super::record::{CpuWait, Overhead};
use super::waits::Stretch;
use crate::observer::detail::{WaitReason, WaitsFor};
use crate::units::{Nanos, TaskId};

/// A round of a periodic thread: from one expiry of its timer to where it comes to the timer again.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Round {
    /// The thread.
    pub task: TaskId,
    /// The expiry that began it.
    pub began: Nanos,
    /// When it should have been done.
    pub due: Nanos,
    /// The timer's period.
    pub period: Nanos,
    /// How late it began, because the round before was late.
    pub backlog: Nanos,
    /// Why the round before was late.
    pub inherited: Option<Cause>,
    /// When it was done, or when the run ended.
    pub until: Nanos,
    /// Whether it was done.
    pub ended: bool,
    /// Time executing, overhead left out.
    pub running: Nanos,
    /// The part of `running` that the highest clock of the CPU would have saved.
    pub lost_to_clock: Nanos,
    /// The part of `running` that the fastest CPU which the thread may use would have saved at its highest clock.
    pub lost_to_cpu: Nanos,
    /// Waits for a CPU, their overhead left out.
    pub waited: Nanos,
    /// What passed between switches and first instructions.
    pub overhead: Overhead,
    /// Waits for a mutex, blocked.
    pub locked: Nanos,
    /// Waits for other threads: at barriers, for conditions, semaphores, children.
    pub for_others: Nanos,
    /// Sleeps within the round.
    pub slept: Nanos,
    /// How often the thread changed its CPU.
    pub migrations: u32,
    /// The longest wait for a CPU.
    pub longest_wait: Option<Box<CpuWait>>,
    /// The longest wait for a mutex.
    pub longest_lock: Option<Box<LockWait>>,
}

impl Round {
    /// How much too late it was done.
    pub fn late(&self) -> Nanos {
        self.until.saturating_sub(self.due)
    }

    /// Time that the work alone takes on the fastest CPU that the thread may use, at the highest clock.
    pub fn work(&self) -> Nanos {
        self.running.saturating_sub(self.lost_to_clock + self.lost_to_cpu)
    }
}

/// The round of one thread.
#[derive(Debug)]
pub struct Rounds {
    round: Round,
    /// Rounds so far, and those that were late.
    pub done: (u64, u64),
}

impl Rounds {
    /// The first round of `task` begins.
    pub fn new(task: TaskId, now: Nanos) -> Self {
        Self { round: Round { task, began: now, ..Round::default() }, done: (0, 0) }
    }

    /// The thread executed.
    pub fn ran(&mut self, stretch: &Stretch, lost_to_cpu: Nanos) {
        self.round.running += stretch.time;
        self.round.lost_to_clock += stretch.slowed;
        self.round.lost_to_cpu += lost_to_cpu;
    }

    /// The thread got a CPU again, another one than before if it `moved`.
    pub fn waited(&mut self, wait: &CpuWait, moved: bool) {
        let round = &mut self.round;
        round.waited += wait.switched() - wait.since;
        round.overhead.add(&wait.overhead);
        round.migrations += u32::from(moved);
        let longest = round.longest_wait.as_ref().map_or(0, |longest| longest.length());
        if wait.length() > longest {
            round.longest_wait = Some(Box::new(wait.clone()));
        }
    }

    /// The thread was blocked for so long.
    pub fn blocked(&mut self, on: WaitReason, time: Nanos) {
        match on {
            WaitReason::Object(WaitsFor::Mutex(_)) => self.round.locked += time,
            WaitReason::Sleep => self.round.slept += time,
            _ => self.round.for_others += time,
        }
    }

    /// The thread got a mutex.
    pub fn locked(&mut self, wait: &LockWait) {
        let longest = self.round.longest_lock.as_ref().map_or(0, |longest| longest.length());
        if wait.length() > longest {
            self.round.longest_lock = Some(Box::new(wait.clone()));
        }
    }

    /// The thread comes to its timer, whose next expiry is, or was, `due`, with this period, absolute or starting anew where
    /// it was missed; the round, if it was late.
    pub fn comes_to_timer(&mut self, now: Nanos, (due, period, absolute): (Nanos, Nanos, bool)) -> Option<Round> {
        let began = if absolute { due } else { due.max(now) };
        let next = Round { task: self.round.task, began, period, due: began + period, ..Round::default() };
        let mut round = std::mem::replace(&mut self.round, next);
        (round.due, round.until, round.period, round.ended) = (due, now, period, true);
        self.done.0 += 1;
        if round.late() == 0 {
            return None;
        }
        self.done.1 += 1;
        if absolute {
            (self.round.backlog, self.round.inherited) = (round.late(), Some(classify::round(&round)));
        }
        Some(round)
    }

    /// The thread ends: it comes to no timer again, so what it did since the last one is no round.
    pub fn leave(&mut self) {
        self.round = Round { task: self.round.task, ..Round::default() };
    }

    /// The run ends at `now`: the round that was not done in time, if one was not.
    pub fn end(&mut self, now: Nanos) -> Option<Round> {
        let mut round = std::mem::take(&mut self.round);
        round.until = now;
        // Before the thread first comes to its timer, no expiry is known.
        (round.period > 0 && round.late() > 0).then_some(round)
    }
}
