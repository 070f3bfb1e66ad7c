// SPDX-License-Identifier: GPL-2.0-only
//! The comparison as a table that fits its place: one line per pair, two lines, or a block.

use tandem_experiments::{Comparison, Metric, NotMeasured, Pair, PairResult};
use tandem_simulator::metrics::ExitReport;

use crate::arguments::disturbed_words;
use crate::compare::columns::Columns;
use crate::compare::label;
use crate::quantity::{
    JOULE_SECONDS, JOULES, JOULES_PER_WORK, NOTHING, NUMBER, PER_SECOND, PERCENT, SECONDS, Unit, WATTS, estimate,
    quantity, ratio,
};
use crate::table::{Align, Table, paragraph, printable};

/// The table with its title and notes. Without a width (no terminal) each pair has one line, for programs to cut.
pub fn render(comparison: &Comparison, columns: &Columns, width: Option<usize>) -> String {
    let mut text = paragraph(&title(comparison), width) + "\n";
    let metrics = columns.of(comparison);
    text += &table(comparison, &metrics, width);
    let notes: Vec<String> =
        notes(comparison, &columns.expected()).into_iter().chain(pairing(comparison, &metrics)).collect();
    if !notes.is_empty() {
        text.push('\n');
    }
    for note in notes {
        text += &paragraph(&note, width);
    }
    text
}

/// The table alone.
pub fn table(comparison: &Comparison, metrics: &[Metric], width: Option<usize>) -> String {
    let one_line = one_line(comparison, metrics);
    let two_lines = two_lines(comparison, metrics);
    match width {
        None => one_line.render(),
        Some(width) if one_line.width() <= width => one_line.render(),
        Some(width) if two_lines.width() <= width => two_lines.render(),
        Some(width) => blocks(comparison, metrics, width),
    }
}

fn title(comparison: &Comparison) -> String {
    let pairs: Vec<&Pair> = comparison.pairs.iter().map(|result| &result.pair).collect();
    let (workload, machine) = (&comparison.workload, &comparison.machine);
    let disturbed = disturbed_words(comparison.disturbed);
    format!("{workload} on {machine}{disturbed}: {}{}", runs(&comparison.seeds), against(&pairs))
}

/// How many runs each pair has.
pub fn runs(seeds: &[u64]) -> String {
    match seeds {
        [seed] => format!("one run per pair (seed {seed})"),
        [first, .., last] => {
            let runs = seeds.len();
            format!("{runs} runs per pair (seeds {first} to {last}), mean ± 95 % confidence interval")
        }
        [] => "no runs".to_owned(),
    }
}

/// What ratios are against, if there are any.
pub fn against(pairs: &[&Pair]) -> String {
    match pairs {
        [reference, _, ..] => format!("; × is the ratio to {}", label(reference)),
        _ => String::new(),
    }
}

/// The unit of a metric's values.
fn unit(metric: Metric) -> Unit {
    match metric {
        Metric::Time | Metric::WorstMiss => SECONDS,
        Metric::P50Latency | Metric::P95Latency | Metric::P99Latency | Metric::MaxLatency => SECONDS,
        Metric::P50Response | Metric::P95Response | Metric::P99Response | Metric::MaxResponse => SECONDS,
        Metric::Energy => JOULES,
        Metric::Edp => JOULE_SECONDS,
        Metric::Power => WATTS,
        Metric::EnergyPerWork => JOULES_PER_WORK,
        Metric::RoundsPerSecond | Metric::FramesPerSecond => PER_SECOND,
        Metric::Throughput | Metric::Fairness => NUMBER,
        Metric::Jitter | Metric::Missed | Metric::LateFrames => PERCENT,
    }
}

/// A metric of a pair with its unit; a dash where it was not measured.
pub fn value_text(pair: &PairResult, metric: Metric) -> String {
    match &pair.metric(metric).value {
        Ok(value) => estimate(value, unit(metric)),
        Err(_) => NOTHING.to_owned(),
    }
}

