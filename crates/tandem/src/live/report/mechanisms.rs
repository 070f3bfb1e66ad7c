// SPDX-License-Identifier: GPL-2.0-only
//! What the mechanisms did: their states and counters, in words.

use crate::explain::mechanism::{MECHANISMS, Mechanism};
use crate::quantity::count;

/// What no mechanism counts.
const BASE: [(&str, &str); 5] = [
    ("base_idle", "times that a task found an idle CPU"),
    ("base_queued", "times that it had to wait"),
    ("pull_asked", "running threads that a faster CPU asked for"),
    ("pull_moved", "threads that it got"),
    ("pull_traded", "faster CPUs taken from threads that wait for memory"),
];

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
pub fn deeds(states: &[(String, String)], counters: &[(String, u64)]) -> Vec<Deeds> {
    let mut all: Vec<Deeds> = states.iter().filter_map(|(name, state)| of_mechanism(name, state, counters)).collect();
    let known = |counter: &str| {
        states.iter().any(|(name, _)| mechanism(name).is_some_and(|known| counter.starts_with(known.prefix)))
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

fn of_mechanism(variable: &str, state: &str, counters: &[(String, u64)]) -> Option<Deeds> {
    let name = variable.strip_suffix("_state").unwrap_or(variable).to_owned();
    let known = mechanism(variable);
    let mine: Vec<&(String, u64)> = counters
        .iter()
        .filter(|(name, number)| *number > 0 && known.is_some_and(|known| name.starts_with(known.prefix)))
        .collect();
    if state == "off" && mine.is_empty() {
        return None;
    }
    let counted = mine.iter().map(|(name, number)| counted(name, *number)).collect();
    let acted = known.is_none_or(|known| {
        mine.iter().any(|(name, _)| known.counters.iter().any(|counter| counter.name == name && counter.acts))
    });
    let state = match state {
        "active" if acted => "active".to_owned(),
        "active" => "active, but found nothing to do".to_owned(),
        other => inert(other),
    };
    Some(Deeds { name, state: Some(state), counted })
}

/// By the names of `enum tandem_state` (`bpf/stats.bpf.h`).
fn inert(state: &str) -> String {
    let why = match state {
        "one_cpu" => "there is only one CPU",
        "no_applications" => "nobody said what belongs to an application",
        "one_kind" => "all CPUs are equally fast",
        "no_counters" => "this machine's performance counters cannot be read",
        "no_cpufreq" => "no clock can be changed, or the governor is not schedutil",
        other => return other.replace('_', " "),
    };
    format!("inert: {why}")
}

/// `12 serial phases that began`; of a counter that is not known, its name.
fn counted(name: &str, number: u64) -> String {
    let counters = MECHANISMS.iter().flat_map(|mechanism| mechanism.counters);
    let meaning = counters.filter(|counter| counter.name == name).map(|counter| counter.meaning);
    let meaning = meaning.chain(BASE.iter().filter(|(known, _)| *known == name).map(|(_, meaning)| *meaning)).next();
    let words = || name.split_once('_').map_or(name, |(_, rest)| rest).replace('_', " ");
    format!("{} {}", count(number), meaning.map_or_else(words, str::to_owned))
}
