// SPDX-License-Identifier: MIT OR Apache-2.0
//! When a CPU gives its task the chance to leave (`resched_curr`, `resched_curr_lazy`).
//!
//! Under lazy preemption (6.13) the fair class does not interrupt: it sets a flag (`TIF_NEED_RESCHED_LAZY`), sends no interrupt to
//! another CPU, and the CPU looks at the flag whenever it returns from its kernel to its task (`exit_to_user_mode_loop`). So a task
//! gives way at once to one that its own CPU wakes, in a system call or in the interrupt of a timer; to one that another CPU
//! wakes, when it next makes a system call or is interrupted, at the latest at its tick. A wake-up across caches goes through an
//! interrupt of the CPU that is to run the task (`ttwu_queue_cond`) and so finds it in its kernel.
//!
//! Left out: time that threads spend in system calls, where full preemption interrupts them and lazy does not. Kernel threads
//! (`system` tasks) count as any other. A program that is mostly in the kernel could tell.

use super::Kernel;
use super::class::Wake;
use crate::units::CpuId;

/// The preemption model, and what wakes a task at the moment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Preemption {
    lazy: bool,
    /// Who wakes whom, while `try_to_wake_up` or `wake_up_new_task` is under way.
    wake: Option<Waking>,
}

/// A wake-up that is under way.
#[derive(Debug, Clone, Copy)]
struct Waking {
    this_cpu: CpuId,
    is_new: bool,
}

impl Preemption {
    pub fn new(lazy: bool) -> Self {
        Self { lazy, wake: None }
    }
}

impl Kernel {
    /// `resched_curr`: `cpu` shall call `schedule` before time goes on.
    #[inline]
    pub fn resched_curr(&mut self, cpu: CpuId) {
        let rq = &mut self.rqs[cpu.index()];
        if !rq.need_resched {
            rq.need_resched = true;
            self.resched.push_back(cpu);
        }
    }

    /// `resched_curr_lazy`: the same, unless `cpu`, which runs a task, does not hear of it yet.
    #[inline]
    pub fn resched_curr_lazy(&mut self, cpu: CpuId) {
        if self.preemption.lazy && self.is_unheard(cpu) {
            self.rqs[cpu.index()].need_resched_lazy = true;
        } else {
            self.resched_curr(cpu);
        }
    }

    /// Whether another CPU wakes a task for `cpu`, which runs one, and does not interrupt it.
    fn is_unheard(&self, cpu: CpuId) -> bool {
        let Some(waking) = self.preemption.wake else { return false };
        self.rq(cpu).curr.is_some() && waking.this_cpu != cpu && self.cpus_share_cache(waking.this_cpu, cpu)
    }

    /// `this_cpu` begins to wake a task.
    #[inline]
    pub fn begin_wake(&mut self, this_cpu: CpuId, wake: Wake) {
        self.preemption.wake = Some(Waking { this_cpu, is_new: wake == Wake::Fork });
        self.works_on_others(Some(this_cpu));
    }

    /// The wake-up is done, and the CPU that did it returns from its kernel to its task.
    #[inline]
    pub fn end_wake(&mut self) {
        self.works_on_others(None);
        if let Some(waking) = self.preemption.wake.take()
            && self.preemption.lazy
        {
            self.exit_to_user_mode(waking.this_cpu);
        }
    }

    /// Whether the task that is being queued is a new one (`WF_FORK`).
    #[inline]
    pub fn wakes_new_task(&self) -> bool {
        self.preemption.wake.is_some_and(|waking| waking.is_new)
    }

    /// `exit_to_user_mode_loop`: `cpu` was in its kernel and hears of what was asked of it lazily.
    #[inline]
    pub fn exit_to_user_mode(&mut self, cpu: CpuId) {
        if self.rqs[cpu.index()].need_resched_lazy {
            self.resched_curr(cpu);
        }
    }
}
