// SPDX-License-Identifier: GPL-2.0-only
//! Which numbers share a panel, and where the panels stand on the page.

use tandem_experiments::{CellResult, ExperimentResult, PaperResult, SeriesResult, Unit};

/// Series of at most so many numbers share a panel with their neighbours.
const SHORT: usize = 2;
/// Rows of a shared panel.
const MOST_SHARED: usize = 24;

/// Numbers on one axis.
pub struct Panel<'a> {
    /// Where in the paper.
    pub place: String,
    /// What is measured, with the unit.
    pub what: String,
    /// Of the axis.
    pub unit: &'a Unit,
    /// From top to bottom.
    pub rows: Vec<Row<'a>>,
}

/// A number.
pub struct Row<'a> {
    /// Left of it.
    pub label: String,
    /// The number.
    pub cell: &'a CellResult,
}

/// The panels of a paper; numbers without a model are left out.
pub fn panels(paper: &PaperResult) -> Vec<Panel<'_>> {
    let mut panels = Vec::new();
    for experiment in &paper.experiments {
        let series: Vec<&SeriesResult> =
            experiment.series.iter().filter(|series| series.cells.iter().any(|cell| cell.ours.is_some())).collect();
        let together =
            |a: &&SeriesResult, b: &&SeriesResult| a.unit == b.unit && a.cells.len() <= SHORT && b.cells.len() <= SHORT;
        for group in series.chunk_by(together) {
            for group in group.chunks(MOST_SHARED / SHORT) {
                panels.push(panel(experiment, group));
            }
        }
    }
    panels
}

fn panel<'a>(experiment: &ExperimentResult, group: &[&'a SeriesResult]) -> Panel<'a> {
    let shared = group.len() > 1;
    let mut rows = Vec::new();
    for series in group {
        for (cell, label) in series.cells.iter().zip(series.labels()).filter(|(cell, _)| cell.ours.is_some()) {
            let label = match (shared, label.is_empty()) {
                (false, true) => String::new(),
                (false, false) => label,
                (true, true) => series.what.clone(),
                (true, false) => format!("{}, {label}", series.what),
            };
            rows.push(Row { label, cell });
        }
    }
    let (place, what) = match group {
        [series] => (format!("{}, {}", experiment.title, series.place), series.what.clone()),
        _ => (experiment.title.clone(), "several metrics".to_owned()),
    };
    let unit = &group[0].unit;
    Panel { place, what: format!("{what} [{}]", unit.name()), unit, rows }
}

impl Panel<'_> {
    /// The range of the axis: all values with their intervals and what means "no effect", and some room.
    pub fn range(&self) -> (f64, f64) {
        let mut range = self.unit.neutral().map_or((f64::INFINITY, f64::NEG_INFINITY), |neutral| (neutral, neutral));
        for Row { cell, .. } in &self.rows {
            let ours = cell.ours.map(|ours| (ours.mean, ours.half_width.unwrap_or(0.0)));
            let ours = ours.into_iter().flat_map(|(mean, half)| [mean - half, mean + half]);
            for value in ours.chain(cell.published) {
                range = (range.0.min(value), range.1.max(value));
            }
        }
        let (low, high) = range;
        let room = if high > low { 0.06 * (high - low) } else { 0.1 * high.abs().max(1.0) };
        (low - room, high + room)
    }
}

/// The top of each panel and its column: the next one stands in the shorter of two columns.
pub fn places(heights: &[i32], top: i32) -> (Vec<(usize, i32)>, i32) {
    let mut columns = [top; 2];
    let mut places = Vec::new();
    for height in heights {
        let column = usize::from(columns[1] < columns[0]);
        places.push((column, columns[column]));
        columns[column] += height;
    }
    (places, columns[0].max(columns[1]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_panel_stands_in_the_shorter_column() {
        let (places, bottom) = places(&[100, 30, 40, 50], 10);
        assert_eq!(places, [(0, 10), (1, 10), (1, 40), (1, 80)]);
        assert_eq!(bottom, 130);
    }
}
