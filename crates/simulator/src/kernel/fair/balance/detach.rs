// SPDX-License-Identifier: MIT OR Apache-2.0
//! One attempt to balance one CPU at one level: `sched_balance_rq`, `detach_tasks`, `need_active_balance`.

use super::super::Fair;
use super::IdleType;
use super::asym::asym_active_balance;
use super::env::{LoadBalance, Migration};
use super::executes_pass;
use super::stats::reduced_capacity;
use crate::kernel::Kernel;
use crate::kernel::class::{Dequeue, Enqueue, SchedClass};
use crate::kernel::topology::Level;
use crate::units::{CpuId, MSEC, Nanos, TaskId};

/// What an attempt led to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Attempt {
    /// Tasks were moved.
    pub moved: bool,
    /// No other CPU is in charge of this level, so that the next one is worth a look (`continue_balancing`).
    pub goes_on: bool,
}

/// `MAX_PINNED_INTERVAL`.
const MAX_PINNED_INTERVAL: Nanos = 512 * MSEC;

impl Fair {
    /// `sched_balance_rq`.
    pub(super) fn sched_balance_rq(
        &mut self,
        kernel: &mut Kernel,
        cpu: CpuId,
        level: usize,
        idle: IdleType,
    ) -> Attempt {
        let mut env = LoadBalance {
            cpu,
            dst: cpu,
            domain: kernel.topology.chains[cpu.index()][level],
            level,
            idle,
            migration: Migration::Load,
            imbalance: 0,
            excluded: Vec::new(),
            all_pinned: false,
            some_pinned: false,
            new_dst: None,
        };
        executes_pass(kernel, cpu, env.domain);
        loop {
            if !self.should_we_balance(kernel, &env) {
                self.out_balanced(kernel, &env);
                return Attempt { moved: false, goes_on: false };
            }
            let Some(src) = self.find_src(kernel, &mut env) else {
                self.out_balanced(kernel, &env);
                return Attempt { moved: false, goes_on: true };
            };
            env.all_pinned = true;
            let mut moved = false;
            if kernel.rq(src).nr_running > 1 {
                moved = self.move_tasks(kernel, &mut env, src);
                if env.some_pinned && env.imbalance > 0 {
                    self.set_parent_imbalance(kernel, &env, true);
                }
                if env.all_pinned {
                    env.excluded.push(src);
                    if has_other_sources(kernel, &env) {
                        continue;
                    }
                    self.out_all_pinned(kernel, &env);
                    return Attempt { moved: false, goes_on: true };
                }
            }
            return Attempt { moved: self.finish(kernel, &mut env, src, moved), goes_on: true };
        }
    }

    /// The busiest queue of the busiest group.
    fn find_src(&mut self, kernel: &mut Kernel, env: &mut LoadBalance) -> Option<CpuId> {
        let group = self.find_src_group(kernel, env)?;
        self.find_src_rq(kernel, env, &kernel.topology.domains[env.domain].groups[group])
    }

    /// Detaches tasks from `src` and attaches them, also to other CPUs of the group where affinity asks for it.
    fn move_tasks(&mut self, kernel: &mut Kernel, env: &mut LoadBalance, src: CpuId) -> bool {
        let before = kernel.begin_move(env.cpu);
        let mut moved = false;
        loop {
            moved |= self.detach_tasks(kernel, env, src);
            self.attach_tasks(kernel, env.dst);
            match env.new_dst.take() {
                Some(other) if env.imbalance > 0 => {
                    env.excluded.push(env.dst);
                    env.dst = other;
                }
                _ => break,
            }
        }
        kernel.works_on_others(before);
        moved
    }

    /// Whether affinity keeps this level from evening out, so that its parent should move something else
    /// (`sgc->imbalance`).
    fn set_parent_imbalance(&mut self, kernel: &Kernel, env: &LoadBalance, imbalanced: bool) {
        if let Some(parent) = kernel.topology.chains[env.cpu.index()].get(env.level + 1) {
            let group = kernel.topology.local_group(*parent, env.cpu);
            self.balance.imbalanced[*parent][group] = imbalanced;
        }
    }

    /// The exit of that name: nothing to do here.
    fn out_balanced(&mut self, kernel: &Kernel, env: &LoadBalance) {
        if !env.all_pinned {
            self.set_parent_imbalance(kernel, env, false);
        }
        self.out_all_pinned(kernel, env);
    }

