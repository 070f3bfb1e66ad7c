// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where queues and entities stand: every task group has a queue and an entity on each CPU (`tg->cfs_rq`, `tg->se`).
//!
//! Queues are numbered group by group, the root's first, so that the queue of a CPU itself has that CPU's number. The entity that
//! stands for a group's queue in the queue above has its number less the number of CPUs. Entities of tasks come after those of
//! groups.

use crate::units::{CgroupId, CpuId, TaskId};

/// A task or a group on one CPU, as an index into the table of entities.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct EntityId(pub(super) u32);

impl EntityId {
    /// The index into the table of entities.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The queue of a group on one CPU, as an index into the table of queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct QueueId(pub(super) u32);

impl QueueId {
    /// The queue of `cpu` itself (`rq->cfs`).
    #[inline]
    pub fn root(cpu: CpuId) -> Self {
        Self(cpu.0)
    }

    /// The index into the table of queues.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// How queues and entities are numbered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layout {
    nr_cpus: u32,
    /// Number of entities of groups, and so of the first task's.
    groups: u32,
}

impl Layout {
    /// Of so many CPUs and groups, the root included.
    pub fn new(nr_cpus: usize, groups: usize) -> Self {
        Self { nr_cpus: nr_cpus as u32, groups: ((groups - 1) * nr_cpus) as u32 }
    }

    /// Number of queues.
    pub fn queues(self) -> usize {
        (self.nr_cpus + self.groups) as usize
    }

    /// Whether there are groups below the root.
    #[inline]
    pub fn has_groups(self) -> bool {
        self.groups > 0
    }

    /// The entities of all groups.
    pub fn group_entities(self) -> impl Iterator<Item = EntityId> {
        (0..self.groups).map(EntityId)
    }

    /// The queue of `group` on `cpu`.
    #[inline]
    pub fn queue(self, group: CgroupId, cpu: CpuId) -> QueueId {
        QueueId(group.0 * self.nr_cpus + cpu.0)
    }

    /// The group that has `queue`.
    #[inline]
    pub fn group(self, queue: QueueId) -> CgroupId {
        CgroupId(queue.0 / self.nr_cpus)
    }

    /// The CPU that has `queue`.
    #[inline]
    pub fn cpu(self, queue: QueueId) -> CpuId {
        CpuId(queue.0 % self.nr_cpus)
    }

    /// The entity that stands for `queue` in the queue above; `None`: it is a CPU's own.
    #[inline]
    pub fn owner(self, queue: QueueId) -> Option<EntityId> {
        queue.0.checked_sub(self.nr_cpus).map(EntityId)
    }

    /// The queue that `entity` stands for (`group_cfs_rq`); `None`: it is a task.
    #[inline]
    pub fn group_cfs_rq(self, entity: EntityId) -> Option<QueueId> {
        (entity.0 < self.groups).then(|| QueueId(entity.0 + self.nr_cpus))
    }

    /// The entity of `task`.
    #[inline]
    pub fn entity(self, task: TaskId) -> EntityId {
        EntityId(task.0 + self.groups)
    }

    /// The task of `entity` (`task_of`); `None`: it stands for a group.
    #[inline]
    pub fn task(self, entity: EntityId) -> Option<TaskId> {
        entity.0.checked_sub(self.groups).map(TaskId)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cpus_own_queue_and_a_task_without_groups_have_their_own_numbers() {
        let layout = Layout::new(4, 1);
        assert_eq!(layout.queue(CgroupId(0), CpuId(3)), QueueId::root(CpuId(3)));
        assert_eq!((layout.owner(QueueId(3)), layout.queues(), layout.has_groups()), (None, 4, false));
        assert_eq!((layout.entity(TaskId(5)), layout.task(EntityId(5))), (EntityId(5), Some(TaskId(5))));
    }

    #[test]
    fn a_group_has_a_queue_and_an_entity_on_every_cpu() {
        let layout = Layout::new(4, 3);
        let queue = layout.queue(CgroupId(2), CpuId(1));
        assert_eq!((layout.group(queue), layout.cpu(queue), layout.queues()), (CgroupId(2), CpuId(1), 12));
        let owner = layout.owner(queue).unwrap();
        assert_eq!((layout.group_cfs_rq(owner), layout.task(owner)), (Some(queue), None));
        assert_eq!((layout.entity(TaskId(0)), layout.group_cfs_rq(layout.entity(TaskId(0)))), (EntityId(8), None));
    }
}
