// SPDX-License-Identifier: MIT OR Apache-2.0
//! What was tried: numbers of cases by kind and by outcome.

use std::collections::BTreeMap;
use std::fmt;

use crate::objects::Objects;
use crate::random::case::Case;
use crate::trial::Outcome;

/// Numbers of cases.
#[derive(Debug, Default)]
pub struct Summary {
    cases: u64,
    kinds: BTreeMap<String, u64>,
    outcomes: BTreeMap<&'static str, u64>,
    simulated_s: f64,
}

impl Summary {
    /// Counts a case; `outcome` is `None` if it failed.
    pub fn count(&mut self, case: &Case, objects: &Objects, outcome: Option<&Outcome>) {
        self.cases += 1;
        for kind in [case.machine.kind().to_owned(), case.workload.kind().to_owned(), case.scheduler.kind(objects)] {
            *self.kinds.entry(kind).or_default() += 1;
        }
        if !case.hotplug.is_empty() {
            *self.kinds.entry("hotplug".to_owned()).or_default() += 1;
        }
        let outcome = match outcome {
            None => "failed",
            Some(Outcome::Refused(what)) => what,
            Some(Outcome::Stuck) => "stuck",
            Some(Outcome::Unfinished) => "unfinished",
            Some(Outcome::Ran { simulated_s, ejected }) => {
                self.simulated_s += simulated_s;
                if *ejected { "ejected" } else { "ran" }
            }
        };
        *self.outcomes.entry(outcome).or_default() += 1;
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |counts: Vec<String>| counts.join(", ");
        writeln!(f, "{} cases, {:.1} simulated seconds", self.cases, self.simulated_s)?;
        writeln!(f, "  {}", list(self.outcomes.iter().map(|(name, count)| format!("{count} {name}")).collect()))?;
        write!(f, "  {}", list(self.kinds.iter().map(|(name, count)| format!("{name}: {count}")).collect()))
    }
}
