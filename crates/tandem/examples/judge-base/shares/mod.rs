// SPDX-License-Identifier: GPL-2.0-only
//! Shares: CPU time by weight as fair shares it, and an interactive thread beside idle ones.

mod mixes;

use tandem_experiments::{Estimate, Pair, Silent, run_all};
use tandem_simulator::machine::Machine;
use tandem_simulator::metrics::Report;
use tandem_simulator::workload::Workload;

use crate::Page;
use crate::contest::{Contest, Outcome, ejected};
use crate::judging::{Judged, Looks, Rule, Tally, Verdict, geometric_ratio};
use crate::latency::{self, numbers};
use crate::table::{Align, Table};

use mixes::{MIXES, Mix, idle_beside, mix};

const MACHINES: [&str; 6] = ["smp-8", "hikey960", "i9-12900k", "pixel6", "ryzen-ai-9-hx-370", "epyc-9554-2s"];
/// A point of CPU time, of which all hogs together have 100.
const POINTS: Rule = Rule { most: 1.0, below: 1.0, bound_counts: false };
/// Idle threads per CPU beside the interactive one.
const BESIDE: [u32; 2] = [1, 4];

enum Question {
    /// Shares of the applications.
    Mix(Box<Mix>),
    /// The interactive thread's lateness, alone and beside.
    Beside(Box<[Workload; 2]>),
}

struct Cell {
    machine: Machine,
    name: String,
    question: Question,
}

struct Row {
    seeds: usize,
    judged: Judged,
    /// Shares, or times, in words.
    detail: String,
    /// Whether the shares are within a point of those that the weights say, if they say any.
    by_weight: bool,
}

/// How to read a line.
const LEGEND: &str = "off by: from fair's share, or p99 wakeup latency over that alone";

/// Judges the half.
pub fn judge(contest: &Contest<'_>) -> Outcome<Page> {
    let cells = cells(contest)?;
    let (first, last) = if contest.quick { (3, 6) } else { (4, 16) };
    let looks = Looks::doubling(first, last, cells.len());
    let rows = run_all(&cells, |cell| row(contest, cell, &looks), &Silent, "")?;
    let columns = [("machine", Align::Left), ("mix", Align::Left), ("off by", Align::Right), ("bound", Align::Right)];
    let rest = [("seeds", Align::Right), ("verdict", Align::Left), ("", Align::Left)];
    let mut table =
        Table::with_columns(columns.into_iter().chain(rest).map(|(title, align)| (title.to_owned(), align)));
    for (cell, row) in cells.iter().zip(&rows) {
        let unit = if matches!(cell.question, Question::Mix(_)) { " points" } else { "x" };
        table.row([
            cell.machine.name.clone(),
            cell.name.clone(),
            format!("{:.2}{unit}", row.judged.value),
            row.judged.upper.map_or("-".to_owned(), |upper| format!("{upper:.2}")),
            row.seeds.to_string(),
            row.judged.verdict.to_string(),
            row.detail.clone(),
        ]);
    }
    let of = |mixes: bool| {
        let kind = move |cell: &Cell| matches!(cell.question, Question::Mix(_)) == mixes;
        Tally::of(cells.iter().zip(&rows).filter(|(cell, _)| kind(cell)).map(|(_, row)| row.judged.verdict))
    };
    let mixes = || rows.iter().zip(&cells).filter(|(_, cell)| matches!(cell.question, Question::Mix(_)));
    let either = mixes().filter(|(row, _)| row.by_weight || row.judged.verdict == Verdict::Good).count();
    let summary = vec![
        format!("within 1 point of fair's: {} (asked: all)", of(true)),
        format!("within 1 point of fair's or of the weights': {either} of {}", mixes().count()),
        format!("beside idle hogs as alone: {} (asked: all)", of(false)),
    ];
    Ok(Page { table, legend: LEGEND, summary })
}

fn cells(contest: &Contest<'_>) -> Outcome<Vec<Cell>> {
    let mut cells = Vec::new();
    for (place, name) in MACHINES.iter().enumerate().filter(|(place, _)| !contest.quick || place % 2 == 1) {
        let machine = Machine::load(name)?;
        let cpus = Contest::cpus(&machine);
        for (_, name) in MIXES.iter().enumerate().filter(|(number, _)| contest.half.has(&[place, *number])) {
            let question = Question::Mix(Box::new(mix(name, cpus)?));
            cells.push(Cell { machine: machine.clone(), name: (*name).to_owned(), question });
        }
        for (_, per_cpu) in BESIDE.iter().enumerate().filter(|(number, _)| contest.half.has(&[place, *number])) {
            let question = Question::Beside(Box::new([idle_beside(0)?, idle_beside(per_cpu * cpus)?]));
            let name = format!("ui beside {per_cpu} SCHED_IDLE per CPU");
            cells.push(Cell { machine: machine.clone(), name, question });
        }
    }
    Ok(cells)
}

fn row(contest: &Contest<'_>, cell: &Cell, looks: &Looks) -> Outcome<Row> {
    match &cell.question {
        Question::Mix(mix) => of_mix(contest, &cell.machine, mix, looks),
        Question::Beside(both) => of_idle(contest, &cell.machine, both, looks),
    }
}

/// Each application's share of the CPU time of all, in points.
fn shares(report: &Report) -> Vec<f64> {
    let all: f64 = report.apps.iter().map(|app| app.cpu_time_s).sum();
    report.apps.iter().map(|app| 100.0 * app.cpu_time_s / all).collect()
}

