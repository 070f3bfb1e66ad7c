// SPDX-License-Identifier: GPL-2.0-only
//! Latency: wakeup latency and response at four loads, beside the better of fair and scx_bpfland.

use tandem_experiments::{Pair, Silent, run_all};
use tandem_simulator::machine::Machine;
use tandem_simulator::metrics::{Report, Timing};
use tandem_simulator::workload::Workload;

use crate::Page;
use crate::contest::{Contest, Outcome, ejected};
use crate::judging::{Judged, Looks, Rule, Tally, Verdict, geometric_ratio};
use crate::table::{Align, Table};
use crate::workloads::{INTERACTIVE, at_load, at_loads, bundled, load, seconds};

const MACHINES: [&str; 5] = ["i9-12900k", "smp-8", "pixel6", "ryzen-ai-9-hx-370", "hikey960"];
/// Threads per CPU.
const LOADS: [f64; 4] = [0.5, 1.0, 1.5, 3.0];
/// What is measured, in ns.
const NUMBERS: [&str; 4] = ["wakeup p99", "wakeup max", "response p99", "response max"];
/// Of each number, over the better of both others.
pub const RULE: Rule = Rule { most: 1.05, below: 1.10, bound_counts: false };

/// Shorter times count as this long. No machine wakes a thread sooner, but one whose description has no costs, where any
/// scheduler's own instructions would make it many times as late.
const LEAST_NS: u64 = 1000;

struct Cell {
    machine: Machine,
    workload: Workload,
    /// Threads per CPU, as there are.
    load: f64,
    /// The application whose lateness counts.
    application: Option<&'static str>,
}

/// The numbers of a run; `None` for what it does not have.
pub type Numbers = [Option<f64>; 4];

