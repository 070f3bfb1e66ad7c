// SPDX-License-Identifier: MIT OR Apache-2.0
//! `[memory.NAME]`: paths to memory, parents before children.

use super::range::{GB_PER_S, GROWTH, NANOJOULES, WATTS};
use super::reader::{Named, Placed, Table};
use crate::input::InputError;
use crate::machine::MemoryDomain;
use crate::units::MemoryDomainId;

/// Reads every path; a parent moves before its children, otherwise the order is the file's.
pub(super) fn read(tables: &[(&str, Table<'_>)]) -> Result<Named<MemoryDomain>, InputError> {
    let kind = "memory";
    let names: Vec<String> = tables.iter().map(|(name, _)| (*name).to_owned()).collect();
    let in_file = Named { kind, names, rows: tables.to_vec() };
    let mut parents = Vec::with_capacity(tables.len());
    for (_, table) in tables {
        let parent = table.text_if("parent")?;
        let index = parent.map(|parent| in_file.find(table.file, parent)).transpose()?;
        parents.push(parent.zip(index).map(|(parent, index)| Placed { value: index, at: parent.at }));
    }
    let order = parents_first(tables, &parents)?;
    let mut sorted = Named { kind, names: Vec::new(), rows: Vec::new() };
    for &index in &order {
        let (name, table) = &tables[index];
        let place = |parent: Placed<usize>| order.iter().position(|&other| other == parent.value);
        let parent = parents[index].and_then(place).map(MemoryDomainId::at);
        sorted.rows.push(read_domain(name, table, parent)?);
        sorted.names.push((*name).to_owned());
    }
    Ok(sorted)
}

/// Indices into the tables of the file, each parent before its children.
fn parents_first(tables: &[(&str, Table<'_>)], parents: &[Option<Placed<usize>>]) -> Result<Vec<usize>, InputError> {
    let mut order: Vec<usize> = Vec::with_capacity(tables.len());
    for start in 0..tables.len() {
        let mut chain = Vec::new();
        let mut next = Some(start);
        while let Some(index) = next.filter(|index| !order.contains(index)) {
            chain.push(index);
            let Some(parent) = parents[index] else { break };
            if chain.contains(&parent.value) {
                let (name, table) = &tables[index];
                return Err(table
                    .file
                    .error(parent.at, format!("memory `{name}` is, through its parents, its own parent"))
                    .help("expected a parent that leads to a memory without one"));
            }
            next = Some(parent.value);
        }
        order.extend(chain.into_iter().rev());
    }
    Ok(order)
}

fn read_domain(name: &str, table: &Table<'_>, parent: Option<MemoryDomainId>) -> Result<MemoryDomain, InputError> {
    let total = table.number("gb_per_s", GB_PER_S)?;
    let thread = table.number("thread_gb_per_s", GB_PER_S)?;
    if thread.value > total.value {
        return Err(table
            .file
            .error(thread.at, format!("one thread has more bandwidth than all: {} > {}", thread.value, total.value))
            .help(format!("expected at most `gb_per_s`, {}", total.value)));
    }
    Ok(MemoryDomain {
        name: name.to_owned(),
        bytes_per_s: total.value * 1e9,
        thread_bytes_per_s: thread.value * 1e9,
        contention: table.number("contention", GROWTH)?.value,
        static_watts: table.number("static_watts", WATTS)?.value,
        joules_per_byte: table.number("nj_per_byte", NANOJOULES)?.value * 1e-9,
        parent,
        link_of: None,
    })
}
