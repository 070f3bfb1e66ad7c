// SPDX-License-Identifier: MIT OR Apache-2.0
//! How long the running entity keeps its CPU against others: the protection of its slice, and who may break it
//! (`set_protect_slice`, `check_preempt_wakeup_fair`, from 6.19 on `wakeup_preempt_fair`).
//!
//! Up to 6.16 the deadline at the pick is remembered, and the slice is protected as long as it stands. From 6.17 on a virtual
//! time is (`vprot`): the end of the shortest slice in the queue, at most of one's own.

use super::Fair;
use super::eevdf::Protect;
use super::hierarchy::Leave;
use super::layout::{EntityId, QueueId};
use crate::kernel::Kernel;
use crate::units::{CpuId, Nanos, TaskId};

impl Fair {
    /// What protects a running entity when an entity is picked.
    #[inline]
    pub(super) fn protection(&self) -> Protect {
        match (self.release.vprot, self.features.run_to_parity) {
            (true, _) => Protect::Vprot,
            (false, true) => Protect::Deadline,
            (false, false) => Protect::Not,
        }
    }

    /// `protect_slice`.
    #[inline]
    pub(super) fn protect_slice(&self, id: EntityId) -> bool {
        let kind = if self.release.vprot { Protect::Vprot } else { Protect::Deadline };
        self.entities[id.index()].is_protected(kind)
    }

    /// `set_protect_slice`: `id` has been picked from `queue`, and is no longer in the timeline.
    #[inline]
    pub(super) fn set_protect_slice(&mut self, queue: QueueId, id: EntityId) {
        if !self.release.vprot {
            let entity = &mut self.entities[id.index()];
            entity.vlag = entity.deadline;
            return;
        }
        let shortest =
            if self.features.run_to_parity { self.shortest_slice(queue) } else { self.features.normalized_base_slice };
        let entity = &mut self.entities[id.index()];
        entity.vprot = entity.deadline;
        if shortest < entity.slice {
            entity.vprot = entity.vprot.min(entity.vruntime + entity.calc_delta_fair(shortest));
        }
    }

    /// `update_protect_slice`: whoever could not preempt `id` need not wait for longer than the shortest slice from now.
    fn update_protect_slice(&mut self, queue: QueueId, id: EntityId) {
        let shortest = self.shortest_slice(queue);
        let entity = &mut self.entities[id.index()];
        entity.vprot = entity.vprot.min(entity.vruntime + entity.calc_delta_fair(shortest));
    }

    /// `cancel_protect_slice`.
    pub(super) fn cancel_protect_slice(&mut self, id: EntityId) {
        if self.protect_slice(id) {
            let vprot = self.release.vprot;
            let entity = &mut self.entities[id.index()];
            if vprot { entity.vprot = entity.vruntime } else { entity.vlag = entity.deadline + 1 }
        }
    }

    /// `cfs_rq_min_slice`. Where nobody asked for a slice of its own, all have the same.
    fn shortest_slice(&self, queue: QueueId) -> Nanos {
        let found = || self.cfs[queue.index()].min_slice(&self.entities).unwrap_or(Nanos::MAX);
        if self.slices_differ { found() } else { self.features.base_slice }
    }

    /// `cfs_rq_max_slice`.
    fn longest_slice(&self, queue: QueueId) -> Nanos {
        let found = || self.cfs[queue.index()].max_slice(&self.entities).unwrap_or(0);
        if self.slices_differ { found() } else { self.features.base_slice }
    }

    /// `update_entity_lag`: remembers what `id`, queued in `queue`, is owed; whether that is another lag than its virtual run time
    /// says, as it was bounded.
    pub(super) fn update_entity_lag(&mut self, queue: QueueId, id: EntityId) -> bool {
        let tick = self.features.tick;
        let limit = match self.release.lag_of_max_slice {
            true => self.longest_slice(queue) + tick,
            false => (2 * self.entities[id.index()].slice).max(tick),
        };
        let mean = self.cfs[queue.index()].avg_vruntime(&self.entities);
        let entity = &mut self.entities[id.index()];
        let mut lag = entity.lag(mean, limit);
        if self.release.delayed_lag && entity.sched_delayed {
            // What it owed when it fell asleep gets less by the time that others run; what it comes to be owed lapses
            // (`DELAY_ZERO`).
            lag = lag.max(entity.vlag).min(0);
        }
        entity.vlag = lag;
        mean - lag != entity.vruntime
    }

    /// `update_curr` after the virtual run time has moved: whether the running entity of `queue` shall be looked at.
    #[inline]
    pub(super) fn ends_turn(&self, queue: QueueId, curr: EntityId, used_up: bool) -> bool {
        if self.release.vprot {
            return used_up || !self.protect_slice(curr);
        }
        used_up || self.did_preempt_short(queue, curr)
    }

