// SPDX-License-Identifier: MIT OR Apache-2.0
//! The CPU of a waking task: `select_task_rq_fair` and `select_idle_sibling`.

use super::Fair;
use super::load::Fit;
use crate::kernel::Kernel;
use crate::kernel::class::Wake;
use crate::kernel::topology::{DomainId, Topology};
use crate::units::{CpuId, SEC, TaskId};

/// A wake-up: the task, the CPU of its waker, and the CPU where the task was.
struct Wakeup {
    task: TaskId,
    this_cpu: CpuId,
    prev: CpuId,
    sync: bool,
}

impl Fair {
    pub(super) fn select_task_rq_fair(
        &mut self,
        kernel: &mut Kernel,
        task: TaskId,
        this_cpu: CpuId,
        wake: Wake,
    ) -> CpuId {
        let prev = kernel.task(task).cpu;
        let target = match wake {
            Wake::Fork => self.fork_target(kernel, task, this_cpu),
            Wake::Ttwu { sync } => self.wake_target(kernel, task, prev, this_cpu, sync),
        };
        self.allowed_cpu(kernel, task, target)
    }

    /// `select_fallback_rq`, for an affinity that excludes the choice: the lowest allowed CPU, of the same node if any.
    fn allowed_cpu(&self, kernel: &Kernel, task: TaskId, target: CpuId) -> CpuId {
        let usable = |cpu: CpuId| kernel.task(task).may_use(cpu) && kernel.topology.online.test(cpu);
        if usable(target) {
            return target;
        }
        let elsewhere = |cpu: &CpuId| kernel.topology.node_of(*cpu) != kernel.topology.node_of(target);
        let allowed = kernel.topology.online.iter().filter(|cpu| usable(*cpu));
        allowed.min_by_key(|cpu| (elsewhere(cpu), *cpu)).unwrap_or(target)
    }

    fn fork_target(&mut self, kernel: &mut Kernel, task: TaskId, this_cpu: CpuId) -> CpuId {
        // SD_BALANCE_FORK is set at every level.
        match kernel.topology.chains[this_cpu.index()].last().copied() {
            Some(domain) => self.sched_balance_find_dst_cpu(kernel, domain, task, this_cpu),
            None => this_cpu,
        }
    }

    fn wake_target(&mut self, kernel: &mut Kernel, task: TaskId, prev: CpuId, this_cpu: CpuId, sync: bool) -> CpuId {
        record_wakee(kernel, task, this_cpu);
        if self.energy.is_some() && !self.overutilized {
            self.sync_entity_load_avg(task);
            if let Some(cpu) = self.find_energy_efficient_cpu(kernel, task, prev, this_cpu) {
                return cpu;
            }
        }
        let mut target = prev;
        let want_affine = !wake_wide(kernel, task, this_cpu) && kernel.task(task).may_use(this_cpu);
        if want_affine && this_cpu != prev {
            let chain = &kernel.topology.chains[this_cpu.index()];
            let common = chain.iter().find(|domain| kernel.topology.domains[**domain].span.test(prev));
            if let Some(domain) = common {
                let imbalance = kernel.topology.domains[*domain].imbalance_pct;
                target = self.wake_affine(kernel, &Wakeup { task, this_cpu, prev, sync }, imbalance);
            }
        }
        self.select_idle_sibling(kernel, task, prev, target)
    }

    /// `sync_entity_load_avg`: ages a sleeper's load as far as that of the queue it slept on.
    fn sync_entity_load_avg(&mut self, task: TaskId) {
        let entity = &mut self.entities[self.layout.entity(task).index()];
        let now = self.cfs[entity.queue.index()].avg.last_update_time;
        entity.avg.update_load_avg_blocked_se(now, u64::from(entity.weight));
    }

