// SPDX-License-Identifier: GPL-2.0-only
//! A half of a part, judged, as it is printed.

use std::time::Instant;

use crate::contest::Contest;
use crate::table::Table;

/// A half of a part, judged.
pub struct Page {
    /// A line for each cell.
    pub table: Table,
    /// How to read the lines.
    pub legend: &'static str,
    /// What they come to.
    pub summary: Vec<String>,
}

impl Page {
    /// Prints the half of `contest`, judged since `began`; what its lines come to, with the part and the half before each.
    pub fn print(&self, part: &str, contest: &Contest<'_>, began: Instant) -> Vec<String> {
        let (half, seed) = (contest.half.name(), contest.seed);
        println!("== {part}, {half} half, seeds from {seed} ({:.0} s)", began.elapsed().as_secs_f64());
        println!("{}{}", self.table.render(), self.legend);
        let lines: Vec<String> = self.summary.iter().map(|line| format!("{part}, {half} half: {line}")).collect();
        println!("{}\n", lines.join("\n"));
        lines
    }
}
