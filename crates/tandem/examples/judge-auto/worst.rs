// SPDX-License-Identifier: GPL-2.0-only
//! The cells that are farthest from what is asked.

use crate::cells::Cell;

/// So many are named.
const NAMED: usize = 5;

/// The cells with the highest values, the highest first: `pixel6 noise 1.00: 1.072, …`.
pub fn worst_cells<'a>(values: impl Iterator<Item = (&'a Cell, f64)>) -> String {
    let mut all: Vec<(&Cell, f64)> = values.collect();
    all.sort_by(|one, other| other.1.total_cmp(&one.1));
    let text = |(cell, value): &(&Cell, f64)| {
        format!("{} {} {:.2}: {value:.3}", cell.machine.name, cell.workload.name, cell.load)
    };
    all.iter().take(NAMED).map(text).collect::<Vec<_>>().join(", ")
}
