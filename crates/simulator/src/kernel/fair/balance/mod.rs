// SPDX-License-Identifier: MIT OR Apache-2.0
//! Load balancing between CPUs: when it runs, and for which CPU.
//!
//! - this file: periodic and new-idle balancing (`sched_balance_domains`, `sched_balance_newidle`). `nohz`: balancing
//!   for CPUs whose tick is off.
//! - [`stats`]: what is known of a group. `source`: the busiest group and queue, and how much to move. `detach`: moving;
//!   `env`: one attempt at it. `asym`: what ranks of CPUs have to say.
//!
//! Left out: waking an idle CPU for the sake of balancing (its
//! energy). A machine that spends much of its time in balancing could tell the difference.

mod asym;
mod detach;
mod env;
mod nohz;
mod source;
pub(super) mod stats;

use rand::RngExt;

use super::Fair;
use super::layout::QueueId;
use crate::kernel::Kernel;
use crate::kernel::paths::{BALANCE, BALANCE_PER_CPU};
use crate::kernel::topology::{DomainId, Level, SchedDomain};
use crate::kernel::versions::BLOCK;
use crate::units::{CpuId, MSEC, Nanos, SEC, TaskId};
use nohz::{Kick, Nohz};
use stats::KnownStats;

/// How long a CPU waits for what it reads of another one in a pass, by level: decides when a short pause is not worth it. The
/// kernel measures it (`max_newidle_lb_cost`); here it is two cache lines of another CPU, at the order of core-to-core
/// latencies of today's servers: 20 ns under a cache, 100 ns in a package, 200 ns between packages (assumed).
fn newidle_cost_per_cpu(level: Level) -> Nanos {
    match level {
        Level::Smt | Level::Cls | Level::Mc => 40,
        Level::Pkg => 200,
        Level::Numa => 400,
    }
}

/// `max_load_balance_interval`: a tenth of a second per CPU in the kernel's `HZ * cpus / 10`.
const MAX_INTERVAL_PER_CPU: Nanos = 100 * MSEC;
/// `busy_factor`.
const BUSY_FACTOR: Nanos = 16;

/// Why a CPU balances (`enum cpu_idle_type`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IdleType {
    /// The CPU is busy.
    NotIdle,
    /// The CPU idles.
    Idle,
    /// The CPU is about to idle.
    NewlyIdle,
}

/// Balancing state of all CPUs.
#[derive(Debug)]
pub(super) struct BalanceState {
    /// Per CPU and level of its chain.
    levels: Vec<Vec<LevelState>>,
    /// Per CPU: `rq->next_balance`.
    next_balance: Vec<Nanos>,
    /// Per domain and group: affinity kept a balance below from succeeding (`sgc->imbalance`).
    imbalanced: Vec<Vec<bool>>,
    /// Per block of CPUs: what is known of them.
    known_stats: Vec<KnownStats>,
    /// How many CPUs were looked at for sums over groups.
    #[cfg(test)]
    pub looked_at: std::cell::Cell<usize>,
    nohz: Nohz,
    /// Tasks taken off one queue that are about to be put on another (`env->tasks`), the first one first.
    detached: Vec<TaskId>,
    /// What the ticks of this instant have left to do.
    pending: Vec<Softirq>,
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
    /// When the ratio was last taken (`newidle_stamp`).
    newidle_stamp: Nanos,
    /// When a new-idle pass may next refresh the capacity of the CPU (`sgc->next_update`).
    next_update: Nanos,
}

impl BalanceState {
    /// Whether affinity kept balancing below `group` of `domain` from succeeding (`sg_imbalanced`).
    pub fn sg_imbalanced(&self, domain: DomainId, group: usize) -> bool {
        self.imbalanced[domain][group]
    }

