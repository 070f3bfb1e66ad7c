// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tables of a TOML file, read key by key, every value with its place in the file.
//!
//! Knows types, ranges and key names; not what they mean.

use std::ops::RangeInclusive;
use std::path::Path;

use toml::Spanned;
use toml::de::{DeArray, DeString, DeTable, DeValue};

use super::range::Range;
use super::schema::Shape;
use crate::input::{InputError, valid_names};

/// The file being read, for messages.
#[derive(Debug, Clone, Copy)]
pub(super) struct File<'a> {
    pub(super) path: &'a Path,
    pub(super) text: &'a str,
}

impl<'a> File<'a> {
    /// A mistake at byte `at`.
    pub(super) fn error(self, at: usize, message: impl Into<String>) -> InputError {
        InputError::at(self.path, self.text, at, message)
    }

    /// The text of `value` as it was written.
    fn written(self, value: &Spanned<DeValue<'_>>) -> &'a str {
        self.text.get(value.span()).unwrap_or_default()
    }

    /// The value of `key` is not what `expected` says.
    fn wrong_type(self, key: &str, value: &Spanned<DeValue<'_>>, expected: &str) -> InputError {
        self.mistyped(&format!("`{key}`"), value, expected)
    }

    /// `what`, found at `value`, is not what `expected` says.
    fn mistyped(self, what: &str, value: &Spanned<DeValue<'_>>, expected: &str) -> InputError {
        let found = match value.get_ref() {
            DeValue::String(_) => "a string",
            DeValue::Integer(_) => "an integer",
            DeValue::Float(_) => "a fraction",
            DeValue::Boolean(_) => "a boolean",
            DeValue::Datetime(_) => "a date",
            DeValue::Array(_) => "an array",
            DeValue::Table(_) => "a table",
        };
        self.error(value.span().start, format!("{what} is {found}")).help(format!("expected {expected}"))
    }

    /// `value` as a number in `range`. Integers are numbers; `inf` and `nan` are not.
    pub(super) fn number(
        self,
        key: &str,
        value: &Spanned<DeValue<'_>>,
        range: Range,
    ) -> Result<Placed<f64>, InputError> {
        let number = match value.get_ref() {
            DeValue::Integer(integer) => i64::from_str_radix(integer.as_str(), integer.radix()).ok().map(|n| n as f64),
            DeValue::Float(float) => float.as_str().parse::<f64>().ok(),
            _ => return Err(self.wrong_type(key, value, &format!("a number, {range}"))),
        };
        let at = value.span().start;
        match number.filter(|number| range.contains(*number)) {
            Some(value) => Ok(Placed { value, at }),
            None => Err(self
                .error(at, format!("`{key}` is out of range: {}", self.written(value)))
                .help(format!("expected a number, {range}"))),
        }
    }

    /// `value` as a whole number in `range`.
    pub(super) fn whole(
        self,
        key: &str,
        value: &Spanned<DeValue<'_>>,
        range: RangeInclusive<u32>,
    ) -> Result<Placed<u32>, InputError> {
        let expected = format!("a whole number, {} to {}", range.start(), range.end());
        let DeValue::Integer(integer) = value.get_ref() else {
            return Err(self.wrong_type(key, value, &expected));
        };
        let at = value.span().start;
        match u32::from_str_radix(integer.as_str(), integer.radix()).ok().filter(|number| range.contains(number)) {
            Some(value) => Ok(Placed { value, at }),
            None => Err(self
                .error(at, format!("`{key}` is out of range: {}", self.written(value)))
                .help(format!("expected {expected}"))),
        }
    }

    /// `value` as text that is not blank.
    pub(super) fn text(self, key: &str, value: &'a Spanned<DeValue<'a>>) -> Result<Placed<&'a str>, InputError> {
        let Some(text) = value.get_ref().as_str() else {
            return Err(self.wrong_type(key, value, "a string"));
        };
        let at = value.span().start;
        if text.trim().is_empty() {
            return Err(self.error(at, format!("`{key}` is empty")).help("expected text"));
        }
        Ok(Placed { value: text, at })
    }

    /// `value` as an array.
    pub(super) fn array(
        self,
        key: &str,
        value: &'a Spanned<DeValue<'a>>,
        expected: &str,
    ) -> Result<Placed<&'a DeArray<'a>>, InputError> {
        match value.get_ref() {
            DeValue::Array(array) => Ok(Placed { value: array, at: value.span().start }),
            _ => Err(self.wrong_type(key, value, expected)),
        }
    }
}

