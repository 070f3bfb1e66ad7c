// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where the values of a machine come from.

use crate::machine::{Machine, Provenance, Trust};

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
            lines.push(format!("  {} {:<widest$}  {}", entry.trust().mark(), key(entry), entry.source));
        }
    }
    lines
}

fn counts(machine: &Machine) -> String {
    let count = |trust| machine.provenance.iter().filter(|entry| entry.trust() == trust).count();
    let marked = Trust::MARKED.map(|(word, trust, mark)| format!("{} {word} ({mark})", count(trust)));
    let all = machine.provenance.len();
    format!("{}: {all} sources, {}, {} from documents", machine.name, marked.join(", "), count(Trust::Documented))
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
