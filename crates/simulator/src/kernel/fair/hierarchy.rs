// SPDX-License-Identifier: MIT OR Apache-2.0
//! What comes and goes in all queues from a task's up to its CPU's (`enqueue_task_fair`, `dequeue_entities`).
//!
//! A group's entity is in the queue above while something is queued in its own; it leaves with the last, perhaps delayed as a
//! task's may be.

use super::Fair;
use super::entity::SchedEntity;
use super::layout::{EntityId, QueueId};
use crate::kernel::Kernel;
use crate::kernel::pelt::SchedAvg;
use crate::units::{CgroupId, CpuId, TaskId};

/// What a task adds to the counts of the queues above it, or takes from them.
#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    queued: u32,
    runnable: u32,
    idle: u32,
}

/// Why an entity leaves its queue.
#[derive(Debug, Clone, Copy)]
pub(super) struct Leave {
    /// The entity sleeps (`DEQUEUE_SLEEP`).
    pub sleep: bool,
    /// Nothing may delay it (`DEQUEUE_SPECIAL`); of a group: its limit is reached (`throttle_cfs_rq`).
    pub special: bool,
    /// The entity has slept, and leaves now (`DEQUEUE_DELAYED`).
    pub delayed: bool,
}

impl Leave {
    /// What was delayed comes to its end.
    pub const DELAYED: Self = Self { sleep: true, special: false, delayed: true };
}

impl Fair {
    /// Makes the entities of all groups (`init_tg_cfs_entry`): without load, as nothing is in them.
    pub(super) fn init_tg_cfs_entries(&mut self, kernel: &Kernel) {
        for id in self.layout.group_entities() {
            let Some(own) = self.layout.group_cfs_rq(id) else { continue };
            let (group, cpu) = (self.layout.group(own), self.layout.cpu(own));
            let entry = kernel.cgroups.get(group);
            let mut entity = SchedEntity::new(1024, None, self.features.base_slice, heap_of(!id.0));
            entity.avg = SchedAvg::default();
            entity.queue = self.layout.queue(entry.parent.unwrap_or(CgroupId(0)), cpu);
            self.cfs[own.index()].idle = entry.idle;
            self.entities.push(entity);
        }
    }

    /// Queues `task`, and the groups that it is in where nothing else is queued there.
    pub(super) fn enqueue_entities(&mut self, kernel: &mut Kernel, cpu: CpuId, task: TaskId, initial: bool) {
        let first = self.layout.entity(task);
        let counts = self.counts(first);
        self.cfs[cpu.index()].tasks.add(&mut self.entities, first);
        self.enqueue_upwards(kernel, cpu, first, counts, initial);
    }

    /// Queues a group that is no longer throttled, and those that it is in (`unthrottle_cfs_rq`).
    pub(super) fn enqueue_unthrottled(&mut self, kernel: &mut Kernel, cpu: CpuId, first: EntityId) {
        let counts = self.counts(first);
        self.enqueue_upwards(kernel, cpu, first, counts, false);
    }

    /// Queues `first` and the groups that it is in, up to the CPU's own queue or to a group that is throttled.
    fn enqueue_upwards(
        &mut self,
        kernel: &mut Kernel,
        cpu: CpuId,
        first: EntityId,
        mut counts: Counts,
        mut initial: bool,
    ) {
        let unthrottles = self.layout.task(first).is_none();
        let mut slice = None;
        let mut next = Some(first);
        while let Some(id) = next {
            if self.entities[id.index()].sched_delayed && unthrottles {
                // A group that was throttled comes back anew.
                self.dequeue_entity(kernel, cpu, id, Leave::DELAYED);
            } else if self.entities[id.index()].on_rq {
                if self.entities[id.index()].sched_delayed {
                    self.requeue_delayed_entity(kernel, cpu, id);
                }
                break;
            }
            if let Some(slice) = slice {
                let entity = &mut self.entities[id.index()];
                (entity.slice, entity.custom_slice) = (slice, true);
            }
            self.enqueue_entity(kernel, cpu, id, std::mem::take(&mut initial));
            slice = self.count_in(id, &mut counts);
            if self.cfs_rq_throttled(self.entities[id.index()].queue) {
                return;
            }
            next = self.parent(id);
        }
        while let Some(id) = next {
            self.update_group(kernel, cpu, id, slice);
            slice = self.count_in(id, &mut counts);
            if self.cfs_rq_throttled(self.entities[id.index()].queue) {
                return;
            }
            next = self.parent(id);
        }
        kernel.add_nr_running(cpu, counts.queued);
    }