/// The ratio of the pair at `index` to the first pair; empty for the first pair.
pub fn ratio_text(comparison: &Comparison, index: usize, metric: Metric) -> String {
    if index == 0 {
        return String::new();
    }
    match &comparison.pairs[index].metric(metric).ratio {
        Some(of_first) => format!("×{}{}", ratio(&of_first.estimate), unlike(comparison, index)),
        None => NOTHING.to_owned(),
    }
}

/// The mark of what is no difference of schedulers alone: one of both pairs did not heed what the other one did.
fn unlike(comparison: &Comparison, index: usize) -> &'static str {
    let reference = &comparison.pairs[0];
    if comparison.pairs[index].heeds_as(reference) { "" } else { " ~" }
}

fn one_line(comparison: &Comparison, metrics: &[Metric]) -> Table {
    let titles =
        metrics.iter().flat_map(|metric| [(metric.title().to_owned(), Align::Right), ("×".to_owned(), Align::Left)]);
    let mut table = Table::with_columns([("pair".to_owned(), Align::Left)].into_iter().chain(titles));
    for (index, pair) in comparison.pairs.iter().enumerate() {
        let cells =
            metrics.iter().flat_map(|metric| [value_text(pair, *metric), ratio_text(comparison, index, *metric)]);
        table.row([marked(pair)].into_iter().chain(cells));
    }
    table
}

fn two_lines(comparison: &Comparison, metrics: &[Metric]) -> Table {
    let titles = metrics.iter().map(|metric| (metric.title().to_owned(), Align::Right));
    let mut table = Table::with_columns([("pair".to_owned(), Align::Left)].into_iter().chain(titles));
    for (index, pair) in comparison.pairs.iter().enumerate() {
        let values = metrics.iter().map(|metric| value_text(pair, *metric));
        table.row([marked(pair)].into_iter().chain(values));
        if index > 0 {
            let ratios = metrics.iter().map(|metric| ratio_text(comparison, index, *metric));
            table.row([String::new()].into_iter().chain(ratios));
        }
    }
    table
}

fn blocks(comparison: &Comparison, metrics: &[Metric], width: usize) -> String {
    let block = |(index, pair): (usize, &PairResult)| {
        let mut rows = Table::headless([Align::Left, Align::Right, Align::Left]);
        for metric in metrics {
            let name = format!("  {}", metric.title());
            rows.row([name, value_text(pair, *metric), ratio_text(comparison, index, *metric)]);
        }
        format!("{}\n{}", marked(pair), rows.fitting(Some(width)).render())
    };
    comparison.pairs.iter().enumerate().map(block).collect::<Vec<_>>().join("\n")
}

/// The pair's name, with marks if notes say that its scheduler was ejected, lacked a part of itself, or ignored what the workload
/// asks for.
pub fn marked(pair: &PairResult) -> String {
    let ejected = pair.outcomes.iter().any(|run| run.exit().is_some());
    let lacking = if pair.without().is_some() { " *" } else { "" };
    let ignoring = if pair.ignored().is_empty() { "" } else { " ~" };
    label(&pair.pair) + lacking + ignoring + if ejected { " !" } else { "" }
}

/// The schedulers that lacked a part of themselves.
fn lacking(comparison: &Comparison) -> impl Iterator<Item = String> + '_ {
    comparison.pairs.iter().filter_map(|pair| {
        let text = format!("* {} ran without {}; no conclusion is drawn from that", label(&pair.pair), pair.without()?);
        Some(printable(&text))
    })
}

/// The schedulers that did not heed what the workload asks for.
fn ignoring(comparison: &Comparison) -> impl Iterator<Item = String> + '_ {
    comparison.pairs.iter().filter_map(|pair| {
        let ignored: Vec<String> = pair.ignored().iter().map(|(what, why)| format!("{what} ({why})")).collect();
        let text = format!(
            "~ {} ignored {}; no conclusion is drawn from a difference to a pair that did not",
            label(&pair.pair),
            ignored.join(", ")
        );
        (!ignored.is_empty()).then(|| printable(&text))
    })
}

