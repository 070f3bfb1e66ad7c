// SPDX-License-Identifier: GPL-2.0-only
//! The geometric means of a matrix as a table that fits its place: a row for each pair and metric; or a table for each pair, without
//! what all of its rows have in common; or the worst cell below each row.

use tandem_experiments::{GeometricMean, Matrix, Metric};

use crate::compare::label;
use crate::quantity::ratio;
use crate::table::{Align, Table, paragraph};

/// The rows of one pair.
struct OfPair<'m> {
    pair: String,
    means: Vec<(Metric, GeometricMean<'m>)>,
}

/// The pairs that have a mean, with those of the metrics.
fn of_pairs<'m>(matrix: &'m Matrix, metrics: &[Metric]) -> Vec<OfPair<'m>> {
    let of_pair = |index: usize| {
        let mean = |metric: &Metric| Some((*metric, matrix.geometric_mean(index, *metric)?));
        OfPair { pair: label(&matrix.pairs[index]), means: metrics.iter().filter_map(mean).collect() }
    };
    (1..matrix.pairs.len()).map(of_pair).filter(|of_pair| !of_pair.means.is_empty()).collect()
}

/// One row per pair and metric; `None` if there is nothing to compare.
pub fn table(matrix: &Matrix, metrics: &[Metric]) -> Option<Table> {
    let mut table = Table::new([
        ("pair", Align::Left),
        ("metric", Align::Left),
        ("mean ×", Align::Left),
        ("cells", Align::Right),
        ("worst ×", Align::Left),
        ("worst cell", Align::Left),
    ]);
    let pairs = of_pairs(matrix, metrics);
    for OfPair { pair, means } in &pairs {
        for (metric, mean) in means {
            let [name, of_all, worst] = narrow(*metric, mean);
            table.row([pair.clone(), name, of_all, mean.cells.to_string(), worst, worst_cell(mean)]);
        }
    }
    (!pairs.is_empty()).then_some(table)
}

/// The means for a place of `width` columns; empty if there is nothing to compare.
pub fn text(matrix: &Matrix, metrics: &[Metric], width: Option<usize>) -> String {
    let Some(table) = table(matrix, metrics) else { return String::new() };
    let Some(width) = width.filter(|width| table.width() > *width) else { return table.render() };
    let pairs = of_pairs(matrix, metrics);
    let columns = || [("metric", Align::Left), ("mean ×", Align::Left), ("worst ×", Align::Left)];
    let mut beside = Table::with_columns(columns().into_iter().chain([("worst cell", Align::Left)]).map(titled));
    let mut below = Table::with_columns(columns().map(titled));
    for (metric, mean) in pairs.iter().flat_map(|of_pair| &of_pair.means) {
        beside.row(narrow(*metric, mean).into_iter().chain([worst_cell(mean)]));
        below.row(narrow(*metric, mean));
    }
    if beside.width() <= width {
        by_pair(matrix, &pairs, &beside, width, |_| String::new())
    } else if below.width() <= width {
        by_pair(matrix, &pairs, &below, width, |mean| paragraph(&format!("  {}", worst_cell(mean)), Some(width)))
    } else {
        table.whole_rows(Some(width))
    }
}

fn titled((title, align): (&str, Align)) -> (String, Align) {
    (title.to_owned(), align)
}

/// The table of all pairs in parts, each under its pair's name; behind a row stands what `more` says of it.
fn by_pair(
    matrix: &Matrix,
    pairs: &[OfPair<'_>],
    table: &Table,
    width: usize,
    more: impl Fn(&GeometricMean<'_>) -> String,
) -> String {
    let text = table.render();
    let mut lines = text.lines();
    let titles = lines.next().unwrap_or_default();
    let mut parts = Vec::new();
    for OfPair { pair, means } in pairs {
        let mut part = paragraph(&format!("{pair}{}", cells(matrix, means)), Some(width)) + titles + "\n";
        for ((_, mean), line) in means.iter().zip(lines.by_ref()) {
            part += &format!("{line}\n{}", more(mean));
        }
        parts.push(part);
    }
    parts.join("\n")
}

/// Over how many cells a pair's means are, as it stands behind the pair's name.
fn cells(matrix: &Matrix, means: &[(Metric, GeometricMean<'_>)]) -> String {
    let all = matrix.comparisons.len();
    let fewer = means.iter().filter(|(_, mean)| mean.cells != all);
    let fewer: Vec<String> = fewer.map(|(metric, mean)| format!("{} over {}", metric.title(), mean.cells)).collect();
    let over = format!(", over {all} cells");
    if fewer.is_empty() { over } else { format!("{over}, but {}", fewer.join(", ")) }
}

/// A mean without its pair, its number of cells and its worst cell.
fn narrow(metric: Metric, mean: &GeometricMean<'_>) -> [String; 3] {
    [metric.title().to_owned(), format!("×{}", ratio(&mean.ratio)), format!("×{}", ratio(&mean.worst_ratio))]
}

fn worst_cell(mean: &GeometricMean<'_>) -> String {
    format!("{} on {}", mean.worst.workload, mean.worst.machine)
}
