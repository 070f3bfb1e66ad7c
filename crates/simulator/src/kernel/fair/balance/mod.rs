// SPDX-License-Identifier: MIT OR Apache-2.0
//! Load balancing between CPUs: when it runs, and for whom.
//!
//! - this file: periodic, idle and new-idle balancing (`sched_balance_domains`, `nohz_balancer_kick`,
//!   `sched_balance_newidle`).
//! - [`stats`]: what is known of a group. `source`: the busiest group and queue, and how much to move. `detach`: moving.
//!
//! Left out: the time that balancing itself takes (a new-idle pass costs a fixed sum per CPU looked at, only to decide
//! whether it is worth it), NUMA placement, asymmetric packing, waking an idle CPU for the sake of balancing (its
//! energy). A machine that spends much of its time in balancing could tell the difference.

mod detach;
mod source;
pub(super) mod stats;

use rand::RngExt;

use super::Fair;
use crate::kernel::Kernel;
use crate::kernel::topology::{DomainId, Level};
use crate::units::{CpuId, MSEC, Nanos, SEC};

/// How long a CPU looks at another one in a new-idle pass: decides when short idle periods are not worth it.
const NEWIDLE_COST_PER_CPU: Nanos = 100;
/// `max_load_balance_interval`: a tenth of a second per CPU in the kernel's `HZ * cpus / 10`.
const MAX_INTERVAL_PER_CPU: Nanos = 100 * MSEC;
/// `busy_factor`.
const BUSY_FACTOR: Nanos = 16;

/// Why a CPU balances (`enum cpu_idle_type`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IdleType {
    /// It is busy.
    NotIdle,
    /// It idles.
    Idle,
    /// It is about to idle.
    NewlyIdle,
}

/// Balancing state of all CPUs.
#[derive(Debug)]
pub(super) struct BalanceState {
    /// Per CPU and level of its chain.
    levels: Vec<Vec<LevelState>>,
    /// Per CPU: `rq->next_balance`.
    next_balance: Vec<Nanos>,
    /// `nohz.next_balance`.
    nohz_next_balance: Nanos,
    /// Per domain and group: affinity kept a balance below from succeeding (`sgc->imbalance`).
    imbalanced: Vec<Vec<bool>>,
    /// Where the next look at a queue's tasks begins.
    rotation: usize,
}

/// A CPU's state at one level (`struct sched_domain` is per CPU in the kernel).
#[derive(Debug, Clone, Copy)]
struct LevelState {
    balance_interval: Nanos,
    last_balance: Nanos,
    nr_balance_failed: u32,
    newidle_calls: u32,
    newidle_successes: u32,
    newidle_ratio: u32,
}

impl BalanceState {
    pub fn new(kernel: &Kernel) -> Self {
        let topology = &kernel.topology;
        let level = |domain: &DomainId| LevelState {
            balance_interval: topology.domains[*domain].min_interval,
            last_balance: 0,
            nr_balance_failed: 0,
            newidle_calls: 0,
            newidle_successes: 0,
            newidle_ratio: 512,
        };
        Self {
            levels: topology.chains.iter().map(|chain| chain.iter().map(level).collect()).collect(),
            next_balance: vec![0; topology.nr_cpus],
            nohz_next_balance: 0,
            imbalanced: topology.domains.iter().map(|domain| vec![false; domain.groups.len()]).collect(),
            rotation: 0,
        }
    }
}

impl Fair {
    /// What a tick does about balance (`sched_balance_trigger`).
    pub fn sched_balance_trigger(&mut self, kernel: &mut Kernel, cpu: CpuId) {
        if !kernel.params.load_balance {
            return;
        }
        if kernel.now >= self.balance.next_balance[cpu.index()] {
            let idle = if kernel.idle_cpu(cpu) { IdleType::Idle } else { IdleType::NotIdle };
            self.sched_balance_domains(kernel, cpu, idle);
        }
        self.nohz_balancer_kick(kernel, cpu);
    }

    /// `sched_balance_domains`: balances every level that is due.
    fn sched_balance_domains(&mut self, kernel: &mut Kernel, cpu: CpuId, idle: IdleType) {
        let mut idle = idle;
        let mut next_balance = kernel.now + 60 * SEC;
        for level in 0..self.balance.levels[cpu.index()].len() {
            let interval = self.balance_interval(kernel, cpu, level, idle);
            let due = self.balance.levels[cpu.index()][level].last_balance + interval;
            if kernel.now >= due {
                if self.sched_balance_rq(kernel, cpu, level, idle) {
                    idle = if kernel.idle_cpu(cpu) { IdleType::Idle } else { IdleType::NotIdle };
                }
                self.balance.levels[cpu.index()][level].last_balance = kernel.now;
            }
            let interval = self.balance_interval(kernel, cpu, level, idle);
            next_balance = next_balance.min(self.balance.levels[cpu.index()][level].last_balance + interval);
        }
        self.balance.next_balance[cpu.index()] = next_balance;
    }

    /// `get_sd_balance_interval`.
    fn balance_interval(&self, kernel: &Kernel, cpu: CpuId, level: usize, idle: IdleType) -> Nanos {
        let base = self.balance.levels[cpu.index()][level].balance_interval;
        let tick = kernel.params.tick();
        let interval = match idle {
            // One tick less keeps the levels of a busy CPU from falling on the same tick.
            IdleType::NotIdle => (base * BUSY_FACTOR).saturating_sub(tick),
            _ => base,
        };
        interval.clamp(tick, (MAX_INTERVAL_PER_CPU * kernel.topology.online.weight() as Nanos).max(tick))
    }

