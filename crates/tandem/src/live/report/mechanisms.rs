// SPDX-License-Identifier: GPL-2.0-only
//! What the mechanisms did: their states and counters, in words.

use tandem_live::session::MechanismState;

use crate::mechanism::{self, Mechanism, mechanisms};
use crate::quantity::count;

/// What affinities count and the scheduler does not: names, meanings, and whether each count is a decision.
const BY_AFFINITIES: [(&str, &str, bool); 6] = [
    ("isolate_moved", "threads moved to CPUs where they belong", true),
    ("isolate_elsewhere", "threads that may not go there", false),
    ("isolate_fixed", "threads that the kernel lets nobody move", false),
    ("isolate_interrupts", "interrupts moved to the OS CPU", true),
    ("isolate_fixed_interrupts", "interrupts that cannot be moved", false),
    ("longest_placed", "times that a thread got CPUs by its length", true),
];

/// What the counter of a name counts, and whether each count is a decision.
fn counter(name: &str) -> Option<(&'static str, bool)> {
    let known = mechanism::counter(name).map(|known| (known.meaning.as_str(), known.acts));
    let by_affinities = || BY_AFFINITIES.iter().find(|(known, ..)| *known == name);
    known.or_else(|| by_affinities().map(|(_, meaning, acts)| (*meaning, *acts)))
}

/// A mechanism that was asked for, or what the scheduler does anyway.
#[derive(Debug, PartialEq, Eq)]
pub struct Deeds {
    /// Name of the mechanism.
    pub name: String,
    /// How it fared.
    pub state: Option<String>,
    /// What was counted of it.
    pub counted: Vec<String>,
}

/// Mechanisms in the order of their states, then what is no mechanism's. What is off and has counted nothing is left out.
pub fn deeds(states: &[MechanismState], counters: &[(String, u64)]) -> Vec<Deeds> {
    let mut all: Vec<Deeds> = states.iter().filter_map(|state| of_mechanism(state, counters)).collect();
    let known = |counter: &str| {
        states.iter().any(|state| mechanism(&state.name).is_some_and(|known| counter.starts_with(&known.prefix)))
    };
    for (name, number) in counters.iter().filter(|(name, number)| *number > 0 && !known(name)) {
        let word = name.split('_').next().unwrap_or(name);
        let counted = counted(name, *number);
        match all.iter_mut().find(|deeds| deeds.name == word && deeds.state.is_none()) {
            Some(deeds) => deeds.counted.push(counted),
            None => all.push(Deeds { name: word.to_owned(), state: None, counted: vec![counted] }),
        }
    }
    all
}

/// The mechanism that a variable has the state of.
fn mechanism(variable: &str) -> Option<&'static Mechanism> {
    mechanisms().iter().find(|mechanism| mechanism.state() == variable)
}

fn of_mechanism(state: &MechanismState, counters: &[(String, u64)]) -> Option<Deeds> {
    let MechanismState { name: variable, state, why } = state;
    let name = variable.strip_suffix("_state").unwrap_or(variable).to_owned();
    let known = mechanism(variable);
    let is_mine = |name: &str| known.is_some_and(|known| name.starts_with(&known.prefix));
    let mine: Vec<&(String, u64)> = counters.iter().filter(|(name, _)| is_mine(name)).collect();
    let (happened, counts) = (mine.iter().filter(|(_, number)| *number > 0), !mine.is_empty());
    let acted = happened.clone().any(|(name, _)| counter(name).is_none_or(|(_, acts)| acts));
    let counted: Vec<String> = happened.map(|(name, number)| counted(name, *number)).collect();
    let state = match state.as_str() {
        "off" if counted.is_empty() => return None,
        "active" if counts && !acted => "active, but found nothing to do".to_owned(),
        "off" | "active" => state.clone(),
        other => format!("inert: {}", why.clone().unwrap_or_else(|| other.replace('_', " "))),
    };
    Some(Deeds { name, state: Some(state), counted })
}

/// `12 serial phases that began`; of a counter that is not known, its name.
fn counted(name: &str, number: u64) -> String {
    let words = || name.split_once('_').map_or(name, |(_, rest)| rest).replace('_', " ");
    format!("{} {}", count(number), counter(name).map_or_else(words, |(meaning, _)| meaning.to_owned()))
}
