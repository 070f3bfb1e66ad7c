// SPDX-License-Identifier: MIT OR Apache-2.0
//! All threads of a run: their kinds and names, and how far each has come.

use std::ops::{Index, IndexMut};

use super::processes::Processes;
use super::thread::{Segment, Thread};
use super::waits::Waits;
use crate::error::SimulationError;
use crate::kernel::sync::WaitsFor;
use crate::kernel::task::Migration;
use crate::observer::TaskInfo;
use crate::streams::{Stream, Streams};
use crate::units::{Nanos, TaskId};
use crate::workload::{Behaviour, Workload};

/// Steps that a thread may make at one instant; more is a loop that consumes no time.
const MAX_IDLE_STEPS: u32 = 1_000_000;
/// Threads of a run, ended ones included: forks that multiply end here rather than when memory does.
const MAX_THREADS: usize = 2_000_000;

/// Bytes that a thread takes, about: its own state and what the classes keep of it (some 900 bytes), and the histograms of
/// its latencies and responses (256 bytes for each power of two between the least and the largest; this has room for four).
pub(super) const PER_THREAD: u64 = 2048;

/// The threads of a run, ended ones included.
#[derive(Debug)]
pub(super) struct Threads<'r> {
    /// What the threads do.
    pub workload: &'r Workload,
    /// The random streams of the run.
    streams: Streams,
    list: Vec<Thread<'r>>,
    /// How many of them are there only to disturb.
    disturbing: u32,
    /// How many threads of each kind were made.
    made: Vec<u32>,
    /// How many of them wait.
    pub waits: Waits,
    /// Which process each belongs to.
    pub processes: Processes,
}

impl<'r> Index<TaskId> for Threads<'r> {
    type Output = Thread<'r>;

    #[inline]
    fn index(&self, task: TaskId) -> &Thread<'r> {
        &self.list[task.index()]
    }
}

impl<'r> IndexMut<TaskId> for Threads<'r> {
    #[inline]
    fn index_mut(&mut self, task: TaskId) -> &mut Thread<'r> {
        &mut self.list[task.index()]
    }
}

impl<'r> Threads<'r> {
    /// No thread of `workload` exists yet.
    pub fn new(workload: &'r Workload, streams: Streams) -> Self {
        Self {
            workload,
            streams,
            list: Vec::new(),
            disturbing: 0,
            made: vec![0; workload.tasks.len()],
            waits: Waits::of(workload),
            processes: Processes::default(),
        }
    }

    /// Adds a thread of kind number `spec` as `task`, the next number, at its first step.
    pub fn add(&mut self, spec: u32, parent: Option<TaskId>, task: TaskId) {
        let kind = &self.workload.tasks[spec as usize];
        let ordinal = self.made[spec as usize];
        self.made[spec as usize] += 1;
        let several = kind.instances != 1 || parent.is_some();
        // Threads that disturb change nothing of what the others draw.
        let stream = if kind.disturbance {
            self.disturbing += 1;
            Stream::Disturbance(self.disturbing - 1)
        } else {
            Stream::Thread(TaskId(task.0 - self.disturbing))
        };
        let mut thread = Thread::new(spec, kind, several.then_some(ordinal), self.streams.of(stream));
        thread.parent = parent;
        self.waits.begins(kind);
        let forker = parent.map(|parent| self.list[parent.index()].kind);
        self.processes.join(kind, task, parent.zip(forker));
        self.list.push(thread);
    }

    /// The first thread of the process whose memory `task` uses; `None` for kernel threads, which have none.
    pub fn address_space(&self, task: TaskId) -> Option<TaskId> {
        (!self[task].kind.kernel_thread).then(|| self.processes.leader(task))
    }

