// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kinds of core and their speed per clock, from sources that may contradict each other.
//!
//! Three files bear on it: `cpu_capacity` (the kernel's own), `acpi_cppc/highest_perf` (the firmware's) and the highest
//! clock. None can be trusted alone: there are hybrids on which all three are equal on every CPU, and machines of one
//! kind of core whose `highest_perf` only ranks favoured cores.

use super::cores::Core;
use super::{Kind, Sourced, number_repeated, parts};
use crate::machine::detect::assumed;
use crate::machine::detect::facts::{Cpu, Facts};

/// Speeds per clock of one kind's cores differ by rounding and boost; a larger share makes another kind.
const SAME_KIND: f64 = 0.10;
/// Sources that differ by more than this share contradict each other.
const CONTRADICTION: f64 = 0.05;
/// A source whose values differ by less than this says that all cores are equal.
const EQUAL: f64 = 0.03;

/// Speeds per clock are written to one part of this many, so that what is computed from them is what is read.
const ROUNDING: f64 = 1e4;

/// What one source says each core can do, relative to the best.
struct Claim {
    source: &'static str,
    /// One per core, the best 1.
    shares: Vec<f64>,
}

impl Claim {
    /// `None` if the source says nothing for some core.
    fn of(source: &'static str, values: impl Iterator<Item = Option<u32>>) -> Option<Self> {
        let values = values.map(|value| value.map(f64::from)).collect::<Option<Vec<f64>>>()?;
        let best = values.iter().copied().fold(0.0, f64::max);
        (best > 0.0).then(|| Self { source, shares: values.iter().map(|value| value / best).collect() })
    }

    fn varies(&self) -> bool {
        self.shares.iter().any(|share| *share < 1.0 - EQUAL)
    }
}

/// The kinds of core, and the kind of each core. `tops` is the highest clock of each core in kHz.
pub(super) fn find(facts: &Facts, cores: &[Core], tops: &[u32], warnings: &mut Vec<String>) -> (Vec<Kind>, Vec<usize>) {
    let bases: Vec<String> = cores.iter().map(|core| base_name(facts, core)).collect();
    let claim =
        |source, field: fn(&Cpu) -> Option<u32>| Claim::of(source, cores.iter().map(|core| field(core.facts(facts))));
    let capacity = claim("cpu_capacity", |cpu| cpu.capacity);
    let cppc = claim("acpi_cppc/highest_perf", |cpu| cpu.highest_perf);
    let hybrid = bases.iter().any(|base| *base != bases[0]);
    let chosen = capacity.as_ref().filter(|claim| claim.varies());
    let chosen = chosen.or_else(|| cppc.as_ref().filter(|claim| hybrid && claim.varies()));
    cross_check(cores, [&capacity, &cppc], chosen, hybrid, warnings);
    let (ipc, source) = match chosen {
        Some(claim) => (per_clock(claim, tops), format!("sysfs {} over the highest clock", claim.source)),
        None => without_claim(&bases, hybrid, warnings),
    };
    group(cores, &bases, &ipc, &source, warnings)
}

/// What the core calls itself: `p-core`, `cortex-a53`, `core`.
fn base_name(facts: &Facts, core: &Core) -> String {
    let intel = facts.hybrid.iter().find(|(_, cpus)| cpus.contains(&core.leader));
    let name = match (intel, core.facts(facts).part) {
        (Some(("cpu_core", _)), _) => "p-core",
        (Some(("cpu_lowpower", _)), _) => "lp-e-core",
        (Some(_), _) => "e-core",
        (None, Some((implementer, part))) => return parts::name(implementer, part),
        (None, None) => "core",
    };
    name.to_owned()
}

/// Speed per clock, the best 1.
fn per_clock(claim: &Claim, tops: &[u32]) -> Vec<f64> {
    let raw: Vec<f64> = claim.shares.iter().zip(tops).map(|(share, top)| share / f64::from(*top)).collect();
    let best = raw.iter().copied().fold(0.0, f64::max);
    raw.iter().map(|ipc| ipc / best).collect()
}

