// SPDX-License-Identifier: MIT OR Apache-2.0
//! Locks, conditions, barriers, semaphores: which task holds, which wait, which goes next. Of time they only keep when
//! a semaphore was posted; they know no CPUs.
//!
//! As futexes do it: a release wakes the first sleeper, which tries again once it runs, so a thread that comes by in
//! between may be faster (no hand-over). Threads that spin take a released lock at once. Mutexes that inherit priority are
//! handed over, which is the caller's business. Left out: robust and process-shared mutexes, the cost of the system calls.

use std::collections::VecDeque;

use crate::units::{Nanos, TaskId};
use crate::workload::Objects;

/// All synchronisation objects of a run.
#[derive(Debug, Default)]
pub struct SyncObjects {
    mutexes: Vec<Mutex>,
    conditions: Vec<VecDeque<TaskId>>,
    barriers: Vec<Barrier>,
    semaphores: Vec<Semaphore>,
    /// Per kind of thread: the suspended ones.
    suspended: Vec<VecDeque<TaskId>>,
}

#[derive(Debug, Default)]
struct Mutex {
    owner: Option<TaskId>,
    waiters: VecDeque<TaskId>,
}

#[derive(Debug, Default)]
struct Barrier {
    parties: u32,
    arrived: Vec<TaskId>,
}

#[derive(Debug, Default)]
struct Semaphore {
    /// Posts that nothing has taken yet, the first first: when, and how many then.
    posts: VecDeque<(Nanos, u64)>,
    waiters: VecDeque<TaskId>,
}

/// What a task waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum WaitsFor {
    /// A mutex.
    Mutex(u32),
    /// A condition variable.
    Condition(u32),
    /// A barrier.
    Barrier(u32),
    /// A semaphore.
    Semaphore(u32),
    /// A `resume` of its kind.
    Resume(u32),
    /// The other participants of a parallel loop.
    Loop(u32),
    /// The end of the threads it forked.
    Children,
}

impl SyncObjects {
    /// The objects of a workload with so many kinds of threads.
    pub fn new(objects: &Objects, kinds: usize) -> Self {
        let fill = |count: usize| (0..count).map(|_| VecDeque::new()).collect();
        Self {
            mutexes: objects.mutexes.iter().map(|_| Mutex::default()).collect(),
            conditions: fill(objects.conditions.len()),
            barriers: objects
                .barriers
                .iter()
                .map(|(_, parties)| Barrier { parties: *parties, ..Barrier::default() })
                .collect(),
            semaphores: objects.semaphores.iter().map(|_| Semaphore::default()).collect(),
            suspended: fill(kinds),
        }
    }

    /// Takes a free mutex. The task that holds it already does not get it again, as with glibc's default mutex.
    pub fn try_lock(&mut self, mutex: u32, task: TaskId) -> bool {
        let mutex = &mut self.mutexes[mutex as usize];
        if mutex.owner.is_some() {
            return false;
        }
        mutex.owner = Some(task);
        true
    }

    /// Queues a task that could not lock; [`SyncObjects::leave_mutex`] takes it out again.
    pub fn wait_for_mutex(&mut self, mutex: u32, task: TaskId) {
        self.mutexes[mutex as usize].waiters.push_back(task);
    }

    /// `task` no longer waits for the mutex: it was woken, or took the lock while spinning.
    pub fn leave_mutex(&mut self, mutex: u32, task: TaskId) {
        self.mutexes[mutex as usize].waiters.retain(|waiter| *waiter != task);
    }

    /// Releases a mutex for any task, as glibc's default mutex does not check; returns the task that held it.
    pub fn unlock(&mut self, mutex: u32) -> Option<TaskId> {
        self.mutexes[mutex as usize].owner.take()
    }

    /// Tasks that wait for a mutex, first come first.
    pub fn waiters(&self, mutex: u32) -> &VecDeque<TaskId> {
        &self.mutexes[mutex as usize].waiters
    }

    /// The task that holds a mutex.
    pub fn owner(&self, mutex: u32) -> Option<TaskId> {
        self.mutexes[mutex as usize].owner
    }

