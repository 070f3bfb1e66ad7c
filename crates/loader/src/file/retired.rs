// SPDX-License-Identifier: MIT OR Apache-2.0
//! Words that loaders' files had when `[set]` and `[each.*]` had words of their own, and what is said instead.

use crate::facts::Subject;

/// A fact that has another name now.
pub(super) fn fact(word: &str) -> Option<&'static str> {
    Some(match word {
        "possible_cpus" => "nr_cpus",
        "capacities" => "cpu.capacity",
        "nodes" => "cpu.node",
        _ => return None,
    })
}

/// An argument of a program that has another name now.
pub(super) fn argument(word: &str) -> Option<&'static str> {
    match word {
        "cpu" => Some("cpu.number"),
        "sibling" => Some("cpu.sibling"),
        _ => fact(word),
    }
}

/// What a line of `[each.WORD]` is now.
pub(super) fn each(word: &str, name: &str, fact: Option<&str>) -> String {
    let subject = match word {
        "cpu" => Subject::Cpu,
        "domain" => Subject::Domain,
        "opp_table" => Subject::OppTable,
        "hybrid" => return format!("such a line stands below `[set_if.hybrid]` now: \"{name}\" = …"),
        _ => Subject::Machine,
    };
    let name = if subject == Subject::Machine { name.to_owned() } else { name.replace("{}", &subject.placeholder()) };
    let value = match (fact, subject) {
        (None, _) => "…".to_owned(),
        (Some(fact), Subject::Machine) => format!("\"{}\"", self::fact(fact).unwrap_or(fact)),
        (Some(fact), subject) => format!("\"{}.{fact}\"", subject.prefix()),
    };
    format!("such a line stands below `[set]` now, as \"{name}\" = {value}")
}
