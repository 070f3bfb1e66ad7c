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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Report {
    /// Version of this schema: it grows when a field changes its meaning or goes away.
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
    /// Simulated seconds from the start to the end of the last application thread, or to the time limit.
    pub time_s: f64,
    /// Whether a time limit ended the run; then `time_s` is that limit and no measure of speed.
    pub time_limited: bool,
    /// Energy by part, in joules.
    pub energy_j: Energy,
    /// The same energy by the values of the machine's description that it was drawn by.
    #[serde(default)]
    pub drawn: Drawn,
    /// Mean power in watts: `energy_j.total / time_s`.
    pub power_w: f64,
    /// Energy × time in joule-seconds; `None` where a time limit ended the run.
    pub edp_js: Option<f64>,
    /// Energy × time² in joule-seconds²; `None` where a time limit ended the run.
    pub ed2p_js2: Option<f64>,
    /// Completed application work per second of run: seconds of work on the reference CPU per second.
    pub throughput: f64,
    /// Share of the online CPUs' time spent idle, 0 to 1.
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
    /// Wall-clock seconds that the simulation took; not deterministic, `None` where output must be.
    pub wall_s: Option<f64>,
    /// Applications, in the order of the workload.
    pub apps: Vec<AppReport>,
    /// Threads, in order of creation.
    pub tasks: Vec<TaskReport>,
    /// CPUs, offline ones included: they draw power.
    pub cpus: Vec<CpuReport>,
    /// What limits on power and temperature did, for each package that has any; absent where none has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<LimitReport>,
    /// What limits on the CPU time of groups did, for each group that has one; absent where none has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<GroupReport>,
    /// What a loaded sched_ext scheduler did; `None` under Linux's own.
    pub sched_ext: Option<SchedExtReport>,
    /// What the simulation could not do as asked, for instance a policy without a model.
    pub warnings: Vec<String>,
}

/// Callbacks of a sched_ext scheduler that are called once, or once or twice in a thread's life.
const RARE_CALLBACKS: [&str; 7] = ["init", "exit", "init_task", "exit_task", "enable", "disable", "set_cpumask"];

impl Report {
    /// BPF instructions of all programs of the loaded scheduler per context switch, without what is done once or in a thread's
    /// birth and end. `None` under Linux's own scheduler, or if nothing was switched.
    pub fn instructions_per_switch(&self) -> Option<f64> {
        let callbacks = &self.sched_ext.as_ref()?.callbacks;
        let often = callbacks.iter().filter(|(name, _)| !RARE_CALLBACKS.contains(&name.as_str()));
        let instructions: u64 = often.map(|(_, callback)| callback.instructions).sum();
        (self.switches > 0).then(|| instructions as f64 / self.switches as f64)
    }
}

/// What a group's limit on CPU time did (`cpu.stat` of a cgroup).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GroupReport {
    /// Path of the group.
    pub path: String,
    /// Periods in which the group wanted CPU time.
    pub periods: u64,
    /// Periods at whose end some CPU of the group had to wait. `None` under a sched_ext scheduler that does not say which threads wait
    /// for their group's limit.
    pub throttled_periods: Option<u64>,
    /// Time for which CPUs of the group had to wait with threads that could run, summed over them, in seconds; the same.
    pub throttled_s: Option<f64>,
    /// Periods in which more than the quota was used. `None` under a sched_ext scheduler.
    pub bursts: Option<u64>,
    /// CPU time above the quota, in seconds; the same.
    pub burst_s: Option<f64>,
}

/// Energy by part, in joules; `total` is the sum of the others.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Energy {
    /// Sum of all parts, in joules.
    pub total: f64,
    /// Cores and clusters, in joules: the sum of the CPUs' `energy_j`.
    pub cores: f64,
    /// Uncore of all packages, in joules.
    pub uncore: f64,
    /// DRAM, in joules.
    pub memory: f64,
    /// Board and peripherals, in joules.
    pub platform: f64,
    /// Loss in the power supply, in joules.
    pub supply: f64,
}

/// The energy of a run by the kinds of values of a machine's description that it was drawn by, board and supply left out.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Drawn {
    /// Clusters with their cores, in the order of the description.
    pub clusters: Vec<ClusterDrawn>,
    /// Uncores, in the order of the description.
    pub packages: Vec<PackageDrawn>,
    /// Paths to memory, in the order of the description, but parents before their children.
    pub memory: Vec<MemoryDrawn>,
}

