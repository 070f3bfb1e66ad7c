// SPDX-License-Identifier: MIT OR Apache-2.0
//! The deadline class: earliest deadline first, each task within its reservation, after `kernel/sched/deadline.c`.
//!
//! - this file: the class's hooks. [`entity`]: a reservation and its budget. `queue`: one CPU's tasks.
//! - `bandwidth`: admission and what schedutil must provide. `timers`: new budget. `push_pull`: which CPU a task runs on.
//!
//! Left out: the fair server's place among deadline tasks (its bandwidth is reserved, but it does not compete with
//! them), reclaiming (`SCHED_FLAG_RECLAIM`, which rt-app cannot ask for), exclusive cpusets, overrun signals, the limits
//! of the period (`sched_deadline_period_max_us`), that deadline tasks cannot fork.

mod bandwidth;
mod entity;
mod push_pull;
mod queue;
mod timers;

use std::collections::BTreeSet;

use crate::kernel::Kernel;
use crate::kernel::class::{Dequeue, Enqueue, SchedClass, Wake};
use crate::kernel::cpumask::CpuMask;
use crate::kernel::task::ClassId;
use crate::units::{CAPACITY_SCALE, CpuId, Nanos, TaskId};
pub use bandwidth::Refusal;
use entity::DlEntity;
use queue::DlRq;
use timers::Timer;

/// The deadline class of all CPUs.
#[derive(Debug)]
pub struct Dl {
    rqs: Vec<DlRq>,
    /// By [`TaskId`], as far as there ever was a deadline task.
    entities: Vec<DlEntity>,
    timers: BTreeSet<(Nanos, TaskId, Timer)>,
    /// Timers set since the engine last looked: the CPU that will be interrupted, and when.
    pub armed: Vec<(CpuId, Nanos)>,
    /// CPUs with more than one queued deadline task (`dlo_mask`).
    overloaded: CpuMask,
    /// Bandwidth of all deadline tasks (`dl_b->total_bw`, less that of the fair servers).
    total_bw: u64,
    /// The CPU that `cpumask_any_and_distribute` last gave.
    distributed: usize,
}

impl Dl {
    /// The class on `kernel`'s CPUs.
    pub fn new(kernel: &Kernel) -> Self {
        let cpus = kernel.topology.nr_cpus;
        Self {
            rqs: (0..cpus).map(|_| DlRq::default()).collect(),
            entities: Vec::new(),
            timers: BTreeSet::new(),
            armed: Vec::new(),
            overloaded: CpuMask::empty(cpus),
            total_bw: 0,
            distributed: 0,
        }
    }

