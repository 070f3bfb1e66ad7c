// SPDX-License-Identifier: MIT OR Apache-2.0
//! A CPU's real-time queue: tasks by priority, first come first served within one (`struct rt_rq`).

use std::collections::VecDeque;

use crate::units::TaskId;

/// A CPU's real-time tasks; the running one stays queued.
#[derive(Debug, Default)]
pub(super) struct RtRq {
    /// By priority, most urgent first.
    queues: Vec<(u8, VecDeque<TaskId>)>,
    pub nr_running: u32,
    pub curr: Option<TaskId>,
}

impl RtRq {
    pub fn push(&mut self, priority: u8, task: TaskId, head: bool) {
        let index = match self.queues.binary_search_by(|(other, _)| priority.cmp(other)) {
            Ok(index) => index,
            Err(index) => {
                self.queues.insert(index, (priority, VecDeque::new()));
                index
            }
        };
        let queue = &mut self.queues[index].1;
        if head { queue.push_front(task) } else { queue.push_back(task) }
    }

    pub fn remove(&mut self, priority: u8, task: TaskId) {
        let Ok(index) = self.queues.binary_search_by(|(other, _)| priority.cmp(other)) else { return };
        let queue = &mut self.queues[index].1;
        // Mostly it is the first, which ran: however long the queue, that takes no time.
        if let Some(place) = queue.iter().position(|other| *other == task) {
            queue.remove(place);
        }
    }

    /// `requeue_task_rt`: to the head or the tail of its priority.
    pub fn requeue(&mut self, priority: u8, task: TaskId, head: bool) {
        self.remove(priority, task);
        self.push(priority, task, head);
    }

    /// The most urgent task.
    pub fn first(&self) -> Option<TaskId> {
        self.queues.iter().find_map(|(_, queue)| queue.front().copied())
    }

    /// Number of tasks of a priority.
    pub fn count(&self, priority: u8) -> usize {
        self.queues.iter().find(|(other, _)| *other == priority).map_or(0, |(_, queue)| queue.len())
    }

    /// All tasks, most urgent first.
    pub fn iter(&self) -> impl Iterator<Item = TaskId> + '_ {
        self.queues.iter().flat_map(|(_, queue)| queue.iter().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urgent_first_then_first_come_and_heads_before_all() {
        let mut queue = RtRq::default();
        for (priority, task, head) in [(5, 1, false), (9, 2, false), (5, 3, false), (5, 4, true)] {
            queue.push(priority, TaskId(task), head);
        }
        let order = |queue: &RtRq| queue.iter().map(|task| task.0).collect::<Vec<_>>();
        assert_eq!(order(&queue), [2, 4, 1, 3]);
        queue.requeue(5, TaskId(4), false);
        queue.remove(9, TaskId(2));
        assert_eq!((order(&queue), queue.count(5), queue.count(9)), (vec![1, 3, 4], 3, 0));
    }
}