    pub fn new(kernel: &Kernel) -> Self {
        let topology = &kernel.topology;
        let level = |domain: &DomainId| LevelState {
            balance_interval: topology.domains[*domain].min_interval,
            last_balance: 0,
            nr_balance_failed: 0,
            newidle_calls: 0,
            newidle_successes: 0,
            newidle_ratio: 512,
            newidle_stamp: 0,
            next_update: 0,
        };
        Self {
            levels: topology.chains.iter().map(|chain| chain.iter().map(level).collect()).collect(),
            next_balance: vec![0; topology.nr_cpus],
            imbalanced: topology.domains.iter().map(|domain| vec![false; domain.groups.len()]).collect(),
            known_stats: vec![KnownStats::default(); topology.nr_cpus.div_ceil(BLOCK)],
            #[cfg(test)]
            looked_at: std::cell::Cell::default(),
            nohz: Nohz::new(topology.nr_cpus),
            detached: Vec::new(),
            pending: Vec::new(),
        }
    }

    /// Begins anew with the domains that there are now.
    pub fn rebuild(&mut self, kernel: &Kernel) {
        let Self { levels, imbalanced, .. } = Self::new(kernel);
        (self.levels, self.imbalanced) = (levels, imbalanced);
    }
}

/// Work that a tick leaves to be done right after it (`SCHED_SOFTIRQ`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Softirq {
    /// A busy CPU balances itself.
    Domains(CpuId),
    /// The idle CPUs balance.
    Nohz(Kick),
}

/// `cpu` looks at every CPU of `domain` (`update_sd_lb_stats`).
fn executes_pass(kernel: &mut Kernel, cpu: CpuId, domain: DomainId) {
    if kernel.paths.take_time {
        let SchedDomain { level, weight, .. } = kernel.topology.domains[domain];
        kernel.executes(cpu, BALANCE + BALANCE_PER_CPU * weight as u32);
        kernel.stalls(cpu, newidle_cost_per_cpu(level) * weight as Nanos);
    }
}

impl Fair {
    /// What a tick on a busy CPU does about balance (`sched_balance_trigger`); [`Fair::sched_balance_softirq`] follows.
    pub fn sched_balance_trigger(&mut self, kernel: &mut Kernel, cpu: CpuId) {
        if !kernel.params.load_balance {
            return;
        }
        if kernel.now >= self.balance.next_balance[cpu.index()] {
            self.balance.pending.push(Softirq::Domains(cpu));
        }
        self.nohz_balancer_kick(kernel, cpu);
    }

    /// What a tick on an idle CPU that kept it does about balance: the CPU balances before it chooses its idle state anew.
    pub fn sched_balance_idle_tick(&mut self, kernel: &mut Kernel, cpu: CpuId) {
        if kernel.params.load_balance && kernel.now >= self.balance.next_balance[cpu.index()] {
            self.update_blocked_averages(kernel, cpu);
            self.sched_balance_domains(kernel, cpu, idle_type(kernel, cpu));
        }
    }

    /// Whether ticks of this instant left balancing to be done.
    #[inline]
    pub fn softirq_pending(&self) -> bool {
        !self.balance.pending.is_empty()
    }

    /// `sched_balance_softirq` of all CPUs that ticked at this instant.
    ///
    /// On a machine they do it at the same time, just after the tick, and chance decides which CPU is first. So it does
    /// here; else the CPU with the lowest number would always be first.
    pub fn sched_balance_softirq(&mut self, kernel: &mut Kernel) {
        let mut pending = std::mem::take(&mut self.balance.pending);
        for last in (1..pending.len()).rev() {
            pending.swap(last, kernel.rng.random_range(0..=last));
        }
        for softirq in pending.drain(..) {
            match softirq {
                Softirq::Domains(cpu) => {
                    self.update_blocked_averages(kernel, cpu);
                    let idle = idle_type(kernel, cpu);
                    self.sched_balance_domains(kernel, cpu, idle);
                }
                Softirq::Nohz(kick) => self.nohz_idle_balance(kernel, kick),
            }
        }
        self.balance.pending = pending;
    }

    /// `sched_balance_domains`: balances every level that is due.
    fn sched_balance_domains(&mut self, kernel: &mut Kernel, cpu: CpuId, mut idle: IdleType) {
        let mut next_balance = kernel.now + 60 * SEC;
        for level in 0..self.balance.levels[cpu.index()].len() {
            let interval = self.balance_interval(kernel, cpu, level, idle);
            let due = self.balance.levels[cpu.index()][level].last_balance + interval;
            let mut goes_on = true;
            if kernel.now >= due {
                let attempt = self.sched_balance_rq(kernel, cpu, level, idle);
                goes_on = attempt.goes_on;
                if attempt.moved {
                    idle = idle_type(kernel, cpu);
                }
                self.balance.levels[cpu.index()][level].last_balance = kernel.now;
            }
            let interval = self.balance_interval(kernel, cpu, level, idle);
            next_balance = next_balance.min(self.balance.levels[cpu.index()][level].last_balance + interval);
            if !goes_on {
                // Another CPU of the group is in charge here, and so of the levels above.
                break;
            }
        }
        self.balance.next_balance[cpu.index()] = next_balance;
    }

