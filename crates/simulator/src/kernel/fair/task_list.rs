// SPDX-License-Identifier: MIT OR Apache-2.0
//! A queue's fair tasks in the order that balancing looks at them (`rq->cfs_tasks`): the task that was queued or
//! began to run last stands first, and balancing begins at the end. Linked through the entities, as the kernel's is.

use super::entity::{NIL, SchedEntity};
use crate::units::TaskId;

/// A doubly linked list of tasks.
#[derive(Debug)]
pub(super) struct TaskList {
    first: u32,
    last: u32,
}

impl Default for TaskList {
    fn default() -> Self {
        Self { first: NIL, last: NIL }
    }
}

impl TaskList {
    /// Puts `task`, which is in no list, first (`list_add`).
    pub fn add(&mut self, entities: &mut [SchedEntity], task: TaskId) {
        let entity = &mut entities[task.index()];
        (entity.list_previous, entity.list_next) = (NIL, self.first);
        match self.first {
            NIL => self.last = task.0,
            first => entities[first as usize].list_previous = task.0,
        }
        self.first = task.0;
    }

    /// Takes `task` out (`list_del`).
    pub fn del(&mut self, entities: &mut [SchedEntity], task: TaskId) {
        let (previous, next) = (entities[task.index()].list_previous, entities[task.index()].list_next);
        match previous {
            NIL => self.first = next,
            previous => entities[previous as usize].list_next = next,
        }
        match next {
            NIL => self.last = previous,
            next => entities[next as usize].list_previous = previous,
        }
    }

    /// Puts `task`, which is in the list, first (`list_move`).
    pub fn move_first(&mut self, entities: &mut [SchedEntity], task: TaskId) {
        if self.first != task.0 {
            self.del(entities, task);
            self.add(entities, task);
        }
    }

    /// The task that has stood there longest.
    pub fn last(&self) -> Option<TaskId> {
        (self.last != NIL).then_some(TaskId(self.last))
    }

    /// All tasks, the last first.
    pub fn iter_reverse<'a>(&self, entities: &'a [SchedEntity]) -> impl Iterator<Item = TaskId> + 'a {
        let step = |task: &TaskId| {
            let previous = entities[task.index()].list_previous;
            (previous != NIL).then_some(TaskId(previous))
        };
        std::iter::successors(self.last(), step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_stands_first_and_any_can_leave() {
        let mut entities: Vec<_> = (0..4).map(|_| SchedEntity::new(1024, None, 0, 0)).collect();
        let mut list = TaskList::default();
        for task in 0..4 {
            list.add(&mut entities, TaskId(task));
        }
        let order = |list: &TaskList, entities: &[SchedEntity]| -> Vec<u32> {
            list.iter_reverse(entities).map(|task| task.0).collect()
        };
        assert_eq!(order(&list, &entities), [0, 1, 2, 3]);
        list.move_first(&mut entities, TaskId(0));
        list.del(&mut entities, TaskId(2));
        assert_eq!(order(&list, &entities), [1, 3, 0]);
        for task in [1, 0, 3] {
            list.del(&mut entities, TaskId(task));
        }
        assert_eq!(list.last(), None);
    }
}