    /// `wake_affine`: the waker's CPU or the previous one.
    fn wake_affine(&self, kernel: &Kernel, wakeup: &Wakeup, imbalance_pct: u64) -> CpuId {
        let Wakeup { this_cpu, prev, sync, .. } = *wakeup;
        if kernel.idle_cpu(this_cpu) && kernel.cpus_share_cache(this_cpu, prev) {
            // Woken by an interrupt.
            return if kernel.idle_cpu(prev) { prev } else { this_cpu };
        }
        let runnable = kernel.rq(this_cpu).nr_running - self.nr_delayed(this_cpu);
        if sync && runnable == 1 {
            return this_cpu;
        }
        if kernel.idle_cpu(prev) {
            return prev;
        }
        if self.wake_affine_weight(kernel, wakeup, imbalance_pct) { this_cpu } else { prev }
    }

    /// Queued fair tasks that only wait for their dequeue (`h_nr_delayed`).
    pub(super) fn nr_delayed(&self, cpu: CpuId) -> u32 {
        self.cfs[cpu.index()].h_nr_queued - self.cfs[cpu.index()].nr_runnable
    }

    /// `wake_affine_weight`: whether the task would find less load on the waker's CPU.
    fn wake_affine_weight(&self, kernel: &Kernel, wakeup: &Wakeup, imbalance_pct: u64) -> bool {
        let Wakeup { task, this_cpu, prev, sync } = *wakeup;
        let mut this_load = self.cpu_load(this_cpu) as i64;
        if sync && let Some(current) = self.current(this_cpu) {
            let current_load = self.task_h_load(current) as i64;
            if current_load > this_load {
                return true;
            }
            this_load -= current_load;
        }
        let task_load = self.task_h_load(task) as i64;
        let this_capacity = i64::from(kernel.rq(this_cpu).capacity);
        let prev_capacity = i64::from(kernel.rq(prev).capacity);
        let this_effective = (this_load + task_load) * 100 * prev_capacity;
        let prev_load = self.cpu_load(prev) as i64 - task_load;
        let prev_effective = prev_load * (100 + (imbalance_pct as i64 - 100) / 2) * this_capacity + i64::from(sync);
        this_effective < prev_effective
    }

    /// `sched_idle_cpu`: only `SCHED_IDLE` tasks run there.
    pub(super) fn sched_idle_cpu(&self, kernel: &Kernel, cpu: CpuId) -> bool {
        let queue = &self.cfs[cpu.index()];
        queue.nr_idle_policy > 0 && queue.nr_idle_policy == kernel.rq(cpu).nr_running
    }

    /// `choose_idle_cpu`.
    fn idle_or_sched_idle(&self, kernel: &Kernel, task: TaskId, cpu: CpuId) -> bool {
        kernel.idle_cpu(cpu) || self.choose_sched_idle_rq(kernel, task, cpu)
    }

    /// `choose_sched_idle_rq`: the tasks of `cpu` give way to `task`. Up to 6.18 one that gives way itself counts, too.
    pub(super) fn choose_sched_idle_rq(&self, kernel: &Kernel, task: TaskId, cpu: CpuId) -> bool {
        self.sched_idle_cpu(kernel, cpu) && !(self.release.choose_sched_idle_rq && kernel.task(task).idle_policy)
    }

    /// `select_idle_sibling`: an idle CPU near `target`, else `target`.
    fn select_idle_sibling(&mut self, kernel: &mut Kernel, task: TaskId, prev: CpuId, target: CpuId) -> CpuId {
        let asym = kernel.topology.asym[target.index()];
        if asym.is_some() {
            self.sync_entity_load_avg(task);
        }
        let usable = |kernel: &Kernel, cpu: CpuId| {
            self.idle_or_sched_idle(kernel, task, cpu) && (asym.is_none() || self.task_fits_cpu(kernel, task, cpu))
        };
        if usable(kernel, target) {
            return target;
        }
        // With clusters, an idle CPU of another one is only the second choice.
        let mut elsewhere = None;
        if prev != target && kernel.cpus_share_cache(prev, target) && usable(kernel, prev) {
            if kernel.topology.cpus_share_resources(prev, target) {
                return prev;
            }
            elsewhere = Some(prev);
        }
        let recent = std::mem::replace(&mut kernel.task_mut(task).recent_used_cpu, prev);
        if recent != prev
            && recent != target
            && kernel.cpus_share_cache(recent, target)
            && kernel.task(task).may_use(recent)
            && usable(kernel, recent)
        {
            if kernel.topology.cpus_share_resources(recent, target) {
                return recent;
            }
            elsewhere = elsewhere.or(Some(recent));
        }
        if let Some(domain) = asym {
            return self.select_idle_capacity(kernel, task, domain, target).unwrap_or(target);
        }
        self.select_idle_in_llc(kernel, task, prev, target).or(elsewhere).unwrap_or(target)
    }

