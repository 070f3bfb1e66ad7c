// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tasks that wait too long (`scx_watchdog_workfn`), and schedulers that keep the kernel busy without end.
//!
//! The kernel measures in ticks, and so does this: a task may wait for the timeout and one tick more, and is found when
//! the watchdog next looks, every half of the timeout.
//!
//! The watchdog is work of a kernel thread, which waits for a CPU as all threads do. That thread is none of the simulated
//! ones: it runs, and takes no time, unless real-time and deadline threads have every CPU. Left out: a scheduler that lets the
//! worker itself wait, beside threads that it does run. Where it does so for the timeout, a kernel ejects it.

use super::Ctx;
use super::entity::Entities;
use super::exit::ExitKind;
use super::rq::ScxRq;
use super::timers::Timer;
use crate::kernel::Kernel;
use crate::kernel::instant::Turn;
use crate::kernel::task::ClassId;
use crate::units::{CpuId, Nanos, TaskId};

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

/// Whether a kernel thread of nice 0 that may use all CPUs (`kworker/u`, which the watchdog's work is queued to) can get a CPU:
/// not if real-time or deadline threads have all of them.
fn a_kworker_can_run(kernel: &Kernel) -> bool {
    let taken = |cpu: CpuId| kernel.rq(cpu).curr.is_some_and(|curr| kernel.task(curr).class < ClassId::Fair);
    !kernel.rt_active || !kernel.topology.online.iter().all(taken)
}

/// `msecs_to_jiffies`: rounded up.
fn ms_to_jiffies(ms: u32, hz: u64) -> u64 {
    (u64::from(ms) * hz).div_ceil(1000)
}

/// `jiffies_to_msecs`: rounded up.
pub(super) fn jiffies_to_ms(jiffies: u64, hz: u64) -> u64 {
    (u128::from(jiffies) * 1000).div_ceil(u128::from(hz)) as u64
}

/// Whether what waits since tick `since` has waited for longer than `timeout` ticks: then, for how many ms.
fn waited_too_long(since: u64, now: u64, timeout: u64, hz: u64) -> Option<u64> {
    (now > since + timeout).then(|| jiffies_to_ms(now - since, hz))
}

impl Watchdog {
    /// The watchdog begins to look, for a scheduler that says `timeout_ms` (0: the default).
    pub(super) fn start(&mut self, timeout_ms: u32, kernel: &Kernel) {
        let ms = if timeout_ms == 0 { SCX_WATCHDOG_MAX_TIMEOUT_MS } else { timeout_ms };
        self.timeout = ms_to_jiffies(ms, kernel.params.hz);
        self.timestamp = kernel.jiffies();
    }

    /// When the watchdog next looks: after half the timeout.
    pub(super) fn next_look(&self, kernel: &Kernel) -> Nanos {
        (kernel.jiffies() + (self.timeout / 2).max(1)) * kernel.params.tick()
    }

    /// The first task of `rq` that has waited for too long, and for how many ms (`check_rq_for_timeouts`).
    fn stalled(&self, rq: &ScxRq, tasks: &Entities, kernel: &Kernel) -> Option<(TaskId, u64)> {
        let (now, hz) = (kernel.jiffies(), kernel.params.hz);
        let waited = |task| Some((task, waited_too_long(tasks[task].runnable_at, now, self.timeout, hz)?));
        rq.runnable_list(tasks).into_iter().find_map(waited)
    }
}

impl Ctx<'_> {
    /// The watchdog's timer is due on `this_cpu` (`delayed_work_timer_fn`): its work is queued, and begins once a worker gets
    /// a CPU, which is looked after once a tick.
    pub(super) fn scx_watchdog_timer(&mut self, this_cpu: CpuId) {
        if a_kworker_can_run(self.kernel) {
            return self.scx_watchdog_workfn(this_cpu);
        }
        let tick = self.kernel.params.tick();
        self.scx.timers.arm(Timer::Watchdog, self.kernel.now + tick, this_cpu);
    }

    /// Looks at all waiting tasks, on `this_cpu`, and comes back after half the timeout. A scheduler that has left one
    /// waiting for too long goes.
    fn scx_watchdog_workfn(&mut self, this_cpu: CpuId) {
        self.scx.calls.set_this_cpu(this_cpu);
        self.scx.watchdog.timestamp = self.kernel.jiffies();
        let (watchdog, rqs, tasks) = (&self.scx.watchdog, &self.scx.rqs, &self.scx.tasks);
        let stalled = |cpu| watchdog.stalled(&rqs[cpu], tasks, self.kernel);
        let found = self.kernel.topology.online.iter().find_map(stalled);
        if let Some((task, ms)) = found {
            let who = self.task(task).comm_pid();
            let message = format!("{who} failed to run for {}.{:03}s", ms / 1000, ms % 1000);
            self.scx_ops_exit_kind(ExitKind::ErrorStall, 0, message);
        }
        self.scx.timers.arm(Timer::Watchdog, self.scx.watchdog.next_look(self.kernel), self.scx.enable.cpu);
    }

    /// Something more is done for the scheduler at this instant, on `cpu`. False: it has had so much done that time would
    /// never go on. A kernel that is kept so busy gives no thread any time, until the watchdog ends the scheduler; here that
    /// is done at once.
    pub fn takes_turn(&mut self, turn: Turn, cpu: CpuId) -> bool {
        let taken = self.kernel.takes_turn(turn, cpu);
        taken.map_err(|message| self.scx_ops_exit_kind(ExitKind::ErrorStall, 0, message)).is_ok()
    }

    /// At every tick of every CPU (`scx_tick`): whether the watchdog itself is late.
    pub fn scx_tick(&mut self) {
        if !self.scx.enable.enabled {
            return;
        }
        let Watchdog { timeout, timestamp } = self.scx.watchdog;
        if let Some(ms) = waited_too_long(timestamp, self.kernel.jiffies(), timeout, self.kernel.params.hz) {
            let message = format!("watchdog failed to check in for {}.{:03}s", ms / 1000, ms % 1000);
            self.scx_ops_exit_kind(ExitKind::ErrorStall, 0, message);
        }
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
