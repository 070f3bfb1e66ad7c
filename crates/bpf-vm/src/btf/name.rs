// SPDX-License-Identifier: MIT OR Apache-2.0
//! Names that share one table, as in BTF itself: a file whose million members all have the same long name costs no more
//! memory than the file.

use std::cmp::Ordering;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// A name, or another text of a BTF string table; it reads as a `str`.
#[derive(Clone)]
pub struct Name {
    table: Arc<str>,
    start: u32,
    length: u32,
}

impl Name {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        // The range was valid when the name was made, and tables do not change.
        self.table.get(self.start as usize..(self.start + self.length) as usize).unwrap_or_default()
    }
}

impl Deref for Name {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl Default for Name {
    fn default() -> Self {
        Self::from("")
    }
}

impl From<&str> for Name {
    /// A name with a table of its own, which is cut at 4 GiB.
    fn from(text: &str) -> Self {
        Self { table: Arc::from(text), start: 0, length: u32::try_from(text.len()).unwrap_or(u32::MAX) }
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self.as_str(), f)
    }
}

impl PartialEq for Name {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Name {}

impl PartialEq<str> for Name {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}

impl PartialEq<&str> for Name {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == *other
    }
}

impl PartialOrd for Name {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Name {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_str().cmp(other.as_str())
    }
}

/// The name without its flavour. A program that knows several versions of a type tells them apart by what stands behind
/// the last `___` between two other characters; that flavour is not part of the kernel's name.
pub fn essential_name(name: &str) -> &str {
    let flavour = |at: &usize| match name.as_bytes().get(*at..*at + 5) {
        Some([before, b'_', b'_', b'_', after]) => *before != b'_' && *after != b'_',
        _ => false,
    };
    let end = (0..name.len().saturating_sub(4)).rev().find(flavour).map_or(name.len(), |at| at + 1);
    name.get(..end).unwrap_or(name)
}

/// A table of null-terminated texts, each found by its offset.
#[derive(Debug)]
pub(crate) struct Strings {
    table: Arc<str>,
    /// Offsets of the null bytes, ascending: texts end there. Looking for the end byte by byte would take quadratic time
    /// for a table that is one long text, with names at each of its bytes.
    ends: Vec<u32>,
}

impl Strings {
    /// A table; bytes that are no UTF-8 (old source lines, for instance) become question marks.
    pub(crate) fn new(bytes: &[u8]) -> Self {
        let mut table = String::with_capacity(bytes.len());
        for chunk in bytes.utf8_chunks() {
            table.push_str(chunk.valid());
            table.extend(chunk.invalid().iter().map(|_| '?'));
        }
        let ends = table.bytes().enumerate().filter(|(_, byte)| *byte == 0).map(|(at, _)| at as u32).collect();
        Self { table: Arc::from(table), ends }
    }

    /// The text at `offset`; `None` beyond the table, without an end, or in the middle of a character.
    pub(crate) fn get(&self, offset: u32) -> Option<Name> {
        let end = *self.ends.get(self.ends.partition_point(|end| *end < offset))?;
        self.table.get(offset as usize..end as usize)?;
        Some(Name { table: Arc::clone(&self.table), start: offset, length: end - offset })
    }
}