    /// Takes `first` off its queue, and the groups that it leaves empty. False: it is a task, and stays until it has paid its debt.
    pub(super) fn dequeue_entities(&mut self, kernel: &mut Kernel, cpu: CpuId, first: EntityId, leave: Leave) -> bool {
        let mut counts = self.counts(first);
        let is_task = self.layout.task(first).is_some();
        let throttles = !is_task && leave.special;
        let mut how = leave;
        let mut slice = None;
        let mut next = Some(first);
        while let Some(id) = next {
            let queue = self.entities[id.index()].queue;
            if throttles && !self.entities[id.index()].on_rq {
                return true;
            }
            if !self.dequeue_entity(kernel, cpu, id, how) {
                if is_task && id == first {
                    return false;
                }
                slice = self.min_slice(queue);
                break;
            }
            if is_task && id == first {
                self.cfs[cpu.index()].tasks.del(&mut self.entities, first);
            }
            self.count_out(id, &mut counts);
            if self.cfs_rq_throttled(queue) {
                return true;
            }
            next = self.layout.owner(queue);
            if self.cfs[queue.index()].load_weight > 0 {
                slice = self.min_slice(queue);
                if leave.sleep
                    && !throttles
                    && let Some(group) = next.filter(|_| !self.throttled_hierarchy(queue))
                {
                    self.set_next_buddy(group);
                }
                break;
            }
            how = Leave { sleep: true, special: throttles, delayed: false };
            how.delayed = throttles && next.is_some_and(|group| self.entities[group.index()].sched_delayed);
        }
        while let Some(id) = next {
            if throttles && !self.entities[id.index()].on_rq {
                return true;
            }
            self.update_group(kernel, cpu, id, slice);
            self.count_out(id, &mut counts);
            let queue = self.entities[id.index()].queue;
            if self.cfs_rq_throttled(queue) {
                return true;
            }
            slice = self.min_slice(queue);
            next = self.parent(id);
        }
        kernel.sub_nr_running(cpu, counts.queued);
        true
    }

    /// What `id` counts for: whoever sleeps on its queue is not runnable, and a group stands for what is queued in it.
    fn counts(&self, id: EntityId) -> Counts {
        if let Some(queue) = self.layout.group_cfs_rq(id) {
            let cfs = &self.cfs[queue.index()];
            let idle = if cfs.idle { cfs.h_nr_queued } else { cfs.nr_idle_policy };
            return Counts { queued: cfs.h_nr_queued, runnable: cfs.nr_runnable, idle };
        }
        let entity = &self.entities[id.index()];
        Counts { queued: 1, runnable: u32::from(!entity.sched_delayed), idle: u32::from(entity.idle) }
    }

    /// A task came below or with `id`; the shortest slice of its queue, where a group above wants it.
    fn count_in(&mut self, id: EntityId, counts: &mut Counts) -> Option<u64> {
        let queue = self.entities[id.index()].queue;
        let cfs = &mut self.cfs[queue.index()];
        cfs.h_nr_queued += counts.queued;
        cfs.nr_runnable += counts.runnable;
        cfs.nr_idle_policy += counts.idle;
        if cfs.idle {
            counts.idle = counts.queued;
        }
        self.min_slice(queue)
    }

    /// A task went from below or with `id`.
    fn count_out(&mut self, id: EntityId, counts: &mut Counts) {
        let cfs = &mut self.cfs[self.entities[id.index()].queue.index()];
        cfs.h_nr_queued -= counts.queued;
        cfs.nr_runnable -= counts.runnable;
        cfs.nr_idle_policy -= counts.idle;
        if cfs.idle {
            counts.idle = counts.queued;
        }
    }

