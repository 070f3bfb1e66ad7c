// SPDX-License-Identifier: MIT OR Apache-2.0
//! Settings of variables: `"cpus[{cpu}].llc" = "cpu.llc"`.

use std::fmt;

use super::reader::Place;
use crate::facts::{Shape, Subject, System, Word};

/// A variable, or variables, and their value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// The variable's name, which may go on into it, with the placeholder of `subject` in it. In arrays, `[8..]` at its end
    /// stands for the elements from the eighth on.
    pub name: String,
    /// What it is set once for each of; the machine: once.
    pub subject: Subject,
    /// The truth about the machine without which it is not set.
    pub condition: Option<Word>,
    /// The value.
    pub value: Value,
    /// Where the value stands.
    pub place: Place,
}

/// What a variable is set to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// Text as on the command line: a number, `true`, the name of an enumerator, or a quoted string.
    Text(String),
    /// What is so on the machine.
    Fact(Word),
}

impl Value {
    /// How the file says it.
    pub fn word(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Fact(word) => word.to_string(),
        }
    }
}

/// An assignment to one variable, or to one element of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Assigned {
    /// Text, which the variable's type gives a meaning.
    Text(String),
    /// A number.
    Number(u64),
}

impl fmt::Display for Assigned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Number(number) => write!(f, "{number}"),
        }
    }
}

impl Setting {
    /// The name for the first of what it is set for.
    pub(super) fn first_name(&self) -> String {
        let name = self.name_for(0);
        if let Some((array, first)) = split_elements(&name) {
            return format!("{array}[{first}]");
        }
        if self.is_list() { format!("{name}[0]") } else { name }
    }

    /// The name for the CPU, domain or table `number`.
    fn name_for(&self, number: usize) -> String {
        match self.subject {
            Subject::Machine => self.name.clone(),
            subject => self.name.replace(&subject.placeholder(), &number.to_string()),
        }
    }

    /// Whether one name gets several numbers.
    fn is_list(&self) -> bool {
        let Value::Fact(word) = &self.value else { return false };
        word.shape() == Shape::List || word.subject() != Subject::Machine && self.subject == Subject::Machine
    }

    /// What is set on a system, in order.
    pub(crate) fn assignments(&self, system: &System) -> Vec<(String, Assigned)> {
        if self.condition.is_some_and(|truth| !system.holds(truth)) {
            return Vec::new();
        }
        (0..system.count(self.subject)).flat_map(|number| self.assignments_for(system, number)).collect()
    }

    fn assignments_for(&self, system: &System, number: usize) -> Vec<(String, Assigned)> {
        let name = self.name_for(number);
        let word = match &self.value {
            Value::Text(text) => {
                let name = split_elements(&name).map_or(name.clone(), |(array, first)| format!("{array}[{first}]"));
                return vec![(name, Assigned::Text(text.clone()))];
            }
            Value::Fact(word) => *word,
        };
        let numbers = match (self.subject, word.subject()) {
            (Subject::Machine, _) => system.all(word),
            (_, Subject::Machine) => system.fact(word, 0).map_or_else(Vec::new, |fact| fact.numbers().to_vec()),
            _ => system.fact(word, number).map_or_else(Vec::new, |fact| fact.numbers().to_vec()),
        };
        match (split_elements(&name), numbers.as_slice()) {
            (None, [only]) if !self.is_list() => vec![(name, Assigned::Number(*only))],
            (from, numbers) => {
                let (array, first) = from.unwrap_or((&name, 0));
                let element = |(at, number): (usize, &u64)| (format!("{array}[{at}]"), Assigned::Number(*number));
                (first..).zip(numbers).map(element).collect()
            }
        }
    }
}

/// The array, and the first of its elements that are meant, if the name ends in `[8..]`.
fn split_elements(name: &str) -> Option<(&str, usize)> {
    let (array, first) = name.strip_suffix("..]")?.rsplit_once('[')?;
    Some((array, first.parse().ok()?))
}
