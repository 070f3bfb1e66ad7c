// SPDX-License-Identifier: MIT OR Apache-2.0
//! The tables of a loader's file, one by one.

use std::path::Path;

use toml::de::{DeArray, DeTable, DeValue};

use super::reader::{File, Item, Place};
use super::setting::{Setting, Value};
use super::{Argument, CallLine, KernelInterface, LoaderFile, MapLine, SteeringLines, TaskMaps, retired};
use crate::facts::{Shape, Subject, Word};
use crate::input::{InputError, valid_names};
use crate::statistics::Statistics;

/// The keys of the file.
pub const TOP: &[&str] = &[
    "profile",
    "without",
    "set",
    "set_if",
    "resize",
    "max_entries",
    "map",
    "perf",
    "hints",
    "applications",
    "ops",
    "run",
    "statistics",
    "steering",
];
/// The keys of `[run]`.
pub const RUN: &[&str] = &["init_cpu", "check", "arena", "syscall", "attached", "print"];
/// Members of `struct sched_ext_ops` that are numbers.
pub const OPS_NUMBERS: &[&str] = &["flags", "timeout_ms", "exit_dump_len", "dispatch_max_batch"];
const OPS: &[&str] = &["scheduler", "flags", "flags_if", "timeout_ms", "exit_dump_len", "dispatch_max_batch"];
const STATISTICS: &[&str] = &["map", "names", "states", "limited"];
const STEERING: &[&str] = &["mode", "wish"];
const HINTS: &[&str] = &["relative_length"];
const APPLICATIONS: &[&str] = &["tgids", "adopt"];

/// Flags of `struct sched_ext_ops` (`enum scx_ops_flags`), of any kernel.
pub const OPS_FLAGS: &[&str] = &[
    "SCX_OPS_KEEP_BUILTIN_IDLE",
    "SCX_OPS_ENQ_LAST",
    "SCX_OPS_ENQ_EXITING",
    "SCX_OPS_SWITCH_PARTIAL",
    "SCX_OPS_ENQ_MIGRATION_DISABLED",
    "SCX_OPS_ALLOW_QUEUED_WAKEUP",
    "SCX_OPS_BUILTIN_IDLE_PER_NODE",
    "SCX_OPS_ALWAYS_ENQ_IMMED",
    "SCX_OPS_HAS_CGROUP_WEIGHT",
];

/// What performance counters count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// Cycles while not idle.
    Cycles,
    /// Instructions.
    Instructions,
    /// Lines that were in no cache.
    CacheMisses,
    /// Cycles that wait for something behind the decoder: mostly memory (`stalled-cycles-backend`).
    StalledCycles,
}

impl Event {
    /// All, with the words that name them.
    pub const WORDS: [(&'static str, Self); 4] = [
        ("cycles", Self::Cycles),
        ("instructions", Self::Instructions),
        ("cache_misses", Self::CacheMisses),
        ("stalled_cycles", Self::StalledCycles),
    ];

    fn of(word: &str) -> Option<Self> {
        Self::WORDS.iter().find(|(known, _)| *known == word).map(|(_, event)| *event)
    }
}

/// Reads a file.
pub(super) fn read(path: &Path, text: &str) -> Result<LoaderFile, InputError> {
    let file = File { path, text };
    let table = DeTable::parse(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        InputError::at(path, text, at, format!("not TOML: {}", error.message().replace('\n', "; ")))
    })?;
    let mut read = LoaderFile { path: path.to_owned(), text: text.to_owned(), ..LoaderFile::default() };
    for entry in file.entries(table.get_ref()) {
        let item = entry.item;
        read.keys.push((entry.key.to_owned(), entry.place));
        match entry.key {
            "profile" => read.profile = Some(file.profile(item)?),
            "without" => read.without = Some(file.name(item, "`without`", "what the scheduler lacks, in words")?),
            "set" => read.set.extend(file.settings(item, "`set`", None)?),
            "set_if" => read.set.extend(file.settings_if(item)?),
            "resize" => read.resize = file.sizes(item, "`resize`", "elements", u64::MAX)?,
            "max_entries" => read.max_entries = file.sizes(item, "`max_entries`", "entries", u32::MAX.into())?,
            "map" => read.maps = file.maps(item)?,
            "hints" => read.tasks.relative_length = file.hints(item)?,
            "applications" => file.applications(item, &mut read.tasks)?,
            "perf" => read.counters = file.counters(item)?,
            "ops" => file.ops(item, &mut read)?,
            "statistics" => read.statistics = file.statistics(item)?,
            "steering" => read.steering = Some(file.steering(item)?),
            "run" => file.run(item, &mut read)?,
            "each" => return Err(file.retired_each(item)),
            _ => return Err(file.unknown(&entry, "the file", TOP)),
        }
    }
    Ok(read)
}