    /// The mutexes that a task holds.
    pub fn held_by(&self, task: TaskId) -> impl Iterator<Item = u32> + '_ {
        (0..).zip(&self.mutexes).filter(move |(_, mutex)| mutex.owner == Some(task)).map(|(index, _)| index)
    }

    /// Whether a mutex can be had.
    pub fn is_free(&self, mutex: u32) -> bool {
        self.mutexes[mutex as usize].owner.is_none()
    }

    /// Waits for a condition.
    pub fn wait_for_condition(&mut self, condition: u32, task: TaskId) {
        self.conditions[condition as usize].push_back(task);
    }

    /// The first task that waits for a condition.
    pub fn signal(&mut self, condition: u32) -> Option<TaskId> {
        self.conditions[condition as usize].pop_front()
    }

    /// All tasks that wait for a condition.
    pub fn broadcast(&mut self, condition: u32) -> VecDeque<TaskId> {
        std::mem::take(&mut self.conditions[condition as usize])
    }

    /// Arrives at a barrier; the others if it was the last.
    pub fn arrive(&mut self, barrier: u32, task: TaskId) -> Option<Vec<TaskId>> {
        let barrier = &mut self.barriers[barrier as usize];
        barrier.arrived.push(task);
        if (barrier.arrived.len() as u32) < barrier.parties {
            return None;
        }
        barrier.arrived.pop();
        Some(std::mem::take(&mut barrier.arrived))
    }

    /// How many have arrived at a barrier, of how many.
    pub fn arrivals(&self, barrier: u32) -> (usize, u32) {
        let barrier = &self.barriers[barrier as usize];
        (barrier.arrived.len(), barrier.parties)
    }

    /// Takes one from a semaphore, and says when that was posted; or queues the task.
    pub fn sem_wait(&mut self, semaphore: u32, task: TaskId) -> Option<Nanos> {
        let semaphore = &mut self.semaphores[semaphore as usize];
        let Some((posted, count)) = semaphore.posts.front_mut() else {
            semaphore.waiters.push_back(task);
            return None;
        };
        let posted = *posted;
        *count -= 1;
        if *count == 0 {
            semaphore.posts.pop_front();
        }
        Some(posted)
    }

    /// Posts a semaphore at `now`: the first waiter has it, or the count grows.
    pub fn sem_post(&mut self, semaphore: u32, now: Nanos) -> Option<TaskId> {
        let semaphore = &mut self.semaphores[semaphore as usize];
        let waiter = semaphore.waiters.pop_front();
        if waiter.is_none() {
            match semaphore.posts.back_mut() {
                Some((posted, count)) if *posted == now => *count += 1,
                _ => semaphore.posts.push_back((now, 1)),
            }
        }
        waiter
    }

    /// Suspends a thread of kind `kind`.
    pub fn suspend(&mut self, kind: u32, task: TaskId) {
        self.suspended[kind as usize].push_back(task);
    }

    /// All suspended threads of a kind.
    pub fn resume(&mut self, kind: u32) -> VecDeque<TaskId> {
        std::mem::take(&mut self.suspended[kind as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn objects() -> SyncObjects {
        let names = |name: &str| vec![name.to_owned()];
        let objects = Objects {
            mutexes: names("m"),
            conditions: names("c"),
            barriers: vec![("b".to_owned(), 2)],
            semaphores: names("s"),
            timers: Vec::new(),
        };
        SyncObjects::new(&objects, 1)
    }

    #[test]
    fn an_unlock_frees_a_mutex_but_hands_it_to_nobody() {
        let mut sync = objects();
        assert!(sync.try_lock(0, TaskId(1)));
        assert!(!sync.try_lock(0, TaskId(2)));
        sync.wait_for_mutex(0, TaskId(2));
        assert_eq!((sync.unlock(0), sync.unlock(0)), (Some(TaskId(1)), None));
        assert_eq!(sync.waiters(0), &[TaskId(2)]);
        assert!(sync.is_free(0), "no hand-over: the waiter must try again");
    }

    #[test]
    fn the_last_to_arrive_frees_the_others_and_the_barrier_can_be_used_again() {
        let mut sync = objects();
        for _ in 0..2 {
            assert_eq!(sync.arrive(0, TaskId(1)), None);
            assert_eq!(sync.arrive(0, TaskId(2)), Some(vec![TaskId(1)]));
        }
    }

    #[test]
    fn a_semaphore_remembers_posts_but_a_condition_forgets_signals() {
        let mut sync = objects();
        for now in [5, 5, 9] {
            assert_eq!(sync.sem_post(0, now), None);
        }
        let taken = [(); 4].map(|()| sync.sem_wait(0, TaskId(1)));
        assert_eq!(taken, [Some(5), Some(5), Some(9), None]);
        assert_eq!(sync.sem_post(0, 9), Some(TaskId(1)));
        assert_eq!(sync.signal(0), None);
        sync.wait_for_condition(0, TaskId(3));
        assert_eq!(sync.signal(0), Some(TaskId(3)));
    }
}
