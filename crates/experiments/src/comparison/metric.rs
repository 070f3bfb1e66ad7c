// SPDX-License-Identifier: MIT OR Apache-2.0
//! The metrics of a comparison. A metric that was not measured says why; it is never 0.

use tandem_simulator::metrics::{Deadlines, Frames, Latency, Timing};

use super::runs::Outcome;
use crate::statistics::{Estimate, Ratio, jitter, mean};

/// What is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Metric {
    /// Run time, seconds.
    Time,
    /// Energy of all parts, joules.
    Energy,
    /// Energy × time, joule seconds.
    Edp,
    /// Mean power, watts.
    Power,
    /// Work per second: seconds of work on the reference CPU.
    Throughput,
    /// Smallest over largest speedup of the applications against running alone.
    Fairness,
    /// Relative deviation of the applications' times from run to run.
    Jitter,
    /// Energy over the applications' work, joules per second of work on the reference CPU.
    EnergyPerWork,
    /// Median wakeup latency of the applications' threads, seconds; likewise the next three.
    P50Latency,
    /// 95th percentile of the wakeup latency.
    P95Latency,
    /// 99th percentile of the wakeup latency.
    P99Latency,
    /// Largest wakeup latency.
    MaxLatency,
    /// Median response of the applications' rounds, seconds; likewise the next three.
    P50Response,
    /// 95th percentile of the response.
    P95Response,
    /// 99th percentile of the response.
    P99Response,
    /// Largest response.
    MaxResponse,
    /// Rounds of the applications that ended per second.
    RoundsPerSecond,
    /// Share of the rounds with a deadline that missed it.
    Missed,
    /// The most by which a deadline was missed, seconds; 0 if none was.
    WorstMiss,
    /// Frames that ended per second.
    FramesPerSecond,
    /// Share of the frames that ended after their deadline.
    LateFrames,
}

impl Metric {
    /// All metrics.
    pub const ALL: [Self; 21] = [
        Self::Time,
        Self::Energy,
        Self::Edp,
        Self::Power,
        Self::Throughput,
        Self::Fairness,
        Self::Jitter,
        Self::EnergyPerWork,
        Self::P50Latency,
        Self::P95Latency,
        Self::P99Latency,
        Self::MaxLatency,
        Self::P50Response,
        Self::P95Response,
        Self::P99Response,
        Self::MaxResponse,
        Self::RoundsPerSecond,
        Self::Missed,
        Self::WorstMiss,
        Self::FramesPerSecond,
        Self::LateFrames,
    ];

