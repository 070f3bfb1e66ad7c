// SPDX-License-Identifier: GPL-2.0-only
//! What the mechanisms did: their states and counters, in words.

use tandem_live::session::MechanismState;

use crate::explain::mechanism::{Counter, MECHANISMS, Mechanism};
use crate::quantity::count;

const fn acts(name: &'static str, meaning: &'static str) -> Counter {
    Counter { name, meaning, acts: true }
}

const fn sees(name: &'static str, meaning: &'static str) -> Counter {
    Counter { name, meaning, acts: false }
}

/// What no mechanism counts, and what affinities count and the scheduler does not.
const OTHERS: [Counter; 11] = [
    sees("base_idle", "times that a task found an idle CPU"),
    sees("base_queued", "times that it had to wait"),
    sees("pull_asked", "running threads that a faster CPU asked for"),
    acts("pull_moved", "threads that it got"),
    acts("pull_traded", "faster CPUs taken from threads that wait for memory"),
    acts("isolate_moved", "threads moved to CPUs where they belong"),
    sees("isolate_elsewhere", "threads that may not go there"),
    sees("isolate_fixed", "threads that the kernel lets nobody move"),
    acts("isolate_interrupts", "interrupts moved to the OS CPU"),
    sees("isolate_fixed_interrupts", "interrupts that cannot be moved"),
    acts("longest_placed", "times that a thread got CPUs by its length"),
];

/// The counter of a name.
fn counter(name: &str) -> Option<&'static Counter> {
    let counters = MECHANISMS.iter().flat_map(|mechanism| mechanism.counters).chain(&OTHERS);
    counters.into_iter().find(|counter| counter.name == name)
}

/// A mechanism that was asked for, or what the scheduler does anyway.
#[derive(Debug, PartialEq, Eq)]
pub struct Deeds {
    /// Its name.
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
        states.iter().any(|state| mechanism(&state.name).is_some_and(|known| counter.starts_with(known.prefix)))
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
    MECHANISMS.iter().find(|mechanism| mechanism.state() == variable)
}

fn of_mechanism(state: &MechanismState, counters: &[(String, u64)]) -> Option<Deeds> {
    let MechanismState { name: variable, state, why } = state;
    let name = variable.strip_suffix("_state").unwrap_or(variable).to_owned();
    let known = mechanism(variable);
    let is_mine = |name: &str| known.is_some_and(|known| name.starts_with(known.prefix));
    let mine: Vec<&(String, u64)> = counters.iter().filter(|(name, _)| is_mine(name)).collect();
    let (happened, counts) = (mine.iter().filter(|(_, number)| *number > 0), !mine.is_empty());
    let acted = happened.clone().any(|(name, _)| counter(name).is_none_or(|known| known.acts));
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
    format!("{} {}", count(number), counter(name).map_or_else(words, |known| known.meaning.to_owned()))
}
