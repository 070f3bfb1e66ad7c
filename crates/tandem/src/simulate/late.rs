// SPDX-License-Identifier: GPL-2.0-only
//! How late threads were, for people: responses and deadlines, wakeup latencies, frames.

use tandem_simulator::metrics::{Latency, Report, Timing};

use super::summary::{MOST_APPS, Part};
use crate::quantity::{NOTHING, PER_SECOND, SECONDS, count, percent, quantity};
use crate::table::{Align::Left, Align::Right, Table};

/// From what activates a round to its end, and how many rounds missed their deadlines.
pub fn responses(report: &Report) -> Option<Part> {
    let header = [
        ("response", Left),
        ("p50", Right),
        ("p95", Right),
        ("p99", Right),
        ("max", Right),
        ("rounds", Right),
        ("missed", Right),
        ("worst miss", Right),
    ];
    part(report, Table::new(header), |timing| {
        let mut cells = times(timing.response_ns?).to_vec();
        cells.push(quantity(timing.rounds_per_s, PER_SECOND));
        match timing.deadlines {
            None => cells.extend([NOTHING.to_owned(), NOTHING.to_owned()]),
            Some(it) => cells.extend([percent(it.missed_share), seconds(it.worst_miss_ns)]),
        }
        Some(cells)
    })
}

/// From wakeup to the first instruction.
pub fn wakeups(report: &Report) -> Option<Part> {
    let header = [("wakeup latency", Left), ("p50", Right), ("p95", Right), ("p99", Right), ("max", Right)];
    part(report, Table::new(header), |timing| Some(times(timing.wakeup_latency_ns?).to_vec()))
}

/// Frames, where the workload names some.
pub fn frames(report: &Report) -> Option<Part> {
    let header = [("frames", Left), ("count", Right), ("rate", Right), ("late", Right), ("share late", Right)];
    part(report, Table::new(header), |timing| {
        let it = timing.frames?;
        Some(vec![count(it.count), quantity(it.per_s, PER_SECOND), count(it.late), percent(it.late_share())])
    })
}

/// A row for each application that has `cells`, below one for all if there are several; nothing if none has.
fn part(report: &Report, mut table: Table, cells: impl Fn(&Timing) -> Option<Vec<String>>) -> Option<Part> {
    let row = |name: &str, cells: Vec<String>| std::iter::once(name.to_owned()).chain(cells);
    let apps: Vec<_> = report.apps.iter().filter_map(|app| Some((&app.name, cells(&app.timing)?))).collect();
    if apps.len() != 1 {
        table.row(row("(all)", cells(&report.timing)?));
    }
    let hidden = apps.len().saturating_sub(MOST_APPS);
    for (name, cells) in apps.into_iter().take(MOST_APPS) {
        table.row(row(name, cells));
    }
    Some((table, hidden))
}

fn times(latency: Latency) -> [String; 4] {
    [latency.p50, latency.p95, latency.p99, latency.max].map(seconds)
}

fn seconds(nanos: u64) -> String {
    quantity(nanos as f64 * 1e-9, SECONDS)
}
