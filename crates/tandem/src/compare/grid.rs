// SPDX-License-Identifier: GPL-2.0-only
//! Many comparisons as tables: one row per machine, workload and pair, and the geometric means with their worst cells.

use tandem_experiments::{Comparison, Matrix, Metric};

use crate::arguments::disturbed_words;
use crate::compare::columns::Columns;
use crate::compare::{layout, means};
use crate::quantity::NOTHING;
use crate::table::{Align, Table, paragraph};

/// The tables with their titles and notes; `missing` comparisons were not finished.
pub fn render(matrix: &Matrix, columns: &Columns, width: Option<usize>) -> String {
    let mut text = paragraph(&title(matrix), width) + "\n";
    let metrics = metrics(matrix, columns);
    let table = cells(matrix, &metrics);
    text += &match width.filter(|width| table.width() > *width) {
        None => table.render(),
        Some(_) => matrix.comparisons.iter().map(|cell| by_itself(cell, columns, width)).collect::<Vec<_>>().join("\n"),
    };
    let means = means::text(matrix, &metrics, width);
    if !means.is_empty() {
        text += &format!("\n{}\n{means}", paragraph(MEANS, width));
    }
    let notes = notes(matrix, columns, &metrics);
    if !notes.is_empty() {
        text.push('\n');
    }
    text + notes.iter().map(|note| paragraph(note, width)).collect::<String>().as_str()
}

/// A cell where the table of all is too wide: under its name as a comparison alone.
fn by_itself(cell: &Comparison, columns: &Columns, width: Option<usize>) -> String {
    let name = paragraph(&format!("{} on {}", cell.workload, cell.machine), width);
    format!("{name}{}", layout::table(cell, &columns.of(cell), width))
}

/// The same in Markdown.
pub fn markdown(matrix: &Matrix, columns: &Columns) -> String {
    let metrics = metrics(matrix, columns);
    let mut text = format!("{}\n\n{}", title(matrix), cells(matrix, &metrics).markdown());
    if let Some(means) = means::table(matrix, &metrics) {
        text += &format!("\n{MEANS}\n\n{}", means.markdown());
    }
    let notes: String = notes(matrix, columns, &metrics).iter().map(|note| format!("- {note}\n")).collect();
    if notes.is_empty() { text } else { format!("{text}\n{notes}") }
}

/// How intervals were found; which it was of each ratio would be a note a cell.
const PAIRED: &str = "The intervals of × are those of pairs of runs with the same seed where that makes them narrower; --json says where.";
/// The title of the means.
const MEANS: &str = "Geometric means of the ratios over the cells in which both were measured, and the worst cell:";

fn title(matrix: &Matrix) -> String {
    let Matrix { pairs, seeds, comparisons, .. } = matrix;
    let names = |name: fn(&Comparison) -> &str| {
        let mut names: Vec<&str> = comparisons.iter().map(name).collect();
        names.sort_unstable();
        names.dedup();
        names.len()
    };
    let (workloads, machines) = (names(|cell| &cell.workload), names(|cell| &cell.machine));
    let several = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    let disturbed = disturbed_words(comparisons.iter().any(|cell| cell.disturbed));
    let of = format!("{} on {}{disturbed}", several(workloads, "workload"), several(machines, "machine"));
    let most = comparisons.iter().map(|cell| cell.seeds.len()).max().unwrap_or(0);
    let more =
        if most > seeds.len() { format!(", up to {most} runs where a limit was undecided") } else { String::new() };
    format!(
        "{of}, {}: {}{more}{}",
        several(pairs.len(), "pair"),
        layout::runs(seeds),
        layout::against(&pairs.iter().collect::<Vec<_>>())
    )
}

/// The metrics that were asked for; else those that the table of any cell by itself has, if any pair has it.
fn metrics(matrix: &Matrix, columns: &Columns) -> Vec<Metric> {
    if let Some(cell) = matrix.comparisons.first().filter(|_| columns.are_asked()) {
        return columns.of(cell);
    }
    let wanted = |metric: &Metric| {
        matrix.comparisons.iter().any(|cell| {
            columns.of(cell).contains(metric) && cell.pairs.iter().any(|pair| pair.metric(*metric).value.is_ok())
        })
    };
    Metric::ALL.into_iter().filter(wanted).collect()
}

/// One row per machine, workload and pair.
fn cells(matrix: &Matrix, metrics: &[Metric]) -> Table {
    let names = ["machine", "workload", "pair"].map(|name| (name.to_owned(), Align::Left));
    let titles =
        metrics.iter().flat_map(|metric| [(metric.title().to_owned(), Align::Right), ("×".to_owned(), Align::Left)]);
    let mut table = Table::with_columns(names.into_iter().chain(titles));
    for cell in &matrix.comparisons {
        for (index, pair) in cell.pairs.iter().enumerate() {
            let names = [cell.machine.clone(), cell.workload.clone(), layout::marked(pair)];
            let values = metrics
                .iter()
                .flat_map(|metric| [layout::value_text(pair, *metric), layout::ratio_text(cell, index, *metric)]);
            table.row(names.into_iter().chain(values));
        }
    }
    table
}

/// What the comparisons' own tables would say below, each once, with the cells that it concerns unless it concerns all.
fn notes(matrix: &Matrix, columns: &Columns, shown: &[Metric]) -> Vec<String> {
    let mut notes: Vec<(String, Vec<String>)> = Vec::new();
    for cell in &matrix.comparisons {
        let name = format!("{} on {}", cell.workload, cell.machine);
        for note in layout::notes(cell, &columns.expected()) {
            match notes.iter_mut().find(|(known, _)| *known == note) {
                Some((_, cells)) => cells.push(name.clone()),
                None => notes.push((note, vec![name.clone()])),
            }
        }
    }
    let everywhere = |cells: &[String]| cells.len() == matrix.comparisons.len();
    let hidden = |note: &str| {
        Metric::ALL
            .iter()
            .any(|metric| note.starts_with(&format!("{NOTHING} {} ", metric.title())) && !shown.contains(metric))
    };
    let text = |(note, cells): (String, Vec<String>)| match (everywhere(&cells), cells.len()) {
        (true, _) => note,
        (false, count) if count > MOST_NAMED => format!("{note} ({} and {} more cells)", cells[0], count - 1),
        (false, _) => format!("{note} ({})", cells.join("; ")),
    };
    let mut notes: Vec<String> = notes.into_iter().filter(|(note, _)| !hidden(note)).map(text).collect();
    let mut pairs = matrix.comparisons.iter().flat_map(|cell| &cell.pairs);
    if pairs.any(|pair| shown.iter().any(|metric| pair.metric(*metric).ratio.is_some_and(|ratio| ratio.paired))) {
        notes.push(PAIRED.to_owned());
    }
    if matrix.missing > 0 {
        notes.push(missing(matrix));
    }
    notes
}

/// Cells that a note names before it counts them.
const MOST_NAMED: usize = 4;

/// How many comparisons an interrupt left out.
pub fn missing(matrix: &Matrix) -> String {
    let of = matrix.comparisons.len() + matrix.missing;
    format!("{} of {of} combinations of machine and workload were not finished", matrix.missing)
}
