// SPDX-License-Identifier: MIT OR Apache-2.0
//! The CPU of a new task: the idlest group, level by level (`sched_balance_find_dst_cpu`).

use super::Fair;
use super::balance::stats::{GroupStats, GroupType, adjust_numa_imbalance};
use crate::kernel::Kernel;
use crate::kernel::topology::{DomainId, Level, SchedDomain, SchedGroup};
use crate::units::{CpuId, Nanos, TaskId};

impl Fair {
    /// `sched_balance_find_dst_cpu`: from `domain` down to a CPU, always into the idlest group.
    pub(super) fn sched_balance_find_dst_cpu(
        &mut self,
        kernel: &Kernel,
        domain: DomainId,
        task: TaskId,
        this_cpu: CpuId,
    ) -> CpuId {
        let mut cpu = this_cpu;
        let mut level = Some(domain);
        while let Some(id) = level {
            let domain = &kernel.topology.domains[id];
            if let Some(group) = self.find_dst_group(kernel, id, task, cpu) {
                cpu = self.find_dst_group_cpu(kernel, group, task, cpu);
            }
            level = child_of(kernel, cpu, domain.weight);
        }
        cpu
    }

    /// `sched_balance_find_dst_group`: the idlest group if it is clearly idler than the local one.
    fn find_dst_group<'a>(
        &mut self,
        kernel: &'a Kernel,
        id: DomainId,
        task: TaskId,
        this_cpu: CpuId,
    ) -> Option<&'a SchedGroup> {
        let domain = &kernel.topology.domains[id];
        let mut local: Option<GroupStats> = None;
        let mut idlest: Option<(&SchedGroup, GroupStats)> = None;
        for (index, group) in kernel.topology.ring(id, this_cpu) {
            if !group.cpus.iter().any(|cpu| kernel.task(task).may_use(*cpu)) {
                continue;
            }
            let stats = self.wakeup_stats(kernel, domain, group, task, self.balance.sg_imbalanced(id, index));
            if group.span.test(this_cpu) {
                local = Some(stats);
            } else if idlest.as_ref().is_none_or(|(_, best)| idler(&stats, best)) {
                idlest = Some((group, stats));
            }
        }
        let (group, idlest) = idlest?;
        let Some(local) = local else { return Some(group) };
        if domain.level == Level::Numa
            && (local.group_type, idlest.group_type) == (GroupType::HasSpare, GroupType::HasSpare)
            && let Some(goes) = self.numa_prefers(task, this_cpu, group)
        {
            return goes.then_some(group);
        }
        let usable = |cpu: &&CpuId| kernel.task(task).may_use(**cpu);
        let allowed =
            domain.groups[kernel.topology.local_group(id, this_cpu)].cpus.iter().filter(usable).count() as i64;
        leaves(domain, &local, &idlest, allowed).then_some(group)
    }

    /// `sched_balance_find_dst_group_cpu`: an idle CPU in the shallowest state, the most recently idle of several;
    /// without any, the least loaded.
    fn find_dst_group_cpu(&self, kernel: &Kernel, group: &SchedGroup, task: TaskId, this_cpu: CpuId) -> CpuId {
        let allowed = group.cpus.iter().copied().filter(|cpu| kernel.task(task).may_use(*cpu));
        if group.cpus.len() > 1
            && let Some(cpu) = allowed.clone().find(|cpu| self.choose_sched_idle_rq(kernel, task, *cpu))
        {
            return cpu;
        }
        let idle = allowed.clone().filter(|cpu| kernel.idle_cpu(*cpu));
        let shallowest = idle.min_by_key(|cpu| {
            let rq = kernel.rq(*cpu);
            let stamp: Nanos = rq.idle_stamp.unwrap_or(0);
            (rq.exit_latency, Nanos::MAX - stamp, cpu.0)
        });
        shallowest.or_else(|| allowed.min_by_key(|cpu| (self.cpu_load(*cpu), cpu.0))).unwrap_or(this_cpu)
    }
}

/// The domain of `cpu` just below a span of `weight` CPUs.
fn child_of(kernel: &Kernel, cpu: CpuId, weight: usize) -> Option<DomainId> {
    let chain = &kernel.topology.chains[cpu.index()];
    chain.iter().rev().copied().find(|domain| kernel.topology.domains[*domain].weight < weight)
}

