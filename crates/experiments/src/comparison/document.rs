// SPDX-License-Identifier: MIT OR Apache-2.0
//! The comparison for programs; docs/reports.md describes every field.

use std::collections::BTreeMap;

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

/// A comparison as JSON.
#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    workload: &'a str,
    machine: &'a str,
    seeds: &'a [u64],
    pairs: Vec<Pair<'a>>,
}

#[derive(Serialize)]
struct Pair<'a> {
    scheduler: String,
    governor: String,
    metrics: BTreeMap<&'static str, Value>,
    runs: Vec<Run<'a>>,
}

/// Everything but `not_measured` is null where the metric was not measured.
#[derive(Serialize)]
struct Value {
    mean: Option<f64>,
    half_width: Option<f64>,
    ratio: Option<f64>,
    ratio_half_width: Option<f64>,
    ratio_paired: Option<bool>,
    not_measured: Option<String>,
}

#[derive(Serialize)]
struct Run<'a> {
    seed: u64,
    time_s: f64,
    time_limited: bool,
    energy_j: Energy,
    power_w: f64,
    edp_js: Option<f64>,
    ed2p_js2: Option<f64>,
    throughput: f64,
    idle_share: f64,
    switches: u64,
    migrations: u64,
    events: u64,
    #[serde(flatten)]
    timing: Timing,
    fairness: Option<f64>,
    apps: Vec<App<'a>>,
    warnings: &'a [String],
    exit: Option<Exit<'a>>,
}

/// Why a scheduler went before the end of a run.
#[derive(Serialize)]
struct Exit<'a> {
    at_s: f64,
    kind: &'a str,
    message: &'a str,
}

#[derive(Serialize)]
struct App<'a> {
    name: &'a str,
    time_s: Option<f64>,
    work_s: f64,
    performance: f64,
    speedup: Option<f64>,
    cpu_time_s: f64,
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