    /// The shortest slice of a group's queue; a CPU's own is in no queue that would ask.
    fn min_slice(&self, queue: QueueId) -> Option<u64> {
        self.layout.owner(queue)?;
        self.cfs[queue.index()].min_slice(&self.entities)
    }

    /// A group that stays queued has other tasks than before.
    fn update_group(&mut self, kernel: &mut Kernel, cpu: CpuId, id: EntityId, slice: Option<u64>) {
        self.update_load_avg(kernel, cpu, self.entities[id.index()].queue, Some(id));
        self.se_update_runnable(id);
        self.update_cfs_group(kernel, cpu, id);
        if let Some(slice) = slice {
            self.entities[id.index()].slice = slice;
        }
    }

    /// `se_update_runnable`.
    #[inline]
    fn se_update_runnable(&mut self, id: EntityId) {
        if let Some(queue) = self.layout.group_cfs_rq(id) {
            self.entities[id.index()].runnable_weight = self.cfs[queue.index()].nr_runnable;
        }
    }

    fn enqueue_entity(&mut self, kernel: &mut Kernel, cpu: CpuId, id: EntityId, initial: bool) {
        let queue = self.entities[id.index()].queue;
        let current = self.cfs[queue.index()].curr == Some(id);
        self.update_curr(kernel, cpu, queue);
        self.update_load_avg(kernel, cpu, queue, Some(id));
        self.attach_entity_load_avg(kernel, cpu, id);
        self.se_update_runnable(id);
        self.update_cfs_group(kernel, cpu, id);
        let cfs = &mut self.cfs[queue.index()];
        cfs.place_entity(&mut self.entities, id, initial, self.features);
        if !current {
            cfs.enqueue(&mut self.entities, id);
        }
        let entity = &mut self.entities[id.index()];
        entity.on_rq = true;
        cfs.load_weight += u64::from(entity.weight);
        cfs.nr_queued += 1;
        if cfs.nr_queued == 1 {
            self.check_enqueue_throttle(kernel, queue);
        }
    }

    /// Takes an entity off its queue; false if it stays there until it has paid its debt.
    fn dequeue_entity(&mut self, kernel: &mut Kernel, cpu: CpuId, id: EntityId, leave: Leave) -> bool {
        let queue = self.entities[id.index()].queue;
        self.update_curr(kernel, cpu, queue);
        self.cfs[queue.index()].clear_buddies(id);
        let delay = leave.sleep && !leave.special && !leave.delayed && kernel.params.delay_dequeue;
        if delay && !self.cfs[queue.index()].eligible(&self.entities, id) {
            self.update_load_avg(kernel, cpu, queue, Some(id));
            if self.release.delayed_lag {
                self.update_entity_lag(queue, id);
            }
            self.set_delayed(id);
            return false;
        }
        self.update_load_avg(kernel, cpu, queue, Some(id));
        self.se_update_runnable(id);
        self.update_entity_lag(queue, id);
        let cfs = &mut self.cfs[queue.index()];
        // The timeline finds an entity by its deadline: out of it first, then change the deadline.
        if cfs.curr != Some(id) {
            cfs.dequeue(&mut self.entities, id);
        }
        let entity = &mut self.entities[id.index()];
        if !leave.sleep {
            entity.deadline -= entity.vruntime;
            entity.rel_deadline = true;
        }
        entity.on_rq = false;
        cfs.load_weight -= u64::from(entity.weight);
        cfs.nr_queued -= 1;
        if entity.sched_delayed && leave.sleep {
            // DELAY_ZERO: what it still was owed lapsed while it slept. (Moved to another queue, it stays delayed.)
            entity.sched_delayed = false;
            entity.vlag = entity.vlag.min(0);
        }
        self.return_cfs_rq_runtime(kernel, queue);
        true
    }

    /// `id` sleeps, but stays queued (`set_delayed`).
    fn set_delayed(&mut self, id: EntityId) {
        self.entities[id.index()].sched_delayed = true;
        self.count_runnable(id, |runnable| runnable - 1);
    }

