// SPDX-License-Identifier: MIT OR Apache-2.0
//! What an object's loader is to do, as data: the TOML file beside it, `tandem.toml` for `tandem.bpf.o`. `docs/schedulers.md`
//! describes it; `facts` has its words for the machine.
//!
//! Followed are `set`, `resize`, `each.machine`, `each.cpu`, `each.opp_table`, `run.check`, `run.syscall`, `perf`, `statistics`,
//! `applications` and `hints`; `profile` is the simulator's. The other keys serve loaders of schedulers that the simulator
//! knows and this has never loaded: they are refused, not passed over, and so is what nobody knows.

mod facts;
#[cfg(test)]
mod tests;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tandem_bpf_vm::open::{OpenObject, SettingError};
use toml::{Table, Value};

use crate::counters::Event;
use crate::machine::Machine;
use crate::statistics::Statistics;
use facts::{Fact, of_cpu, of_machine, of_opp_table};

/// What is wrong with a file beside an object.
#[derive(Debug, thiserror::Error)]
pub enum SidecarError {
    /// It cannot be read.
    #[error("{}: cannot be read: {why}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        why: io::Error,
    },
    /// It is no TOML.
    #[error("{}: {why}", path.display())]
    Toml {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: Box<toml::de::Error>,
    },
    /// A key that this loader does not follow, or a value that it does not know.
    #[error("{}: `{key}` cannot be {value}: expected {expected}", path.display())]
    Value {
        /// The file.
        path: PathBuf,
        /// The key, with the tables that it is in.
        key: String,
        /// What it has.
        value: String,
        /// What it should have.
        expected: &'static str,
    },
    /// What it sets, the object does not have.
    #[error("{}: {why}", path.display())]
    Setting {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: SettingError,
    },
}

/// A program of type `syscall` and its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Call {
    pub program: String,
    pub arguments: Vec<i32>,
}

/// What is to be done once the object is loaded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Plan {
    /// Programs to run before it is attached.
    pub calls: Vec<Call>,
    /// Maps of counters, one for each CPU, and what they count.
    pub counters: Vec<(String, Event)>,
    /// What can be read of it.
    pub statistics: Statistics,
    /// The map from an application's first process to its number.
    pub applications: Option<String>,
    /// The program that makes a thread one of an application's.
    pub adopt: Option<String>,
    /// The map from a thread to its relative length.
    pub lengths: Option<String>,
}

/// A file beside an object.
#[derive(Debug)]
pub(crate) struct Sidecar {
    path: PathBuf,
    table: Table,
}

