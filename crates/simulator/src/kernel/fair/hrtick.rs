// SPDX-License-Identifier: MIT OR Apache-2.0
//! Slices that end on time instead of at the next tick: a timer of each CPU, set to when its task will have reached its virtual
//! deadline (`HRTICK`, on by default from 7.1 on where the kernel rearms timers on its way out, `CONFIG_HRTIMER_REARM_DEFERRED`).
//!
//! Left out: the correction for time that interrupts take (`cpu_util_irq`). A timer whose task has left the CPU stays, as in
//! Linux, and asks for a pass in vain.

use super::Fair;
use crate::kernel::Kernel;
use crate::units::{CpuId, Nanos, TaskId, USEC};

/// `hrtick_start` waits for no less.
const SHORTEST: Nanos = 10 * USEC;
/// A timer that differs by no more is not set anew (`hrtick_needs_rearm`).
const NEAR: Nanos = 5 * USEC;

/// The timers of all CPUs.
#[derive(Debug, Default)]
pub(super) struct Hrticks {
    /// When each goes off, if it is set; empty without the feature.
    at: Vec<Option<Nanos>>,
    /// CPUs whose timer was set or cancelled; the engine drains them.
    changed: Vec<CpuId>,
}

impl Hrticks {
    pub fn new(kernel: &Kernel) -> Self {
        let cpus = if kernel.hrtick { kernel.topology.nr_cpus } else { 0 };
        Self { at: vec![None; cpus], changed: Vec::new() }
    }

    /// `hrtick_enabled_fair`.
    #[inline]
    fn enabled(&self) -> bool {
        !self.at.is_empty()
    }

    fn set(&mut self, cpu: CpuId, at: Option<Nanos>) {
        self.at[cpu.index()] = at;
        self.changed.push(cpu);
    }
}

impl Fair {
    /// The timers that were set or cancelled since the last call, with when they go off now.
    #[inline]
    pub fn changed_hrticks(&mut self) -> Option<(CpuId, Option<Nanos>)> {
        let cpu = self.hrticks.changed.pop()?;
        Some((cpu, self.hrticks.at[cpu.index()]))
    }

    /// `hrtick`: the timer of `cpu` has gone off; a fair task that runs there is to be looked at (`task_tick_fair` with `queued`).
    pub fn hrtick(&mut self, kernel: &mut Kernel, cpu: CpuId) {
        self.hrticks.set(cpu, None);
        let Some(task) = self.current(cpu) else { return };
        self.entity_ticks(kernel, cpu, task);
        kernel.resched_curr(cpu);
    }

    /// `hrtick_update`: something was queued on `cpu`, whose task ran alone until then.
    #[inline]
    pub(super) fn hrtick_update(&mut self, kernel: &mut Kernel, cpu: CpuId) {
        if self.hrticks.enabled()
            && self.hrticks.at[cpu.index()].is_none()
            && let Some(task) = self.current(cpu)
        {
            self.hrtick_start_fair(kernel, cpu, task);
        }
    }

    /// `hrtick_start_fair`: sets the timer of `cpu` to when `task`, which runs or is about to, will have used its request up.
    #[inline]
    pub(super) fn hrtick_start_fair(&mut self, kernel: &mut Kernel, cpu: CpuId, task: TaskId) {
        if !self.hrticks.enabled() || self.cfs[cpu.index()].h_nr_queued <= 1 {
            return;
        }
        let entity = self.se(task);
        let virtual_left = entity.deadline - entity.vruntime;
        if virtual_left < 0 {
            if kernel.rq(cpu).curr == Some(task) {
                kernel.resched_curr(cpu);
            }
            return;
        }
        // A timer is never early: what it finds has come to its end, whatever rounding says.
        let mut delay = (u128::from(virtual_left.unsigned_abs()) * u128::from(entity.weight)).div_ceil(1024) as Nanos;
        while entity.calc_delta_fair(delay) < virtual_left {
            delay += 1;
        }
        let at = kernel.rq_clock(cpu) + delay.max(SHORTEST);
        if self.hrticks.at[cpu.index()].is_none_or(|set| set.abs_diff(at) > NEAR) {
            self.hrticks.set(cpu, Some(at));
        }
    }

    /// `hrtick_schedule_exit`: `cpu` idles.
    #[inline]
    pub fn hrtick_clear(&mut self, cpu: CpuId) {
        if self.hrticks.enabled() && self.hrticks.at[cpu.index()].is_some() {
            self.hrticks.set(cpu, None);
        }
    }
}
