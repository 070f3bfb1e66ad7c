// SPDX-License-Identifier: MIT OR Apache-2.0
//! Balancing on behalf of CPUs whose tick is off: `nohz_balancer_kick`, `_nohz_idle_balance`.

use super::super::Fair;
use super::asym::sched_asym;
use super::{IdleType, Softirq, stats};
use crate::kernel::Kernel;
use crate::units::{CpuId, MSEC, Nanos, SEC};

/// What `struct nohz` keeps.
#[derive(Debug, Default)]
pub(super) struct Nohz {
    /// When idle CPUs are due to balance.
    next_balance: Nanos,
    /// When their load is due to be aged.
    next_blocked: Nanos,
    /// Some idle CPU's load has not decayed yet.
    has_blocked: bool,
    /// A CPU became idle since `next_balance` was worked out.
    needs_update: bool,
    /// Per CPU: `rq->has_blocked_load`.
    has_blocked_load: Vec<bool>,
}

impl Nohz {
    pub fn new(cpus: usize) -> Self {
        Self { has_blocked_load: vec![false; cpus], ..Self::default() }
    }
}

/// What idle CPUs are to do (`NOHZ_STATS_KICK`, `NOHZ_BALANCE_KICK`, `NOHZ_NEXT_KICK`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in super::super) struct Kick {
    pub stats: bool,
    pub balance: bool,
    pub next: bool,
}

/// Load of idle CPUs is aged this often (`LOAD_AVG_PERIOD` milliseconds).
const BLOCKED_PERIOD: Nanos = 32 * MSEC;

impl Fair {
    /// `nohz_balance_enter_idle`: from now on others balance for `cpu`. (The kernel does this when the tick stops.)
    pub fn nohz_balance_enter_idle(&mut self, cpu: CpuId) {
        let nohz = &mut self.balance.nohz;
        nohz.has_blocked_load[cpu.index()] = true;
        (nohz.has_blocked, nohz.needs_update) = (true, true);
    }

    /// `nohz_balancer_kick`, at the tick of a busy CPU: has the idle ones help it, or only age their load.
    pub(super) fn nohz_balancer_kick(&mut self, kernel: &mut Kernel, cpu: CpuId) {
        if kernel.idle.is_empty() {
            return;
        }
        let nohz = &self.balance.nohz;
        let mut kick = Kick { stats: nohz.has_blocked && kernel.now > nohz.next_blocked, ..Kick::default() };
        if kernel.now >= nohz.next_balance && self.wants_help(kernel, cpu) {
            (kick.stats, kick.balance) = (true, true);
            self.balance.nohz.next_balance = kernel.now + kernel.params.tick();
        }
        kick.next = self.balance.nohz.needs_update;
        if kick != Kick::default() && !self.balance.pending.contains(&Softirq::Nohz(kick)) {
            self.balance.pending.push(Softirq::Nohz(kick));
        }
    }

    fn wants_help(&self, kernel: &Kernel, cpu: CpuId) -> bool {
        if kernel.rq(cpu).nr_running >= 2 {
            return true;
        }
        let Some(lowest) = kernel.topology.chains[cpu.index()].first() else { return false };
        let queue = self.queue(cpu);
        let imbalance_pct = kernel.topology.domains[*lowest].imbalance_pct;
        if self.nr_balanced(cpu) >= 1 && stats::reduced_capacity(kernel, cpu, imbalance_pct) {
            return true;
        }
        if let Some(packing) = kernel.topology.asym_packing[cpu.index()] {
            let domain = &kernel.topology.domains[packing];
            let ranks_higher = |other: CpuId| domain.span.test(other) && sched_asym(kernel, domain, other, cpu);
            if kernel.idle.iter().any(ranks_higher) {
                return true;
            }
        }
        if kernel.topology.asym[cpu.index()].is_some() {
            return queue.misfit_task_load > 0;
        }
        let llc = &kernel.topology.llcs[kernel.topology.llc_of[cpu.index()] as usize];
        llc.cpus.iter().filter(|other| !kernel.idle_cpu(**other)).nth(1).is_some()
    }

    /// `_nohz_idle_balance`: every idle CPU whose time has come balances; the one that does the work comes last.
    pub(super) fn nohz_idle_balance(&mut self, kernel: &mut Kernel, kick: Kick) {
        let nohz = &mut self.balance.nohz;
        nohz.has_blocked &= !kick.stats;
        nohz.needs_update &= !kick.next;
        let mut idle: Vec<CpuId> = kernel.idle.iter().collect();
        let others_first = usize::from(!idle.is_empty());
        idle.rotate_left(others_first);
        let (mut next, mut has_blocked) = (kernel.now + 60 * SEC, false);
        // It balances for all of them, for itself last.
        let before = kernel.works_on_others(idle.last().copied());
        for cpu in idle {
            if !kernel.idle_cpu(cpu) {
                continue;
            }
            has_blocked |= kick.stats && self.update_nohz_stats(kernel, cpu);
            if kick.balance && kernel.now >= self.balance.next_balance[cpu.index()] {
                self.sched_balance_domains(kernel, cpu, IdleType::Idle);
            }
            next = next.min(self.balance.next_balance[cpu.index()]);
        }
        kernel.works_on_others(before);
        let nohz = &mut self.balance.nohz;
        nohz.next_balance = next;
        nohz.has_blocked |= has_blocked;
        if kick.stats {
            nohz.next_blocked = kernel.now + BLOCKED_PERIOD;
        }
    }

    /// `update_nohz_stats`: ages the load of an idle CPU; whether some is left.
    fn update_nohz_stats(&mut self, kernel: &mut Kernel, cpu: CpuId) -> bool {
        if !self.balance.nohz.has_blocked_load[cpu.index()] {
            return false;
        }
        self.update_blocked_averages(kernel, cpu);
        let avg = &self.queue(cpu).avg;
        let left = avg.load_avg > 0 || avg.util_avg > 0 || kernel.rq(cpu).util_above_fair() > 0;
        self.balance.nohz.has_blocked_load[cpu.index()] = left;
        left
    }

    /// `nohz_newidle_balance`: a CPU that goes idle for some time ages the load of the others where that is due.
    pub(super) fn nohz_newidle_balance(&mut self, kernel: &mut Kernel, cpu: CpuId) {
        let nohz = &self.balance.nohz;
        if kernel.rq(cpu).avg_idle >= kernel.params.migration_cost
            && nohz.has_blocked
            && kernel.now >= nohz.next_blocked
        {
            self.nohz_idle_balance(kernel, Kick { stats: true, ..Kick::default() });
        }
    }
}
