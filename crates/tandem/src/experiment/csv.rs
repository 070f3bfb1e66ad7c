// SPDX-License-Identifier: GPL-2.0-only
//! The numbers of an experiment as CSV (RFC 4180): a row for each, a column for each axis, numbers with all their digits.

use std::collections::BTreeSet;

use tandem_experiments::{Bound, CellResult, ExperimentResult, PaperResult, SeriesResult};

/// The columns before those of the axes, and behind them.
const BEFORE: [&str; 4] = ["experiment", "series", "where", "unit"];
const BEHIND: [&str; 7] = ["mean", "half_width", "seeds", "published", "bound", "deviation", "verdict"];

/// The lines.
pub fn render(result: &PaperResult) -> String {
    let cells = || result.experiments.iter().flat_map(|of| &of.series).flat_map(|series| &series.cells);
    let axes: BTreeSet<&str> = cells().flat_map(|cell| cell.at.keys()).map(String::as_str).collect();
    let titles = BEFORE.into_iter().map(str::to_owned).chain(axes.iter().map(|axis| title(axis)));
    let mut text = line(titles.chain(BEHIND.into_iter().map(str::to_owned)));
    for experiment in &result.experiments {
        for series in &experiment.series {
            for cell in &series.cells {
                text += &line(row(experiment, series, cell, &axes));
            }
        }
    }
    text
}

/// The column of an axis: its name, unless another column has it.
fn title(axis: &str) -> String {
    if BEFORE.contains(&axis) || BEHIND.contains(&axis) { format!("axis_{axis}") } else { axis.to_owned() }
}

fn row(
    experiment: &ExperimentResult,
    series: &SeriesResult,
    cell: &CellResult,
    axes: &BTreeSet<&str>,
) -> impl Iterator<Item = String> {
    let number = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
    let unit = series.unit.name().to_owned();
    let before = [experiment.name.clone(), series.what.clone(), series.place.clone(), unit];
    let at: Vec<String> = axes.iter().map(|axis| cell.at.get(*axis).cloned().unwrap_or_default()).collect();
    let bound = cell.bound.map_or("", Bound::words);
    let behind = [
        number(cell.ours.map(|ours| ours.mean)),
        number(cell.ours.and_then(|ours| ours.half_width)),
        experiment.seeds.to_string(),
        number(cell.published),
        bound.to_owned(),
        number(cell.deviation),
        cell.published.map_or(String::new(), |_| cell.verdict.name().to_owned()),
    ];
    before.into_iter().chain(at).chain(behind)
}

fn line(fields: impl Iterator<Item = String>) -> String {
    fields.map(|field| quoted(&field)).collect::<Vec<_>>().join(",") + "\n"
}

fn quoted(field: &str) -> String {
    match field.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", field.replace('"', "\"\"")),
        false => field.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_end_a_field_stands_in_quotes() {
        let fields = ["a", "a,b", "a \"b\"", "a\nb"].map(str::to_owned);
        assert_eq!(line(fields.into_iter()), "a,\"a,b\",\"a \"\"b\"\"\",\"a\nb\"\n");
        assert_eq!([title("clock"), title("seeds")], ["clock", "axis_seeds"]);
    }
}
