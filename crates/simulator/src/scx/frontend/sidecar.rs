// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a scheduler's own loader program would do, as data: a TOML file beside the object.
//!
//! ```toml
//! profile = "6.12"
//! [set]
//! nr_cpu_ids = "nr_cpus"
//! cpu_capacity = "capacities"
//! [resize]
//! cpu_gimme_task = "nr_cpus"
//! [map]
//! cpu_node_map = "nodes"
//! [ops]
//! flags = ["SCX_OPS_ENQ_EXITING", "SCX_OPS_ENQ_LAST"]
//! flags_if_numa = ["SCX_OPS_BUILTIN_IDLE_PER_NODE"]
//! [run]
//! init_cpu = 0
//! [run.syscall]
//! enable_primary_cpu = [[-1], ["cpu"]]
//! enable_sibling_cpu = ["cpu", "sibling"]
//! ```
//!
//! Words stand for what a loader finds out about the machine: see [`Fact`], [`Table`] and [`Argument`]. Flags are those of
//! the kernel that the object is loaded into; those that it lacks are left out. `[run.syscall]` comes before the scheduler
//! is attached, `[run.attached]` after that.
//!
//! For what depends on the machine, `[each.cpu]`, `[each.domain]`, `[each.opp_table]`, `[each.machine]`, `[each.hybrid]` set
//! a variable once for each of them: `{}` in its name is the number of the CPU, domain or table, and the value a number or a fact, of which
//! [`domains`](super::domains) has the words. A fact of several numbers sets as many elements of an array from the first on,
//! or, if the name ends in `[8..]`, from the eighth on.
//!
//! ```toml
//! [each.domain]
//! "domains[{}].cpus" = "mask"
//! [run]
//! check = "check_settings"    # says whether the settings will do, in `problem` why not
//! arena = "task_ctx"    # the library of scx_arena is set up, for tasks with this structure
//! [statistics]
//! map = "stats"         # counters, reported by the names of the enumeration `stat`
//! names = "stat"
//! states = ["mode"]     # variables that are enumerations, likewise
//! ```

use std::path::Path;

use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

use super::domains::Each;
use super::facts::{Argument, Fact, Table};
use super::perf::{self, PerfMap};
use super::statistics::Statistics;
use super::tasks;
use crate::input::{InputError, valid_names};
use crate::scx::abi::profile::Profile;

/// What to do before and while an object is loaded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sidecar {
    /// The kernel version whose interface the object was written for.
    pub profile: Option<Profile>,
    /// Global variables, or parts of them, and their values.
    pub set: Vec<(String, Value)>,
    /// Variables to set for each of something: whose, the pattern of the name, and the value.
    pub each: Vec<(Each, String, EachValue)>,
    /// Arrays at the end of data sections, and how many elements they shall have.
    pub resize: Vec<(String, Value)>,
    /// Maps of 32-bit keys and values, and what each CPU's entry shall be.
    pub maps: Vec<(String, Table)>,
    /// The map in which threads' relative lengths are entered.
    pub relative_length: Option<String>,
    /// The map in which the first processes of applications are entered.
    pub tgids: Option<String>,
    /// Maps of performance counters, and what they count.
    pub perf: Vec<PerfMap>,
    /// Members of `struct sched_ext_ops`: `flags`, `timeout_ms`, `exit_dump_len`, `dispatch_max_batch`.
    pub ops: Vec<(String, u64)>,
    /// The structure of a task's data, if the library of the crate scx_arena shall be set up (`ArenaLib::setup`).
    pub arena: Option<String>,
    /// Flags of `struct sched_ext_ops`, by name.
    pub flags: Vec<String>,
    /// More of them for machines of several NUMA nodes.
    pub flags_if_numa: Vec<String>,
    /// The `syscall` program that says whether the settings will do: 0, or not, and then `problem` says why.
    pub check: Option<String>,
    /// The CPU that `syscall` programs and `ops.init` must run on.
    pub init_cpu: Option<Argument>,
    /// `syscall` programs to run before the scheduler is attached, in order, and their arguments, each an `s32`.
    pub syscalls: Vec<(String, Vec<Argument>)>,
    /// Likewise after that.
    pub attached: Vec<(String, Vec<Argument>)>,
    /// What to report of it.
    pub statistics: Statistics,
}

/// What a variable gets for each of something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EachValue {
    /// Always this.
    Number(i128),
    /// This fact of it.
    Fact(String),
}

/// A value of a setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// Text as on the command line: a number, `true`, the name of an enumerator, or a quoted string.
    Text(String),
    /// What is so on the machine.
    Fact(Fact),
    /// Of an array: an element for each CPU.
    Table(Table),
}

