// SPDX-License-Identifier: GPL-2.0-only
//! What `mode=auto` would do on a machine: which knobs it turns there, by which rule, and what is not known.

use schemars::JsonSchema;
use serde::Serialize;
use tandem_loader::facts::Word;
use tandem_loader::steering::{Costs, Domain};
use tandem_simulator::machine::Machine;
use tandem_simulator::simulation::{Governor, KernelParameters, Options, facts, steered_clocks};

/// What `mode=auto` would do.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
pub struct Auto {
    /// By which rule.
    pub rule: Rule,
    /// Clocks whose knobs it turns, one entry for all that are alike.
    pub clocks: Vec<Clocks>,
}

/// By which rule clocks and places are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// The processor chooses clocks: a slow loop turns what its driver leaves to programs.
    Steers,
    /// The governor follows the scheduler: it asks for clocks, and where CPUs differ tasks go where their work costs least.
    Asks,
    /// There is nothing to turn.
    Nothing,
}

/// Clocks that are alike.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
pub struct Clocks {
    /// How many there are.
    pub clocks: usize,
    /// The first of their policies.
    pub policy: String,
    /// The lowest and the highest clock, kHz.
    pub range_khz: [u32; 2],
    /// The lowest clock that is to be used, kHz: where work costs least; `None`: that is not known, and nothing is turned.
    pub least_khz: Option<u32>,
    /// What work costs at the highest clock over that; `None`: not known.
    pub top_cost: Option<f64>,
    /// Why costs are not known; `None`: they are.
    pub unknown: Option<String>,
}

impl Auto {
    /// What the mode would do on a machine under `governor`.
    pub fn of(machine: &Machine, governor: Governor) -> Self {
        let mut clocks: Vec<Clocks> = Vec::new();
        for domain in steered_clocks(machine, governor) {
            let new = Clocks::of(&domain);
            match clocks.iter_mut().find(|known| known.is_like(&new)) {
                Some(known) => known.clocks += 1,
                None => clocks.push(new),
            }
        }
        let rule = match clocks.is_empty() {
            false => Rule::Steers,
            true if is_followed(machine, governor) => Rule::Asks,
            true => Rule::Nothing,
        };
        Self { rule, clocks }
    }

    /// The rule and what it does, in rows for people.
    pub fn rows(&self) -> Vec<(String, String)> {
        let mut rows = vec![("rule".to_owned(), self.rule.words().to_owned())];
        rows.extend(self.clocks.iter().map(|clocks| (clocks.policy.clone(), clocks.words())));
        rows
    }
}

impl Rule {
    /// The verdict, for a title.
    pub fn title(self) -> &'static str {
        match self {
            Self::Steers => "steers the processor",
            Self::Asks => "asks for clocks",
            Self::Nothing => "changes nothing",
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Steers => {
                "the processor chooses clocks: no clock below the one where work costs least is used, and while a clock's CPUs are \
                 lightly used the processor is told to go less far above it. What others set stays."
            }
            Self::Asks => {
                "clocks follow what the scheduler asks for: none below the one where work costs least, and where CPUs differ a task \
                 that wakes goes where its work costs least."
            }
            Self::Nothing => {
                "it acts where the processor chooses clocks, or where the governor follows what a scheduler asks for (schedutil)."
            }
        }
    }
}

/// Whether requests for clocks are followed.
fn is_followed(machine: &Machine, governor: Governor) -> bool {
    let options = Options { governor, kernel: KernelParameters::default(), ..Options::default() };
    Word::of("cpuperf").is_some_and(|followed| facts(machine, &options).holds(followed))
}

impl Clocks {
    fn of(domain: &Domain) -> Self {
        let (least_khz, top_cost, unknown) = match domain.costs {
            Costs::Least { khz, top, .. } => (Some(khz), Some(top), None),
            Costs::Unknown(why) => (None, None, Some(why.to_string())),
        };
        let range_khz = [domain.lowest_khz, domain.highest_khz];
        Self { clocks: 1, policy: domain.name.clone(), range_khz, least_khz, top_cost, unknown }
    }

    fn is_like(&self, other: &Self) -> bool {
        (self.range_khz, self.least_khz, &self.unknown) == (other.range_khz, other.least_khz, &other.unknown)
    }

    fn words(&self) -> String {
        let [lowest, highest] = self.range_khz.map(|khz| khz / 1000);
        let alike = if self.clocks > 1 { format!("and {} more clocks, ", self.clocks - 1) } else { String::new() };
        let known = match (self.least_khz, self.top_cost) {
            (Some(least), Some(top)) => {
                let lowest =
                    if least / 1000 > lowest { format!("not below {}", least / 1000) } else { "any".to_owned() };
                format!("{lowest}; work at the highest costs {top:.2} times as much")
            }
            _ => format!("as found, as {}", self.unknown.as_deref().unwrap_or("costs are not known")),
        };
        format!("{alike}{lowest} to {highest} MHz: {known}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn auto(machine: &str) -> Auto {
        Auto::of(&Machine::load(machine).unwrap(), Governor::Default)
    }

    /// 1.89 W at 800 MHz, 3.05 at 1600, 4.78 at 2400: least at 1600. E-cores likewise.
    #[test]
    fn where_the_processor_chooses_clocks_their_floor_is_said() {
        let auto = auto("i9-12900k");
        assert_eq!(auto.rule, Rule::Steers);
        let kinds: Vec<_> = auto.clocks.iter().map(|kind| (kind.clocks, kind.range_khz[1], kind.least_khz)).collect();
        assert_eq!(kinds, [(8, 5_200_000, Some(1_600_000)), (2, 3_900_000, Some(1_600_000))]);
        let words = &auto.rows()[1];
        assert_eq!(words.0, "policy0");
        assert!(words.1.starts_with("and 7 more clocks, 800 to 5200 MHz: not below 1600; work"), "{}", words.1);
    }

    #[test]
    fn elsewhere_the_rule_is_another_one_or_none() {
        assert_eq!(auto("pixel6").rule, Rule::Asks);
        let fixed = Auto::of(&Machine::load("epyc-9554-2s").unwrap(), Governor::Performance);
        assert_eq!((fixed.rule, fixed.rows().len()), (Rule::Nothing, 1));
    }
}
