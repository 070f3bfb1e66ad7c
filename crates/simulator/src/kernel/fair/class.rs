// SPDX-License-Identifier: MIT OR Apache-2.0
//! The hooks of the fair class (`fair_sched_class`): enqueue, dequeue, pick, tick.

use super::entity::SchedEntity;
use super::hierarchy::{Leave, heap_of};
use super::layout::QueueId;
use super::{Fair, custom_slice};
use crate::kernel::Kernel;
use crate::kernel::class::{Dequeue, Enqueue, SchedClass, Wake};
use crate::kernel::pelt::{SchedAvg, post_init_entity_util_avg};
use crate::kernel::task::NICE_0_WEIGHT;
use crate::units::{CpuId, TaskId};

impl SchedClass for Fair {
    fn task_new(&mut self, kernel: &Kernel, task: TaskId) {
        let from = kernel.task(task);
        let slice = custom_slice(from.scheduling.policy);
        // Real-time tasks have the weight of nice 0, in case they change class.
        let weight = if from.weight == 0 { NICE_0_WEIGHT as u32 } else { from.weight };
        let mut entity = SchedEntity::new(weight, slice, self.features.base_slice, heap_of(task.0));
        entity.avg = SchedAvg::of_new_task(u64::from(weight));
        entity.idle = from.idle_policy;
        self.note_features(from);
        debug_assert_eq!(self.entities.len(), self.layout.entity(task).index(), "tasks are created in order");
        self.entities.push(entity);
    }

    fn select_task_rq(&mut self, kernel: &mut Kernel, task: TaskId, this_cpu: CpuId, wake: Wake) -> CpuId {
        self.select_task_rq_fair(kernel, task, this_cpu, wake)
    }

    fn enqueue_task(&mut self, kernel: &mut Kernel, task: TaskId, why: Enqueue) {
        let cpu = kernel.task(task).cpu;
        let queue = self.layout.queue(kernel.task(task).task_group(), cpu);
        let entity = &mut self.entities[self.layout.entity(task).index()];
        entity.queue = queue;
        let initial = why == Enqueue::New;
        if initial && kernel.task(task).settled {
            entity.avg = SchedAvg::default();
        } else if initial {
            let capacity = u64::from(kernel.rq(cpu).capacity_orig);
            let util = post_init_entity_util_avg(&self.cfs[queue.index()].avg, u64::from(entity.weight), capacity, 0);
            entity.avg.start_with_util(util);
        }
        if !entity.sched_delayed {
            self.cfs[cpu.index()].avg.util_est_enqueue(&entity.avg);
            self.avg_versions.change(cpu);
        }
        self.enqueue_entities(kernel, cpu, task, initial);
        if matches!(why, Enqueue::Wakeup { .. }) {
            self.check_update_overutilized_status(kernel, cpu);
        }
        self.hrtick_update(kernel, cpu);
    }

    fn dequeue_task(&mut self, kernel: &mut Kernel, task: TaskId, why: Dequeue) -> bool {
        let cpu = kernel.task(task).cpu;
        let id = self.layout.entity(task);
        let entity = &mut self.entities[id.index()];
        if !entity.sched_delayed {
            self.cfs[cpu.index()].avg.util_est_dequeue(&entity.avg);
            self.avg_versions.change(cpu);
        }
        if why != Dequeue::Save {
            // As in 6.12, before the load is brought to now: the estimate misses what ran since the last update.
            entity.avg.util_est_update(u64::from(kernel.rq(cpu).capacity_orig));
        }
        let leave = Leave { sleep: why != Dequeue::Save, special: why == Dequeue::Exit, delayed: false };
        self.dequeue_entities(kernel, cpu, id, leave)
    }

    fn requeue_delayed(&mut self, kernel: &mut Kernel, task: TaskId) -> bool {
        if !self.is_delayed(task) {
            return false;
        }
        let cpu = kernel.task(task).cpu;
        let id = self.layout.entity(task);
        self.cfs[cpu.index()].avg.util_est_enqueue(&self.entities[id.index()].avg);
        self.avg_versions.change(cpu);
        self.requeue_delayed_entity(kernel, cpu, id);
        true
    }

    fn wakeup_preempt(&mut self, kernel: &mut Kernel, cpu: CpuId, task: TaskId) {
        self.check_preempt_wakeup_fair(kernel, cpu, task);
    }

    fn migrate_task_rq(&mut self, kernel: &mut Kernel, task: TaskId, cpu: CpuId) {
        self.numa_migrate_task_rq(kernel, task, cpu);
        let entity = self.se(task);
        if entity.rel_deadline && entity.avg.is_attached() {
            // Its dequeue was for this move and has just brought both to now (`DO_DETACH`).
            self.detach_entity_load_avg(kernel, kernel.task(task).cpu, self.layout.entity(task));
        }
        self.detach(kernel, task);
        // It is no longer cache-hot.
        self.se_mut(task).exec_start = 0;
    }

