// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a scheduler's own loader program does, as data: the TOML file beside an object, `scx_central.toml` for
//! `scx_central.bpf.o`. `docs/schedulers.md` describes it for people.
//!
//! ```toml
//! profile = "6.12"
//! without = "its load balancer, which runs in user space"
//! [set]
//! nr_cpu_ids = "nr_cpus"                      # a fact of the machine
//! cpu_capacity = "cpu.capacity"               # an array: an element for each CPU
//! "facts[{cpu}].llc" = "cpu.llc"              # once for each CPU, whose number stands for {cpu}
//! "domains[{domain}].mask[0..]" = "domain.mask"
//! slice_ns = 1000000
//! [set_if.hybrid]
//! xmig_min_gain_ns = 350000
//! [resize]
//! cpu_gimme_task = "nr_cpus"
//! [max_entries]
//! queue = 1024
//! "queues.inner" = "nr_cpus"                  # the maps that a map holds
//! [map]
//! cpu_node_map = "cpu.node"
//! [ops]
//! flags = ["SCX_OPS_ENQ_EXITING", "SCX_OPS_ENQ_LAST"]
//! flags_if.numa = ["SCX_OPS_BUILTIN_IDLE_PER_NODE"]
//! [run]
//! init_cpu = 0
//! check = "check_settings"
//! print = ["nr_errors", "stats[0].missed"]    # what is in the report at the end
//! [run.syscall]
//! enable_primary_cpu = [[-1], ["cpu.number"]]
//! enable_sibling_cpu = ["cpu.number", "cpu.sibling"]
//! ```
//!
//! A file is read and checked once ([`LoaderFile::parse`]); what it says for a system is [`LoaderFile::steps`].
//!
//! `reader`: the places of a TOML file. `parts`: its tables. `setting`: values of variables. `retired`: words of before.

mod parts;
mod reader;
mod retired;
mod setting;
#[cfg(test)]
mod tests;

use std::io;
use std::path::{Path, PathBuf};

use tandem_bpf_vm::object::Object;
use tandem_bpf_vm::open::{OpenObject, SettingError};

use crate::bounded::Limit;
use crate::facts::{Subject, Word};
use crate::input::{InputError, valid_names};
use crate::statistics::Statistics;
pub use parts::{Event, OPS_FLAGS, OPS_NUMBERS, RUN, TOP};
pub use reader::Place;
pub use setting::{Assigned, Setting, Value};

/// The kernel interfaces that objects are written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KernelInterface {
    /// Linux 6.12.
    V6_12,
    /// Linux 6.18.
    V6_18,
    /// Linux 7.1.
    V7_1,
}

/// An argument of a `syscall` program, 32 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Argument {
    /// A number.
    Number(i32),
    /// A fact; of CPUs: there is a call for each.
    Fact(Word),
}

/// Calls of a program of type `syscall`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallLine {
    /// The program.
    pub program: String,
    /// Arguments of the program.
    pub arguments: Vec<Argument>,
}

/// A map with keys and values of 32 bits that is to be filled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MapLine {
    /// The list of its values, by key.
    pub list: Word,
    /// Where the file says so.
    pub place: Place,
}

/// What is to be done with the maps and programs that an object has for tasks, by those who start them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskMaps {
    /// The map from a thread (`u32`) to its relative length (`u64`), as its program says it.
    pub relative_length: Option<String>,
    /// The map from the first process (`u32`) of an application to its number (`u32`), from 1.
    pub tgids: Option<String>,
    /// The program for threads that are there before their application is known.
    pub adopt: Option<String>,
}

/// Variables of an object that a slow loop beside it follows and sets ([`crate::steering`]).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SteeringLines {
    /// The enumeration that says what the scheduler is after besides time, in the order of [`Mode`](crate::steering::Mode).
    pub mode: String,
    /// The number that the loop sets while the scheduler runs: what `auto` comes to
    /// ([`Wish::number`](crate::steering::Wish::number)). In the kernel it must be alone in its data section.
    pub wish: Option<String>,
}

/// What is to be run, and where.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Run {
    /// The CPU that `syscall` programs and `ops.init` must run on.
    pub init_cpu: Option<Argument>,
    /// The `syscall` program that says whether the settings will do: 0, or not, and then `problem` says why.
    pub check: Option<String>,
    /// The structure of a task's data, if the library of the crate scx_arena is to be set up (`ArenaLib::setup`).
    pub arena: Option<String>,
    /// Programs to run before the scheduler is attached.
    pub syscall: Vec<CallLine>,
    /// Programs to run after that.
    pub attached: Vec<CallLine>,
    /// Variables, or parts of them, whose values at the end are reported.
    pub print: Vec<(String, Place)>,
}

/// What members of `struct sched_ext_ops` are to be.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OpsLines {
    /// Which of several schedulers of the object is loaded: the name of the variable.
    pub scheduler: Option<String>,
    /// Members that are numbers: see [`OPS_NUMBERS`].
    pub numbers: Vec<(String, u64)>,
    /// Flags (`SCX_OPS_*`) to add. Those that the kernel lacks are left out.
    pub flags: Vec<String>,
    /// Flags to add where a truth holds.
    pub flags_if: Vec<(Word, Vec<String>)>,
}

