// SPDX-License-Identifier: MIT OR Apache-2.0
//! The report of one simulation: the numbers that a run is judged by.
//!
//! The field names are the JSON schema (docs/reports.md); a metric that was not measured is `None`, never 0.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};

/// Version of the JSON schema; it grows when a field changes its meaning or goes away.
pub const SCHEMA: u32 = 1;

/// The result of one simulation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Version of the schema, [`SCHEMA`].
    pub schema: u32,
    /// Workload name.
    pub workload: String,
    /// Machine name, with its configuration.
    pub machine: String,
    /// Scheduler name.
    pub scheduler: String,
    /// Governor name.
    pub governor: String,
    /// Seed of all random streams.
    pub seed: u64,
    /// Simulated time from the start to the end of the last application thread, or to the time limit.
    pub time_s: f64,
    /// Whether a time limit ended the run; then `time_s` is that limit and no measure of speed.
    pub time_limited: bool,
    /// Energy by part.
    pub energy_j: Energy,
    /// Mean power: `energy_j.total / time_s`.
    pub power_w: f64,
    /// Energy × time; `None` where a time limit ended the run.
    pub edp_js: Option<f64>,
    /// Energy × time²; `None` where a time limit ended the run.
    pub ed2p_js2: Option<f64>,
    /// Completed application work per second of run: seconds of work on the reference CPU per second.
    pub throughput: f64,
    /// Share of the online CPUs' time spent idle.
    pub idle_share: f64,
    /// Context switches (`sched_switch`), to and from idle included.
    pub switches: u64,
    /// Times a thread moved to another CPU.
    pub migrations: u64,
    /// Processed entries of the event queue.
    pub events: u64,
    /// How late the threads of all applications were.
    #[serde(flatten)]
    pub timing: Timing,
    /// Wall-clock time that the simulation took; not deterministic, `None` where output must be.
    pub wall_s: Option<f64>,
    /// Applications, in the order of the workload.
    pub apps: Vec<AppReport>,
    /// Threads, in order of creation.
    pub tasks: Vec<TaskReport>,
    /// CPUs, offline ones included: they draw power.
    pub cpus: Vec<CpuReport>,
    /// What a loaded sched_ext scheduler did; `None` under Linux's own.
    pub sched_ext: Option<SchedExtReport>,
    /// What the simulation could not do as asked, for instance a policy without a model.
    pub warnings: Vec<String>,
}

/// Energy by part, in joules; `total` is the sum of the others.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Energy {
    /// Sum of all parts.
    pub total: f64,
    /// Cores and clusters: the sum of the CPUs' `energy_j`.
    pub cores: f64,
    /// Uncore of all packages.
    pub uncore: f64,
    /// DRAM.
    pub memory: f64,
    /// Board and peripherals.
    pub platform: f64,
    /// Loss in the power supply.
    pub supply: f64,
}

/// An application's share of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AppReport {
    /// Name of the application.
    pub name: String,
    /// Time from the workload's start to the end of the application's last thread; `None` if a time limit came first.
    pub time_s: Option<f64>,
    /// Work done, in seconds on the reference CPU.
    pub work_s: f64,
    /// Performance: `work_s` per second of the application's run time (of the run's time, if a limit ended the run).
    pub performance: f64,
    /// CPU time of all threads of the application.
    pub cpu_time_s: f64,
    /// Number of threads that the application had.
    pub threads: u32,
    /// How late the threads of the application were.
    #[serde(flatten)]
    pub timing: Timing,
}

/// A thread's share of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskReport {
    /// Name of the thread, with its instance.
    pub name: String,
    /// Name of the application; `None` for system tasks.
    pub app: Option<String>,
    /// Whether the thread is operating-system noise.
    pub system: bool,
    /// Time on a CPU.
    pub cpu_time_s: f64,
    /// Time runnable but not on a CPU.
    pub wait_time_s: f64,
    /// Work done, in seconds on the reference CPU.
    pub work_s: f64,
    /// How late the thread was.
    #[serde(flatten)]
    pub timing: Timing,
    /// Times the thread was put on a CPU.
    pub switches: u64,
    /// Times the thread moved to another CPU.
    pub migrations: u64,
}

/// How late threads were: of a thread, of an application, or of all applications. Rounds and deadlines are defined in
/// docs/models.md.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Timing {
    /// From wakeup to the first instruction; `None` if no thread was ever woken.
    pub wakeup_latency_ns: Option<Latency>,
    /// From the activation of a round to its end; `None` without a round.
    pub response_ns: Option<Latency>,
    /// Rounds that ended.
    pub rounds: u64,
    /// Rounds that ended per second of the application's time, or of the run's.
    pub rounds_per_s: f64,
    /// Rounds that had a deadline; `None` without one.
    pub deadlines: Option<Deadlines>,
    /// Rounds of the threads whose rounds are frames; `None` without such a thread.
    pub frames: Option<Frames>,
}

/// How rounds met their deadlines. The *slack* of a round is the time left to the deadline at the end of the round, and
/// negative where that is missed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Deadlines {
    /// Rounds that had a deadline, at least 1.
    pub rounds: u64,
    /// Rounds that ended after their deadline.
    pub missed: u64,
    /// `missed / rounds`.
    pub missed_share: f64,
    /// The most by which a deadline was missed, in nanoseconds; 0 if none was.
    pub worst_miss_ns: u64,
    /// Least slack, in nanoseconds.
    pub least_slack_ns: i64,
    /// Mean slack, in nanoseconds.
    pub mean_slack_ns: f64,
}