/// Speed per clock where no source tells kinds apart.
fn without_claim(bases: &[String], hybrid: bool, warnings: &mut Vec<String>) -> (Vec<f64>, String) {
    let equal = vec![1.0; bases.len()];
    if !hybrid {
        return (equal, "all cores are of one kind".to_owned());
    }
    let efficient = |base: &String| base.ends_with("e-core");
    if bases.iter().any(efficient) {
        warnings.push(format!(
            "there are P- and E-cores, but neither cpu_capacity nor CPPC tells their speed apart: an E-core is \
             assumed to do {} of a P-core's work per clock",
            assumed::EFFICIENT_IPC
        ));
        let ipc = bases.iter().map(|base| if efficient(base) { assumed::EFFICIENT_IPC } else { 1.0 });
        return (ipc.collect(), assumed::EFFICIENT_IPC_SOURCE.to_owned());
    }
    let kinds = "there are several kinds of core, but neither cpu_capacity nor CPPC tells their speed apart";
    warnings.push(format!("{kinds}: all are assumed to do the same work per clock"));
    (equal, "assumed: no source tells the kinds apart".to_owned())
}

/// Warns where sources contradict each other or the kinds of core.
fn cross_check(
    cores: &[Core],
    claims: [&Option<Claim>; 2],
    chosen: Option<&Claim>,
    hybrid: bool,
    warnings: &mut Vec<String>,
) {
    for claim in claims.into_iter().flatten() {
        warnings.extend(match chosen {
            Some(chosen) => contradiction(cores, claim, chosen),
            None => disbelief(claim, hybrid),
        });
    }
}

/// What is wrong with a claim where none is believed.
fn disbelief(claim: &Claim, hybrid: bool) -> Option<String> {
    let source = claim.source;
    if claim.varies() {
        let least = claim.shares.iter().copied().fold(1.0, f64::min);
        let difference = format!("{source} differs by up to {:.0} % between cores of one kind", (1.0 - least) * 100.0);
        return Some(format!("{difference}: taken for a ranking of favoured cores, not for capacity"));
    }
    hybrid.then(|| format!("{source} is equal on all CPUs though they are of several kinds: ignored"))
}

/// Where a claim differs most from the one that is believed, if by much.
fn contradiction(cores: &[Core], claim: &Claim, chosen: &Claim) -> Option<String> {
    let differences = claim.shares.iter().zip(&chosen.shares).map(|(a, b)| (a - b).abs()).enumerate();
    // The first of several equal ones.
    let (core, most) = differences.reduce(|worst, next| if next.1 > worst.1 { next } else { worst })?;
    (most > CONTRADICTION).then(|| {
        let capacity = |claim: &Claim| format!("{:.0}", claim.shares[core] * 1024.0);
        let (says, cpu) = (claim.source, cores[core].leader);
        let (theirs, believed) = (capacity(claim), capacity(chosen));
        format!("{says} gives CPU {cpu} a capacity of {theirs}, {} gives {believed}: the latter is used", chosen.source)
    })
}

/// Cores with one name and nearly one speed per clock are of one kind, whose speed is that of its best.
fn group(
    cores: &[Core],
    bases: &[String],
    ipc: &[f64],
    source: &str,
    warnings: &mut Vec<String>,
) -> (Vec<Kind>, Vec<usize>) {
    let mut kinds: Vec<(String, f64, f64)> = Vec::new();
    let mut kind_of = Vec::new();
    for (base, ipc) in bases.iter().zip(ipc) {
        let near = |low: f64, high: f64| high.max(*ipc) - low.min(*ipc) < SAME_KIND * high.max(*ipc);
        let found = kinds.iter().position(|(name, low, high)| name == base && near(*low, *high));
        let kind = found.unwrap_or(kinds.len());
        match found {
            Some(kind) => kinds[kind] = (base.clone(), kinds[kind].1.min(*ipc), kinds[kind].2.max(*ipc)),
            None => kinds.push((base.clone(), *ipc, *ipc)),
        }
        kind_of.push(kind);
    }
    let names = number_repeated(&kinds.iter().map(|kind| kind.0.clone()).collect::<Vec<_>>(), "-");
    for (name, (_, low, high)) in names.iter().zip(&kinds) {
        if low / high < 1.0 - CONTRADICTION {
            let share = (1.0 - low / high) * 100.0;
            warnings.push(format!("speeds per clock of {name} cores differ by {share:.0} %: the best is written"));
        }
    }
    let kind = |(index, name): (usize, String)| Kind {
        name,
        ipc: Sourced { value: (kinds[index].2 * ROUNDING).round().max(1.0) / ROUNDING, source: source.to_owned() },
        smt: cores.iter().zip(&kind_of).any(|(core, kind)| *kind == index && core.cpus.len() > 1),
    };
    let kinds = names.into_iter().enumerate().map(kind).collect();
    (kinds, kind_of)
}
