// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the instance asks of the kernel.

use std::collections::VecDeque;

use rand::Rng;
use rand_pcg::Pcg32;
use tandem_bpf_vm::errno::{Errno, OpError};
use tandem_bpf_vm::fault::{Fault, FaultKind};
use tandem_bpf_vm::handle::HandleState;
use tandem_bpf_vm::host::{Args, Clock, Host};
use tandem_bpf_vm::instance::Instance;
use tandem_bpf_vm::memory::Memory;
use tandem_bpf_vm::timer::TimerStart;

use super::kfuncs::moves;
use super::timers::Timer;
use super::{Ctx, State, kfuncs};
use crate::kernel::Kernel;
use crate::kernel::cgroup::CgroupTree;
use crate::units::{CpuId, Nanos, SEC};

/// What the monotonic clock shows when a run begins: the machine booted a minute ago. Programs take 0 for "never".
pub const UPTIME: Nanos = 60 * SEC;
/// What the wall clock shows when a run begins, in ns since 1970: the first second of 2026.
const WALL_CLOCK: Nanos = 1_767_225_600 * SEC;

/// What a program hears that reads a counter and must not (`bpf_scx_get_func_proto`).
const NO_COUNTERS: &str = "the kernel refuses schedulers whose callbacks or timers read performance counters; programs at \
    tracepoints may: SEC(\"tp_btf/sched_switch\"), SEC(\"tp_btf/sched_stat_runtime\")";

/// Lines of `bpf_printk` that are kept, the last ones.
const PRINTK_LINES: usize = 1000;

/// What the host keeps for the instance.
#[derive(Debug)]
pub struct HostState {
    /// Lines of `bpf_printk` with their times, the oldest first.
    pub printk: VecDeque<(Nanos, String)>,
    /// Lines that were dropped for later ones.
    pub printk_dropped: u64,
    /// `bpf_get_prandom_u32`: a stream of its own, so that a program that draws changes nothing else.
    rng: Pcg32,
    /// Room for a mask that a program gives.
    pub(super) mask: Vec<u64>,
}

impl HostState {
    /// A host whose programs draw random numbers from `rng`.
    pub fn new(rng: Pcg32) -> Self {
        Self { printk: VecDeque::new(), printk_dropped: 0, rng, mask: Vec::new() }
    }

    fn print(&mut self, at: Nanos, line: &str) {
        if self.printk.len() == PRINTK_LINES {
            self.printk.pop_front();
            self.printk_dropped += 1;
        }
        self.printk.push_back((at, line.to_owned()));
    }
}

/// The kernel around an instance.
pub struct ScxHost<'a> {
    /// What ext.c keeps.
    pub scx: &'a mut State,
    /// The rest of the kernel.
    pub kernel: &'a mut Kernel,
}

impl ScxHost<'_> {
    fn cpu_id(&self) -> CpuId {
        self.scx.calls.this_cpu()
    }
}

/// What `clock` shows when a run begins.
fn epoch(clock: Clock) -> Nanos {
    match clock {
        Clock::Realtime => WALL_CLOCK,
        Clock::Monotonic | Clock::Boottime => UPTIME,
    }
}

impl Host for ScxHost<'_> {
    fn cpu(&self) -> u32 {
        self.cpu_id().0
    }

    fn now(&mut self, clock: Clock) -> u64 {
        epoch(clock) + self.kernel.now
    }

    /// What `scx.runnable_at` is compared with: both begin with the run.
    fn jiffies(&mut self) -> u64 {
        self.kernel.jiffies()
    }

    fn current(&self) -> u64 {
        self.scx.current(self.kernel, self.cpu_id())
    }

    fn current_cgroup_id(&self) -> u64 {
        let current = self.kernel.rq(self.cpu_id()).curr;
        let cgroup = current.map_or(CgroupTree::ROOT, |task| self.kernel.task(task).cgroup);
        CgroupTree::kernfs_id(cgroup)
    }

    fn numa_node(&self) -> u32 {
        self.kernel.topology.node_of(self.cpu_id()) as u32
    }

    fn random(&mut self) -> u32 {
        self.scx.host.rng.next_u32()
    }

    fn printk(&mut self, line: &str) {
        self.scx.host.print(self.kernel.now, line);
    }

    fn timer_start(&mut self, start: TimerStart) {
        let due = start.expires.saturating_sub(epoch(start.clock)).max(self.kernel.now);
        let cpu = self.cpu_id();
        self.scx.timers.arm(Timer::Bpf(start.timer), due, cpu);
    }

    fn timer_cancel(&mut self, timer: u64) -> bool {
        self.scx.timers.cancel(Timer::Bpf(timer))
    }

    fn owns(&self, memory: &Memory, address: u64) -> bool {
        self.scx.guest.is_task(memory, address) || self.scx.guest.cgroup_at(memory, address).is_some()
    }

    fn iterator_dropped(&mut self, name: &'static str, state: HandleState) {
        if name == moves::ITERATOR {
            moves::dropped(&mut self.scx.dsqs, state);
        }
    }

    fn perf_event_value(&mut self, map: &str, index: u32) -> Result<(u64, u64, u64), OpError> {
        if !self.scx.calls.active.last().is_some_and(|active| active.tracing) {
            return Err(FaultKind::Misuse(NO_COUNTERS.to_owned()).into());
        }
        let event = self.scx.perf.iter().find(|(name, _)| name == map).map(|(_, event)| *event);
        let read = |event| self.kernel.pmu.read(self.kernel.now, CpuId(index), event);
        let reading = event.and_then(read).ok_or(Errno::ENOENT)?;
        // `perf_event_read_local`
        if index != self.cpu_id().0 {
            return Err(Errno::EINVAL.into());
        }
        Ok((reading.counter, reading.enabled, reading.running))
    }

    #[inline]
    fn kfunc(&mut self, vm: &mut Instance, kfunc: u32, args: Args) -> Result<u64, Fault> {
        let Some(kfunc) = kfuncs::TABLE.get(kfunc as usize) else {
            return Err(FaultKind::Misuse(format!("there is no kernel function number {kfunc}")).into());
        };
        let mut ctx = Ctx { scx: self.scx, vm, kernel: self.kernel };
        (kfunc.handler)(&mut ctx, args)
    }
}

/// `CLOCK_MONOTONIC`, ns.
pub fn monotonic(kernel: &Kernel) -> Nanos {
    UPTIME + kernel.now
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::streams::{Stream, Streams};

    #[test]
    fn the_last_lines_are_kept() {
        let mut host = HostState::new(Streams::new(1).of(Stream::Bpf));
        for line in 0..1003_u64 {
            host.print(line, &line.to_string());
        }
        assert_eq!((host.printk.len(), host.printk_dropped), (1000, 3));
        assert_eq!(host.printk.front(), Some(&(3, "3".to_owned())));
    }
}
