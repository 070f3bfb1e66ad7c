// SPDX-License-Identifier: MIT OR Apache-2.0
//! What an observer may ask to be told beyond switches and wake-ups: why threads wait, and where they are queued.

use std::fmt;
use std::sync::Arc;

use crate::units::{CpuId, MemoryDomainId, Nanos, TaskId};

/// The scheduling class of a thread, most urgent first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// `SCHED_DEADLINE`.
    Deadline,
    /// `SCHED_FIFO` and `SCHED_RR`.
    RealTime,
    /// Linux's own fair class.
    Fair,
    /// A loaded sched_ext scheduler.
    Ext,
}

/// What a thread waits for that other threads give. The number is that of the object, or of the kind of thread, among its
/// kind in the workload.
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

/// What a thread waits for that is not a CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum WaitReason {
    /// A time.
    Sleep,
    /// Something that other threads give.
    Object(WaitsFor),
}

/// Where a runnable thread is queued.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Queue {
    /// The run queue of a CPU, in one of Linux's own classes.
    RunQueue(CpuId),
    /// The local dispatch queue of a CPU (`SCX_DSQ_LOCAL`).
    Local(CpuId),
    /// The global dispatch queue of a NUMA node (`SCX_DSQ_GLOBAL`).
    Global(u32),
    /// A dispatch queue that the loaded scheduler created, by its id.
    User(u64),
}

impl fmt::Display for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RunQueue(cpu) => write!(f, "run queue of CPU {cpu}"),
            Self::Local(cpu) => write!(f, "local DSQ of CPU {cpu}"),
            Self::Global(0) => f.write_str("global DSQ"),
            Self::Global(node) => write!(f, "global DSQ of node {node}"),
            Self::User(id) => write!(f, "DSQ {id:#x}"),
        }
    }
}

/// One thing more that happens, for observers that [ask](super::Observer::wants_details).
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Detail {
    /// A thread has these parameters from now on: its own, or those of a thread that waits for a mutex of its.
    Scheduling {
        /// The thread.
        task: TaskId,
        /// The thread's class.
        class: Class,
        /// Kernel priority, as [`super::TaskInfo::priority`].
        priority: i32,
        /// Load weight, 1024 at nice 0.
        weight: u32,
    },
    /// A thread may use these CPUs from now on, ascending; `None`: all.
    Affinity {
        /// The thread.
        task: TaskId,
        /// The CPUs.
        allowed: Option<Arc<[CpuId]>>,
    },
    /// A thread begins to wait for something else than a CPU; it blocks, or spins for a while first. The wait ends with
    /// `sched_wakeup`, or with [`Detail::StopsSpinning`].
    Waits {
        /// The thread.
        task: TaskId,
        /// What it waits for.
        on: WaitReason,
        /// The thread that holds what it waits for, of a mutex.
        owner: Option<TaskId>,
    },
    /// A thread has what it waited for before it blocked.
    StopsSpinning {
        /// The thread.
        task: TaskId,
    },
    /// A thread takes a mutex.
    Locks {
        /// The thread.
        task: TaskId,
        /// The mutex.
        mutex: u32,
    },
    /// A mutex is free.
    Unlocks {
        /// The thread that frees it.
        task: TaskId,
        /// The mutex.
        mutex: u32,
    },
    /// A thread comes to its periodic timer: the round that began at the expiry before is done. It is late if `due` is past.
    Round {
        /// The thread.
        task: TaskId,
        /// When the round should have been done: the expiry for which the thread waits, or which it has missed.
        due: Nanos,
        /// The timer's period, ns.
        period: Nanos,
        /// Whether the next expiry is a period behind `due` even if that is past; else the timer starts anew then.
        absolute: bool,
    },
    /// A thread that was just switched to begins to execute only after this overhead, all of it in ns.
    Enters {
        /// The thread.
        task: TaskId,
        /// The CPU that it got.
        cpu: CpuId,
        /// Exit latency of the idle state.
        idle_exit: Nanos,
        /// The context switch itself.
        switch: Nanos,
        /// Cold caches after a migration, or after others.
        cold: Nanos,
        /// What the kernel and a loaded scheduler's callbacks still had to do there.
        kernel: Nanos,
    },
    /// A thread changed its CPU.
    Migrates {
        /// The thread.
        task: TaskId,
        /// The CPU that it was on.
        from: CpuId,
        /// The CPU that it is on from now on.
        to: CpuId,
    },
    /// A callback of the loaded scheduler returned.
    Callback {
        /// The callback's name, a member of `struct sched_ext_ops`.
        name: &'static str,
        /// The CPU that executed it.
        cpu: CpuId,
        /// The thread that it is about.
        task: Option<TaskId>,
        /// What it returned; 0 of those that return nothing.
        result: i64,
        /// Instructions that it executed.
        instructions: u64,
    },
    /// A runnable thread was put into a queue.
    Queued {
        /// The thread.
        task: TaskId,
        /// The queue.
        queue: Queue,
        /// Threads in the queue, this one included; of a run queue, the running one too.
        depth: u32,
        /// The callback of the loaded scheduler that decided it, and the CPU that executed the callback; `None`: the kernel, or a program of a timer.
        by: Option<(&'static str, CpuId)>,
    },
    /// A thread was taken out of a dispatch queue.
    Unqueued {
        /// The thread.
        task: TaskId,
        /// The queue.
        queue: Queue,
        /// Threads left in the queue.
        depth: u32,
    },
    /// A runnable thread is in no queue: the loaded scheduler's program remembers it, or has forgotten it.
    Held {
        /// The thread.
        task: TaskId,
    },
    /// A runnable thread waits because its group has used up its limit on CPU time, or no longer for that.
    Throttled {
        /// The thread.
        task: TaskId,
        /// Whether it does.
        throttled: bool,
    },
    /// Utilisation of a CPU as schedutil sees it, 0..=1024.
    Utilisation {
        /// The CPU.
        cpu: CpuId,
        /// The utilisation.
        util: u32,
    },
    /// Mean traffic of a memory domain from `since` to now.
    Bandwidth {
        /// The domain.
        domain: MemoryDomainId,
        /// Where the span begins.
        since: Nanos,
        /// Bytes a second.
        bytes_per_s: f64,
    },
    /// The loaded scheduler was ejected, or ended itself.
    Ejected {
        /// The kernel's reason and message.
        why: String,
    },
}
