// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which tasks may become deadline tasks, and how much bandwidth is reserved and active (`struct dl_bw`, `running_bw`).

use super::Dl;
use super::entity::{BW_SHIFT, BW_UNIT, DlParams, to_ratio};
use super::timers::Timer;
use crate::kernel::Kernel;
use crate::kernel::cpumask::CpuMask;
use crate::kernel::task::{ClassId, TaskState};
use crate::units::{CAPACITY_SCALE, CpuId, Nanos, SEC, TaskId};
use crate::workload::Policy;

/// Each CPU's fair server has 50 ms of every second (`fair_server_init`), which deadline tasks cannot have.
const FAIR_SERVER: (Nanos, Nanos) = (SEC / 20, SEC);

/// Why `sched_setattr` or `sched_setaffinity` fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// More bandwidth than there is (`EBUSY`).
    Bandwidth,
    /// Deadline tasks must be allowed on all CPUs (`EPERM`, `EBUSY`).
    Affinity,
}

/// The reservation of a policy.
pub(super) fn params_of(policy: Policy) -> Option<DlParams> {
    match policy {
        Policy::Deadline { runtime, deadline, period } => {
            Some(DlParams { runtime, deadline, period: if period == 0 { deadline } else { period } })
        }
        _ => None,
    }
}

impl Dl {
    /// Whether a deadline task may have this affinity: all CPUs, unless admission control is off.
    pub fn check_affinity(kernel: &Kernel, allowed: Option<&CpuMask>) -> Result<(), Refusal> {
        let all = kernel.topology.online.iter().all(|cpu| allowed.is_none_or(|mask| mask.test(cpu)));
        if all || kernel.params.rt_runtime.is_none() { Ok(()) } else { Err(Refusal::Affinity) }
    }

    /// The test of `sched_dl_overflow`: whether `policy` fits beside what is reserved. `task`: the one that is to get
    /// the policy, if it exists.
    pub fn check_bandwidth(&self, kernel: &Kernel, task: Option<TaskId>, policy: Policy) -> Result<(), Refusal> {
        let (Some(params), Some(limit)) = (params_of(policy), kernel.params.rt_runtime) else { return Ok(()) };
        let has = task.filter(|task| params_of(kernel.task(*task).scheduling.policy).is_some());
        let old = has.and_then(|task| self.entities.get(task.index())).map_or(0, |entity| entity.bandwidth);
        let online = &kernel.topology.online;
        let capacity: u64 = online.iter().map(|cpu| u64::from(kernel.rq(cpu).capacity_orig)).sum();
        let limit = to_ratio(kernel.params.rt_period, limit) * capacity / CAPACITY_SCALE;
        let servers = online.weight() as u64 * to_ratio(FAIR_SERVER.1, FAIR_SERVER.0);
        let total = servers + self.total_bw - old + to_ratio(params.period, params.runtime);
        if total > limit { Err(Refusal::Bandwidth) } else { Ok(()) }
    }

    /// Books the reservation of a task that has passed the tests, or changes it.
    pub fn reserve(&mut self, kernel: &Kernel, task: TaskId) {
        let Some(params) = params_of(kernel.task(task).scheduling.policy) else { return };
        self.make_room(task);
        let entity = &mut self.entities[task.index()];
        // Still counted if it was a deadline task until a moment ago.
        let counted = entity.bandwidth;
        entity.set_params(params);
        entity.non_contending = false;
        self.total_bw = self.total_bw - counted + entity.bandwidth;
        self.cancel(task, Timer::Inactive);
    }

    /// Makes sure that there is an entity for `task`.
    pub(super) fn make_room(&mut self, task: TaskId) {
        if self.entities.len() <= task.index() {
            self.entities.resize_with(task.index() + 1, Default::default);
        }
    }