    /// `select_idle_capacity`: the first idle CPU that the task fits, else the idle one that fits it best.
    fn select_idle_capacity(&self, kernel: &Kernel, task: TaskId, domain: usize, target: CpuId) -> Option<CpuId> {
        let span = &kernel.topology.domains[domain].span;
        let (util, clamps) = (self.task_util_est(task), Self::uclamp(kernel, task));
        let mut best: Option<(Fit, u32, CpuId)> = None;
        let from_target = span.iter().filter(|cpu| *cpu >= target).chain(span.iter().filter(|cpu| *cpu < target));
        for cpu in from_target {
            if !kernel.task(task).may_use(cpu) || !self.idle_or_sched_idle(kernel, task, cpu) {
                continue;
            }
            let fit = self.util_fits_cpu(kernel, util, clamps, cpu);
            let rq = kernel.rq(cpu);
            let capacity = match fit {
                Fit::Yes => return Some(cpu),
                Fit::NotBoosted => rq.capacity_limit,
                Fit::No => rq.capacity,
            };
            if best.is_none_or(|(best_fit, most, _)| fit > best_fit || (fit == best_fit && capacity > most)) {
                best = Some((fit, capacity, cpu));
            }
        }
        best.map(|(_, _, cpu)| cpu)
    }

    /// The SMT and cache part of `select_idle_sibling`.
    fn select_idle_in_llc(&mut self, kernel: &Kernel, task: TaskId, prev: CpuId, target: CpuId) -> Option<CpuId> {
        let llc = kernel.topology.llc_of[target.index()] as usize;
        let has_idle_core = kernel.topology.smt_active && self.idle_cores[llc];
        if kernel.topology.smt_active && !has_idle_core && kernel.cpus_share_cache(prev, target) {
            let siblings = &kernel.topology.smt[prev.index()];
            let idle = |cpu: &&CpuId| self.idle_or_sched_idle(kernel, task, **cpu) && kernel.task(task).may_use(**cpu);
            if let Some(sibling) = siblings.iter().filter(|cpu| **cpu != prev).find(idle) {
                return Some(*sibling);
            }
        }
        if self.nr_idle_scan[llc] == 0 {
            return None;
        }
        if has_idle_core {
            return self.select_idle_core(kernel, task, llc, target);
        }
        self.select_idle_cpu(kernel, task, llc, target)
    }

    /// `select_idle_core` over the whole cache: an idle core, else any idle CPU; notes when no core is idle.
    fn select_idle_core(&mut self, kernel: &Kernel, task: TaskId, llc: usize, target: CpuId) -> Option<CpuId> {
        let allowed = |cpu: CpuId| kernel.task(task).may_use(cpu);
        let mut idle_cpu = None;
        for cpu in cluster_first(&kernel.topology, llc, target).filter(|cpu| allowed(*cpu)) {
            let core = &kernel.topology.smt[cpu.index()];
            if core.iter().all(|sibling| kernel.idle_cpu(*sibling)) {
                return Some(cpu);
            }
            let usable = |sibling: &CpuId| allowed(*sibling) && self.idle_or_sched_idle(kernel, task, *sibling);
            idle_cpu = idle_cpu.or_else(|| core.iter().copied().find(usable));
        }
        self.idle_cores[llc] = false;
        idle_cpu
    }

