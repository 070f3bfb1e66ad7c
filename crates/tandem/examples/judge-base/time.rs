// SPDX-License-Identifier: GPL-2.0-only
//! Time: workloads whose end depends on speed end as soon as under fair, others get as much done per second.

use tandem_experiments::{Silent, run_all};
use tandem_simulator::machine::Machine;
use tandem_simulator::workload::Workload;

use crate::Page;
use crate::contest::{Contest, Outcome, ejected};
use crate::judging::{Judged, Looks, Rule, Tally, Verdict, ratio};
use crate::pace::{ends_by_timers, slowness};
use crate::table::{Align, Table};
use crate::workloads::{bundled, load};

const MACHINES: [&str; 12] = [
    "hikey960",
    "pixel6",
    "sdm845",
    "rk3399",
    "apple-m1",
    "i9-12900k",
    "core-ultra-7-258v",
    "ryzen-ai-9-hx-370",
    "smp-8",
    "epyc-9554-2s",
    "odroid-xu3",
    "epyc-9965",
];
/// Every so many machines are enough where it is to be quick.
const QUICK_STEP: usize = 3;
/// A hundredth longer; a hundredth less per second is as much.
const RULE: Rule = Rule { most: 1.01, below: 1.03, bound_counts: true };

struct Cell {
    machine: Machine,
    workload: Workload,
}

struct Row {
    by_timers: bool,
    seeds: usize,
    judged: Judged,
}

/// How to read a line.
const LEGEND: &str = "over fair's: of the mean times; bound: upper, one-sided, 95 %";

/// Judges the half.
pub fn judge(contest: &Contest<'_>) -> Outcome<Page> {
    let cells = cells(contest)?;
    let (first, last) = if contest.quick { (4, 16) } else { (5, 320) };
    let looks = Looks::doubling(first, last, cells.len());
    let rows = run_all(&cells, |cell| row(contest, cell, &looks), &Silent, "")?;
    let columns = [("machine", Align::Left), ("workload", Align::Left), ("judged by", Align::Left)];
    let numbers = [("over fair's", Align::Right), ("bound", Align::Right), ("seeds", Align::Right)];
    let all = columns.into_iter().chain(numbers).chain([("verdict", Align::Left)]);
    let mut table = Table::with_columns(all.map(|(title, align)| (title.to_owned(), align)));
    for (cell, row) in cells.iter().zip(&rows) {
        table.row([
            cell.machine.name.clone(),
            cell.workload.name.clone(),
            (if row.by_timers { "time per round, work" } else { "time" }).to_owned(),
            format!("{:.3}", row.judged.value),
            row.judged.upper.map_or("-".to_owned(), |upper| format!("{upper:.3}")),
            row.seeds.to_string(),
            row.judged.verdict.to_string(),
        ]);
    }
    let summary = [("ends depend on speed", false), ("timers set the end", true)].map(|(what, by_timers)| {
        let of_kind = rows.iter().filter(|row| row.by_timers == by_timers);
        format!("{what}: {} (asked: all)", Tally::of(of_kind.map(|row| row.judged.verdict)))
    });
    Ok(Page { table, legend: LEGEND, summary: summary.to_vec() })
}

fn cells(contest: &Contest<'_>) -> Outcome<Vec<Cell>> {
    let mut cells = Vec::new();
    for (place, name) in MACHINES.iter().enumerate() {
        if contest.quick && place % QUICK_STEP != 0 {
            continue;
        }
        for (other, workload) in bundled().enumerate() {
            if contest.half.has(&[place, other]) {
                cells.push(Cell { machine: Machine::load(name)?, workload: load(workload)? });
            }
        }
    }
    Ok(cells)
}

fn row(contest: &Contest<'_>, cell: &Cell, looks: &Looks) -> Outcome<Row> {
    let here = (&cell.machine, &cell.workload);
    let by_timers = ends_by_timers(contest, &cell.machine, &cell.workload)?;
    let (mut own, mut fair) = (Vec::new(), Vec::new());
    let mut gone = false;
    let mut row = None;
    for (look, seeds) in looks.seeds.iter().enumerate() {
        for number in own.len()..*seeds {
            let report = contest.run(here, &contest.judged, number, None)?;
            gone |= ejected(&report);
            own.push(slowness(&report, by_timers));
            fair.push(slowness(&contest.run(here, &contest.fair, number, None)?, by_timers));
        }
        let last = look + 1 == looks.seeds.len();
        let mut judged = worst(looks, last, &own, &fair);
        if gone {
            judged = Judged { verdict: Verdict::Ejected, open: false, ..judged };
        }
        let open = judged.open;
        row = Some(Row { by_timers, seeds: *seeds, judged });
        if !open {
            break;
        }
    }
    row.ok_or_else(|| "no looks".into())
}

/// What the number is judged that is worst.
fn worst(looks: &Looks, last: bool, own: &[Vec<f64>], fair: &[Vec<f64>]) -> Judged {
    let numbers = own.first().map_or(0, Vec::len);
    let of = |runs: &[Vec<f64>], number: usize| runs.iter().map(|run| run[number]).collect::<Vec<f64>>();
    let judged = (0..numbers).map(|number| {
        let (own, fair) = (of(own, number), of(fair, number));
        looks.judge(RULE, last, |quantile| ratio(&own, &fair, quantile))
    });
    let rank = |judged: &Judged| (judged.verdict, judged.value);
    judged
        .max_by(|one, other| rank(one).partial_cmp(&rank(other)).unwrap_or(std::cmp::Ordering::Equal))
        .unwrap_or(Judged { value: f64::NAN, upper: None, verdict: Verdict::Unclear, open: false })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_number_of_a_cell_counts() {
        let looks = Looks::doubling(3, 3, 1);
        let own = vec![vec![1.0, 1.2]; 3];
        let fair = vec![vec![1.0, 1.0]; 3];
        let judged = worst(&looks, true, &own, &fair);
        assert_eq!((judged.value, judged.verdict), (1.2, Verdict::Worse));
    }
}
