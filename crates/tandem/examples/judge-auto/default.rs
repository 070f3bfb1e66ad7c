// SPDX-License-Identifier: GPL-2.0-only
//! Against what the machine's distribution runs: energy, time, response, in every cell.

use tandem_experiments::{Pair, Silent, run_all};

use crate::Page;
use crate::cells::{Cell, Measured};
use crate::contest::{Contest, Outcome};
use crate::judging::{Judged, Looks, Rule, Tally, Verdict, geometric_ratio, ratio};
use crate::pace::ends_by_timers;
use crate::table::{Align, Table};
use crate::worst::worst_cells;

/// What is asked of energy per work, time and response.
#[derive(Debug, Clone, Copy)]
pub struct Asked {
    /// Energy per unit of work.
    pub energy: Rule,
    /// Time, or time per round and per work.
    pub time: Rule,
    /// p99 of the response.
    pub response: Option<Rule>,
}

impl Asked {
    /// In the order of [`NUMBERS`].
    fn rules(self) -> [Option<Rule>; 3] {
        [Some(self.energy), Some(self.time), self.response]
    }
}

/// `mode=auto`: never more energy, never slower, never later.
pub const AUTO: Asked = Asked {
    energy: Rule { most: 1.00, below: 1.03, bound_counts: true },
    time: Rule { most: 1.01, below: 1.03, bound_counts: true },
    response: Some(Rule { most: 1.05, below: 1.08, bound_counts: true }),
};

/// `mode=powersave`: much less energy, a tenth slower at most.
pub const POWERSAVE: Asked = Asked {
    energy: Rule { most: 1.00, below: 1.03, bound_counts: true },
    time: Rule { most: 1.10, below: 1.13, bound_counts: true },
    response: None,
};

const NUMBERS: [&str; 3] = ["energy", "time", "p99"];

struct Row {
    seeds: usize,
    judged: [Option<Judged>; 3],
    verdict: Verdict,
}

/// How to read a line.
const LEGEND: &str =
    "each: ratio to fair's with the machine's own governor, and its upper one-sided 95 % bound; energy per work";

/// Judges cells.
pub fn judge(contest: &Contest<'_>, cells: &[Cell], asked: Asked) -> Outcome<Page> {
    let (first, last) = if contest.quick { (3, 6) } else { (4, 32) };
    let looks = Looks::doubling(first, last, cells.len() * NUMBERS.len());
    let rows = run_all(cells, |cell| row(contest, cell, &looks, asked), &Silent, "")?;
    let names = [("machine", Align::Left), ("workload", Align::Left), ("threads/CPU", Align::Right)];
    let numbers = NUMBERS.map(|name| (name, Align::Right));
    let columns = names.into_iter().chain(numbers).chain([("seeds", Align::Right), ("verdict", Align::Left)]);
    let mut table = Table::with_columns(columns.map(|(title, align)| (title.to_owned(), align)));
    for (cell, row) in cells.iter().zip(&rows) {
        let start = [cell.machine.name.clone(), cell.workload.name.clone(), format!("{:.2}", cell.load)];
        let numbers = row.judged.iter().map(|number| number.as_ref().map_or("-".to_owned(), number_text));
        table.row(start.into_iter().chain(numbers).chain([row.seeds.to_string(), row.verdict.to_string()]));
    }
    Ok(Page { table, legend: LEGEND, summary: summary(cells, &rows, asked) })
}

impl Row {
    /// Whether the bounds of all numbers are below what is asked of bounds, whatever the numbers themselves are.
    fn is_within(&self, asked: Asked) -> bool {
        let within = |(judged, rule): (&Judged, Rule)| judged.upper.unwrap_or(judged.value) < rule.below;
        self.verdict != Verdict::Ejected
            && self.judged.iter().zip(asked.rules()).filter_map(|(judged, rule)| judged.as_ref().zip(rule)).all(within)
    }
}

/// What is asked of bounds, in words.
fn bounds(asked: Asked) -> String {
    let words =
        NUMBERS.iter().zip(asked.rules()).filter_map(|(name, rule)| Some(format!("{name} below {}", rule?.below)));
    words.collect::<Vec<_>>().join(", ")
}

fn summary(cells: &[Cell], rows: &[Row], asked: Asked) -> Vec<String> {
    let within = rows.iter().filter(|row| row.is_within(asked)).count();
    let mut lines = vec![
        format!("cells: {} (asked: all)", Tally::of(rows.iter().map(|row| row.verdict))),
        format!("cells by the bounds alone ({}): {within} of {} good", bounds(asked), rows.len()),
    ];
    for (number, name) in NUMBERS.iter().enumerate() {
        let judged = || cells.iter().zip(rows).filter_map(|(cell, row)| Some((cell, row.judged[number]?.value)));
        if judged().next().is_none() {
            continue;
        }
        let verdicts = rows.iter().filter_map(|row| Some(row.judged[number]?.verdict));
        let mean = geometric_mean(judged().map(|(_, value)| value));
        lines.push(format!(
            "{name}: {}; geometric mean {mean:.3}; worst: {}",
            Tally::of(verdicts),
            worst_cells(judged())
        ));
    }
    let products = rows.iter().filter_map(|row| Some(row.judged[0]?.value * row.judged[1]?.value));
    lines.push(format!("energy x time: geometric mean {:.3}", geometric_mean(products)));
    lines
}

