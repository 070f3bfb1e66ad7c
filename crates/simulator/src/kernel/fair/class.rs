// SPDX-License-Identifier: MIT OR Apache-2.0
//! The hooks of the fair class (`fair_sched_class`): enqueue, dequeue, pick, tick.

use super::entity::SchedEntity;
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
        // A fixed mixing function spreads the tree's priorities; any would do, this one needs no generator.
        let heap = (task.0 ^ 0x5bd1_e995).wrapping_mul(0x9e37_79b1);
        // Real-time tasks have the weight of nice 0, in case they change class.
        let weight = if from.weight == 0 { NICE_0_WEIGHT as u32 } else { from.weight };
        let mut entity = SchedEntity::new(weight, slice, self.features.base_slice, heap ^ (heap >> 15));
        entity.avg = SchedAvg::of_new_task(u64::from(weight));
        entity.idle = from.idle_policy;
        self.note_features(from);
        debug_assert_eq!(self.entities.len(), task.index(), "tasks are created in order");
        self.entities.push(entity);
    }

    fn select_task_rq(&mut self, kernel: &mut Kernel, task: TaskId, this_cpu: CpuId, wake: Wake) -> CpuId {
        self.select_task_rq_fair(kernel, task, this_cpu, wake)
    }

    fn enqueue_task(&mut self, kernel: &mut Kernel, task: TaskId, why: Enqueue) {
        let cpu = kernel.task(task).cpu;
        let initial = why == Enqueue::New;
        if initial {
            let rq = kernel.rq(cpu);
            let capacity = u64::from(rq.capacity_orig);
            let entity = &mut self.entities[task.index()];
            let util = post_init_entity_util_avg(&self.cfs[cpu.index()].avg, u64::from(entity.weight), capacity, 0);
            entity.avg.start_with_util(util);
        }
        self.enqueue_entity(kernel, cpu, task, initial);
        let cfs = &mut self.cfs[cpu.index()];
        let entity = &self.entities[task.index()];
        if !entity.sched_delayed {
            cfs.avg.util_est_enqueue(&entity.avg);
            cfs.nr_runnable += 1;
        }
        cfs.nr_idle_policy += u32::from(entity.idle);
        kernel.add_nr_running(cpu, 1);
        kernel.cpufreq_update_util(cpu);
        if matches!(why, Enqueue::Wakeup { .. }) {
            self.check_update_overutilized_status(kernel, cpu);
        }
    }

    fn dequeue_task(&mut self, kernel: &mut Kernel, task: TaskId, why: Dequeue) -> bool {
        let cpu = kernel.task(task).cpu;
        let cfs = &mut self.cfs[cpu.index()];
        let entity = &mut self.entities[task.index()];
        if !entity.sched_delayed {
            cfs.avg.util_est_dequeue(&entity.avg);
        }
        if why != Dequeue::Save {
            // As in 6.12, before the load is brought to now: the estimate misses what ran since the last update.
            entity.avg.util_est_update(u64::from(kernel.rq(cpu).capacity_orig));
        }
        self.update_curr(kernel, cpu);
        let delay = why == Dequeue::Sleep && kernel.params.delay_dequeue;
        if delay && !self.cfs[cpu.index()].eligible(&self.entities, task) {
            self.update_load_avg(kernel, cpu, Some(task));
            self.set_delayed(cpu, task);
            return false;
        }
        self.dequeue_entity(kernel, cpu, task, why != Dequeue::Save);
        kernel.sub_nr_running(cpu, 1);
        true
    }

    fn requeue_delayed(&mut self, kernel: &mut Kernel, task: TaskId) -> bool {
        if !self.entities[task.index()].sched_delayed {
            return false;
        }
        let cpu = kernel.task(task).cpu;
        let cfs = &mut self.cfs[cpu.index()];
        cfs.avg.util_est_enqueue(&self.entities[task.index()].avg);
        cfs.update_entity_lag(&mut self.entities, task, self.features.tick);
        if self.entities[task.index()].vlag > 0 {
            // DELAY_ZERO: it is owed something only because others ran on; it starts at zero lag instead.
            let queued = cfs.curr != Some(task);
            if queued {
                cfs.dequeue(&mut self.entities, task);
            }
            self.entities[task.index()].vlag = 0;
            cfs.place_entity(&mut self.entities, task, false, self.features);
            if queued {
                cfs.enqueue(&mut self.entities, task);
            }
        }
        self.update_load_avg(kernel, cpu, Some(task));
        self.entities[task.index()].sched_delayed = false;
        self.cfs[cpu.index()].nr_runnable += 1;
        true
    }

    fn wakeup_preempt(&mut self, kernel: &mut Kernel, cpu: CpuId, task: TaskId) {
        let Some(curr) = self.cfs[cpu.index()].curr else { return };
        if curr == task || kernel.rq(cpu).need_resched || !kernel.params.wakeup_preemption {
            return;
        }
        let (running_idle, woken_idle) = (self.entities[curr.index()].idle, self.entities[task.index()].idle);
        if running_idle != woken_idle {
            if running_idle {
                self.entities[curr.index()].cancel_protect_slice();
                kernel.resched_curr(cpu);
            }
            return;
        }
        if kernel.task(task).batch {
            return;
        }
        self.update_curr(kernel, cpu);
        if self.do_preempt_short(cpu, task, curr) {
            self.entities[curr.index()].cancel_protect_slice();
        }
        if self.cfs[cpu.index()].pick_eevdf(&self.entities, self.features.run_to_parity) == Some(task) {
            kernel.resched_curr(cpu);
        }
    }

    fn migrate_task_rq(&mut self, kernel: &mut Kernel, task: TaskId, _cpu: CpuId) {
        let entity = &mut self.entities[task.index()];
        if entity.rel_deadline && entity.avg.is_attached() {
            // Its dequeue was for this move and has just brought both to now (`DO_DETACH`).
            let queue = &mut self.cfs[kernel.task(task).cpu.index()].avg;
            queue.detach_entity(&mut entity.avg, u64::from(entity.weight));
        }
        self.detach(kernel, task);
        // It is no longer cache-hot.
        self.entities[task.index()].exec_start = 0;
    }

    fn balance(&mut self, kernel: &mut Kernel, cpu: CpuId) -> bool {
        self.sched_balance_newidle(kernel, cpu)
    }

    fn yield_task(&mut self, kernel: &mut Kernel, cpu: CpuId) {
        if kernel.rq(cpu).nr_running == 1 {
            return;
        }
        self.update_curr(kernel, cpu);
        let cfs = &mut self.cfs[cpu.index()];
        if let Some(curr) = cfs.curr
            && cfs.eligible(&self.entities, curr)
        {
            let entity = &mut self.entities[curr.index()];
            entity.vruntime = entity.deadline;
            cfs.update_deadline(&mut self.entities, curr, self.features.base_slice);
        }
    }

    fn pick_task(&mut self, kernel: &mut Kernel, cpu: CpuId) -> Option<TaskId> {
        loop {
            if self.cfs[cpu.index()].nr_queued == 0 {
                return None;
            }
            self.update_curr(kernel, cpu);
            let picked = self.cfs[cpu.index()].pick_eevdf(&self.entities, self.features.run_to_parity)?;
            if !self.entities[picked.index()].sched_delayed {
                return Some(picked);
            }
            self.finish_delayed_dequeue(kernel, cpu, picked);
        }
    }

    fn put_prev_task(&mut self, kernel: &mut Kernel, cpu: CpuId, task: TaskId) {
        if self.entities[task.index()].on_rq {
            self.update_curr(kernel, cpu);
            self.cfs[cpu.index()].enqueue(&mut self.entities, task);
            self.update_load_avg(kernel, cpu, Some(task));
        }
        self.cfs[cpu.index()].curr = None;
    }

    fn set_next_task(&mut self, kernel: &mut Kernel, cpu: CpuId, task: TaskId) {
        self.cfs[cpu.index()].dequeue(&mut self.entities, task);
        self.update_load_avg(kernel, cpu, Some(task));
        let entity = &mut self.entities[task.index()];
        entity.set_protect_slice();
        entity.exec_start = kernel.now;
        let cfs = &mut self.cfs[cpu.index()];
        cfs.curr = Some(task);
        cfs.tasks.move_first(&mut self.entities, task);
        self.update_misfit_status(kernel, cpu);
    }

    fn task_tick(&mut self, kernel: &mut Kernel, cpu: CpuId, task: TaskId) {
        self.update_curr(kernel, cpu);
        self.update_load_avg(kernel, cpu, Some(task));
        self.update_misfit_status(kernel, cpu);
        self.check_update_overutilized_status(kernel, cpu);
    }
}