    fn balance(&mut self, kernel: &mut Kernel, cpu: CpuId) -> bool {
        self.sched_balance_newidle(kernel, cpu)
    }

    fn yield_task(&mut self, kernel: &mut Kernel, cpu: CpuId) {
        if kernel.rq(cpu).nr_running == 1 {
            return;
        }
        let Some(curr) = self.current(cpu).map(|task| self.layout.entity(task)) else { return };
        let queue = self.entities[curr.index()].queue;
        self.update_curr(kernel, cpu, queue);
        let cfs = &mut self.cfs[queue.index()];
        cfs.clear_buddies(curr);
        if cfs.eligible(&self.entities, curr) {
            let entity = &mut self.entities[curr.index()];
            entity.vruntime = entity.deadline;
            cfs.update_deadline(&mut self.entities, curr, self.features.base_slice);
        }
    }

    fn pick_task(&mut self, kernel: &mut Kernel, cpu: CpuId) -> Option<TaskId> {
        let mut queue = QueueId::root(cpu);
        loop {
            if self.cfs[queue.index()].nr_queued == 0 {
                return None;
            }
            self.update_curr(kernel, cpu, queue);
            if self.check_cfs_rq_runtime(kernel, queue) {
                queue = QueueId::root(cpu);
                continue;
            }
            let picked = self.cfs[queue.index()].pick_next_entity(&self.entities, self.protection())?;
            if self.entities[picked.index()].sched_delayed {
                // It has paid its debt and leaves now; perhaps so does its group.
                self.dequeue_entities(kernel, cpu, picked, Leave::DELAYED);
                queue = QueueId::root(cpu);
                continue;
            }
            match self.layout.group_cfs_rq(picked) {
                Some(own) => queue = own,
                None => return self.layout.task(picked),
            }
        }
    }

    fn put_prev_task(&mut self, kernel: &mut Kernel, cpu: CpuId, task: TaskId) {
        let put = self.layout.entity(task);
        self.last_put[cpu.index()] = Some((put, kernel.now));
        let mut next = Some(put);
        while let Some(id) = next {
            let queue = self.entities[id.index()].queue;
            if self.entities[id.index()].on_rq {
                self.update_curr(kernel, cpu, queue);
            }
            self.check_cfs_rq_runtime(kernel, queue);
            if self.entities[id.index()].on_rq {
                self.cfs[queue.index()].enqueue(&mut self.entities, id);
                self.update_load_avg(kernel, cpu, queue, Some(id));
            }
            self.cfs[queue.index()].curr = None;
            next = self.parent(id);
        }
    }

    fn set_next_task(&mut self, kernel: &mut Kernel, cpu: CpuId, task: TaskId) {
        let first = self.layout.entity(task);
        let before = self.last_put[cpu.index()].take().filter(|(_, at)| *at == kernel.now).map(|(put, _)| put);
        let mut next = Some(first);
        while let Some(id) = next {
            let queue = self.entities[id.index()].queue;
            self.cfs[queue.index()].clear_buddies(id);
            // A group that is throttled is not queued, but a task may be made to run in it (`sched_move_task`).
            let queued = self.entities[id.index()].on_rq;
            if queued {
                self.cfs[queue.index()].dequeue(&mut self.entities, id);
                self.update_load_avg(kernel, cpu, queue, Some(id));
            }
            // A group whose tasks follow each other goes on: its slice is not a new one (`pick_next_task_fair`).
            let goes_on = id != first && before.is_some_and(|put| self.is_within(put, id));
            if queued && !goes_on {
                self.set_protect_slice(queue, id);
            }
            self.entities[id.index()].exec_start = kernel.rq_clock_task(cpu);
            self.cfs[queue.index()].curr = Some(id);
            next = self.parent(id);
        }
        self.cfs[cpu.index()].tasks.move_first(&mut self.entities, first);
        self.hrtick_start_fair(kernel, cpu, task);
        self.update_misfit_status(kernel, cpu);
    }

    fn task_tick(&mut self, kernel: &mut Kernel, cpu: CpuId, task: TaskId) {
        self.entity_ticks(kernel, cpu, task);
        self.update_misfit_status(kernel, cpu);
        self.check_update_overutilized_status(kernel, cpu);
    }
}

impl Fair {
    /// `entity_tick` of `task`, which runs on `cpu`, and of the groups that it is in.
    pub(super) fn entity_ticks(&mut self, kernel: &mut Kernel, cpu: CpuId, task: TaskId) {
        let mut next = Some(self.layout.entity(task));
        while let Some(id) = next {
            let queue = self.entities[id.index()].queue;
            self.update_curr(kernel, cpu, queue);
            self.update_load_avg(kernel, cpu, queue, Some(id));
            self.update_cfs_group(kernel, cpu, id);
            next = self.parent(id);
        }
    }
}
