// SPDX-License-Identifier: MIT OR Apache-2.0
//! What it takes to go into an idle state and out of it: time, and energy beyond what the state draws.
//!
//! A state's residency is where it begins to pay: a stay of that length costs as much as in the next shallower state. That gives
//! the energy of the transition ([`core_joules`], [`cluster_joules`]); nobody publishes it otherwise. Pure functions, which know
//! nothing of meters.

use super::{Cluster, Coordination, IdleScope, IdleState, Opp};
use crate::units::{Nanos, seconds};

impl Cluster {
    /// The idle states that a CPU's governor chooses from, shallow to deep.
    pub fn cpu_states(&self) -> &[IdleState] {
        let known = self.idle_states.partition_point(|state| state.coordination == Coordination::Platform);
        &self.idle_states[..known]
    }

    /// The deepest state not deeper than `state` that stops the core alone: what the core itself is in.
    pub fn core_state(&self, state: usize) -> usize {
        let core = self.idle_states.partition_point(|state| state.scope == IdleScope::Core);
        state.min(core.saturating_sub(1))
    }
}

/// Which share of entering the state is done after `elapsed`, 0..=1; nothing at the instant of the decision.
pub fn entered(state: &IdleState, elapsed: Nanos) -> f64 {
    if elapsed > 0 && elapsed >= state.typical_entry { 1.0 } else { elapsed as f64 / state.typical_entry.max(1) as f64 }
}

/// Time to the first instruction of a wakeup that comes `elapsed` after the decision to sleep.
///
/// Preparing to sleep can be given up at any moment (the PREP phase of `idle-states.yaml`), and what has been done until then is
/// to be undone: that takes the same share of leaving as was done of entering. Assumed; with an entry that cannot be given up the
/// rest of it would come before.
pub fn wakeup_latency(state: &IdleState, elapsed: Nanos) -> Nanos {
    if elapsed > 0 && elapsed >= state.typical_entry {
        return state.typical_exit;
    }
    (state.typical_exit as f64 * entered(state, elapsed)) as Nanos
}

/// Joules of one core for going into each idle state of its own and out of it, at `opp`, where its residencies are specified.
///
/// A stay of `T` in a state costs `G + P · (T + x)`: transition, and the state's watts until the first instruction. `G` follows from
/// `T = residency`, where the next shallower state costs the same. Never less than the shallower state's: where watts do not descend, a
/// state saves nothing, and its transition is as cheap.
pub fn core_joules(cluster: &Cluster, opp: &Opp) -> Vec<f64> {
    let states = &cluster.idle_states[..=cluster.core_state(usize::MAX)];
    let first = opp.idle_watts.or(states.first().map(|state| state.watts)).unwrap_or(0.0);
    let watts = |index: usize| if index == 0 { first } else { states[index].watts };
    let mut joules = vec![0.0; states.len()];
    for index in 1..states.len() {
        let (shallower, state) = (&states[index - 1], &states[index]);
        let asleep = |index: usize, exit| watts(index) * seconds(state.residency + exit);
        let saved = asleep(index - 1, shallower.typical_exit) - asleep(index, state.typical_exit);
        joules[index] = joules[index - 1] + saved.max(0.0);
    }
    joules
}

/// Joules of the cluster for going into each of its own states and out of it, 0 for states of the core: what a stay of the
/// residency saves of its static watts at `opp`.
pub fn cluster_joules(cluster: &Cluster, opp: &Opp) -> Vec<f64> {
    let states = &cluster.idle_states;
    let awake = opp.static_watts.unwrap_or(cluster.static_watts);
    let watts = |state: &IdleState| if state.scope == IdleScope::Cluster { state.cluster_watts } else { awake };
    let mut joules = vec![0.0; states.len()];
    for index in 1..states.len() {
        let (shallower, state) = (&states[index - 1], &states[index]);
        if state.scope == IdleScope::Cluster {
            let asleep = |idle: &IdleState| watts(idle) * seconds(state.residency + idle.typical_exit);
            joules[index] = joules[index - 1] + (asleep(shallower) - asleep(state)).max(0.0);
        }
    }
    joules
}

/// Energy of a transition at `opp`, relative to `specified`: what is switched per clock cycle there, which is the square of the
/// voltage (caches are written back and registers restored in so many cycles, and a supply is charged to that voltage).
pub fn scale(opp: &Opp, specified: &Opp) -> f64 {
    let per_cycle = |opp: &Opp| opp.dynamic_watts / f64::from(opp.khz);
    if per_cycle(specified) > 0.0 { per_cycle(opp) / per_cycle(specified) } else { 1.0 }
}

#[cfg(test)]
mod tests;
