// SPDX-License-Identifier: MIT OR Apache-2.0
//! What an object's loader is to do, as data: the TOML file beside it, `tandem.toml` for `tandem.bpf.o`. `docs/schedulers.md`
//! describes it.
//!
//! Of its keys `set`, `resize`, `each.machine`, `each.cpu`, `each.opp_table` and `run.syscall` are followed; `profile` is
//! the simulator's. The others serve loaders of schedulers that the simulator knows and this has never loaded: they are
//! refused, not passed over.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tandem_bpf_vm::open::{OpenObject, SettingError};
use toml::{Table, Value};

use crate::machine::{Cpu, Machine, OppTable};

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
        match text.parse() {
            Ok(table) => Ok(Self { path, table }),
            Err(why) => Err(SidecarError::Toml { path, why: Box::new(why) }),
        }
    }

    /// Does what the file says to an object that is not loaded yet; the calls are for after that.
    pub(crate) fn apply(&self, machine: &Machine, open: &mut OpenObject) -> Result<Vec<Call>, SidecarError> {
        let mut calls = Vec::new();
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
                "run" => calls = self.calls(machine)?,
                _ => return Err(self.wrong(key, value, "one of profile, set, each, resize, run")),
            }
        }
        Ok(calls)
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
                    let values = match (each.as_str(), value) {
                        (_, Value::Integer(constant)) => Some(vec![i128::from(*constant)]),
                        ("machine", Value::String(word)) => machine_fact(machine, word),
                        ("cpu", Value::String(word)) => cpu_fact(&machine.cpus[number], number, word),
                        (_, Value::String(word)) => opp_table_fact(&machine.opp_tables[number], word),
                        _ => None,
                    };
                    let values = values
                        .ok_or_else(|| self.wrong(pattern, value, "a number, or a fact of what the table is for"))?;
                    let name = pattern.replace("{}", &number.to_string());
                    let is_list = each == "opp_table" || LISTS.contains(&value.as_str().unwrap_or_default());
                    set_all(open, &name, is_list && value.as_str() != Some("nr_opps"), &values)
                        .map_err(|why| self.setting(why))?;
                }
            }
        }
        Ok(())
    }

    fn calls(&self, machine: &Machine) -> Result<Vec<Call>, SidecarError> {
        let mut calls = Vec::new();
        for (key, programs) in self.entries("run")? {
            let programs = programs.as_table().filter(|_| key == "syscall");
            let programs = programs
                .ok_or_else(|| self.wrong(&format!("run.{key}"), &self.table["run"], "run.syscall, a table"))?;
            for (program, value) in programs {
                let arguments = value.as_array().ok_or_else(|| self.wrong(program, value, "an array of numbers"))?;
                let number = |value: &Value| {
                    let number = self.number("run.syscall", program, value, machine)?;
                    i32::try_from(number).map_err(|_| self.wrong(program, value, "numbers of 32 bits"))
                };
                let arguments = arguments.iter().map(number).collect::<Result<_, _>>()?;
                calls.push(Call { program: program.clone(), arguments });
            }
        }
        Ok(calls)
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
            Value::String(word) => machine_fact(machine, word).and_then(|fact| u64::try_from(*fact.first()?).ok()),
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
        Value::String(word) => match machine_fact(machine, word) {
            Some(values) => set_all(open, name, LISTS.contains(&word.as_str()), &values),
            None => open.set(name, word),
        },
        other => open.set(name, &other.to_string()),
    }
}

/// A number sets the variable; a list as many elements of an array.
fn set_all(open: &mut OpenObject, name: &str, is_list: bool, numbers: &[i128]) -> Result<(), SettingError> {
    match numbers {
        [number] if !is_list => open.set_integer(name, *number),
        numbers => numbers
            .iter()
            .enumerate()
            .try_for_each(|(index, number)| open.set_integer(&format!("{name}[{index}]"), *number)),
    }
}

/// Words for the machine that stand for a number for each CPU.
const LISTS: &[&str] = &["capacities", "cpus_by_capacity", "nodes"];

fn count_of(numbers: impl Iterator<Item = u64>) -> i128 {
    i128::from(numbers.max().map_or(0, |last| last + 1))
}

fn machine_fact(machine: &Machine, word: &str) -> Option<Vec<i128>> {
    let cpus = &machine.cpus;
    let list = |numbers: Vec<u64>| numbers.into_iter().map(i128::from).collect();
    let one = |number: i128| Some(vec![number]);
    match word {
        "nr_cpus" | "possible_cpus" => one(cpus.len() as i128),
        "nr_nodes" => one(i128::from(machine.nr_nodes)),
        "nr_llcs" => one(count_of(cpus.iter().map(|cpu| cpu.llc))),
        "nr_packages" => one(count_of(cpus.iter().map(|cpu| cpu.package))),
        "nr_performance_domains" => one(count_of(cpus.iter().map(|cpu| cpu.performance_domain))),
        "nr_opp_tables" => one(machine.opp_tables.len() as i128),
        "smt" => one(i128::from(cpus.iter().any(|cpu| cpu.sibling.is_some()))),
        "numa" => one(i128::from(machine.nr_nodes > 1)),
        "uniform" => one(i128::from(machine.nr_nodes == 1)),
        "same_capacity" => one(i128::from(cpus.windows(2).all(|pair| pair[0].capacity == pair[1].capacity))),
        "smallest_cpu" => one(machine.cpus_by_capacity().last().copied().map_or(0, i128::from)),
        // No file of the kernel has it.
        "memory_bandwidth" => one(0),
        "cpuperf" => one(i128::from(machine.cpuperf)),
        "capacities" => Some(list(cpus.iter().map(|cpu| cpu.capacity).collect())),
        "cpus_by_capacity" => Some(list(machine.cpus_by_capacity())),
        "nodes" => Some(list(cpus.iter().map(|cpu| cpu.node).collect())),
        _ => None,
    }
}

fn cpu_fact(cpu: &Cpu, number: usize, word: &str) -> Option<Vec<i128>> {
    let fact = match word {
        "number" => number as u64,
        "online" => u64::from(cpu.online),
        "node" => cpu.node,
        "package" => cpu.package,
        "llc" => cpu.llc,
        "core" => cpu.core,
        // As a loader has it that takes a 32-bit -1 for none.
        "sibling" => cpu.sibling.unwrap_or(u64::from(u32::MAX)),
        "capacity" => cpu.capacity,
        "performance" => cpu.performance,
        "performance_domain" => cpu.performance_domain,
        "opp_table" => cpu.opp_table,
        _ => return None,
    };
    Some(vec![i128::from(fact)])
}

fn opp_table_fact(table: &OppTable, word: &str) -> Option<Vec<i128>> {
    let list = |numbers: &[u64]| Some(numbers.iter().copied().map(i128::from).collect());
    match word {
        "nr_opps" => Some(vec![table.frequency.len() as i128]),
        "frequency" => list(&table.frequency),
        "performance" => list(&table.performance),
        "power" => list(&table.power),
        _ => None,
    }
}
