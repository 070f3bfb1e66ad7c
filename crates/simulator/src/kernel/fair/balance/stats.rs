// SPDX-License-Identifier: MIT OR Apache-2.0
//! What balancing knows of a group of CPUs (`struct sg_lb_stats`).

use super::super::Fair;
use super::IdleType;
use super::asym::sched_group_asym;
use super::env::LoadBalance;
use crate::kernel::Kernel;
use crate::kernel::topology::{SchedDomain, SchedGroup};
use crate::kernel::versions::{BLOCK, Members};
use crate::units::{CAPACITY_SCALE, CpuId, TaskId};

/// What kind of work a group has, the most in need of help last (`enum group_type`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(in super::super) enum GroupType {
    /// Some capacity is free.
    #[default]
    HasSpare,
    /// All is used, nothing competes.
    FullyBusy,
    /// A task needs a bigger CPU.
    MisfitTask,
    /// Several tasks share one core (`group_smt_balance`).
    SmtBalance,
    /// A CPU that ranks higher idles (`group_asym_packing`).
    AsymPacking,
    /// Affinity kept balancing from evening out.
    Imbalanced,
    /// More work than capacity.
    Overloaded,
}

/// Sums over a group.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in super::super) struct GroupStats {
    pub load: u64,
    pub util: u64,
    pub runnable: u64,
    pub capacity: u64,
    pub min_capacity: u64,
    pub max_capacity: u64,
    pub sum_nr_running: u32,
    pub sum_h_nr_running: u32,
    pub idle_cpus: u32,
    pub weight: u32,
    pub misfit_task_load: u64,
    pub avg_load: u64,
    pub smt_balance: bool,
    pub asym_packing: bool,
    /// Some CPU has more than one task.
    pub overloaded: bool,
    /// No CPU is overutilized where that is asked (7.1): then the group is not overloaded, whatever runs there.
    pub fits: bool,
    pub group_type: GroupType,
}

/// Sums over some CPUs of a block as they were when something had changed there so often.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct KnownStats {
    /// The CPUs, and the versions of what the kernel and of what the class knows of the block.
    of: (u8, u32, u32),
    stats: GroupStats,
}

/// Groups of fewer CPUs are summed up as fast as it is found out whether something changed.
const WORTH_KNOWING: usize = BLOCK;

impl Fair {
    /// [`Fair::group_stats`] of all CPUs of a group. A CPU of a big package looks at all others whenever it runs out of work; in the
    /// meantime something changed on few of them, and sums that still hold are not made anew.
    pub(super) fn known_group_stats(&mut self, kernel: &Kernel, group: &SchedGroup) -> GroupStats {
        // Counts of other classes, and of sleepers that are queued still, have no version.
        let counted = kernel.rt_active || kernel.scx_enabled() || self.release.counts_runnable;
        if group.cpus.len() < WORTH_KNOWING || counted {
            return self.group_stats(kernel, &group.cpus, |_| true);
        }
        let mut stats = GroupStats { min_capacity: u64::MAX, ..GroupStats::default() };
        for members in &group.blocks {
            let Members { block, bits } = *members;
            let of = (bits, kernel.glance_versions.of_block(block), self.avg_versions.of_block(block));
            if self.balance.known_stats[block].of != of {
                // All of a block are neighbours in the group's list, which is ascending.
                let first = group.cpus.partition_point(|cpu| cpu.index() < block * BLOCK);
                let cpus = &group.cpus[first..first + bits.count_ones() as usize];
                let stats = self.group_stats(kernel, cpus, |_| true);
                self.balance.known_stats[block] = KnownStats { of, stats };
            }
            stats.add(&self.balance.known_stats[block].stats);
        }
        debug_assert_eq!(stats, self.sums(kernel, &group.cpus, |_| true), "sums that are out of date");
        stats
    }

    /// `update_sg_lb_stats`, without misfits and the group type; only CPUs `in_play` count for load, all for capacity.
    pub(super) fn group_stats(&self, kernel: &Kernel, cpus: &[CpuId], in_play: impl Fn(CpuId) -> bool) -> GroupStats {
        #[cfg(test)]
        self.balance.looked_at.set(self.balance.looked_at.get() + cpus.len());
        self.sums(kernel, cpus, in_play)
    }

