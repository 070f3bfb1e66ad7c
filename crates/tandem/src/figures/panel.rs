// SPDX-License-Identifier: GPL-2.0-only
//! Which numbers share an axis: those of one quantity and unit.

use tandem_experiments::{CellResult, ExperimentResult, SeriesResult, Unit};

use super::marks::Mark;

/// Series of at most so many numbers share a panel with others of their quantity.
const SHORT: usize = 2;

/// Numbers on one axis.
#[derive(Debug, Clone)]
pub struct Panel<'a> {
    /// The experiment, and where in the paper its numbers are.
    pub title: String,
    /// What is measured.
    pub quantity: String,
    pub unit: &'a Unit,
    /// From top to bottom.
    pub rows: Vec<Row<'a>>,
    /// The ends of the axis: all values with their intervals and what means "no effect", and some room.
    pub range: (f64, f64),
}

/// A number.
#[derive(Debug, Clone)]
pub struct Row<'a> {
    /// What tells it from the others.
    pub label: String,
    /// The number.
    pub cell: &'a CellResult,
}

/// The panels of an experiment; numbers that are not simulated are left out.
pub fn panels(experiment: &ExperimentResult) -> Vec<Panel<'_>> {
    let mut groups: Vec<Vec<&SeriesResult>> = Vec::new();
    for series in experiment.series.iter().filter(|series| series.cells.iter().any(is_drawn)) {
        let is_short = |series: &SeriesResult| series.cells.len() <= SHORT;
        let fits = |group: &Vec<&SeriesResult>| {
            let first = group[0];
            first.unit == series.unit && parts(&first.what).0 == parts(&series.what).0 && is_short(first)
        };
        match groups.iter_mut().find(|group| is_short(series) && fits(group)) {
            Some(group) => group.push(series),
            None => groups.push(vec![series]),
        }
    }
    groups.iter().map(|group| panel(experiment, group)).collect()
}

/// Whether the cell has a number that a plot can show.
fn is_drawn(cell: &CellResult) -> bool {
    cell.ours.is_some_and(|ours| ours.mean.is_finite())
}

/// The quantity in a series' name, and the rest: `speedup` and `PS-Sched-1, mean of six` of `PS-Sched-1: speedup, mean of six`.
fn parts(what: &str) -> (&str, String) {
    let (of, rest) = what.split_once(": ").unwrap_or(("", what));
    let (quantity, how) = rest.split_once(", ").unwrap_or((rest, ""));
    (quantity, joined([of, how]))
}

fn joined<'t>(parts: impl IntoIterator<Item = &'t str>) -> String {
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
}

fn panel<'a>(experiment: &ExperimentResult, group: &[&'a SeriesResult]) -> Panel<'a> {
    let mut places: Vec<&str> = Vec::new();
    let mut rows = Vec::new();
    for series in group {
        if !places.contains(&series.place.as_str()) && !series.place.is_empty() {
            places.push(&series.place);
        }
        for (cell, label) in series.cells.iter().zip(series.labels()).filter(|(cell, _)| is_drawn(cell)) {
            let own = if group.len() > 1 { parts(&series.what).1 } else { String::new() };
            rows.push(Row { label: joined([own.as_str(), &label]), cell });
        }
    }
    // One that the title names already is not named again.
    places.retain(|place| !experiment.title.contains(place));
    let title = [experiment.title.as_str(), &places.join("; ")]
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(" — ");
    let unit = &group[0].unit;
    let (range, whole) = (range(unit, &rows), group.len() == 1);
    let quantity = if whole { group[0].what.clone() } else { parts(&group[0].what).0.to_owned() };
    Panel { title, quantity, unit, rows, range }
}

/// The ends of an axis for these numbers.
fn range(unit: &Unit, rows: &[Row<'_>]) -> (f64, f64) {
    let neutral = unit.neutral();
    let mut range = neutral.map_or((f64::INFINITY, f64::NEG_INFINITY), |neutral| (neutral, neutral));
    for Row { cell, .. } in rows {
        let ours = cell.ours.map(|ours| (ours.mean, ours.half_width.unwrap_or(0.0)));
        let ours = ours.into_iter().flat_map(|(mean, half)| [mean - half, mean + half]);
        for value in ours.chain(cell.published).filter(|value| value.is_finite()) {
            range = (range.0.min(value), range.1.max(value));
        }
    }
    let (low, high) = range;
    let room = if high > low { 0.06 * (high - low) } else { 0.1 * high.abs().max(1.0) };
    (low - room, high + room)
}

impl Panel<'_> {
    /// Whether a number stands beside a published one.
    pub fn is_judged(&self) -> bool {
        self.rows.iter().any(|row| row.cell.published.is_some())
    }

    /// How ours of a row is drawn.
    pub fn mark(&self, cell: &CellResult) -> Mark {
        if self.is_judged() { Mark::Judged(cell.verdict) } else { Mark::Alone }
    }

    /// The axis' title.
    pub fn axis(&self) -> String {
        format!("{} [{}]", self.quantity, self.unit.name())
    }

    /// What the panel shows, in a sentence.
    pub fn description(&self) -> String {
        let count = self.rows.len();
        let numbers = if count == 1 { "one number".to_owned() } else { format!("{count} numbers") };
        let beside = if self.is_judged() { ", published values beside ours" } else { "" };
        format!("{}: {}, {numbers} with 95 % intervals{beside}.", self.title, self.axis())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_series_name_has_its_quantity_behind_the_colon_and_before_the_comma() {
        assert_eq!(parts("run time"), ("run time", String::new()));
        assert_eq!(parts("PS-Sched-1: speedup, mean of six"), ("speedup", "PS-Sched-1, mean of six".to_owned()));
        assert_eq!(parts("throughput gain of (8:1)"), ("throughput gain of (8:1)", String::new()));
    }
}
