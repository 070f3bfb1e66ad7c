// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random machines: of any shape, many equal CPUs, and bundled ones with a few numbers changed.

use std::path::Path;

use proptest::prelude::*;
use proptest::sample::Index;
use proptest::strategy::BoxedStrategy;
use tandem_simulator::machine::{Machine, catalogue};
use tandem_simulator::{InputError, generated};

use super::any_machine::any_machine;
use super::machine::Spec;

/// Bundled machines with more CPUs than this are left out: they take long.
const MOST_CLUSTER_LINES: usize = 9;

/// How a machine is made.
#[derive(Debug, Clone)]
pub enum MachinePlan {
    /// Equal CPUs, up to 64.
    Equal(u32),
    /// A machine of any shape.
    Any(Box<Spec>),
    /// A bundled machine.
    Bundled {
        /// The name of the machine.
        name: &'static str,
        /// One of the machine's configurations, if there are any.
        configuration: Option<Index>,
        /// Numbers of the machine's description, and what each is multiplied by.
        changes: Vec<(Index, f64)>,
    },
}

/// Any machine.
pub fn any_machine_plan() -> BoxedStrategy<MachinePlan> {
    let names: Vec<&'static str> = catalogue::names().filter(|name| is_small(name)).collect();
    let factor = prop_oneof![Just(0.0), Just(0.5), Just(2.0), Just(10.0), 0.01..3.0];
    let changes = prop::collection::vec((any::<Index>(), factor), 0..5);
    let bundled = (prop::sample::select(names), prop::option::of(any::<Index>()), changes)
        .prop_map(|(name, configuration, changes)| MachinePlan::Bundled { name, configuration, changes });
    prop_oneof![
        1 => (1..=64u32).prop_map(MachinePlan::Equal),
        5 => any_machine().prop_map(|spec| MachinePlan::Any(Box::new(spec))),
        2 => bundled,
    ]
    .boxed()
}

fn is_small(name: &str) -> bool {
    let text = catalogue::text(name).unwrap_or_default();
    text.lines().filter(|line| line.trim() == "[[cluster]]").count() < MOST_CLUSTER_LINES
}

impl MachinePlan {
    /// The machine, or what is wrong with a description that was changed.
    ///
    /// # Panics
    /// The reader refuses a machine that was not changed.
    pub fn build(&self) -> Result<Machine, InputError> {
        match self {
            Self::Equal(cpus) => generated::machine(*cpus),
            Self::Any(spec) => Ok(spec.build()),
            Self::Bundled { name, configuration, changes } => {
                let text = catalogue::text(name).unwrap_or_default();
                let configurations = configurations(text);
                let configuration = configuration.filter(|_| !configurations.is_empty());
                let configuration = configuration.map(|index| configurations[index.index(configurations.len())]);
                Machine::parse(name, Path::new("bundled.toml"), &changed(text, changes), configuration)
            }
        }
    }

    /// The kind of the machine, for the summary.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Equal(_) => "equal CPUs",
            Self::Any(_) => "any machine",
            Self::Bundled { .. } => "bundled machines",
        }
    }

    /// The machine as a user would name or describe it.
    pub fn words(&self) -> String {
        match self {
            Self::Equal(cpus) => format!("{cpus} equal CPUs"),
            Self::Any(spec) => format!("{} described by\n{}", cpus_of(spec), spec.to_toml()),
            Self::Bundled { name, changes, .. } if changes.is_empty() => format!("{name} as it is"),
            Self::Bundled { name, changes, .. } => {
                let text = catalogue::text(name).unwrap_or_default();
                let after = changed(text, changes);
                let lines = text.lines().zip(after.lines()).filter(|(before, after)| before != after);
                let lines: Vec<String> = lines.map(|(_, after)| format!("\n  {after}")).collect();
                format!("{name} with these lines:{}", lines.concat())
            }
        }
    }
}

fn cpus_of(spec: &Spec) -> String {
    let cpus: u32 = spec.clusters.iter().map(|cluster| cluster.cores * cluster.smt).sum();
    format!("{cpus} CPUs in {} clusters,", spec.clusters.len())
}

/// Names of the configurations that a description has.
fn configurations(text: &str) -> Vec<&str> {
    text.lines().filter_map(|line| line.trim().strip_prefix("[configuration.")?.strip_suffix(']')).collect()
}

/// The description with some of its numbers multiplied.
fn changed(text: &str, changes: &[(Index, f64)]) -> String {
    let mut text = text.to_owned();
    for (index, factor) in changes {
        let numbers = numbers(&text);
        if numbers.is_empty() {
            continue;
        }
        let place = numbers[index.index(numbers.len())].clone();
        let old = &text[place.clone()];
        let value = old.parse().unwrap_or(1.0) * factor;
        let new = if old.contains('.') { format!("{value:?}") } else { format!("{}", value as u64) };
        text.replace_range(place, &new);
    }
    text
}

/// Where numbers stand that a description gives: not in texts, comments and names.
fn numbers(text: &str) -> Vec<std::ops::Range<usize>> {
    let mut found = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let (mut start, mut in_text, mut before) = (None, false, ' ');
        for (place, letter) in line.char_indices() {
            if letter == '#' && !in_text {
                break;
            }
            in_text ^= letter == '"';
            let part = letter.is_ascii_digit() || (letter == '.' && start.is_some());
            match start {
                None if part && !in_text && matches!(before, ' ' | '=' | '[' | ',') => start = Some(place),
                Some(first) if !part => {
                    if matches!(letter, ' ' | ',' | ']' | '}' | '\n') {
                        found.push(at + first..at + place);
                    }
                    start = None;
                }
                _ => {}
            }
            before = letter;
        }
        at += line.len();
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_outside_of_texts_names_and_comments() {
        let text = "a1 = 2 # 3\nb = \"4\"\n[x.m5]\nc = [6.5, 7]\nd = { e = 8 }\n";
        let found: Vec<&str> = numbers(text).into_iter().map(|range| &text[range]).collect();
        assert_eq!(found, ["2", "6.5", "7", "8"]);
    }
}