/// What a loader is to do: a file beside an object.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LoaderFile {
    path: PathBuf,
    text: String,
    /// The kernel whose interface the object was written for.
    pub profile: Option<KernelInterface>,
    /// What the scheduler lacks of itself when it is loaded so, in words: its own loader does it while the scheduler runs, and
    /// nothing here does. Its results are not the scheduler's then.
    pub without: Option<String>,
    /// Arrays at the end of data sections, and how many elements they get.
    pub resize: Vec<Setting>,
    /// Maps, and how many entries they get.
    pub max_entries: Vec<Setting>,
    /// Global variables, or parts of them.
    pub set: Vec<Setting>,
    /// Maps to fill, by name.
    pub maps: Vec<(String, MapLine)>,
    /// Maps of performance counters, one for each CPU, and what they count.
    pub counters: Vec<(String, Event)>,
    /// What is entered for tasks.
    pub tasks: TaskMaps,
    /// The scheduler's structure.
    pub ops: OpsLines,
    /// Programs.
    pub run: Run,
    /// What can be read of the scheduler.
    pub statistics: Statistics,
    /// What a slow loop beside it follows.
    pub steering: Option<SteeringLines>,
    /// Where each key of [`TOP`] and, behind `run.`, of [`RUN`] stands.
    keys: Vec<(String, Place)>,
}

impl LoaderFile {
    /// Where the file beside an object is: `scx_central.toml` beside `scx_central.bpf.o`.
    pub fn path_beside(object: &Path) -> PathBuf {
        let name = object.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let stem = name.strip_suffix(".o").unwrap_or(&name);
        object.with_file_name(format!("{}.toml", stem.strip_suffix(".bpf").unwrap_or(stem)))
    }

    /// Reads the file beside an object; `None` if there is none.
    ///
    /// # Errors
    /// The file cannot be read, or has a mistake.
    pub fn beside(object: &Path) -> Result<Option<Self>, InputError> {
        let path = Self::path_beside(object);
        match Limit::DESCRIPTION.read_text(&path) {
            Ok(text) => Self::parse(&path, &text).map(Some),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(InputError::whole(&path, format!("cannot be read: {error}"))),
        }
    }

    /// Reads the text of the file at `path`.
    ///
    /// # Errors
    /// A mistake, with its place.
    pub fn parse(path: &Path, text: &str) -> Result<Self, InputError> {
        parts::read(path, text)
    }

    /// The file's path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A mistake that is found later: what stands at `place` does not fit the object or the system.
    pub fn mistake(&self, place: Place, message: impl Into<String>) -> InputError {
        InputError::at(&self.path, &self.text, place.0, message)
    }

    /// Where the key is (`map`, `run.arena`), if the file has it.
    pub fn place_of(&self, key: &str) -> Option<Place> {
        self.keys.iter().find(|(known, _)| known == key).map(|(_, place)| *place)
    }

    /// Leaves of several schedulers in `object` the one that the file names (`ops.scheduler`): the others count as optional.
    ///
    /// # Errors
    /// The object has no scheduler of that name.
    pub fn choose_scheduler(&self, object: &mut Object) -> Result<(), InputError> {
        let Some(chosen) = &self.ops.scheduler else { return Ok(()) };
        let names: Vec<&str> = object.struct_ops.iter().map(|ops| ops.name.as_str()).collect();
        if !names.contains(&chosen.as_str()) {
            let wrong = format!("the object has no scheduler `{chosen}`");
            let place = self.place_of("ops.scheduler").unwrap_or_default();
            return Err(self.mistake(place, wrong).help(valid_names(chosen, &names)));
        }
        object.struct_ops.iter_mut().for_each(|ops| ops.optional = ops.name != *chosen);
        Ok(())
    }

    /// Tries the settings on an object, for a machine of `most` CPUs: what remains to go wrong with them are indexes.
    ///
    /// # Errors
    /// The object does not have what is set, or not so.
    pub fn check(&self, object: &mut OpenObject, most: u64) -> Result<(), InputError> {
        let size = |setting: &Setting| match &setting.value {
            Value::Text(text) => text.parse().unwrap_or(u64::MAX),
            Value::Fact(_) => most,
        };
        for setting in &self.resize {
            self.placed(setting, object.resize(&setting.name, size(setting)))?;
        }
        for setting in &self.max_entries {
            self.placed(setting, object.set_max_entries(&setting.name, size(setting) as u32))?;
        }
        for setting in &self.set {
            let name = setting.first_name();
            let done = match &setting.value {
                Value::Text(text) => object.set(&name, text),
                // Truths and numbers of CPUs fit where 1 does.
                Value::Fact(_) => object.set_integer(&name, 1),
            };
            self.placed(setting, done)?;
        }
        for (name, place) in &self.run.print {
            object.text(name).map_err(|why| self.mistake(*place, why.to_string()))?;
        }
        Ok(())
    }

    /// What the object says of a setting, as a mistake in the file.
    pub(crate) fn placed<T>(&self, setting: &Setting, done: Result<T, SettingError>) -> Result<T, InputError> {
        done.map_err(|why| self.mistake(setting.place, why.to_string()))
    }
}

impl CallLine {
    /// Whose facts a call is made for, once for each of them.
    pub fn subject(&self) -> Subject {
        let of = |argument: &Argument| match argument {
            Argument::Fact(word) => word.subject(),
            Argument::Number(_) => Subject::Machine,
        };
        self.arguments.iter().map(of).max().unwrap_or(Subject::Machine)
    }
}
