// SPDX-License-Identifier: MIT OR Apache-2.0
//! Typed access to the keys of an object, remembering which were read so that none is ignored in silence.

use std::cell::{Cell, RefCell};
use std::ops::RangeInclusive;
use std::path::Path;

use super::super::json::{Kind, Member, Value};
use crate::input::{InputError, nearest, valid_names};
use crate::units::{Nanos, USEC};

/// rt-app keeps its numbers in an `int`.
pub(super) const INT: RangeInclusive<i64> = 0..=i32::MAX as i64;

/// The file being read, and the warnings about it.
pub(super) struct Source<'a> {
    path: &'a Path,
    text: &'a str,
    warnings: RefCell<Vec<(usize, String)>>,
}

impl<'a> Source<'a> {
    pub fn new(path: &'a Path, text: &'a str) -> Self {
        Self { path, text, warnings: RefCell::default() }
    }

    /// A mistake at byte `offset`.
    pub fn error(&self, offset: usize, message: impl Into<String>) -> InputError {
        InputError::at(self.path, self.text, offset, message)
    }

    /// Notes something that does not stop the workload from running.
    pub fn warn(&self, offset: usize, message: impl Into<String>) {
        self.warnings.borrow_mut().push((offset, message.into()));
    }

    /// Every warning as `path:line: message`, in the order of the lines.
    pub fn into_warnings(self) -> Vec<String> {
        let mut warnings = self.warnings.into_inner();
        warnings.sort_by_key(|(offset, _)| *offset);
        let (mut line, mut counted) = (1, 0);
        let mut lines = Vec::with_capacity(warnings.len());
        for (offset, message) in warnings {
            let passed = &self.text.as_bytes()[counted..offset.min(self.text.len())];
            line += passed.iter().filter(|byte| **byte == b'\n').count();
            counted += passed.len();
            lines.push(format!("{}:{line}: {message}", self.path.display()));
        }
        lines
    }
}

/// The keys of one object.
pub(super) struct Fields<'a> {
    pub source: &'a Source<'a>,
    /// Name of the object for messages: "task `x`".
    pub what: String,
    pub offset: usize,
    members: &'a [Member],
    /// For each member, whether it was read.
    used: Vec<Cell<bool>>,
}

impl<'a> Fields<'a> {
    /// The keys of `value`, which must be an object.
    pub fn of(source: &'a Source<'a>, what: impl Into<String>, value: &'a Value) -> Result<Self, InputError> {
        let what = what.into();
        match &value.kind {
            Kind::Object(members) => {
                let used = vec![Cell::new(false); members.len()];
                Ok(Self { source, what, offset: value.offset, members, used })
            }
            _ => Err(source.error(value.offset, format!("{what} must be an object, not {}", value.describe()))),
        }
    }

    /// A mistake at byte `offset` of the file.
    pub fn error(&self, offset: usize, message: impl Into<String>) -> InputError {
        self.source.error(offset, message)
    }

