// SPDX-License-Identifier: MIT OR Apache-2.0
//! `[nodes]`: distances, latencies and links between NUMA nodes.

use toml::Spanned;
use toml::de::DeValue;

use super::cluster::ClusterRow;
use super::range::{DISTANCE, GB_PER_S, LATENCY, LINK_GB_PER_S, Range};
use super::reader::{Named, Placed, Table};
use super::schema;
use super::tables::{Sources, Tables};
use crate::input::InputError;
use crate::machine::Nodes;
use crate::machine::nodes::common_path;
use crate::units::MemoryDomainId;

/// The SLIT's distance of a node from itself.
const LOCAL_DISTANCE: f64 = 10.0;

type Matrix = Vec<Vec<Placed<f64>>>;

/// Reads `[nodes]`, where the document has it.
pub(super) fn read(
    document: &Table<'_>,
    clusters: &Named<ClusterRow>,
    tables: &Tables,
    sources: &mut Sources,
) -> Result<Option<Nodes>, InputError> {
    let Some(table) = document.table_if("nodes", &schema::NODES)? else { return Ok(None) };
    sources.extend(super::provenance::read(&table)?);
    let memory = memories(&table, clusters, tables)?;
    let count = memory.len();
    let distances = square(&table, "distances", DISTANCE, count)?
        .ok_or_else(|| table.missing("distances", "an array of arrays, as `[[10, 21], [21, 10]]`"))?;
    check_diagonal(&table, "distances", &distances, LOCAL_DISTANCE)?;
    let links = match square(&table, "link_gb_per_s", LINK_GB_PER_S, count)? {
        None => vec![vec![None; count]; count],
        Some(links) => read_links(&table, &links)?,
    };
    Ok(Some(Nodes {
        distances: map(&distances, |_, distance| distance as u32),
        latency: latency(&table, count)?,
        links,
        memory,
    }))
}

/// The path that all memory of each node is behind.
fn memories(
    table: &Table<'_>,
    clusters: &Named<ClusterRow>,
    tables: &Tables,
) -> Result<Vec<MemoryDomainId>, InputError> {
    let count = clusters.rows.iter().map(|row| row.node + 1).max().unwrap_or(0);
    let of_node = |node: u32| {
        let mut own = clusters.rows.iter().filter(|row| row.node == node).map(|row| row.memory).peekable();
        if own.peek().is_none() {
            return Err(table
                .error(format!("no cluster is on node {node}, but one is on node {}", count - 1))
                .help("expected nodes from 0 on, without gaps, each with CPUs"));
        }
        common_path(&tables.memories.rows, own).ok_or_else(|| {
            table
                .error(format!("the clusters of node {node} have no path to memory in common"))
                .help("expected one `memory`, or several with one `parent`")
        })
    };
    (0..count).map(of_node).collect()
}

/// `latency`, in that of each node's own memory.
fn latency(table: &Table<'_>, count: usize) -> Result<Vec<Vec<f64>>, InputError> {
    let written = square(table, "latency", LATENCY, count)?
        .ok_or_else(|| table.missing("latency", "an array of arrays, as `[[1, 1.6], [1.6, 1]]`"))?;
    for (node, row) in written.iter().enumerate() {
        if let Some(shorter) = row.iter().find(|value| value.value < row[node].value) {
            return Err(table
                .file
                .error(shorter.at, format!("the `latency` of another node is shorter than that of node {node}"))
                .help(format!("expected at least {}", row[node].value)));
        }
    }
    Ok(map(&written, |node, value| value / written[node][node].value))
}

fn read_links(table: &Table<'_>, links: &Matrix) -> Result<Vec<Vec<Option<f64>>>, InputError> {
    check_diagonal(table, "link_gb_per_s", links, 0.0)?;
    for (from, row) in links.iter().enumerate() {
        for (to, link) in row.iter().enumerate().filter(|(to, _)| *to != from) {
            let back = links[to][from].value;
            if link.value != back || !GB_PER_S.contains(link.value) {
                let message = format!("`link_gb_per_s` between nodes {from} and {to} is {} and {back}", link.value);
                let help = format!("expected one number, {GB_PER_S}, for both directions together");
                return Err(table.file.error(link.at, message).help(help));
            }
        }
    }
    let link = |from: usize, to: usize| (from != to).then(|| links[from][to].value * 1e9);
    Ok((0..links.len()).map(|from| (0..links.len()).map(|to| link(from, to)).collect()).collect())
}

fn map<T>(matrix: &Matrix, value: impl Fn(usize, f64) -> T) -> Vec<Vec<T>> {
    let row = |(node, row): (usize, &Vec<Placed<f64>>)| row.iter().map(|entry| value(node, entry.value)).collect();
    matrix.iter().enumerate().map(row).collect()
}

fn check_diagonal(table: &Table<'_>, key: &str, matrix: &Matrix, expected: f64) -> Result<(), InputError> {
    let own = matrix.iter().enumerate().map(|(node, row)| (node, row[node]));
    match own.into_iter().find(|(_, entry)| entry.value != expected) {
        None => Ok(()),
        Some((node, entry)) => Err(table
            .file
            .error(entry.at, format!("`{key}` of node {node} to itself is {}", entry.value))
            .help(format!("expected {expected}"))),
    }
}

/// The matrix `key`: a row of `count` numbers for each of the `count` nodes.
fn square(table: &Table<'_>, key: &str, range: Range, count: usize) -> Result<Option<Matrix>, InputError> {
    let Some(value) = table.entry(key) else { return Ok(None) };
    let expected = format!("{count} arrays of {count} numbers, one for each node");
    let rows = table.file.array(key, value, &expected)?;
    let wrong = |at: usize| {
        table.file.error(at, format!("`{key}` does not fit {count} nodes")).help(format!("expected {expected}"))
    };
    if rows.value.len() != count {
        return Err(wrong(rows.at));
    }
    let row = |value: &Spanned<DeValue<'_>>| {
        let DeValue::Array(numbers) = value.get_ref() else { return Err(wrong(value.span().start)) };
        if numbers.len() != count {
            return Err(wrong(value.span().start));
        }
        numbers.iter().map(|number| table.file.number(key, number, range)).collect()
    };
    rows.value.iter().map(row).collect::<Result<Matrix, InputError>>().map(Some)
}
