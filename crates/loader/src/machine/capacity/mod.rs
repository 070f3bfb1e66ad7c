// SPDX-License-Identifier: MIT OR Apache-2.0
//! How fast CPUs are relative to each other, from sources that may contradict each other.
//!
//! None can be trusted alone: there are hybrids on which `cpuinfo_max_freq` and CPPC are equal on every CPU, and machines of
//! one kind of core whose CPPC only ranks favoured ones. `claims`: what each says; `core_type`, `vendor`: what they are judged
//! by; `choice`: which one is believed; `doubt`: what is wrong with the others. docs/live.md has the rules for people.

mod choice;
mod claims;
mod core_type;
mod doubt;
#[cfg(test)]
mod tests;
mod vendor;

pub use claims::{Claim, Source};
pub use core_type::CoreType;
pub use doubt::Doubt;

use super::CAPACITY_SCALE;
use crate::reading::Reading;
use choice::Choice;
use claims::Claims;

/// CPUs of one type and one capacity.
#[derive(Debug, Clone, PartialEq)]
pub struct Kind {
    /// 1..=1024, the best of its CPUs.
    pub capacity: u64,
    /// The same as a share of the best of all CPUs, above 0 and at most 1.
    pub share: f64,
    /// Type of the kind's CPUs.
    pub core_type: CoreType,
    /// CPUs of the kind that are online, ascending.
    pub cpus: Vec<usize>,
}

/// The capacities of a machine's CPUs.
#[derive(Debug, Clone, PartialEq)]
pub struct Capacities {
    /// The source that is believed.
    pub source: Source,
    /// What all sources say, in their own units.
    pub claims: Vec<Claim>,
    /// The kinds of CPU, the fastest first. CPUs that are offline are of none.
    pub kinds: Vec<Kind>,
    /// Where sources contradict each other, and what was assumed.
    pub doubts: Vec<Doubt>,
}

impl Capacities {
    /// The capacities of a machine's CPUs that are online.
    pub fn of(reading: &Reading) -> Self {
        Self::of_claims(&Claims::of(reading))
    }

    /// The capacities that follow from what sources say.
    fn of_claims(claims: &Claims) -> Self {
        let choice = Choice::of(claims);
        let levels = choice.levels(claims);
        let mut kinds: Vec<Kind> = Vec::new();
        for (cpu, (core_type, share)) in claims.cpus.iter().zip(&levels) {
            let (core_type, capacity) = (*core_type, share_to_capacity(*share));
            match kinds.iter_mut().find(|kind| (kind.core_type, kind.capacity) == (core_type, capacity)) {
                Some(kind) => kind.cpus.push(*cpu),
                None => kinds.push(Kind { capacity, share: *share, core_type, cpus: vec![*cpu] }),
            }
        }
        kinds.sort_by_key(|kind| std::cmp::Reverse(kind.capacity));
        let doubts = doubt::doubts(claims, &choice, &levels);
        Self { source: choice.source, claims: claims.all().cloned().collect(), kinds, doubts }
    }

    /// The kind of a CPU that is online; see [`Reading::like`] for others.
    pub fn kind_of(&self, cpu: usize) -> Option<&Kind> {
        self.kinds.iter().find(|kind| kind.cpus.contains(&cpu))
    }
}

/// A share of the best as a capacity.
fn share_to_capacity(share: f64) -> u64 {
    ((share * CAPACITY_SCALE as f64).round() as u64).clamp(1, CAPACITY_SCALE)
}
