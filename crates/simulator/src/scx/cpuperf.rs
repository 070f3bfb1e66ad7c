// SPDX-License-Identifier: MIT OR Apache-2.0
//! Wanted performance (`scx_bpf_cpuperf_cap`, `_cur`, `_set`).
//!
//! A target is in absolute capacity, 1024 being the biggest CPU at its highest clock. schedutil takes it for
//! utilisation, bounds it by the CPU's capacity, adds a quarter and bounds it again: on a CPU of capacity 512, a target
//! of 410 already asks for the highest clock. Other governors do not look at it.

use crate::units::{CAPACITY_SCALE, CpuId};

/// `SCX_CPUPERF_ONE`.
pub const CPUPERF_ONE: u32 = CAPACITY_SCALE as u32;

/// Wanted performance of each CPU.
#[derive(Debug, Default)]
pub struct Cpuperf {
    /// `rq->scx.cpuperf_target`; empty while no scheduler is loaded.
    targets: Vec<u32>,
}

impl Cpuperf {
    /// A scheduler takes over: every CPU shall run at its best.
    pub fn reset(&mut self, nr_cpus: usize) {
        self.targets.clear();
        self.targets.resize(nr_cpus, CPUPERF_ONE);
    }

    /// The scheduler has gone: it wants nothing any more.
    pub fn clear(&mut self) {
        self.targets.clear();
    }

    /// What the scheduler wants of `cpu`, 0..=1024; 0 without a scheduler (`scx_cpuperf_target`).
    #[inline]
    pub fn target(&self, cpu: CpuId) -> u32 {
        self.targets.get(cpu.index()).copied().unwrap_or(0)
    }

    /// What schedutil takes for the utilisation of `cpu` by fair and sched_ext tasks, `cfs` being that of the fair ones
    /// (`sugov_get_util`): under a scheduler of all tasks, the target alone.
    #[inline]
    pub fn util(&self, cpu: CpuId, cfs: u64, switched_all: bool) -> u64 {
        u64::from(self.target(cpu)) + if switched_all { 0 } else { cfs }
    }

    /// From now on `cpu` shall provide `target`, 0..=1024.
    pub fn set(&mut self, cpu: CpuId, target: u32) {
        if let Some(entry) = self.targets.get_mut(cpu.index()) {
            *entry = target;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_scheduler_wants_every_cpu_at_its_best() {
        let mut cpuperf = Cpuperf::default();
        assert_eq!(cpuperf.target(CpuId(1)), 0, "no scheduler wants nothing");
        cpuperf.reset(2);
        assert_eq!([cpuperf.target(CpuId(0)), cpuperf.target(CpuId(1))], [1024, 1024]);
        cpuperf.set(CpuId(1), 300);
        assert_eq!([cpuperf.target(CpuId(0)), cpuperf.target(CpuId(1))], [1024, 300]);
        cpuperf.clear();
        assert_eq!(cpuperf.target(CpuId(1)), 0);
    }

    #[test]
    fn fair_tasks_count_only_beside_a_scheduler_of_some_tasks() {
        let mut cpuperf = Cpuperf::default();
        cpuperf.reset(1);
        cpuperf.set(CpuId(0), 300);
        assert_eq!(cpuperf.util(CpuId(0), 200, false), 500);
        assert_eq!(cpuperf.util(CpuId(0), 200, true), 300);
    }
}