    fn sums(&self, kernel: &Kernel, cpus: &[CpuId], in_play: impl Fn(CpuId) -> bool) -> GroupStats {
        let mut stats = GroupStats { weight: cpus.len() as u32, min_capacity: u64::MAX, ..GroupStats::default() };
        // Without tasks of other classes both counts are the same, and one is at hand already.
        let same = !self.release.counts_runnable && !kernel.rt_active && !kernel.scx_enabled();
        for cpu in cpus.iter().copied() {
            let rq = kernel.glance(cpu);
            let capacity = u64::from(rq.capacity);
            stats.capacity += capacity;
            stats.min_capacity = stats.min_capacity.min(capacity);
            stats.max_capacity = stats.max_capacity.max(capacity);
            if !in_play(cpu) {
                continue;
            }
            let avg = &self.queue(cpu).avg;
            stats.load += avg.load_avg;
            stats.util += avg.util_avg.max(u64::from(avg.util_est)).min(u64::from(rq.capacity_orig));
            stats.runnable += avg.runnable_avg;
            stats.sum_nr_running += rq.nr_running;
            stats.sum_h_nr_running += if same { rq.nr_running } else { self.nr_balanced(cpu) };
            stats.overloaded |= rq.nr_running > 1;
            stats.idle_cpus += u32::from(rq.nr_running == 0 && kernel.idle_cpu(cpu));
        }
        stats
    }

    /// The fair tasks of `cpu` that balancing counts: `h_nr_runnable`, in 6.12 `h_nr_queued`.
    #[inline]
    pub(super) fn nr_balanced(&self, cpu: CpuId) -> u32 {
        let queue = self.queue(cpu);
        if self.release.counts_runnable { queue.nr_runnable } else { queue.h_nr_queued }
    }

    /// What `update_sg_lb_stats` notes only of groups that the balancing CPU is not in.
    pub(super) fn add_misfits(
        &self,
        kernel: &Kernel,
        domain: &SchedDomain,
        group: &SchedGroup,
        env: &LoadBalance,
        stats: &mut GroupStats,
    ) {
        let idle = env.idle != IdleType::NotIdle;
        if domain.asym_capacity || (idle && kernel.rt_active) {
            let misfits = group.cpus.iter().filter(|cpu| !kernel.idle_cpu(**cpu));
            let load = misfits.map(|cpu| self.misfit_load(kernel, domain, *cpu, idle)).max();
            stats.misfit_task_load = load.unwrap_or(0);
        }
        stats.asym_packing = domain.asym_packing
            && idle
            && stats.sum_h_nr_running > 0
            && sched_group_asym(kernel, domain, env.dst, group, stats);
        stats.smt_balance = idle && group.smt && stats.sum_h_nr_running > 1;
    }

    /// Load of a task on `cpu` that would be better off on a bigger or less disturbed CPU.
    fn misfit_load(&self, kernel: &Kernel, domain: &SchedDomain, cpu: CpuId, idle: bool) -> u64 {
        if domain.asym_capacity {
            return self.queue(cpu).misfit_task_load;
        }
        let reduced = idle && self.nr_balanced(cpu) == 1 && reduced_capacity(kernel, cpu, domain.imbalance_pct);
        if reduced { self.cpu_load(cpu) } else { 0 }
    }