impl Sidecar {
    /// Reads the file beside an object; an empty one if there is none.
    pub(crate) fn beside(object: &Path) -> Result<Self, SidecarError> {
        let name = object.file_name().unwrap_or_default().to_string_lossy();
        let stem = name.strip_suffix(".o").unwrap_or(&name);
        let path = object.with_file_name(format!("{}.toml", stem.strip_suffix(".bpf").unwrap_or(stem)));
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(why) => return Err(SidecarError::Read { path, why }),
        };
        Self::parse(path, &text)
    }

    /// Reads the text of the file at `path`.
    pub(crate) fn parse(path: PathBuf, text: &str) -> Result<Self, SidecarError> {
        match text.parse() {
            Ok(table) => Ok(Self { path, table }),
            Err(why) => Err(SidecarError::Toml { path, why: Box::new(why) }),
        }
    }

    /// Does what the file says to an object that is not loaded yet; the rest is for after that.
    pub(crate) fn apply(&self, machine: &Machine, open: &mut OpenObject) -> Result<Plan, SidecarError> {
        const KEYS: &str = "one of profile, set, each, resize, run, perf, statistics, applications, hints";
        let mut plan = Plan::default();
        // Sizes come first: elements are set in them.
        for (name, elements) in self.entries("resize")? {
            let elements = self.number("resize", name, elements, machine)?;
            open.resize(name, elements).map_err(|why| self.setting(why))?;
        }
        for (key, value) in &self.table {
            match key.as_str() {
                "profile" | "resize" => {}
                "set" => self.set(machine, open)?,
                "each" => self.each(machine, open)?,
                "run" => plan.calls = self.calls(machine)?,
                "perf" => plan.counters = self.counters()?,
                "statistics" => plan.statistics = self.statistics()?,
                "applications" => {
                    let mut names = self.names("applications", ["tgids", "adopt"], "`tgids`, `adopt`: a name each")?;
                    plan.adopt = names.pop().flatten();
                    plan.applications = names.pop().flatten();
                }
                "hints" => {
                    let mut names = self.names("hints", ["relative_length"], "`relative_length`, the name of a map")?;
                    plan.lengths = names.pop().flatten();
                }
                _ => return Err(self.wrong(key, value, KEYS)),
            }
        }
        Ok(plan)
    }

    fn set(&self, machine: &Machine, open: &mut OpenObject) -> Result<(), SidecarError> {
        for (name, value) in self.entries("set")? {
            let set = match value {
                Value::Array(elements) => elements
                    .iter()
                    .enumerate()
                    .try_for_each(|(index, element)| set_one(machine, open, &format!("{name}[{index}]"), element)),
                value => set_one(machine, open, name, value),
            };
            set.map_err(|why| self.setting(why))?;
        }
        Ok(())
    }

    fn each(&self, machine: &Machine, open: &mut OpenObject) -> Result<(), SidecarError> {
        for (each, table) in self.entries("each")? {
            let key = format!("each.{each}");
            let count = match each.as_str() {
                "machine" => 1,
                "cpu" => machine.cpus.len(),
                "opp_table" => machine.opp_tables.len(),
                _ => return Err(self.wrong(&key, table, "one of machine, cpu, opp_table")),
            };
            let table = table.as_table().ok_or_else(|| self.wrong(&key, table, "a table"))?;
            for (pattern, value) in table {
                for number in 0..count {
                    let fact = match (each.as_str(), value) {
                        (_, Value::Integer(constant)) => Some(Fact::One(i128::from(*constant))),
                        ("machine", Value::String(word)) => of_machine(machine, word),
                        ("cpu", Value::String(word)) => of_cpu(&machine.cpus[number], number, word),
                        (_, Value::String(word)) => of_opp_table(&machine.opp_tables[number], word),
                        _ => None,
                    };
                    const EXPECTED: &str = "a number, or a fact of what the table is for";
                    let fact = fact.ok_or_else(|| self.wrong(&format!("{key}.{pattern}"), value, EXPECTED))?;
                    let name = pattern.replace("{}", &number.to_string());
                    set_fact(open, &name, &fact).map_err(|why| self.setting(why))?;
                }
            }
        }
        Ok(())
    }

    fn calls(&self, machine: &Machine) -> Result<Vec<Call>, SidecarError> {
        let (mut check, mut calls) = (None, Vec::new());
        for (key, value) in self.entries("run")? {
            match (key.as_str(), value) {
                ("check", Value::String(program)) => {
                    check = Some(Call { program: program.clone(), arguments: Vec::new() });
                }
                ("syscall", Value::Table(programs)) => {
                    for (program, arguments) in programs {
                        calls.push(Call {
                            program: program.clone(),
                            arguments: self.arguments(program, arguments, machine)?,
                        });
                    }
                }
                _ => {
                    let expected = "`check`, the name of a program, or `syscall`, a table";
                    return Err(self.wrong(&format!("run.{key}"), value, expected));
                }
            }
        }
        Ok(check.into_iter().chain(calls).collect())
    }

    fn arguments(&self, program: &str, value: &Value, machine: &Machine) -> Result<Vec<i32>, SidecarError> {
        let key = format!("run.syscall.{program}");
        let arguments = value.as_array().ok_or_else(|| self.wrong(&key, value, "an array of numbers"))?;
        let number = |value: &Value| {
            let number = self.number("run.syscall", program, value, machine)?;
            i32::try_from(number).map_err(|_| self.wrong(&key, value, "numbers of 32 bits"))
        };
        arguments.iter().map(number).collect()
    }

    fn counters(&self) -> Result<Vec<(String, Event)>, SidecarError> {
        let counter = |(map, value): (&String, &Value)| {
            let event = value.as_str().and_then(Event::of);
            let expected = "one of cycles, instructions, cache_misses, stalled_cycles";
            Ok((map.clone(), event.ok_or_else(|| self.wrong(&format!("perf.{map}"), value, expected))?))
        };
        self.entries("perf")?.map(counter).collect()
    }

    fn statistics(&self) -> Result<Statistics, SidecarError> {
        let (mut map, mut names, mut states) = (None, None, Vec::new());
        for (key, value) in self.entries("statistics")? {
            let wrong = || {
                self.wrong(
                    &format!("statistics.{key}"),
                    value,
                    "`map`, `names`: a name each; `states`: an array of names",
                )
            };
            let text = |value: &Value| value.as_str().map(str::to_owned).ok_or_else(wrong);
            match key.as_str() {
                "map" => map = Some(text(value)?),
                "names" => names = Some(text(value)?),
                "states" => states = value.as_array().ok_or_else(wrong)?.iter().map(text).collect::<Result<_, _>>()?,
                _ => return Err(wrong()),
            }
        }
        if map.is_some() != names.is_some() {
            return Err(self.wrong("statistics", &self.table["statistics"], "`map` and `names` together"));
        }
        Ok(Statistics { counters: map.zip(names), states })
    }

    /// The names that a table has for these keys, in their order, and for no others.
    fn names<const N: usize>(
        &self,
        table: &str,
        keys: [&str; N],
        expected: &'static str,
    ) -> Result<Vec<Option<String>>, SidecarError> {
        let mut names = vec![None; N];
        for (key, value) in self.entries(table)? {
            let at = keys.iter().position(|known| known == key);
            let (at, name) = at
                .zip(value.as_str())
                .ok_or_else(|| self.wrong(&format!("{table}.{key}"), value, expected))?;
            names[at] = Some(name.to_owned());
        }
        Ok(names)
    }

    fn entries(&self, key: &str) -> Result<impl Iterator<Item = (&String, &Value)>, SidecarError> {
        let table = match self.table.get(key) {
            Some(Value::Table(table)) => Some(table),
            Some(other) => return Err(self.wrong(key, other, "a table")),
            None => None,
        };
        Ok(table.into_iter().flatten())
    }

    /// A number that is not negative, or a fact of the machine.
    fn number(&self, table: &str, key: &str, value: &Value, machine: &Machine) -> Result<u64, SidecarError> {
        let number = match value {
            Value::Integer(number) => u64::try_from(*number).ok(),
            Value::String(word) => of_machine(machine, word).and_then(|fact| fact.number()),
            _ => None,
        };
        number.ok_or_else(|| self.wrong(&format!("{table}.{key}"), value, "a number, or a fact such as \"nr_cpus\""))
    }

    fn wrong(&self, key: &str, value: &Value, expected: &'static str) -> SidecarError {
        SidecarError::Value { path: self.path.clone(), key: key.to_owned(), value: value.to_string(), expected }
    }

    fn setting(&self, why: SettingError) -> SidecarError {
        SidecarError::Setting { path: self.path.clone(), why }
    }
}

fn set_one(machine: &Machine, open: &mut OpenObject, name: &str, value: &Value) -> Result<(), SettingError> {
    match value {
        Value::String(word) => match of_machine(machine, word) {
            Some(fact) => set_fact(open, name, &fact),
            None => open.set(name, word),
        },
        other => open.set(name, &other.to_string()),
    }
}

/// A number sets the variable; a list as many elements of an array, from the first on or, behind `[8..]`, the eighth.
fn set_fact(open: &mut OpenObject, name: &str, fact: &Fact) -> Result<(), SettingError> {
    let from = name.strip_suffix("..]").and_then(|name| name.rsplit_once('['));
    let numbers = match (fact, from) {
        (Fact::One(number), None) => return open.set_integer(name, *number),
        (Fact::One(number), Some(_)) => std::slice::from_ref(number),
        (Fact::List(numbers), _) => numbers,
    };
    let (array, first) = from.unwrap_or((name, "0"));
    // What is no number stays in the name, which then is not that of a variable.
    let Ok(first) = first.parse::<usize>() else { return open.set_integer(name, 0) };
    let mut numbers = (first..).zip(numbers);
    numbers.try_for_each(|(index, number)| open.set_integer(&format!("{array}[{index}]"), *number))
}