/// `update_pick_idlest`: whether `stats` is idler than the idlest so far.
fn idler(stats: &GroupStats, best: &GroupStats) -> bool {
    if stats.group_type != best.group_type {
        return stats.group_type < best.group_type;
    }
    match stats.group_type {
        GroupType::Overloaded | GroupType::FullyBusy => stats.avg_load < best.avg_load,
        GroupType::Imbalanced | GroupType::AsymPacking | GroupType::SmtBalance => false,
        GroupType::MisfitTask => stats.max_capacity > best.max_capacity,
        GroupType::HasSpare => {
            stats.idle_cpus > best.idle_cpus || (stats.idle_cpus == best.idle_cpus && stats.util < best.util)
        }
    }
}

/// Whether the idlest group is enough idler than the local one, of which the task may use `allowed` CPUs, for the task
/// to go there.
fn leaves(domain: &SchedDomain, local: &GroupStats, idlest: &GroupStats, allowed: i64) -> bool {
    if local.group_type != idlest.group_type {
        return local.group_type > idlest.group_type;
    }
    match local.group_type {
        GroupType::Overloaded | GroupType::FullyBusy => {
            let allowed = 1024 * (domain.imbalance_pct - 100) / 100;
            if domain.level == Level::Numa && idlest.avg_load + allowed >= local.avg_load {
                return false;
            }
            idlest.avg_load < local.avg_load + allowed && 100 * local.avg_load > domain.imbalance_pct * idlest.avg_load
        }
        GroupType::Imbalanced | GroupType::AsymPacking | GroupType::SmtBalance => false,
        GroupType::MisfitTask => local.max_capacity < idlest.max_capacity,
        GroupType::HasSpare => {
            let imbalance = i64::from(local.idle_cpus).abs_diff(i64::from(idlest.idle_cpus)) as i64;
            let tolerated = domain.imb_numa_nr.min(allowed);
            if domain.level == Level::Numa && adjust_numa_imbalance(imbalance, local.sum_nr_running, tolerated) == 0 {
                return false;
            }
            local.idle_cpus < idlest.idle_cpus
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_pcg::Pcg32;

    use super::*;
    use crate::generated;
    use crate::kernel::class::{Enqueue, SchedClass};
    use crate::kernel::cpumask::CpuMask;
    use crate::kernel::params::KernelParameters;
    use crate::kernel::switching::Switching;
    use crate::kernel::task::Task;
    use crate::workload::Scheduling;
    use std::sync::Arc;

    const CPUS: usize = 512;

    /// So many threads begin on CPU 0; where each goes. How many CPUs were looked at for that.
    fn forked(threads: usize, allowed: Option<&Arc<CpuMask>>) -> (Vec<CpuId>, usize) {
        let machine = generated::machine(CPUS as u32).unwrap();
        let mut kernel = Kernel::new(&machine, KernelParameters::default(), Pcg32::seed_from_u64(1));
        let mut fair = Fair::new(&mut kernel, None);
        let domain = *kernel.topology.chains[0].last().unwrap();
        let mut chosen = Vec::new();
        for task in (0..threads).map(TaskId::at) {
            kernel.tasks.push(Task::new(task, Scheduling::default(), allowed.cloned(), Switching::default()));
            fair.task_new(&kernel, task);
            let cpu = fair.sched_balance_find_dst_cpu(&kernel, domain, task, CpuId(0));
            kernel.task_mut(task).cpu = cpu;
            fair.enqueue_task(&mut kernel, task, Enqueue::New);
            chosen.push(cpu);
        }
        (chosen, fair.balance.looked_at.get())
    }

    /// Each thread makes its block of eight CPUs another one; sums of the other 63 blocks hold. Then 16 groups of its package, whose
    /// sums hold, too, and the eight CPUs of a cache, each for itself.
    #[test]
    fn a_thread_that_begins_does_not_look_at_all_cpus() {
        let threads = 2000;
        let (chosen, looked_at) = forked(threads, None);
        assert!(looked_at <= CPUS + threads * (8 + 8), "{looked_at} CPUs for {threads} threads");
        let everywhere = Arc::new(CpuMask::of(CPUS, (0..CPUS).map(CpuId::at)));
        let (alike, looked_at) = forked(threads, Some(&everywhere));
        assert_eq!(chosen, alike, "who may use all CPUs by name goes where others go");
        assert!(looked_at >= CPUS * threads, "what affinities leave is not summed up in advance");
    }
}
