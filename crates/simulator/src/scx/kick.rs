// SPDX-License-Identifier: MIT OR Apache-2.0
//! CPUs that shall reschedule (`scx_bpf_kick_cpu`, `kick_cpus_irq_workfn`).
//!
//! Kicks are collected on the CPU that asks for them and take effect in its irq_work, once no run queue is locked any
//! more. Left out: the waiting of `SCX_KICK_WAIT`, as a CPU that is
//! told to reschedule does so at the same instant here; a program that measures how long its kicks take could tell.

use std::collections::VecDeque;

use tandem_bpf_vm::memory::Memory;

use super::rq::Rqs;
use super::{Ctx, State};
use crate::kernel::Kernel;
use crate::kernel::cpumask::CpuMask;
use crate::kernel::instant::Turn;
use crate::kernel::task::ClassId;
use crate::units::CpuId;

/// `SCX_KICK_IDLE`: only if the CPU is idle.
pub const KICK_IDLE: u64 = 1;
/// `SCX_KICK_PREEMPT`: its running task has no time left.
pub const KICK_PREEMPT: u64 = 2;
/// `SCX_KICK_WAIT`: not before it has rescheduled does the asking CPU go on.
pub const KICK_WAIT: u64 = 4;

/// CPUs to kick.
#[derive(Debug, Default)]
pub struct Kicks {
    /// What each CPU has asked for, made when the first asks.
    asked: Vec<Asked>,
    /// CPUs whose irq_work is due, in the order of their first kick.
    due: VecDeque<CpuId>,
}

/// What one CPU has asked for (`struct scx_rq`).
#[derive(Debug, Clone)]
struct Asked {
    /// `cpus_to_kick`.
    kick: CpuMask,
    /// `cpus_to_kick_if_idle`.
    if_idle: CpuMask,
    /// `cpus_to_preempt`.
    preempt: CpuMask,
    /// Whether it is in [`Kicks::due`].
    queued: bool,
}

impl Kicks {
    /// The CPU whose irq_work is due next.
    #[inline]
    pub fn pending(&self) -> Option<CpuId> {
        self.due.front().copied()
    }

    /// `this_cpu` asks to kick `cpu`, one of `nr_cpus`.
    fn ask(&mut self, nr_cpus: usize, this_cpu: CpuId, cpu: CpuId, flags: u64) {
        let asked = self.queue(nr_cpus, this_cpu);
        if flags & KICK_IDLE != 0 {
            asked.if_idle.set(cpu);
            return;
        }
        asked.kick.set(cpu);
        if flags & KICK_PREEMPT != 0 {
            asked.preempt.set(cpu);
        }
    }

    /// `irq_work_queue`.
    fn queue(&mut self, nr_cpus: usize, this_cpu: CpuId) -> &mut Asked {
        if self.asked.is_empty() {
            let none = CpuMask::empty(nr_cpus);
            let asked = Asked { kick: none.clone(), if_idle: none.clone(), preempt: none, queued: false };
            self.asked = vec![asked; nr_cpus];
        }
        let asked = &mut self.asked[this_cpu.index()];
        if !asked.queued {
            asked.queued = true;
            self.due.push_back(this_cpu);
        }
        asked
    }

    /// The next of `this_cpu`'s irq_work: CPUs to kick ascending, then those to kick if they are idle. With it, whether
    /// its task has no time left, and whether only an idle CPU is meant. One that is kicked anyway is not asked about.
    fn next(&mut self, this_cpu: CpuId) -> Option<Kick> {
        let asked = self.asked.get_mut(this_cpu.index())?;
        if let Some(cpu) = asked.kick.first() {
            let preempt = asked.preempt.test(cpu);
            asked.kick.clear(cpu);
            asked.if_idle.clear(cpu);
            asked.preempt.clear(cpu);
            return Some(Kick { cpu, preempt, if_idle: false });
        }
        let cpu = asked.if_idle.first()?;
        asked.if_idle.clear(cpu);
        Some(Kick { cpu, preempt: false, if_idle: true })
    }

    /// `this_cpu`'s irq_work has been done.
    fn done(&mut self, this_cpu: CpuId) {
        if let Some(asked) = self.asked.get_mut(this_cpu.index()) {
            asked.queued = false;
        }
        self.due.retain(|cpu| *cpu != this_cpu);
    }
}

/// One kick.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Kick {
    cpu: CpuId,
    preempt: bool,
    if_idle: bool,
}

/// `can_skip_idle_kick`: `cpu` has a task, and is not just looking for one, which may fail.
fn can_skip_idle_kick(kernel: &Kernel, rqs: &Rqs, cpu: CpuId) -> bool {
    kernel.rq(cpu).curr.is_some() && !rqs[cpu].in_balance
}

