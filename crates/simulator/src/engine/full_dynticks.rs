// SPDX-License-Identifier: MIT OR Apache-2.0
//! CPUs whose tick stops while they have one thread to run (`NO_HZ_FULL`).
//!
//! A tick finds that nothing needs it and is the last one (`tick_nohz_full_stop_tick`); so does the switch from the idle thread. As
//! soon as something needs it, the tick comes again, on the grid of all CPUs (`tick_nohz_restart_sched_tick`). Once a second
//! another CPU does the thread's accounting (`sched_tick_remote`).

use super::Engine;
use super::events::Event;
use super::hotplug::boot_cpu;
use crate::kernel::cpumask::CpuMask;
use crate::kernel::params::KernelParameters;
use crate::machine::Machine;
use crate::sched::core::Sched;
use crate::units::{CpuId, Nanos, SEC};

/// Time between two remote ticks.
const REMOTE_TICK: Nanos = SEC;

/// CPUs that may do without a tick.
#[derive(Debug)]
pub(super) struct FullDynticks {
    /// The CPUs that may (`tick_nohz_full_mask`).
    mask: CpuMask,
    /// The CPUs that run without.
    stopped: CpuMask,
    used: bool,
}

impl FullDynticks {
    /// The CPUs of `machine` that `params` name, but for the one that keeps the time.
    pub fn new(machine: &Machine, params: &KernelParameters, sched: &Sched) -> Self {
        let count = machine.cpus.len();
        let named = params.nohz_full.iter().map(|cpu| CpuId(*cpu)).filter(|cpu| cpu.index() < count);
        let mask = CpuMask::of(count, named.filter(|cpu| *cpu != boot_cpu(sched)));
        let used = !mask.is_empty();
        Self { mask, stopped: CpuMask::empty(count), used }
    }

    /// Whether `cpu` runs without a tick.
    pub fn is_stopped(&self, cpu: CpuId) -> bool {
        self.stopped.test(cpu)
    }
}

impl Engine<'_> {
    /// `tick_nohz_full_update_tick`: the busy `cpu`, which is to tick, ticks no more if nothing needs it.
    #[inline]
    pub(super) fn tick_nohz_full_update_tick(&mut self, cpu: CpuId) {
        if self.full.used && self.full.mask.test(cpu) && self.sched.sched_can_stop_tick(cpu) {
            self.agenda.cancel(Event::Tick(cpu));
            self.full.stopped.set(cpu);
            if self.agenda.time_of(Event::RemoteTick).is_none() {
                self.agenda.set(Event::RemoteTick, self.agenda.now() + REMOTE_TICK);
            }
        }
    }

    /// Ticks come again where something needs them now (`sched_update_tick_dependency`), also where a thread that needs one
    /// runs instead of the one that did not.
    #[inline]
    pub(super) fn restart_ticks(&mut self) {
        if !self.full.used || self.full.stopped.is_empty() {
            return;
        }
        let stopped: Vec<CpuId> = self.full.stopped.iter().collect();
        for cpu in stopped {
            if self.running[cpu].task.is_none() {
                self.full.stopped.clear(cpu);
            } else if !self.sched.sched_can_stop_tick(cpu) {
                self.full.stopped.clear(cpu);
                self.agenda.set_tick(cpu);
            }
        }
    }

    /// Another CPU ticks for those that run without.
    pub(super) fn remote_tick(&mut self) {
        let stopped: Vec<CpuId> = self.full.stopped.iter().collect();
        for cpu in &stopped {
            self.account(*cpu);
            self.sched.tick_remote(*cpu);
        }
        if !stopped.is_empty() {
            self.agenda.set(Event::RemoteTick, self.agenda.now() + REMOTE_TICK);
        }
    }
}
