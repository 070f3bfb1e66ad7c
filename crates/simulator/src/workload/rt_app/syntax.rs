// SPDX-License-Identifier: MIT OR Apache-2.0
//! What an rt-app file says, before names become indices and loops become jumps.

use super::super::{CgroupSpec, InterruptSpec, LoopSchedule, Spread};
use crate::units::Nanos;

/// Times that a task or a phase is repeated; `None`: for ever.
pub(super) type Repeat = Option<u64>;

/// The `global` object.
pub(super) struct Global {
    pub duration: Option<Nanos>,
    pub default_policy: PolicyKind,
    pub priority_inheritance: bool,
    pub cgroups: Vec<CgroupSpec>,
    pub interrupts: Vec<InterruptSpec>,
    /// Bytes of the buffer of `mem` and `iorun`.
    pub memory_buffer: u64,
}

/// One entry of `tasks`.
pub(super) struct Task {
    pub name: String,
    /// Byte offset at which the task's key starts.
    pub offset: usize,
    pub instances: u32,
    pub delay: Nanos,
    pub repeat: Repeat,
    pub settings: Settings,
    /// `nodes_membind`: the nodes that memory may be on.
    pub membind: Option<Vec<u32>>,
    pub tandem: Tandem,
    pub phases: Vec<Phase>,
}

/// One phase.
pub(super) struct Phase {
    pub name: String,
    pub offset: usize,
    pub repeat: Repeat,
    pub settings: Settings,
    pub tandem: Tandem,
    pub steps: Vec<Step>,
}

/// Settings that a task or a phase may have.
#[derive(Default)]
pub(super) struct Settings {
    pub scheduling: Option<SchedulingChange>,
    pub cpus: Option<Vec<u32>>,
    /// Name of the group, and its byte offset in the file.
    pub task_group: Option<(String, usize)>,
}

/// The scheduling keys of a task or a phase; `None` for a key that was not given.
#[derive(Clone)]
pub(super) struct SchedulingChange {
    /// The keys that were given, with their byte offsets.
    pub given: Vec<(&'static str, usize)>,
    pub offset: usize,
    pub policy: Option<PolicyKind>,
    pub priority: Option<i32>,
    /// Budget per period; 0: not given.
    pub runtime: Nanos,
    pub period: Nanos,
    pub deadline: Nanos,
    pub util_min: Option<u32>,
    pub util_max: Option<u32>,
}

/// A scheduling policy without its parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PolicyKind {
    Other,
    Batch,
    Idle,
    /// `SCHED_EXT`.
    Ext,
    Fifo,
    RoundRobin,
    Deadline,
}

/// The `tandem` object of a task or a phase.
#[derive(Default)]
pub(super) struct Tandem {
    pub memory_bound: Option<f64>,
    /// Memory traffic in bytes per nanosecond of work.
    pub bytes_per_work: Option<f64>,
    pub footprint: Option<u64>,
    pub activity: Option<f64>,
    pub spin: Option<Nanos>,
    pub run_spread: Option<Spread>,
    pub sleep_spread: Option<Spread>,
    pub application: Option<String>,
    pub system: bool,
    pub relative_length: Option<u64>,
    pub process: bool,
    pub kernel_thread: bool,
    pub disturbs: Option<u64>,
    pub join: bool,
    pub migration_disabled: bool,
    pub same_round: bool,
    pub deadline: Option<Nanos>,
    pub timer_slack: Option<Nanos>,
    pub frame: bool,
    /// Memory is on all nodes that it may be on, equally.
    pub interleave: bool,
}

/// An event, and the byte offset at which its key starts.
pub(super) struct Step {
    pub offset: usize,
    pub event: Event,
}

/// An event; its objects are given by name.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Event {
    Run(Nanos),
    Runtime(Nanos),
    Sleep(Nanos),
    Timer {
        timer: String,
        period: Nanos,
        absolute: bool,
    },
    Memory {
        bytes: u64,
        buffer: u64,
    },
    Chase {
        count: u64,
        buffer: u64,
    },
    Lock(String),
    Unlock(String),
    Wait {
        condition: String,
        mutex: String,
    },
    Sync {
        condition: String,
        mutex: String,
    },
    Signal(String),
    Broadcast(String),
    Barrier(String),
    /// The name that the `suspend` waits for, once it is settled; until then the name in the file.
    Suspend(String),
    Resume(String),
    SemPost(String),
    SemWait(String),
    Yield,
    Fork(String),
    ParallelFor(ParallelFor),
}

/// `tandem.parallel_for`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ParallelFor {
    pub name: String,
    pub iterations: u64,
    /// Work of one iteration.
    pub work: Nanos,
    pub schedule: LoopSchedule,
}

impl Task {
    /// The steps of all phases, in order.
    pub fn steps(&self) -> impl Iterator<Item = &Step> {
        self.phases.iter().flat_map(|phase| &phase.steps)
    }

    /// Whether the task's threads never end by themselves.
    pub fn endless(&self) -> bool {
        self.repeat.is_none() || (self.repeat != Some(0) && self.phases.iter().any(|phase| phase.repeat.is_none()))
    }
}

impl Event {
    /// The condition that the event waits for or wakes; `None` for other events, `suspend` and `resume` included.
    pub fn condition(&self) -> Option<&str> {
        match self {
            Self::Wait { condition, .. } | Self::Sync { condition, .. } => Some(condition),
            Self::Signal(condition) | Self::Broadcast(condition) => Some(condition),
            _ => None,
        }
    }

    /// The mutex that the event names.
    pub fn mutex(&self) -> Option<&str> {
        match self {
            Self::Lock(mutex) | Self::Unlock(mutex) => Some(mutex),
            Self::Wait { mutex, .. } | Self::Sync { mutex, .. } => Some(mutex),
            _ => None,
        }
    }
}