/// A value and the byte of the file at which it begins.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Placed<T> {
    pub(super) value: T,
    pub(super) at: usize,
}

/// A table whose keys are all known.
#[derive(Debug, Clone)]
pub(super) struct Table<'a> {
    pub(super) file: File<'a>,
    /// How messages and provenance call it: `core_type.cortex-a53`.
    pub(super) label: String,
    /// The byte at which its header or its brace begins.
    pub(super) at: usize,
    pub(super) shape: &'static Shape,
    entries: &'a DeTable<'a>,
}

impl<'a> Table<'a> {
    /// The table at `value`, provided that it is one and that `shape` knows each of its keys.
    pub(super) fn open(
        file: File<'a>,
        label: String,
        shape: &'static Shape,
        value: &'a Spanned<DeValue<'a>>,
    ) -> Result<Self, InputError> {
        match value.get_ref() {
            DeValue::Table(entries) => Self::of_entries(file, label, shape, entries, value.span().start),
            _ => Err(file.mistyped(&label, value, "a table")),
        }
    }

    /// The table of the file as a whole.
    pub(super) fn of_entries(
        file: File<'a>,
        label: String,
        shape: &'static Shape,
        entries: &'a DeTable<'a>,
        at: usize,
    ) -> Result<Self, InputError> {
        let unknown = entries.iter().map(|(key, _)| key).filter(|key| !shape.keys.contains(&key.get_ref().as_ref()));
        if let Some(key) = unknown.min_by_key(|key| key.span().start) {
            return Err(file
                .error(key.span().start, format!("unknown key `{}` in {label}", key.get_ref()))
                .help(valid_names(key.get_ref(), shape.keys)));
        }
        Ok(Self { file, label, at, shape, entries })
    }

    /// The value of `key`, if it is there.
    pub(super) fn entry(&self, key: &str) -> Option<&'a Spanned<DeValue<'a>>> {
        debug_assert!(self.shape.keys.contains(&key), "{} is read but not in the schema", key);
        self.entries.get(key)
    }

    /// A mistake of the table as a whole.
    pub(super) fn error(&self, message: impl Into<String>) -> InputError {
        self.file.error(self.at, message)
    }

    /// `key` is not there.
    pub(super) fn missing(&self, key: &str, expected: &str) -> InputError {
        self.error(format!("{} has no `{key}`", self.label)).help(format!("expected `{key}`: {expected}"))
    }

    /// A number that must be there.
    pub(super) fn number(&self, key: &str, range: Range) -> Result<Placed<f64>, InputError> {
        self.number_if(key, range)?.ok_or_else(|| self.missing(key, &format!("a number, {range}")))
    }

    /// A number that may be left out.
    pub(super) fn number_if(&self, key: &str, range: Range) -> Result<Option<Placed<f64>>, InputError> {
        self.entry(key).map(|value| self.file.number(key, value, range)).transpose()
    }

    /// An array of numbers; empty if left out.
    pub(super) fn numbers(&self, key: &str, range: Range) -> Result<Vec<Placed<f64>>, InputError> {
        let Some(value) = self.entry(key) else {
            return Ok(Vec::new());
        };
        let array = self.file.array(key, value, "an array of numbers")?;
        array.value.iter().map(|value| self.file.number(key, value, range)).collect()
    }

    /// A whole number that must be there.
    pub(super) fn whole(&self, key: &str, range: RangeInclusive<u32>) -> Result<Placed<u32>, InputError> {
        let expected = format!("a whole number, {} to {}", range.start(), range.end());
        self.whole_if(key, range)?.ok_or_else(|| self.missing(key, &expected))
    }

    /// A whole number that may be left out.
    pub(super) fn whole_if(&self, key: &str, range: RangeInclusive<u32>) -> Result<Option<Placed<u32>>, InputError> {
        self.entry(key).map(|value| self.file.whole(key, value, range)).transpose()
    }

