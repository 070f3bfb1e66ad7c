// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a loader does on one system, step by step: what follows from a loader's file and the system's facts.
//!
//! The steps are data, the same for every backend. [`Steps::prepare`] does those that come before an object is loaded, and
//! [`Steps::fill`] fills its maps; what runs programs knows when to run them.

#[cfg(test)]
mod tests;

use tandem_bpf_vm::instance::Instance;
use tandem_bpf_vm::map::Item;
use tandem_bpf_vm::open::{OpenObject, SettingError};

use crate::facts::{Shape, Subject, System, Word};
use crate::file::{Argument, Assigned, CallLine, Event, LoaderFile, Setting, SteeringLines, TaskMaps, Value};
use crate::input::InputError;
use crate::statistics::Statistics;

/// A call of a `syscall` program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The program.
    pub program: String,
    /// Arguments of the program, of which its argument structure consists.
    pub arguments: Vec<i32>,
}

impl Call {
    /// The argument structure.
    pub fn bytes(&self) -> Vec<u8> {
        self.arguments.iter().flat_map(|argument| argument.to_le_bytes()).collect()
    }
}

/// An array at the end of a data section, or a map, and how many elements it gets; or a variable and its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step<T> {
    /// The variable, or the map.
    pub name: String,
    /// What it gets.
    pub value: T,
    /// The line of the file that says so: the index of [`LoaderFile::resize`], [`LoaderFile::max_entries`] or [`LoaderFile::set`].
    line: usize,
}

/// What a loader does on one system.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Steps {
    /// Arrays to resize, before anything is set.
    pub resize: Vec<Step<u64>>,
    /// Maps that get a number of entries.
    pub max_entries: Vec<Step<u64>>,
    /// Variables to set.
    pub set: Vec<Step<Assigned>>,
    /// Members of `struct sched_ext_ops`, and their numbers.
    pub ops: Vec<(String, u64)>,
    /// Flags of `struct sched_ext_ops` to add, if the kernel has them.
    pub flags: Vec<String>,
    /// Maps to fill once they are there: the value of each key from 0 on.
    pub maps: Vec<(String, Vec<u32>)>,
    /// Maps of counters, one for each CPU.
    pub counters: Vec<(String, Event)>,
    /// The CPU that programs and `ops.init` must run on.
    pub init_cpu: Option<u32>,
    /// The program that says whether the settings will do; it comes before all others.
    pub check: Option<String>,
    /// The structure of a task's data in an arena.
    pub arena: Option<String>,
    /// Programs to run before the scheduler is attached.
    pub calls: Vec<Call>,
    /// Programs to run after that.
    pub attached: Vec<Call>,
    /// Variables whose values at the end are reported.
    pub print: Vec<String>,
    /// What is entered for tasks.
    pub tasks: TaskMaps,
    /// What can be read of the scheduler.
    pub statistics: Statistics,
    /// What a slow loop beside it follows.
    pub steering: Option<SteeringLines>,
}

/// An object that is open: what is changed of it before it is loaded.
pub trait Opened {
    /// Gives the array at the end of a data section so many elements.
    ///
    /// # Errors
    /// There is no such variable, or no such array.
    fn resize(&mut self, name: &str, elements: u64) -> Result<(), SettingError>;

    /// Gives a map, or the maps that one holds (`outer.inner`), so many entries.
    ///
    /// # Errors
    /// There is no such map.
    fn set_max_entries(&mut self, map: &str, entries: u32) -> Result<(), SettingError>;

    /// Sets a variable, or a part of one.
    ///
    /// # Errors
    /// There is no such variable, or this is no value of its type.
    fn set(&mut self, name: &str, value: &Assigned) -> Result<(), SettingError>;
}

impl Opened for OpenObject {
    fn resize(&mut self, name: &str, elements: u64) -> Result<(), SettingError> {
        Self::resize(self, name, elements)
    }

    fn set_max_entries(&mut self, map: &str, entries: u32) -> Result<(), SettingError> {
        Self::set_max_entries(self, map, entries)
    }

    fn set(&mut self, name: &str, value: &Assigned) -> Result<(), SettingError> {
        match value {
            Assigned::Text(text) => Self::set(self, name, text),
            Assigned::Number(number) => self.set_integer(name, i128::from(*number)),
        }
    }
}

/// An object that is loaded: maps that are filled before anything runs.
pub trait Filled {
    /// Why a map cannot be filled.
    type Error;

    /// Enters a value in a map of 32-bit keys and values.
    ///
    /// # Errors
    /// There is no such map, or the entry does not fit.
    fn enter(&mut self, map: &str, key: u32, value: u32) -> Result<(), Self::Error>;
}

/// The object has no such map with keys and values of 4 bytes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the object has no map `{0}` with keys and values of 4 bytes to fill")]
pub struct NoSuchMap(pub String);

impl Filled for Instance {
    type Error = NoSuchMap;

