// SPDX-License-Identifier: MIT OR Apache-2.0
//! The sensitivity for programs; docs/reports.md describes every field.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};
use tandem_simulator::machine::Trust;
use tandem_simulator::machine::description::values::Value;

use super::{Elasticities, MovedValue, NotMoved, Sensitivity, Turn};
use crate::scenario::pair::Pair;

impl Serialize for Sensitivity {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Document::of(self).serialize(serializer)
    }
}

impl JsonSchema for Sensitivity {
    fn schema_name() -> Cow<'static, str> {
        "Sensitivity".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Document::json_schema(generator)
    }
}

/// How far the results of a workload depend on values of a machine.
#[derive(Serialize, JsonSchema)]
struct Document<'a> {
    /// The machine's name.
    machine: &'a str,
    /// The workload's name.
    workload: &'a str,
    /// How many values the machine's description has.
    values: usize,
    /// How many of them nobody measured.
    assumed: usize,
    /// How many simulations it took, those that the store of finished runs had included.
    runs: usize,
    /// The values that were moved, the largest elasticity that the runs show first.
    moved: Vec<Moved<'a>>,
    /// The values that could not be moved.
    not_moved: Vec<Unmoved<'a>>,
}

/// Where a value stands, and where it comes from.
#[derive(Serialize, JsonSchema)]
struct Place<'a> {
    /// The table of the description.
    table: &'a str,
    /// The key in the table.
    key: &'a str,
    /// The line of the file.
    line: usize,
    /// How far the source can be relied upon.
    trust: Trust,
    /// Where the value comes from, in words.
    source: &'a str,
}

/// A value, and what moving it did.
#[derive(Serialize, JsonSchema)]
struct Moved<'a> {
    #[serde(flatten)]
    place: Place<'a>,
    /// By how much it was made smaller, in percent; null where the file allows no smaller one.
    smaller_percent: Option<f64>,
    /// By how much it was made larger, in percent; null where the file allows no larger one.
    larger_percent: Option<f64>,
    /// One per pair.
    pairs: Vec<OfPair>,
    /// Pairs that changed places.
    turns: Vec<Turned>,
}

/// What moving a value did to a pair.
#[derive(Serialize, JsonSchema)]
struct OfPair {
    /// The pair, as tables call it.
    pair: String,
    /// Change of the run time in percent per percent of the value, mean over the seeds; null where a time limit ended a run.
    time_percent_per_percent: Option<f64>,
    /// Its 95 % confidence interval is the mean ± this; null of one run.
    time_half_width: Option<f64>,
    /// Change of the energy in percent per percent of the value, mean over the seeds.
    energy_percent_per_percent: Option<f64>,
    /// Its 95 % confidence interval is the mean ± this; null of one run.
    energy_half_width: Option<f64>,
}

/// Two pairs that changed places.
#[derive(Serialize, JsonSchema)]
struct Turned {
    /// By which metric they are put in order, by its key.
    metric: &'static str,
    /// Where they have changed places: by how much the value was moved, in percent.
    moved_percent: f64,
    /// The pair that was better with the value as it is.
    was_better: String,
    /// The pair that is better where the value was moved.
    is_better: String,
    /// Whether the one was the best of all, and the other is now.
    wins: bool,
}

/// A value that could not be moved.
#[derive(Serialize, JsonSchema)]
struct Unmoved<'a> {
    #[serde(flatten)]
    place: Place<'a>,
    /// Why not.
    why: String,
}

impl<'a> Document<'a> {
    fn of(sensitivity: &'a Sensitivity) -> Self {
        let Sensitivity { machine, workload, values, assumed, runs, pairs, moved, not_moved, .. } = sensitivity;
        Self {
            machine,
            workload,
            values: *values,
            assumed: *assumed,
            runs: *runs,
            moved: moved.iter().map(|moved| Moved::of(moved, pairs)).collect(),
            not_moved: not_moved.iter().map(|(value, why)| Unmoved::of(value, why)).collect(),
        }
    }
}

impl<'a> Place<'a> {
    fn of(value: &'a Value) -> Self {
        let Value { table, key, line, source, trust, kind: _ } = value;
        Self { table, key, line: *line, trust: *trust, source }
    }
}

impl<'a> Moved<'a> {
    fn of(moved: &'a MovedValue, pairs: &[Pair]) -> Self {
        let MovedValue { value, smaller, larger, elasticities, turns } = moved;
        let of_pair = |(pair, of): (&Pair, &Elasticities)| OfPair {
            pair: pair.to_string(),
            time_percent_per_percent: of.time.map(|it| it.mean),
            time_half_width: of.time.and_then(|it| it.half_width),
            energy_percent_per_percent: of.energy.map(|it| it.mean),
            energy_half_width: of.energy.and_then(|it| it.half_width),
        };
        Self {
            place: Place::of(value),
            smaller_percent: smaller.map(percent),
            larger_percent: larger.map(percent),
            pairs: pairs.iter().zip(elasticities).map(of_pair).collect(),
            turns: turns.iter().map(Turned::of).collect(),
        }
    }
}

impl Turned {
    fn of(turn: &Turn) -> Self {
        let Turn { metric, share, was_better, is_better, wins } = turn;
        Self {
            metric: metric.key(),
            moved_percent: percent(*share),
            was_better: was_better.to_string(),
            is_better: is_better.to_string(),
            wins: *wins,
        }
    }
}

impl<'a> Unmoved<'a> {
    fn of(value: &'a Value, why: &NotMoved) -> Self {
        Self { place: Place::of(value), why: why.to_string() }
    }
}

/// A share in percent, without the last digits of its arithmetic.
fn percent(share: f64) -> f64 {
    (share * 1e8).round() / 1e6
}
