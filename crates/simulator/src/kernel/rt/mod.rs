// SPDX-License-Identifier: MIT OR Apache-2.0
//! The real-time class: FIFO and round robin by priority, after `kernel/sched/rt.c`.
//!
//! - this file: the class's hooks. `queue`: one CPU's tasks. `push_pull`: which CPU a task runs on. `server`: what fair
//!   tasks are left.
//!
//! Left out: real-time groups, `RT_PUSH_IPI`'s delays.

mod push_pull;
mod queue;
mod server;

use std::cmp::Ordering;

use crate::kernel::Kernel;
use crate::kernel::class::{Dequeue, Enqueue, SchedClass, Wake};
use crate::kernel::cpumask::CpuMask;
use crate::units::{CpuId, Nanos, TaskId};
use crate::workload::Policy;
use queue::RtRq;
use server::FairServer;

/// The real-time class of all CPUs.
#[derive(Debug)]
pub struct Rt {
    rqs: Vec<RtRq>,
    servers: Vec<FairServer>,
    entities: Vec<RtEntity>,
    /// CPUs with more than one queued real-time task (`rto_mask`).
    overloaded: CpuMask,
    /// CPUs where fair tasks wait for real-time ones.
    served: CpuMask,
    /// The CPU that `cpumask_any_and_distribute` last gave.
    distributed: usize,
}

#[derive(Debug, Clone, Copy, Default)]
struct RtEntity {
    exec_start: Nanos,
    time_slice: Nanos,
}

impl Rt {
    /// The class on `kernel`'s CPUs.
    pub fn new(kernel: &Kernel) -> Self {
        let cpus = kernel.topology.nr_cpus;
        Self {
            rqs: (0..cpus).map(|_| RtRq::default()).collect(),
            servers: (0..cpus).map(|_| FairServer::default()).collect(),
            entities: Vec::new(),
            overloaded: CpuMask::empty(cpus),
            served: CpuMask::empty(cpus),
            distributed: 0,
        }
    }

    /// The tasks queued on `cpu`, the running one included.
    pub fn queued_on(&self, cpu: CpuId) -> impl Iterator<Item = TaskId> + '_ {
        self.rqs[cpu.index()].iter()
    }

    /// Whether real-time tasks are queued on `cpu` and may run.
    pub fn is_active(&self, cpu: CpuId) -> bool {
        self.rqs[cpu.index()].nr_running > 0 && !self.servers[cpu.index()].throttled
    }

    /// `update_curr_rt`: books what the current task ran, and looks whether fair ones have waited for too long.
    pub fn update_curr(&mut self, kernel: &mut Kernel, cpu: CpuId) {
        if let Some(curr) = self.rqs[cpu.index()].curr {
            let entity = &mut self.entities[curr.index()];
            let now = kernel.rq_clock_task(cpu).max(entity.exec_start);
            self.servers[cpu.index()].charge(now - entity.exec_start);
            entity.exec_start = now;
        }
        self.update_server(kernel, cpu);
    }

    fn update_server(&mut self, kernel: &mut Kernel, cpu: CpuId) {
        let (Some(runtime), period) = (kernel.params.rt_runtime, kernel.params.rt_period) else { return };
        let rq = &self.rqs[cpu.index()];
        // Before 7.x no server looks after tasks of a loaded scheduler.
        let unserved = if kernel.ext_server { 0 } else { kernel.rq(cpu).ext_nr_running };
        let others = kernel.rq(cpu).dl_nr_running + unserved;
        let fair_waits = rq.nr_running > 0 && kernel.rq(cpu).nr_running > others + rq.nr_running && runtime < period;
        if fair_waits {
            self.served.set(cpu);
        } else {
            self.served.clear(cpu);
        }
        if self.servers[cpu.index()].update(kernel.now, fair_waits, runtime, period) {
            kernel.resched_curr(cpu);
        }
    }

    /// When [`Rt::serve`] is next to be called; `None`: no fair task waits for a real-time one.
    pub fn next_service(&self, kernel: &Kernel) -> Option<Nanos> {
        let (runtime, period) = (kernel.params.rt_runtime?, kernel.params.rt_period);
        let next = |cpu: CpuId| {
            let running = self.rqs[cpu.index()].curr.is_some();
            self.servers[cpu.index()].next(kernel.now, running, runtime, period)
        };
        self.served.iter().filter_map(next).min()
    }

    /// Updates the CPUs where fair tasks wait: they may have waited for too long, or their share may be over.
    pub fn serve(&mut self, kernel: &mut Kernel) {
        let cpus: Vec<CpuId> = self.served.iter().collect();
        for cpu in cpus {
            self.update_curr(kernel, cpu);
        }
    }

    /// Whether real-time tasks of `cpu` are held back for fair ones.
    pub fn is_held_back(&self, cpu: CpuId) -> bool {
        self.servers[cpu.index()].throttled
    }

    /// No fair task can run on `cpu` after all: the real-time task that was held back for them may.
    pub fn pick_held_back(&mut self, cpu: CpuId) -> Option<TaskId> {
        self.servers[cpu.index()] = FairServer::default();
        self.rqs[cpu.index()].first()
    }

    fn note_overload(&mut self, cpu: CpuId) {
        if self.rqs[cpu.index()].nr_running > 1 {
            self.overloaded.set(cpu);
        } else {
            self.overloaded.clear(cpu);
        }
    }
}

