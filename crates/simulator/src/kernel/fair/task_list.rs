// SPDX-License-Identifier: MIT OR Apache-2.0
//! A CPU's fair tasks in the order that balancing looks at them (`rq->cfs_tasks`): the task that was queued or
//! began to run last stands first, and balancing begins at the end. Linked through the entities, as the kernel's is.

use super::entity::{NIL, SchedEntity};
use super::layout::EntityId;

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
    /// Puts `id`, which is in no list, first (`list_add`).
    pub fn add(&mut self, entities: &mut [SchedEntity], id: EntityId) {
        let entity = &mut entities[id.index()];
        (entity.list_previous, entity.list_next) = (NIL, self.first);
        match self.first {
            NIL => self.last = id.0,
            first => entities[first as usize].list_previous = id.0,
        }
        self.first = id.0;
    }

    /// Takes `id` out (`list_del`).
    pub fn del(&mut self, entities: &mut [SchedEntity], id: EntityId) {
        let (previous, next) = (entities[id.index()].list_previous, entities[id.index()].list_next);
        match previous {
            NIL => self.first = next,
            previous => entities[previous as usize].list_next = next,
        }
        match next {
            NIL => self.last = previous,
            next => entities[next as usize].list_previous = previous,
        }
    }

    /// Puts `id`, which is in the list, first (`list_move`).
    pub fn move_first(&mut self, entities: &mut [SchedEntity], id: EntityId) {
        if self.first != id.0 {
            self.del(entities, id);
            self.add(entities, id);
        }
    }

    /// The task that has stood there longest.
    pub fn last(&self) -> Option<EntityId> {
        (self.last != NIL).then_some(EntityId(self.last))
    }

    /// All tasks, the last first.
    pub fn iter_reverse<'a>(&self, entities: &'a [SchedEntity]) -> impl Iterator<Item = EntityId> + 'a {
        let step = |id: &EntityId| {
            let previous = entities[id.index()].list_previous;
            (previous != NIL).then_some(EntityId(previous))
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
        for id in 0..4 {
            list.add(&mut entities, EntityId(id));
        }
        let order = |list: &TaskList, entities: &[SchedEntity]| -> Vec<u32> {
            list.iter_reverse(entities).map(|id| id.0).collect()
        };
        assert_eq!(order(&list, &entities), [0, 1, 2, 3]);
        list.move_first(&mut entities, EntityId(0));
        list.del(&mut entities, EntityId(2));
        assert_eq!(order(&list, &entities), [1, 3, 0]);
        for id in [1, 0, 3] {
            list.del(&mut entities, EntityId(id));
        }
        assert_eq!(list.last(), None);
    }
}