/// The geometric mean; NaN of none.
pub fn geometric_mean(values: impl Iterator<Item = f64>) -> f64 {
    let logs: Vec<f64> = values.map(f64::ln).collect();
    (logs.iter().sum::<f64>() / logs.len() as f64).exp()
}

fn number_text(judged: &Judged) -> String {
    let upper = judged.upper.map_or("-".to_owned(), |upper| format!("{upper:.2}"));
    let mark = if judged.verdict == Verdict::Good { "" } else { "!" };
    format!("{mark}{:.3} <{upper}", judged.value)
}

/// Runs of a cell with the seeds from `from` to `to`, measured.
pub fn measured(
    contest: &Contest<'_>,
    cell: &Cell,
    pair: &Pair,
    by_timers: bool,
    seeds: std::ops::Range<usize>,
) -> Outcome<Vec<Measured>> {
    let run = |number| Ok(cell.measure(&contest.run((&cell.machine, &cell.workload), pair, number, None)?, by_timers));
    seeds.map(run).collect()
}

fn row(contest: &Contest<'_>, cell: &Cell, looks: &Looks, asked: Asked) -> Outcome<Row> {
    let by_timers = ends_by_timers(contest, &cell.machine, &cell.workload)?;
    let (mut own, mut fair) = (Vec::new(), Vec::new());
    let mut judged = [None; 3];
    for (look, seeds) in looks.seeds.iter().enumerate() {
        let more = own.len()..*seeds;
        own.extend(measured(contest, cell, &contest.judged, by_timers, more.clone())?);
        fair.extend(measured(contest, cell, &contest.fair, by_timers, more)?);
        judged = judge_numbers(looks, look + 1 == looks.seeds.len(), asked, &own, &fair);
        if own.iter().any(|run| run.ejected) || judged.iter().flatten().all(|judged| !judged.open) {
            break;
        }
    }
    let worst = judged.iter().flatten().map(|judged| judged.verdict).max().unwrap_or(Verdict::Unclear);
    let gone = own.iter().any(|run| run.ejected);
    Ok(Row { seeds: own.len(), judged, verdict: if gone { Verdict::Ejected } else { worst } })
}

fn judge_numbers(looks: &Looks, last: bool, asked: Asked, own: &[Measured], fair: &[Measured]) -> [Option<Judged>; 3] {
    let of = |runs: &[Measured], number: fn(&Measured) -> f64| runs.iter().map(number).collect::<Vec<f64>>();
    let energy = looks
        .judge(asked.energy, last, |quantile| ratio(&of(own, |run| run.energy), &of(fair, |run| run.energy), quantile));
    let numbers = own.first().map_or(0, |run| run.slowness.len());
    let slowness = |runs: &[Measured], number: usize| runs.iter().map(|run| run.slowness[number]).collect::<Vec<f64>>();
    let time = (0..numbers)
        .map(|number| {
            let (own, fair) = (slowness(own, number), slowness(fair, number));
            looks.judge(asked.time, last, |quantile| ratio(&own, &fair, quantile))
        })
        .max_by(|one, other| {
            (one.verdict, one.value).partial_cmp(&(other.verdict, other.value)).unwrap_or(std::cmp::Ordering::Equal)
        });
    let responses = |runs: &[Measured]| runs.iter().map(|run| run.response).collect::<Option<Vec<f64>>>();
    let response = asked.response.and_then(|rule| {
        let (own, fair) = (responses(own)?, responses(fair)?);
        Some(looks.judge(rule, last, |quantile| geometric_ratio(&own, &fair, quantile)))
    });
    [Some(energy), time, response]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(energy: f64, time: f64, response: f64) -> Measured {
        Measured { energy, slowness: vec![time], response: Some(response), ejected: false }
    }

    #[test]
    fn each_number_has_its_rule() {
        let looks = Looks::doubling(2, 2, 1);
        let (own, fair) = (vec![run(0.9, 1.0, 1.04); 2], vec![run(1.0, 1.0, 1.0); 2]);
        let [energy, time, response] = judge_numbers(&looks, true, AUTO, &own, &fair).map(Option::unwrap);
        assert_eq!((energy.verdict, time.verdict, response.verdict), (Verdict::Good, Verdict::Good, Verdict::Good));
        let slower = vec![run(1.001, 1.02, 1.2); 2];
        let verdicts = judge_numbers(&looks, true, AUTO, &slower, &fair).map(|judged| judged.unwrap().verdict);
        assert_eq!(verdicts, [Verdict::Worse; 3]);
        assert!(judge_numbers(&looks, true, POWERSAVE, &own, &fair)[2].is_none());
    }

    #[test]
    fn bounds_alone_leave_a_margin() {
        let looks = Looks::doubling(2, 2, 1);
        let row = |energy| {
            let (own, fair) = (vec![run(energy, 1.0, 1.0); 2], vec![run(1.0, 1.0, 1.0); 2]);
            let judged = judge_numbers(&looks, true, AUTO, &own, &fair);
            Row { seeds: 2, judged, verdict: Verdict::Unclear }
        };
        assert!(row(1.02).is_within(AUTO) && !row(1.04).is_within(AUTO));
        assert!(!Row { verdict: Verdict::Ejected, ..row(0.9) }.is_within(AUTO));
    }

    #[test]
    fn geometric_means_weigh_ratios() {
        assert!((geometric_mean([0.5, 2.0].into_iter()) - 1.0).abs() < 1e-12);
    }
}