    /// `nohz_balancer_kick`: a busy CPU that could use help has the idle ones balance.
    fn nohz_balancer_kick(&mut self, kernel: &mut Kernel, cpu: CpuId) {
        if kernel.now < self.balance.nohz_next_balance || kernel.idle.is_empty() || kernel.idle_cpu(cpu) {
            return;
        }
        if self.wants_help(kernel, cpu) {
            self.nohz_idle_balance(kernel);
        }
    }

    fn wants_help(&self, kernel: &Kernel, cpu: CpuId) -> bool {
        if kernel.rq(cpu).nr_running >= 2 {
            return true;
        }
        let Some(lowest) = kernel.topology.chains[cpu.index()].first() else { return false };
        let queue = self.queue(cpu);
        let imbalance_pct = kernel.topology.domains[*lowest].imbalance_pct;
        if queue.nr_queued >= 1 && stats::reduced_capacity(kernel, cpu, imbalance_pct) {
            return true;
        }
        if kernel.topology.asym[cpu.index()].is_some() {
            return queue.misfit_task_load > 0;
        }
        let llc = &kernel.topology.llcs[kernel.topology.llc_of[cpu.index()] as usize];
        llc.cpus.iter().filter(|other| !kernel.idle_cpu(**other)).nth(1).is_some()
    }

    /// `_nohz_idle_balance`: every idle CPU whose time has come balances.
    fn nohz_idle_balance(&mut self, kernel: &mut Kernel) {
        let mut next = kernel.now + 60 * SEC;
        let idle: Vec<CpuId> = kernel.idle.iter().collect();
        for cpu in idle {
            if !kernel.idle_cpu(cpu) {
                continue;
            }
            if kernel.now >= self.balance.next_balance[cpu.index()] {
                self.update_blocked_averages(kernel, cpu);
                self.sched_balance_domains(kernel, cpu, IdleType::Idle);
            }
            next = next.min(self.balance.next_balance[cpu.index()]);
        }
        self.balance.nohz_next_balance = next.max(kernel.now + kernel.params.tick());
    }

    /// `sched_balance_update_blocked_averages`.
    fn update_blocked_averages(&mut self, kernel: &mut Kernel, cpu: CpuId) {
        self.update_load_avg(kernel, cpu, None);
    }

    /// `sched_balance_newidle`: `cpu` has nothing left; true if it has now.
    pub(super) fn sched_balance_newidle(&mut self, kernel: &mut Kernel, cpu: CpuId) -> bool {
        self.cfs[cpu.index()].misfit_task_load = 0;
        if !kernel.params.load_balance || kernel.overloaded.is_empty() {
            return false;
        }
        let chain_len = kernel.topology.chains[cpu.index()].len();
        self.update_blocked_averages(kernel, cpu);
        let mut cost = 0;
        for level in 0..chain_len {
            let domain = kernel.topology.chains[cpu.index()][level];
            let weight = kernel.topology.domains[domain].weight as Nanos;
            cost += weight * NEWIDLE_COST_PER_CPU;
            // SD_BALANCE_NEWIDLE is cleared for remote nodes, and not worth it in a short pause.
            if kernel.topology.domains[domain].level == Level::Numa || kernel.rq(cpu).avg_idle < cost {
                break;
            }
            if !self.may_find_work(kernel, domain) {
                self.note_newidle(cpu, level, false);
                continue;
            }
            if !self.newidle_lottery(kernel, cpu, level) {
                continue;
            }
            let pulled = self.sched_balance_rq(kernel, cpu, level, IdleType::NewlyIdle);
            self.note_newidle(cpu, level, pulled);
            if pulled || kernel.rq(cpu).nr_running > 0 {
                break;
            }
        }
        kernel.rq(cpu).nr_running > 0
    }

    /// Whether a new-idle pass over `domain` can come to anything: some CPU has a task to spare, or a task that needs a
    /// bigger CPU. The kernel finds out by looking at every CPU; the outcome is the same.
    fn may_find_work(&self, kernel: &Kernel, domain: DomainId) -> bool {
        let domain = &kernel.topology.domains[domain];
        domain.asym_capacity || kernel.overloaded.intersects(&domain.span)
    }

    /// `NI_RANDOM`: a level that rarely has work to give is tried as rarely.
    fn newidle_lottery(&mut self, kernel: &mut Kernel, cpu: CpuId, level: usize) -> bool {
        let ratio = self.balance.levels[cpu.index()][level].newidle_ratio;
        let drawn = kernel.rng.random_range(0..1024u32);
        if drawn > 1 + ratio {
            self.note_newidle(cpu, level, false);
            return false;
        }
        true
    }

    /// `update_newidle_stats`: success ratio in 1024ths over the last thousand tries.
    fn note_newidle(&mut self, cpu: CpuId, level: usize, success: bool) {
        let state = &mut self.balance.levels[cpu.index()][level];
        state.newidle_calls += 1;
        let tickets = 1 + state.newidle_ratio;
        let weight = (1024 + tickets / 2) / tickets;
        state.newidle_successes += if success { weight } else { 0 };
        if state.newidle_calls >= 1024 {
            state.newidle_ratio = state.newidle_successes.min(1024);
            state.newidle_calls /= 2;
            state.newidle_successes /= 2;
        }
    }
}
