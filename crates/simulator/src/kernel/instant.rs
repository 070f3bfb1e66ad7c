// SPDX-License-Identifier: MIT OR Apache-2.0
//! How much a loaded scheduler has had done at one instant.
//!
//! In a kernel each pass of the scheduler, each interrupt and each timer takes time. Here they take none by themselves, so
//! that a scheduler which asks for one more after each (it kicks its own CPU for ever, say) would keep a run within one
//! instant. A kernel that does nothing else gives threads no time: it stalls, and ejects the scheduler. So what is done
//! at one instant is counted, and has an end.

use super::Kernel;
use crate::units::{CpuId, Nanos};

/// What may be done at an instant for a scheduler, beside what threads give cause for: so much, and
const MOST_TURNS: u64 = 20_000;
/// so much for each CPU. Ordinary schedulers do a few things on each.
const MOST_TURNS_PER_CPU: u64 = 50;
/// What a thread's step, wake-up or beginning may give cause for. How many of these there are at an instant has an end of
/// its own.
const TURNS_PER_CAUSE: u64 = 1_000;
/// So many instructions of callbacks count as one turn more.
const INSTRUCTIONS_PER_TURN: u64 = 100_000;

/// What is done for a scheduler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// A CPU reschedules (`__schedule`).
    Reschedule,
    /// A CPU's kicks or deferred work (irq_work).
    IrqWork,
    /// The tasks of a queue go back to the scheduler (`scx_bpf_dsq_reenq`).
    Reenqueue,
    /// A timer of the scheduler goes off.
    Timer,
}

/// What has been done at the present instant.
#[derive(Debug, Clone, Copy, Default)]
pub struct InstantWork {
    at: Nanos,
    /// What counts against [`MOST_TURNS`].
    charged: u64,
    /// Turns of each kind.
    turns: [u64; 4],
    /// Turns since the run began, those that instructions count as too: nothing is taken off.
    so_far: u64,
}

impl InstantWork {
    /// Time may have gone on since: then nothing has been done yet.
    #[inline]
    fn go_to(&mut self, now: Nanos) {
        if self.at != now {
            *self = Self { at: now, so_far: self.so_far, ..Self::default() };
        }
    }

    /// Counts one; whether there may be so many on a machine with this many CPUs.
    fn turn(&mut self, turn: Turn, nr_cpus: usize) -> bool {
        self.charge(1);
        self.turns[turn as usize] += 1;
        self.charged <= MOST_TURNS + MOST_TURNS_PER_CPU * nr_cpus as u64
    }

    fn charge(&mut self, turns: u64) {
        self.charged += turns;
        self.so_far += turns;
    }

    fn describe(&self, cpu: CpuId) -> String {
        let [reschedules, irq_works, reenqueues, timers] = self.turns;
        format!(
            "time does not go on: at one instant, CPUs rescheduled {reschedules} times, with {irq_works} kicks or deferred \
            works, {reenqueues} queues given back and {timers} timers; the last on CPU {cpu}"
        )
    }
}

impl Kernel {
    /// Something more is done for the loaded scheduler at this instant, on `cpu`.
    ///
    /// # Errors
    /// The scheduler has had so much done that time would never go on; what it was.
    #[inline]
    pub fn takes_turn(&mut self, turn: Turn, cpu: CpuId) -> Result<(), String> {
        self.instant.go_to(self.now);
        if self.instant.turn(turn, self.topology.nr_cpus) { Ok(()) } else { Err(self.instant.describe(cpu)) }
    }

    /// Callbacks have executed so many instructions.
    #[inline]
    pub fn takes_instructions(&mut self, instructions: u64) {
        self.instant.go_to(self.now);
        self.instant.charge(instructions / INSTRUCTIONS_PER_TURN);
    }

    /// A thread begins, wakes or makes a step: that may have consequences.
    #[inline]
    pub fn gives_cause(&mut self) {
        self.instant.charged = self.instant.charged.saturating_sub(TURNS_PER_CAUSE);
    }

    /// A scheduler has been loaded, which may have taken much: what comes now is counted anew.
    pub fn counts_anew(&mut self) {
        self.instant = InstantWork { so_far: self.instant.so_far, ..InstantWork::default() };
    }

    /// Turns that loaded schedulers have taken since the run began.
    #[inline]
    pub fn turns_so_far(&self) -> u64 {
        self.instant.so_far
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instant_has_an_end_and_the_next_begins_anew() {
        let mut work = InstantWork::default();
        work.go_to(5);
        assert!((0..20_100).all(|_| work.turn(Turn::IrqWork, 2)));
        assert!(!work.turn(Turn::Reschedule, 2));
        assert!(work.describe(CpuId(3)).contains("rescheduled 1 times, with 20100 kicks"), "{work:?}");
        work.go_to(5);
        assert!(!work.turn(Turn::Timer, 2));
        work.go_to(6);
        assert!(work.turn(Turn::Timer, 2));
        assert_eq!(work.so_far, 20_103);
    }
}
