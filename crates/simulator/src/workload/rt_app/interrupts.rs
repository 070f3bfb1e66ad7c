// SPDX-License-Identifier: MIT OR Apache-2.0
//! `interrupts` of a file's `tandem` object: what raises them, how often, and what they take.

use super::super::json::Value;
use super::super::{InterruptSpec, Span, Spread};
use super::fields::{Fields, Source};
use super::tandem::spread;
use super::task::cpu_list;
use crate::input::InputError;
use crate::units::{Nanos, SEC, USEC};

/// How many interrupts a CPU may get from one source, per second.
const RATES: std::ops::RangeInclusive<f64> = 0.001..=1e6;
/// What one may take, in µs.
const LENGTHS: std::ops::RangeInclusive<f64> = 0.0..=100_000.0;

/// Reads all sources.
pub(super) fn read(source: &Source, value: &Value) -> Result<Vec<InterruptSpec>, InputError> {
    let fields = Fields::of(source, "`interrupts`", value)?;
    fields.take_all(|_| true).into_iter().map(|member| one(source, &member.key, &member.value)).collect()
}

fn one(source: &Source, name: &str, value: &Value) -> Result<InterruptSpec, InputError> {
    let fields = Fields::of(source, format!("interrupts of `{name}`"), value)?;
    let Some(per_s) = fields.number("per_s", RATES)? else {
        return Err(
            fields.error(value.offset, format!("interrupts of `{name}` have no `per_s`: how many come per second"))
        );
    };
    let spread = |key| fields.value(key).map(|value| spread(source, key, value)).transpose();
    let lengths = spread("length_spread")?.unwrap_or(Spread::Fixed);
    let length = |key| {
        let mean = fields.number(key, LENGTHS)?.map_or(0, |micros| (micros * USEC as f64).round() as Nanos);
        Ok::<_, InputError>(Span { mean, spread: if mean == 0 { Spread::Fixed } else { lengths } })
    };
    let (hard, soft) = (length("us")?, length("softirq_us")?);
    if hard.mean + soft.mean == 0 {
        return Err(
            fields.error(value.offset, format!("interrupts of `{name}` take no time: give `us` or `softirq_us`"))
        );
    }
    let gap = Span {
        mean: (SEC as f64 / per_s).round() as Nanos,
        spread: spread("gap_spread")?.unwrap_or(Spread::Exponential),
    };
    let cpus = cpu_list(&fields)?;
    fields.reject_unknown(&["per_s", "us", "softirq_us", "gap_spread", "length_spread", "cpus"])?;
    Ok(InterruptSpec { name: name.to_owned(), gap, hard, soft, cpus, follows_tick: false })
}