/// What the cores of a cluster drew, and what they share. What going into an idle state and out of it takes counts as idle, or
/// as asleep.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClusterDrawn {
    /// Name of the cluster.
    pub cluster: String,
    /// Cores that ran: switching, in joules.
    pub switching_j: f64,
    /// Cores that ran: leakage, in joules.
    pub leakage_j: f64,
    /// Cores that idled, in joules.
    pub idle_j: f64,
    /// What the cores share, while any of them was up, in joules.
    pub static_j: f64,
    /// The same while the cluster was in an idle state of its own, in joules.
    pub asleep_j: f64,
}

/// What the uncore of a package drew.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PackageDrawn {
    /// Number of the package.
    pub package: u32,
    /// While any of its cores ran, in joules.
    pub awake_j: f64,
    /// While all of them idled, in joules.
    pub idle_j: f64,
    /// While the package was in an idle state of its own, in joules.
    pub asleep_j: f64,
}

/// What a path to memory drew.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MemoryDrawn {
    /// Name of the path.
    pub memory: String,
    /// Whatever was moved, in joules.
    pub static_j: f64,
    /// For what was moved, in joules.
    pub traffic_j: f64,
}

/// An application's share of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AppReport {
    /// Name of the application.
    pub name: String,
    /// Seconds from the workload's start to the end of the application's last thread; `None` if a time limit came first.
    pub time_s: Option<f64>,
    /// Work done, in seconds on the reference CPU.
    pub work_s: f64,
    /// Performance: `work_s` per second of the application's run time (of the run's time, if a limit ended the run).
    pub performance: f64,
    /// CPU time of all threads of the application, in seconds.
    pub cpu_time_s: f64,
    /// Number of threads that the application had.
    pub threads: u32,
    /// Memory traffic of the application within and between NUMA nodes; `None` where the machine's description does not say how
    /// far its nodes are from each other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<AppMemory>,
    /// How late the threads of the application were.
    #[serde(flatten)]
    pub timing: Timing,
}

/// Memory traffic of an application on a machine with NUMA nodes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AppMemory {
    /// Bytes between CPUs and the memory of their own node.
    pub local_bytes: f64,
    /// Bytes between CPUs and the memory of other nodes.
    pub remote_bytes: f64,
}

/// A thread's share of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TaskReport {
    /// Name of the thread, with its instance.
    pub name: String,
    /// Name of the application; `None` for system tasks.
    pub app: Option<String>,
    /// Whether the thread is operating-system noise.
    pub system: bool,
    /// Seconds on a CPU.
    pub cpu_time_s: f64,
    /// Seconds runnable but not on a CPU.
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
    /// Nanoseconds from wakeup to the first instruction; `None` if no thread was ever woken.
    pub wakeup_latency_ns: Option<Latency>,
    /// Nanoseconds from the activation of a round to its end; `None` without a round.
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
    /// `missed / rounds`, a share from 0 to 1.
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
    /// Median, in nanoseconds.
    pub p50: u64,
    /// 95th percentile, in nanoseconds.
    pub p95: u64,
    /// 99th percentile, in nanoseconds.
    pub p99: u64,
    /// Largest, in nanoseconds; exact.
    pub max: u64,
}

