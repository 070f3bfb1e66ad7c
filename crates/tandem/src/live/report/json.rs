// SPDX-License-Identifier: GPL-2.0-only
//! A run for programs.

use std::collections::BTreeMap;

use serde::Serialize;
use tandem_live::Exit;
use tandem_live::meter::{Domain, Energy, Measured, Method, NotMeasured, Part};
use tandem_live::session::CpuTime;

use super::Outcome;

/// Version of the JSON schema; grows when a field changes its meaning or goes away.
const SCHEMA: u32 = 1;

/// The run as data; `null` is what nobody measured.
pub fn json(outcome: &Outcome) -> impl Serialize + '_ {
    Run {
        schema: SCHEMA,
        command: &outcome.command,
        status: &outcome.status,
        backend: &outcome.backend,
        time_s: outcome.time.as_secs_f64(),
        cpu_time_s: outcome.cpu_time.map(CpuSeconds::from),
        energy_j: outcome.energy().map(|(joules, _)| joules),
        power_w: outcome.watts(),
        edp_js: outcome.joule_seconds(),
        energy: Meters::from(&outcome.measured),
        states: outcome.states.iter().map(|state| (state.name.as_str(), state.state.as_str())).collect(),
        inert: outcome.states.iter().filter_map(|state| Some((state.name.as_str(), state.why.as_deref()?))).collect(),
        counters: outcome.counters.iter().map(|(name, count)| (name.as_str(), *count)).collect(),
        ejected: outcome.ejected,
        exit: outcome.exit.as_ref().map(ExitRecord::from),
        notes: &outcome.notes,
    }
}

#[derive(Debug, Serialize)]
struct Run<'a> {
    schema: u32,
    command: &'a str,
    status: &'a str,
    backend: &'a str,
    time_s: f64,
    cpu_time_s: Option<CpuSeconds>,
    energy_j: Option<f64>,
    power_w: Option<f64>,
    edp_js: Option<f64>,
    energy: Meters<'a>,
    states: BTreeMap<&'a str, &'a str>,
    /// Why mechanisms do nothing, by the names of their states.
    inert: BTreeMap<&'a str, &'a str>,
    counters: BTreeMap<&'a str, u64>,
    ejected: bool,
    exit: Option<ExitRecord<'a>>,
    notes: &'a [String],
}

#[derive(Debug, Serialize)]
struct CpuSeconds {
    user: f64,
    system: f64,
}

impl From<CpuTime> for CpuSeconds {
    fn from(time: CpuTime) -> Self {
        Self { user: time.user.as_secs_f64(), system: time.system.as_secs_f64() }
    }
}

/// All that meters said, or why they did not.
#[derive(Debug, Serialize)]
pub struct Meters<'a> {
    time_s: f64,
    /// What `energy_j` is of.
    covers: Option<String>,
    /// Whether that comes from a power read every now and then.
    sampled: bool,
    /// Why there is no `energy_j`.
    not_measured: Option<String>,
    meters: Vec<Meter<'a>>,
    missing: Vec<Missing<'a>>,
}

impl<'a> From<&'a Measured> for Meters<'a> {
    fn from(measured: &'a Measured) -> Self {
        let total = measured.total();
        Self {
            time_s: measured.time.as_secs_f64(),
            not_measured: total.is_none().then(|| measured.why_not()),
            sampled: total.as_ref().is_some_and(|total| total.sampled),
            covers: total.map(|total| total.covers),
            meters: measured.energy.iter().map(Meter::from).collect(),
            missing: measured.missing.iter().map(Missing::from).collect(),
        }
    }
}

#[derive(Debug, Serialize)]
struct Meter<'a> {
    source: &'a str,
    #[serde(flatten)]
    place: Place,
    joules: f64,
    /// Of a sampled power: the longest time between two samples.
    longest_gap_s: Option<f64>,
}

impl<'a> From<&'a Energy> for Meter<'a> {
    fn from(energy: &'a Energy) -> Self {
        let longest_gap_s = match energy.method {
            Method::Counted => None,
            Method::Sampled { longest_gap } => Some(longest_gap.as_secs_f64()),
        };
        Self { source: &energy.source, place: energy.domain.into(), joules: energy.joules, longest_gap_s }
    }
}

#[derive(Debug, Serialize)]
struct Missing<'a> {
    source: &'a str,
    #[serde(flatten)]
    place: Place,
    reason: &'static str,
    why: String,
}

impl<'a> From<&'a NotMeasured> for Missing<'a> {
    fn from(missing: &'a NotMeasured) -> Self {
        let NotMeasured { source, domain, why } = missing;
        Self { source, place: (*domain).into(), reason: why.word(), why: why.to_string() }
    }
}

/// What a meter covers.
#[derive(Debug, Serialize)]
struct Place {
    part: &'static str,
    /// Of what belongs to a processor.
    package: Option<u32>,
    die: Option<u32>,
}

impl From<Domain> for Place {
    fn from(domain: Domain) -> Self {
        let of_processor = matches!(domain.part, Part::Package | Part::Core | Part::Uncore | Part::Dram);
        let number = |number| of_processor.then_some(number);
        Self { part: domain.part.word(), package: number(domain.package), die: number(domain.die) }
    }
}

#[derive(Debug, Serialize)]
struct ExitRecord<'a> {
    kind: i64,
    code: i64,
    reason: &'a str,
    message: &'a str,
    dump: &'a str,
}

impl<'a> From<&'a Exit> for ExitRecord<'a> {
    fn from(exit: &'a Exit) -> Self {
        let Exit { kind, code, reason, message, dump } = exit;
        Self { kind: *kind, code: *code, reason, message, dump }
    }
}
