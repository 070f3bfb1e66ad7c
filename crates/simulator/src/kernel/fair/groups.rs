// SPDX-License-Identifier: MIT OR Apache-2.0
//! Task groups: what each is worth, how that is divided among its CPUs, and how its load shows in the queues above
//! (`struct task_group`, `update_cfs_group`, `propagate_entity_load_avg`).

use super::Fair;
use super::bandwidth::Bandwidth;
use super::layout::{EntityId, QueueId};
use crate::kernel::Kernel;
use crate::kernel::cgroup::{Cgroup, CgroupTree, MIN_SHARES};
use crate::units::{CgroupId, CpuId, MSEC, Nanos, TaskId};

/// Bits that the kernel's weights have more (`SCHED_FIXEDPOINT_SHIFT`): here they matter where shares are divided.
const SCHED_FIXEDPOINT_SHIFT: u32 = 10;

/// What a group is worth (`struct task_group`).
#[derive(Debug, Clone)]
pub(super) struct TaskGroup {
    /// Weight of the whole group, 1024 for `cpu.weight` 100.
    shares: u32,
    /// Load of the group on all CPUs, as they last said.
    load_avg: u64,
    /// Steps from the root.
    level: u32,
    /// What it may have at most.
    pub bandwidth: Option<Bandwidth>,
}

/// What is known of a group's queue on one CPU beside what every queue has.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct GroupLoad {
    /// Part of [`TaskGroup::load_avg`] (`tg_load_avg_contrib`).
    contribution: u64,
    /// When that was last changed (`last_update_tg_load_avg`).
    contributed: Nanos,
    /// Load came or went that the queue above has not seen (`propagate`).
    propagate: bool,
    /// How much, as time on the queue (`prop_runnable_sum`).
    runnable_sum: i64,
}

impl TaskGroup {
    /// What `group` is worth.
    pub fn of(group: &Cgroup) -> Self {
        Self { shares: group.shares, load_avg: 0, level: group.level, bandwidth: None }
    }
}

impl Fair {
    /// The entity of the group that `id` is in (`parent_entity`).
    #[inline]
    pub(super) fn parent(&self, id: EntityId) -> Option<EntityId> {
        self.layout.owner(self.entities[id.index()].queue)
    }

    /// Whether `id` is in the group that `group` stands for, on its CPU and at any depth.
    pub(super) fn is_within(&self, id: EntityId, group: EntityId) -> bool {
        std::iter::successors(self.parent(id), |id| self.parent(*id)).any(|id| id == group)
    }

    /// Whether `id` is `SCHED_IDLE`, or an idle group (`se_is_idle`).
    pub(super) fn se_is_idle(&self, id: EntityId) -> bool {
        match self.layout.group_cfs_rq(id) {
            Some(queue) => self.cfs[queue.index()].idle,
            None => self.entities[id.index()].idle,
        }
    }

    /// The fair task that `cpu` runs.
    pub(super) fn current(&self, cpu: CpuId) -> Option<TaskId> {
        let mut curr = self.cfs[cpu.index()].curr?;
        while let Some(queue) = self.layout.group_cfs_rq(curr) {
            curr = self.cfs[queue.index()].curr?;
        }
        self.layout.task(curr)
    }

    /// The two entities in one queue that stand for `a` and `b`, queued on the same CPU (`find_matching_se`).
    pub(super) fn find_matching_se(&self, a: EntityId, b: EntityId) -> (EntityId, EntityId) {
        let (mut a, mut b) = (a, b);
        let queue = |id: EntityId| self.entities[id.index()].queue;
        let depth = |id: EntityId| self.groups[self.layout.group(queue(id)).index()].level;
        while queue(a) != queue(b) {
            let (deep_a, deep_b) = (depth(a), depth(b));
            if deep_a >= deep_b {
                a = self.parent(a).unwrap_or(a);
            }
            if deep_b >= deep_a {
                b = self.parent(b).unwrap_or(b);
            }
        }
        (a, b)
    }

