// SPDX-License-Identifier: MIT OR Apache-2.0
//! How far nodes are from each other.

use super::{paper, units};
use crate::machine::{Machine, Nodes};

/// Columns before the text of each line.
const COLUMN: usize = 14;

/// The lines about it, at most `width` columns each; none where nothing is said.
pub(super) fn of(machine: &Machine, width: usize) -> Vec<String> {
    let Some(nodes) = &machine.nodes else { return Vec::new() };
    let mut text = rows("distances", &nodes.distances, u32::to_string);
    text.push_str(&rows("; memory latency", &nodes.latency, |factor| units::number(*factor, 2)));
    if let Some(links) = links(nodes) {
        text.push_str(&links);
    }
    paper::labelled("nodes", &text, COLUMN, width)
}

/// A matrix in a line: its rows, each in brackets.
fn rows<T>(label: &str, matrix: &[Vec<T>], cell: impl Fn(&T) -> String) -> String {
    let row = |row: &Vec<T>| format!("[{}]", row.iter().map(&cell).collect::<Vec<_>>().join(" "));
    format!("{label} {}", matrix.iter().map(row).collect::<Vec<_>>().join(" "))
}

/// The narrowest and the widest link; `None` if none has a limit.
fn links(nodes: &Nodes) -> Option<String> {
    let limits = || nodes.links.iter().flatten().flatten().copied();
    let (low, high) = (limits().reduce(f64::min)?, limits().reduce(f64::max)?);
    let low = units::gb_per_s(low);
    let range = if limits().all(|limit| limit == high) { low } else { format!("{low} to {}", units::gb_per_s(high)) };
    Some(format!("; links of {range} GB/s"))
}
