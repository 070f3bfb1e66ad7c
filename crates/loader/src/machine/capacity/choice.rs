// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which source is believed, and which CPUs are of one kind.

use super::claims::{Claim, Claims, Source};
use super::core_type::CoreType;

/// Capacities that differ by no more are of one kind, as the kernel has it (`capacity_greater`, kernel/sched/fair.c).
pub(super) const SAME_CAPACITY: f64 = 0.05;
/// Cores of one type whose highest clocks, or levels of performance, differ by no more are of one kind: the best of them
/// are favoured, because silicon differs from core to core (Turbo Boost Max, preferred cores). 5.8 beside 5.5 GHz are 5 %.
pub(super) const FAVOURED: f64 = 0.10;

/// What is believed.
#[derive(Debug)]
pub(super) struct Choice {
    pub source: Source,
    /// Performance of each CPU of which something is said, as a share of the best.
    pub shares: Vec<f64>,
}

impl Choice {
    /// In this order, the first one that tells CPUs apart:
    ///
    /// 1. `cpu_capacity`, because the kernel goes by it, and it has the work per clock in it.
    /// 2. CPPC, because an Intel level is the same performance on all types of core; not where it only ranks cores.
    /// 3. Types of core, because they do not lie; with the highest clocks, if these are known.
    /// 4. The highest clocks, because AMD's dense cores differ in nothing else.
    pub fn of(claims: &Claims) -> Self {
        let tells = |claim: &&Claim, more_than: f64| claim.spread() > more_than;
        let of = |claim: &Claim| Self { source: claim.source, shares: claim.shares() };
        if let Some(capacity) = claims.cpu_capacity.as_ref().filter(|claim| tells(claim, SAME_CAPACITY)) {
            return of(capacity);
        }
        if let Some(cppc) = claims.cppc.as_ref().filter(|cppc| is_performance(cppc, claims)) {
            return of(cppc);
        }
        if claims.is_hybrid() {
            return Self { source: Source::CoreTypes, shares: by_type(claims) };
        }
        match claims.highest_clock.as_ref().filter(|claim| tells(claim, FAVOURED)) {
            Some(clock) => of(clock),
            None => Self { source: Source::Equal, shares: vec![1.0; claims.cpus.len()] },
        }
    }

    /// The kinds of CPU: the type of each CPU, and the share of the best one of its kind. Within a type, a CPU that is not far
    /// below the best that is left is like it.
    pub fn levels(&self, claims: &Claims) -> Vec<(CoreType, f64)> {
        let tolerance = if self.source == Source::CpuCapacity { SAME_CAPACITY } else { FAVOURED };
        let types = &claims.types;
        let mut sorted: Vec<usize> = (0..self.shares.len()).collect();
        sorted.sort_by(|a, b| types[*a].cmp(&types[*b]).then(self.shares[*b].total_cmp(&self.shares[*a])));
        let mut levels = vec![(CoreType::Only, 1.0); self.shares.len()];
        let mut best: Option<(CoreType, f64)> = None;
        for at in sorted {
            let own = (types[at], self.shares[at]);
            let level = best.filter(|best| best.0 == own.0 && own.1 >= best.1 * (1.0 - tolerance)).unwrap_or(own);
            best = Some(level);
            levels[at] = level;
        }
        levels
    }
}

/// Whether CPPC's levels are performance, not a ranking: types of core differ in it, or at least the clocks do.
fn is_performance(cppc: &Claim, claims: &Claims) -> bool {
    if claims.vendor.ranks || cppc.spread() <= FAVOURED {
        return false;
    }
    if claims.is_hybrid() {
        return types_differ(cppc, claims);
    }
    claims.highest_clock.as_ref().is_none_or(|clock| clock.spread() > FAVOURED)
}

/// Whether the best of every type of core differ.
fn types_differ(claim: &Claim, claims: &Claims) -> bool {
    let best = |wanted: CoreType| {
        let values = claims.types.iter().zip(&claim.values).filter(|(own, _)| **own == wanted);
        values.map(|(_, value)| *value).max()
    };
    let bests = [CoreType::Performance, CoreType::Efficient, CoreType::LowPower, CoreType::Only].map(best);
    let bests: Vec<u64> = bests.into_iter().flatten().collect();
    Claim { source: claim.source, values: bests }.spread() > SAME_CAPACITY
}

/// Work per clock of a CPU's type, by its highest clock if all are known.
fn by_type(claims: &Claims) -> Vec<f64> {
    let ipc = |own: &CoreType| match own {
        CoreType::Efficient | CoreType::LowPower => claims.vendor.efficient_ipc,
        CoreType::Performance | CoreType::Only => 1.0,
    };
    let clocks = claims.highest_clock.as_ref().map_or_else(|| vec![1.0; claims.cpus.len()], Claim::shares);
    let raw: Vec<f64> = claims.types.iter().map(ipc).zip(clocks).map(|(ipc, clock)| ipc * clock).collect();
    let best = raw.iter().copied().fold(0.0, f64::max);
    raw.into_iter().map(|share| share / best).collect()
}