/// What a loaded sched_ext scheduler did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SchedExtReport {
    /// Name by which the scheduler calls itself (`sched_ext_ops.name`).
    pub name: String,
    /// Kernel version whose sched_ext the scheduler ran on.
    pub kernel: String,
    /// What the scheduler lacked of itself, if the file beside its object says so: a part that its own loader plays while the
    /// scheduler runs. These results are not the whole scheduler's then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub without: Option<String>,
    /// What the workload asks for and the scheduler did not heed. Its numbers are those of less to do then.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignored: Vec<IgnoredReport>,
    /// Callbacks that were called, by name.
    pub callbacks: BTreeMap<String, CallbackReport>,
    /// Instructions by function and source line, the most first, if the run was to tell them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<LineReport>,
    /// CPU time that all programs of the scheduler were charged on all CPUs, in seconds.
    pub overhead_s: f64,
    /// Counters of the scheduler, by name, in the scheduler's order: sums over all CPUs. Empty if the file beside the
    /// object names no counters.
    #[serde(serialize_with = "as_map", deserialize_with = "of_map")]
    #[cfg_attr(feature = "schema", schemars(with = "BTreeMap<String, u64>"))]
    pub statistics: Vec<(String, u64)>,
    /// States of the scheduler at the end, by the names of its variables. Empty if the file beside the object names
    /// none.
    #[serde(serialize_with = "as_map", deserialize_with = "of_map")]
    #[cfg_attr(feature = "schema", schemars(with = "BTreeMap<String, String>"))]
    pub states: Vec<(String, String)>,
    /// What variables of the scheduler, or parts of them, had at the end, by name: those that the file beside the object wants
    /// printed.
    #[serde(default, skip_serializing_if = "Vec::is_empty", serialize_with = "as_map", deserialize_with = "of_map")]
    #[cfg_attr(feature = "schema", schemars(with = "BTreeMap<String, FinalValue>"))]
    pub values: Vec<(String, FinalValue)>,
    /// Exits after which the scheduler was loaded again, as its own loader would do: a CPU came or went and the
    /// scheduler has no callback for that.
    pub restarts: Vec<ExitReport>,
    /// Why the scheduler was ejected, if it was; the run then went on under `fair`.
    pub exit: Option<ExitReport>,
    /// The last 1000 lines that the scheduler printed (`bpf_printk`).
    pub output: Vec<String>,
}

/// What a variable had at the end of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum FinalValue {
    /// A number that is not negative.
    Unsigned(u64),
    /// A number.
    Signed(i64),
    /// `true` or `false`.
    Truth(bool),
    /// Anything else, as C would have it: the name of an enumerator, a text, an array in braces.
    Text(String),
}

impl FinalValue {
    /// The value that `text` says.
    pub fn of(text: String) -> Self {
        let unsigned = text.parse().ok().map(Self::Unsigned);
        let signed = || text.parse().ok().map(Self::Signed);
        unsigned.or_else(signed).or_else(|| text.parse().ok().map(Self::Truth)).unwrap_or(Self::Text(text))
    }
}

impl fmt::Display for FinalValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsigned(number) => write!(f, "{number}"),
            Self::Signed(number) => write!(f, "{number}"),
            Self::Truth(truth) => write!(f, "{truth}"),
            Self::Text(text) => f.write_str(text),
        }
    }
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

/// What a scheduler did not heed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IgnoredReport {
    /// What was ignored: `cpu.max`, `cpu.weight`, `cpu.idle`, `nice` or `uclamp`.
    pub what: String,
    /// How that is known.
    pub why: String,
}

/// A callback of a scheduler.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CallbackReport {
    /// Times the callback was called.
    pub calls: u64,
    /// BPF instructions that the callback executed, in all.
    pub instructions: u64,
}

/// Instructions that a scheduler executed of a source line. What is inlined counts by its own lines, in the function that has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LineReport {
    /// Name of the function.
    pub function: String,
    /// Source file; empty if the object has no line information.
    pub file: String,
    /// Source line, from 1; 0 if unknown.
    pub line: u32,
    /// The line's text.
    pub text: String,
    /// BPF instructions executed, in all.
    pub instructions: u64,
}

/// Why a scheduler was ejected (`struct scx_exit_info`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CpuReport {
    /// Number of the CPU.
    pub cpu: u32,
    /// Whether the machine's configuration uses it.
    pub online: bool,
    /// Seconds for which the CPU was not idle.
    pub busy_s: f64,
    /// Seconds by clock in kHz, busy or idle.
    pub freq_residency: BTreeMap<u32, f64>,
    /// Seconds by idle state; `C0` is the time between deciding to idle and being in the state.
    pub idle_residency: BTreeMap<String, f64>,
    /// Joules of this CPU: its share of its core and an equal share of its cluster.
    pub energy_j: f64,
}

/// What the limits of a package on power and temperature did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LimitReport {
    /// Number of the package.
    pub package: u32,
    /// Seconds for which a running core was held below the clock that it would have had otherwise.
    pub limited_s: f64,
    /// Highest running average of the package's power, in watts; `None` without a power limit.
    pub average_watts_max: Option<f64>,
    /// Highest temperature in °C; `None` without a thermal description.
    pub celsius_max: Option<f64>,
}
