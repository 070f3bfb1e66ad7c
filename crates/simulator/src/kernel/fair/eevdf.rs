// SPDX-License-Identifier: MIT OR Apache-2.0
//! Earliest eligible virtual deadline first: one CPU's fair queue (`struct cfs_rq`) and which task runs next on it.
//!
//! Function for function the kernel's: `avg_vruntime`, `entity_eligible`, `place_entity`, `update_deadline`,
//! `pick_eevdf`. Left out: group scheduling, bandwidth control, buddies (off by default), core scheduling.

use super::entity::SchedEntity;
use super::task_list::TaskList;
use super::timeline::Timeline;
use crate::kernel::pelt::SchedAvg;
use crate::units::{Nanos, TaskId};

/// A CPU's fair queue.
#[derive(Debug, Default)]
pub struct CfsRq {
    /// The running entity, which is not in the timeline.
    pub curr: Option<TaskId>,
    /// Entities queued, the running one and delayed ones included (`nr_running`).
    pub nr_queued: u32,
    /// Entities that are really runnable (`h_nr_runnable`).
    pub nr_runnable: u32,
    /// Queued entities with the policy `SCHED_IDLE` (`h_nr_idle`).
    pub nr_idle_policy: u32,
    /// Sum of the weights of all queued entities.
    pub load_weight: u64,
    /// Load.
    pub avg: SchedAvg,
    /// Load of a task that does not fit this CPU, 0 if all fit.
    pub misfit_task_load: u64,
    /// Queued tasks, the running one included, in the order that balancing looks at them (`cfs_tasks`).
    pub(super) tasks: TaskList,
    pub(super) timeline: Timeline,
    /// Σ (v − zero)·w over the timeline.
    avg_vruntime: i64,
    /// Σ w over the timeline.
    avg_load: i64,
    zero_vruntime: i64,
}

/// The features that change placement and picking.
#[derive(Debug, Clone, Copy)]
pub struct Features {
    /// `PLACE_LAG`.
    pub place_lag: bool,
    /// `RUN_TO_PARITY`.
    pub run_to_parity: bool,
    /// `TICK_NSEC`.
    pub tick: Nanos,
    /// `sysctl_sched_base_slice`.
    pub base_slice: Nanos,
}

impl CfsRq {
    /// Asserts that the sums are those of `tasks`, all that are queued here.
    pub fn audit(&self, entities: &[SchedEntity], tasks: &[TaskId]) {
        let (mut vruntime, mut load, mut weight, mut idle) = (0, 0, 0, 0);
        for task in tasks {
            let entity = &entities[task.index()];
            assert!(entity.on_rq, "task {task} is queued and does not know");
            weight += u64::from(entity.weight);
            idle += u32::from(entity.idle);
            if self.curr != Some(*task) {
                vruntime += (entity.vruntime - self.zero_vruntime) * i64::from(entity.weight);
                load += i64::from(entity.weight);
            }
        }
        assert_eq!((self.load_weight, self.nr_idle_policy), (weight, idle), "weight and idle tasks of a fair queue");
        assert_eq!((self.avg_vruntime, self.avg_load), (vruntime, load), "sums of a fair queue");
    }

    /// `__enqueue_entity`.
    pub fn enqueue(&mut self, entities: &mut [SchedEntity], task: TaskId) {
        let entity = &entities[task.index()];
        let weight = i64::from(entity.weight);
        self.avg_vruntime += (entity.vruntime - self.zero_vruntime) * weight;
        self.avg_load += weight;
        self.timeline.insert(entities, task.0);
    }

    /// `__dequeue_entity`.
    pub fn dequeue(&mut self, entities: &mut [SchedEntity], task: TaskId) {
        self.timeline.remove(entities, task.0);
        let entity = &entities[task.index()];
        let weight = i64::from(entity.weight);
        self.avg_vruntime -= (entity.vruntime - self.zero_vruntime) * weight;
        self.avg_load -= weight;
    }

