// SPDX-License-Identifier: MIT OR Apache-2.0
//! A task goes to the node of its memory, to an idle CPU or in exchange with another task: `task_numa_migrate`,
//! `task_numa_find_cpu`, `task_numa_compare`.
//!
//! `rq->numa_migrate_on`, which keeps CPUs from choosing one place at the same time, has no counterpart: searches follow each
//! other here, and each one's move is done before the next.

use super::super::Fair;
use super::super::balance::stats::adjust_numa_imbalance;
use super::Numa;
use crate::kernel::Kernel;
use crate::kernel::topology::Level;
use crate::units::{CpuId, TaskId};

/// `SMALLIMP`: what two tasks must gain at least by changing places, thousandths.
const SMALLIMP: i64 = 30;

/// What kind of work a node has (`enum numa_type`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum NumaType {
    #[default]
    HasSpare,
    FullyBusy,
    Overloaded,
}

/// Sums over a node's CPUs (`struct numa_stats`).
#[derive(Debug, Clone, Default)]
struct NumaStats {
    load: i64,
    runnable: u64,
    util: u64,
    compute_capacity: u64,
    nr_running: u32,
    weight: u32,
    node_type: NumaType,
    /// An idle CPU that the task may use, on an idle core if there is one.
    idle_cpu: Option<CpuId>,
}

/// A search (`struct task_numa_env`).
#[derive(Debug)]
struct Env {
    task: TaskId,
    src_cpu: CpuId,
    src_nid: u32,
    dst_cpu: CpuId,
    dst_nid: u32,
    imb_numa_nr: i64,
    imbalance_pct: u64,
    src: NumaStats,
    dst: NumaStats,
    /// What the task gains on the node looked at, thousandths of its faults (`taskimp`).
    improvement: i64,
    /// Whether it may go to a CPU of that node without another task's leaving (`maymove`).
    may_move: bool,
    /// The task to change places with, if any.
    best_task: Option<TaskId>,
    best_imp: i64,
    best_cpu: Option<CpuId>,
}

impl Fair {
    /// `task_numa_migrate`: whether `task`, which runs elsewhere, goes to a CPU of its preferred node, or of another node if there
    /// is no room. The moves are in `kernel.stop_moves` then.
    pub(super) fn task_numa_migrate(&self, numa: &mut Numa, kernel: &mut Kernel, task: TaskId, preferred: u32) -> bool {
        let src_cpu = kernel.task(task).cpu;
        let src_nid = numa.node(src_cpu);
        let chain = &kernel.topology.chains[src_cpu.index()];
        let Some(domain) = chain.iter().find(|id| kernel.topology.domains[**id].level == Level::Numa) else {
            // CPUs do not balance across nodes: there is no point in trying.
            numa.tasks[task.index()].preferred = Some(src_nid);
            return false;
        };
        let domain = &kernel.topology.domains[*domain];
        let mut env = Env {
            task,
            src_cpu,
            src_nid,
            dst_cpu: src_cpu,
            dst_nid: preferred,
            imb_numa_nr: domain.imb_numa_nr,
            imbalance_pct: 100 + (domain.imbalance_pct - 100) / 2,
            src: NumaStats::default(),
            dst: NumaStats::default(),
            improvement: 0,
            may_move: false,
            best_task: None,
            best_imp: 0,
            best_cpu: None,
        };
        env.src = self.update_numa_stats(numa, kernel, &env, src_nid, false);
        self.look_at_node(numa, kernel, &mut env, preferred);
        for node in (0..numa.cpus_of.len() as u32).filter(|node| ![src_nid, preferred].contains(node)) {
            if env.best_cpu.is_some() {
                break;
            }
            self.look_at_node(numa, kernel, &mut env, node);
        }
        let Some(best_cpu) = env.best_cpu else { return false };
        // `migrate_swap`, or `migrate_task_to`; the last one is carried out first.
        kernel.stop_moves.extend(env.best_task.map(|other| (other, src_cpu)));
        kernel.stop_moves.push((task, best_cpu));
        true
    }

    fn look_at_node(&self, numa: &Numa, kernel: &Kernel, env: &mut Env, node: u32) {
        env.dst_nid = node;
        env.improvement = numa.task_weight(env.task, node) - numa.task_weight(env.task, env.src_nid);
        env.dst = self.update_numa_stats(numa, kernel, env, node, true);
        self.task_numa_find_cpu(numa, kernel, env);
    }

