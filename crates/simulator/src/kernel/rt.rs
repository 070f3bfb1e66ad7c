// SPDX-License-Identifier: MIT OR Apache-2.0
//! The real-time class: FIFO and round robin by priority, pushed and pulled between CPUs, throttled for fair tasks.
//!
//! After `kernel/sched/rt.c`. Throttling is what Linux 6.12 makes of it: real-time tasks may use all of a CPU until
//! fair tasks wait there; then they get `rt_runtime` of every `rt_period` (the fair server's 50 ms of a second).
//! Left out: `SCHED_DEADLINE` (runs here as a priority above all others, without budget or admission), real-time
//! groups, `RT_PUSH_IPI`'s delays. A workload that relies on deadline throttling could tell the difference.

use std::collections::VecDeque;

use crate::kernel::Kernel;
use crate::kernel::class::{Dequeue, Enqueue, SchedClass, Wake};
use crate::kernel::cpumask::CpuMask;
use crate::units::{CpuId, Nanos, TaskId};
use crate::workload::Policy;

/// The real-time class of all CPUs.
#[derive(Debug)]
pub struct Rt {
    rqs: Vec<RtRq>,
    entities: Vec<RtEntity>,
    /// CPUs with more than one queued real-time task (`rto_mask`).
    overloaded: CpuMask,
}

/// A CPU's real-time queue (`struct rt_rq`).
#[derive(Debug, Default)]
struct RtRq {
    /// Tasks by priority, most urgent first; the running one stays queued.
    queues: Vec<(u8, VecDeque<TaskId>)>,
    nr_running: u32,
    curr: Option<TaskId>,
    /// Time used in this period.
    rt_time: Nanos,
    throttled: bool,
}

#[derive(Debug, Clone, Copy, Default)]
struct RtEntity {
    on_rq: bool,
    exec_start: Nanos,
    time_slice: Nanos,
}

impl RtRq {
    fn push(&mut self, priority: u8, task: TaskId, head: bool) {
        let index = match self.queues.binary_search_by(|(other, _)| priority.cmp(other)) {
            Ok(index) => index,
            Err(index) => {
                self.queues.insert(index, (priority, VecDeque::new()));
                index
            }
        };
        let queue = &mut self.queues[index].1;
        if head { queue.push_front(task) } else { queue.push_back(task) }
    }

    fn remove(&mut self, priority: u8, task: TaskId) {
        if let Ok(index) = self.queues.binary_search_by(|(other, _)| priority.cmp(other)) {
            self.queues[index].1.retain(|other| *other != task);
        }
    }

    /// The most urgent task and its priority.
    fn first(&self) -> Option<TaskId> {
        self.queues.iter().find_map(|(_, queue)| queue.front().copied())
    }
}

impl Rt {
    /// The class on `kernel`'s CPUs.
    pub fn new(kernel: &Kernel) -> Self {
        Self {
            rqs: (0..kernel.topology.nr_cpus).map(|_| RtRq::default()).collect(),
            entities: Vec::new(),
            overloaded: CpuMask::empty(kernel.topology.nr_cpus),
        }
    }

    /// Whether real-time tasks are queued on `cpu` and may run.
    pub fn is_active(&self, cpu: CpuId) -> bool {
        let rq = &self.rqs[cpu.index()];
        rq.nr_running > 0 && !rq.throttled
    }

    /// `update_curr_rt`.
    pub fn update_curr(&mut self, kernel: &mut Kernel, cpu: CpuId) {
        let Some(curr) = self.rqs[cpu.index()].curr else { return };
        let entity = &mut self.entities[curr.index()];
        let delta = kernel.now - entity.exec_start;
        entity.exec_start = kernel.now;
        let others_wait = kernel.rq(cpu).nr_running > self.rqs[cpu.index()].nr_running;
        let rq = &mut self.rqs[cpu.index()];
        rq.rt_time += delta;
        if let Some(runtime) = kernel.params.rt_runtime
            && rq.rt_time >= runtime
            && others_wait
            && !rq.throttled
        {
            rq.throttled = true;
            kernel.resched_curr(cpu);
        }
    }

