// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tasks that wait too long (`scx_watchdog_workfn`).
//!
//! The kernel measures in ticks, and so does this: a task may wait for the timeout and one tick more, and is found when
//! the watchdog next looks, every half of the timeout.

use super::Ctx;
use super::exit::ExitKind;
use super::timers::Timer;
use crate::units::CpuId;

/// Longest that a task may wait, and the default (`SCX_WATCHDOG_MAX_TIMEOUT`).
pub const SCX_WATCHDOG_MAX_TIMEOUT_MS: u32 = 30_000;

/// When tasks are next looked after.
#[derive(Debug, Default)]
pub struct Watchdog {
    /// Ticks that a task may wait (`scx_watchdog_timeout`).
    pub timeout: u64,
    /// The tick at which it last looked (`scx_watchdog_timestamp`).
    pub timestamp: u64,
}

/// `msecs_to_jiffies`: rounded up.
fn ms_to_jiffies(ms: u32, hz: u64) -> u64 {
    (u64::from(ms) * hz).div_ceil(1000)
}

/// `jiffies_to_msecs`: rounded up.
pub(super) fn jiffies_to_ms(jiffies: u64, hz: u64) -> u64 {
    (u128::from(jiffies) * 1000).div_ceil(u128::from(hz)) as u64
}

/// Whether somebody who waits since tick `since` has waited for longer than `timeout`: then, for how many ms.
fn waited_too_long(since: u64, now: u64, timeout: u64, hz: u64) -> Option<u64> {
    (now > since + timeout).then(|| jiffies_to_ms(now - since, hz))
}

impl Ctx<'_> {
    /// The watchdog begins to look, for a scheduler that says `timeout_ms` (0: the default).
    pub(super) fn start_watchdog(&mut self) {
        let ms = self.scx.ops.timeout_ms;
        let ms = if ms == 0 { SCX_WATCHDOG_MAX_TIMEOUT_MS } else { ms };
        self.scx.watchdog.timeout = ms_to_jiffies(ms, self.kernel.params.hz);
        self.scx.watchdog.timestamp = self.kernel.jiffies();
        self.queue_watchdog();
    }

    fn queue_watchdog(&mut self) {
        let half = (self.scx.watchdog.timeout / 2).max(1);
        let due = (self.kernel.jiffies() + half) * self.kernel.params.tick();
        self.scx.timers.arm(Timer::Watchdog, due, self.scx.enable.cpu);
    }

    /// Looks at all waiting tasks, on `this_cpu`, and comes back after half the timeout.
    pub(super) fn scx_watchdog_workfn(&mut self, this_cpu: CpuId) {
        self.scx.calls.set_this_cpu(this_cpu);
        self.scx.watchdog.timestamp = self.kernel.jiffies();
        let online: Vec<CpuId> = self.kernel.topology.online.iter().collect();
        for cpu in online {
            if self.check_rq_for_timeouts(cpu) {
                break;
            }
        }
        self.queue_watchdog();
    }

    /// Whether a task of `cpu` has waited for too long; then the scheduler goes.
    fn check_rq_for_timeouts(&mut self, cpu: CpuId) -> bool {
        let (now, timeout, hz) = (self.kernel.jiffies(), self.scx.watchdog.timeout, self.kernel.params.hz);
        for task in self.scx.rqs[cpu].runnable_list() {
            let since = self.scx.tasks[task].runnable_at;
            if let Some(ms) = waited_too_long(since, now, timeout, hz) {
                let who = self.task(task).comm_pid();
                self.stall(format!("{who} failed to run for {}.{:03}s", ms / 1000, ms % 1000));
                return true;
            }
        }
        false
    }

    /// At every tick of every CPU (`scx_tick`): whether the watchdog itself is late.
    pub fn scx_tick(&mut self) {
        if !self.scx.enable.enabled {
            return;
        }
        let Watchdog { timeout, timestamp } = self.scx.watchdog;
        if let Some(ms) = waited_too_long(timestamp, self.kernel.jiffies(), timeout, self.kernel.params.hz) {
            self.stall(format!("watchdog failed to check in for {}.{:03}s", ms / 1000, ms % 1000));
        }
    }

    fn stall(&mut self, message: String) {
        self.scx_ops_error(ExitKind::ErrorStall, message);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_rounded_up_to_ticks_and_back() {
        assert_eq!([ms_to_jiffies(5000, 250), ms_to_jiffies(1, 250), ms_to_jiffies(5, 250)], [1250, 1, 2]);
        assert_eq!([jiffies_to_ms(1250, 250), jiffies_to_ms(1, 300)], [5000, 4]);
    }

    #[test]
    fn a_task_may_wait_for_the_whole_timeout() {
        assert_eq!(waited_too_long(100, 1350, 1250, 250), None);
        assert_eq!(waited_too_long(100, 1351, 1250, 250), Some(5004));
        assert_eq!(waited_too_long(100, 50, 1250, 250), None);
    }
}