    /// `did_preempt_short`: a shorter slice took away the protection of the current one, which has run past its due.
    fn did_preempt_short(&self, queue: QueueId, curr: EntityId) -> bool {
        !self.protect_slice(curr) && !self.cfs[queue.index()].eligible(&self.entities, curr)
    }

    /// `do_preempt_short` of 6.12: `woken` asks for a shorter slice than `curr` in the same queue and is owed service.
    fn do_preempt_short(&self, queue: QueueId, woken: EntityId, curr: EntityId) -> bool {
        let cfs = &self.cfs[queue.index()];
        let (short, running) = (&self.entities[woken.index()], &self.entities[curr.index()]);
        short.slice < running.slice
            && cfs.eligible(&self.entities, woken)
            && (short.deadline < running.deadline || !cfs.eligible(&self.entities, curr))
    }

    /// `check_preempt_wakeup_fair`: whether `task`, queued on `cpu`, should run before the current task.
    pub(super) fn check_preempt_wakeup_fair(&mut self, kernel: &mut Kernel, cpu: CpuId, task: TaskId) {
        let Some(curr) = self.current(cpu) else { return };
        if curr == task || kernel.rq(cpu).need_resched || !kernel.params.wakeup_preemption {
            return;
        }
        if self.is_throttled(task) {
            return;
        }
        let (running, woken) = self.find_matching_se(self.layout.entity(curr), self.layout.entity(task));
        let (running_idle, woken_idle) = (self.se_is_idle(running), self.se_is_idle(woken));
        if running_idle != woken_idle {
            if running_idle {
                self.cancel_protect_slice(running);
                kernel.resched_curr_lazy(cpu);
            }
            return;
        }
        if kernel.task(task).batch {
            return;
        }
        let queue = self.entities[running.index()].queue;
        self.update_curr(kernel, cpu, queue);
        let preempts = match (self.release.vprot, self.release.wakeup_preempt_fair) {
            (false, _) => self.preempts_by_deadline(queue, woken, running),
            (true, false) => self.preempts_by_vprot(queue, woken, running),
            (true, true) => self.preempts_as_next(kernel, cpu, queue, woken, running),
        };
        if preempts {
            kernel.resched_curr_lazy(cpu);
        }
    }

    /// As up to 6.16.
    fn preempts_by_deadline(&mut self, queue: QueueId, woken: EntityId, running: EntityId) -> bool {
        if self.do_preempt_short(queue, woken, running) {
            self.cancel_protect_slice(running);
        }
        self.cfs[queue.index()].pick_eevdf(&self.entities, self.protection()) == Some(woken)
    }

    /// As in 6.17 and 6.18: a shorter slice breaks the protection if that lets it run at once; else it shortens it.
    fn preempts_by_vprot(&mut self, queue: QueueId, woken: EntityId, running: EntityId) -> bool {
        let short = self.entities[woken.index()].slice < self.entities[running.index()].slice;
        let protection = if short { Protect::Not } else { self.protection() };
        if self.cfs[queue.index()].pick_eevdf(&self.entities, protection) == Some(woken) {
            if short {
                self.cancel_protect_slice(running);
            }
            return true;
        }
        if self.features.run_to_parity && short {
            self.update_protect_slice(queue, running);
        }
        false
    }

    /// As from 6.19 on: a new task preempts only by a shorter slice; who does not preempt limits the protection.
    fn preempts_as_next(
        &mut self,
        kernel: &mut Kernel,
        cpu: CpuId,
        queue: QueueId,
        woken: EntityId,
        running: EntityId,
    ) -> bool {
        let short = self.entities[woken.index()].slice < self.entities[running.index()].slice;
        if !short && (kernel.wakes_new_task() || self.entities[woken.index()].sched_delayed) {
            return false;
        }
        if self.wakeup_pick(kernel, cpu, queue, !short) == Some(woken) {
            if short {
                self.cancel_protect_slice(running);
                self.cfs[queue.index()].clear_buddies(running);
            }
            return true;
        }
        if self.features.run_to_parity {
            self.update_protect_slice(queue, running);
        }
        false
    }

    /// `pick_next_entity` for a wake-up; sleepers whose turn it is leave `queue`.
    fn wakeup_pick(&mut self, kernel: &mut Kernel, cpu: CpuId, queue: QueueId, protect: bool) -> Option<EntityId> {
        loop {
            let cfs = &self.cfs[queue.index()];
            let picked = match protect {
                true => cfs.pick_next_entity(&self.entities, self.protection()),
                false => cfs.pick_eevdf(&self.entities, Protect::Not),
            }?;
            if !self.entities[picked.index()].sched_delayed {
                return Some(picked);
            }
            self.dequeue_entities(kernel, cpu, picked, Leave::DELAYED);
        }
    }
}

#[cfg(test)]
mod tests;