fn of_mix(contest: &Contest<'_>, machine: &Machine, mix: &Mix, looks: &Looks) -> Outcome<Row> {
    let workload = &mix.workload;
    let (mut own, mut fair, mut gone) = (Vec::new(), Vec::new(), false);
    loop {
        let number = own.len();
        let report = contest.run((machine, workload), &contest.judged, number, None)?;
        gone |= ejected(&report);
        own.push(shares(&report));
        fair.push(shares(&contest.run((machine, workload), &contest.fair, number, None)?));
        let seeds = own.len();
        if !looks.seeds.contains(&seeds) {
            continue;
        }
        let judged = farthest(looks, looks.seeds.last() == Some(&seeds), &own, &fair);
        if gone || !judged.open {
            let weights = mix.by_weight.as_deref();
            let detail = detail(&workload.applications, [Some(&means(&own)), Some(&means(&fair)), weights]);
            let by_weight = weights.is_some_and(|weights| {
                let own = means(&own);
                own.iter().zip(weights).all(|(own, weight)| (own - weight).abs() <= POINTS.most)
            });
            let verdict = if gone { Verdict::Ejected } else { judged.verdict };
            return Ok(Row { seeds, judged: Judged { verdict, ..judged }, detail, by_weight });
        }
    }
}

/// The shares of this scheduler, of fair and by weight.
fn detail(names: &[String], shares: [Option<&[f64]>; 3]) -> String {
    if names.len() > 8 {
        return format!("of {} kinds of thread", names.len());
    }
    let text = |shares: &[f64]| shares.iter().map(|share| format!("{share:.1}")).collect::<Vec<_>>().join(" ");
    let [own, fair, weights] = shares.map(|shares| shares.map_or("-".to_owned(), text));
    format!("{}: {own}, fair {fair}, by weight {weights}", names.join(" "))
}

fn means(runs: &[Vec<f64>]) -> Vec<f64> {
    let number = runs.first().map_or(0, Vec::len);
    (0..number).map(|at| runs.iter().map(|run| run[at]).sum::<f64>() / runs.len() as f64).collect()
}

/// The application whose share is farthest from fair's, judged by how far that is.
fn farthest(looks: &Looks, last: bool, own: &[Vec<f64>], fair: &[Vec<f64>]) -> Judged {
    let number = own.first().map_or(0, Vec::len);
    let judged = (0..number).map(|at| {
        let off: Vec<f64> = own.iter().zip(fair).map(|(own, fair)| own[at] - fair[at]).collect();
        looks.judge(POINTS, last, |quantile| {
            let Estimate { mean, half_width } =
                Estimate::of_mean_at(&off, quantile).unwrap_or(Estimate { mean: 0.0, half_width: None });
            Estimate { mean: mean.abs(), half_width }
        })
    });
    let worst = judged.max_by(|one, other| one.value.total_cmp(&other.value));
    worst.unwrap_or(Judged { value: f64::NAN, upper: None, verdict: Verdict::Unclear, open: false })
}

/// The p99 of the interactive thread's wakeup latency, beside over alone under the same scheduler.
fn of_idle(contest: &Contest<'_>, machine: &Machine, [alone, beside]: &[Workload; 2], looks: &Looks) -> Outcome<Row> {
    let p99 = |pair: &Pair, workload: &Workload, number: usize| -> Outcome<(f64, bool)> {
        let report = contest.run((machine, workload), pair, number, None)?;
        Ok((numbers(&report, Some("ui"))[0].unwrap_or(f64::NAN), ejected(&report)))
    };
    let mut runs: [Vec<f64>; 3] = Default::default();
    let mut gone = false;
    loop {
        let number = runs[0].len();
        let asked = [(&contest.judged, beside), (&contest.judged, alone), (&contest.fair, beside)];
        for (place, (pair, workload)) in asked.into_iter().enumerate() {
            let (value, ejected) = p99(pair, workload, number)?;
            runs[place].push(value);
            gone |= ejected;
        }
        let seeds = runs[0].len();
        if !looks.seeds.contains(&seeds) {
            continue;
        }
        let last = looks.seeds.last() == Some(&seeds);
        let judged = looks.judge(latency::RULE, last, |quantile| geometric_ratio(&runs[0], &runs[1], quantile));
        if gone || !judged.open {
            let [own, lone, fair] = runs.map(|values| values.iter().sum::<f64>() / values.len() as f64 / 1000.0);
            let detail = format!("p99 wakeup latency {own:.0} us, alone {lone:.0} us, fair beside {fair:.0} us");
            let verdict = if gone { Verdict::Ejected } else { judged.verdict };
            return Ok(Row { seeds, judged: Judged { verdict, ..judged }, detail, by_weight: false });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_application_that_is_farthest_from_fairs_share_counts() {
        let looks = Looks::doubling(2, 2, 1);
        let own = vec![vec![60.0, 30.0, 10.0]; 2];
        let fair = vec![vec![60.5, 27.0, 12.5]; 2];
        let judged = farthest(&looks, true, &own, &fair);
        assert_eq!((judged.value, judged.verdict), (3.0, Verdict::Worse));
        assert_eq!(farthest(&looks, true, &own, &own).verdict, Verdict::Good);
    }
}
