// SPDX-License-Identifier: MIT OR Apache-2.0
//! The worst waits with names, for people and programs. The field names are the JSON schema (docs/reports.md).

use serde::Serialize;

use super::cause::Cause;

/// Why threads waited.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Report {
    /// The longest waits for a CPU, the longest first.
    pub waits: Vec<WaitReport>,
    /// The longest waits for a mutex, the longest first.
    pub locks: Vec<LockReport>,
    /// The rounds of periodic threads that were most late, the latest first.
    pub misses: Vec<MissReport>,
    /// Rounds of periodic threads that were done.
    pub rounds: u64,
    /// Rounds that were done, but late.
    pub late_rounds: u64,
    /// All waits for a CPU by cause, the most time first.
    pub wait_causes: Vec<CauseReport>,
    /// All waits for a mutex by cause, the most time first.
    pub lock_causes: Vec<CauseReport>,
}

/// All waits that have one cause.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CauseReport {
    /// The cause.
    pub cause: Cause,
    /// How many waits.
    pub count: u64,
    /// How long they were in sum, in seconds.
    pub time_s: f64,
}

/// A wait for a CPU.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WaitReport {
    /// The thread.
    pub task: String,
    /// What was to blame.
    pub cause: Cause,
    /// What could be done about it.
    pub remedy: &'static str,
    /// When the thread became runnable, in seconds of the run.
    pub since_s: f64,
    /// Seconds from then to its first instruction, or to the end of the run.
    pub waited_s: f64,
    /// Whether it came to run.
    pub ended: bool,
    /// How urgent the thread is.
    #[serde(flatten)]
    pub urgency: UrgencyReport,
    /// How the wait began.
    pub start: StartReport,
    /// What happened meanwhile, in order of time.
    pub steps: Vec<StepReport>,
    /// Steps in the middle that were not kept.
    pub missing_steps: u64,
    /// The CPU to which the thread belonged at the beginning.
    pub cpu: u32,
    /// The CPU on which it ran in the end.
    pub ran_on: Option<u32>,
    /// Threads that ran where it could have run, the longest first.
    pub ran_instead: Vec<RanReport>,
    /// CPUs that idled meanwhile, the longest first.
    pub idle: Vec<IdleReport>,
    /// Seconds in no queue: the loaded scheduler's program remembered the thread, or had forgotten it.
    pub held_s: f64,
    /// Time for which the limit of the thread's group kept it from running, in seconds.
    pub throttled_s: f64,
    /// The last part of the wait, after the switch to the thread.
    pub overhead: OverheadReport,
    /// What an earlier placement would have changed; `None`: nothing, as no CPU that the thread may use idled.
    pub earlier: Option<EarlierReport>,
    /// Whether the loaded scheduler was ejected meanwhile.
    pub ejected: bool,
}

/// How urgent a thread is.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UrgencyReport {
    /// `deadline`, `rt`, `fair` or `ext`.
    pub class: &'static str,
    /// Kernel priority: 120 + nice of fair threads, 99 − priority of real-time ones.
    pub priority: i32,
    /// Load weight, 1024 at nice 0.
    pub weight: u32,
}

/// How a wait for a CPU began.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "how", rename_all = "snake_case")]
pub enum StartReport {
    /// The thread came into being.
    New {
        /// The thread that forked it.
        by: Option<String>,
        /// The CPU on which that was.
        cpu: u32,
    },
    /// The thread was woken.
    Woken {
        /// By which thread; `None`: by a timer.
        by: Option<String>,
        /// The CPU on which the wakeup happened.
        cpu: u32,
        /// What the thread had waited for: `timer`, `mutex m`.
        from: String,
    },
    /// Another thread took its CPU.
    Displaced {
        /// The thread that took it.
        by: Option<String>,
        /// The CPU.
        cpu: u32,
    },
}

/// What happened to a thread that waits for a CPU.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StepReport {
    /// When the step was, in seconds of the run.
    pub at_s: f64,
    /// The step itself.
    #[serde(flatten)]
    pub what: WhatReport,
}

/// One step.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "step", rename_all = "snake_case")]
pub enum WhatReport {
    /// `select_cpu` of the loaded scheduler returned this.
    SelectCpu {
        /// A CPU, if the scheduler is right.
        cpu: i64,
    },
    /// `enqueue` of the loaded scheduler was called.
    Enqueue,
    /// The thread came into a queue.
    Queued {
        /// Which: `run queue of CPU 0`, `DSQ 0x1`.
        queue: String,
        /// Threads in it, this one included.
        depth: u32,
        /// The callback of the loaded scheduler that decided it; `None`: the kernel, or a program of a timer.
        callback: Option<&'static str>,
        /// The CPU that executed the callback.
        callback_cpu: Option<u32>,
    },
    /// The thread was in no queue from then on.
    Held,
    /// The thread was moved to another CPU.
    Migrated {
        /// The new CPU.
        cpu: u32,
    },
    /// The loaded scheduler was ejected.
    Ejected,
}