impl File<'_> {
    fn profile(&self, item: Item<'_>) -> Result<KernelInterface, InputError> {
        match item.get_ref().as_str() {
            Some("6.12") => Ok(KernelInterface::V6_12),
            Some("6.18") => Ok(KernelInterface::V6_18),
            Some("7.1") => Ok(KernelInterface::V7_1),
            _ => Err(self.wrong(item, "`profile`", "\"6.12\", \"6.18\" or \"7.1\"")),
        }
    }

    /// `[each.*]` was there before all facts had one set of words.
    fn retired_each(&self, item: Item<'_>) -> InputError {
        let tables = self.table(item, "`each`").map(|table| self.entries(table)).unwrap_or_default();
        let Some(each) = tables.first() else { return self.wrong(item, "`each`", "lines below `set`") };
        let gone = format!("`each.{}` is no table of this file any more", each.key);
        let lines = self.table(each.item, "`each`").map(|table| self.entries(table)).unwrap_or_default();
        let Some(line) = lines.first() else {
            return self.mistake(each.place, gone).help("such lines stand below `[set]` now");
        };
        let now = retired::each(each.key, line.key, line.item.get_ref().as_str());
        self.mistake(line.place, gone).help(now)
    }

    /// The fact that a text names; `None` for other texts.
    fn fact(&self, item: Item<'_>, what: &str) -> Result<Option<Word>, InputError> {
        let Some(text) = item.get_ref().as_str() else { return Ok(None) };
        if let Some(word) = Word::of(text) {
            return Ok(Some(word));
        }
        if let Some(now) = retired::fact(text) {
            return Err(self.cannot_be(item, what).help(format!("the fact is called \"{now}\" now")));
        }
        let subject = text
            .split_once('.')
            .and_then(|(subject, _)| Subject::SEVERAL.into_iter().find(|known| known.prefix() == subject));
        match subject {
            Some(subject) => Err(self.cannot_be(item, what).help(facts_of(text, |word| word.subject() == subject))),
            None => Ok(None),
        }
    }

    /// `[set]`: an array sets its elements one by one.
    fn settings(&self, item: Item<'_>, what: &str, condition: Option<Word>) -> Result<Vec<Setting>, InputError> {
        let mut settings = Vec::new();
        for entry in self.entries(self.table(item, what)?) {
            let subject = self.subject(entry.key, entry.place)?;
            let mut add = |name: String, item: Item<'_>| -> Result<(), InputError> {
                let value = self.value(entry.key, subject, item)?;
                settings.push(Setting { name, subject, condition, value, place: Place(item.span().start) });
                Ok(())
            };
            let DeValue::Array(elements) = entry.item.get_ref() else {
                add(entry.key.to_owned(), entry.item)?;
                continue;
            };
            for (index, element) in elements.iter().enumerate() {
                add(format!("{}[{index}]", entry.key), element)?;
            }
        }
        Ok(settings)
    }

    /// `[set_if.hybrid]` and its like.
    fn settings_if(&self, item: Item<'_>) -> Result<Vec<Setting>, InputError> {
        let mut settings = Vec::new();
        for entry in self.entries(self.table(item, "`set_if`")?) {
            let truth = self.truth(entry.key, entry.place, "`set_if`")?;
            settings.extend(self.settings(entry.item, &format!("`set_if.{}`", entry.key), Some(truth))?);
        }
        Ok(settings)
    }

    /// The truth about the machine that a key names.
    fn truth(&self, key: &str, place: Place, what: &str) -> Result<Word, InputError> {
        let is_truth = |word: &Word| word.subject() == Subject::Machine && word.shape() == Shape::Truth;
        Word::of(key).filter(is_truth).ok_or_else(|| {
            self.mistake(place, format!("`{key}` of {what} is not true or false of a machine"))
                .help(facts_of(key, |word| is_truth(&word)))
        })
    }

    /// What the name of a variable has a placeholder for.
    fn subject(&self, name: &str, place: Place) -> Result<Subject, InputError> {
        if name.contains("{}") {
            let placeholders = Subject::SEVERAL.map(|subject| format!("`{}`", subject.placeholder())).join(", ");
            let message = format!("`{name}` does not say what `{{}}` stands for");
            return Err(self.mistake(place, message).help(format!("write {placeholders}")));
        }
        let has = |subject: &Subject| name.contains(&subject.placeholder());
        let mut found = Subject::SEVERAL.into_iter().filter(has);
        match (found.next(), found.next()) {
            (None, _) if name.contains('{') => {
                let placeholders = Subject::SEVERAL.map(|subject| format!("`{}`", subject.placeholder())).join(", ");
                Err(self
                    .mistake(place, format!("unknown placeholder in `{name}`"))
                    .help(format!("valid: {placeholders}")))
            }
            (subject, None) => Ok(subject.unwrap_or(Subject::Machine)),
            (_, Some(_)) => {
                let message = format!("`{name}` stands for two kinds of things");
                let placeholders = Subject::SEVERAL.map(|subject| format!("`{}`", subject.placeholder())).join(", ");
                Err(self.mistake(place, message).help(format!("write one of {placeholders} in it")))
            }
        }
    }

    /// The value of a variable whose name stands for a `subject`.
    fn value(&self, key: &str, subject: Subject, item: Item<'_>) -> Result<Value, InputError> {
        let what = format!("`{key}`");
        if let Some(word) = self.fact(item, &what)? {
            let of = word.subject();
            if subject != Subject::Machine && of != Subject::Machine && of != subject {
                let help = format!("`{}` in the name goes with facts `{}.…`", subject.placeholder(), subject.prefix());
                return Err(self.cannot_be(item, &what).help(help));
            }
            if subject == Subject::Machine && of != Subject::Machine && word.shape() == Shape::List {
                let help = format!("each has a list of its own: `{}` belongs into the name", of.placeholder());
                return Err(self.cannot_be(item, &what).help(help));
            }
            return Ok(Value::Fact(word));
        }
        match (item.get_ref(), self.integer(item)) {
            (DeValue::String(text), _) => Ok(Value::Text(text.to_string())),
            (DeValue::Boolean(flag), _) => Ok(Value::Text(flag.to_string())),
            (_, Some(number)) => Ok(Value::Text(number.to_string())),
            _ => Err(self.wrong(item, &what, "a number, true or false, text, or an array")),
        }
    }

    /// `table`, each of whose lines says how many `elements` something has, at most so many.
    fn sizes(&self, item: Item<'_>, table: &str, elements: &str, most: u64) -> Result<Vec<Setting>, InputError> {
        let mut sizes = Vec::new();
        for entry in self.entries(self.table(item, table)?) {
            let what = format!("`{}`", entry.key);
            let expected = format!("a number of {elements}, or \"nr_cpus\"");
            let value = match self.fact(entry.item, &what)?.filter(is_number) {
                Some(word) => Value::Fact(word),
                None => match self.number::<u64>(entry.key, entry.item, &expected)? {
                    size if size <= most => Value::Text(size.to_string()),
                    _ => return Err(self.wrong(entry.item, &what, &format!("{expected}, of 32 bits"))),
                },
            };
            let place = Place(entry.item.span().start);
            let name = entry.key.to_owned();
            sizes.push(Setting { name, subject: Subject::Machine, condition: None, value, place });
        }
        Ok(sizes)
    }

    fn maps(&self, item: Item<'_>) -> Result<Vec<(String, MapLine)>, InputError> {
        let is_list = |word: Word| match word.subject() {
            Subject::Machine => word.shape() == Shape::List,
            _ => word.shape() != Shape::List,
        };
        let mut maps = Vec::new();
        for entry in self.entries(self.table(item, "`map`")?) {
            let what = format!("`{}`", entry.key);
            let wrong = || {
                let written = entry.item.get_ref().as_str().unwrap_or_default();
                self.cannot_be(entry.item, &what).help(facts_of(written, is_list))
            };
            let list = self.fact(entry.item, &what)?.filter(|word| is_list(*word)).ok_or_else(wrong)?;
            maps.push((entry.key.to_owned(), MapLine { list, place: entry.place }));
        }
        Ok(maps)
    }

    fn counters(&self, item: Item<'_>) -> Result<Vec<(String, Event)>, InputError> {
        let words = Event::WORDS.map(|(word, _)| word);
        let mut maps = Vec::new();
        for entry in self.entries(self.table(item, "`perf`")?) {
            let written = entry.item.get_ref().as_str().unwrap_or_default();
            let wrong = || self.cannot_be(entry.item, &format!("`{}`", entry.key)).help(valid_names(written, &words));
            maps.push((entry.key.to_owned(), Event::of(written).ok_or_else(wrong)?));
        }
        Ok(maps)
    }

    fn hints(&self, item: Item<'_>) -> Result<Option<String>, InputError> {
        let entries = self.known(self.table(item, "`hints`")?, "`hints`", HINTS)?;
        entries.first().map(|entry| self.name(entry.item, "`relative_length`", "the name of a map")).transpose()
    }

    fn applications(&self, item: Item<'_>, tasks: &mut TaskMaps) -> Result<(), InputError> {
        for entry in self.known(self.table(item, "`applications`")?, "`applications`", APPLICATIONS)? {
            match entry.key {
                "tgids" => tasks.tgids = Some(self.name(entry.item, "`tgids`", "the name of a map")?),
                _ => tasks.adopt = Some(self.name(entry.item, "`adopt`", "the name of a program")?),
            }
        }
        Ok(())
    }

    fn ops(&self, item: Item<'_>, file: &mut LoaderFile) -> Result<(), InputError> {
        for entry in self.entries(self.table(item, "`ops`")?) {
            match (entry.key, entry.item.get_ref()) {
                ("scheduler", _) => {
                    file.keys.push(("ops.scheduler".to_owned(), entry.place));
                    file.ops.scheduler = Some(self.name(entry.item, "`scheduler`", "the name of a variable")?);
                }
                ("flags", DeValue::Array(names)) => file.ops.flags = self.flags(names)?,
                ("flags_if", _) => file.ops.flags_if = self.flags_if(entry.item)?,
                ("flags_if_numa", _) => {
                    let message = "`flags_if_numa` is no key of `ops` any more";
                    return Err(self.mistake(entry.place, message).help("it is called `flags_if.numa` now"));
                }
                (key, _) if OPS_NUMBERS.contains(&key) => {
                    let number = self.number(key, entry.item, "a number that is not negative")?;
                    file.ops.numbers.push((key.to_owned(), number));
                }
                _ => return Err(self.unknown(&entry, "`ops`", OPS)),
            }
        }
        Ok(())
    }

    fn flags_if(&self, item: Item<'_>) -> Result<Vec<(Word, Vec<String>)>, InputError> {
        let mut all = Vec::new();
        for entry in self.entries(self.table(item, "`flags_if`")?) {
            let truth = self.truth(entry.key, entry.place, "`flags_if`")?;
            let DeValue::Array(names) = entry.item.get_ref() else {
                return Err(self.wrong(entry.item, &format!("`flags_if.{}`", entry.key), "an array of flags"));
            };
            all.push((truth, self.flags(names)?));
        }
        Ok(all)
    }

    fn flags(&self, names: &DeArray<'_>) -> Result<Vec<String>, InputError> {
        let flag = |item: Item<'_>| {
            let written = item.get_ref().as_str().unwrap_or_default();
            let known = OPS_FLAGS.contains(&written).then(|| written.to_owned());
            known.ok_or_else(|| self.cannot_be(item, "a flag").help(valid_names(written, OPS_FLAGS)))
        };
        names.iter().map(flag).collect()
    }

    fn run(&self, item: Item<'_>, file: &mut LoaderFile) -> Result<(), InputError> {
        for entry in self.known(self.table(item, "`run`")?, "`run`", RUN)? {
            let item = entry.item;
            file.keys.push((format!("run.{}", entry.key), entry.place));
            match entry.key {
                "init_cpu" => file.run.init_cpu = Some(self.cpu(item)?),
                "arena" => file.run.arena = Some(self.name(item, "`arena`", "the name of a structure")?),
                "check" => file.run.check = Some(self.name(item, "`check`", "the name of a program")?),
                "syscall" => file.run.syscall = self.calls(item, "`run.syscall`")?,
                "print" => file.run.print = self.variables(item, "`print`")?,
                _ => file.run.attached = self.calls(item, "`run.attached`")?,
            }
        }
        Ok(())
    }

    /// Names of variables, or of parts of them, each with its place.
    fn variables(&self, item: Item<'_>, what: &str) -> Result<Vec<(String, Place)>, InputError> {
        let expected = "an array of names of variables";
        let DeValue::Array(names) = item.get_ref() else { return Err(self.wrong(item, what, expected)) };
        let name = |item: Item<'_>| Ok((self.name(item, what, "the name of a variable")?, Place(item.span().start)));
        names.iter().map(name).collect()
    }

    fn statistics(&self, item: Item<'_>) -> Result<Statistics, InputError> {
        let (mut map, mut names, mut states, mut limited) = (None, None, Vec::new(), None);
        for entry in self.known(self.table(item, "`statistics`")?, "`statistics`", STATISTICS)? {
            match (entry.key, entry.item.get_ref()) {
                ("map", _) => map = Some(self.name(entry.item, "`map`", "the name of a map")?),
                ("names", _) => names = Some(self.name(entry.item, "`names`", "the name of an enumeration")?),
                ("limited", _) => limited = Some(self.name(entry.item, "`limited`", "the name of a variable")?),
                (_, DeValue::Array(variables)) => {
                    let name = |item| self.name(item, "a state", "the name of a variable");
                    states = variables.iter().map(name).collect::<Result<_, _>>()?;
                }
                _ => return Err(self.wrong(entry.item, "`states`", "an array of names of variables")),
            }
        }
        match (map, names) {
            (Some(map), Some(names)) => Ok(Statistics { counters: Some((map, names)), states, limited }),
            (None, None) => Ok(Statistics { counters: None, states, limited }),
            (map, _) => {
                let (given, missing) = if map.is_some() { ("map", "names") } else { ("names", "map") };
                let message = format!("`{given}` of `statistics` without `{missing}`");
                let help = "`map` has the counters, and the enumeration `names` says what they are called";
                Err(self.mistake(Place(item.span().start), message).help(help))
            }
        }
    }

    fn steering(&self, item: Item<'_>) -> Result<SteeringLines, InputError> {
        let (mut mode, mut wish) = (None, None);
        for entry in self.known(self.table(item, "`steering`")?, "`steering`", STEERING)? {
            let name = Some(self.name(entry.item, &format!("`{}`", entry.key), "the name of a variable")?);
            match entry.key {
                "mode" => mode = name,
                _ => wish = name,
            }
        }
        let help = "`mode` is the variable that says what the scheduler is after";
        let missing = || self.mistake(Place(item.span().start), "`steering` without `mode`").help(help);
        Ok(SteeringLines { mode: mode.ok_or_else(missing)?, wish })
    }

    fn cpu(&self, item: Item<'_>) -> Result<Argument, InputError> {
        if let Some(word) = self.fact(item, "`init_cpu`")?.filter(is_number) {
            return Ok(Argument::Fact(word));
        }
        let number = self.integer(item).and_then(|number| i32::try_from(number).ok()).filter(|number| *number >= 0);
        let wrong = || self.wrong(item, "`init_cpu`", "the number of a CPU, or \"smallest_cpu\"");
        number.map(Argument::Number).ok_or_else(wrong)
    }

    /// Programs with arrays of arguments: one for a single line of calls, or an array of such arrays.
    fn calls(&self, item: Item<'_>, what: &str) -> Result<Vec<CallLine>, InputError> {
        let mut calls = Vec::new();
        for entry in self.entries(self.table(item, what)?) {
            let program = entry.key;
            let DeValue::Array(lines) = entry.item.get_ref() else {
                return Err(self.wrong(
                    entry.item,
                    &format!("`{program}`"),
                    "an array of arguments, or of such arrays",
                ));
            };
            if !lines.iter().any(|line| line.get_ref().is_array()) {
                calls.push(CallLine { program: program.to_owned(), arguments: self.arguments(program, lines)? });
                continue;
            }
            for line in lines.iter() {
                let DeValue::Array(arguments) = line.get_ref() else {
                    return Err(self.wrong(line, &format!("a call of `{program}`"), "an array of arguments"));
                };
                calls.push(CallLine { program: program.to_owned(), arguments: self.arguments(program, arguments)? });
            }
        }
        Ok(calls)
    }

    fn arguments(&self, program: &str, items: &DeArray<'_>) -> Result<Vec<Argument>, InputError> {
        const EXPECTED: &str =
            "whole numbers of 32 bits, or facts such as \"nr_cpus\", \"cpu.number\" or \"cpu.sibling\"";
        let may_be =
            |word: &Word| word.shape() != Shape::List && matches!(word.subject(), Subject::Machine | Subject::Cpu);
        let what = format!("`{program}`");
        let argument = |item: Item<'_>| {
            if let Some(now) = item.get_ref().as_str().and_then(retired::argument) {
                return Err(self.cannot_be(item, &what).help(format!("the fact is called \"{now}\" now")));
            }
            match self.fact(item, &what)?.filter(may_be) {
                Some(word) => Ok(Argument::Fact(word)),
                None => self.number(program, item, EXPECTED).map(Argument::Number),
            }
        };
        items.iter().map(argument).collect()
    }
}

/// Whether a fact is one number of the machine.
fn is_number(word: &Word) -> bool {
    word.subject() == Subject::Machine && word.shape() == Shape::Number
}

/// Help: the facts that are meant, the nearest first.
fn facts_of(written: &str, meant: impl Fn(Word) -> bool) -> String {
    let words: Vec<String> = Word::all().filter(|word| meant(*word)).map(|word| word.to_string()).collect();
    valid_names(written, &words.iter().map(String::as_str).collect::<Vec<_>>())
}
