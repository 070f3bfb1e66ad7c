// SPDX-License-Identifier: GPL-2.0-only
//! What the pages of results have in common: how a number stands in a table.

use tandem_experiments::{CellResult, Correlation, Counts, SeriesResult, Tally, Verdict};

use super::numbers;

/// What is measured, with its unit where that says more than the value.
pub fn named(series: &SeriesResult) -> String {
    format!("{} [{}]", text(&series.what), series.unit.name())
}

/// Where a cell is, behind what it is.
pub fn at(cell: &CellResult) -> String {
    let values: Vec<&str> = cell.at.values().map(String::as_str).collect();
    if values.is_empty() { String::new() } else { text(&format!(", {}", values.join(", "))) }
}

/// The columns from the published value to "no effect".
pub fn values(series: &SeriesResult, cell: &CellResult) -> String {
    let deviation = numbers::deviation(&series.unit, cell);
    let (published, ours, verdict) = (numbers::published(cell), numbers::ours(cell), numbers::verdict(cell));
    [published, ours, deviation, verdict, numbers::strict(cell).to_owned(), numbers::no_effect(cell)].join(" | ")
}

/// The titles of [`values`], and their alignments.
pub const VALUES: [&str; 2] =
    ["published | ours | deviation | verdict | strict | no effect", "---: | ---: | ---: | --- | --- | --- |"];

/// Text of a table's cell.
pub fn text(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

/// Tables of what numbers by verdict.
pub fn counts<'a>(rows: impl IntoIterator<Item = (String, &'a Counts)>) -> String {
    let verdicts = Verdict::ALL.map(Verdict::name);
    let mut text = format!("| paper | published | {} |\n| --- {}|\n", verdicts.join(" | "), "| ---: ".repeat(7));
    for (name, counts) in rows {
        let counted = Verdict::ALL.map(|verdict| counts.count(verdict).to_string()).join(" | ");
        text += &format!("| {name} | {} | {counted} |\n", counts.published());
    }
    text
}

/// A row of a table of tallies.
pub fn tally(name: &str, tally: &Tally) -> String {
    let Tally { judged, agrees, no_effect_agrees, strict } = tally;
    format!("| {name} | {judged} | {agrees} | {no_effect_agrees} | {strict} |\n")
}

/// The titles of such a table; `first` is that of its names.
pub fn tallies(first: &str) -> String {
    format!("| {first} | judged | agrees | no effect would agree | strict |\n| --- | ---: | ---: | ---: | ---: |\n")
}

/// Correlations in a sentence: `r = 0.32 (%, n 55)`.
pub fn correlations(all: &[Correlation]) -> String {
    let one = |Correlation { unit, n, r }: &Correlation| {
        let r = r.map_or_else(|| "none, as one side does not vary".to_owned(), |r| format!("r = {r:.2}"));
        format!("{r} ({unit}, n {n})")
    };
    all.iter().map(one).collect::<Vec<_>>().join(", ")
}