    /// `do_sched_rt_period_timer`: a new period begins on every CPU; false if no real-time task is left to time.
    pub fn period(&mut self, kernel: &mut Kernel) -> bool {
        let runtime = kernel.params.rt_runtime.unwrap_or(Nanos::MAX);
        let mut active = false;
        for cpu in 0..self.rqs.len() {
            self.update_curr(kernel, CpuId::at(cpu));
            let rq = &mut self.rqs[cpu];
            // Beyond the budget only time counts in which fair tasks waited: a queue that was not stopped owes nothing.
            rq.rt_time = if rq.throttled { rq.rt_time.saturating_sub(runtime) } else { 0 };
            if rq.throttled && rq.rt_time < runtime {
                rq.throttled = false;
                kernel.resched_curr(CpuId::at(cpu));
            }
            active |= rq.nr_running > 0 || rq.rt_time > 0;
        }
        active
    }

    /// Priority that runs or waits most urgently on `cpu`: 0 fair, −1 idle (`cpupri`).
    fn priority_of(&self, kernel: &Kernel, cpu: CpuId) -> i32 {
        match self.rqs[cpu.index()].first() {
            Some(task) => i32::from(kernel.task(task).rt_priority),
            None if kernel.idle_cpu(cpu) => -1,
            None => 0,
        }
    }

    /// `find_lowest_rq`: the allowed CPU with the least urgent work, if less urgent than `task`; near the previous one.
    fn find_lowest_rq(&self, kernel: &Kernel, task: TaskId) -> Option<CpuId> {
        let prev = kernel.task(task).cpu;
        let allowed = kernel.topology.online.iter().filter(|cpu| kernel.task(task).may_use(*cpu));
        let lowest = allowed.min_by_key(|cpu| {
            let far = (*cpu != prev) as u32 + u32::from(!kernel.cpus_share_cache(*cpu, prev));
            (self.priority_of(kernel, *cpu), far, cpu.0)
        })?;
        (self.priority_of(kernel, lowest) < i32::from(kernel.task(task).rt_priority)).then_some(lowest)
    }

    fn note_overload(&mut self, cpu: CpuId) {
        if self.rqs[cpu.index()].nr_running > 1 {
            self.overloaded.set(cpu);
        } else {
            self.overloaded.clear(cpu);
        }
    }

    /// `pull_rt_task`: the most urgent waiting task of another CPU that is more urgent than all here.
    fn pull_rt_task(&mut self, kernel: &mut Kernel, cpu: CpuId) {
        let here = self.priority_of(kernel, cpu);
        let sources: Vec<CpuId> = self.overloaded.iter().filter(|other| *other != cpu).collect();
        let waiting = |src: &CpuId| {
            let queues = self.rqs[src.index()].queues.iter();
            queues
                .flat_map(|(_, queue)| queue.iter().copied())
                .find(|task| !kernel.task(*task).on_cpu && kernel.task(*task).may_use(cpu))
        };
        let best =
            sources.iter().filter_map(waiting).max_by_key(|task| (kernel.task(*task).rt_priority, u32::MAX - task.0));
        if let Some(task) = best
            && i32::from(kernel.task(task).rt_priority) > here
        {
            self.dequeue_task(kernel, task, Dequeue::Save);
            kernel.task_mut(task).cpu = cpu;
            kernel.migrated.push(task);
            self.enqueue_task(kernel, task, Enqueue::Restore);
        }
    }

    /// `push_rt_task`: a task that waits here although another CPU has less urgent work goes there.
    pub fn push_rt_tasks(&mut self, kernel: &mut Kernel, cpu: CpuId) {
        let queues = self.rqs[cpu.index()].queues.iter();
        let waiting = queues.flat_map(|(_, queue)| queue.iter().copied()).find(|task| !kernel.task(*task).on_cpu);
        let Some(task) = waiting else { return };
        if self.rqs[cpu.index()].first() == Some(task) {
            return;
        }
        if let Some(dst) = self.find_lowest_rq(kernel, task).filter(|dst| *dst != cpu) {
            self.dequeue_task(kernel, task, Dequeue::Save);
            kernel.task_mut(task).cpu = dst;
            kernel.migrated.push(task);
            self.enqueue_task(kernel, task, Enqueue::Restore);
            kernel.resched_curr(dst);
        }
    }
}