    /// `update_sg_wakeup_stats`: the group without `task`, for choosing where it starts.
    pub(in super::super) fn wakeup_stats(
        &mut self,
        kernel: &Kernel,
        domain: &SchedDomain,
        group: &SchedGroup,
        task: TaskId,
        imbalanced: bool,
    ) -> GroupStats {
        // Nearly all may go anywhere, and this is asked of all CPUs of the machine whenever a thread begins.
        let mut stats = match kernel.task(task).may_use_all() {
            true => self.known_group_stats(kernel, group),
            false => self.group_stats(kernel, &group.cpus, |cpu| kernel.task(task).may_use(cpu)),
        };
        let fits = |cpu: &CpuId| kernel.task(task).may_use(*cpu) && self.task_fits_cpu(kernel, task, *cpu);
        if domain.asym_capacity && !group.cpus.iter().any(fits) {
            stats.misfit_task_load = 1;
        }
        // Nobody asks there which CPUs are overutilized, so that none is.
        stats.fits = self.energy.is_some() && self.release.group_overutilized;
        stats.classify(domain.imbalance_pct, imbalanced);
        if matches!(stats.group_type, GroupType::FullyBusy | GroupType::Overloaded) {
            stats.avg_load = stats.load * CAPACITY_SCALE / stats.capacity.max(1);
        }
        stats
    }
}

impl GroupStats {
    /// Sums over further CPUs.
    fn add(&mut self, other: &Self) {
        self.load += other.load;
        self.util += other.util;
        self.runnable += other.runnable;
        self.capacity += other.capacity;
        self.min_capacity = self.min_capacity.min(other.min_capacity);
        self.max_capacity = self.max_capacity.max(other.max_capacity);
        self.sum_nr_running += other.sum_nr_running;
        self.sum_h_nr_running += other.sum_h_nr_running;
        self.idle_cpus += other.idle_cpus;
        self.weight += other.weight;
        self.overloaded |= other.overloaded;
    }

    /// `group_classify`.
    pub fn classify(&mut self, imbalance_pct: u64, imbalanced: bool) {
        self.group_type = if self.is_overloaded(imbalance_pct) {
            GroupType::Overloaded
        } else if imbalanced {
            GroupType::Imbalanced
        } else if self.asym_packing {
            GroupType::AsymPacking
        } else if self.smt_balance {
            GroupType::SmtBalance
        } else if self.misfit_task_load > 0 {
            GroupType::MisfitTask
        } else if !self.has_capacity(imbalance_pct) {
            GroupType::FullyBusy
        } else {
            GroupType::HasSpare
        };
    }

    /// `group_is_overloaded`.
    fn is_overloaded(&self, imbalance_pct: u64) -> bool {
        !self.fits
            && self.sum_nr_running > self.weight
            && (self.capacity * 100 < self.util * imbalance_pct || self.capacity * imbalance_pct < self.runnable * 100)
    }

    /// `group_has_capacity`.
    fn has_capacity(&self, imbalance_pct: u64) -> bool {
        if self.sum_nr_running < self.weight {
            return true;
        }
        self.capacity * imbalance_pct >= self.runnable * 100 && self.capacity * 100 > self.util * imbalance_pct
    }
}

/// `check_cpu_capacity`: real-time tasks take a notable share of the CPU.
pub(super) fn reduced_capacity(kernel: &Kernel, cpu: CpuId, imbalance_pct: u64) -> bool {
    let rq = kernel.rq(cpu);
    u64::from(rq.capacity) * imbalance_pct < u64::from(rq.capacity_orig) * 100
}

/// `adjust_numa_imbalance`: a pair of communicating tasks may stay on its node, which runs `running` tasks so far.
pub(in super::super) fn adjust_numa_imbalance(imbalance: i64, running: u32, imb_numa_nr: i64) -> i64 {
    const NUMA_IMBALANCE_MIN: i64 = 2;
    if i64::from(running) < imb_numa_nr && imbalance <= NUMA_IMBALANCE_MIN { 0 } else { imbalance }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three tasks on two CPUs that are full: overloaded, unless their CPUs are said to fit (energy-aware placement of 7.1).
    #[test]
    fn a_group_whose_cpus_fit_is_not_overloaded() {
        let classified = |fits| {
            let mut stats = GroupStats {
                sum_nr_running: 3,
                weight: 2,
                capacity: 2048,
                util: 2048,
                runnable: 3072,
                fits,
                ..GroupStats::default()
            };
            stats.classify(117, false);
            stats.group_type
        };
        assert_eq!((classified(false), classified(true)), (GroupType::Overloaded, GroupType::FullyBusy));
    }
}
