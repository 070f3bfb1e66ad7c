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
    /// When all have had it that asked for it so far.
    until: Nanos,
    last: Option<CpuId>,
    /// Some CPU has waited for it and is not through yet.
    crowded: bool,
    /// What a line took the last time that another CPU took the lock.
    line: Nanos,
}

/// All locks.
#[derive(Debug, Default)]
pub(super) struct Locks {
    rqs: Vec<State>,
    dsqs: Vec<State>,
}

impl Locks {
    /// At `now` it is the turn of `cpu` to ask for `lock`, which it wants at `at` and holds for `hold`: how long it is from then on
    /// until the lock is free again. `line`: how long a cache line takes that this CPU wrote.
    ///
    /// Turns are in the order of asking, which is that of events, and follow each other from `now` on: `at` is later where the CPU
    /// first has something else to do, and by different times on different CPUs. A CPU that takes a crowded lock again at once finds
    /// that others have had it meanwhile, though they ask later here.
    pub fn take(
        &mut self,
        lock: Lock,
        cpu: CpuId,
        (now, at): (Nanos, Nanos),
        hold: Nanos,
        line: impl Fn(CpuId) -> Nanos,
    ) -> Nanos {
        let (locks, index) = match lock {
            Lock::Rq(cpu) => (&mut self.rqs, cpu.index()),
            Lock::Dsq(index) => (&mut self.dsqs, index as usize),
        };
        if locks.len() <= index {
            locks.resize(index + 1, State::default());
        }
        let state = &mut locks[index];
        state.crowded = state.until > at || state.crowded && state.until > now;
        if state.last != Some(cpu) {
            state.line = state.last.map_or(0, line);
        }
        let line = if state.last != Some(cpu) || state.crowded { state.line } else { 0 };
        let lines = if state.crowded { LINES + LINES_IF_WAITING } else { LINES };
        let turn = lines * line + hold;
        state.until = state.until.max(now) + turn;
        state.last = Some(cpu);
        turn.max(state.until.saturating_sub(at))
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
            ready[cpu] += locks.take(LOCK, this, (ready[cpu], ready[cpu]), HOLD, line) + pause;
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
        assert_eq!(locks.take(LOCK, CpuId(0), (0, 0), HOLD, |_| LINE), HOLD, "no CPU has had it");
        assert_eq!(locks.take(LOCK, CpuId(1), (1000, 1000), HOLD, |_| LINE), 2 * LINE + HOLD);
        // At 1000 + 230 it is free; who comes 30 earlier waits for that, and its own node comes in addition.
        assert_eq!(locks.take(LOCK, CpuId(2), (1200, 1200), HOLD, |_| LINE), 30 + 3 * LINE + HOLD);
        assert_eq!(locks.take(Lock::Dsq(1), CpuId(2), (1200, 1200), HOLD, |_| LINE), HOLD, "another lock");
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
    fn a_cpu_that_takes_a_crowded_lock_twice_finds_others_in_between() {
        let mut locks = Locks::default();
        let mut take = |cpu, now, at| locks.take(LOCK, CpuId(cpu), (now, at), HOLD, |_| LINE);
        assert_eq!([take(0, 0, 0), take(0, 0, 30)], [HOLD, HOLD], "alone");
        let waited = take(1, 0, 0);
        assert_eq!(waited, 60 + 3 * LINE + HOLD);
        assert_eq!(take(1, 0, waited), 3 * LINE + HOLD);
        assert_eq!(take(1, 10_000, 10_000), HOLD, "no longer crowded");
    }

    #[test]
    fn a_cpu_that_has_something_else_to_do_first_waits_less() {
        let mut locks = Locks::default();
        for cpu in 0..10 {
            locks.take(LOCK, CpuId(cpu), (0, 0), HOLD, |_| LINE);
        }
        // The first has it for 30 ns, the others for 330 each: until 3000. Who comes at 3100 waits for none, but has its turn.
        assert_eq!(locks.take(LOCK, CpuId(10), (0, 3100), HOLD, |_| LINE), 3 * LINE + HOLD);
        assert_eq!(locks.take(LOCK, CpuId(11), (0, 3100), HOLD, |_| LINE), 230 + 3 * LINE + HOLD);
    }
}
