// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where sources contradict each other, in words.

use super::choice::{Choice, FAVOURED, SAME_CAPACITY};
use super::claims::{Claim, Claims, Source};
use super::core_type::CoreType;
use super::share_to_capacity;
use crate::cpus::CpuList;

/// Values that differ by no more say that CPUs are equal: it is rounding.
const EQUAL: f64 = 0.03;

/// What people should know about where capacities come from. Its text is a clause.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Doubt {
    /// A source says that types of core are equal.
    #[error("{source_} is equal on all CPUs, though they are {types}: it is not believed, but {chosen}")]
    EqualTypes {
        /// The source that says so.
        source_: Source,
        /// `P-cores (0-11) and E-cores (12-19)`.
        types: String,
        /// The source that is believed.
        chosen: Source,
    },
    /// A source says that CPUs are equal, which another one tells apart.
    #[error("{source_} is equal on all CPUs, but {chosen} is not: the latter is believed")]
    Equal {
        /// The source that says so.
        source_: Source,
        /// The source that is believed.
        chosen: Source,
    },
    /// A source tells cores of one kind apart.
    #[error(
        "{source_} differs by up to {percent} % between CPUs of one kind: it ranks favoured ones, and is no capacity"
    )]
    Ranking {
        /// The source that does.
        source_: Source,
        /// How much less than the best the last one has.
        percent: u64,
    },
    /// Cores of one kind reach different clocks.
    #[error("{source_} is up to {percent} % lower on CPUs {cpus} than on others of their kind: they count as equal")]
    Favoured {
        /// The source that says so.
        source_: Source,
        /// How much lower.
        percent: u64,
        /// Where it is lower.
        cpus: String,
    },
    /// A source has another capacity than the one that is believed.
    #[error("{source_} gives CPU {cpu} a capacity of {says}, {chosen} one of {believed}: the latter is believed")]
    Contradiction {
        /// The source that says so.
        source_: Source,
        /// Of which CPU; of several that with the largest difference.
        cpu: usize,
        /// The capacity that it gives, 1..=1024.
        says: u64,
        /// The source that is believed.
        chosen: Source,
        /// The capacity that the latter gives.
        believed: u64,
    },
    /// Clocks without turbo differ, and nothing else does.
    #[error(
        "{} differs by {percent} % between CPUs that nothing else tells apart: they count as equal",
        Source::BaseClock
    )]
    BaseClocks {
        /// How much less than the best the last one has.
        percent: u64,
    },
    /// Work per clock of E-cores is not known of this processor.
    #[error("an E-core is assumed to do {percent} % of a P-core's work per clock, as on Alder Lake")]
    AssumedWork {
        /// The share that is assumed, in percent.
        percent: u64,
    },
    /// A source is silent on some CPUs.
    #[error("{source_} is missing for CPU {cpu}: it is not used")]
    Incomplete {
        /// The source that is.
        source_: Source,
        /// The first such CPU.
        cpu: usize,
    },
}

/// All doubts about what a choice was made from.
pub(super) fn doubts(claims: &Claims, choice: &Choice, levels: &[(CoreType, f64)]) -> Vec<Doubt> {
    let silent = claims.incomplete.iter().map(|(source, cpu)| Doubt::Incomplete { source_: *source, cpu: *cpu });
    let mut doubts: Vec<Doubt> = silent.collect();
    for claim in claims.all() {
        doubts.extend(match claim.source {
            source if source == choice.source => favoured(claims, claim, levels),
            Source::BaseClock => base_clocks(claim, choice),
            Source::HighestClock => highest_clock(claims, claim, choice, levels),
            _ => capacity(claims, claim, choice),
        });
    }
    if choice.source == Source::CoreTypes && !claims.vendor.ipc_is_known {
        doubts.push(Doubt::AssumedWork { percent: percent(claims.vendor.efficient_ipc) });
    }
    doubts
}