    fn enter(&mut self, map: &str, key: u32, value: u32) -> Result<(), NoSuchMap> {
        let missing = || NoSuchMap(map.to_owned());
        let id = self.map(map).ok_or_else(missing)?;
        let item = Item { key: &key.to_le_bytes(), value: &value.to_le_bytes(), flags: 0 };
        self.map_update(id, item, 0).map_err(|_| missing())
    }
}

impl LoaderFile {
    /// What the file says for a system.
    pub fn steps(&self, system: &System) -> Steps {
        let holding = self.ops.flags_if.iter().filter(|(truth, _)| system.holds(*truth));
        Steps {
            resize: self.resize.iter().enumerate().map(|(line, size)| resize(line, size, system)).collect(),
            max_entries: self.max_entries.iter().enumerate().map(|(line, size)| resize(line, size, system)).collect(),
            set: self.set.iter().enumerate().flat_map(|(line, setting)| set(line, setting, system)).collect(),
            ops: self.ops.numbers.clone(),
            flags: self.ops.flags.iter().chain(holding.flat_map(|(_, flags)| flags)).cloned().collect(),
            maps: self.maps.iter().map(|(map, line)| (map.clone(), words(&system.all(line.list)))).collect(),
            counters: self.counters.clone(),
            init_cpu: self.run.init_cpu.map(|cpu| argument(cpu, system, 0).cast_unsigned()),
            check: self.run.check.clone(),
            arena: self.run.arena.clone(),
            calls: calls(&self.run.syscall, system),
            attached: calls(&self.run.attached, system),
            print: self.run.print.iter().map(|(name, _)| name.clone()).collect(),
            tasks: self.tasks.clone(),
            statistics: self.statistics.clone(),
            steering: self.steering.clone(),
        }
    }
}

impl Steps {
    /// Does what comes before the object is loaded: arrays and maps get their sizes, then variables their values.
    ///
    /// # Errors
    /// The object does not have what `file` sets, or not so.
    pub fn prepare(&self, file: &LoaderFile, object: &mut impl Opened) -> Result<(), InputError> {
        for step in &self.resize {
            file.placed(&file.resize[step.line], object.resize(&step.name, step.value))?;
        }
        for step in &self.max_entries {
            let entries = u32::try_from(step.value).unwrap_or(u32::MAX);
            file.placed(&file.max_entries[step.line], object.set_max_entries(&step.name, entries))?;
        }
        for step in &self.set {
            file.placed(&file.set[step.line], object.set(&step.name, &step.value))?;
        }
        Ok(())
    }

    /// Fills the maps of a loaded object.
    ///
    /// # Errors
    /// A map is not there, or does not take numbers.
    pub fn fill<F: Filled>(&self, object: &mut F) -> Result<(), F::Error> {
        for (map, values) in &self.maps {
            (0_u32..).zip(values).try_for_each(|(key, value)| object.enter(map, key, *value))?;
        }
        Ok(())
    }
}

fn resize(line: usize, size: &Setting, system: &System) -> Step<u64> {
    let value = match &size.value {
        Value::Text(text) => text.parse().unwrap_or(u64::MAX),
        Value::Fact(word) => system.all(*word).first().copied().unwrap_or(0),
    };
    Step { name: size.name.clone(), value, line }
}

fn set<'s>(line: usize, setting: &'s Setting, system: &'s System) -> impl Iterator<Item = Step<Assigned>> + 's {
    setting.assignments(system).into_iter().map(move |(name, value)| Step { name, value, line })
}

/// Numbers as 32 bits have them.
fn words(numbers: &[u64]) -> Vec<u32> {
    numbers.iter().map(|number| *number as u32).collect()
}

/// The calls that lines of arguments stand for. Where no core has several CPUs, there is none that asks for siblings.
fn calls(lines: &[CallLine], system: &System) -> Vec<Call> {
    let smt = Word::of("smt").is_some_and(|smt| system.holds(smt));
    let sibling = Word::of("cpu.sibling").map(Argument::Fact);
    let mut calls = Vec::new();
    for line in lines.iter().filter(|line| smt || !line.arguments.iter().any(|argument| Some(*argument) == sibling)) {
        for number in 0..system.count(line.subject()) {
            let arguments = line.arguments.iter().map(|of| argument(*of, system, number)).collect();
            calls.push(Call { program: line.program.clone(), arguments });
        }
    }
    calls
}

fn argument(argument: Argument, system: &System, number: usize) -> i32 {
    match argument {
        Argument::Number(number) => number,
        Argument::Fact(word) => {
            let at = if word.subject() == Subject::Machine { 0 } else { number };
            debug_assert!(word.shape() != Shape::List, "the file is read so");
            let value = system.fact(word, at).and_then(|fact| fact.numbers().first().copied());
            (value.unwrap_or(0) as u32).cast_signed()
        }
    }
}
