// SPDX-License-Identifier: MIT OR Apache-2.0
//! Mutexes: which thread holds each, and which wait for it.

use super::record::{CpuWait, RUNNERS, Ran, Urgency, add_ran};
use crate::units::{Nanos, TaskId};

/// A thread that held a mutex while another one waited for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Holder {
    /// The thread.
    pub task: TaskId,
    /// How urgent the thread is.
    pub urgency: Urgency,
    /// For how long, in sum.
    pub time: Nanos,
    /// How often it took the mutex, the time before the wait included.
    pub turns: u32,
}

/// A wait for a mutex.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockWait {
    /// The thread.
    pub task: TaskId,
    /// The urgency of the thread when it began to wait.
    pub urgency: Urgency,
    /// The mutex.
    pub mutex: u32,
    /// When it asked for the mutex.
    pub since: Nanos,
    /// When it got the mutex, or when the run ended.
    pub until: Nanos,
    /// Whether it got the mutex.
    pub ended: bool,
    /// Threads that waited for the mutex already.
    pub before: u32,
    /// Threads that held it, the first first.
    pub holders: Vec<Holder>,
    /// Time for which its holder was runnable and did not run.
    pub holder_waited: Nanos,
    /// Who ran instead of the holder.
    pub instead: Vec<Ran>,
}

impl LockWait {
    /// How long it took.
    pub fn length(&self) -> Nanos {
        self.until - self.since
    }

    /// Adds the time for which `task` held the mutex.
    pub fn add_holder(&mut self, task: TaskId, urgency: Urgency, time: Nanos) {
        let known = self.holders.iter().position(|holder| holder.task == task);
        let full = self.holders.len() == RUNNERS;
        match known.or(full.then_some(RUNNERS - 1)) {
            Some(at) => {
                self.holders[at].time += time;
                self.holders[at].turns += 1;
            }
            None => self.holders.push(Holder { task, urgency, time, turns: 1 }),
        }
    }

    /// How often others held the mutex.
    pub fn turns(&self) -> u32 {
        self.holders.iter().map(|holder| holder.turns).sum()
    }
}

/// A mutex.
#[derive(Debug, Default)]
struct Mutex {
    /// The thread that holds it, with its urgency, and since when.
    holder: Option<(TaskId, Urgency, Nanos)>,
    waiters: Vec<LockWait>,
}

/// The mutexes of a workload.
#[derive(Debug)]
pub struct Locks(Vec<Mutex>);

impl Locks {
    /// So many mutexes, all free.
    pub fn new(count: usize) -> Self {
        Self((0..count).map(|_| Mutex::default()).collect())
    }

    /// `task` asks for a mutex that it cannot have. A thread that was woken for it and came too late goes on waiting.
    pub fn waits(&mut self, mutex: u32, task: TaskId, urgency: Urgency, now: Nanos) {
        let entry = &mut self.0[mutex as usize];
        if entry.waiters.iter().any(|wait| wait.task == task) {
            return;
        }
        entry.waiters.push(LockWait {
            task,
            urgency,
            mutex,
            since: now,
            until: now,
            ended: false,
            before: entry.waiters.len() as u32,
            holders: Vec::new(),
            holder_waited: 0,
            instead: Vec::new(),
        });
    }

    /// `task` has the mutex; its wait, if it had to wait.
    pub fn takes(&mut self, mutex: u32, task: TaskId, urgency: Urgency, now: Nanos) -> Option<LockWait> {
        let entry = &mut self.0[mutex as usize];
        entry.holder = Some((task, urgency, now));
        let at = entry.waiters.iter().position(|wait| wait.task == task)?;
        let mut wait = entry.waiters.remove(at);
        (wait.until, wait.ended) = (now, true);
        Some(wait)
    }

    /// The mutex is free.
    pub fn frees(&mut self, mutex: u32, now: Nanos) {
        let entry = &mut self.0[mutex as usize];
        let Some((task, urgency, since)) = entry.holder.take() else { return };
        for wait in &mut entry.waiters {
            wait.add_holder(task, urgency, now - since.max(wait.since).min(now));
        }
    }

    /// A thread waited for a CPU: what threads that wait for its mutexes lost by that.
    pub fn holder_waited(&mut self, waited: &CpuWait) {
        let holds = |entry: &&mut Mutex| entry.holder.is_some_and(|(holder, ..)| holder == waited.task);
        for wait in self.0.iter_mut().filter(holds).flat_map(|entry| &mut entry.waiters) {
            let time = waited.until - waited.since.max(wait.since).min(waited.until);
            wait.holder_waited += time;
            for ran in waited.ran.iter().filter(|_| time > 0) {
                add_ran(&mut wait.instead, Ran { time: ran.time.min(time), ..*ran });
            }
        }
    }

    /// The waits that the end of the run at `now` cut off.
    pub fn end(&mut self, now: Nanos) -> Vec<LockWait> {
        for mutex in 0..self.0.len() {
            self.frees(mutex as u32, now);
        }
        let waits = self.0.iter_mut().flat_map(|entry| std::mem::take(&mut entry.waiters));
        waits.map(|wait| LockWait { until: now, ..wait }).collect()
    }
}
