// SPDX-License-Identifier: GPL-2.0-only
//! The numbers of an experiment as tables, one for each series: on a terminal, and in Markdown.

use tandem_experiments::{CellResult, ExperimentResult, PaperResult, SeriesResult};

use crate::arguments::disturbed_words;
use crate::reproduce::{numbers, sensitivity};
use crate::table::{Align, Align::Left, Align::Right, Table, paragraph, printable};

/// A table: axes, our value, and what else the cells of the series have.
struct Sheet {
    columns: Vec<(String, Align)>,
    rows: Vec<Vec<String>>,
}

impl Sheet {
    fn of(series: &SeriesResult) -> Self {
        let axes = series.axes();
        let published = series.cells.iter().any(|cell| cell.published.is_some());
        let noted = series.cells.iter().any(|cell| !remark(cell).is_empty());
        let right = |title: &str| (title.to_owned(), Right);
        let mut columns: Vec<(String, Align)> = axes.iter().map(|axis| ((*axis).to_owned(), Left)).collect();
        columns.push(right(series.unit.name()));
        if published {
            columns.extend([right("published"), right("deviation"), ("verdict".to_owned(), Left)]);
        }
        columns.extend(noted.then(|| ("note".to_owned(), Left)));
        let row = |cell: &CellResult| {
            let mut row: Vec<String> =
                axes.iter().map(|axis| cell.at.get(*axis).cloned().unwrap_or_default()).collect();
            row.push(numbers::ours(cell));
            if published {
                let verdict = cell.published.map_or(String::new(), |_| numbers::verdict(cell));
                row.extend([numbers::published(cell), numbers::deviation(&series.unit, cell), verdict]);
            }
            row.extend(noted.then(|| remark(cell)));
            row
        };
        Self { columns, rows: series.cells.iter().map(row).collect() }
    }

    fn text(self, width: Option<usize>) -> String {
        let mut table = Table::with_columns(self.columns);
        self.rows.into_iter().for_each(|row| table.row(row));
        table.fitting(width).render()
    }

    fn markdown(&self) -> String {
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let titles = self.columns.iter().map(|(title, _)| in_cell(title)).collect();
        let rules = self.columns.iter().map(|(_, align)| if *align == Right { "---:" } else { "---" }.to_owned());
        let rows = self.rows.iter().map(|row| line(row.iter().map(|cell| in_cell(cell)).collect()));
        [line(titles), line(rules.collect())].into_iter().chain(rows).collect()
    }
}

/// The results on a terminal.
pub fn text(result: &PaperResult, disturbed: bool, width: Option<usize>) -> String {
    let mut text = String::new();
    for experiment in &result.experiments {
        text += &paragraph(&printable(&title(experiment, disturbed)), width);
        if !experiment.about.is_empty() {
            text += &paragraph(&printable(&experiment.about), width);
        }
        for series in &experiment.series {
            text += &format!("\n{}{}", paragraph(&printable(&heading(series)), width), Sheet::of(series).text(width));
        }
    }
    if let Some(rows) = &result.sensitivity {
        text += &format!("\n{}", sensitivity::text(rows, width));
    }
    text
}

/// The results as a page.
pub fn markdown(result: &PaperResult, disturbed: bool) -> String {
    let mut text = String::new();
    for experiment in &result.experiments {
        text += &format!("## {}\n", title(experiment, disturbed));
        if !experiment.about.is_empty() {
            text += &format!("\n{}\n", experiment.about.trim_end());
        }
        for series in &experiment.series {
            text += &format!("\n{}:\n\n{}", heading(series), Sheet::of(series).markdown());
        }
    }
    text + result.sensitivity.as_deref().map_or(String::new(), sensitivity::markdown).as_str()
}

fn title(ExperimentResult { title, seeds, .. }: &ExperimentResult, disturbed: bool) -> String {
    let word = if *seeds == 1 { "seed" } else { "seeds" };
    format!("{title} ({seeds} {word}{})", disturbed_words(disturbed))
}

/// `Table 1: run time`, or what is measured alone.
fn heading(series: &SeriesResult) -> String {
    if series.place.is_empty() { series.what.clone() } else { format!("{}: {}", series.place, series.what) }
}

/// Why there is no value, or what a reader should know of it.
fn remark(cell: &CellResult) -> String {
    let parts = [&cell.reason, &cell.note];
    parts.into_iter().flatten().map(String::as_str).collect::<Vec<_>>().join("; ")
}

fn in_cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}