    /// Whether there has been no thread.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// All threads, in the order in which they were made.
    pub fn iter(&self) -> impl Iterator<Item = &Thread<'r>> {
        self.list.iter()
    }

    /// The numbers of all threads, ascending.
    pub fn ids(&self) -> impl ExactSizeIterator<Item = TaskId> + use<> {
        (0..self.list.len()).map(TaskId::at)
    }

    /// A thread as observers name it; `priority` is the kernel's.
    pub fn info(&self, task: TaskId, priority: i32) -> TaskInfo {
        let thread = &self[task];
        let application = (!thread.kind.system).then_some(thread.kind.application);
        TaskInfo { id: task, name: thread.name(), application, priority }
    }

    /// How a thread's present segment behaves: a step of its own kind, or the machine's default between such steps.
    #[inline]
    pub fn behaviour(&self, task: TaskId) -> &'r Behaviour {
        let thread = &self[task];
        let id = if matches!(thread.segment, Segment::Work(_) | Segment::Time(_)) { thread.behaviour.0 } else { 0 };
        &self.workload.behaviours[id as usize]
    }

    /// How a thread's latest work behaved: what the thread holds in caches, also while it sleeps.
    #[inline]
    pub fn latest_behaviour(&self, task: TaskId) -> &'r Behaviour {
        &self.workload.behaviours[self[task].behaviour.0 as usize]
    }

    /// Counts the migrations of these threads, and takes them out of the list.
    pub fn count_migrations(&mut self, migrated: &mut Vec<Migration>) {
        for migration in migrated.drain(..) {
            self.list[migration.task.index()].stats.migrations += 1;
        }
    }

    /// Counts a step; a thread that makes very many at one instant, blocked and woken in between or not, never ends.
    ///
    /// # Errors
    /// The thread loops without consuming time.
    #[inline]
    pub fn count_step(&mut self, task: TaskId, now: Nanos) -> Result<(), SimulationError> {
        let thread = &mut self.list[task.index()];
        if thread.stepped_at != now {
            (thread.stepped_at, thread.idle_steps) = (now, 0);
        }
        thread.idle_steps += 1;
        if thread.idle_steps <= MAX_IDLE_STEPS { Ok(()) } else { Err(self.no_progress(task, now)) }
    }

    #[cold]
    fn no_progress(&self, task: TaskId, at: Nanos) -> SimulationError {
        SimulationError::NoProgress { thread: self.list[task.index()].name(), at }
    }

    /// Whether there may be so many threads more; asked before they are made.
    ///
    /// # Errors
    /// There are too many.
    pub fn have_room(&self, more: u64, now: Nanos) -> Result<(), SimulationError> {
        match self.list.len() as u64 + more <= MAX_THREADS as u64 {
            true => Ok(()),
            false => Err(SimulationError::TooManyThreads { limit: MAX_THREADS, at: now }),
        }
    }

    /// Counts a thread as blocked on what it waits for.
    pub fn blocks(&mut self, task: TaskId) {
        let thread = &self.list[task.index()];
        self.waits.blocks(thread.kind, thread.waiting);
    }

    /// Counts a blocked thread as woken: it no longer waits.
    pub fn unblocks(&mut self, task: TaskId) {
        let thread = &mut self.list[task.index()];
        self.waits.unblocks(thread.kind, thread.waiting.take());
    }

    /// The warning that `task` unlocks a mutex that `owner` holds, and what happens `then`.
    pub fn wrong_unlock(&self, task: TaskId, mutex: u32, owner: TaskId, then: &str) -> String {
        let (task, owner) = (self[task].name(), self[owner].name());
        let name = &self.workload.objects.mutexes[mutex as usize];
        format!("{task} unlocks mutex `{name}`, which {owner} holds: {then}")
    }

    /// A child of `parent` has ended; whether that was what `parent` waited for.
    pub fn child_ends(&mut self, parent: TaskId) -> bool {
        let parent = &mut self.list[parent.index()];
        parent.children -= 1;
        parent.children == 0 && parent.waiting == Some(WaitsFor::Children)
    }
}