    /// `select_idle_cpu`: the first idle CPU after `target`, looking only as far as the cache's utilisation makes
    /// success likely (`SIS_UTIL`).
    fn select_idle_cpu(&self, kernel: &Kernel, task: TaskId, llc: usize, target: CpuId) -> Option<CpuId> {
        let cache = &kernel.topology.llcs[llc];
        let limit = self.nr_idle_scan[llc] as usize;
        let allowed = kernel.task(task).allowed.as_deref();
        if allowed.is_some() || self.idle_policy_used || kernel.topology.cluster_of[target.index()].is_some() {
            let usable = cluster_first(&kernel.topology, llc, target).filter(|cpu| kernel.task(task).may_use(*cpu));
            return usable.take(limit).find(|cpu| self.idle_or_sched_idle(kernel, task, *cpu));
        }
        let found = kernel.idle.first_and_wrap(&cache.span, allowed, target.index() + 1)?;
        let position = |cpu: CpuId| cache.cpus.partition_point(|other| *other < cpu);
        let count = cache.cpus.len();
        let looked_at = (position(found) + count - position(CpuId(target.0 + 1)) % count) % count + 1;
        (looked_at <= limit).then_some(found)
    }

    /// `update_idle_cpu_scan`: the fuller a cache's CPUs, the fewer are worth looking at.
    pub(super) fn update_idle_cpu_scan(&mut self, kernel: &Kernel, cpu: CpuId, domain: DomainId, sum_util: u64) {
        let domain = &kernel.topology.domains[domain];
        let llc = kernel.topology.llc_of[cpu.index()] as usize;
        if domain.weight != kernel.topology.llcs[llc].cpus.len() {
            return;
        }
        let weight = domain.weight as u64;
        let (mean, percent) = (sum_util / weight, domain.imbalance_pct);
        let used = (mean * mean * percent * percent / (10_000 * 1024)).min(1024);
        self.nr_idle_scan[llc] = ((1024 - used) * weight / 1024) as u32;
    }
}

/// `for_each_cpu_wrap(cpu, cpus, target + 1)`.
fn wrapped(cpus: &[CpuId], target: CpuId) -> impl Iterator<Item = CpuId> + '_ {
    let start = cpus.partition_point(|cpu| *cpu <= target);
    cpus[start..].iter().chain(&cpus[..start]).copied()
}

/// The CPUs of a cache in the order in which an idle one is looked for: first those that share the target's L2, where that is a
/// cluster of its own.
fn cluster_first(topology: &Topology, llc: usize, target: CpuId) -> impl Iterator<Item = CpuId> + '_ {
    let cluster = topology.cluster(target);
    let near = cluster.map_or(&[][..], |cluster| &cluster.cpus);
    let outside = move |cpu: &CpuId| cluster.is_none_or(|cluster| !cluster.span.test(*cpu));
    wrapped(near, target).chain(wrapped(&topology.llcs[llc].cpus, target).filter(outside))
}

/// `record_wakee`: counts how often the waker wakes another task than before; halves the count every second.
fn record_wakee(kernel: &mut Kernel, task: TaskId, this_cpu: CpuId) {
    let now = kernel.now;
    let Some(current) = kernel.rq(this_cpu).curr else { return };
    let waker = kernel.task_mut(current);
    if now > waker.wakee_flip_decay + SEC {
        waker.wakee_flips >>= 1;
        waker.wakee_flip_decay = now;
    }
    if waker.last_wakee != Some(task) {
        waker.last_wakee = Some(task);
        waker.wakee_flips += 1;
    }
}

/// `wake_wide`: the waker has many partners and each of them several; spread rather than pull together.
fn wake_wide(kernel: &Kernel, task: TaskId, this_cpu: CpuId) -> bool {
    let Some(current) = kernel.rq(this_cpu).curr else { return false };
    let (master, slave) = (kernel.task(current).wakee_flips, kernel.task(task).wakee_flips);
    let (master, slave) = (master.max(slave), master.min(slave));
    let factor = kernel.topology.llcs[kernel.topology.llc_of[this_cpu.index()] as usize].cpus.len() as u32;
    slave >= factor && master >= slave * factor
}
