// SPDX-License-Identifier: MIT OR Apache-2.0
//! Earliest eligible virtual deadline first: the fair queue of a CPU, or of a group on it (`struct cfs_rq`), and which of its entities
//! runs next.
//!
//! Function for function the kernel's: `avg_vruntime`, `entity_eligible`, `place_entity`, `update_deadline`,
//! `pick_eevdf`. Left out: core scheduling.

use super::entity::SchedEntity;
use super::layout::EntityId;
use super::task_list::TaskList;
use super::timeline::Timeline;
use crate::kernel::pelt::SchedAvg;
use crate::units::Nanos;

/// The fair queue of a CPU, or of a group on it.
#[derive(Debug, Default)]
pub struct CfsRq {
    /// The running entity, which is not in the timeline.
    pub curr: Option<EntityId>,
    /// The entity whose turn it is if it is eligible: a group that has lost a task to sleep and has others (`next`).
    pub next: Option<EntityId>,
    /// Entities queued, the running one and delayed ones included (`nr_running`).
    pub nr_queued: u32,
    /// Tasks queued here and in the groups below, delayed ones included (`h_nr_queued`).
    pub h_nr_queued: u32,
    /// Tasks of `h_nr_queued` that are really runnable (`h_nr_runnable`).
    pub nr_runnable: u32,
    /// Tasks of `h_nr_queued` with the policy `SCHED_IDLE`, or in an idle group (`idle_h_nr_running`).
    pub nr_idle_policy: u32,
    /// Whether its group is idle (`cpu.idle`).
    pub idle: bool,
    /// Sum of the weights of all queued entities.
    pub load_weight: u64,
    /// Load.
    pub avg: SchedAvg,
    /// Load of a task that does not fit this CPU, 0 if all fit.
    pub misfit_task_load: u64,
    /// Of a CPU's own queue: all tasks of the CPU, the running one included, in the order that balancing looks at them (`cfs_tasks`).
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
    /// `normalized_sysctl_sched_base_slice`: the same of one CPU.
    pub normalized_base_slice: Nanos,
}

/// What protects a running entity when an entity is picked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protect {
    /// Nothing.
    Not,
    /// Its deadline at the pick, as long as it stands.
    Deadline,
    /// A virtual run time that it has not reached (`vprot`).
    Vprot,
}

impl CfsRq {
    /// Asserts that the sums are those of `queued`, all entities that are queued here.
    pub fn audit(&self, entities: &[SchedEntity], queued: &[EntityId]) {
        let (mut vruntime, mut load, mut weight) = (0, 0, 0);
        for id in queued {
            let entity = &entities[id.index()];
            weight += u64::from(entity.weight);
            if self.curr != Some(*id) {
                vruntime += (entity.vruntime - self.zero_vruntime) * i64::from(entity.weight);
                load += i64::from(entity.weight);
            }
        }
        assert_eq!((self.load_weight, self.nr_queued as usize), (weight, queued.len()), "entities of a fair queue");
        assert_eq!((self.avg_vruntime, self.avg_load), (vruntime, load), "sums of a fair queue");
    }

    /// `__enqueue_entity`.
    pub fn enqueue(&mut self, entities: &mut [SchedEntity], id: EntityId) {
        let entity = &entities[id.index()];
        let weight = i64::from(entity.weight);
        self.avg_vruntime += (entity.vruntime - self.zero_vruntime) * weight;
        self.avg_load += weight;
        self.timeline.insert(entities, id.0);
    }