impl Ctx<'_> {
    /// `scx_bpf_kick_cpu`: asks `cpu` to reschedule, see `SCX_KICK_*`; ignored while bypassing.
    pub fn scx_bpf_kick_cpu(&mut self, cpu: i32, flags: u64) {
        let Some(cpu) = self.ops_cpu_valid(cpu, None) else { return };
        let this_cpu = self.scx.calls.this_cpu();
        if self.scx.rqs[this_cpu].bypassing {
            return;
        }
        if flags & KICK_IDLE != 0 {
            if flags & (KICK_PREEMPT | KICK_WAIT) != 0 {
                self.ops_error("PREEMPT/WAIT cannot be used with SCX_KICK_IDLE".into());
            }
            if can_skip_idle_kick(self.kernel, &self.scx.rqs, cpu) {
                return;
            }
        }
        self.scx.kicks.ask(self.kernel.topology.nr_cpus, this_cpu, cpu, flags);
    }

    /// What is due once no run queue is locked any more: deferred work of CPUs (`deferred_irq_workfn`), then kicks, until no
    /// more come. To be called after each hook.
    #[inline]
    pub fn irq_work(&mut self) {
        if self.scx.rqs.has_deferred() || self.scx.kicks.pending().is_some() {
            self.do_irq_work();
        }
    }

    fn do_irq_work(&mut self) {
        loop {
            while let Some(cpu) = self.scx.rqs.take_deferred() {
                if !self.takes_turn(Turn::IrqWork, cpu) {
                    return;
                }
                self.run_deferred(cpu);
            }
            let Some(cpu) = self.scx.kicks.pending() else { return };
            if !self.takes_turn(Turn::IrqWork, cpu) {
                return;
            }
            self.scx.kick_cpus_irq_work(&mut self.vm.memory, self.kernel, cpu);
        }
    }
}

impl State {
    /// `kick_cpus_irq_workfn`: does what `this_cpu` has asked for.
    fn kick_cpus_irq_work(&mut self, memory: &mut Memory, kernel: &mut Kernel, this_cpu: CpuId) {
        while let Some(kick) = self.kicks.next(this_cpu) {
            let reachable = kernel.topology.online.test(kick.cpu) || kick.cpu == this_cpu;
            if !reachable || kick.if_idle && can_skip_idle_kick(kernel, &self.rqs, kick.cpu) {
                continue;
            }
            if !kernel.rq(kick.cpu).need_resched {
                kernel.sends_ipi(this_cpu, kick.cpu);
            }
            if kick.if_idle {
                kernel.resched_curr(kick.cpu);
            } else {
                self.kick_one_cpu(memory, kernel, kick);
            }
        }
        self.kicks.done(this_cpu);
    }

    /// `kick_one_cpu`. In 7.x, a CPU that runs a more urgent class is left alone.
    fn kick_one_cpu(&self, memory: &mut Memory, kernel: &mut Kernel, kick: Kick) {
        let curr = kernel.rq(kick.cpu).curr.map(|curr| (curr, kernel.task(curr).class));
        if self.profile.rules().kick_spares_higher_class && curr.is_some_and(|(_, class)| class < ClassId::Ext) {
            return;
        }
        if let Some((curr, ClassId::Ext)) = curr.filter(|_| kick.preempt) {
            self.guest.set_slice(memory, curr, 0);
        }
        kernel.resched_curr(kick.cpu);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drain(kicks: &mut Kicks, this_cpu: u32) -> Vec<(u32, bool, bool)> {
        let kicked = std::iter::from_fn(|| kicks.next(CpuId(this_cpu)));
        kicked.map(|kick| (kick.cpu.0, kick.preempt, kick.if_idle)).collect()
    }

    #[test]
    fn kicks_are_done_in_the_order_of_cpus_and_conditional_ones_last() {
        let mut kicks = Kicks::default();
        for (cpu, flags) in [(3, 0), (2, KICK_IDLE), (1, KICK_PREEMPT), (0, KICK_IDLE)] {
            kicks.ask(4, CpuId(2), CpuId(cpu), flags);
        }
        assert_eq!(kicks.pending(), Some(CpuId(2)));
        assert_eq!(drain(&mut kicks, 2), [(1, true, false), (3, false, false), (0, false, true), (2, false, true)]);
        kicks.done(CpuId(2));
        assert_eq!(kicks.pending(), None);
    }

    #[test]
    fn kicks_of_one_cpu_by_another_are_joined() {
        let mut kicks = Kicks::default();
        for flags in [KICK_IDLE, 0, KICK_PREEMPT, KICK_IDLE] {
            kicks.ask(2, CpuId(0), CpuId(1), flags);
        }
        assert_eq!(drain(&mut kicks, 0), [(1, true, false)], "one kick, and it takes the rest of the slice");
    }

    #[test]
    fn each_cpu_has_its_own_kicks_and_they_are_served_in_turn() {
        let mut kicks = Kicks::default();
        kicks.ask(2, CpuId(1), CpuId(0), 0);
        kicks.ask(2, CpuId(0), CpuId(1), 0);
        assert_eq!(kicks.pending(), Some(CpuId(1)));
        assert_eq!(drain(&mut kicks, 1), [(0, false, false)]);
        kicks.done(CpuId(1));
        assert_eq!(kicks.pending(), Some(CpuId(0)));
        assert_eq!(drain(&mut kicks, 0), [(1, false, false)]);
    }
}