    /// `get_sd_balance_interval`.
    fn balance_interval(&self, kernel: &Kernel, cpu: CpuId, level: usize, idle: IdleType) -> Nanos {
        let base = self.balance.levels[cpu.index()][level].balance_interval;
        let tick = kernel.params.tick();
        let interval = match idle {
            IdleType::NotIdle if self.sched_idle_cpu(kernel, cpu) => base,
            // One tick less keeps the levels of a busy CPU from falling on the same tick.
            IdleType::NotIdle => (base * BUSY_FACTOR).saturating_sub(tick),
            _ => base,
        };
        interval.clamp(tick, max_load_balance_interval(kernel))
    }

    /// `sched_balance_update_blocked_averages`.
    fn update_blocked_averages(&mut self, kernel: &mut Kernel, cpu: CpuId) {
        if kernel.update_other_load_avgs(cpu) {
            kernel.cpufreq_update_util(cpu);
        }
        if self.layout.has_groups() {
            self.update_blocked_groups(kernel, cpu);
        }
        self.update_load_avg(kernel, cpu, QueueId::root(cpu), None);
    }

    /// `sched_balance_newidle`: `cpu` has nothing left; true if it has now.
    pub(super) fn sched_balance_newidle(&mut self, kernel: &mut Kernel, cpu: CpuId) -> bool {
        self.cfs[cpu.index()].misfit_task_load = 0;
        kernel.rq_mut(cpu).idle_stamp = Some(kernel.now);
        if !kernel.params.load_balance {
            return false;
        }
        let mut next_balance = kernel.now + SEC;
        if kernel.rd_overloaded {
            self.newidle_domains(kernel, cpu, &mut next_balance);
        } else if !self.balance.levels[cpu.index()].is_empty() {
            next_balance = next_balance.min(self.next_idle_balance(kernel, cpu, 0));
        }
        let due = &mut self.balance.next_balance[cpu.index()];
        *due = next_balance.min(*due);
        let pulled = kernel.rq(cpu).nr_running > 0;
        if pulled {
            kernel.rq_mut(cpu).idle_stamp = None;
        } else {
            self.nohz_newidle_balance(kernel, cpu);
        }
        pulled
    }

    /// Looks for a task level by level, as far as the pause to be expected is worth it.
    fn newidle_domains(&mut self, kernel: &mut Kernel, cpu: CpuId, next_balance: &mut Nanos) {
        self.update_blocked_averages(kernel, cpu);
        let mut cost = 0;
        for level in 0..self.balance.levels[cpu.index()].len() {
            *next_balance = (*next_balance).min(self.next_idle_balance(kernel, cpu, level));
            let domain = kernel.topology.chains[cpu.index()][level];
            let SchedDomain { level: kind, weight, .. } = kernel.topology.domains[domain];
            cost += weight as Nanos * newidle_cost_per_cpu(kind);
            if kernel.rq(cpu).avg_idle < cost {
                break;
            }
            if !self.newidle_lottery(kernel, cpu, level) {
                continue;
            }
            if !self.may_find_work(kernel, domain) {
                executes_pass(kernel, cpu, domain);
                self.note_newidle(kernel, cpu, level, false);
                self.newidle_in_vain(kernel, cpu, level);
                continue;
            }
            let attempt = self.sched_balance_rq(kernel, cpu, level, IdleType::NewlyIdle);
            self.note_newidle(kernel, cpu, level, attempt.moved);
            if attempt.moved || !attempt.goes_on {
                break;
            }
        }
    }