    /// Name on a command line, what people call it, and the key of its values in the JSON, which names their unit.
    const fn names(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Time => ("time", "time", "time_s"),
            Self::Energy => ("energy", "energy", "energy_j"),
            Self::Edp => ("edp", "EDP", "edp_js"),
            Self::Power => ("power", "power", "power_w"),
            Self::Throughput => ("throughput", "work rate", "throughput"),
            Self::Fairness => ("fairness", "fairness", "fairness"),
            Self::Jitter => ("jitter", "jitter", "jitter"),
            Self::EnergyPerWork => ("energy-per-work", "energy/work", "energy_per_work_j_per_s"),
            Self::P50Latency => ("p50-latency", "p50 latency", "p50_latency_s"),
            Self::P95Latency => ("p95-latency", "p95 latency", "p95_latency_s"),
            Self::P99Latency => ("p99-latency", "p99 latency", "p99_latency_s"),
            Self::MaxLatency => ("max-latency", "max latency", "max_latency_s"),
            Self::P50Response => ("p50-response", "p50 response", "p50_response_s"),
            Self::P95Response => ("p95-response", "p95 response", "p95_response_s"),
            Self::P99Response => ("p99-response", "p99 response", "p99_response_s"),
            Self::MaxResponse => ("max-response", "max response", "max_response_s"),
            Self::RoundsPerSecond => ("rounds-per-s", "rounds", "rounds_per_s"),
            Self::Missed => ("missed", "missed", "missed_share"),
            Self::WorstMiss => ("worst-miss", "worst miss", "worst_miss_s"),
            Self::FramesPerSecond => ("frames-per-s", "frames", "frames_per_s"),
            Self::LateFrames => ("late-frames", "late frames", "late_frames_share"),
        }
    }

    /// The metric with this [name](Self::name); `None` if there is none.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|metric| metric.name() == name)
    }

    /// Name on a command line: `p99-response`.
    pub fn name(self) -> &'static str {
        self.names().0
    }

    /// What people call it.
    pub fn title(self) -> &'static str {
        self.names().1
    }

    /// The key of its values in the JSON, which names their unit.
    pub fn key(self) -> &'static str {
        self.names().2
    }

    /// Whether a larger value is the better one.
    pub fn more_is_better(self) -> bool {
        matches!(self, Self::Throughput | Self::Fairness | Self::RoundsPerSecond | Self::FramesPerSecond)
    }

    /// Whether one run has a value of its own.
    pub fn is_of_one_run(self) -> bool {
        self != Self::Jitter
    }

    /// The value of one run.
    ///
    /// # Errors
    /// The run does not have it.
    pub fn of_run(self, outcome: &Outcome) -> Result<f64, NotMeasured> {
        let report = &outcome.report;
        match self {
            Self::Time if report.time_limited => Err(NotMeasured::TimeLimit),
            Self::Time => Ok(report.time_s),
            Self::Energy => Ok(report.energy_j.total),
            Self::Edp => report.edp_js.ok_or(NotMeasured::TimeLimit),
            Self::Power => Ok(report.power_w),
            Self::Throughput => Ok(report.throughput),
            Self::Fairness => fairness(outcome),
            Self::Jitter => Err(NotMeasured::OneRun),
            Self::EnergyPerWork => energy_per_work(outcome),
            late => late.of_timing(&report.timing).unwrap_or(Err(NotMeasured::NoRound)),
        }
    }

    /// The value of those metrics that say how late threads were; `None` of the others.
    pub(super) fn of_timing(self, timing: &Timing) -> Option<Result<f64, NotMeasured>> {
        let latency = |of: fn(Latency) -> u64| {
            timing.wakeup_latency_ns.map(|it| of(it) as f64 / 1e9).ok_or(NotMeasured::NoWakeup)
        };
        let response =
            |of: fn(Latency) -> u64| timing.response_ns.map(|it| of(it) as f64 / 1e9).ok_or(NotMeasured::NoRound);
        let deadlines = |of: fn(Deadlines) -> f64| timing.deadlines.map(of).ok_or(NotMeasured::NoDeadline);
        let frames = |of: fn(Frames) -> f64| timing.frames.map(of).ok_or(NotMeasured::NoFrame);
        Some(match self {
            Self::P50Latency => latency(|it| it.p50),
            Self::P95Latency => latency(|it| it.p95),
            Self::P99Latency => latency(|it| it.p99),
            Self::MaxLatency => latency(|it| it.max),
            Self::P50Response => response(|it| it.p50),
            Self::P95Response => response(|it| it.p95),
            Self::P99Response => response(|it| it.p99),
            Self::MaxResponse => response(|it| it.max),
            Self::RoundsPerSecond if timing.rounds == 0 => Err(NotMeasured::NoRound),
            Self::RoundsPerSecond => Ok(timing.rounds_per_s),
            Self::Missed => deadlines(|it| it.missed_share),
            Self::WorstMiss => deadlines(|it| it.worst_miss_ns as f64 / 1e9),
            Self::FramesPerSecond => frames(|it| it.per_s),
            Self::LateFrames => frames(|it| it.late_share()),
            Self::Time | Self::Energy | Self::Edp | Self::Power | Self::Throughput => return None,
            Self::Fairness | Self::Jitter | Self::EnergyPerWork => return None,
        })
    }
}

/// A metric of one pair.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// The value; why it was not measured otherwise.
    pub value: Result<Estimate, NotMeasured>,
    /// Over the first pair's value; `None` where one of both was not measured or the first is 0.
    pub ratio: Option<Ratio>,
}

/// Why a metric was not measured.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotMeasured {
    /// Time, and what is computed from it.
    #[error("a time limit ended a run, whose length then says nothing")]
    TimeLimit,
    /// There are no seeds.
    #[error("no runs")]
    NoRuns,
    /// A deviation from run to run needs two runs.
    #[error("it needs more than one run")]
    OneRun,
    /// The workload has only system tasks.
    #[error("the workload has no application")]
    NoApplication,
    /// Sharing a machine takes two applications.
    #[error("the workload has one application")]
    OneApplication,
    /// The runs alone were not asked for.
    #[error("applications were not run alone (--no-alone)")]
    NotRunAlone,
    /// Energy over no work.
    #[error("the applications do no work")]
    NoWork,
    /// Threads that never wait are never woken.
    #[error("no thread of an application is woken")]
    NoWakeup,
    /// Threads that never wait have no rounds.
    #[error("no thread of an application waits and then works")]
    NoRound,
    /// There is neither a timer nor a deadline.
    #[error("the workload has neither timers nor deadlines")]
    NoDeadline,
    /// No task says `frame`.
    #[error("the workload names no frames")]
    NoFrame,
    /// Fewer than two applications did any work.
    #[error("the applications do no work together")]
    NoWorkTogether,
    /// A run lacks an application that another run has.
    #[error("application `{0}` is not in every run")]
    Absent(String),
    /// An application has neither a time nor work in a run.
    #[error("application `{0}` does no work in one of the runs")]
    Idle(String),
    /// An application does nothing without the others.
    #[error("application `{0}` does no work alone")]
    IdleAlone(String),
    /// The scheduler went before the end of an application's run alone.
    #[error("application `{0}` alone lost its scheduler")]
    EjectedAlone(String),
    /// An application's run alone has no report.
    #[error("application `{name}` cannot run alone: {why}")]
    CannotRunAlone {
        /// The application.
        name: String,
        /// The first line of the simulation's error.
        why: String,
    },
}