    /// Brings the weight of a group's entity in line with its share of the group (`update_cfs_group`). An empty group keeps its
    /// weight.
    pub(super) fn update_cfs_group(&mut self, kernel: &mut Kernel, cpu: CpuId, id: EntityId) {
        let Some(queue) = self.layout.group_cfs_rq(id) else { return };
        if self.cfs[queue.index()].load_weight == 0 || self.throttled_hierarchy(queue) {
            return;
        }
        let weight = self.calc_group_shares(id, queue);
        if self.entities[id.index()].weight != weight {
            self.reweight_entity(kernel, cpu, id, weight);
        }
    }

    /// `calc_group_shares`: the group's weight, divided by load among its CPUs.
    fn calc_group_shares(&self, id: EntityId, queue: QueueId) -> u32 {
        let group = &self.groups[self.layout.group(queue).index()];
        let cfs = &self.cfs[queue.index()];
        let load = cfs.load_weight.max(cfs.avg.load_avg);
        let all = (group.load_avg + load).saturating_sub(self.group_loads[id.index()].contribution);
        let most = u64::from(group.shares) << SCHED_FIXEDPOINT_SHIFT;
        let shares = (most * load / all.max(1)).clamp(u64::from(MIN_SHARES), most);
        ((shares >> SCHED_FIXEDPOINT_SHIFT) as u32).max(MIN_SHARES)
    }

    /// Changes the weight of a group's entity, queued or not (`reweight_entity`): what it is owed stays the same time.
    fn reweight_entity(&mut self, kernel: &mut Kernel, cpu: CpuId, id: EntityId, weight: u32) {
        let queue = self.entities[id.index()].queue;
        let on_rq = self.entities[id.index()].on_rq;
        if on_rq {
            self.update_curr(kernel, cpu, queue);
        }
        self.avg_changes(queue);
        let cfs = &mut self.cfs[queue.index()];
        let waits = on_rq && cfs.curr != Some(id);
        let mean = cfs.avg_vruntime(&self.entities);
        if waits {
            cfs.dequeue(&mut self.entities, id);
        }
        let tick = self.features.tick;
        let entity = &mut self.entities[id.index()];
        let (old, new) = (i64::from(entity.weight), i64::from(weight));
        if entity.avg.is_attached() {
            cfs.avg.reweight_entity(&mut entity.avg, old as u64, new as u64);
        } else {
            entity.avg.reweight_detached(new as u64);
        }
        if on_rq {
            // `reweight_eevdf`
            let lag = entity.lag(mean, tick);
            entity.vruntime = mean - lag * old / new;
            entity.deadline = mean + (entity.deadline - mean) * old / new;
            cfs.load_weight = cfs.load_weight - old as u64 + new as u64;
        } else {
            entity.vlag = entity.vlag * old / new;
        }
        entity.weight = weight;
        if waits {
            cfs.enqueue(&mut self.entities, id);
        }
    }

    /// Tells the group of `queue` how much load it has there, at most once a millisecond (`update_tg_load_avg`).
    pub(super) fn update_tg_load_avg(&mut self, kernel: &Kernel, queue: QueueId) {
        let Some(owner) = self.layout.owner(queue) else { return };
        if !kernel.topology.online.test(self.layout.cpu(queue)) {
            return;
        }
        let known = &self.group_loads[owner.index()];
        let load = self.cfs[queue.index()].avg.load_avg;
        if kernel.now - known.contributed >= MSEC && load.abs_diff(known.contribution) > known.contribution / 64 {
            self.contribute(owner, queue, load);
            self.group_loads[owner.index()].contributed = kernel.now;
        }
    }

    fn contribute(&mut self, owner: EntityId, queue: QueueId, load: u64) {
        let group = &mut self.groups[self.layout.group(queue).index()];
        let contribution = &mut self.group_loads[owner.index()].contribution;
        group.load_avg = group.load_avg + load - *contribution;
        *contribution = load;
    }

