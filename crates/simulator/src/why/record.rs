// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is kept of a wait for a CPU while it goes on: facts, no judgement.

use crate::observer::detail::{Class, Queue, WaitReason};
use crate::units::{CpuId, Nanos, TaskId};

/// Steps of a wait that are kept from its beginning, and as many from its end.
const STEPS: usize = 12;
/// Threads that are told apart among those which ran instead; the time of others is added to the last.
pub const RUNNERS: usize = 16;
/// Idle CPUs that are told apart.
const IDLE_CPUS: usize = 16;

/// How urgent a thread is: the lesser is the more urgent, but for the weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Urgency {
    /// The class.
    pub class: Class,
    /// Kernel priority: 120 + nice of fair threads, 99 − priority of real-time ones.
    pub priority: i32,
    /// Load weight, 1024 at nice 0.
    pub weight: u32,
}

impl Urgency {
    /// Whether a thread of this urgency goes before one of the other.
    pub fn above(&self, other: &Self) -> bool {
        // A loaded scheduler's threads and fair ones are told apart by nice alone.
        let rank = |urgency: &Self| (urgency.class.min(Class::Fair), urgency.priority);
        rank(self) < rank(other)
    }
}

impl Default for Urgency {
    fn default() -> Self {
        Self { class: Class::Fair, priority: 120, weight: 1024 }
    }
}

/// How a wait for a CPU began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// The thread came into being, forked by `by` on `cpu`; `None`: at its delay.
    New {
        /// The thread that forked it.
        by: Option<TaskId>,
        /// The CPU on which that was.
        cpu: CpuId,
    },
    /// The thread was woken.
    Woken {
        /// By which thread; `None`: by a timer.
        by: Option<TaskId>,
        /// The CPU on which the wakeup happened.
        cpu: CpuId,
        /// What the thread had waited for.
        from: WaitReason,
    },
    /// The thread ran, and another one took its CPU: the thread was preempted, its slice was over, or it yielded.
    Displaced {
        /// The thread that took it.
        by: Option<TaskId>,
        /// The CPU.
        cpu: CpuId,
    },
}

/// What happened to a thread that waits for a CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// `select_cpu` of the loaded scheduler chose this CPU.
    SelectCpu {
        /// What it returned.
        chosen: i64,
    },
    /// `enqueue` of the loaded scheduler was called.
    Enqueue,
    /// The thread came into a queue, in which there are so many then.
    Queued {
        /// The queue.
        queue: Queue,
        /// Threads in it.
        depth: u32,
        /// The callback that decided it, and the CPU that executed it; `None`: the kernel, or a program of a timer.
        by: Option<(&'static str, CpuId)>,
    },
    /// The thread is in no queue: the loaded scheduler's program remembers it, or has forgotten it.
    Held,
    /// The thread was moved to another CPU.
    Migrated {
        /// The new CPU.
        to: CpuId,
    },
    /// The loaded scheduler was ejected; the thread goes back to Linux's own.
    Ejected,
}

/// Steps with their times, from the beginning and the end of a wait; a number says how many are missing between.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Steps {
    first: Vec<(Nanos, Step)>,
    last: std::collections::VecDeque<(Nanos, Step)>,
    /// Steps between that were not kept.
    pub missing: u64,
}

impl Steps {
    /// Adds a step.
    pub fn add(&mut self, now: Nanos, step: Step) {
        if self.first.len() < STEPS {
            self.first.push((now, step));
            return;
        }
        if self.last.len() == STEPS {
            self.last.pop_front();
            self.missing += 1;
        }
        self.last.push_back((now, step));
    }

    /// The steps that were kept, in order of time.
    pub fn iter(&self) -> impl Iterator<Item = &(Nanos, Step)> {
        self.first.iter().chain(&self.last)
    }
}

/// A thread that ran where another one waited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ran {
    /// The thread.
    pub task: TaskId,
    /// How urgent the thread is.
    pub urgency: Urgency,
    /// How long it ran meanwhile, of all CPUs together.
    pub time: Nanos,
    /// The part of `time` that the highest clock would have saved.
    pub slowed: Nanos,
}

/// A CPU that idled while a thread waited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Idle {
    /// The CPU.
    pub cpu: CpuId,
    /// For how long, in sum.
    pub time: Nanos,
    /// From when on.
    pub first: Nanos,
    /// Whether the thread may use the CPU.
    pub allowed: bool,
}

