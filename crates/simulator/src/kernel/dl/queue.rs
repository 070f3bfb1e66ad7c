// SPDX-License-Identifier: MIT OR Apache-2.0
//! A CPU's deadline queue: earliest deadline first, equal ones in the order they came (`struct dl_rq`).

use std::collections::BTreeSet;

use crate::units::{Nanos, TaskId};

/// A CPU's deadline tasks; the running one stays queued, throttled ones are not.
#[derive(Debug, Default)]
pub(super) struct DlRq {
    /// Deadline, order of arrival, task.
    queue: BTreeSet<(Nanos, u64, TaskId)>,
    sequence: u64,
    pub curr: Option<TaskId>,
    /// Bandwidth of the tasks that are active here (`running_bw`).
    pub running_bw: u64,
    /// When the budget of the running task is next looked at, apart from ticks (`hrtick_timer`).
    pub hrtick: Option<Nanos>,
}

impl DlRq {
    /// Queues a task; the answer is its place among equals, for [`DlRq::remove`].
    pub fn push(&mut self, deadline: Nanos, task: TaskId) -> u64 {
        self.sequence += 1;
        self.queue.insert((deadline, self.sequence, task));
        self.sequence
    }

    /// Takes out a task that was pushed with this deadline.
    pub fn remove(&mut self, deadline: Nanos, place: u64, task: TaskId) {
        let was_queued = self.queue.remove(&(deadline, place, task));
        debug_assert!(was_queued, "the deadline of task {task} changed while it was queued");
    }

    pub fn len(&self) -> usize {
        self.queue.len()
    }

    /// The task with the earliest deadline, and that.
    pub fn first(&self) -> Option<(Nanos, TaskId)> {
        self.queue.first().map(|(deadline, _, task)| (*deadline, *task))
    }

    /// All tasks, the earliest deadline first.
    pub fn iter(&self) -> impl Iterator<Item = TaskId> + '_ {
        self.queue.iter().map(|(_, _, task)| *task)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_deadline_is_first_and_equals_keep_their_order() {
        let mut queue = DlRq::default();
        let places = [(30, 1), (10, 5), (10, 2)].map(|(deadline, task)| queue.push(deadline, TaskId(task)));
        let order = |queue: &DlRq| queue.iter().map(|task| task.0).collect::<Vec<_>>();
        assert_eq!((order(&queue), queue.first()), (vec![5, 2, 1], Some((10, TaskId(5)))));
        queue.remove(10, places[1], TaskId(5));
        assert_eq!((order(&queue), queue.len()), (vec![2, 1], 2));
    }
}