    /// CPUs that are offline have no load of any group (`clear_tg_offline_cfs_rqs`).
    pub(super) fn clear_tg_offline_cfs_rqs(&mut self, kernel: &Kernel) {
        for owner in self.layout.group_entities() {
            if let Some(queue) = self.layout.group_cfs_rq(owner)
                && !kernel.topology.online.test(self.layout.cpu(queue))
            {
                self.contribute(owner, queue, 0);
            }
        }
    }

    /// Load came to `queue` or left it, so long on the queue (`add_tg_cfs_propagate`).
    pub(super) fn add_tg_cfs_propagate(&mut self, queue: QueueId, runnable_sum: i64) {
        if let Some(owner) = self.layout.owner(queue) {
            let known = &mut self.group_loads[owner.index()];
            known.propagate = true;
            known.runnable_sum += runnable_sum;
        }
    }

    /// Takes what the queue of the group `id` gained or lost into the group's own load, and that into the load of the queue that the
    /// group is in (`propagate_entity_load_avg`); whether there was anything.
    pub(super) fn propagate_entity_load_avg(&mut self, id: EntityId) -> bool {
        let Some(own) = self.layout.group_cfs_rq(id) else { return false };
        let known = &mut self.group_loads[id.index()];
        if !std::mem::take(&mut known.propagate) {
            return false;
        }
        let runnable_sum = std::mem::take(&mut known.runnable_sum);
        let queue = self.entities[id.index()].queue;
        self.add_tg_cfs_propagate(queue, runnable_sum);
        // A group is made after the one that it is in, so its queue comes later in the table.
        self.avg_changes(queue);
        let (before, from_own) = self.cfs.split_at_mut(own.index());
        let (above, group) = (&mut before[queue.index()].avg, &from_own[0]);
        let entity = &mut self.entities[id.index()];
        above.update_tg_cfs_util_and_runnable(&mut entity.avg, &group.avg);
        let weight = u64::from(entity.weight);
        above.update_tg_cfs_load(&mut entity.avg, weight, (&group.avg, group.load_weight), runnable_sum);
        true
    }

    /// Takes `id` out of the load of its queue, with both up to date, and out of that of the queues above
    /// (`detach_entity_load_avg`, `propagate_entity_cfs_rq`).
    pub(super) fn detach_entity_load_avg(&mut self, kernel: &mut Kernel, cpu: CpuId, id: EntityId) {
        self.avg_changes(self.entities[id.index()].queue);
        let entity = &mut self.entities[id.index()];
        let queue = entity.queue;
        self.cfs[queue.index()].avg.detach_entity(&mut entity.avg, u64::from(entity.weight));
        if queue == QueueId::root(cpu) {
            kernel.cpufreq_update_util(cpu);
        }
        let gone = entity.avg.load_sum as i64;
        self.add_tg_cfs_propagate(queue, -gone);
        self.update_tg_load_avg(kernel, queue);
        self.propagate_entity_cfs_rq(kernel, cpu, queue);
    }

    /// What changed in `queue` shows in all queues above (`propagate_entity_cfs_rq`).
    pub(super) fn propagate_entity_cfs_rq(&mut self, kernel: &mut Kernel, cpu: CpuId, queue: QueueId) {
        let mut inner = queue;
        while let Some(id) = self.layout.owner(inner).filter(|_| !self.cfs_rq_throttled(inner)) {
            inner = self.entities[id.index()].queue;
            self.update_load_avg(kernel, cpu, inner, Some(id));
        }
    }

    /// Ages the load of the groups on `cpu`, the innermost first (`__update_blocked_fair`).
    pub(super) fn update_blocked_groups(&mut self, kernel: &mut Kernel, cpu: CpuId) {
        for group in (1..self.groups.len()).rev().map(CgroupId::at) {
            let queue = self.layout.queue(group, cpu);
            let Some(owner) = self.layout.owner(queue) else { continue };
            if self.throttled_hierarchy(queue) {
                continue;
            }
            if !self.cfs[queue.index()].avg.is_decayed() {
                self.update_load_avg(kernel, cpu, queue, None);
            }
            let avg = &self.entities[owner.index()].avg;
            // `skip_blocked_update`
            if avg.load_avg > 0 || avg.util_avg > 0 || self.group_loads[owner.index()].propagate {
                self.update_load_avg(kernel, cpu, self.entities[owner.index()].queue, Some(owner));
            }
        }
    }