    /// The exit of that name: nothing could be done here.
    fn out_all_pinned(&mut self, kernel: &Kernel, env: &LoadBalance) {
        self.balance.levels[env.cpu.index()][env.level].nr_balance_failed = 0;
        self.ask_less_often(kernel, env);
    }

    /// The exit `out_one_pinned`: the longer nothing is to be done, the rarer the attempts.
    fn ask_less_often(&mut self, kernel: &Kernel, env: &LoadBalance) {
        if env.idle == IdleType::NewlyIdle || env.migration == Migration::Misfit {
            return;
        }
        let max = 2 * kernel.topology.domains[env.domain].min_interval;
        let state = &mut self.balance.levels[env.cpu.index()][env.level];
        if (env.all_pinned && state.balance_interval < MAX_PINNED_INTERVAL) || state.balance_interval < max {
            state.balance_interval *= 2;
        }
    }

    /// Books success or failure; after repeated failure has the running task moved (active balance).
    fn finish(&mut self, kernel: &mut Kernel, env: &mut LoadBalance, src: CpuId, moved: bool) -> bool {
        let state = &mut self.balance.levels[env.cpu.index()][env.level];
        if moved {
            state.nr_balance_failed = 0;
        } else {
            if env.idle != IdleType::NewlyIdle && env.migration != Migration::Misfit {
                state.nr_balance_failed += 1;
            }
            if self.need_active_balance(kernel, env, src) {
                if kernel.rq(src).curr.is_some_and(|curr| !kernel.task(curr).may_use(env.cpu)) {
                    self.ask_less_often(kernel, env);
                    return false;
                }
                if kernel.active_balance.iter().all(|(busy, _)| *busy != src) {
                    kernel.active_balance.push((src, env.cpu));
                }
            }
        }
        let min_interval = kernel.topology.domains[env.domain].min_interval;
        self.balance.levels[env.cpu.index()][env.level].balance_interval = min_interval;
        moved
    }

    /// `need_active_balance`.
    fn need_active_balance(&self, kernel: &Kernel, env: &LoadBalance, src: CpuId) -> bool {
        let domain = &kernel.topology.domains[env.domain];
        let failed = self.balance.levels[env.cpu.index()][env.level].nr_balance_failed;
        if asym_active_balance(kernel, domain, env, src)
            || env.migration == Migration::Misfit
            || (env.migration == Migration::Task && failed > domain.cache_nice_tries + 2)
        {
            return true;
        }
        let (src_capacity, dst_capacity) = (kernel.rq(src).capacity, kernel.rq(env.dst).capacity);
        env.idle != IdleType::NotIdle
            && self.nr_balanced(src) == 1
            && reduced_capacity(kernel, src, domain.imbalance_pct)
            && u64::from(src_capacity) * domain.imbalance_pct < u64::from(dst_capacity) * 100
    }

    /// `should_we_balance`: of a group, the first idle CPU (on an idle core) balances; if none idles, the first CPU.
    fn should_we_balance(&self, kernel: &Kernel, env: &LoadBalance) -> bool {
        if env.is_excluded(env.dst) {
            return false;
        }
        if env.idle == IdleType::NewlyIdle {
            return kernel.rq(env.dst).nr_running == 0;
        }
        let domain = &kernel.topology.domains[env.domain];
        let group = &domain.groups[kernel.topology.local_group(env.domain, env.cpu)];
        let mut idle_smt = None;
        for cpu in group.cpus.iter().copied().filter(|cpu| kernel.idle_cpu(*cpu) && !env.is_excluded(*cpu)) {
            if domain.level != Level::Smt && !kernel.is_core_idle(cpu) {
                idle_smt = idle_smt.or(Some(cpu));
                continue;
            }
            return cpu == env.dst;
        }
        idle_smt.map_or(group.cpus.first() == Some(&env.dst), |cpu| cpu == env.dst)
    }