/// A thread that ran while another one waited.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RanReport {
    /// The thread.
    pub task: String,
    /// For how many seconds it ran, on all CPUs together.
    pub time_s: f64,
    /// The part of `time_s` that the highest clock would have saved, in seconds.
    pub slowed_s: f64,
    /// How urgent the thread is.
    #[serde(flatten)]
    pub urgency: UrgencyReport,
}

/// A CPU that idled while a thread waited.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IdleReport {
    /// The CPU.
    pub cpu: u32,
    /// For how many seconds the CPU idled.
    pub idle_s: f64,
    /// When that began, in seconds of the run.
    pub from_s: f64,
    /// Whether the thread may use it.
    pub allowed: bool,
}

/// What passed between the switch to a thread and its first instruction.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OverheadReport {
    /// Seconds for leaving an idle state.
    pub idle_exit_s: f64,
    /// Seconds for the context switch.
    pub switch_s: f64,
    /// Seconds for filling caches again.
    pub cold_s: f64,
    /// Seconds for what kernel and callbacks still had to do there.
    pub kernel_s: f64,
}

/// What an earlier placement would have changed.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EarlierReport {
    /// The CPU that was idle.
    pub cpu: u32,
    /// So many seconds earlier the thread would have got a CPU there.
    pub earlier_s: f64,
}

/// A wait for a mutex.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LockReport {
    /// The thread.
    pub task: String,
    /// What was to blame.
    pub cause: Cause,
    /// What could be done about it.
    pub remedy: &'static str,
    /// The mutex.
    pub mutex: String,
    /// When the thread asked for it, in seconds of the run.
    pub since_s: f64,
    /// Seconds from then to where it had the mutex, or to the end of the run.
    pub waited_s: f64,
    /// Whether it got the mutex.
    pub ended: bool,
    /// Threads that waited for it already.
    pub before: u32,
    /// Threads that held it meanwhile, in order.
    pub holders: Vec<HolderReport>,
    /// Seconds for which its holder was runnable and did not run.
    pub holder_waited_s: f64,
    /// Threads that ran then, the longest first.
    pub ran_instead: Vec<RanReport>,
    /// How urgent the thread is.
    #[serde(flatten)]
    pub urgency: UrgencyReport,
}

/// A thread that held a mutex while another one waited.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HolderReport {
    /// The thread.
    pub task: String,
    /// For how many seconds it held the mutex.
    pub time_s: f64,
    /// How often it had the mutex.
    pub turns: u32,
    /// How urgent the thread is.
    #[serde(flatten)]
    pub urgency: UrgencyReport,
}

/// A round of a periodic thread that was late.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MissReport {
    /// The thread.
    pub task: String,
    /// What was to blame.
    pub cause: Cause,
    /// What could be done about it.
    pub remedy: &'static str,
    /// When the round should have been done, in seconds of the run.
    pub due_s: f64,
    /// How many seconds later it was, or is at the end of the run.
    pub late_s: f64,
    /// Whether it was done.
    pub ended: bool,
    /// The period, in seconds.
    pub period_s: f64,
    /// How many seconds late the round began, because the one before was late.
    pub backlog_s: f64,
    /// Seconds that the work takes on the fastest CPU that the thread may use, at the highest clock.
    pub work_s: f64,
    /// Seconds that low clocks added.
    pub lost_to_clock_s: f64,
    /// Seconds that slower CPUs added.
    pub lost_to_cpu_s: f64,
    /// Seconds of waits for a CPU, without overhead.
    pub waited_s: f64,
    /// Seconds between switches and first instructions.
    pub overhead: OverheadReport,
    /// Seconds of waits for mutexes.
    pub locked_s: f64,
    /// Seconds of waits for other threads.
    pub for_others_s: f64,
    /// Times that the thread changed its CPU.
    pub migrations: u32,
    /// The longest wait for a CPU in it.
    pub longest_wait: Option<WaitReport>,
    /// The longest wait for a mutex in it.
    pub longest_lock: Option<LockReport>,
}

impl WaitReport {
    /// The thread that ran longest meanwhile.
    pub fn main_runner(&self) -> Option<&RanReport> {
        self.ran_instead.first()
    }
}
