// SPDX-License-Identifier: MIT OR Apache-2.0
//! A TOML file whose mistakes are shown with their places.

use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::input::{InputError, valid_names};

pub(super) type Item<'a> = &'a Spanned<DeValue<'a>>;

/// A place in a file: a byte of its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Place(pub(super) usize);

/// An entry of a table: its key, where that stands, and the value.
pub(super) struct Entry<'a> {
    pub key: &'a str,
    pub place: Place,
    pub item: Item<'a>,
}

/// The file being read.
#[derive(Clone, Copy)]
pub(super) struct File<'a> {
    pub path: &'a Path,
    pub text: &'a str,
}

impl File<'_> {
    /// A mistake at a place.
    pub fn mistake(&self, place: Place, message: impl Into<String>) -> InputError {
        InputError::at(self.path, self.text, place.0, message)
    }

    /// A mistake: `what` cannot be as `item` says.
    pub fn wrong(&self, item: Item<'_>, what: &str, expected: &str) -> InputError {
        self.cannot_be(item, what).help(format!("expected {expected}"))
    }

    /// The same without saying what is expected.
    pub fn cannot_be(&self, item: Item<'_>, what: &str) -> InputError {
        let written = self.text.get(item.span()).unwrap_or_default();
        InputError::at(self.path, self.text, item.span().start, format!("{what} cannot be {written}"))
    }

    /// `item` as a table.
    pub fn table<'a>(&self, item: Item<'a>, what: &str) -> Result<&'a DeTable<'a>, InputError> {
        match item.get_ref() {
            DeValue::Table(table) => Ok(table),
            _ => Err(self.wrong(item, what, "a table")),
        }
    }

    /// The entries of a table in the order of the file.
    pub fn entries<'a>(&self, table: &'a DeTable<'a>) -> Vec<Entry<'a>> {
        let entry = |(key, item): (&'a Spanned<_>, Item<'a>)| -> Entry<'a> {
            let name: &std::borrow::Cow<'a, str> = key.get_ref();
            Entry { key: name, place: Place(key.span().start), item }
        };
        let mut entries: Vec<Entry<'a>> = table.iter().map(entry).collect();
        entries.sort_by_key(|entry| entry.place.0);
        entries
    }

    /// The entries of a table that may have these keys only.
    pub fn known<'a>(&self, table: &'a DeTable<'a>, what: &str, keys: &[&str]) -> Result<Vec<Entry<'a>>, InputError> {
        let entries = self.entries(table);
        match entries.iter().find(|entry| !keys.contains(&entry.key)) {
            Some(entry) => Err(self.unknown(entry, what, keys)),
            None => Ok(entries),
        }
    }

    /// A mistake: there is no such key.
    pub fn unknown(&self, entry: &Entry<'_>, what: &str, keys: &[&str]) -> InputError {
        self.mistake(entry.place, format!("unknown key `{}` in {what}", entry.key)).help(valid_names(entry.key, keys))
    }

    /// A whole number; `None` for anything else.
    pub fn integer(&self, item: Item<'_>) -> Option<i128> {
        match item.get_ref() {
            DeValue::Integer(integer) => i128::from_str_radix(integer.as_str(), integer.radix()).ok(),
            _ => None,
        }
    }

    /// A number of a type.
    pub fn number<T: TryFrom<i128>>(&self, key: &str, item: Item<'_>, expected: &str) -> Result<T, InputError> {
        let number = self.integer(item).and_then(|number| T::try_from(number).ok());
        number.ok_or_else(|| self.wrong(item, &format!("`{key}`"), expected))
    }

    /// A text that is a name.
    pub fn name(&self, item: Item<'_>, what: &str, expected: &str) -> Result<String, InputError> {
        item.get_ref().as_str().map(str::to_owned).ok_or_else(|| self.wrong(item, what, expected))
    }
}