    /// Text that must be there.
    pub(super) fn text(&self, key: &str) -> Result<Placed<&'a str>, InputError> {
        self.text_if(key)?.ok_or_else(|| self.missing(key, "a string"))
    }

    /// Text that may be left out.
    pub(super) fn text_if(&self, key: &str) -> Result<Option<Placed<&'a str>>, InputError> {
        self.entry(key).map(|value| self.file.text(key, value)).transpose()
    }

    /// `true` or `false`, which may be left out.
    pub(super) fn flag_if(&self, key: &str) -> Result<Option<bool>, InputError> {
        let Some(value) = self.entry(key) else {
            return Ok(None);
        };
        match value.get_ref() {
            DeValue::Boolean(flag) => Ok(Some(*flag)),
            _ => Err(self.file.wrong_type(key, value, "`true` or `false`")),
        }
    }

    /// One of the words of `choices`, which may be left out.
    pub(super) fn word_if<T: Copy>(&self, key: &str, choices: &[(&str, T)]) -> Result<Option<Placed<T>>, InputError> {
        let Some(word) = self.text_if(key)? else {
            return Ok(None);
        };
        if let Some((_, value)) = choices.iter().find(|(name, _)| *name == word.value) {
            return Ok(Some(Placed { value: *value, at: word.at }));
        }
        let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
        Err(self
            .file
            .error(word.at, format!("`{key}` cannot be `{}`", word.value))
            .help(valid_names(word.value, &names)))
    }

    /// The tables of the array at `key`; empty if left out.
    pub(super) fn rows(&self, key: &str, shape: &'static Shape) -> Result<Vec<Table<'a>>, InputError> {
        let Some(value) = self.entry(key) else {
            return Ok(Vec::new());
        };
        let array = self.file.array(key, value, "an array of tables")?;
        let label = format!("an entry of `{key}`");
        array.value.iter().map(|value| Table::open(self.file, label.clone(), shape, value)).collect()
    }

    /// The table at `key`, if it is there.
    pub(super) fn table_if(&self, key: &str, shape: &'static Shape) -> Result<Option<Table<'a>>, InputError> {
        self.entry(key).map(|value| Table::open(self.file, key.to_owned(), shape, value)).transpose()
    }

    /// The tables `key.NAME` in the order of the file.
    pub(super) fn named(&self, key: &str, shape: &'static Shape) -> Result<Vec<(&'a str, Table<'a>)>, InputError> {
        let Some(value) = self.entry(key) else {
            return Ok(Vec::new());
        };
        let DeValue::Table(entries) = value.get_ref() else {
            return Err(self.file.wrong_type(key, value, &format!("tables `[{}]`", shape.title)));
        };
        let mut tables = Vec::new();
        for (name, value) in entries {
            let name: &'a str = name.get_ref();
            tables.push((name, Table::open(self.file, format!("{key}.{name}"), shape, value)?));
        }
        tables.sort_by_key(|(_, table)| table.at);
        Ok(tables)
    }

    /// The keys of the table and their values, in the order of the file.
    pub(super) fn entries(&self) -> Vec<Entry<'a>> {
        in_file_order(self.entries)
    }

    /// The keys and values of the table within this one at `value`, whatever its keys are.
    pub(super) fn children(&self, key: &str, value: &'a Spanned<DeValue<'a>>) -> Result<Vec<Entry<'a>>, InputError> {
        match value.get_ref() {
            DeValue::Table(entries) => Ok(in_file_order(entries)),
            _ => Err(self.file.wrong_type(key, value, "a table")),
        }
    }
}

/// A key and its value.
pub(super) type Entry<'a> = (Placed<&'a str>, &'a Spanned<DeValue<'a>>);

fn in_file_order<'a>(table: &'a DeTable<'a>) -> Vec<Entry<'a>> {
    let place = |key: &'a Spanned<DeString<'a>>| Placed { value: &**key.get_ref(), at: key.span().start };
    let mut entries: Vec<_> = table.iter().map(|(key, value)| (place(key), value)).collect();
    entries.sort_by_key(|(key, _)| key.at);
    entries
}

/// Rows of tables that others refer to by name, in the order of the file.
#[derive(Debug, Clone)]
pub(super) struct Named<T> {
    /// What a row is, for messages: `core type`.
    pub(super) kind: &'static str,
    pub(super) names: Vec<String>,
    pub(super) rows: Vec<T>,
}

impl<T> Named<T> {
    /// The index of the row that `reference` names.
    pub(super) fn find(&self, file: File<'_>, reference: Placed<&str>) -> Result<usize, InputError> {
        if let Some(index) = self.names.iter().position(|name| name == reference.value) {
            return Ok(index);
        }
        let error = file.error(reference.at, format!("no {} is named `{}`", self.kind, reference.value));
        if self.names.is_empty() {
            return Err(error.help(format!("the file describes no {} yet", self.kind)));
        }
        let names: Vec<&str> = self.names.iter().map(String::as_str).collect();
        Err(error.help(valid_names(reference.value, &names)))
    }
}
