// SPDX-License-Identifier: MIT OR Apache-2.0
//! Locks of run queues and dispatch queues: CPUs that want one at once wait for each other.
//!
//! A lock is a queue (`qspinlock` is): first come, first served. It is held for as long as the code under it takes, and by then the
//! cache lines that the last holder wrote must have come over. Where only one CPU wants a lock, there is nothing to wait for and
//! nothing to come.

use crate::kernel::paths::Lock;
use crate::units::{CpuId, Nanos};

/// Cache lines that come to the CPU that takes a lock after another one: the line of the lock, which a dispatch queue's heads share
/// (`struct scx_dispatch_q`), and the neighbour in the queue whose links change.
const LINES: Nanos = 2;
/// One that comes in addition where the CPU had to wait: its own node of the lock's queue (`mcs_spinlock`), which the holder writes.
const LINES_IF_WAITING: Nanos = 1;

/// One lock.
#[derive(Debug, Clone, Copy, Default)]
struct State {
    /// The latest stretch of time in which it is held without a gap.
    from: Nanos,
    until: Nanos,
    last: Option<CpuId>,
}

/// All locks.
#[derive(Debug, Default)]
pub(super) struct Locks {
    rqs: Vec<State>,
    dsqs: Vec<State>,
}

impl Locks {
    /// `cpu` takes `lock` at `at` and holds it for `hold`: how long it is until the lock is free again. `line`: how long a cache line
    /// takes that this CPU wrote.
    pub fn take(&mut self, lock: Lock, (cpu, at): (CpuId, Nanos), hold: Nanos, line: impl Fn(CpuId) -> Nanos) -> Nanos {
        let (locks, index) = match lock {
            Lock::Rq(cpu) => (&mut self.rqs, cpu.index()),
            Lock::Dsq(index) => (&mut self.dsqs, index as usize),
        };
        if locks.len() <= index {
            locks.resize(index + 1, State::default());
        }
        let state = &mut locks[index];
        let line = state.last.map_or(0, line);
        let held = LINES * line + hold;
        if at + held <= state.from {
            // Another CPU that is ahead of this one has taken it for later.
            return held;
        }
        let waits = at < state.until;
        let begins = at.max(state.until);
        let ends = begins + held + if waits { LINES_IF_WAITING * line } else { 0 };
        if !waits {
            state.from = begins;
        }
        (state.until, state.last) = (ends, Some(cpu));
        ends - at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCK: Lock = Lock::Dsq(0);
    const HOLD: Nanos = 30;
    const LINE: Nanos = 100;

    /// CPUs 0 to `cpus` - 1, each of which takes the lock again and again, with `pause` in between: how long until all of them
    /// together have had it `times` times.
    fn contend(cpus: u32, pause: Nanos, times: u32) -> Nanos {
        let mut locks = Locks::default();
        let mut ready: Vec<Nanos> = (0..u64::from(cpus)).collect();
        for _ in 0..times {
            let cpu = (0..ready.len()).min_by_key(|cpu| ready[*cpu]).unwrap();
            let this = CpuId::at(cpu);
            let line = |last| if last == this { 0 } else { LINE };
            ready[cpu] += locks.take(LOCK, (this, ready[cpu]), HOLD, line) + pause;
        }
        ready.into_iter().max().unwrap()
    }

    #[test]
    fn a_lock_that_one_cpu_wants_costs_what_it_is_held_for() {
        assert_eq!(contend(1, 70, 1000), 1000 * (HOLD + 70));
    }

    #[test]
    fn a_lock_that_comes_from_another_cpu_brings_its_lines() {
        let mut locks = Locks::default();
        assert_eq!(locks.take(LOCK, (CpuId(0), 0), HOLD, |_| LINE), HOLD, "no CPU has had it");
        assert_eq!(locks.take(LOCK, (CpuId(1), 1000), HOLD, |_| LINE), 2 * LINE + HOLD);
        // At 1000 + 230 it is free; who comes 30 earlier waits for that, and its own node comes in addition.
        assert_eq!(locks.take(LOCK, (CpuId(2), 1200), HOLD, |_| LINE), 30 + 3 * LINE + HOLD);
        assert_eq!(locks.take(Lock::Dsq(1), (CpuId(2), 1200), HOLD, |_| LINE), HOLD, "another lock");
    }

    #[test]
    fn a_wanted_lock_saturates_at_what_one_turn_takes() {
        // A turn takes three lines and the hold: 330 ns. With 10 us in between, 31 CPUs are what one lock can serve.
        let each = |cpus| contend(cpus, 10_000, cpus * 1000) as f64 / f64::from(cpus * 1000);
        let saturated = (3 * LINE + HOLD) as f64;
        for cpus in [40, 64, 256] {
            assert!((each(cpus) / saturated - 1.0).abs() < 0.01, "{cpus} CPUs: {} ns a turn", each(cpus));
        }
        // Below that they hardly meet: a turn in 10 us and what one takes, for each.
        assert!((each(4) * 4.0 / 10_230.0 - 1.0).abs() < 0.02, "{}", each(4));
    }

    #[test]
    fn what_a_cpu_takes_ahead_of_time_holds_up_no_other_before() {
        let mut locks = Locks::default();
        locks.take(LOCK, (CpuId(0), 10_000), HOLD, |_| LINE);
        assert_eq!(locks.take(LOCK, (CpuId(1), 0), HOLD, |_| LINE), 2 * LINE + HOLD);
        assert_eq!(
            locks.take(LOCK, (CpuId(1), 9_900), HOLD, |_| LINE),
            130 + 3 * LINE + HOLD,
            "does not fit in before"
        );
    }
}
