// SPDX-License-Identifier: MIT OR Apache-2.0
//! One attempt to balance one CPU at one level: `sched_balance_rq`, `detach_tasks`, `need_active_balance`.

use super::super::{Fair, since_it_ran};
use super::IdleType;
use super::stats::reduced_capacity;
use crate::kernel::Kernel;
use crate::kernel::class::{Dequeue, Enqueue, SchedClass};
use crate::kernel::topology::{DomainId, Level};
use crate::units::{CpuId, MSEC, Nanos, TaskId};

/// The unit of an imbalance (`enum migration_type`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Migration {
    Load,
    Util,
    Task,
    Misfit,
}

/// An attempt (`struct lb_env`).
#[derive(Debug)]
pub(super) struct LoadBalance {
    pub dst: CpuId,
    pub domain: DomainId,
    pub idle: IdleType,
    pub migration: Migration,
    pub imbalance: i64,
    /// Queues whose tasks may all not come here (`LBF_ALL_PINNED`).
    pub excluded: Vec<CpuId>,
}

/// What came of looking at one queue.
#[derive(Default)]
struct Detached {
    moved: u32,
    all_pinned: bool,
    some_pinned: bool,
}

/// `MAX_PINNED_INTERVAL`.
const MAX_PINNED_INTERVAL: Nanos = 512 * MSEC;

impl Fair {
    /// `sched_balance_rq`: true if tasks came to `cpu` or are about to.
    pub(super) fn sched_balance_rq(&mut self, kernel: &mut Kernel, cpu: CpuId, level: usize, idle: IdleType) -> bool {
        let domain = kernel.topology.chains[cpu.index()][level];
        let mut env =
            LoadBalance { dst: cpu, domain, idle, migration: Migration::Load, imbalance: 0, excluded: Vec::new() };
        let mut pinned = false;
        loop {
            if !self.should_we_balance(kernel, &env) {
                return self.balanced(&env, kernel, level, false);
            }
            let Some(group) = self.find_src_group(kernel, &mut env) else {
                return self.balanced(&env, kernel, level, pinned);
            };
            let group = &kernel.topology.domains[domain].groups[group];
            let Some(src) = self.find_src_rq(kernel, &env, group) else {
                return self.balanced(&env, kernel, level, pinned);
            };
            let detached = self.detach_tasks(kernel, &mut env, src, level);
            self.note_pinned(kernel, &env, level, &detached);
            if detached.all_pinned {
                pinned = true;
                env.excluded.push(src);
                continue;
            }
            return self.finish(kernel, &env, level, src, detached.moved > 0);
        }
    }

    /// Affinity kept a level from evening out: its parent shall move something else (`sgc->imbalance`).
    fn note_pinned(&mut self, kernel: &Kernel, env: &LoadBalance, level: usize, detached: &Detached) {
        let Some(parent) = kernel.topology.chains[env.dst.index()].get(level + 1) else { return };
        let groups = &kernel.topology.domains[*parent].groups;
        if let Some(group) = groups.iter().position(|group| group.span.test(env.dst)) {
            self.balance.imbalanced[*parent][group] = detached.some_pinned && env.imbalance > 0;
        }
    }

    /// The `out_balanced` exit: nothing to do here; ask less often.
    fn balanced(&mut self, env: &LoadBalance, kernel: &Kernel, level: usize, pinned: bool) -> bool {
        let max = 2 * kernel.topology.domains[env.domain].min_interval;
        let state = &mut self.balance.levels[env.dst.index()][level];
        state.nr_balance_failed = 0;
        if env.idle == IdleType::NewlyIdle || env.migration == Migration::Misfit {
            return false;
        }
        if (pinned && state.balance_interval < MAX_PINNED_INTERVAL) || state.balance_interval < max {
            state.balance_interval *= 2;
        }
        false
    }

    /// Books success or failure; after repeated failure moves the running task (active balance).
    fn finish(&mut self, kernel: &mut Kernel, env: &LoadBalance, level: usize, src: CpuId, moved: bool) -> bool {
        let min_interval = kernel.topology.domains[env.domain].min_interval;
        let state = &mut self.balance.levels[env.dst.index()][level];
        if moved {
            state.nr_balance_failed = 0;
            state.balance_interval = min_interval;
            return true;
        }
        if env.idle != IdleType::NewlyIdle && env.migration != Migration::Misfit {
            state.nr_balance_failed += 1;
        }
        let failed = state.nr_balance_failed;
        state.balance_interval = min_interval;
        if !self.need_active_balance(kernel, env, src, failed) {
            return false;
        }
        if let Some(curr) = self.cfs[src.index()].curr
            && kernel.task(curr).may_use(env.dst)
        {
            kernel.active_balance.push((src, env.dst));
        }
        false
    }

    /// `need_active_balance`.
    fn need_active_balance(&self, kernel: &Kernel, env: &LoadBalance, src: CpuId, failed: u32) -> bool {
        let domain = &kernel.topology.domains[env.domain];
        if env.migration == Migration::Misfit {
            return true;
        }
        if env.migration == Migration::Task && failed > domain.cache_nice_tries + 2 {
            return true;
        }
        let (src_capacity, dst_capacity) = (kernel.rq(src).capacity, kernel.rq(env.dst).capacity);
        env.idle != IdleType::NotIdle
            && self.queue(src).nr_queued == 1
            && reduced_capacity(kernel, src, domain.imbalance_pct)
            && u64::from(src_capacity) * domain.imbalance_pct < u64::from(dst_capacity) * 100
    }