/// The value of `metric` over the runs.
pub fn measure(metric: Metric, outcomes: &[Outcome]) -> Result<Estimate, NotMeasured> {
    match metric {
        Metric::Jitter => jitter_of(outcomes),
        _ => Estimate::of_mean(&values(metric, outcomes)?).ok_or(NotMeasured::NoRuns),
    }
}

/// The value of each run.
fn values(metric: Metric, outcomes: &[Outcome]) -> Result<Vec<f64>, NotMeasured> {
    outcomes.iter().map(|outcome| metric.of_run(outcome)).collect()
}

/// `metric` of `outcomes` over that of `base`, whose runs had the same seeds in the same order: by the narrower of both
/// intervals. `None` where one of them was not measured or the latter is 0.
pub fn ratio(metric: Metric, outcomes: &[Outcome], base: &[Outcome]) -> Option<Ratio> {
    let (own, of_base) = (measure(metric, outcomes).ok()?, measure(metric, base).ok()?);
    let independent = Ratio { estimate: own.ratio_to(&of_base)?, paired: false };
    let (Ok(own), Ok(of_base)) = (values(metric, outcomes), values(metric, base)) else { return Some(independent) };
    let paired = Estimate::of_paired_ratio(&own, &of_base).map(|estimate| Ratio { estimate, paired: true });
    Some(independent.or_narrower(paired))
}

/// Joules per second of work.
fn energy_per_work(outcome: &Outcome) -> Result<f64, NotMeasured> {
    match work_of(outcome) {
        work if work > 0.0 => Ok(outcome.report.energy_j.total / work),
        _ => Err(NotMeasured::NoWork),
    }
}

/// Work of all applications, in seconds on the reference CPU.
pub fn work_of(outcome: &Outcome) -> f64 {
    outcome.report.apps.iter().map(|app| app.work_s).sum()
}

impl Outcome {
    /// Performance of an application in the mix over its performance alone.
    pub fn speedup(&self, app: &str) -> Option<f64> {
        let (_, alone) = self.alone.as_ref().ok()?.iter().find(|(name, _)| name == app)?;
        let mixed = self.report.apps.iter().find(|report| report.name == app)?;
        Some(mixed.performance / alone)
    }
}

/// The smallest speedup over the largest.
pub fn fairness(outcome: &Outcome) -> Result<f64, NotMeasured> {
    let apps = outcome.alone.as_ref().map_err(Clone::clone)?;
    let speedups: Vec<f64> = apps.iter().filter_map(|(name, _)| outcome.speedup(name)).collect();
    let largest = speedups.iter().copied().fold(0.0, f64::max);
    if speedups.len() < 2 || largest == 0.0 {
        return Err(NotMeasured::NoWorkTogether);
    }
    Ok(speedups.iter().copied().fold(f64::INFINITY, f64::min) / largest)
}

/// Jitter of each application over the runs, averaged over the applications.
fn jitter_of(outcomes: &[Outcome]) -> Result<Estimate, NotMeasured> {
    if outcomes.len() < 2 {
        return Err(NotMeasured::OneRun);
    }
    let names = outcomes[0].report.apps.iter().filter(|app| app.threads > 0).map(|app| app.name.as_str());
    let times = names.map(|name| times(outcomes, name)).collect::<Result<Vec<_>, _>>()?;
    if times.is_empty() {
        return Err(NotMeasured::NoApplication);
    }
    Ok(Estimate::by_jackknife(outcomes.len(), |runs| {
        let of_app = |times: &Vec<f64>| jitter(&runs.iter().map(|run| times[*run]).collect::<Vec<_>>());
        mean(&times.iter().map(of_app).collect::<Vec<_>>()).unwrap_or_default()
    }))
}

/// An application's time in each run; where a limit ended one of them, its time per unit of work.
fn times(outcomes: &[Outcome], name: &str) -> Result<Vec<f64>, NotMeasured> {
    let app = |outcome: &Outcome| outcome.report.apps.iter().find(|app| app.name == name).cloned();
    let apps: Option<Vec<_>> = outcomes.iter().map(app).collect();
    let apps = apps.ok_or_else(|| NotMeasured::Absent(name.to_owned()))?;
    match apps.iter().map(|app| app.time_s).collect::<Option<Vec<f64>>>() {
        Some(times) if times.iter().all(|time| *time > 0.0) => return Ok(times),
        _ => {}
    }
    if apps.iter().any(|app| app.performance <= 0.0) {
        return Err(NotMeasured::Idle(name.to_owned()));
    }
    Ok(apps.iter().map(|app| 1.0 / app.performance).collect())
}

#[cfg(test)]
#[path = "metric_tests.rs"]
pub mod tests;