impl Value {
    /// How the file says it.
    pub fn word(&self) -> &str {
        match self {
            Self::Text(text) => text,
            Self::Fact(fact) => fact.word(),
            Self::Table(table) => table.word(),
        }
    }
}

/// The keys of the file.
pub(in crate::scx) const TOP: &[&str] =
    &["profile", "set", "each", "resize", "map", "perf", "hints", "applications", "ops", "run", "statistics"];
const OPS: &[&str] = &["flags", "flags_if_numa", "timeout_ms", "exit_dump_len", "dispatch_max_batch"];
/// The keys of `[run]`.
pub(in crate::scx) const RUN: &[&str] = &["init_cpu", "check", "arena", "syscall", "attached"];
const STATISTICS: &[&str] = &["map", "names", "states"];

pub(super) type Item<'a> = &'a Spanned<DeValue<'a>>;

/// The file being read.
pub(super) struct File<'a> {
    path: &'a Path,
    text: &'a str,
}

impl Sidecar {
    /// Reads the text of the file at `path`.
    ///
    /// # Errors
    /// A mistake, with its place.
    pub fn parse(path: &Path, text: &str) -> Result<Self, InputError> {
        let file = File { path, text };
        let table = DeTable::parse(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            InputError::at(path, text, at, format!("not TOML: {}", error.message().replace('\n', "; ")))
        })?;
        let mut sidecar = Self::default();
        for (key, item) in file.known(table.get_ref(), "the file", TOP)? {
            match key {
                "profile" => sidecar.profile = Some(file.profile(item)?),
                "set" => sidecar.set = file.settings(item)?,
                "each" => sidecar.each = file.each(item)?,
                "resize" => sidecar.resize = file.counts(item)?,
                "map" => sidecar.maps = file.maps(item)?,
                "hints" => sidecar.relative_length = tasks::read(&file, item, "`hints`", "relative_length")?,
                "applications" => sidecar.tgids = tasks::read(&file, item, "`applications`", "tgids")?,
                "perf" => sidecar.perf = perf::read(&file, item)?,
                "ops" => file.ops(item, &mut sidecar)?,
                "statistics" => sidecar.statistics = file.statistics(item)?,
                _ => file.run(item, &mut sidecar)?,
            }
        }
        Ok(sidecar)
    }
}