    /// `detach_tasks`; whether there are any. [`Fair::attach_tasks`] follows.
    ///
    /// The search begins with the task that was queued or ran the longest ago; tasks that may not move go to the front.
    fn detach_tasks(&mut self, kernel: &mut Kernel, env: &mut LoadBalance, src: CpuId) -> bool {
        if kernel.rq(src).nr_running <= 1 {
            env.all_pinned = false;
            return false;
        }
        for _ in 0..kernel.params.nr_migrate.min(kernel.rq(src).nr_running) {
            if env.imbalance <= 0 || (env.idle != IdleType::NotIdle && kernel.rq(src).nr_running <= 1) {
                break;
            }
            let Some(id) = self.cfs[src.index()].tasks.last() else { break };
            let Some(task) = self.layout.task(id) else { break };
            let amount = self.can_migrate_task(kernel, env, task).then(|| self.worth(kernel, env, task, src)).flatten();
            let Some(amount) = amount else {
                self.cfs[src.index()].tasks.move_first(&mut self.entities, id);
                continue;
            };
            env.imbalance -= amount;
            self.entities[id.index()].balanced_at = kernel.now;
            self.detach_task(kernel, task, env.dst);
            self.balance.detached.push(task);
            if env.idle == IdleType::NewlyIdle {
                break;
            }
        }
        !self.balance.detached.is_empty()
    }

    /// `attach_tasks`: what was detached last comes first, as each was put before the others (`env->tasks`).
    fn attach_tasks(&mut self, kernel: &mut Kernel, dst: CpuId) {
        while let Some(task) = self.balance.detached.pop() {
            self.attach_task(kernel, task, dst);
        }
    }

    /// `can_migrate_task`.
    fn can_migrate_task(&self, kernel: &Kernel, env: &mut LoadBalance, task: TaskId) -> bool {
        if self.throttled_lb_pair(task, env.dst) || self.keeps_for_lag(kernel, env, task) {
            return false;
        }
        if !kernel.task(task).may_use(env.dst) {
            env.some_pinned = true;
            if env.idle != IdleType::NewlyIdle && env.new_dst.is_none() {
                let domain = &kernel.topology.domains[env.domain];
                let group = &domain.groups[kernel.topology.local_group(env.domain, env.cpu)].cpus;
                let usable = |cpu: &CpuId| *cpu != env.dst && !env.is_excluded(*cpu) && kernel.task(task).may_use(*cpu);
                env.new_dst = group.iter().copied().find(usable);
            }
            return false;
        }
        env.all_pinned = false;
        // No kernel refuses this. But its CPUs balance side by side, and each has made up its mind by the time another one's
        // task arrives; here they do it one after the other at the same instant, and a task would be handed on and on.
        let taken = env.idle != IdleType::NewlyIdle && self.se(task).balanced_at == kernel.now;
        !kernel.task(task).on_cpu && !taken && !self.is_hot(kernel, env, task)
    }

    /// What releases after 6.12 leave where it is: sleepers that stand on their queue still, unless load is to be moved; and, at the
    /// first attempt, a task that has had more than its share, which would have to wait elsewhere too
    /// (`task_is_ineligible_on_dst_cpu`).
    fn keeps_for_lag(&self, kernel: &Kernel, env: &LoadBalance, task: TaskId) -> bool {
        if self.release.keeps_delayed && self.is_delayed(task) && env.migration != Migration::Load {
            return true;
        }
        if !self.release.keeps_ineligible || !self.features.place_lag {
            return false;
        }
        let first = self.balance.levels[env.cpu.index()][env.level].nr_balance_failed == 0;
        let there = self.layout.queue(kernel.task(task).task_group(), env.dst);
        first && self.cfs[there.index()].nr_queued > 0 && {
            let id = self.layout.entity(task);
            !self.cfs[self.entities[id.index()].queue.index()].eligible(&self.entities, id)
        }
    }

    /// `task_hot`, or what takes its place where it matters on which node the task's memory is, with the patience of `can_migrate_task`.
    fn is_hot(&self, kernel: &Kernel, env: &LoadBalance, task: TaskId) -> bool {
        let domain = &kernel.topology.domains[env.domain];
        let idles = env.idle == IdleType::Idle;
        if self.numa.is_some()
            && let Some(degrades) = self.migrate_degrades_locality(kernel, env.domain, task, env.dst, idles)
        {
            let failed = self.balance.levels[env.cpu.index()][env.level].nr_balance_failed;
            return degrades && failed <= domain.cache_nice_tries;
        }
        domain.level != Level::Smt
            && self.balance.levels[env.cpu.index()][env.level].nr_balance_failed <= domain.cache_nice_tries
            && !self.se(task).idle
            && self.se(task).since_it_ran(kernel.now) < kernel.params.migration_cost
    }

