// SPDX-License-Identifier: GPL-2.0-only
//! The results of all papers as a page of the documentation that is read in a few minutes; each paper's own is behind it.

use tandem_experiments::{CellResult, PaperResult, Results, Scores, SeriesResult, Tally};

use super::cells::{self, VALUES, at, named, values};
use super::documents::page;
use crate::quantity::percent;

const INTRODUCTION: &str = "\
# Results

Experiments of papers, simulated, each published number beside ours. `make reproduce` writes this page, the pages of the papers, the
figures and [results.json](results.json) ([its fields](reports.md#published-numbers-tandem-reproduce)); nothing here is written by
hand. `tandem reproduce --from docs/results.json --write docs` judges the same numbers anew and runs nothing. What was simulated how is
data, [papers/](../papers/README.md), and each paper's README there says what was read how, where the paper contradicts itself, and what
the model cannot show. The models are described in [models.md](models.md).
";

const RULES: &str = "
## Rules

Ours is the mean over seeds, ± half of its 95 % confidence interval. Deviations are in percent of the published value, or in
percentage points (pp) of percentages.

- **agrees**: within 10 % of the published value, or within 2 percentage points (0.02 of a ratio), and on the same side of
  \"no effect\" (0 %, a ratio of 1, or what the paper's file says), or in the same order with another cell: a small gain does not
  agree with a small loss. A published value of no effect has no side. A limit (≤, ≥) is kept, or missed by no more than that.
- **same direction**: farther off, but on the same side, or in the same order, and the interval excludes \"no effect\".
- **differs**: neither.
- **calibrated**: a number of a machine's description or of a workload was fitted to this value; it proves nothing.
- **not modelled**: the simulator has no such thing; the reason is given.
- **predicted**: the paper's value was not known when this was computed.
- **derived**, behind one of these: the published number is a mean of others that stand here, or is printed twice. It is judged
  and tallied, but not counted among the published numbers again.
- **strict**: ours is off by no more than a quarter of what the published value differs from \"no effect\", or by half a unit of the
  last digit printed, and is on the same side; or it keeps a limit. What \"no effect\" is stands beside each number: the paper's baseline
  or its idle machine, where its file says so.
- **no effect would agree**: \"no effect\" itself is within the tolerance of *agrees* (whatever its side), so that agreeing says little. The
  other numbers are *informative*.
- **arithmetic**: the number follows from others of the paper (a product, a quotient, a mean, a ratio of clocks), so that it tests nothing
  of its own. The other numbers are *independent*.
- **correlation**: Pearson's r of our effects (ours less \"no effect\") with the published ones, over the independent numbers of one unit;
  of three or more.
";

/// The page.
pub fn render(results: &Results) -> String {
    let mut text = String::from(INTRODUCTION);
    text += &scores(results);
    text += &correlations(results);
    text += &headlines(results, "What holds", "Main results that hold by the strict rule.", true);
    text += &headlines(results, "What does not", "Main results that do not.", false);
    text += &unknown(results);
    text += &counts(results);
    text += RULES;
    text
}

fn link(paper: &PaperResult) -> String {
    format!("[{}]({})", paper.name, page(&paper.name))
}

fn scores(results: &Results) -> String {
    let mut text = String::from("\n## Score\n\n");
    text += "| paper | judged | agrees | no effect would agree | strict | informative and independent | of these: agrees | strict |\n";
    text += &format!("| --- {}|\n", "| ---: ".repeat(7));
    let row = |name: &str, scores: &Scores| {
        let Tally { judged, agrees, no_effect_agrees, strict } = scores.all;
        let core = &scores.informative_independent;
        let (of, core_agrees, core_strict) = (core.judged, core.agrees, core.strict);
        format!(
            "| {name} | {judged} | {agrees} | {no_effect_agrees} | {strict} | {of} | {core_agrees} | {core_strict} |\n"
        )
    };
    for paper in &results.papers {
        text += &row(&link(paper), &paper.scores);
    }
    let all = results.scores();
    text += &row("all", &all);
    if all.all.judged == 0 {
        return text;
    }
    let share = |part: usize, of: usize| match of {
        0 => "none".to_owned(),
        _ => percent(part as f64 / of as f64),
    };
    let (whole, informative, core) = (&all.all, &all.informative, &all.informative_independent);
    text += &format!(
        "\nOf {} numbers that are modelled and that nothing was fitted to, **{} agree** and **{} hold by the strict rule**; \"no \
         effect\" everywhere would agree on {}. Of the {} on which it would not, {} agree and {} hold; of those {} that are no \
         arithmetic of others, {} and {}.\n",
        whole.judged,
        share(whole.agrees, whole.judged),
        share(whole.strict, whole.judged),
        share(whole.no_effect_agrees, whole.judged),
        informative.judged,
        share(informative.agrees, informative.judged),
        share(informative.strict, informative.judged),
        core.judged,
        share(core.agrees, core.judged),
        share(core.strict, core.judged),
    );
    text
}

/// Correlations of each paper, and of those of its tables that have ten numbers or more.
fn correlations(results: &Results) -> String {
    const MANY: usize = 10;
    let mut rows = String::new();
    let mut add = |paper: &PaperResult, table: &str, all: &[_]| {
        if !all.is_empty() {
            rows += &format!("| {} | {} | {} |\n", link(paper), cells::text(table), cells::correlations(all));
        }
    };
    for paper in &results.papers {
        add(paper, "all together", &paper.correlations);
        for experiment in &paper.experiments {
            let many: Vec<_> = experiment.correlations.iter().filter(|of| of.n >= MANY).cloned().collect();
            add(paper, &experiment.title, &many);
        }
    }
    if rows.is_empty() {
        return rows;
    }
    format!(
        "\n## Correlation\n\nOf our effects with the published ones, in all of a paper's tables and in those of {MANY} numbers or more; the \
         papers' pages have all.\n\n| paper | table | |\n| --- | --- | --- |\n{rows}"
    )
}

/// The papers' main results that hold by the strict rule, or those that do not; what is not judged is among neither.
fn headlines(results: &Results, title: &str, about: &str, hold: bool) -> String {
    let mut rows = String::new();
    for paper in &results.papers {
        for series in paper.experiments.iter().flat_map(|experiment| &experiment.series) {
            let judged = |cell: &&CellResult| cell.headline && cell.score.is_some_and(|score| score.strict == hold);
            for cell in series.cells.iter().filter(judged) {
                rows += &headline(paper, series, cell);
            }
        }
    }
    if rows.is_empty() {
        return rows;
    }
    format!(
        "\n## {title}\n\n{about}\n\n| paper | where | what | {} |\n| --- | --- | --- | {}\n{rows}",
        VALUES[0], VALUES[1]
    )
}

fn headline(paper: &PaperResult, series: &SeriesResult, cell: &CellResult) -> String {
    let what = [named(series), at(cell)].concat();
    format!("| {} | {} | {what} | {} |\n", link(paper), cells::text(&series.place), values(series, cell))
}

/// What would have to be known.
fn unknown(results: &Results) -> String {
    let said = results.papers.iter().filter(|paper| !paper.unknown.is_empty());
    let said: Vec<String> = said.map(|paper| format!("**{}.** {}\n", link(paper), paper.unknown.trim())).collect();
    if said.is_empty() { String::new() } else { format!("\n## What would have to be known\n\n{}", said.join("\n")) }
}

/// Published numbers by verdict.
fn counts(results: &Results) -> String {
    let all = results.counts();
    let rows = results.papers.iter().map(|paper| (link(paper), &paper.counts)).chain([("all".to_owned(), &all)]);
    format!("\n## Published numbers\n\n{}", cells::counts(rows))
}