struct Row {
    seeds: usize,
    /// By number, with the name of the scheduler that it is compared with and this one's value in µs.
    judged: [Option<(Judged, &'static str, f64)>; 4],
    verdict: Verdict,
}

/// How to read a line.
const LEGEND: &str =
    "each: ratio, its upper bound, and the time that it is a ratio to in us, f fair's, b scx_bpfland's";

/// Judges the half.
pub fn judge(contest: &Contest<'_>) -> Outcome<Page> {
    let cells = cells(contest)?;
    let (first, last) = if contest.quick { (4, 8) } else { (6, 48) };
    let looks = Looks::doubling(first, last, cells.len() * NUMBERS.len());
    let rows = run_all(&cells, |cell| row(contest, cell, &looks), &Silent, "")?;
    let names = [("machine", Align::Left), ("workload", Align::Left), ("threads/CPU", Align::Right)];
    let numbers = NUMBERS.map(|name| (name, Align::Right));
    let end = [("seeds", Align::Right), ("verdict", Align::Left)];
    let columns = names.into_iter().chain(numbers).chain(end);
    let mut table = Table::with_columns(columns.map(|(title, align)| (title.to_owned(), align)));
    let measured = || cells.iter().zip(&rows).filter(|(_, row)| row.judged.iter().any(Option::is_some));
    for (cell, row) in measured() {
        let start = [cell.machine.name.clone(), cell.workload.name.clone(), format!("{:.1}", cell.load)];
        let numbers = row.judged.iter().map(|number| number.as_ref().map_or("-".to_owned(), number_text));
        table.row(start.into_iter().chain(numbers).chain([row.seeds.to_string(), row.verdict.to_string()]));
    }
    let mut summary =
        vec![format!("cells: {} (asked: nine of ten)", Tally::of(measured().map(|(_, row)| row.verdict)))];
    for (number, name) in NUMBERS.iter().enumerate() {
        let verdicts = rows.iter().filter_map(|row| Some(row.judged[number].as_ref()?.0.verdict));
        summary.push(format!("{name}: {}", Tally::of(verdicts)));
    }
    Ok(Page { table, legend: LEGEND, summary })
}

/// The ratio with its bound, and the time that it is a ratio to with the first letter of whose it is.
fn number_text((judged, than, micros): &(Judged, &'static str, f64)) -> String {
    let upper = judged.upper.map_or("-".to_owned(), |upper| format!("{upper:.2}"));
    let mark = if judged.verdict == Verdict::Good { "" } else { "!" };
    format!("{mark}{:.2} <{upper} {}{micros:.0}", judged.value, &than[..1])
}

fn cells(contest: &Contest<'_>) -> Outcome<Vec<Cell>> {
    let mut cells = Vec::new();
    for (place, name) in MACHINES.iter().enumerate().filter(|(place, _)| !contest.quick || place % 2 == 1) {
        let machine = Machine::load(name)?;
        let cpus = f64::from(Contest::cpus(&machine));
        let mut number = 0;
        let mut add = |workload: Workload, load: f64, application| {
            if contest.half.has(&[place, number]) {
                cells.push(Cell { machine: machine.clone(), workload, load, application });
            }
            number += 1;
        };
        for name in bundled() {
            for (workload, load) in at_loads(&load(name)?, cpus, &LOADS) {
                add(workload, load, None);
            }
        }
        for (name, application) in INTERACTIVE {
            for load in LOADS {
                add(at_load(name, cpus as u32, (load * cpus) as u32, 2)?, load, application);
            }
        }
    }
    Ok(cells)
}

/// The numbers of `application`, or of all.
pub fn numbers(report: &Report, application: Option<&str>) -> Numbers {
    let of_app = |name| report.apps.iter().find(|app| app.name == name).map(|app| &app.timing);
    let timing: Option<&Timing> = application.map_or(Some(&report.timing), of_app);
    let wakeup = timing.and_then(|timing| timing.wakeup_latency_ns);
    let response = timing.and_then(|timing| timing.response_ns);
    let ns = |value: u64| value.max(LEAST_NS) as f64;
    [
        wakeup.map(|it| ns(it.p99)),
        wakeup.map(|it| ns(it.max)),
        response.map(|it| ns(it.p99)),
        response.map(|it| ns(it.max)),
    ]
}

fn row(contest: &Contest<'_>, cell: &Cell, looks: &Looks) -> Outcome<Row> {
    let here = (&cell.machine, &cell.workload);
    // Long bundled ones are cut: what they do, they do again and again.
    let limit = Some(seconds(if contest.quick { 1 } else { 2 }));
    let mut references: Vec<(&Pair, &'static str, Vec<Numbers>)> = vec![(&contest.fair, "fair", Vec::new())];
    references.extend(contest.bpfland_on(&cell.machine).map(|pair| (pair, "bpfland", Vec::new())));
    let (mut own, mut gone) = (Vec::new(), false);
    let mut judged = [const { None }; 4];
    for (look, seeds) in looks.seeds.iter().enumerate() {
        for number in own.len()..*seeds {
            let report = contest.run(here, &contest.judged, number, limit)?;
            gone |= ejected(&report);
            own.push(numbers(&report, cell.application));
            for (pair, _, theirs) in &mut references {
                let report = contest.run(here, pair, number, limit)?;
                // What an ejected one did counts for nothing.
                theirs.push(if ejected(&report) { [None; 4] } else { numbers(&report, cell.application) });
            }
        }
        let last = look + 1 == looks.seeds.len();
        let theirs: Vec<(&'static str, &[Numbers])> =
            references.iter().map(|(_, name, runs)| (*name, &runs[..])).collect();
        judged = std::array::from_fn(|number| against_the_better(looks, last, number, &own, &theirs));
        if gone || judged.iter().flatten().all(|(judged, ..)| !judged.open) {
            break;
        }
    }
    let worst = judged.iter().flatten().map(|(judged, ..)| judged.verdict).max().unwrap_or(Verdict::Good);
    Ok(Row { seeds: own.len(), judged, verdict: if gone { Verdict::Ejected } else { worst } })
}

/// A number judged against the scheduler of `theirs` that has the lower geometric mean; `None` if it was not measured.
fn against_the_better(
    looks: &Looks,
    last: bool,
    number: usize,
    own: &[Numbers],
    theirs: &[(&'static str, &[Numbers])],
) -> Option<(Judged, &'static str, f64)> {
    let of = |runs: &[Numbers]| runs.iter().map(|run| run[number]).collect::<Option<Vec<f64>>>();
    let own = of(own)?;
    let mean = |values: &[f64]| (values.iter().map(|value| value.ln()).sum::<f64>() / values.len() as f64).exp();
    let measured = theirs.iter().filter_map(|(name, runs)| Some((*name, of(runs)?)));
    let (name, base) = measured.min_by(|one, other| mean(&one.1).total_cmp(&mean(&other.1)))?;
    let judged = looks.judge(RULE, last, |quantile| geometric_ratio(&own, &base, quantile));
    Some((judged, name, mean(&base) / 1000.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lower_of_both_others_is_the_measure() {
        let looks = Looks::doubling(2, 2, 1);
        let runs = |value: f64| vec![[Some(value), None, None, None]; 2];
        let (own, fair, bpfland) = (runs(10_500.0), runs(20_000.0), runs(10_000.0));
        let theirs: [(&'static str, &[Numbers]); 2] = [("fair", &fair), ("bpfland", &bpfland)];
        let (judged, than, micros) = against_the_better(&looks, true, 0, &own, &theirs).unwrap();
        assert!((judged.value - 1.05).abs() < 1e-9 && (micros - 10.0).abs() < 1e-9);
        assert_eq!(than, "bpfland");
        assert!(against_the_better(&looks, true, 1, &own, &theirs).is_none());
    }
}
