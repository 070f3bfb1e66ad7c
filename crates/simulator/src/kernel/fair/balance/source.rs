// SPDX-License-Identifier: MIT OR Apache-2.0
//! From where to pull, and how much: `sched_balance_find_src_group`, `calculate_imbalance`,
//! `sched_balance_find_src_rq`.

use super::super::Fair;
use super::super::load::capacity_greater;
use super::IdleType;
use super::asym::sched_asym;
use super::env::{LoadBalance, Migration};
use super::stats::{GroupStats, GroupType, adjust_numa_imbalance, reduced_capacity};
use crate::kernel::Kernel;
use crate::kernel::topology::{Level, SchedDomain, SchedGroup};
use crate::units::{CAPACITY_SCALE, CpuId};

/// Sums over a domain (`struct sd_lb_stats`).
#[derive(Default)]
struct DomainStats {
    local: (usize, GroupStats),
    busiest: Option<(usize, GroupStats)>,
    total_load: u64,
    total_capacity: u64,
    /// At the root domain: whether some CPU has a task to give away.
    overloaded: Option<bool>,
}

impl Fair {
    /// `sched_balance_find_src_group`: the group to pull from, with the imbalance noted in `env`.
    pub(super) fn find_src_group(&mut self, kernel: &mut Kernel, env: &mut LoadBalance) -> Option<usize> {
        if env.level == 0 {
            self.update_group_capacity(kernel, env.dst, env.idle);
        }
        if self.only_this_group_works(kernel, env) {
            return None;
        }
        let stats = self.domain_stats(kernel, env, &kernel.topology.domains[env.domain]);
        kernel.rd_overloaded = stats.overloaded.unwrap_or(kernel.rd_overloaded);
        let domain = &kernel.topology.domains[env.domain];
        let (group, busiest) = stats.busiest?;
        if !self.should_pull(env, domain, &stats, group, &busiest) {
            return None;
        }
        calculate_imbalance(env, domain, &stats, group, busiest);
        (env.imbalance > 0).then_some(group)
    }

    /// Whether nothing is queued in any other group of the domain, so that there is none to pull from, and nobody else wants to know
    /// what a look at all CPUs would find: balancing over the root domain, over a whole cache (`update_idle_cpu_scan`) and with an
    /// energy model (`rd->overutilized`) leaves more behind. Idle CPUs of a small domain do this every few milliseconds.
    fn only_this_group_works(&self, kernel: &Kernel, env: &LoadBalance) -> bool {
        let topology = &kernel.topology;
        let domain = &topology.domains[env.domain];
        let whole_cache = || domain.weight == topology.llcs[topology.llc_of[env.dst.index()] as usize].cpus.len();
        self.energy.is_none()
            && topology.chains[env.cpu.index()].last() != Some(&env.domain)
            && (env.idle == IdleType::NewlyIdle || !whole_cache())
            && domain.span.is_within(&domain.groups[topology.local_group(env.domain, env.cpu)].span, &kernel.idle)
    }

    /// `update_sd_lb_stats`.
    fn domain_stats(&mut self, kernel: &Kernel, env: &LoadBalance, domain: &SchedDomain) -> DomainStats {
        let mut stats = DomainStats::default();
        let local = kernel.topology.local_group(env.domain, env.cpu);
        let (mut sum_util, mut overutilized, mut overloaded) = (0, false, false);
        // The local group comes first: whether others may push their misfits here depends on it.
        for (index, group) in kernel.topology.ring(env.domain, env.cpu) {
            // Nearly always no CPU is excluded, and this is the loop that balancing spends its time in.
            let mut sums = match &env.excluded[..] {
                [] => self.known_group_stats(kernel, group),
                excluded => self.group_stats(kernel, &group.cpus, |cpu| !excluded.contains(&cpu)),
            };
            overloaded |= sums.overloaded;
            if index != local {
                self.add_misfits(kernel, domain, group, env, &mut sums);
                overloaded |= domain.asym_capacity && sums.misfit_task_load > 0;
            }
            if self.energy.is_some() {
                let mut cpus = group.cpus.iter().filter(|cpu| !env.is_excluded(**cpu));
                let full = cpus.any(|cpu| self.cpu_overutilized(kernel, *cpu));
                overutilized |= full;
                sums.fits = self.release.group_overutilized && !full;
            }
            sums.classify(domain.imbalance_pct, self.balance.imbalanced[env.domain][index]);
            if sums.group_type == GroupType::Overloaded {
                sums.avg_load = sums.load * CAPACITY_SCALE / sums.capacity.max(1);
            }
            stats.total_load += sums.load;
            stats.total_capacity += sums.capacity;
            sum_util += sums.util;
            if index == local {
                stats.local = (index, sums);
            } else if pick_busiest(kernel, env, &stats, (index, &sums)) {
                stats.busiest = Some((index, sums));
            }
        }
        if kernel.topology.chains[env.cpu.index()].last() == Some(&env.domain) {
            stats.overloaded = Some(overloaded);
            self.overutilized = overutilized;
        } else {
            self.overutilized |= overutilized;
        }
        if env.idle != IdleType::NewlyIdle {
            self.update_idle_cpu_scan(kernel, env.dst, env.domain, sum_util);
        }
        stats
    }

