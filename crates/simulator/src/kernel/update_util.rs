// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cpufreq_update_util`: governors hear that a CPU's utilisation changed, unless the CPU whose kernel says so may not change that
//! clock (`cpufreq_this_cpu_can_update` of `kernel/sched/cpufreq.c`).
//!
//! schedutil, ondemand and conservative ask it first (`sugov_should_update_freq`, `dbs_update_util_handler`), and intel_pstate
//! takes nothing from another CPU at all (`intel_pstate_update_util`). A driver lets any CPU change any clock with
//! `dvfs_possible_from_any_cpu`: those of device trees and firmware tables on Arm set it (cpufreq-dt, scmi, scpi, qcom-cpufreq-hw,
//! apple-soc, cppc), none of x86 does. The former are also those that register an energy model, by which they are told apart here.

use super::Kernel;
use crate::machine::Machine;
use crate::units::{CpuId, PerformanceDomainId};

/// Which CPUs may change which clock, and which one is at work.
#[derive(Debug, Clone)]
pub(super) struct UpdateUtil {
    /// Per CPU: its clock, if only the CPUs that have it may change it.
    own: Vec<Option<PerformanceDomainId>>,
    /// The CPU whose kernel changes a queue (`smp_processor_id()`), where it may be another's; `None`: the queue's own.
    this_cpu: Option<CpuId>,
}

impl UpdateUtil {
    /// On `machine`, nobody at work.
    pub fn of(machine: &Machine) -> Self {
        let has_driver = machine.platform.cpufreq_driver.is_some();
        let own = |domain: PerformanceDomainId| {
            let without = machine.performance_domains[domain.index()].opps.iter().any(|opp| opp.em_watts.is_none());
            (has_driver || without).then_some(domain)
        };
        Self { own: machine.cpus.iter().map(|cpu| own(cpu.performance_domain)).collect(), this_cpu: None }
    }
}

impl Kernel {
    /// `cpufreq_update_util`: tells the governor that `cpu`'s utilisation may have changed. A governor that `cpu` may not speak to at
    /// the moment hears nothing.
    #[inline]
    pub fn cpufreq_update_util(&mut self, cpu: CpuId) {
        if self.cpufreq_hook && self.update_util.this_cpu.is_none_or(|this| self.cpufreq_this_cpu_can_update(this, cpu))
        {
            self.cpufreq_updates.push(cpu);
        }
    }

    /// The same, said by `this_cpu`.
    pub fn cpufreq_update_util_from(&mut self, this_cpu: CpuId, cpu: CpuId) {
        let before = self.works_on_others(Some(this_cpu));
        self.cpufreq_update_util(cpu);
        self.works_on_others(before);
    }

    /// From now on `this_cpu` changes queues, also those of other CPUs; with `None` each CPU its own. What held before.
    #[inline]
    pub fn works_on_others(&mut self, this_cpu: Option<CpuId>) -> Option<CpuId> {
        std::mem::replace(&mut self.update_util.this_cpu, this_cpu)
    }

    /// `this_cpu` moves tasks between queues, unless another CPU does so for it. What [`Kernel::works_on_others`] held before.
    #[inline]
    pub fn begin_move(&mut self, this_cpu: CpuId) -> Option<CpuId> {
        let before = self.update_util.this_cpu;
        self.update_util.this_cpu = before.or(Some(this_cpu));
        before
    }

    /// Whether `this_cpu` may change the clock of `cpu`. Firmware that looks by itself needs nobody to tell it.
    fn cpufreq_this_cpu_can_update(&self, this_cpu: CpuId, cpu: CpuId) -> bool {
        let own = &self.update_util.own;
        this_cpu == cpu
            || self.firmware_watches
            || own[cpu.index()].is_none_or(|clock| own[this_cpu.index()] == Some(clock))
    }
}