    /// The running entity, if it is still runnable.
    fn running<'a>(&self, entities: &'a [SchedEntity]) -> Option<&'a SchedEntity> {
        self.curr.map(|curr| &entities[curr.index()]).filter(|entity| entity.on_rq)
    }

    /// `avg_vruntime`: the weighted mean of all virtual run times; moves the zero point there, so that sums stay small.
    pub fn avg_vruntime(&mut self, entities: &[SchedEntity]) -> i64 {
        let curr = self.running(entities);
        let delta = if self.avg_load != 0 {
            let (mut runtime, mut weight) = (self.avg_vruntime, self.avg_load);
            if let Some(curr) = curr {
                runtime += (curr.vruntime - self.zero_vruntime) * i64::from(curr.weight);
                weight += i64::from(curr.weight);
            }
            runtime.div_euclid(weight)
        } else {
            curr.map_or(0, |curr| curr.vruntime - self.zero_vruntime)
        };
        self.avg_vruntime -= self.avg_load * delta;
        self.zero_vruntime += delta;
        self.zero_vruntime
    }

    /// `vruntime_eligible`: an entity is owed service if its virtual run time is not above the mean.
    pub fn vruntime_eligible(&self, entities: &[SchedEntity], vruntime: i64) -> bool {
        let (mut sum, mut load) = (self.avg_vruntime, self.avg_load);
        if let Some(curr) = self.running(entities) {
            sum += (curr.vruntime - self.zero_vruntime) * i64::from(curr.weight);
            load += i64::from(curr.weight);
        }
        sum >= (vruntime - self.zero_vruntime).saturating_mul(load)
    }

    /// `entity_eligible`.
    pub fn eligible(&self, entities: &[SchedEntity], task: TaskId) -> bool {
        self.vruntime_eligible(entities, entities[task.index()].vruntime)
    }

    /// `update_entity_lag`: what the entity is owed, bounded by two slices or a tick.
    pub fn update_entity_lag(&mut self, entities: &mut [SchedEntity], task: TaskId, tick: Nanos) {
        let mean = self.avg_vruntime(entities);
        let entity = &mut entities[task.index()];
        let limit = entity.calc_delta_fair((2 * entity.slice).max(tick));
        entity.vlag = (mean - entity.vruntime).clamp(-limit, limit);
    }

    /// `update_deadline`: true if the entity has consumed its request.
    pub fn update_deadline(&mut self, entities: &mut [SchedEntity], task: TaskId, base_slice: Nanos) -> bool {
        let entity = &mut entities[task.index()];
        if entity.vruntime < entity.deadline {
            return false;
        }
        if !entity.custom_slice {
            entity.slice = base_slice;
        }
        entity.deadline = entity.vruntime + entity.calc_delta_fair(entity.slice);
        self.avg_vruntime(entities);
        true
    }

    /// `place_entity`: where an entity that joins the queue starts, given the lag it left with.
    pub fn place_entity(&mut self, entities: &mut [SchedEntity], task: TaskId, initial: bool, features: Features) {
        let mean = self.avg_vruntime(entities);
        let load = self.avg_load + self.running(entities).map_or(0, |curr| i64::from(curr.weight));
        let entity = &mut entities[task.index()];
        if !entity.custom_slice {
            entity.slice = features.base_slice;
        }
        let mut vslice = entity.calc_delta_fair(entity.slice);
        let mut lag = 0;
        if features.place_lag && load > 0 {
            // The newcomer moves the mean; scale its lag so that it still has it afterwards.
            let scaled = i128::from(entity.vlag) * i128::from(load + i64::from(entity.weight)) / i128::from(load);
            lag = scaled as i64;
        }
        entity.vruntime = mean - lag;
        if entity.rel_deadline {
            entity.deadline += entity.vruntime;
            entity.rel_deadline = false;
            return;
        }
        if initial {
            vslice /= 2;
        }
        entity.deadline = entity.vruntime + vslice;
    }

    /// `pick_eevdf`: of the eligible entities, the one with the earliest deadline.
    pub fn pick_eevdf(&self, entities: &[SchedEntity], run_to_parity: bool) -> Option<TaskId> {
        let curr = self.curr.filter(|curr| entities[curr.index()].on_rq);
        if self.nr_queued == 1 {
            return curr.or_else(|| self.timeline.first(entities).map(TaskId));
        }
        let curr = curr.filter(|curr| self.eligible(entities, *curr));
        if let Some(curr) = curr
            && run_to_parity
            && entities[curr.index()].protect_slice()
        {
            return Some(curr);
        }
        let best = self.timeline.first_eligible(entities, |vruntime| self.vruntime_eligible(entities, vruntime));
        match (best.map(TaskId), curr) {
            (Some(best), Some(curr)) => {
                let earlier = entities[curr.index()].deadline < entities[best.index()].deadline;
                Some(if earlier { curr } else { best })
            }
            (best, curr) => best.or(curr),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::MSEC;

    const FEATURES: Features = Features { place_lag: true, run_to_parity: true, tick: 4 * MSEC, base_slice: 3 * MSEC };

    fn queue(specs: &[(i64, i64)]) -> (CfsRq, Vec<SchedEntity>) {
        let mut entities: Vec<_> = specs
            .iter()
            .map(|(vruntime, deadline)| SchedEntity {
                vruntime: *vruntime,
                deadline: *deadline,
                on_rq: true,
                ..SchedEntity::new(1024, None, 3 * MSEC, 7)
            })
            .collect();
        let mut cfs = CfsRq { nr_queued: specs.len() as u32, ..CfsRq::default() };
        for index in 0..specs.len() {
            cfs.enqueue(&mut entities, TaskId::at(index));
        }
        (cfs, entities)
    }

    #[test]
    fn the_mean_is_weighted() {
        let (mut cfs, mut entities) = queue(&[(0, 10), (30, 20)]);
        assert_eq!(cfs.avg_vruntime(&entities), 15);
        cfs.dequeue(&mut entities, TaskId(1));
        entities[1].weight = 2048;
        cfs.enqueue(&mut entities, TaskId(1));
        // (0·1024 + 30·2048) / 3072 = 20.
        assert_eq!(cfs.avg_vruntime(&entities), 20);
    }

    #[test]
    fn an_early_deadline_wins_only_if_eligible() {
        // Mean 20: entity 1 has the earliest deadline but ran ahead of the mean; entity 0 is next.
        let (cfs, entities) = queue(&[(10, 30), (40, 25), (10, 35)]);
        assert_eq!(cfs.pick_eevdf(&entities, true), Some(TaskId(0)));
    }

    #[test]
    fn a_task_that_left_with_lag_comes_back_with_it() {
        let (mut cfs, mut entities) = queue(&[(1000, 5000), (1000, 5000)]);
        entities.push(SchedEntity { vlag: 300, ..SchedEntity::new(1024, None, 3 * MSEC, 3) });
        cfs.place_entity(&mut entities, TaskId(2), false, FEATURES);
        entities[2].on_rq = true;
        cfs.enqueue(&mut entities, TaskId(2));
        let mean = cfs.avg_vruntime(&entities);
        assert_eq!(mean - entities[2].vruntime, 300);
        assert_eq!(entities[2].deadline - entities[2].vruntime, 3_000_000);
    }
}