/// Frames: the rounds of threads that say so.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Frames {
    /// Frames that ended.
    pub count: u64,
    /// Frames that ended per second.
    pub per_s: f64,
    /// Frames that ended after their deadline.
    pub late: u64,
}

impl Frames {
    /// Share of the frames that were late; 0 of none.
    pub fn late_share(&self) -> f64 {
        if self.count > 0 { self.late as f64 / self.count as f64 } else { 0.0 }
    }
}

/// A distribution of times, in nanoseconds. Every time is counted; a percentile is never below the true one, and above it
/// by at most 1/64 of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Latency {
    /// Median.
    pub p50: u64,
    /// 95th percentile.
    pub p95: u64,
    /// 99th percentile.
    pub p99: u64,
    /// Largest, exact.
    pub max: u64,
}

/// What a loaded sched_ext scheduler did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SchedExtReport {
    /// Name by which the scheduler calls itself (`sched_ext_ops.name`).
    pub name: String,
    /// Kernel version whose sched_ext the scheduler ran on.
    pub kernel: String,
    /// Callbacks that were called, by name.
    pub callbacks: BTreeMap<String, CallbackReport>,
    /// CPU time that all programs of the scheduler were charged, on all CPUs.
    pub overhead_s: f64,
    /// Counters of the scheduler, by name, in the scheduler's order: sums over all CPUs. Empty if the file beside the
    /// object names no counters.
    #[serde(serialize_with = "as_map", deserialize_with = "of_map")]
    pub statistics: Vec<(String, u64)>,
    /// States of the scheduler at the end, by the names of its variables. Empty if the file beside the object names
    /// none.
    #[serde(serialize_with = "as_map", deserialize_with = "of_map")]
    pub states: Vec<(String, String)>,
    /// Exits after which the scheduler was loaded again, as its own loader would do: a CPU came or went and the
    /// scheduler has no callback for that.
    pub restarts: Vec<ExitReport>,
    /// Why the scheduler was ejected, if it was; the run then went on under `fair`.
    pub exit: Option<ExitReport>,
    /// The last 1000 lines that the scheduler printed (`bpf_printk`).
    pub output: Vec<String>,
}

/// Pairs as an object whose members stay in this order.
fn as_map<S: Serializer, V: Serialize>(pairs: &[(String, V)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(pairs.iter().map(|(name, value)| (name, value)))
}

/// The members of an object as pairs, in their order.
fn of_map<'de, D: Deserializer<'de>, V: Deserialize<'de>>(deserializer: D) -> Result<Vec<(String, V)>, D::Error> {
    struct Pairs<V>(PhantomData<V>);

    impl<'de, V: Deserialize<'de>> Visitor<'de> for Pairs<V> {
        type Value = Vec<(String, V)>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
            let mut pairs = Vec::new();
            while let Some(pair) = map.next_entry()? {
                pairs.push(pair);
            }
            Ok(pairs)
        }
    }

    deserializer.deserialize_map(Pairs(PhantomData))
}

/// A callback of a scheduler.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallbackReport {
    /// Times the callback was called.
    pub calls: u64,
    /// BPF instructions that the callback executed, in all.
    pub instructions: u64,
}

/// Why a scheduler was ejected (`struct scx_exit_info`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExitReport {
    /// When the exit happened, in seconds of simulated time.
    pub at_s: f64,
    /// Kernel's name of the kind: `SCX_EXIT_ERROR` and so on.
    pub kind: String,
    /// Exit code.
    pub code: i64,
    /// The kind in words.
    pub reason: String,
    /// Details of the exit.
    pub message: String,
    /// Name of the callback that caused the exit, if a callback did.
    pub callback: Option<String>,
    /// The CPU that executed the callback; without a callback, the CPU where the exit happened.
    pub cpu: u32,
    /// Where in the scheduler's programs the wrong decision was made, innermost call first.
    pub backtrace: Vec<Frame>,
    /// State of CPUs and tasks, with what the scheduler adds; empty if the exit was no error.
    pub dump: String,
    /// What the scheduler recorded of its exit for its loader (`UEI_RECORD`); `None` if it has no such record.
    pub recorded: Option<RecordedExit>,
}

/// A scheduler's own record of its exit (`struct user_exit_info`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedExit {
    /// Kernel's name of the kind; `0` if the scheduler was not told.
    pub kind: String,
    /// Exit code.
    pub code: i64,
    /// The kind in words.
    pub reason: String,
    /// Details of the exit.
    pub message: String,
}

/// A place in a scheduler's programs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frame {
    /// Name of the function.
    pub function: String,
    /// Source file; empty if the object has no line information.
    pub file: String,
    /// Source line, from 1; 0 if unknown.
    pub line: u32,
    /// Source column, from 1; 0 if unknown.
    pub column: u32,
    /// The line's text.
    pub text: String,
}

/// A CPU's share of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CpuReport {
    /// Number of the CPU.
    pub cpu: u32,
    /// Whether the machine's configuration uses it.
    pub online: bool,
    /// Time that the CPU was not idle.
    pub busy_s: f64,
    /// Seconds by clock in kHz, busy or idle.
    pub freq_residency: BTreeMap<u32, f64>,
    /// Seconds by idle state; `C0` is the time between deciding to idle and being in the state.
    pub idle_residency: BTreeMap<String, f64>,
    /// Joules of this CPU: its share of its core and an equal share of its cluster.
    pub energy_j: f64,
}