    /// `update_numa_stats`.
    fn update_numa_stats(&self, numa: &Numa, kernel: &Kernel, env: &Env, node: u32, find_idle: bool) -> NumaStats {
        let mut stats = NumaStats::default();
        let mut idle_core = None;
        for cpu in online(numa, kernel, node) {
            let avg = &self.queue(cpu).avg;
            stats.load += self.cpu_load(cpu) as i64;
            stats.runnable += avg.runnable_avg;
            stats.util += self.cpu_util_cfs(kernel, cpu);
            stats.nr_running += self.queue(cpu).h_nr_queued;
            stats.compute_capacity += u64::from(kernel.rq(cpu).capacity);
            stats.weight += 1;
            let idle = find_idle && idle_core.is_none() && kernel.rq(cpu).nr_running == 0 && kernel.idle_cpu(cpu);
            if !idle || !kernel.task(env.task).may_use(cpu) {
                continue;
            }
            stats.idle_cpu = stats.idle_cpu.or(Some(cpu));
            // `numa_idle_core`
            let llc = kernel.topology.llc_of[cpu.index()] as usize;
            if kernel.topology.smt_active && self.idle_cores[llc] && kernel.is_core_idle(cpu) {
                idle_core = Some(cpu);
            }
        }
        stats.node_type = stats.classify(env.imbalance_pct);
        stats.idle_cpu = idle_core.or(stats.idle_cpu);
        stats
    }

    /// `task_numa_find_cpu`: the best place on the node.
    fn task_numa_find_cpu(&self, numa: &Numa, kernel: &Kernel, env: &mut Env) {
        if env.dst.node_type == NumaType::HasSpare {
            let (src_running, dst_running) = (i64::from(env.src.nr_running) - 1, i64::from(env.dst.nr_running) + 1);
            let imbalance = (dst_running - src_running).max(0);
            env.may_move = adjust_numa_imbalance(imbalance, env.dst.nr_running, env.imb_numa_nr) == 0;
            if let Some(idle) = env.dst.idle_cpu.filter(|_| env.may_move) {
                env.dst_cpu = idle;
                env.assign(None, 0);
                return;
            }
        } else {
            let load = self.task_h_load(env.task) as i64;
            env.may_move = !env.load_too_imbalanced(load);
        }
        for cpu in online(numa, kernel, env.dst_nid) {
            if !kernel.task(env.task).may_use(cpu) {
                continue;
            }
            env.dst_cpu = cpu;
            if self.task_numa_compare(numa, kernel, env) {
                break;
            }
        }
    }

    /// `task_numa_compare`: whether to move to `env.dst_cpu`, or to change places with its task; true ends the search.
    fn task_numa_compare(&self, numa: &Numa, kernel: &Kernel, env: &mut Env) -> bool {
        if env.best_cpu == Some(env.dst_cpu) {
            return false;
        }
        let chosen = match kernel.rq(env.dst_cpu).curr {
            Some(curr) if curr == env.task => return true,
            None if env.may_move && env.improvement >= env.best_imp => Some((None, env.improvement)),
            None => None,
            Some(curr) => self.worth_swapping(numa, kernel, env, curr),
        };
        let Some((other, improvement)) = chosen else { return false };
        if other.is_none() {
            let idle = env.dst.idle_cpu.unwrap_or(env.dst_cpu);
            let best = env.best_cpu.filter(|best| !kernel.idle_cpu(idle) && kernel.idle_cpu(*best));
            env.dst_cpu = best.unwrap_or(idle);
        }
        env.assign(other, improvement);
        let prefers_src = |task| numa.preferred(task) == Some(env.src_nid);
        let to_idle = env.may_move && other.is_none() && env.best_cpu.is_some_and(|best| kernel.idle_cpu(best));
        to_idle || (!env.may_move && env.best_task.is_some_and(prefers_src))
    }

