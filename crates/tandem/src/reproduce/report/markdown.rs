// SPDX-License-Identifier: GPL-2.0-only
//! Results as a page of the documentation.

use tandem_experiments::{CellResult, Counts, ExperimentResult, PaperResult, Results, SeriesResult, Verdict};

use super::documents::figure;
use super::{numbers, sensitivity};
use crate::quantity::percent;

const INTRODUCTION: &str = "\
# Results

Five papers, their experiments simulated, each published number beside ours. `make reproduce` writes this page, the figures
and [results.json](results.json) ([its fields](reports.md#published-numbers-tandem-reproduce)); nothing here is written by
hand. What was simulated how is data, [papers/](../papers/README.md), and each paper's README there says what was read how,
where the paper contradicts itself, and what the model cannot show. The models are described in [models.md](models.md).

Ours is the mean over seeds, ± half of its 95 % confidence interval. One rule judges all:

- **agrees**: within 10 % of the published value, or within 2 percentage points (0.02 of a ratio), and on the same side of
  \"no effect\" (0 %, a ratio of 1), or in the same order with another cell: a small gain does not agree with a small loss.
  A published value of no effect has no side. A limit (≤, ≥) is kept, or missed by no more than that.
- **same direction**: farther off, but on the same side, or in the same order, and the interval excludes \"no effect\".
- **differs**: neither.
- **calibrated**: a number of a machine's description was fitted to this value; it proves nothing.
- **not modelled**: the simulator has no such thing; the reason is given.
- **predicted**: the paper's value was not known when this was computed.
- **derived**, behind one of these: the published number is a mean of others that stand here, or is printed twice. It is judged,
  but not counted again.

Deviations are in percent of the published value, or in percentage points (pp) of percentages.
";

/// The page.
pub fn render(results: &Results) -> String {
    let mut text = String::from(INTRODUCTION);
    text += &counts(results);
    text += &headlines(results);
    for paper in &results.papers {
        text += &of_paper(paper);
    }
    text
}

fn counts(results: &Results) -> String {
    let verdicts = Verdict::ALL.map(Verdict::name);
    let mut text = format!("\n| paper | published | {} |\n| --- {}|\n", verdicts.join(" | "), "| ---: ".repeat(7));
    let row = |name: &str, counts: &Counts| {
        let counted = Verdict::ALL.map(|verdict| counts.count(verdict).to_string()).join(" | ");
        format!("| {name} | {} | {counted} |\n", counts.published())
    };
    for paper in &results.papers {
        text += &row(&format!("[{0}](#{0})", paper.name), &paper.counts);
    }
    let all = results.counts();
    text += &row("all", &all);
    if let Some((agree, direction)) = all.shares() {
        text += &format!(
            "\nOf the {} published numbers that are modelled and that nothing was fitted to, **{} agree**, and **{} agree or \
             have the same direction**.\n",
            all.judged(),
            percent(agree),
            percent(direction)
        );
    }
    text
}

/// The papers' main results.
fn headlines(results: &Results) -> String {
    let mut text = String::from("\n## Main results\n\n");
    text += "| paper | where | what | published | ours | deviation | verdict |\n";
    text += "| --- | --- | --- | ---: | ---: | ---: | --- |\n";
    for paper in &results.papers {
        for series in paper.experiments.iter().flat_map(|experiment| &experiment.series) {
            for cell in series.cells.iter().filter(|cell| cell.headline) {
                let what = [named(series), at(cell)].concat();
                text +=
                    &format!("| {} | {} | {what} | {} |\n", paper.name, cell_text(&series.place), values(series, cell));
            }
        }
    }
    text
}

/// What is measured, with its unit where that says more than the value.
fn named(series: &SeriesResult) -> String {
    format!("{} [{}]", cell_text(&series.what), series.unit.name())
}

fn at(cell: &CellResult) -> String {
    let values: Vec<&str> = cell.at.values().map(String::as_str).collect();
    if values.is_empty() { String::new() } else { cell_text(&format!(", {}", values.join(", "))) }
}

fn values(series: &SeriesResult, cell: &CellResult) -> String {
    let deviation = numbers::deviation(&series.unit, cell);
    let parts = [numbers::published(cell), numbers::ours(cell), deviation, numbers::verdict(cell)];
    parts.join(" | ")
}

fn of_paper(paper: &PaperResult) -> String {
    let mut text = format!("\n## {}\n\n{}: *{}*.", paper.name, paper.source, paper.title);
    text += &format!(" [What was read how](../papers/{}/README.md).\n", paper.name);
    let drawn = |series: &SeriesResult| series.cells.iter().any(|cell| cell.ours.is_some());
    if paper.experiments.iter().flat_map(|experiment| &experiment.series).any(drawn) {
        text += &format!("\n![Published values and ours]({})\n", figure(&paper.name));
    }
    for experiment in &paper.experiments {
        text += &of_experiment(experiment);
    }
    if let Some(rows) = &paper.sensitivity {
        text += &sensitivity::markdown(rows);
    }
    text
}

fn of_experiment(experiment: &ExperimentResult) -> String {
    let ExperimentResult { title, about, seeds, .. } = experiment;
    let mut text = format!("\n### {title}\n\n{about} {seeds} seeds.\n\n");
    text += "| where | what | | published | ours | deviation | verdict | |\n";
    text += "| --- | --- | --- | ---: | ---: | ---: | --- | --- |\n";
    for series in &experiment.series {
        for (cell, label) in series.cells.iter().zip(series.labels()) {
            text += &format!(
                "| {} | {} | {} | {} | {} |\n",
                cell_text(&series.place),
                named(series),
                cell_text(&label),
                values(series, cell),
                cell_text(&remark(cell))
            );
        }
    }
    text
}

/// The reason of the verdict, what the number is derived from, and the note.
fn remark(cell: &CellResult) -> String {
    let derived = cell.derived.as_ref().map(|of| format!("derived: {of}"));
    let parts = [&cell.reason, &derived, &cell.note];
    parts.into_iter().flatten().map(String::as_str).collect::<Vec<_>>().join("; ")
}

/// Text of a table's cell.
fn cell_text(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}
