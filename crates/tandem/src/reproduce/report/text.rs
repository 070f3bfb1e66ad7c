// SPDX-License-Identifier: GPL-2.0-only
//! Results on a terminal, in any width.

use tandem_experiments::{
    CellResult, Counts, Experiment, ExperimentResult, Missing, Paper, PaperResult, Results, Scores, SeriesResult,
    Verdict,
};

use super::{numbers, sensitivity};
use crate::quantity::percent;
use crate::table::{Align::Left, Align::Right, Table, descriptions, paragraph, printable};

/// Papers and their experiments.
pub fn list(papers: &[Paper], width: Option<usize>) -> String {
    let mut text = String::new();
    for paper in papers {
        text += &paragraph(&printable(&format!("{}: {}, {}", paper.name, paper.source, paper.title)), width);
        let row = |experiment: &Experiment| {
            let numbers: usize = experiment.series.iter().map(|series| series.cells.len()).sum();
            (format!("  {}", experiment.name), format!("{} ({numbers} numbers)", experiment.title))
        };
        let rows: Vec<(String, String)> = paper.experiments.iter().map(row).collect();
        text += &descriptions(&rows, width);
        text.push('\n');
    }
    text.trim_end().to_owned() + "\n"
}

/// All results.
pub fn render(results: &Results, width: Option<usize>) -> String {
    let mut text = String::new();
    for paper in &results.papers {
        text += &of_paper(paper, width);
    }
    if !results.papers.is_empty() {
        text += &counts(results, width);
    }
    if !results.missing.is_empty() {
        text.push('\n');
        text += &paragraph(&printable(&format!("Interrupted: {}.", missing(&results.missing))), width);
    }
    text
}

/// What an interrupt kept from being run: `missing are noise: 12 of 89 simulated numbers; memory: all 59 simulated numbers`.
pub fn missing(missing: &[Missing]) -> String {
    let of_paper = |Missing { paper, numbers, of, sensitivity }: &Missing| {
        let share = if numbers == of { format!("all {of}") } else { format!("{numbers} of {of}") };
        let table = if *sensitivity { " and the sensitivity table" } else { "" };
        match numbers {
            0 => format!("{paper}: the sensitivity table"),
            _ => format!("{paper}: {share} simulated numbers{table}"),
        }
    };
    format!("missing are {}", missing.iter().map(of_paper).collect::<Vec<_>>().join("; "))
}

fn of_paper(paper: &PaperResult, width: Option<usize>) -> String {
    let mut text = paragraph(&printable(&format!("{}: {}, {}", paper.name, paper.source, paper.title)), width);
    for experiment in &paper.experiments {
        text.push('\n');
        text += &of_experiment(paper, experiment, width);
    }
    if let Some(rows) = &paper.sensitivity {
        text.push('\n');
        text += &sensitivity::text(rows, width);
    }
    text + "\n"
}

fn of_experiment(paper: &PaperResult, experiment: &ExperimentResult, width: Option<usize>) -> String {
    let ExperimentResult { name, title, seeds, .. } = experiment;
    let mut text = paragraph(&printable(&format!("{}/{name}: {title} ({seeds} seeds)", paper.name)), width);
    for series in &experiment.series {
        text += &of_series(series, width);
    }
    text
}

fn of_series(series: &SeriesResult, width: Option<usize>) -> String {
    let heading = format!("{}, {} [{}]", series.place, series.what, series.unit.name());
    let mut text = indented(&heading, 2, width);
    let mut table =
        Table::new([("   ", Left), ("published", Right), ("ours", Right), ("", Left), ("deviation", Right)]);
    for (cell, label) in series.cells.iter().zip(series.labels()) {
        let (published, ours) = (numbers::published(cell), numbers::ours(cell));
        let verdict = numbers::verdict(cell);
        table.row([format!("    {label}"), published, ours, verdict, numbers::deviation(&series.unit, cell)]);
    }
    let narrow = width.is_some_and(|width| table.width() > width + 11);
    text += &if narrow { blocks(series, width) } else { table.fitting(width).render() };
    let mut reasons: Vec<&String> = Vec::new();
    for cell in series.cells.iter().filter(|cell| cell.verdict == Verdict::NotModelled) {
        reasons.extend(cell.reason.as_ref().filter(|reason| !reasons.contains(reason)));
    }
    for reason in reasons {
        text += &indented(&format!("not modelled: {reason}"), 4, width);
    }
    text
}

/// A paragraph so many columns from the left.
pub fn indented(text: &str, columns: usize, width: Option<usize>) -> String {
    let text = paragraph(&printable(text), width.map(|width| width.saturating_sub(columns)));
    text.lines().map(|line| format!("{:columns$}{line}\n", "")).collect()
}

/// A sentence for each number, where a table has no room.
fn blocks(series: &SeriesResult, width: Option<usize>) -> String {
    let sentence = |(cell, label): (&CellResult, String)| {
        let (published, ours) = (numbers::published(cell), numbers::ours(cell));
        let label = if label.is_empty() { String::new() } else { format!("{label}: ") };
        indented(&format!("{label}{published}, ours {ours}: {}", numbers::verdict(cell)), 4, width)
    };
    series.cells.iter().zip(series.labels()).map(sentence).collect()
}

/// Numbers by paper and verdict, and what share of them agrees.
fn counts(results: &Results, width: Option<usize>) -> String {
    let columns = [("paper", Left), ("numbers", Right)].into_iter();
    let verdicts = Verdict::ALL.into_iter().map(|verdict| (verdict.name(), Right));
    let columns = columns.chain(verdicts).map(|(title, align)| (title.to_owned(), align));
    let mut table = Table::with_columns(columns);
    let row = |name: &str, counts: &Counts| {
        let verdicts = Verdict::ALL.into_iter().map(|verdict| counts.count(verdict).to_string());
        [name.to_owned(), counts.published().to_string()].into_iter().chain(verdicts).collect::<Vec<_>>()
    };
    for paper in &results.papers {
        table.row(row(&paper.name, &paper.counts));
    }
    let all = results.counts();
    table.row(row("all", &all));
    let table = if width.is_some_and(|width| table.width() > width) { upright(results) } else { table };
    let mut text = table.render();
    if let Some((agree, direction)) = all.shares() {
        let judged = all.judged();
        text.push('\n');
        text += &paragraph(
            &format!(
                "Of {judged} published numbers that no parameter was fitted to and that are modelled, {} agree (within \
                 10 % or 2 percentage points), {} agree or have the same direction.",
                percent(agree),
                percent(direction)
            ),
            width,
        );
        text += &paragraph(&strict(&results.scores()), width);
    }
    text
}

/// What the verdicts are worth.
fn strict(scores: &Scores) -> String {
    let (all, core) = (&scores.all, &scores.informative_independent);
    let mut text = format!(
        "By the strict rule (a quarter of the published effect) {} of {} hold; \"no effect\" would agree on {}.",
        all.strict, all.judged, all.no_effect_agrees
    );
    if core.judged > 0 {
        text += &format!(
            " Of {} on which it would not and that are no arithmetic of others, {} agree and {} hold.",
            core.judged, core.agrees, core.strict
        );
    }
    text
}

/// The counts with a line for each paper and verdict.
fn upright(results: &Results) -> Table {
    let mut table = Table::headless([Left, Left, Right]);
    for paper in &results.papers {
        for verdict in Verdict::ALL.into_iter().filter(|verdict| paper.counts.count(*verdict) > 0) {
            table.row([paper.name.clone(), verdict.name().to_owned(), paper.counts.count(verdict).to_string()]);
        }
    }
    table
}