/// What is wrong with a claim about capacity that is not believed.
fn capacity(claims: &Claims, claim: &Claim, choice: &Choice) -> Option<Doubt> {
    let (source_, spread) = (claim.source, claim.spread());
    if spread <= EQUAL {
        return equal(claims, claim, choice);
    }
    if choice.source == Source::Equal || source_ == Source::Cppc && claims.vendor.ranks {
        return Some(Doubt::Ranking { source_, percent: percent(spread) });
    }
    let differences = claim.shares().into_iter().zip(&choice.shares).enumerate();
    let worst = differences.max_by(|(_, (a, b)), (_, (c, d))| (a - **b).abs().total_cmp(&(c - **d).abs()));
    let (at, (says, believed)) = worst.filter(|(_, (says, believed))| (says - **believed).abs() > SAME_CAPACITY)?;
    Some(Doubt::Contradiction {
        source_,
        cpu: claims.cpus[at],
        says: share_to_capacity(says),
        chosen: choice.source,
        believed: share_to_capacity(*believed),
    })
}

/// Clocks alone are no capacity where types of core differ, or where the kernel knows of work per clock.
fn highest_clock(claims: &Claims, claim: &Claim, choice: &Choice, levels: &[(CoreType, f64)]) -> Option<Doubt> {
    if claims.is_hybrid() && claim.spread() <= EQUAL {
        return equal(claims, claim, choice);
    }
    favoured(claims, claim, levels)
}

fn equal(claims: &Claims, claim: &Claim, choice: &Choice) -> Option<Doubt> {
    let (source_, chosen) = (claim.source, choice.source);
    match chosen {
        Source::Equal => None,
        _ if claims.is_hybrid() => Some(Doubt::EqualTypes { source_, types: types(claims), chosen }),
        _ => Some(Doubt::Equal { source_, chosen }),
    }
}

/// CPUs of one kind that a source tells apart, if only a little.
fn favoured(claims: &Claims, claim: &Claim, levels: &[(CoreType, f64)]) -> Option<Doubt> {
    let best = |kind: &(CoreType, f64)| {
        let of_kind = levels.iter().zip(&claim.values).filter(|(level, _)| *level == kind);
        of_kind.map(|(_, value)| *value).max().unwrap_or(1).max(1)
    };
    let below = |at: usize| 1.0 - claim.values[at] as f64 / best(&levels[at]) as f64;
    let lower: Vec<usize> = (0..levels.len()).filter(|at| below(*at) > EQUAL).collect();
    let most = lower.iter().map(|at| below(*at)).fold(0.0, f64::max);
    // More is no silicon's difference; the source of the capacities knows of something else.
    (!lower.is_empty() && most <= FAVOURED).then(|| Doubt::Favoured {
        source_: claim.source,
        percent: percent(most),
        cpus: lower.iter().map(|at| claims.cpus[*at]).collect::<CpuList>().to_string(),
    })
}

fn base_clocks(claim: &Claim, choice: &Choice) -> Option<Doubt> {
    let differs = choice.source == Source::Equal && claim.spread() > FAVOURED;
    differs.then(|| Doubt::BaseClocks { percent: percent(claim.spread()) })
}

/// `P-cores (0-11) and E-cores (12-19)`.
fn types(claims: &Claims) -> String {
    let all = [CoreType::Performance, CoreType::Efficient, CoreType::LowPower, CoreType::Only];
    let of = |wanted: CoreType| {
        let own = claims.cpus.iter().zip(&claims.types).filter(|(_, own)| **own == wanted);
        let cpus: CpuList = own.map(|(cpu, _)| *cpu).collect();
        (!cpus.is_empty()).then(|| format!("{wanted} ({cpus})"))
    };
    all.into_iter().filter_map(of).collect::<Vec<_>>().join(" and ")
}

fn percent(share: f64) -> u64 {
    (share * 100.0).round() as u64
}
