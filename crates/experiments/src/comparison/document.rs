// SPDX-License-Identifier: MIT OR Apache-2.0
//! The comparison for programs; docs/reports.md describes every field.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};
use tandem_simulator::metrics::{AppReport, Energy, SCHEMA, Timing};

use super::metric::{Measured, Metric, fairness};
use super::runs::Outcome;
use super::{Comparison, PairResult};

impl Serialize for Comparison {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Document::of(self).serialize(serializer)
    }
}

impl JsonSchema for Comparison {
    fn schema_name() -> Cow<'static, str> {
        "Comparison".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Document::json_schema(generator)
    }
}

/// Pairs of scheduler and governor on one machine and workload.
#[derive(Serialize, JsonSchema)]
struct Document<'a> {
    /// Version of this schema.
    schema: u32,
    /// The workload's name.
    workload: &'a str,
    /// The machine's name.
    machine: &'a str,
    /// Seeds of the runs; every pair ran with each of them.
    seeds: &'a [u64],
    /// In the order given; the first is the reference.
    pairs: Vec<Pair<'a>>,
}

/// A pair of scheduler and governor, and what its runs gave.
#[derive(Serialize, JsonSchema)]
struct Pair<'a> {
    /// The scheduler, with the settings behind its name.
    scheduler: String,
    /// The governor, with the settings that are not the default.
    governor: String,
    /// Values of the settings that were varied, by name.
    parameters: BTreeMap<&'a str, serde_json::Value>,
    /// What the workload asks for and the scheduler did not heed, and how that is known.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    ignored: BTreeMap<&'a str, &'a str>,
    /// By the metric's name, which has its unit: `time_s` in seconds, `energy_j` in joules.
    metrics: BTreeMap<&'static str, Value>,
    /// One per seed.
    runs: Vec<Run<'a>>,
}

/// A metric over the runs. Everything but `not_measured` is null where the metric was not measured.
#[derive(Serialize, JsonSchema)]
struct Value {
    /// Mean over the runs.
    mean: Option<f64>,
    /// The 95 % confidence interval is the mean ± this; null where too few runs were made.
    half_width: Option<f64>,
    /// The mean over the first pair's.
    ratio: Option<f64>,
    /// The 95 % confidence interval of the ratio is the ratio ± this.
    ratio_half_width: Option<f64>,
    /// Whether that interval is that of pairs of runs with the same seed; else the runs count as independent.
    ratio_paired: Option<bool>,
    /// Why the metric was not measured.
    not_measured: Option<String>,
}

/// One run.
#[derive(Serialize, JsonSchema)]
struct Run<'a> {
    /// Seed of all random streams.
    seed: u64,
    /// Simulated time, seconds.
    time_s: f64,
    /// Whether a time limit ended the run; then its time is no measure of speed.
    time_limited: bool,
    /// Energy, joules.
    energy_j: Energy,
    /// Mean power, watts.
    power_w: f64,
    /// Energy × time, joule-seconds.
    edp_js: Option<f64>,
    /// Energy × time², joule-seconds².
    ed2p_js2: Option<f64>,
    /// Work of all applications per second, in seconds on the reference CPU.
    throughput: f64,
    /// Share of the time of all online CPUs in which they were idle, 0 to 1.
    idle_share: f64,
    /// Context switches.
    switches: u64,
    /// Times a thread moved to another CPU.
    migrations: u64,
    /// Events that the simulator processed.
    events: u64,
    /// How late threads of applications were.
    #[serde(flatten)]
    timing: Timing,
    /// The smallest speedup of an application over the largest, 0 to 1.
    fairness: Option<f64>,
    /// The applications.
    apps: Vec<App<'a>>,
    /// What could not be done as asked.
    warnings: &'a [String],
    /// Why a scheduler went before the end of the run.
    exit: Option<Exit<'a>>,
}

/// Why a scheduler went before the end of a run.
#[derive(Serialize, JsonSchema)]
struct Exit<'a> {
    /// When, seconds of the run.
    at_s: f64,
    /// The kernel's name of the kind of exit.
    kind: &'a str,
    /// What was wrong.
    message: &'a str,
}

/// An application of a run.
#[derive(Serialize, JsonSchema)]
struct App<'a> {
    /// The application's name.
    name: &'a str,
    /// Seconds from the workload's start to the end of its last thread; null if a time limit ended it first.
    time_s: Option<f64>,
    /// Work done, in seconds on the reference CPU.
    work_s: f64,
    /// Work per second.
    performance: f64,
    /// Performance in this run over performance alone; null where it did not run alone.
    speedup: Option<f64>,
    /// Time of all its threads on CPUs, seconds.
    cpu_time_s: f64,
    /// Threads it had.
    threads: u32,
    #[serde(flatten)]
    timing: Timing,
}

impl<'a> Document<'a> {
    fn of(comparison: &'a Comparison) -> Self {
        Self {
            schema: SCHEMA,
            workload: &comparison.workload,
            machine: &comparison.machine,
            seeds: &comparison.seeds,
            pairs: comparison.pairs.iter().map(Pair::of).collect(),
        }
    }
}

impl<'a> Pair<'a> {
    fn of(result: &'a PairResult) -> Self {
        Self {
            scheduler: result.pair.scheduler.to_string(),
            governor: result.pair.governor.to_string(),
            parameters: result.pair.parameters.iter().map(|set| (set.key.as_str(), set.typed())).collect(),
            ignored: result.ignored(),
            metrics: Metric::ALL.iter().map(|&metric| (metric.key(), Value::of(result.metric(metric)))).collect(),
            runs: result.outcomes.iter().map(Run::of).collect(),
        }
    }
}

impl Value {
    fn of(measured: &Measured) -> Self {
        let value = measured.value.as_ref().ok();
        Self {
            mean: value.map(|value| value.mean),
            half_width: value.and_then(|value| value.half_width),
            ratio: measured.ratio.map(|ratio| ratio.estimate.mean),
            ratio_half_width: measured.ratio.and_then(|ratio| ratio.estimate.half_width),
            ratio_paired: measured.ratio.map(|ratio| ratio.paired),
            not_measured: measured.value.as_ref().err().map(ToString::to_string),
        }
    }
}

impl<'a> Run<'a> {
    fn of(outcome: &'a Outcome) -> Self {
        let report = &outcome.report;
        let app = |app: &'a AppReport| App {
            name: &app.name,
            time_s: app.time_s,
            work_s: app.work_s,
            performance: app.performance,
            speedup: outcome.speedup(&app.name),
            cpu_time_s: app.cpu_time_s,
            threads: app.threads,
            timing: app.timing,
        };
        Self {
            seed: report.seed,
            time_s: report.time_s,
            time_limited: report.time_limited,
            energy_j: report.energy_j,
            power_w: report.power_w,
            edp_js: report.edp_js,
            ed2p_js2: report.ed2p_js2,
            throughput: report.throughput,
            idle_share: report.idle_share,
            switches: report.switches,
            migrations: report.migrations,
            events: report.events,
            timing: report.timing,
            fairness: fairness(outcome).ok(),
            apps: report.apps.iter().map(app).collect(),
            warnings: &report.warnings,
            exit: outcome.exit().map(|exit| Exit { at_s: exit.at_s, kind: &exit.kind, message: &exit.message }),
        }
    }
}