    /// The first member called `key`, whatever its value. Later members of that name are left out with a warning:
    /// workgen gives them names without meaning.
    pub fn member(&self, key: &str) -> Option<&'a Member> {
        let mut found: Option<&'a Member> = None;
        for (member, used) in self.members.iter().zip(&self.used).filter(|(member, _)| member.key == key) {
            if found.is_none() {
                found = Some(member);
            } else if !used.get() {
                self.source.warn(member.offset, format!("`{key}` is given twice in {}: the first counts", self.what));
            }
            used.set(true);
        }
        found
    }

    /// The value of `key`; `null` counts as not given, as in rt-app.
    pub fn value(&self, key: &str) -> Option<&'a Value> {
        let fresh = self.members.iter().zip(&self.used).any(|(member, used)| member.key == key && !used.get());
        let member = self.member(key)?;
        if member.value.kind != Kind::Null {
            return Some(&member.value);
        }
        if fresh {
            self.source.warn(member.offset, format!("`{key}` has no value: the default is used"));
        }
        None
    }

    /// Every member not read so far for which `wanted` holds, in order; each then counts as read.
    pub fn take_all(&self, wanted: impl Fn(&str) -> bool) -> Vec<&'a Member> {
        let mut taken = Vec::new();
        for (member, used) in self.members.iter().zip(&self.used) {
            if wanted(&member.key) {
                used.set(true);
                taken.push(member);
            }
        }
        taken
    }

    /// An integer in `range`.
    pub fn integer(&self, key: &str, range: RangeInclusive<i64>) -> Result<Option<i64>, InputError> {
        self.value(key).map(|value| integer(self.source, key, value, range)).transpose()
    }

    /// An integer number of microseconds, from 0, as nanoseconds.
    pub fn usec(&self, key: &str) -> Result<Option<Nanos>, InputError> {
        self.value(key).map(|value| usec(self.source, key, value)).transpose()
    }

    /// A number in `range`.
    pub fn number(&self, key: &str, range: RangeInclusive<f64>) -> Result<Option<f64>, InputError> {
        self.value(key).map(|value| number(self.source, key, value, range)).transpose()
    }

    /// A boolean.
    pub fn boolean(&self, key: &str) -> Result<Option<bool>, InputError> {
        let Some(value) = self.value(key) else { return Ok(None) };
        match value.kind {
            Kind::Bool(value) => Ok(Some(value)),
            _ => Err(mismatch(self.source, key, value, "`true` or `false`")),
        }
    }

    /// A string.
    pub fn string(&self, key: &str) -> Result<Option<&'a str>, InputError> {
        self.value(key).map(|value| string(self.source, key, value)).transpose()
    }

    /// One of the words in `choices`, by its place among them.
    pub fn choice(&self, key: &str, choices: &[&str]) -> Result<Option<usize>, InputError> {
        let Some(value) = self.value(key) else { return Ok(None) };
        let word = string(self.source, key, value)?;
        let place = choices.iter().position(|choice| *choice == word);
        place
            .map(Some)
            .ok_or_else(|| self.error(value.offset, format!("`{word}` is no {key}")).help(valid_names(word, choices)))
    }

    /// Warns about every key that was not read: rt-app ignores such a key too.
    pub fn warn_unknown(&self, valid: &[&str]) {
        for (member, _) in self.members.iter().zip(&self.used).filter(|(_, used)| !used.get()) {
            let near = nearest(&member.key, valid.iter().copied());
            let hint = near.map_or_else(String::new, |name| format!(" (did you mean `{name}`?)"));
            self.source.warn(member.offset, format!("`{}` is no key of {}, ignored{hint}", member.key, self.what));
        }
    }

    /// Fails at the first key that was not read: for Tandem's own objects, where a slip would change the result.
    pub fn reject_unknown(&self, valid: &[&str]) -> Result<(), InputError> {
        match self.members.iter().zip(&self.used).find(|(_, used)| !used.get()) {
            None => Ok(()),
            Some((member, _)) => Err(self
                .error(member.offset, format!("`{}` is no key of {}", member.key, self.what))
                .help(valid_names(&member.key, valid))),
        }
    }

    /// Warns that `key` means nothing here because `why`, if the key is given.
    pub fn meaningless(&self, key: &str, why: &str) {
        if let Some(member) = self.member(key) {
            self.source.warn(member.offset, format!("`{key}` has no meaning in a simulation: {why}"));
        }
    }
}

/// The error "`key` must be EXPECTED, not …".
pub(super) fn mismatch(source: &Source, key: &str, value: &Value, expected: &str) -> InputError {
    let found = match &value.kind {
        Kind::Number(digits) => digits.clone(),
        Kind::String(text) if text.len() <= 40 => format!("\"{text}\""),
        _ => value.describe().to_owned(),
    };
    source.error(value.offset, format!("`{key}` must be {expected}, not {found}"))
}

/// An integer in `range`.
pub(super) fn integer(
    source: &Source,
    key: &str,
    value: &Value,
    range: RangeInclusive<i64>,
) -> Result<i64, InputError> {
    let parsed = match &value.kind {
        Kind::Number(digits) => digits.parse::<i64>().ok(),
        _ => None,
    };
    parsed
        .filter(|number| range.contains(number))
        .ok_or_else(|| mismatch(source, key, value, &format!("an integer from {} to {}", range.start(), range.end())))
}

/// An integer number of microseconds, from 0, as nanoseconds.
pub(super) fn usec(source: &Source, key: &str, value: &Value) -> Result<Nanos, InputError> {
    let usec = integer(source, key, value, INT).map_err(|error| error.help("the unit is microseconds"))?;
    Ok(usec.unsigned_abs() * USEC)
}

/// A number in `range`.
pub(super) fn number(source: &Source, key: &str, value: &Value, range: RangeInclusive<f64>) -> Result<f64, InputError> {
    let parsed = match &value.kind {
        Kind::Number(digits) => digits.parse::<f64>().ok(),
        _ => None,
    };
    parsed
        .filter(|number| range.contains(number))
        .ok_or_else(|| mismatch(source, key, value, &format!("a number from {} to {}", range.start(), range.end())))
}

/// A string.
pub(super) fn string<'a>(source: &Source, key: &str, value: &'a Value) -> Result<&'a str, InputError> {
    match &value.kind {
        Kind::String(text) => Ok(text),
        _ => Err(mismatch(source, key, value, "a string")),
    }
}