    /// `switched_from_dl`: a runnable task has left the class. Its bandwidth is free at its 0-lag time; at once if it still
    /// waits for the one of the last time it left, and has been back by inheritance alone.
    pub fn switched_from(&mut self, kernel: &mut Kernel, task: TaskId) {
        self.cancel(task, Timer::Replenish);
        let entity = &mut self.entities[task.index()];
        if entity.own.runtime == 0 {
            return;
        }
        (entity.throttled, entity.yielded) = (false, false);
        let zero_lag = entity.zero_lag();
        if zero_lag <= i128::from(kernel.now) || entity.inactive_timer.is_some() {
            self.give_back(task);
        } else {
            self.set_timer(kernel, task, Timer::Inactive, zero_lag as Nanos);
        }
    }

    /// Nothing is reserved for `task` any more.
    fn give_back(&mut self, task: TaskId) {
        self.cancel(task, Timer::Replenish);
        self.cancel(task, Timer::Inactive);
        let entity = &mut self.entities[task.index()];
        self.total_bw -= entity.bandwidth;
        entity.clear_params();
    }

    pub(super) fn add_running_bw(&mut self, kernel: &mut Kernel, task: TaskId) {
        let cpu = kernel.task(task).cpu;
        self.rqs[cpu.index()].running_bw += self.entities[task.index()].bandwidth;
        kernel.rq_mut(cpu).dl_bandwidth = self.bandwidth(cpu);
        kernel.cpufreq_update_util(cpu);
    }

    pub(super) fn sub_running_bw(&mut self, kernel: &mut Kernel, task: TaskId) {
        let cpu = kernel.task(task).cpu;
        self.rqs[cpu.index()].running_bw -= self.entities[task.index()].bandwidth;
        kernel.rq_mut(cpu).dl_bandwidth = self.bandwidth(cpu);
        kernel.cpufreq_update_util(cpu);
    }

    /// `task_contending`: a task woke; its bandwidth is active, or still is.
    pub(super) fn task_contending(&mut self, kernel: &mut Kernel, task: TaskId) {
        if std::mem::take(&mut self.entities[task.index()].non_contending) {
            self.cancel(task, Timer::Inactive);
        } else {
            self.add_running_bw(kernel, task);
        }
    }

    /// `task_non_contending`: a task sleeps or ends; its bandwidth stays active up to its 0-lag time.
    pub(super) fn task_non_contending(&mut self, kernel: &mut Kernel, task: TaskId) {
        let entity = &mut self.entities[task.index()];
        if entity.own.runtime == 0 {
            return;
        }
        let zero_lag = entity.zero_lag();
        entity.non_contending = true;
        if zero_lag <= i128::from(kernel.now) {
            self.inactive(kernel, task);
        } else {
            self.set_timer(kernel, task, Timer::Inactive, zero_lag as Nanos);
        }
    }

    /// `inactive_task_timer`: the 0-lag time is over. A task that is in the class keeps its reservation, even if only
    /// what it inherits keeps it there: it may be queued by its deadline.
    pub(super) fn inactive(&mut self, kernel: &mut Kernel, task: TaskId) {
        if std::mem::take(&mut self.entities[task.index()].non_contending) {
            self.sub_running_bw(kernel, task);
        }
        let left = kernel.task(task).class != ClassId::Dl;
        if left || kernel.task(task).state == TaskState::Dead {
            self.give_back(task);
        }
    }

    /// `cpu_bw_dl`: active bandwidth on `cpu`, 1024 for all of the fastest CPU.
    pub fn bandwidth(&self, cpu: CpuId) -> u64 {
        (self.rqs[cpu.index()].running_bw * CAPACITY_SCALE) >> BW_SHIFT
    }

    /// `dl_task_fits_capacity`.
    pub(super) fn fits_capacity(&self, kernel: &Kernel, task: TaskId, cpu: CpuId) -> bool {
        u64::from(kernel.rq(cpu).capacity_orig) >= self.entities[task.index()].density * CAPACITY_SCALE / BW_UNIT
    }
}
