// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where the values of a machine come from.

use crate::machine::{Machine, Provenance};

/// How far a source can be relied upon.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Trust {
    Given,
    Assumed,
    Calibrated,
}

impl Trust {
    fn of(entry: &Provenance) -> Self {
        match entry.source.trim_start() {
            source if source.starts_with("assumed") => Self::Assumed,
            source if source.starts_with("calibrated") => Self::Calibrated,
            _ => Self::Given,
        }
    }

    fn mark(self) -> char {
        match self {
            Self::Given => ' ',
            Self::Assumed => '?',
            Self::Calibrated => '~',
        }
    }
}

/// Entries of one table, or of several that differ only in their names.
struct Entries<'m> {
    names: Vec<&'m str>,
    entries: Vec<&'m Provenance>,
}

/// The lines of the list.
pub(super) fn list(machine: &Machine) -> Vec<String> {
    let mut lines = vec![counts(machine)];
    for table in tables(machine) {
        lines.push(match table.names.as_slice() {
            [first, .., last] => format!("{first} … {last} ({} tables)", table.names.len()),
            [only] => (*only).to_owned(),
            [] => String::new(),
        });
        let widest = table.entries.iter().map(|entry| key(entry).len()).max().unwrap_or(0);
        for entry in table.entries {
            lines.push(format!("  {} {:<widest$}  {}", Trust::of(entry).mark(), key(entry), entry.source));
        }
    }
    lines
}

fn counts(machine: &Machine) -> String {
    let count = |trust| machine.provenance.iter().filter(|entry| Trust::of(entry) == trust).count();
    let (assumed, calibrated) = (count(Trust::Assumed), count(Trust::Calibrated));
    let all = machine.provenance.len();
    format!("{}: {all} sources, {assumed} assumed (?), {calibrated} calibrated (~)", machine.name)
}

/// The key, or what `*` means.
fn key(entry: &Provenance) -> &str {
    if entry.key == "*" { "(the rest)" } else { &entry.key }
}

fn tables(machine: &Machine) -> Vec<Entries<'_>> {
    let mut tables: Vec<Entries<'_>> = Vec::new();
    for run in machine.provenance.chunk_by(|a, b| a.table == b.table) {
        let entries: Vec<&Provenance> = run.iter().collect();
        let Some(name) = entries.first().map(|entry| entry.table.as_str()) else { continue };
        match tables.last_mut().filter(|last| is_alike(last, name, &entries)) {
            Some(last) => last.names.push(name),
            None => tables.push(Entries { names: vec![name], entries }),
        }
    }
    tables
}

fn is_alike(known: &Entries<'_>, name: &str, entries: &[&Provenance]) -> bool {
    let kind = |name: &str| name.split('.').next().map(str::to_owned);
    let same = |(a, b): (&&Provenance, &&Provenance)| (&a.key, &a.source) == (&b.key, &b.source);
    known.names.first().and_then(|known| kind(known)) == kind(name)
        && known.entries.len() == entries.len()
        && known.entries.iter().zip(entries).all(same)
}