    /// The middle of `task_numa_compare`: what `env.task` and `curr` gain by changing places, or the former by moving alone, if that
    /// is better than what was found so far.
    fn worth_swapping(&self, numa: &Numa, kernel: &Kernel, env: &Env, curr: TaskId) -> Option<(Option<TaskId>, i64)> {
        let prefers_src = |task| numa.preferred(task) == Some(env.src_nid);
        let best_prefers = env.best_task.map(prefers_src);
        if !kernel.task(curr).may_use(env.src_cpu) || (best_prefers == Some(true) && !prefers_src(curr)) {
            return None;
        }
        // With room on the node a swap would help one task at the cost of another, and even nothing out.
        if env.dst.node_type == NumaType::HasSpare {
            return None;
        }
        let mut imp = env.improvement + numa.task_weight(curr, env.src_nid) - numa.task_weight(curr, env.dst_nid);
        if numa.preferred(curr) == Some(env.dst_nid) {
            imp -= imp / 16;
        }
        if prefers_src(curr) {
            imp += imp / 8;
        }
        if env.may_move && env.improvement > imp && env.improvement > env.best_imp {
            return Some((None, env.improvement));
        }
        if prefers_src(curr) && best_prefers == Some(false) {
            return Some((Some(curr), imp));
        }
        if imp < SMALLIMP || imp <= env.best_imp + SMALLIMP / 2 {
            return None;
        }
        let load = self.task_h_load(env.task) as i64 - self.task_h_load(curr) as i64;
        (load == 0 || !env.load_too_imbalanced(load)).then_some((Some(curr), imp))
    }
}

impl NumaStats {
    /// `numa_classify`.
    fn classify(&self, imbalance_pct: u64) -> NumaType {
        let Self { runnable, util, compute_capacity: capacity, .. } = *self;
        if self.nr_running > self.weight
            && (capacity * 100 < util * imbalance_pct || capacity * imbalance_pct < runnable * 100)
        {
            return NumaType::Overloaded;
        }
        if self.nr_running < self.weight
            || (capacity * 100 > util * imbalance_pct && capacity * imbalance_pct > runnable * 100)
        {
            return NumaType::HasSpare;
        }
        NumaType::FullyBusy
    }
}

impl Env {
    /// `task_numa_assign`: the present place is the best one so far.
    fn assign(&mut self, other: Option<TaskId>, improvement: i64) {
        (self.best_task, self.best_imp, self.best_cpu) = (other, improvement, Some(self.dst_cpu));
    }

    /// `load_too_imbalanced`: whether so much load would be better where it is.
    fn load_too_imbalanced(&self, load: i64) -> bool {
        let (src_capacity, dst_capacity) = (self.src.compute_capacity as i64, self.dst.compute_capacity as i64);
        let imbalance = |src: i64, dst: i64| (dst * src_capacity - src * dst_capacity).abs();
        imbalance(self.src.load - load, self.dst.load + load) > imbalance(self.src.load, self.dst.load)
    }
}

/// `cpumask_of_node`.
fn online<'a>(numa: &'a Numa, kernel: &'a Kernel, node: u32) -> impl Iterator<Item = CpuId> + 'a {
    numa.cpus_of[node as usize].iter().copied().filter(|cpu| kernel.topology.online.test(*cpu))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stats(nr_running: u32, weight: u32, util: u64, runnable: u64) -> NumaStats {
        NumaStats { nr_running, weight, util, runnable, compute_capacity: 2048, ..NumaStats::default() }
    }

    #[test]
    fn a_node_is_full_with_as_many_tasks_as_cpus_that_use_them_all() {
        // 112 %: 2048 · 100 > 1800 · 112 is 204,800 > 201,600.
        assert_eq!(stats(1, 2, 1024, 1024).classify(112), NumaType::HasSpare);
        assert_eq!(stats(2, 2, 1800, 1800).classify(112), NumaType::HasSpare);
        assert_eq!(stats(2, 2, 2000, 2000).classify(112), NumaType::FullyBusy);
        assert_eq!(stats(3, 2, 2000, 3000).classify(112), NumaType::Overloaded);
    }

    #[test]
    fn load_moves_as_long_as_that_does_not_make_nodes_less_even() {
        let env = |src: i64, dst: i64| Env {
            task: TaskId(0),
            src_cpu: CpuId(0),
            src_nid: 0,
            dst_cpu: CpuId(0),
            dst_nid: 1,
            imb_numa_nr: 1,
            imbalance_pct: 112,
            src: NumaStats { load: src, compute_capacity: 1024, ..NumaStats::default() },
            dst: NumaStats { load: dst, compute_capacity: 1024, ..NumaStats::default() },
            improvement: 0,
            may_move: false,
            best_task: None,
            best_imp: 0,
            best_cpu: None,
        };
        // 3 against 1: moving 1 evens them out, moving 2 leaves as much between them, moving 3 more.
        assert_eq!([1, 2, 3].map(|load| env(3, 1).load_too_imbalanced(load)), [false, false, true]);
    }
}
