// SPDX-License-Identifier: GPL-2.0-only
//! The results of one paper as a page of the documentation.

use tandem_experiments::{CellResult, ExperimentResult, OpenChoice, PaperResult};

use super::cells::{self, VALUES, named, values};
use super::sensitivity;
use crate::figures::{self, Figure};

/// The page. The paper's figures are beside it, the page of all results is in the folder above.
pub fn render(paper: &PaperResult) -> String {
    let mut text =
        format!("# Results: {}\n\n{}: *{}*, each published number beside ours.", paper.name, paper.source, paper.title);
    text += " [All papers, and the rules](../results.md).";
    text += &format!(" [What was read how](../../papers/{}/README.md).\n", paper.name);
    text += &scores(paper);
    if !paper.unknown.is_empty() {
        text += &format!("\n## What would have to be known\n\n{}\n", paper.unknown.trim());
    }
    text += &choices(&paper.choices);
    let mut drawn = figures::of_paper(paper).into_iter();
    for experiment in &paper.experiments {
        let count = figures::of_experiment(experiment).len();
        text += &of_experiment(experiment, &drawn.by_ref().take(count).collect::<Vec<_>>());
    }
    if let Some(rows) = &paper.sensitivity {
        text += &sensitivity::markdown(rows);
    }
    text
}

/// How many numbers hold by which rule, and how ours go with the published ones.
fn scores(paper: &PaperResult) -> String {
    let scores = &paper.scores;
    let mut text = format!("\n## Score\n\n{}", cells::counts([(paper.name.clone(), &paper.counts)]));
    text += &format!("\n{}", cells::tallies("numbers"));
    for (name, tally) in [
        ("all that are judged", &scores.all),
        ("no arithmetic of others", &scores.independent),
        ("\"no effect\" would not agree", &scores.informative),
        ("both", &scores.informative_independent),
    ] {
        text += &cells::tally(name, tally);
    }
    if !paper.correlations.is_empty() {
        let correlations = cells::correlations(&paper.correlations);
        text +=
            &format!("\nCorrelation of our effects with the published ones, in all tables together: {correlations}.\n");
    }
    text
}

/// What could have been done otherwise.
fn choices(choices: &[OpenChoice]) -> String {
    if choices.is_empty() {
        return String::new();
    }
    let mut text = String::from(
        "\n## Choices\n\nWhat the paper leaves open, what was chosen, and where else it leads. A choice *after verdicts* was made \
         when numbers had been compared: it may have been made for them.\n\n\
         | what | chosen | why | after verdicts | instead | gives |\n| --- | --- | --- | --- | --- | --- |\n",
    );
    for OpenChoice { what, chosen, why, after_verdicts, alternatives } in choices {
        let after = if *after_verdicts { "yes" } else { "no" };
        let head = [what, chosen, why].map(|part| cells::text(part)).join(" | ");
        for (index, alternative) in alternatives.iter().enumerate() {
            let head = if index == 0 { format!("{head} | {after}") } else { " | | | ".to_owned() };
            text += &format!("| {head} | {} | {} |\n", cells::text(&alternative.what), cells::text(&alternative.gives));
        }
    }
    text
}

fn of_experiment(experiment: &ExperimentResult, figures: &[Figure]) -> String {
    let ExperimentResult { title, about, seeds, correlations, .. } = experiment;
    let mut text = format!("\n## {title}\n\n{about} {seeds} seeds.\n\n");
    if !correlations.is_empty() {
        text += &format!("Correlation of effects: {}.\n\n", cells::correlations(correlations));
    }
    for Figure { name, description, .. } in figures {
        text += &format!("![{}]({name}.svg)\n[PDF]({name}.pdf)\n\n", description.replace(['[', ']'], ""));
    }
    text += &format!("| where | what | | {} | |\n| --- | --- | --- | {} --- |\n", VALUES[0], VALUES[1]);
    for series in &experiment.series {
        for (cell, label) in series.cells.iter().zip(series.labels()) {
            text += &format!(
                "| {} | {} | {} | {} | {} |\n",
                cells::text(&series.place),
                named(series),
                cells::text(&label),
                values(series, cell),
                cells::text(&remark(cell))
            );
        }
    }
    text
}

/// The reason of the verdict, what the number is derived from, and the note.
fn remark(cell: &CellResult) -> String {
    let derived = cell.derived.as_ref().map(|of| format!("derived: {of}"));
    let arithmetic = cell.derived_from.as_ref().map(|of| format!("arithmetic: {of}"));
    let parts = [&cell.reason, &derived, &arithmetic, &cell.note];
    parts.into_iter().flatten().map(String::as_str).collect::<Vec<_>>().join("; ")
}