impl File<'_> {
    /// A mistake: `what` cannot be as `item` says.
    pub(super) fn wrong(&self, item: Item<'_>, what: &str, expected: &str) -> InputError {
        let written = self.text.get(item.span()).unwrap_or_default();
        let message = format!("{what} cannot be {written}");
        InputError::at(self.path, self.text, item.span().start, message).help(format!("expected {expected}"))
    }

    /// `item` as a table.
    pub(super) fn table<'a>(&self, item: Item<'a>, what: &str) -> Result<&'a DeTable<'a>, InputError> {
        match item.get_ref() {
            DeValue::Table(table) => Ok(table),
            _ => Err(self.wrong(item, what, "a table")),
        }
    }

    /// The entries of a table in the order of the file.
    pub(super) fn entries<'a>(&self, table: &'a DeTable<'a>) -> Vec<(&'a str, usize, Item<'a>)> {
        let mut entries: Vec<(&'a str, usize, Item<'a>)> =
            table.iter().map(|(key, item)| (&**key.get_ref(), key.span().start, item)).collect();
        entries.sort_by_key(|(_, at, _)| *at);
        entries
    }

    /// The entries of a table that may have these keys only.
    pub(super) fn known<'a>(
        &self,
        table: &'a DeTable<'a>,
        what: &str,
        keys: &[&str],
    ) -> Result<Vec<(&'a str, Item<'a>)>, InputError> {
        let entries = self.entries(table);
        if let Some((key, at, _)) = entries.iter().find(|(key, _, _)| !keys.contains(key)) {
            return Err(InputError::at(self.path, self.text, *at, format!("unknown key `{key}` in {what}"))
                .help(valid_names(key, keys)));
        }
        Ok(entries.into_iter().map(|(key, _, item)| (key, item)).collect())
    }

    fn integer(&self, item: Item<'_>) -> Option<i128> {
        match item.get_ref() {
            DeValue::Integer(integer) => i128::from_str_radix(integer.as_str(), integer.radix()).ok(),
            _ => None,
        }
    }

    fn number<T: TryFrom<i128>>(&self, key: &str, item: Item<'_>, expected: &str) -> Result<T, InputError> {
        let number = self.integer(item).and_then(|number| T::try_from(number).ok());
        number.ok_or_else(|| self.wrong(item, &format!("`{key}`"), expected))
    }

    fn profile(&self, item: Item<'_>) -> Result<Profile, InputError> {
        let text = item.get_ref().as_str().unwrap_or_default();
        text.parse().map_err(|_| self.wrong(item, "`profile`", "\"6.12\" or \"7.1\""))
    }

    fn value(&self, key: &str, item: Item<'_>) -> Result<Value, InputError> {
        Ok(match item.get_ref() {
            DeValue::String(text) => match (Fact::of(text), Table::of(text)) {
                (Some(fact), _) => Value::Fact(fact),
                (None, Some(table)) => Value::Table(table),
                (None, None) => Value::Text(text.to_string()),
            },
            DeValue::Boolean(flag) => Value::Text(flag.to_string()),
            _ => match self.integer(item) {
                Some(number) => Value::Text(number.to_string()),
                None => {
                    return Err(self.wrong(item, &format!("`{key}`"), "a number, true or false, text, or an array"));
                }
            },
        })
    }

    /// `[set]`: an array sets its elements one by one.
    fn settings(&self, item: Item<'_>) -> Result<Vec<(String, Value)>, InputError> {
        let mut settings = Vec::new();
        for (key, _, item) in self.entries(self.table(item, "`set`")?) {
            let DeValue::Array(elements) = item.get_ref() else {
                settings.push((key.to_owned(), self.value(key, item)?));
                continue;
            };
            for (index, element) in elements.iter().enumerate() {
                settings.push((format!("{key}[{index}]"), self.value(key, element)?));
            }
        }
        Ok(settings)
    }

    /// `[each.cpu]` and its like.
    fn each(&self, item: Item<'_>) -> Result<Vec<(Each, String, EachValue)>, InputError> {
        let mut all = Vec::new();
        for (word, item) in self.known(self.table(item, "`each`")?, "`each`", &Each::WORDS)? {
            let Some(each) = Each::of(word) else { continue };
            for (key, _, item) in self.entries(self.table(item, &format!("`each.{word}`"))?) {
                let value = match (item.get_ref(), self.integer(item)) {
                    (_, Some(number)) => EachValue::Number(number),
                    (DeValue::String(fact), _) if each.facts().contains(&&**fact) => EachValue::Fact(fact.to_string()),
                    _ => {
                        let expected = format!("a number, or one of {}", each.facts().join(", "));
                        return Err(self.wrong(item, &format!("`{key}`"), &expected));
                    }
                };
                all.push((each, key.to_owned(), value));
            }
        }
        Ok(all)
    }

    fn counts(&self, item: Item<'_>) -> Result<Vec<(String, Value)>, InputError> {
        let mut counts = Vec::new();
        for (key, _, item) in self.entries(self.table(item, "`resize`")?) {
            let value = match self.value(key, item) {
                Ok(Value::Fact(fact)) => Value::Fact(fact),
                _ => Value::Text(self.number::<u64>(key, item, "a number of elements, or \"nr_cpus\"")?.to_string()),
            };
            counts.push((key.to_owned(), value));
        }
        Ok(counts)
    }

    fn maps(&self, item: Item<'_>) -> Result<Vec<(String, Table)>, InputError> {
        let words: Vec<&str> = Table::WORDS.iter().map(|(word, _)| *word).collect();
        let mut maps = Vec::new();
        for (key, _, item) in self.entries(self.table(item, "`map`")?) {
            let table = item.get_ref().as_str().and_then(Table::of);
            let wrong = || self.wrong(item, &format!("`{key}`"), &format!("one of {}", words.join(", ")));
            maps.push((key.to_owned(), table.ok_or_else(wrong)?));
        }
        Ok(maps)
    }

    fn ops(&self, item: Item<'_>, sidecar: &mut Sidecar) -> Result<(), InputError> {
        for (key, item) in self.known(self.table(item, "`ops`")?, "`ops`", OPS)? {
            match (key, item.get_ref()) {
                ("flags", DeValue::Array(names)) => sidecar.flags = self.flags(names)?,
                ("flags_if_numa", DeValue::Array(names)) => sidecar.flags_if_numa = self.flags(names)?,
                ("flags_if_numa", _) => return Err(self.wrong(item, "`flags_if_numa`", "an array of flags")),
                _ => {
                    let number = self.number(key, item, "a number that is not negative")?;
                    sidecar.ops.push((key.to_owned(), number));
                }
            }
        }
        Ok(())
    }

    fn flags(&self, names: &DeArray<'_>) -> Result<Vec<String>, InputError> {
        let known = |name: &str| [Profile::V6_12, Profile::V7].iter().any(|kernel| kernel.enum_value(name).is_some());
        let flag = |item: Item<'_>| {
            let name = item.get_ref().as_str().filter(|name| name.starts_with("SCX_OPS_") && known(name));
            name.map(str::to_owned)
                .ok_or_else(|| self.wrong(item, "a flag", "the name of one, such as \"SCX_OPS_ENQ_LAST\""))
        };
        names.iter().map(flag).collect()
    }

    fn run(&self, item: Item<'_>, sidecar: &mut Sidecar) -> Result<(), InputError> {
        for (key, item) in self.known(self.table(item, "`run`")?, "`run`", RUN)? {
            match key {
                "init_cpu" => sidecar.init_cpu = Some(self.cpu(item)?),
                "arena" => sidecar.arena = Some(self.name(item, "`arena`", "the name of a structure")?),
                "check" => sidecar.check = Some(self.name(item, "`check`", "the name of a program")?),
                "syscall" => sidecar.syscalls = self.calls(item, "`run.syscall`")?,
                _ => sidecar.attached = self.calls(item, "`run.attached`")?,
            }
        }
        Ok(())
    }

    fn name(&self, item: Item<'_>, what: &str, expected: &str) -> Result<String, InputError> {
        item.get_ref().as_str().map(str::to_owned).ok_or_else(|| self.wrong(item, what, expected))
    }

    fn statistics(&self, item: Item<'_>) -> Result<Statistics, InputError> {
        let (mut map, mut names, mut states) = (None, None, Vec::new());
        for (key, entry) in self.known(self.table(item, "`statistics`")?, "`statistics`", STATISTICS)? {
            match (key, entry.get_ref()) {
                ("map", _) => map = Some(self.name(entry, "`map`", "the name of a map")?),
                ("names", _) => names = Some(self.name(entry, "`names`", "the name of an enumeration")?),
                (_, DeValue::Array(variables)) => {
                    let name = |item| self.name(item, "a state", "the name of a variable");
                    states = variables.iter().map(name).collect::<Result<_, _>>()?;
                }
                _ => return Err(self.wrong(entry, "`states`", "an array of names of variables")),
            }
        }
        match (map, names) {
            (Some(map), Some(names)) => Ok(Statistics { counters: Some((map, names)), states }),
            (None, None) => Ok(Statistics { counters: None, states }),
            (map, _) => {
                let (given, missing) = if map.is_some() { ("map", "names") } else { ("names", "map") };
                let message = format!("`{given}` of `statistics` without `{missing}`");
                let help = "`map` has the counters, and the enumeration `names` says what they are called";
                Err(InputError::at(self.path, self.text, item.span().start, message).help(help.to_owned()))
            }
        }
    }

    fn cpu(&self, item: Item<'_>) -> Result<Argument, InputError> {
        if item.get_ref().as_str() == Some("smallest_cpu") {
            return Ok(Argument::Fact(Fact::SmallestCpu));
        }
        let number = self.integer(item).and_then(|number| i32::try_from(number).ok()).filter(|number| *number >= 0);
        let wrong = || self.wrong(item, "`init_cpu`", "the number of a CPU, or \"smallest_cpu\"");
        number.map(Argument::Number).ok_or_else(wrong)
    }

    /// Programs with arrays of arguments: one for a single line of calls, or an array of such arrays.
    fn calls(&self, item: Item<'_>, what: &str) -> Result<Vec<(String, Vec<Argument>)>, InputError> {
        let mut calls = Vec::new();
        for (program, _, item) in self.entries(self.table(item, what)?) {
            let DeValue::Array(lines) = item.get_ref() else {
                return Err(self.wrong(item, &format!("`{program}`"), "an array of arguments, or of such arrays"));
            };
            if !lines.iter().any(|line| line.get_ref().is_array()) {
                calls.push((program.to_owned(), self.arguments(program, lines)?));
                continue;
            }
            for line in lines.iter() {
                let DeValue::Array(arguments) = line.get_ref() else {
                    return Err(self.wrong(line, &format!("a call of `{program}`"), "an array of arguments"));
                };
                calls.push((program.to_owned(), self.arguments(program, arguments)?));
            }
        }
        Ok(calls)
    }

    fn arguments(&self, program: &str, items: &DeArray<'_>) -> Result<Vec<Argument>, InputError> {
        const EXPECTED: &str = "whole numbers of 32 bits, \"cpu\", \"sibling\" or a fact such as \"nr_cpus\"";
        let argument = |item: Item<'_>| {
            let word = item.get_ref().as_str();
            match (word, word.and_then(Fact::of)) {
                (Some("cpu"), _) => Ok(Argument::Cpu),
                (Some("sibling"), _) => Ok(Argument::Sibling),
                (_, Some(fact)) => Ok(Argument::Fact(fact)),
                _ => self.number(program, item, EXPECTED).map(Argument::Number),
            }
        };
        items.iter().map(argument).collect()
    }
}