    /// `should_we_balance`: of a group, the first idle CPU (on an idle core) balances; if none idles, the first CPU.
    fn should_we_balance(&self, kernel: &Kernel, env: &LoadBalance) -> bool {
        if env.idle == IdleType::NewlyIdle {
            return kernel.rq(env.dst).nr_running == 0;
        }
        let domain = &kernel.topology.domains[env.domain];
        let Some(group) = domain.groups.iter().find(|group| group.span.test(env.dst)) else { return false };
        let mut idle_smt = None;
        for cpu in group.cpus.iter().copied().filter(|cpu| kernel.idle_cpu(*cpu)) {
            if domain.level != Level::Smt && !kernel.is_core_idle(cpu) {
                idle_smt = idle_smt.or(Some(cpu));
                continue;
            }
            return cpu == env.dst;
        }
        idle_smt.map_or(group.cpus.first() == Some(&env.dst), |cpu| cpu == env.dst)
    }

    /// `detach_tasks` and `attach_tasks`.
    fn detach_tasks(&mut self, kernel: &mut Kernel, env: &mut LoadBalance, src: CpuId, level: usize) -> Detached {
        let mut result = Detached::default();
        if kernel.rq(src).nr_running <= 1 {
            return result;
        }
        let failed = self.balance.levels[env.dst.index()][level].nr_balance_failed;
        let candidates = self.candidates_of(kernel, src);
        result.all_pinned = !candidates.is_empty();
        for task in candidates {
            if env.idle != IdleType::NotIdle && kernel.rq(src).nr_running <= 1 {
                break;
            }
            if !kernel.task(task).may_use(env.dst) {
                result.some_pinned = true;
                continue;
            }
            result.all_pinned = false;
            if kernel.task(task).on_cpu || self.is_hot(kernel, env, task, failed) {
                continue;
            }
            let Some(amount) = self.worth(kernel, env, task, src, failed) else { continue };
            env.imbalance -= amount;
            self.move_task(kernel, task, env.dst);
            result.moved += 1;
            if env.idle == IdleType::NewlyIdle || env.imbalance <= 0 {
                break;
            }
        }
        result
    }

    /// The queued tasks to look at, those that have waited longest first; at most `sched_nr_migrate`, beginning
    /// elsewhere each time where the queue is longer. (The kernel keeps a list in that order.)
    fn candidates_of(&mut self, kernel: &Kernel, src: CpuId) -> Vec<TaskId> {
        let queue = &self.cfs[src.index()];
        let window = (kernel.params.nr_migrate as usize).min(queue.tasks.len());
        self.balance.rotation = self.balance.rotation.wrapping_add(1);
        let start = if window == queue.tasks.len() { 0 } else { self.balance.rotation * window % queue.tasks.len() };
        let around = queue.tasks.iter().chain(&queue.tasks).skip(start).take(window);
        let mut tasks: Vec<TaskId> =
            around.copied().filter(|task| !self.entities[task.index()].sched_delayed).collect();
        tasks.sort_by_key(|task| (self.entities[task.index()].exec_start, *task));
        tasks
    }

    /// `task_hot`, with the patience of `can_migrate_task`.
    fn is_hot(&self, kernel: &Kernel, env: &LoadBalance, task: TaskId, failed: u32) -> bool {
        let domain = &kernel.topology.domains[env.domain];
        domain.level != Level::Smt
            && failed <= domain.cache_nice_tries
            && since_it_ran(&self.entities[task.index()], kernel.now) < kernel.params.migration_cost
    }

    /// How much of the imbalance moving `task` settles; `None` if it is too big to move. Failed attempts lower the bar.
    fn worth(&self, kernel: &Kernel, env: &LoadBalance, task: TaskId, src: CpuId, failed: u32) -> Option<i64> {
        let eased = |amount: u64| (amount >> failed.min(63)) as i64;
        match env.migration {
            Migration::Load => {
                let load = self.task_h_load(task).max(1);
                (eased(load) <= env.imbalance).then_some(load as i64)
            }
            Migration::Util => {
                let util = self.task_util_est(task);
                (eased(util) <= env.imbalance).then_some(util as i64)
            }
            Migration::Task => Some(1),
            Migration::Misfit => (!self.task_fits_cpu(kernel, task, src)).then_some(env.imbalance),
        }
    }

    /// Moves a queued, not running task to another CPU's queue.
    pub(super) fn move_task(&mut self, kernel: &mut Kernel, task: TaskId, dst: CpuId) {
        self.dequeue_task(kernel, task, Dequeue::Save);
        self.migrate_task_rq(kernel, task, dst);
        kernel.task_mut(task).cpu = dst;
        kernel.migrated.push(task);
        self.enqueue_task(kernel, task, Enqueue::Restore);
        if kernel.rq(dst).curr.is_none() {
            kernel.resched_curr(dst);
        } else {
            self.wakeup_preempt(kernel, dst, task);
        }
    }
}
