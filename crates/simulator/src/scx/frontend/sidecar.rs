// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a scheduler's own loader program would do, as data: a TOML file beside the object.
//!
//! ```toml
//! profile = "6.12"
//! [set]
//! nr_cpu_ids = "nr_cpus"
//! [resize]
//! cpu_gimme_task = "nr_cpus"
//! [ops]
//! flags = 2
//! [run]
//! init_cpu = 0
//! [run.syscall]
//! enable_primary_cpu = [-1]
//! ```
//!
//! For what depends on the machine, `[each.cpu]`, `[each.domain]`, `[each.machine]`, `[each.hybrid]` set a variable once for
//! each of them: `{}` in its name is the number of the CPU or domain, and the value a number or a fact, of which
//! [`domains`](super::domains) has the words. A fact of several numbers sets as many elements of an array from the first on,
//! or, if the name ends in `[8..]`, from the eighth on.
//!
//! ```toml
//! [each.domain]
//! "domains[{}].cpus" = "mask"
//! [run]
//! arena = "task_ctx"    # the library of scx_arena is set up, for tasks with this structure
//! ```

use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::domains::Each;
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
    /// Members of `struct sched_ext_ops`: `flags`, `timeout_ms`, `exit_dump_len`, `dispatch_max_batch`.
    pub ops: Vec<(String, u64)>,
    /// The CPU that `ops.init` must run on.
    pub init_cpu: Option<u32>,
    /// The structure of a task's data, if the library of the crate scx_arena shall be set up (`ArenaLib::setup`).
    pub arena: Option<String>,
    /// `syscall` programs to run before the scheduler is attached, in order, and their arguments, each an `s32`.
    pub syscalls: Vec<(String, Vec<i32>)>,
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
    /// The machine's number of CPUs.
    NrCpus,
}

/// The word for the machine's number of CPUs.
const NR_CPUS: [&str; 2] = ["nr_cpus", "possible_cpus"];
/// The keys of the file.
pub(in crate::scx) const TOP: &[&str] = &["profile", "set", "each", "resize", "ops", "run"];
const OPS: &[&str] = &["flags", "timeout_ms", "exit_dump_len", "dispatch_max_batch"];
/// The keys of `[run]`.
pub(in crate::scx) const RUN: &[&str] = &["init_cpu", "arena", "syscall"];

type Item<'a> = &'a Spanned<DeValue<'a>>;

struct File<'a> {
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
                "ops" => sidecar.ops = file.ops(item)?,
                _ => file.run(item, &mut sidecar)?,
            }
        }
        Ok(sidecar)
    }
}

impl File<'_> {
    fn wrong(&self, item: Item<'_>, what: &str, expected: &str) -> InputError {
        let written = self.text.get(item.span()).unwrap_or_default();
        let message = format!("{what} cannot be {written}");
        InputError::at(self.path, self.text, item.span().start, message).help(format!("expected {expected}"))
    }

    fn table<'a>(&self, item: Item<'a>, what: &str) -> Result<&'a DeTable<'a>, InputError> {
        match item.get_ref() {
            DeValue::Table(table) => Ok(table),
            _ => Err(self.wrong(item, what, "a table")),
        }
    }

    /// The entries of a table in the order of the file.
    fn entries<'a>(&self, table: &'a DeTable<'a>) -> Vec<(&'a str, usize, Item<'a>)> {
        let mut entries: Vec<(&'a str, usize, Item<'a>)> =
            table.iter().map(|(key, item)| (&**key.get_ref(), key.span().start, item)).collect();
        entries.sort_by_key(|(_, at, _)| *at);
        entries
    }

    fn known<'a>(
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
            DeValue::String(word) if NR_CPUS.contains(&&**word) => Value::NrCpus,
            DeValue::String(text) => Value::Text(text.to_string()),
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
                Ok(Value::NrCpus) => Value::NrCpus,
                _ => Value::Text(self.number::<u64>(key, item, "a number of elements, or \"nr_cpus\"")?.to_string()),
            };
            counts.push((key.to_owned(), value));
        }
        Ok(counts)
    }

    fn ops(&self, item: Item<'_>) -> Result<Vec<(String, u64)>, InputError> {
        let members = self.known(self.table(item, "`ops`")?, "`ops`", OPS)?;
        let number = |(key, item)| Ok((String::from(key), self.number(key, item, "a number that is not negative")?));
        members.into_iter().map(number).collect()
    }

    fn run(&self, item: Item<'_>, sidecar: &mut Sidecar) -> Result<(), InputError> {
        for (key, item) in self.known(self.table(item, "`run`")?, "`run`", RUN)? {
            if key == "init_cpu" {
                sidecar.init_cpu = Some(self.number(key, item, "the number of a CPU")?);
                continue;
            }
            if key == "arena" {
                let DeValue::String(name) = item.get_ref() else {
                    return Err(self.wrong(item, "`arena`", "the name of a structure"));
                };
                sidecar.arena = Some(name.to_string());
                continue;
            }
            for (program, _, item) in self.entries(self.table(item, "`run.syscall`")?) {
                let DeValue::Array(args) = item.get_ref() else {
                    return Err(self.wrong(item, &format!("`{program}`"), "an array of whole numbers"));
                };
                let arg = |arg| self.number(program, arg, "whole numbers of 32 bits");
                let args = args.iter().map(arg).collect::<Result<Vec<i32>, _>>()?;
                sidecar.syscalls.push((program.to_owned(), args));
            }
        }
        Ok(())
    }
}