    /// What the tasks of `queue` weigh on its CPU (`update_cfs_rq_h_load`). The kernel computes it once a tick; here it is always new.
    fn h_load(&self, queue: QueueId) -> u64 {
        let Some(owner) = self.layout.owner(queue) else { return self.cfs[queue.index()].avg.load_avg };
        let entity = &self.entities[owner.index()];
        self.h_load(entity.queue) * entity.avg.load_avg / (self.cfs[entity.queue.index()].avg.load_avg + 1)
    }

    /// `task_h_load`: what `task` weighs on its CPU, as a part of its group.
    pub(super) fn task_h_load(&self, task: TaskId) -> u64 {
        let entity = &self.entities[self.layout.entity(task).index()];
        if self.layout.owner(entity.queue).is_none() {
            return entity.avg.load_avg;
        }
        entity.avg.load_avg * self.h_load(entity.queue) / (self.cfs[entity.queue.index()].avg.load_avg + 1)
    }

    /// The weight of `group` may have changed (`__sched_group_set_shares`).
    pub fn sched_group_set_shares(&mut self, kernel: &mut Kernel, group: CgroupId) {
        let shares = kernel.cgroups.get(group).shares;
        if group == CgroupTree::ROOT || self.groups[group.index()].shares == shares {
            return;
        }
        self.groups[group.index()].shares = shares;
        for cpu in (0..kernel.topology.nr_cpus).map(CpuId::at) {
            let mut next = self.layout.owner(self.layout.queue(group, cpu));
            while let Some(id) = next {
                self.update_load_avg(kernel, cpu, self.entities[id.index()].queue, Some(id));
                self.update_cfs_group(kernel, cpu, id);
                next = self.parent(id);
            }
        }
    }

    /// `group` has become idle, or is so no longer (`sched_group_set_idle`): its tasks count as idle ones in the queues above.
    pub fn sched_group_set_idle(&mut self, kernel: &mut Kernel, group: CgroupId) {
        let idle = kernel.cgroups.get(group).idle;
        for cpu in (0..kernel.topology.nr_cpus).map(CpuId::at) {
            let queue = self.layout.queue(group, cpu);
            let cfs = &mut self.cfs[queue.index()];
            if cfs.idle == idle {
                continue;
            }
            cfs.idle = idle;
            let others = cfs.h_nr_queued - cfs.nr_idle_policy;
            let mut next = self.layout.owner(queue);
            while let Some(id) = next.filter(|id| self.entities[id.index()].on_rq) {
                let above = self.entities[id.index()].queue;
                let count = &mut self.cfs[above.index()].nr_idle_policy;
                *count = if idle { *count + others } else { *count - others };
                if self.cfs[above.index()].idle {
                    // Further up all of its tasks have counted as idle already.
                    break;
                }
                next = self.layout.owner(above);
            }
        }
        self.sched_group_set_shares(kernel, group);
    }

    /// `task`, which is not queued, is in another group from now on (`task_change_group_fair`).
    pub fn task_change_group(&mut self, kernel: &mut Kernel, task: TaskId) {
        let (id, cpu) = (self.layout.entity(task), kernel.task(task).cpu);
        let queue = self.layout.queue(kernel.task(task).task_group(), cpu);
        if !self.entities[id.index()].avg.is_attached() {
            self.entities[id.index()].queue = queue;
            return;
        }
        // `detach_task_cfs_rq`
        let old = self.entities[id.index()].queue;
        self.update_load_avg(kernel, cpu, old, Some(id));
        self.detach_entity_load_avg(kernel, cpu, id);
        // `attach_task_cfs_rq`
        self.entities[id.index()].queue = queue;
        self.update_load_avg(kernel, cpu, queue, None);
        self.attach_entity_load_avg(kernel, cpu, id);
        self.update_tg_load_avg(kernel, queue);
        self.propagate_entity_cfs_rq(kernel, cpu, queue);
    }
}