    /// `requeue_delayed_entity`: `id`, which sleeps on its queue, is runnable again.
    pub(super) fn requeue_delayed_entity(&mut self, kernel: &mut Kernel, cpu: CpuId, id: EntityId) {
        let queue = self.entities[id.index()].queue;
        let bounded = self.update_entity_lag(queue, id);
        // DELAY_ZERO: it is owed something only because others ran on; it starts at zero lag instead.
        let again = if self.release.delayed_lag { bounded } else { self.entities[id.index()].vlag > 0 };
        if again {
            let cfs = &mut self.cfs[queue.index()];
            let queued = cfs.curr != Some(id);
            if queued {
                cfs.dequeue(&mut self.entities, id);
            }
            let entity = &mut self.entities[id.index()];
            entity.vlag = entity.vlag.min(0);
            cfs.place_entity(&mut self.entities, id, false, self.features);
            if queued {
                cfs.enqueue(&mut self.entities, id);
            }
        }
        self.update_load_avg(kernel, cpu, queue, Some(id));
        self.entities[id.index()].sched_delayed = false;
        self.count_runnable(id, |runnable| runnable + 1);
    }

    /// A task has become runnable or ceased to be while it stays queued. Groups that are delayed have no tasks to count.
    fn count_runnable(&mut self, id: EntityId, change: impl Fn(u32) -> u32) {
        if self.layout.task(id).is_none() {
            return;
        }
        let mut next = Some(id);
        while let Some(id) = next {
            let queue = self.entities[id.index()].queue;
            let runnable = &mut self.cfs[queue.index()].nr_runnable;
            *runnable = change(*runnable);
            next = self.layout.owner(queue).filter(|_| !self.cfs_rq_throttled(queue));
        }
    }

    /// `id` and the groups above it are to run next (`set_next_buddy`).
    fn set_next_buddy(&mut self, id: EntityId) {
        let mut next = Some(id);
        while let Some(id) = next {
            if !self.entities[id.index()].on_rq || self.se_is_idle(id) {
                return;
            }
            self.cfs[self.entities[id.index()].queue.index()].next = Some(id);
            next = self.parent(id);
        }
    }

    /// Asserts that the sums of each queue are those of what is queued there, and its counts those of the tasks below.
    pub fn audit(&self) {
        let mut queued: Vec<Vec<EntityId>> = vec![Vec::new(); self.cfs.len()];
        let mut counts = vec![Counts::default(); self.cfs.len()];
        for (index, entity) in self.entities.iter().enumerate().filter(|(_, entity)| entity.on_rq) {
            let id = EntityId(index as u32);
            queued[entity.queue.index()].push(id);
            let is_task = self.layout.task(id).is_some();
            let mut counted = if is_task { self.counts(id) } else { Counts::default() };
            let mut next = Some(id);
            while let Some(id) = next {
                let queue = self.entities[id.index()].queue;
                assert!(self.entities[id.index()].on_rq, "a group with queued tasks is not queued");
                let sum = &mut counts[queue.index()];
                (sum.queued, sum.runnable) = (sum.queued + counted.queued, sum.runnable + counted.runnable);
                sum.idle += counted.idle;
                if self.cfs[queue.index()].idle {
                    counted.idle = counted.queued;
                }
                next = self.layout.owner(queue).filter(|_| !self.cfs_rq_throttled(queue));
            }
        }
        for ((cfs, queued), sum) in self.cfs.iter().zip(&queued).zip(&counts) {
            let kept = (cfs.h_nr_queued, cfs.nr_runnable, cfs.nr_idle_policy);
            assert_eq!(kept, (sum.queued, sum.runnable, sum.idle), "tasks of a fair queue");
            cfs.audit(&self.entities, queued);
        }
    }
}

/// A priority in the timeline's tree. A fixed mixing function spreads them; any would do, this one needs no generator.
pub(super) fn heap_of(number: u32) -> u32 {
    let heap = (number ^ 0x5bd1_e995).wrapping_mul(0x9e37_79b1);
    heap ^ (heap >> 15)
}