/// The schedulers that were ejected: how often, and why the first time.
fn ejections(comparison: &Comparison) -> impl Iterator<Item = String> + '_ {
    comparison.pairs.iter().filter_map(|pair| {
        let exits: Vec<(u64, &ExitReport)> =
            pair.outcomes.iter().filter_map(|run| Some((run.report.seed, run.exit()?))).collect();
        let (seed, first) = exits.first()?;
        let (count, runs, at) = (exits.len(), pair.outcomes.len(), quantity(first.at_s, SECONDS));
        let ExitReport { reason, message, .. } = first;
        Some(printable(&format!(
            "! {}: the scheduler was ejected in {count} of {runs} runs, which went on under fair; with seed {seed} at \
             {at}: {reason}: {message}",
            label(&pair.pair)
        )))
    })
}

/// Why there are dashes where a metric is expected: each reason once, with the pairs it concerns unless it concerns all.
pub fn notes(comparison: &Comparison, expected: &[Metric]) -> Vec<String> {
    let mut notes = Vec::new();
    for metric in expected {
        let mut reasons: Vec<(&NotMeasured, Vec<String>)> = Vec::new();
        for pair in &comparison.pairs {
            let Err(reason) = &pair.metric(*metric).value else { continue };
            match reasons.iter_mut().find(|(known, _)| *known == reason) {
                Some((_, pairs)) => pairs.push(label(&pair.pair)),
                None => reasons.push((reason, vec![label(&pair.pair)])),
            }
        }
        for (reason, pairs) in reasons {
            let everywhere = pairs.len() == comparison.pairs.len();
            let of = if everywhere { String::new() } else { format!(" of {}", pairs.join(", ")) };
            notes.push(format!("{NOTHING} {}{of} was not measured: {reason}", metric.title()));
        }
    }
    if comparison.seeds.len() == 1 {
        notes.push("One run has no confidence interval; ask for more with --runs.".to_owned());
    }
    notes.extend(lacking(comparison));
    notes.extend(ignoring(comparison));
    notes.extend(ejections(comparison));
    notes.extend(warnings(comparison));
    notes
}

/// How the intervals of the ratios were found; nothing where there are none.
fn pairing(comparison: &Comparison, metrics: &[Metric]) -> Option<String> {
    let ratios = |metric: Metric| {
        let pairs = comparison.pairs.iter().skip(1).filter_map(move |pair| pair.metric(metric).ratio);
        pairs.filter(|ratio| ratio.estimate.half_width.is_some())
    };
    let shown = metrics.iter().copied().filter(|metric| ratios(*metric).next().is_some()).collect::<Vec<_>>();
    let is_paired = |metric: &&Metric| ratios(**metric).all(|ratio| ratio.paired);
    let (paired, others): (Vec<&Metric>, Vec<&Metric>) = shown.iter().partition(is_paired);
    let others = others.iter().map(|metric| metric.title()).collect::<Vec<_>>().join(", ");
    match (paired.is_empty(), others.is_empty()) {
        (true, true) => None,
        (_, true) => Some("The intervals of × are those of pairs of runs with the same seed.".to_owned()),
        (true, _) => Some("The intervals of × are those of independent runs.".to_owned()),
        _ => Some(format!(
            "The intervals of × are those of pairs of runs with the same seed; for {others} those of independent runs."
        )),
    }
}

/// What the simulations warned about, each once.
fn warnings(comparison: &Comparison) -> Vec<String> {
    let mut warnings: Vec<String> = Vec::new();
    for warning in comparison.pairs.iter().flat_map(|pair| &pair.outcomes).flat_map(|run| &run.report.warnings) {
        let warning = format!("warning: {warning}");
        if !warnings.contains(&warning) {
            warnings.push(warning);
        }
    }
    warnings
}
