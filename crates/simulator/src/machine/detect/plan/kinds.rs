// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kinds of core and their speed per clock.
//!
//! Which CPUs are of one kind, and how fast that is, says [`Capacities`], by which loaders go, too: its rules know of sources
//! that lie, of work per clock by model, and of cores that are favoured. A description has work per clock, so that a kind's
//! capacity is divided by the highest clock that one of its cores has.

use tandem_loader::machine::{Capacities, CoreType};
use tandem_loader::machine::{Kind as Fast, Source};
use tandem_loader::reading::Reading;

use super::cores::Core;
use super::{Kind, Sourced, number_repeated, parts};
use crate::machine::detect::assumed;

/// Speeds per clock are written to one part of this many, so that what is computed from them is what is read.
const ROUNDING: f64 = 1e4;

/// The kinds of core, and the kind of each core. `tops` is the highest clock of each core in kHz.
pub(super) fn find(
    facts: &Reading,
    cores: &[Core],
    tops: &[u32],
    warnings: &mut Vec<String>,
) -> (Vec<Kind>, Vec<usize>) {
    let capacities = Capacities::of(facts);
    warnings.extend(capacities.doubts.iter().map(ToString::to_string));
    let fast: Vec<Option<&Fast>> = cores.iter().map(|core| capacities.kind_of(core.leader as usize)).collect();
    // Cores that nothing tells apart in speed may still have different names.
    let mut found: Vec<(String, Option<&Fast>)> = Vec::new();
    let mut kind_of = Vec::new();
    for (core, fast) in cores.iter().zip(fast) {
        let key = (base_name(facts, core, fast), fast);
        let known = found.iter().position(|other| *other == key);
        kind_of.push(known.unwrap_or(found.len()));
        if known.is_none() {
            found.push(key);
        }
    }
    let ipc = per_clock(&found, &kind_of, tops);
    let names = number_repeated(&found.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>(), "-");
    let source = source(&capacities, &found, warnings);
    let kind = |(index, name): (usize, String)| Kind {
        name,
        ipc: Sourced { value: (ipc[index] * ROUNDING).round().max(1.0) / ROUNDING, source: source.clone() },
        smt: cores.iter().zip(&kind_of).any(|(core, kind)| *kind == index && core.cpus.len() > 1),
        measured: None,
    };
    (names.into_iter().enumerate().map(kind).collect(), kind_of)
}

/// What the core calls itself: `p-core`, `cortex-a53`, `core`.
fn base_name(facts: &Reading, core: &Core, fast: Option<&Fast>) -> String {
    let name = match (fast.map(|kind| kind.core_type), core.facts(facts).part) {
        (Some(CoreType::Performance), _) => "p-core",
        (Some(CoreType::LowPower), _) => "lp-e-core",
        (Some(CoreType::Efficient), _) => "e-core",
        (_, Some((implementer, part))) => return parts::name(implementer, part),
        (_, None) => "core",
    };
    name.to_owned()
}

/// Work per clock of each kind, the best 1: its capacity at the highest clock of its cores.
fn per_clock(kinds: &[(String, Option<&Fast>)], kind_of: &[usize], tops: &[u32]) -> Vec<f64> {
    let top = |kind: usize| {
        let own = kind_of.iter().zip(tops).filter(|(of, _)| **of == kind);
        own.map(|(_, top)| *top).max().unwrap_or(1).max(1)
    };
    let share = |kind: &Option<&Fast>| kind.map_or(1.0, |kind| kind.share);
    let raw: Vec<f64> = kinds.iter().enumerate().map(|(at, (_, kind))| share(kind) / f64::from(top(at))).collect();
    let best = raw.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    raw.into_iter().map(|ipc| ipc / best).collect()
}

/// Where the work per clock comes from.
fn source(capacities: &Capacities, kinds: &[(String, Option<&Fast>)], warnings: &mut Vec<String>) -> String {
    let several = kinds.iter().any(|(name, _)| *name != kinds[0].0);
    match capacities.source {
        Source::Equal | Source::HighestClock if several => {
            let trouble = "there are several kinds of core, but neither cpu_capacity nor CPPC tells their speed apart";
            warnings.push(format!("{trouble}: all are assumed to do the same work per clock"));
            "assumed: no source tells the kinds apart".to_owned()
        }
        Source::Equal => "all cores are of one kind".to_owned(),
        Source::HighestClock => "cores differ in nothing but their clocks".to_owned(),
        Source::CoreTypes => assumed::EFFICIENT_IPC_SOURCE.to_owned(),
        source => format!("sysfs {source} over the highest clock"),
    }
}