impl SchedClass for Rt {
    fn task_new(&mut self, _kernel: &Kernel, task: TaskId) {
        debug_assert_eq!(self.entities.len(), task.index(), "tasks are created in order");
        self.entities.push(RtEntity::default());
    }

    fn select_task_rq(&mut self, kernel: &mut Kernel, task: TaskId, this_cpu: CpuId, _wake: Wake) -> CpuId {
        let cpu = self.select_cpu(kernel, task, this_cpu);
        kernel.usable_cpu(task, cpu)
    }

    fn enqueue_task(&mut self, kernel: &mut Kernel, task: TaskId, why: Enqueue) {
        let (cpu, priority) = (kernel.task(task).cpu, kernel.task(task).rt_priority);
        kernel.rt_active = true;
        let rq = &mut self.rqs[cpu.index()];
        rq.push(priority, task, why == Enqueue::RestoreHead);
        rq.nr_running += 1;
        self.note_overload(cpu);
        kernel.rq_mut(cpu).rt_nr_running += 1;
        kernel.uclamp_rq_inc(cpu, task);
        kernel.add_nr_running(cpu, 1);
        kernel.cpufreq_update_util(cpu);
    }

    fn dequeue_task(&mut self, kernel: &mut Kernel, task: TaskId, _why: Dequeue) -> bool {
        let (cpu, priority) = (kernel.task(task).cpu, kernel.task(task).rt_priority);
        self.update_curr(kernel, cpu);
        let rq = &mut self.rqs[cpu.index()];
        rq.remove(priority, task);
        rq.nr_running -= 1;
        self.note_overload(cpu);
        kernel.rq_mut(cpu).rt_nr_running -= 1;
        kernel.uclamp_rq_dec(cpu, task);
        kernel.sub_nr_running(cpu, 1);
        kernel.cpufreq_update_util(cpu);
        true
    }

    fn requeue_delayed(&mut self, _kernel: &mut Kernel, _task: TaskId) -> bool {
        false
    }

    fn wakeup_preempt(&mut self, kernel: &mut Kernel, cpu: CpuId, task: TaskId) {
        let Some(curr) = self.rqs[cpu.index()].curr else { return };
        match kernel.task(task).rt_priority.cmp(&kernel.task(curr).rt_priority) {
            Ordering::Greater => kernel.resched_curr(cpu),
            Ordering::Equal if !kernel.rq(cpu).need_resched => self.check_preempt_equal_prio(kernel, cpu, task, curr),
            Ordering::Equal | Ordering::Less => {}
        }
    }

    fn migrate_task_rq(&mut self, _kernel: &mut Kernel, _task: TaskId, _cpu: CpuId) {}

    fn balance(&mut self, kernel: &mut Kernel, cpu: CpuId) -> bool {
        if !self.overloaded.is_empty() && self.need_pull_rt_task(kernel, cpu) {
            self.pull_rt_task(kernel, cpu);
        }
        self.is_active(cpu)
    }

    fn yield_task(&mut self, kernel: &mut Kernel, cpu: CpuId) {
        let Some(curr) = self.rqs[cpu.index()].curr else { return };
        let priority = kernel.task(curr).rt_priority;
        self.rqs[cpu.index()].requeue(priority, curr, false);
    }

    fn pick_task(&mut self, kernel: &mut Kernel, cpu: CpuId) -> Option<TaskId> {
        if self.served.test(cpu) {
            self.update_server(kernel, cpu);
        }
        if self.servers[cpu.index()].throttled { None } else { self.rqs[cpu.index()].first() }
    }

    fn put_prev_task(&mut self, kernel: &mut Kernel, cpu: CpuId, _task: TaskId) {
        self.update_curr(kernel, cpu);
        kernel.update_rt_load_avg(cpu, true);
        self.rqs[cpu.index()].curr = None;
    }

    fn set_next_task(&mut self, kernel: &mut Kernel, cpu: CpuId, task: TaskId) {
        kernel.update_rt_load_avg(cpu, false);
        self.rqs[cpu.index()].curr = Some(task);
        let entity = &mut self.entities[task.index()];
        entity.exec_start = kernel.rq_clock_task(cpu);
        if entity.time_slice == 0 {
            entity.time_slice = kernel.params.rr_timeslice;
        }
        self.update_server(kernel, cpu);
    }

    fn task_tick(&mut self, kernel: &mut Kernel, cpu: CpuId, task: TaskId) {
        self.update_curr(kernel, cpu);
        kernel.update_rt_load_avg(cpu, true);
        if !matches!(kernel.task(task).scheduling.policy, Policy::RoundRobin { .. }) {
            return;
        }
        let entity = &mut self.entities[task.index()];
        entity.time_slice = entity.time_slice.saturating_sub(kernel.params.tick());
        if entity.time_slice > 0 {
            return;
        }
        entity.time_slice = kernel.params.rr_timeslice;
        let priority = kernel.task(task).rt_priority;
        let rq = &mut self.rqs[cpu.index()];
        if rq.count(priority) > 1 {
            rq.requeue(priority, task, false);
            kernel.resched_curr(cpu);
        }
    }
}