    /// The decision of `sched_balance_find_src_group`.
    fn should_pull(
        &self,
        env: &LoadBalance,
        domain: &SchedDomain,
        stats: &DomainStats,
        group: usize,
        busiest: &GroupStats,
    ) -> bool {
        let local = &stats.local.1;
        if busiest.group_type == GroupType::MisfitTask {
            return true;
        }
        if self.energy.is_some() && !self.overutilized {
            return false;
        }
        if matches!(busiest.group_type, GroupType::AsymPacking | GroupType::Imbalanced) {
            return true;
        }
        if local.group_type > busiest.group_type {
            return false;
        }
        if local.group_type == GroupType::Overloaded {
            let mean = stats.total_load * CAPACITY_SCALE / stats.total_capacity.max(1);
            if local.avg_load >= busiest.avg_load
                || local.avg_load >= mean
                || 100 * busiest.avg_load <= domain.imbalance_pct * local.avg_load
            {
                return false;
            }
        }
        let (src, dst) = (&domain.groups[group], &domain.groups[stats.local.0]);
        if src.prefer_sibling
            && local.group_type == GroupType::HasSpare
            && sibling_imbalance(env, (dst, local), (src, busiest)) > 1
        {
            return true;
        }
        if busiest.group_type == GroupType::Overloaded {
            return true;
        }
        if env.idle == IdleType::NotIdle {
            return false;
        }
        if busiest.group_type == GroupType::SmtBalance && src.smt != dst.smt {
            return true;
        }
        let few_idle = busiest.weight > 1 && local.idle_cpus <= busiest.idle_cpus + 1;
        !few_idle && busiest.sum_h_nr_running != 1
    }

    /// `sched_balance_find_src_rq`: the queue of the group to pull from.
    pub(super) fn find_src_rq(&self, kernel: &Kernel, env: &LoadBalance, group: &SchedGroup) -> Option<CpuId> {
        let domain = &kernel.topology.domains[env.domain];
        let dst_capacity = u64::from(kernel.rq(env.dst).capacity);
        let mut busiest: Option<(CpuId, u64, u64)> = None;
        let fbq_type = self.fbq_classify_group(domain, group, &env.excluded);
        for cpu in group.cpus.iter().copied().filter(|cpu| !env.is_excluded(*cpu)) {
            if fbq_type.is_some_and(|fbq_type| self.fbq_classify_rq(kernel, cpu) > fbq_type) {
                continue;
            }
            let queue = self.queue(cpu);
            let capacity = u64::from(kernel.rq(cpu).capacity);
            let running = self.nr_balanced(cpu);
            let alone = running == 1;
            let downwards = domain.asym_capacity && !capacity_greater(dst_capacity, capacity);
            if running == 0 || (downwards && alone) {
                continue;
            }
            if alone && sched_asym(kernel, domain, cpu, env.dst) {
                continue;
            }
            let (amount, per) = match env.migration {
                Migration::Load => {
                    let load = self.cpu_load(cpu);
                    if alone && load > env.imbalance as u64 && !reduced_capacity(kernel, cpu, domain.imbalance_pct) {
                        continue;
                    }
                    (load, capacity)
                }
                Migration::Util if alone => continue,
                Migration::Util => (self.cpu_util_cfs_boost(kernel, cpu), 1),
                Migration::Task => (u64::from(running), 1),
                Migration::Misfit => (queue.misfit_task_load, 1),
            };
            let (most, most_per) = busiest.map_or((0, 1), |(_, amount, per)| (amount, per));
            if amount * most_per > most * per {
                busiest = Some((cpu, amount, per));
            }
        }
        busiest.map(|(cpu, _, _)| cpu)
    }
}

/// `update_sd_pick_busiest`: whether a group is busier than the busiest so far.
fn pick_busiest(kernel: &Kernel, env: &LoadBalance, stats: &DomainStats, (index, sums): (usize, &GroupStats)) -> bool {
    if sums.sum_h_nr_running == 0 {
        return false;
    }
    let domain = &kernel.topology.domains[env.domain];
    let dst_capacity = u64::from(kernel.rq(env.dst).capacity);
    if domain.asym_capacity {
        let core_idle = !kernel.topology.smt_active || kernel.is_core_idle(env.dst);
        let misfit = sums.group_type == GroupType::MisfitTask;
        let can_help = core_idle
            && capacity_greater(dst_capacity, sums.max_capacity)
            && stats.local.1.group_type == GroupType::HasSpare;
        let quiet = sums.group_type <= GroupType::FullyBusy;
        if (misfit && !can_help) || (quiet && capacity_greater(sums.min_capacity, dst_capacity)) {
            return false;
        }
    }
    let Some((best_index, best)) = &stats.busiest else { return true };
    if sums.group_type != best.group_type {
        return sums.group_type > best.group_type;
    }
    let (group, best_group) = (&domain.groups[index], &domain.groups[*best_index]);
    match sums.group_type {
        GroupType::Overloaded => sums.avg_load > best.avg_load,
        GroupType::Imbalanced => false,
        GroupType::AsymPacking => {
            let (candidate, so_far) = (&domain.groups[index], &domain.groups[*best_index]);
            kernel.topology.sched_asym_prefer(so_far.asym_prefer_cpu, candidate.asym_prefer_cpu)
        }
        GroupType::MisfitTask => sums.misfit_task_load > best.misfit_task_load,
        GroupType::SmtBalance if sums.idle_cpus != 0 || best.idle_cpus != 0 => busier(sums, best),
        GroupType::SmtBalance | GroupType::FullyBusy => {
            sums.avg_load > best.avg_load || (sums.avg_load == best.avg_load && !best_group.smt)
        }
        GroupType::HasSpare if group.smt != best_group.smt => !group.smt || sums.sum_h_nr_running > 1,
        GroupType::HasSpare => busier(sums, best),
    }
}