impl SchedClass for Rt {
    fn task_new(&mut self, _kernel: &Kernel, task: TaskId) {
        debug_assert_eq!(self.entities.len(), task.index(), "tasks are created in order");
        self.entities.push(RtEntity::default());
    }

    fn select_task_rq(&mut self, kernel: &mut Kernel, task: TaskId, _this_cpu: CpuId, _wake: Wake) -> CpuId {
        let prev = kernel.task(task).cpu;
        let priority = i32::from(kernel.task(task).rt_priority);
        let prev_usable = kernel.task(task).may_use(prev) && kernel.topology.online.test(prev);
        if prev_usable && self.priority_of(kernel, prev) < priority && kernel.idle_cpu(prev) {
            return prev;
        }
        let fallback = if prev_usable {
            prev
        } else {
            kernel.topology.online.iter().find(|cpu| kernel.task(task).may_use(*cpu)).unwrap_or(prev)
        };
        self.find_lowest_rq(kernel, task).unwrap_or(fallback)
    }

    fn enqueue_task(&mut self, kernel: &mut Kernel, task: TaskId, _why: Enqueue) {
        let (cpu, priority) = (kernel.task(task).cpu, kernel.task(task).rt_priority);
        kernel.rt_active = true;
        self.entities[task.index()].on_rq = true;
        let rq = &mut self.rqs[cpu.index()];
        rq.push(priority, task, false);
        rq.nr_running += 1;
        self.note_overload(cpu);
        kernel.add_nr_running(cpu, 1);
        kernel.cpufreq_update_util(cpu);
    }

    fn dequeue_task(&mut self, kernel: &mut Kernel, task: TaskId, _why: Dequeue) -> bool {
        let (cpu, priority) = (kernel.task(task).cpu, kernel.task(task).rt_priority);
        self.update_curr(kernel, cpu);
        self.entities[task.index()].on_rq = false;
        let rq = &mut self.rqs[cpu.index()];
        rq.remove(priority, task);
        rq.nr_running -= 1;
        self.note_overload(cpu);
        kernel.sub_nr_running(cpu, 1);
        kernel.cpufreq_update_util(cpu);
        true
    }

    fn requeue_delayed(&mut self, _kernel: &mut Kernel, _task: TaskId) -> bool {
        false
    }

    fn wakeup_preempt(&mut self, kernel: &mut Kernel, cpu: CpuId, task: TaskId) {
        let Some(curr) = self.rqs[cpu.index()].curr else { return };
        if kernel.task(task).rt_priority > kernel.task(curr).rt_priority {
            kernel.resched_curr(cpu);
        }
    }

    fn migrate_task_rq(&mut self, _kernel: &mut Kernel, _task: TaskId, _cpu: CpuId) {}

    fn balance(&mut self, kernel: &mut Kernel, cpu: CpuId) -> bool {
        if !self.overloaded.is_empty() {
            self.pull_rt_task(kernel, cpu);
        }
        self.is_active(cpu)
    }

    fn yield_task(&mut self, kernel: &mut Kernel, cpu: CpuId) {
        let Some(curr) = self.rqs[cpu.index()].curr else { return };
        let priority = kernel.task(curr).rt_priority;
        let rq = &mut self.rqs[cpu.index()];
        rq.remove(priority, curr);
        rq.push(priority, curr, false);
    }

    fn pick_task(&mut self, _kernel: &mut Kernel, cpu: CpuId) -> Option<TaskId> {
        let rq = &self.rqs[cpu.index()];
        if rq.throttled { None } else { rq.first() }
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
        entity.exec_start = kernel.now;
        if entity.time_slice == 0 {
            entity.time_slice = kernel.params.rr_timeslice;
        }
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
        let alone = rq.queues.iter().all(|(other, queue)| *other != priority || queue.len() < 2);
        if !alone {
            rq.remove(priority, task);
            rq.push(priority, task, false);
            kernel.resched_curr(cpu);
        }
    }
}