    /// `update_group_capacity` of the lowest level: the capacity of `cpu` is refreshed; by a new-idle pass only once per
    /// interval.
    pub(super) fn update_group_capacity(&mut self, kernel: &mut Kernel, cpu: CpuId, idle: IdleType) {
        let Some(state) = self.balance.levels[cpu.index()].first_mut() else { return };
        if idle != IdleType::NewlyIdle || kernel.now >= state.next_update {
            let longest = max_load_balance_interval(kernel);
            state.next_update = kernel.now + state.balance_interval.clamp(kernel.params.tick(), longest);
            kernel.update_cpu_capacity(cpu);
        }
    }

    /// When `level` is due if `cpu` stays idle (`update_next_balance`).
    fn next_idle_balance(&self, kernel: &Kernel, cpu: CpuId, level: usize) -> Nanos {
        self.balance.levels[cpu.index()][level].last_balance + self.balance_interval(kernel, cpu, level, IdleType::Idle)
    }

    /// Whether a new-idle pass over `domain` can come to anything: some CPU has a task to spare, or a task that needs a
    /// bigger, less disturbed or better ranked CPU. The kernel finds out by looking at every CPU.
    fn may_find_work(&self, kernel: &Kernel, domain: DomainId) -> bool {
        let domain = &kernel.topology.domains[domain];
        domain.asym_capacity || domain.asym_packing || kernel.rt_active || kernel.overloaded.intersects(&domain.span)
    }

    /// What such a pass leaves behind when it finds nothing.
    fn newidle_in_vain(&mut self, kernel: &mut Kernel, cpu: CpuId, level: usize) {
        if level == 0 {
            self.update_group_capacity(kernel, cpu, IdleType::NewlyIdle);
        }
        self.balance.levels[cpu.index()][level].nr_balance_failed = 0;
        match kernel.topology.chains[cpu.index()].get(level + 1) {
            Some(parent) => {
                let group = kernel.topology.local_group(*parent, cpu);
                self.balance.imbalanced[*parent][group] = false;
            }
            None => kernel.rd_overloaded = false,
        }
    }

    /// `NI_RANDOM`: a level that rarely has work to give is tried as rarely.
    fn newidle_lottery(&mut self, kernel: &mut Kernel, cpu: CpuId, level: usize) -> bool {
        let ratio = self.balance.levels[cpu.index()][level].newidle_ratio;
        if self.release.newidle_rate && ratio >= 1024 {
            return true;
        }
        let drawn = kernel.rng.random_range(0..1024u32);
        if drawn > 1 + ratio {
            self.note_newidle(kernel, cpu, level, false);
            return false;
        }
        true
    }

    /// `update_newidle_stats`: success ratio in 1024ths over the last thousand tries.
    pub(super) fn note_newidle(&mut self, kernel: &Kernel, cpu: CpuId, level: usize, success: bool) {
        let state = &mut self.balance.levels[cpu.index()][level];
        state.newidle_calls += 1;
        let tickets = 1 + state.newidle_ratio;
        let weight = (1024 + tickets / 2) / tickets;
        state.newidle_successes += if success { weight } else { 0 };
        if state.newidle_calls >= 1024 {
            let elapsed = kernel.now - std::mem::replace(&mut state.newidle_stamp, kernel.now);
            // `NI_RATE`: 4 ms for each of the last 1024 calls count as one success, so that rare calls are all made.
            let rare = if self.release.newidle_rate { elapsed >> 22 } else { 0 };
            state.newidle_ratio = state.newidle_successes.saturating_add(rare.min(1024) as u32);
            if self.release.newidle_rate {
                state.newidle_ratio = state.newidle_ratio.min(1024);
            }
            state.newidle_calls /= 2;
            state.newidle_successes /= 2;
        }
    }
}

/// `max_load_balance_interval`, at least a tick.
fn max_load_balance_interval(kernel: &Kernel) -> Nanos {
    (MAX_INTERVAL_PER_CPU * kernel.topology.online.weight() as Nanos).max(kernel.params.tick())
}

/// What `cpu` is when it balances: a CPU with only `SCHED_IDLE` tasks is busy, but asks as often as an idle one.
fn idle_type(kernel: &Kernel, cpu: CpuId) -> IdleType {
    if kernel.idle_cpu(cpu) { IdleType::Idle } else { IdleType::NotIdle }
}