    /// The tasks queued on `cpu`, the running one included.
    pub fn queued_on(&self, cpu: CpuId) -> impl Iterator<Item = TaskId> + '_ {
        self.rqs[cpu.index()].iter()
    }

    /// Whether `task` waits for new budget, on no queue.
    pub fn is_throttled(&self, task: TaskId) -> bool {
        self.entities[task.index()].throttled
    }

    /// Absolute deadline of a task that is or inherits from a deadline task.
    pub fn deadline(&self, task: TaskId) -> Nanos {
        self.entities.get(task.index()).map_or(Nanos::MAX, |entity| entity.deadline)
    }

    /// `task` inherits the reservation of `donor`, or of the task that `donor` inherits from; `None`: `task` has only
    /// its own.
    pub fn set_boost(&mut self, task: TaskId, donor: Option<TaskId>) {
        self.make_room(task);
        let boost = donor.map(|donor| self.entities[donor.index()].params());
        let entity = &mut self.entities[task.index()];
        (entity.boost, entity.renew) = (boost, boost.is_some());
    }

    /// Whether a donor's deadline is earlier than that of `task`, a deadline task itself.
    pub fn may_boost(&self, donor: TaskId, task: TaskId) -> bool {
        self.preempts(donor, task)
    }

    /// `update_curr_dl`: books what the current task ran; out of budget, it is throttled.
    pub fn update_curr(&mut self, kernel: &mut Kernel, cpu: CpuId) {
        let Some(curr) = self.rqs[cpu.index()].curr else { return };
        let entity = &mut self.entities[curr.index()];
        if entity.queued.is_none() {
            return;
        }
        let now = kernel.rq_clock_task(cpu).max(entity.exec_start);
        let delta = now - entity.exec_start;
        entity.exec_start = now;
        entity.runtime -= scaled_delta_exec(kernel, cpu, delta) as i64;
        if (delta > 0 && entity.runtime <= 0) || entity.yielded {
            self.throttle(kernel, cpu, curr);
        }
    }

    fn throttle(&mut self, kernel: &mut Kernel, cpu: CpuId, curr: TaskId) {
        self.entities[curr.index()].throttled = true;
        self.dequeue_entity(kernel, curr);
        let boosted = self.entities[curr.index()].boost.is_some();
        if boosted || !self.start_timer(kernel, curr) {
            self.replenish_and_queue(kernel, curr);
        }
        if self.rqs[cpu.index()].first().is_none_or(|(_, first)| first != curr) {
            kernel.resched_curr(cpu);
        }
    }

    /// `enqueue_task_dl` with `ENQUEUE_REPLENISH`.
    fn replenish_and_queue(&mut self, kernel: &mut Kernel, task: TaskId) {
        self.entities[task.index()].replenish(kernel.now);
        self.enqueue_entity(kernel, task);
    }

    /// `__enqueue_dl_entity`.
    fn enqueue_entity(&mut self, kernel: &mut Kernel, task: TaskId) {
        let cpu = kernel.task(task).cpu;
        let entity = &mut self.entities[task.index()];
        entity.queued = Some(self.rqs[cpu.index()].push(entity.deadline, task));
        kernel.rq_mut(cpu).dl_nr_running += 1;
        kernel.add_nr_running(cpu, 1);
        self.note_overload(cpu);
    }

    /// `__dequeue_dl_entity`: nothing if it is not queued, as when throttled.
    fn dequeue_entity(&mut self, kernel: &mut Kernel, task: TaskId) {
        let cpu = kernel.task(task).cpu;
        let entity = &mut self.entities[task.index()];
        let Some(place) = entity.queued.take() else { return };
        self.rqs[cpu.index()].remove(entity.deadline, place, task);
        kernel.rq_mut(cpu).dl_nr_running -= 1;
        kernel.sub_nr_running(cpu, 1);
        self.note_overload(cpu);
    }

    fn note_overload(&mut self, cpu: CpuId) {
        if self.rqs[cpu.index()].len() > 1 {
            self.overloaded.set(cpu);
        } else {
            self.overloaded.clear(cpu);
        }
    }

    /// `dl_check_constrained_dl`: a task that comes after its deadline waits for its next period.
    fn check_constrained(&mut self, kernel: &Kernel, task: TaskId) {
        let entity = &self.entities[task.index()];
        let between = entity.deadline < kernel.now && kernel.now < entity.next_period();
        if !between || entity.deadline == 0 || entity.boost.is_some() || !self.start_timer(kernel, task) {
            return;
        }
        let entity = &mut self.entities[task.index()];
        entity.throttled = true;
        entity.runtime = entity.runtime.min(0);
    }
}

/// `dl_scaled_delta_exec`: budgets are time on the fastest CPU at its highest clock.
fn scaled_delta_exec(kernel: &Kernel, cpu: CpuId, delta: Nanos) -> Nanos {
    let rq = kernel.rq(cpu);
    let scaled = delta * u64::from(rq.freq_scale) / CAPACITY_SCALE;
    scaled * u64::from(rq.capacity_orig) / CAPACITY_SCALE
}

impl SchedClass for Dl {
    fn task_new(&mut self, kernel: &Kernel, task: TaskId) {
        self.reserve(kernel, task);
    }

    fn select_task_rq(&mut self, kernel: &mut Kernel, task: TaskId, this_cpu: CpuId, _wake: Wake) -> CpuId {
        let cpu = self.select_cpu(kernel, task, this_cpu);
        kernel.usable_cpu(task, cpu)
    }