    /// How much of the imbalance moving `task` settles; `None` if it is too big to move. Failed attempts lower the bar.
    fn worth(&self, kernel: &Kernel, env: &LoadBalance, task: TaskId, src: CpuId) -> Option<i64> {
        let failed = self.balance.levels[env.cpu.index()][env.level].nr_balance_failed;
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

    /// `detach_one_task` of active balance: which task of `src` is to go to `dst`; the running one is preempted by then.
    pub fn detach_one_task(&mut self, kernel: &Kernel, src: CpuId, dst: CpuId) -> Option<TaskId> {
        let task =
            self.queued_on(src).find(|task| kernel.task(*task).may_use(dst) && !self.throttled_lb_pair(*task, dst))?;
        let chain = &kernel.topology.chains[dst.index()];
        if let Some(level) = chain.iter().position(|id| kernel.topology.domains[*id].span.test(src)) {
            self.balance.levels[dst.index()][level].nr_balance_failed = 0;
        }
        Some(task)
    }

    /// `detach_task`: takes a queued, not running task off its CPU's queue, for `dst`.
    fn detach_task(&mut self, kernel: &mut Kernel, task: TaskId, dst: CpuId) {
        self.dequeue_task(kernel, task, Dequeue::Save);
        self.migrate_task_rq(kernel, task, dst);
        kernel.set_task_cpu(task, dst);
    }

    /// `attach_task`: queues a detached task on `dst`.
    fn attach_task(&mut self, kernel: &mut Kernel, task: TaskId, dst: CpuId) {
        self.enqueue_task(kernel, task, Enqueue::Migrating);
        if kernel.rq(dst).curr.is_none() {
            kernel.resched_curr(dst);
        } else {
            self.wakeup_preempt(kernel, dst, task);
        }
    }
}

/// Whether a CPU outside the local group is still in play.
fn has_other_sources(kernel: &Kernel, env: &LoadBalance) -> bool {
    let domain = &kernel.topology.domains[env.domain];
    let local = &domain.groups[kernel.topology.local_group(env.domain, env.cpu)].span;
    domain.span.iter().any(|cpu| !local.test(cpu) && !env.excluded.contains(&cpu))
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_pcg::Pcg32;

    use super::*;
    use crate::kernel::params::KernelParameters;
    use crate::kernel::release::Linux;
    use crate::kernel::switching::Switching;
    use crate::kernel::task::Task;
    use crate::machine::Machine;
    use crate::workload::{Policy, Scheduling};

    /// So many fair tasks in the queue of CPU 0 of eight, the first one first, none of them cache-hot; the last has had more than
    /// its share.
    fn queued_in(linux: Linux, tasks: u32) -> (Kernel, Fair) {
        let machine = Machine::load("smp-8").unwrap();
        let params = KernelParameters { linux, ..KernelParameters::default() };
        let mut kernel = Kernel::new(&machine, params, Pcg32::seed_from_u64(1));
        let mut fair = Fair::new(&mut kernel, None);
        for task in (0..tasks).map(TaskId) {
            kernel.tasks.push(Task::new(task, Scheduling::default(), None, Switching::default()));
            fair.task_new(&kernel, task);
            if tasks > 1 && task.0 + 1 == tasks {
                fair.se_mut(task).vlag = -(MSEC as i64);
            }
            fair.enqueue_task(&mut kernel, task, Enqueue::New);
        }
        kernel.now = 10 * MSEC;
        (kernel, fair)
    }

    fn queued(tasks: u32) -> (Kernel, Fair) {
        queued_in(Linux::V6_12, tasks)
    }

    /// CPU 1 balances and wants tasks.
    fn wanted(kernel: &Kernel, migration: Migration) -> LoadBalance {
        LoadBalance {
            cpu: CpuId(1),
            dst: CpuId(1),
            domain: kernel.topology.chains[1][0],
            level: 0,
            idle: IdleType::Idle,
            migration,
            imbalance: 3,
            excluded: Vec::new(),
            all_pinned: true,
            some_pinned: false,
            new_dst: None,
        }
    }

    #[test]
    fn of_tasks_that_move_together_the_last_one_found_is_queued_first() {
        let (mut kernel, mut fair) = queued(4);
        let mut env = wanted(&kernel, Migration::Task);
        assert!(fair.move_tasks(&mut kernel, &mut env, CpuId(0)));
        let order = |cpu| fair.queued_on(CpuId(cpu)).map(|task| task.0).collect::<Vec<_>>();
        assert_eq!((order(0), order(1)), (vec![3], vec![2, 1, 0]));
    }

    #[test]
    fn tasks_of_a_loaded_scheduler_are_no_fair_ones() {
        let (mut kernel, fair) = queued(1);
        kernel.switching = Switching::Partial;
        kernel.add_nr_running(CpuId(0), 2);
        let group = &kernel.topology.domains[kernel.topology.chains[0][0]].groups[0];
        let stats = fair.group_stats(&kernel, &group.cpus, |_| true);
        assert_eq!((stats.sum_nr_running, stats.sum_h_nr_running), (3, 1));
    }

    /// Task 2 would have to wait on CPU 1, too, where task 3 is queued: it stays at the first attempt, and goes at the second.
    #[test]
    fn after_6_12_a_task_that_had_its_share_stays_where_others_wait() {
        for (linux, first) in [(Linux::V6_12, true), (Linux::V6_18, false)] {
            let (mut kernel, mut fair) = queued_in(linux, 3);
            let mut env = wanted(&kernel, Migration::Task);
            assert!(fair.can_migrate_task(&kernel, &mut env, TaskId(2)), "nobody waits on CPU 1");
            kernel.tasks.push(Task::new(TaskId(3), Scheduling::default(), None, Switching::default()));
            fair.task_new(&kernel, TaskId(3));
            kernel.task_mut(TaskId(3)).cpu = CpuId(1);
            fair.enqueue_task(&mut kernel, TaskId(3), Enqueue::New);
            assert_eq!(fair.can_migrate_task(&kernel, &mut env, TaskId(2)), first, "{linux}");
            assert!(fair.can_migrate_task(&kernel, &mut env, TaskId(0)), "it is owed service");
            fair.balance.levels[1][0].nr_balance_failed = 1;
            assert!(fair.can_migrate_task(&kernel, &mut env, TaskId(2)));
        }
    }

    /// Task 2 falls asleep, but owes service and so stays queued.
    #[test]
    fn after_6_12_a_queued_sleeper_is_no_work_and_moves_with_load_only() {
        for (linux, moves, counted) in [(Linux::V6_12, true, 3), (Linux::V6_18, false, 2)] {
            let (mut kernel, mut fair) = queued_in(linux, 3);
            assert!(!fair.dequeue_task(&mut kernel, TaskId(2), Dequeue::Sleep), "it stays");
            for (migration, expected) in [(Migration::Task, moves), (Migration::Load, true)] {
                let mut env = wanted(&kernel, migration);
                assert_eq!(fair.can_migrate_task(&kernel, &mut env, TaskId(2)), expected, "{linux} {migration:?}");
            }
            let group = &kernel.topology.domains[kernel.topology.chains[0][0]].groups[0];
            assert_eq!(fair.group_stats(&kernel, &group.cpus, |_| true).sum_h_nr_running, counted, "{linux}");
        }
    }

    /// A thousand passes in vain within 5 s. 6.12: hardly worth another one. 7.1: 5 s are 1192 times 4.2 ms, so that they are rare
    /// enough to be all made.
    #[test]
    fn rare_newidle_passes_are_made_in_7_1() {
        for (linux, ratio) in [(Linux::V6_18, 0), (Linux::V7_1, 1024)] {
            let (mut kernel, mut fair) = queued_in(linux, 1);
            kernel.now = 5_000 * MSEC;
            for _ in 0..1024 {
                fair.note_newidle(&kernel, CpuId(0), 0, false);
            }
            assert_eq!(fair.balance.levels[0][0].newidle_ratio, ratio, "{linux}");
        }
    }

    /// CPU 0 runs nothing but task 0, which is `SCHED_IDLE`: idle to an ordinary task, and up to 6.18 to another such task.
    #[test]
    fn in_7_1_idle_policy_tasks_do_not_count_as_idle_to_each_other() {
        for (linux, to_its_like) in [(Linux::V6_18, true), (Linux::V7_1, false)] {
            let (mut kernel, mut fair) = queued_in(linux, 0);
            for (task, policy) in [Policy::Idle, Policy::Idle, Scheduling::default().policy].into_iter().enumerate() {
                let scheduling = Scheduling { policy, ..Scheduling::default() };
                kernel.tasks.push(Task::new(TaskId::at(task), scheduling, None, Switching::default()));
                fair.task_new(&kernel, TaskId::at(task));
            }
            fair.enqueue_task(&mut kernel, TaskId(0), Enqueue::New);
            let idle_to = |task| fair.choose_sched_idle_rq(&kernel, TaskId(task), CpuId(0));
            assert_eq!((idle_to(1), idle_to(2)), (to_its_like, true), "{linux}");
        }
    }
}