    /// `__dequeue_entity`.
    pub fn dequeue(&mut self, entities: &mut [SchedEntity], id: EntityId) {
        self.timeline.remove(entities, id.0);
        let entity = &entities[id.index()];
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
    pub fn eligible(&self, entities: &[SchedEntity], id: EntityId) -> bool {
        self.vruntime_eligible(entities, entities[id.index()].vruntime)
    }

    /// `update_deadline`: true if the entity has consumed its request.
    pub fn update_deadline(&mut self, entities: &mut [SchedEntity], id: EntityId, base_slice: Nanos) -> bool {
        let entity = &mut entities[id.index()];
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
    pub fn place_entity(&mut self, entities: &mut [SchedEntity], id: EntityId, initial: bool, features: Features) {
        let mean = self.avg_vruntime(entities);
        let load = self.avg_load + self.running(entities).map_or(0, |curr| i64::from(curr.weight));
        let entity = &mut entities[id.index()];
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

    /// `pick_next_entity`: the one whose turn it is, else as `pick_eevdf` says; it may be a delayed one.
    pub fn pick_next_entity(&self, entities: &[SchedEntity], protect: Protect) -> Option<EntityId> {
        let buddy = self.next.filter(|next| self.eligible(entities, *next));
        buddy.or_else(|| self.pick_eevdf(entities, protect))
    }

    /// `clear_buddies`.
    #[inline]
    pub fn clear_buddies(&mut self, id: EntityId) {
        if self.next == Some(id) {
            self.next = None;
        }
    }

    /// `cfs_rq_min_slice`: the shortest slice of all that are queued. The kernel keeps it in its tree; here all are looked at,
    /// and only in queues of groups.
    pub fn min_slice(&self, entities: &[SchedEntity]) -> Option<Nanos> {
        let curr = self.running(entities).map(|curr| curr.slice);
        self.timeline.iter(entities).map(|id| entities[id as usize].slice).chain(curr).min()
    }

    /// `cfs_rq_max_slice`: the longest one.
    pub fn max_slice(&self, entities: &[SchedEntity]) -> Option<Nanos> {
        let curr = self.running(entities).map(|curr| curr.slice);
        self.timeline.iter(entities).map(|id| entities[id as usize].slice).chain(curr).max()
    }

    /// `pick_eevdf`: of the eligible entities, the one with the earliest deadline, unless the running one is protected.
    pub fn pick_eevdf(&self, entities: &[SchedEntity], protect: Protect) -> Option<EntityId> {
        let curr = self.curr.filter(|curr| entities[curr.index()].on_rq);
        if self.nr_queued == 1 {
            return curr.or_else(|| self.timeline.first(entities).map(EntityId));
        }
        let curr = curr.filter(|curr| self.eligible(entities, *curr));
        if let Some(curr) = curr
            && entities[curr.index()].is_protected(protect)
        {
            return Some(curr);
        }
        let best = self.timeline.first_eligible(entities, |vruntime| self.vruntime_eligible(entities, vruntime));
        match (best.map(EntityId), curr) {
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

    const FEATURES: Features = Features {
        place_lag: true,
        run_to_parity: true,
        tick: 4 * MSEC,
        base_slice: 3 * MSEC,
        normalized_base_slice: MSEC,
    };

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
            cfs.enqueue(&mut entities, EntityId(index as u32));
        }
        (cfs, entities)
    }

    #[test]
    fn the_mean_is_weighted() {
        let (mut cfs, mut entities) = queue(&[(0, 10), (30, 20)]);
        assert_eq!(cfs.avg_vruntime(&entities), 15);
        cfs.dequeue(&mut entities, EntityId(1));
        entities[1].weight = 2048;
        cfs.enqueue(&mut entities, EntityId(1));
        // (0·1024 + 30·2048) / 3072 = 20.
        assert_eq!(cfs.avg_vruntime(&entities), 20);
    }

    #[test]
    fn an_early_deadline_wins_only_if_eligible() {
        // Mean 20: entity 1 has the earliest deadline but ran ahead of the mean; entity 0 is next.
        let (cfs, entities) = queue(&[(10, 30), (40, 25), (10, 35)]);
        assert_eq!(cfs.pick_eevdf(&entities, Protect::Deadline), Some(EntityId(0)));
    }

    #[test]
    fn a_task_that_left_with_lag_comes_back_with_it() {
        let (mut cfs, mut entities) = queue(&[(1000, 5000), (1000, 5000)]);
        entities.push(SchedEntity { vlag: 300, ..SchedEntity::new(1024, None, 3 * MSEC, 3) });
        cfs.place_entity(&mut entities, EntityId(2), false, FEATURES);
        entities[2].on_rq = true;
        cfs.enqueue(&mut entities, EntityId(2));
        let mean = cfs.avg_vruntime(&entities);
        assert_eq!(mean - entities[2].vruntime, 300);
        assert_eq!(entities[2].deadline - entities[2].vruntime, 3_000_000);
    }
}
