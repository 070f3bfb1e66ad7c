// SPDX-License-Identifier: MIT OR Apache-2.0
//! What all meters counted, and what that is in all.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use super::source::{Domain, Method, Part, Source};
use super::why::Why;

/// What a meter counted.
#[derive(Debug, Clone, PartialEq)]
pub struct Energy {
    /// The meter: `powercap intel-rapl:0 package-0`.
    pub source: String,
    /// What it covers.
    pub domain: Domain,
    /// How the energy was measured.
    pub method: Method,
    /// How much.
    pub joules: f64,
}

/// A meter that has no number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotMeasured {
    /// The meter.
    pub source: String,
    /// What it covers.
    pub domain: Domain,
    /// Why not.
    pub why: Why,
}

impl fmt::Display for NotMeasured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.source, self.why)
    }
}

/// What was measured in a time.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Measured {
    /// From the first sample to the last.
    pub time: Duration,
    /// What counted: parts and wholes, so that they cannot be summed as they are ([`total`](Self::total)).
    pub energy: Vec<Energy>,
    /// What is there and did not.
    pub missing: Vec<NotMeasured>,
}

/// The energy of as much of the machine as can be told without counting anything twice.
#[derive(Debug, Clone, PartialEq)]
pub struct Total {
    /// How much.
    pub joules: f64,
    /// Of what: `2 packages and their memory`.
    pub covers: String,
    /// Whether it comes from a power that was read every now and then.
    pub sampled: bool,
}

impl Measured {
    pub(super) fn new(time: Duration, sources: &[Source], refused: &[NotMeasured]) -> Self {
        let mut measured = Self { time, energy: Vec::new(), missing: refused.to_vec() };
        for known in sources {
            let (source, domain) = (known.name.clone(), known.domain);
            match known.joules() {
                Ok(joules) => measured.energy.push(Energy { source, domain, method: known.method(), joules }),
                Err(why) => measured.missing.push(NotMeasured { source, domain, why }),
            }
        }
        measured.check_platform();
        measured
    }

    /// Takes the platform's counter away if it cannot be right: boards are free in what they put behind it, some nothing.
    fn check_platform(&mut self) {
        let packages = self.joules_of(Part::Package);
        let wrong = |energy: &Energy| energy.domain.part == Part::Platform && energy.joules < packages;
        for Energy { source, domain, .. } in self.energy.iter().filter(|energy| wrong(energy)) {
            let (source, domain) = (source.clone(), *domain);
            self.missing.push(NotMeasured { source, domain, why: Why::LessThanItsParts });
        }
        self.energy.retain(|energy| !wrong(energy));
    }

    fn of(&self, part: Part) -> impl Iterator<Item = &Energy> {
        self.energy.iter().filter(move |energy| energy.domain.part == part)
    }

    fn joules_of(&self, part: Part) -> f64 {
        self.of(part).map(|energy| energy.joules).sum()
    }

    /// The most that can be said: the platform, else all packages and their memory, else the machine at a sensor, else its
    /// batteries. `None`: nothing of that was measured, or not all of the packages.
    pub fn total(&self) -> Option<Total> {
        self.platform()
            .or_else(|| self.packages())
            .or_else(|| self.whole(Part::Machine))
            .or_else(|| self.whole(Part::Battery))
    }

    /// One counter of the platform. Of several, nobody says whether each counts its share or all the same.
    fn platform(&self) -> Option<Total> {
        let total = only(self.of(Part::Platform))?;
        let covers = "the platform, memory included".to_owned();
        Some(Total { joules: total.joules, covers, sampled: false })
    }

    fn packages(&self) -> Option<Total> {
        let lacks_one = self.missing.iter().any(|missing| missing.domain.part == Part::Package);
        let numbers = |part| self.of(part).map(|energy| energy.domain.package).collect::<BTreeSet<u32>>().len();
        let (packages, with_memory) = (numbers(Part::Package), numbers(Part::Dram));
        if lacks_one || packages == 0 {
            return None;
        }
        let what = if packages == 1 { "1 package".to_owned() } else { format!("{packages} packages") };
        let covers = match with_memory {
            0 => format!("{what}, without memory"),
            1 if packages == 1 => format!("{what} and its memory"),
            some if some == packages => format!("{what} and their memory"),
            some => format!("{what}, and the memory of {some}"),
        };
        Some(Total { joules: self.joules_of(Part::Package) + self.joules_of(Part::Dram), covers, sampled: false })
    }

    fn whole(&self, part: Part) -> Option<Total> {
        let energy = only(self.of(part))?;
        let sampled = matches!(energy.method, Method::Sampled { .. });
        Some(Total { joules: energy.joules, covers: format!("the machine, by {}", energy.source), sampled })
    }

    /// Why there is no [`total`](Self::total), in words that follow `not measured`; empty if there is one.
    pub fn why_not(&self) -> String {
        if self.total().is_some() {
            return String::new();
        }
        let whole = |part| matches!(part, Part::Platform | Part::Package | Part::Machine | Part::Battery);
        let mut reasons: Vec<String> =
            self.missing.iter().filter(|missing| whole(missing.domain.part)).map(ToString::to_string).collect();
        let most = 3;
        if reasons.len() > most {
            let more = reasons.len() - most;
            reasons.truncate(most);
            reasons.push(format!("{more} more like that"));
        }
        match (reasons.is_empty(), self.energy.is_empty()) {
            (false, _) => reasons.join("; "),
            (true, true) => "nothing here counts energy: no RAPL, no sensor, no battery".to_owned(),
            (true, false) => "no meter says that it covers the whole machine, or a whole processor".to_owned(),
        }
    }
}

/// The only one.
fn only<'a>(mut all: impl Iterator<Item = &'a Energy>) -> Option<&'a Energy> {
    let first = all.next()?;
    all.next().is_none().then_some(first)
}