/// Fewer idle CPUs; with as many, more tasks.
fn busier(sums: &GroupStats, best: &GroupStats) -> bool {
    sums.idle_cpus < best.idle_cpus || (sums.idle_cpus == best.idle_cpus && sums.sum_nr_running > best.sum_nr_running)
}

/// `sibling_imbalance`: by how many tasks the busiest group has more per core.
fn sibling_imbalance(env: &LoadBalance, local: (&SchedGroup, &GroupStats), busiest: (&SchedGroup, &GroupStats)) -> i64 {
    let (local_running, busiest_running) = (i64::from(local.1.sum_nr_running), i64::from(busiest.1.sum_nr_running));
    if env.idle == IdleType::NotIdle || busiest_running == 0 {
        return 0;
    }
    let (local_cores, busiest_cores) = (i64::from(local.0.cores), i64::from(busiest.0.cores));
    if local_cores == busiest_cores {
        return (busiest_running - local_running).max(0);
    }
    let difference = (local_cores * busiest_running - busiest_cores * local_running).max(0);
    let cores = local_cores + busiest_cores;
    let imbalance = (2 * difference + cores) / cores;
    if imbalance <= 1 && local_running == 0 && busiest_running > 1 { 2 } else { imbalance }
}

/// `calculate_imbalance`: what to move, in which unit.
fn calculate_imbalance(
    env: &mut LoadBalance,
    domain: &SchedDomain,
    stats: &DomainStats,
    group: usize,
    busiest: GroupStats,
) {
    let mut local = stats.local.1;
    (env.migration, env.imbalance) = match busiest.group_type {
        GroupType::MisfitTask if domain.asym_capacity => (Migration::Misfit, 1),
        GroupType::MisfitTask => (Migration::Load, busiest.misfit_task_load as i64),
        GroupType::AsymPacking => (Migration::Task, i64::from(busiest.sum_h_nr_running)),
        GroupType::SmtBalance | GroupType::Imbalanced => (Migration::Task, 1),
        _ if local.group_type == GroupType::HasSpare => {
            let groups = (&domain.groups[stats.local.0], &domain.groups[group]);
            spare_imbalance(env, domain, groups, &local, &busiest)
        }
        _ => {
            if local.group_type < GroupType::Overloaded {
                local.avg_load = local.load * CAPACITY_SCALE / local.capacity.max(1);
            }
            let mean = stats.total_load * CAPACITY_SCALE / stats.total_capacity.max(1);
            if local.avg_load >= busiest.avg_load || local.avg_load >= mean {
                (Migration::Load, 0)
            } else {
                // A busiest group below the mean gives a negative surplus, which the kernel's unsigned minimum ignores.
                let surplus = busiest.avg_load.checked_sub(mean).map_or(u64::MAX, |over| over * busiest.capacity);
                let room = (mean - local.avg_load) * local.capacity;
                (Migration::Load, (surplus.min(room) / CAPACITY_SCALE) as i64)
            }
        }
    };
}

/// The part of `calculate_imbalance` for a local group with spare capacity.
fn spare_imbalance(
    env: &LoadBalance,
    domain: &SchedDomain,
    (local_group, busiest_group): (&SchedGroup, &SchedGroup),
    local: &GroupStats,
    busiest: &GroupStats,
) -> (Migration, i64) {
    if busiest.group_type > GroupType::FullyBusy && !domain.share_llc {
        let room = local.capacity.max(local.util) - local.util;
        if env.idle != IdleType::NotIdle && room == 0 {
            return (Migration::Task, 1);
        }
        return (Migration::Util, room as i64);
    }
    let mut imbalance = if busiest.weight == 1 || busiest_group.prefer_sibling {
        sibling_imbalance(env, (local_group, local), (busiest_group, busiest))
    } else {
        (i64::from(local.idle_cpus) - i64::from(busiest.idle_cpus)).max(0)
    };
    if domain.level == Level::Numa {
        imbalance = adjust_numa_imbalance(imbalance, local.sum_nr_running, domain.imb_numa_nr);
    }
    (Migration::Task, imbalance >> 1)
}