/// What passes between the switch to a thread and its first instruction, ns each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Overhead {
    /// Leaving an idle state.
    pub idle_exit: Nanos,
    /// The context switch itself.
    pub switch: Nanos,
    /// Filling caches again.
    pub cold: Nanos,
    /// What kernel and callbacks still had to do there.
    pub kernel: Nanos,
}

impl Overhead {
    /// All of it.
    pub fn total(&self) -> Nanos {
        self.idle_exit + self.switch + self.cold + self.kernel
    }

    /// Adds another overhead.
    pub fn add(&mut self, other: &Self) {
        self.idle_exit += other.idle_exit;
        self.switch += other.switch;
        self.cold += other.cold;
        self.kernel += other.kernel;
    }
}

/// A wait for a CPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CpuWait {
    /// The thread.
    pub task: TaskId,
    /// How urgent the thread is.
    pub urgency: Urgency,
    /// When it became runnable.
    pub since: Nanos,
    /// When it executed its first instruction, or when the run ended.
    pub until: Nanos,
    /// Whether it came to run.
    pub ended: bool,
    /// How it began.
    pub start: Start,
    /// What happened meanwhile.
    pub steps: Steps,
    /// The CPU to which it belonged at the beginning.
    pub target: CpuId,
    /// The CPU on which it ran in the end.
    pub ran_on: Option<CpuId>,
    /// The thread that ran on its CPU when it became runnable.
    pub first_runner: Option<TaskId>,
    /// Who ran where it could have run.
    pub ran: Vec<Ran>,
    /// CPUs that idled.
    pub idle: Vec<Idle>,
    /// Time in no queue.
    pub held: Nanos,
    /// For how long the limit of its group kept it from running.
    pub throttled: Nanos,
    /// What passed after the switch.
    pub overhead: Overhead,
    /// Whether the loaded scheduler was ejected meanwhile.
    pub ejected: bool,
    /// Whether the thread changed its CPU at half of its latest stays or more.
    pub wanders: bool,
}

impl CpuWait {
    /// A wait that begins.
    pub fn new(task: TaskId, urgency: Urgency, now: Nanos, start: Start, target: CpuId) -> Self {
        Self {
            task,
            urgency,
            since: now,
            until: now,
            ended: false,
            start,
            steps: Steps::default(),
            target,
            ran_on: None,
            first_runner: None,
            ran: Vec::new(),
            idle: Vec::new(),
            held: 0,
            throttled: 0,
            overhead: Overhead::default(),
            ejected: false,
            wanders: false,
        }
    }

    /// How long it took.
    pub fn length(&self) -> Nanos {
        self.until - self.since
    }

    /// When the thread got its CPU; what follows is overhead.
    pub fn switched(&self) -> Nanos {
        self.until - self.overhead.total()
    }

    /// The idle CPU that idled longest, of those which the thread may use, or may not use.
    pub fn best_idle(&self, allowed: bool) -> Option<&Idle> {
        let of_kind = self.idle.iter().filter(|idle| idle.allowed == allowed);
        of_kind.min_by_key(|idle| (std::cmp::Reverse(idle.time), idle.cpu))
    }
}

/// Adds a thread's time to those that ran.
pub fn add_ran(list: &mut Vec<Ran>, ran: Ran) {
    let known = list.iter().position(|known| known.task == ran.task);
    let full = list.len() == RUNNERS;
    match known.or(full.then_some(RUNNERS - 1)) {
        Some(at) => {
            list[at].time += ran.time;
            list[at].slowed += ran.slowed;
        }
        None => list.push(ran),
    }
}

/// Adds a span that a CPU idled; of more CPUs than are told apart those that idled longest stay.
pub fn add_idle(list: &mut Vec<Idle>, idle: Idle) {
    if let Some(known) = list.iter_mut().find(|known| known.cpu == idle.cpu) {
        known.time += idle.time;
        return;
    }
    if list.len() < IDLE_CPUS {
        return list.push(idle);
    }
    if let Some(least) = list.iter_mut().min_by_key(|known| known.time).filter(|least| least.time < idle.time) {
        *least = idle;
    }
}

/// The thread that ran longest, the first of equals.
pub fn main_runner(list: &[Ran]) -> Option<&Ran> {
    list.iter().rev().max_by_key(|ran| ran.time)
}