    fn enqueue_task(&mut self, kernel: &mut Kernel, task: TaskId, why: Enqueue) {
        (kernel.dl_active, kernel.rt_active) = (true, true);
        let wakeup = matches!(why, Enqueue::Wakeup { .. });
        if self.entities[task.index()].boost.is_some() {
            // A task that inherits is not held back.
            self.cancel(task, Timer::Replenish);
            self.entities[task.index()].throttled = false;
        }
        if !self.entities[task.index()].throttled && !self.entities[task.index()].is_implicit() {
            self.check_constrained(kernel, task);
        }
        if wakeup {
            self.task_contending(kernel, task);
        } else {
            self.add_running_bw(kernel, task);
        }
        let entity = &mut self.entities[task.index()];
        let renew = std::mem::take(&mut entity.renew);
        if entity.throttled {
            return;
        }
        if wakeup {
            entity.update_at_wakeup(kernel.now);
        } else if renew {
            entity.replenish(kernel.now);
        } else if why != Enqueue::Migrating
            && entity.boost.is_none()
            && (entity.deadline < kernel.now || entity.deadline == 0)
        {
            // `setup_new_dl_entity`; one that only changes CPUs keeps what it has, late or not.
            entity.replenish_new_period(kernel.now);
        }
        self.enqueue_entity(kernel, task);
    }

    fn dequeue_task(&mut self, kernel: &mut Kernel, task: TaskId, why: Dequeue) -> bool {
        let cpu = kernel.task(task).cpu;
        if self.rqs[cpu.index()].curr == Some(task) {
            self.update_curr(kernel, cpu);
        }
        self.dequeue_entity(kernel, task);
        if why == Dequeue::Save {
            self.sub_running_bw(kernel, task);
        } else {
            self.task_non_contending(kernel, task);
        }
        true
    }

    fn requeue_delayed(&mut self, _kernel: &mut Kernel, _task: TaskId) -> bool {
        false
    }

    fn wakeup_preempt(&mut self, kernel: &mut Kernel, cpu: CpuId, task: TaskId) {
        let Some(curr) = self.rqs[cpu.index()].curr.filter(|curr| *curr != task) else { return };
        if self.preempts(task, curr) {
            kernel.resched_curr(cpu);
        } else if !self.preempts(curr, task) && !kernel.rq(cpu).need_resched {
            self.check_preempt_equal(kernel, cpu, task, curr);
        }
    }

    fn migrate_task_rq(&mut self, kernel: &mut Kernel, task: TaskId, _cpu: CpuId) {
        if std::mem::take(&mut self.entities[task.index()].non_contending) {
            self.sub_running_bw(kernel, task);
            self.cancel(task, Timer::Inactive);
        }
    }

    fn balance(&mut self, kernel: &mut Kernel, cpu: CpuId) -> bool {
        // `need_pull_dl_task`: a deadline task leaves.
        let leaves =
            |task: TaskId| kernel.task(task).class == ClassId::Dl && self.entities[task.index()].queued.is_none();
        if !self.overloaded.is_empty() && kernel.rq(cpu).curr.is_some_and(leaves) {
            self.pull_dl_task(kernel, cpu);
        }
        self.rqs[cpu.index()].len() > 0
    }

    fn yield_task(&mut self, kernel: &mut Kernel, cpu: CpuId) {
        if let Some(curr) = self.rqs[cpu.index()].curr {
            self.entities[curr.index()].yielded = true;
            self.update_curr(kernel, cpu);
        }
    }

    fn pick_task(&mut self, _kernel: &mut Kernel, cpu: CpuId) -> Option<TaskId> {
        self.rqs[cpu.index()].first().map(|(_, task)| task)
    }

    fn put_prev_task(&mut self, kernel: &mut Kernel, cpu: CpuId, _task: TaskId) {
        self.update_curr(kernel, cpu);
        kernel.update_dl_load_avg(cpu, true);
        let rq = &mut self.rqs[cpu.index()];
        (rq.curr, rq.hrtick) = (None, None);
    }

    fn set_next_task(&mut self, kernel: &mut Kernel, cpu: CpuId, task: TaskId) {
        kernel.update_dl_load_avg(cpu, false);
        self.rqs[cpu.index()].curr = Some(task);
        self.entities[task.index()].exec_start = kernel.rq_clock_task(cpu);
        self.start_hrtick(kernel, cpu);
    }

    fn task_tick(&mut self, kernel: &mut Kernel, cpu: CpuId, _task: TaskId) {
        self.update_curr(kernel, cpu);
        kernel.update_dl_load_avg(cpu, true);
        self.start_hrtick(kernel, cpu);
    }
}
