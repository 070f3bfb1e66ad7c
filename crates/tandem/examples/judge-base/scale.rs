// SPDX-License-Identifier: GPL-2.0-only
//! Scale: work, migrations and instructions on machines of hundreds of CPUs, where locks and cache lines have their price.

use serde_json::{Value, json};
use tandem_experiments::{Silent, run_all};
use tandem_simulator::generated::busy;
use tandem_simulator::machine::Machine;
use tandem_simulator::metrics::Report;
use tandem_simulator::units::Nanos;
use tandem_simulator::workload::Workload;

use crate::Page;
use crate::contest::{Contest, Outcome, ejected};
use crate::judging::{Judged, Looks, Rule, Tally, Verdict, ratio};
use crate::table::{Align, Table};
use crate::workloads::{generated, written};

const MACHINES: [&str; 2] = ["epyc-9554-2s", "epyc-9965"];
/// The machine that instructions are compared with: eight CPUs.
const SMALL: &str = "smp-8";
const WORKLOADS: [&str; 6] = ["busy", "hogs", "schbench", "rpc", "barriers", "affinity"];
/// CPUs that the threads with an affinity may use, on a machine of hundreds.
const BOUND: u32 = 64;
/// Fair's work over this scheduler's: no less is asked, and a hundredth is what is not told apart.
const WORK: Rule = Rule { most: 1.01, below: 1.03, bound_counts: false };
/// Migrations over fair's, and instructions per switch over those on eight CPUs.
const HALF_MORE: Rule = Rule { most: 1.5, below: 1.5, bound_counts: false };

struct Cell {
    machine: Machine,
    small: Machine,
    name: &'static str,
}

struct Row {
    seeds: usize,
    work: Judged,
    migrations: Judged,
    /// Migrations, this scheduler's and fair's, of all seeds.
    counts: [f64; 2],
    instructions: Judged,
    /// Instructions per switch, here and on eight CPUs.
    costs: [f64; 2],
    verdict: Verdict,
}

/// How to read a line.
const LEGEND: &str = "work: per second, over fair's; migrations: of all seeds";

/// Judges the half.
pub fn judge(contest: &Contest<'_>) -> Outcome<Page> {
    let mut cells = Vec::new();
    for (place, machine) in MACHINES.iter().enumerate() {
        for (other, name) in WORKLOADS.iter().enumerate() {
            if contest.half.has(&[place, other]) {
                cells.push(Cell { machine: Machine::load(machine)?, small: Machine::load(SMALL)?, name });
            }
        }
    }
    let (first, last) = if contest.quick { (3, 6) } else { (4, 16) };
    let looks = Looks::doubling(first, last, 3 * cells.len());
    let rows = run_all(&cells, |cell| row(contest, cell, &looks), &Silent, "")?;
    let columns = [("machine", Align::Left), ("workload", Align::Left), ("work", Align::Right)];
    let numbers =
        ["migrations", "fair's", "ratio", "insns/switch", "8 CPUs", "ratio", "seeds"].map(|it| (it, Align::Right));
    let all = columns.into_iter().chain(numbers).chain([("verdict", Align::Left)]);
    let mut table = Table::with_columns(all.map(|(title, align)| (title.to_owned(), align)));
    for (cell, row) in cells.iter().zip(&rows) {
        let mark = |judged: &Judged| if judged.verdict == Verdict::Good { "" } else { "!" };
        table.row([
            cell.machine.name.clone(),
            cell.name.to_owned(),
            format!("{}{:.3}", mark(&row.work), 1.0 / row.work.value),
            format!("{:.0}", row.counts[0]),
            format!("{:.0}", row.counts[1]),
            format!("{}{:.2}", mark(&row.migrations), row.migrations.value),
            format!("{:.0}", row.costs[0]),
            format!("{:.0}", row.costs[1]),
            format!("{}{:.2}", mark(&row.instructions), row.instructions.value),
            row.seeds.to_string(),
            row.verdict.to_string(),
        ]);
    }
    let of = |what: fn(&Row) -> Verdict| Tally::of(rows.iter().map(what));
    let summary = vec![
        format!("cells: {} (asked: all)", of(|row| row.verdict)),
        format!("work: {}", of(|row| row.work.verdict)),
        format!("migrations: {}", of(|row| row.migrations.verdict)),
        format!("instructions per switch: {}", of(|row| row.instructions.verdict)),
    ];
    Ok(Page { table, legend: LEGEND, summary })
}

/// The workload of this name for a machine of `cpus` CPUs.
fn workload(name: &str, cpus: u32) -> Outcome<Workload> {
    let one = || "1s".to_owned();
    match name {
        "busy" => Ok(Workload { name: name.to_owned(), ..busy(2 * cpus) }),
        "hogs" => written(name, &tasks(&json!({ "hog": { "instance": cpus + cpus / 2, "run": 10_000 } }))),
        "schbench" => {
            let messengers = (cpus / 32).max(1);
            let options = [("message-threads", messengers), ("threads", cpus / messengers)];
            let options = options.map(|(name, value)| (name, value.to_string()));
            generated(name, &[&options[..], &[("runtime", one())]].concat())
        }
        "rpc" => {
            let options = [("frontends", (cpus / 4).to_string()), ("arrival", "3ms".to_owned()), ("duration", one())];
            generated(name, &options)
        }
        "barriers" => written(
            name,
            &tasks(&json!({ "rank": {
                "instance": cpus,
                "run": 3000,
                "barrier": "step",
                "tandem": { "run_spread": { "uniform": 0.1 } },
            } })),
        ),
        "affinity" => {
            let bound: Vec<u32> = (0..if cpus > BOUND { BOUND } else { cpus / 4 }).collect();
            let all = bound.len() as u32;
            let turns = json!({ "sleep_spread": { "uniform": 0.5 }, "run_spread": { "uniform": 0.5 } });
            written(
                name,
                &tasks(&json!({
                    "bound": { "instance": 3 * all, "cpus": bound, "run": 300, "sleep": 300, "tandem": turns },
                    "free": { "instance": cpus - all, "run": 10_000 },
                })),
            )
        }
        other => Err(format!("no workload `{other}`").into()),
    }
}

fn tasks(tasks: &Value) -> Value {
    json!({ "global": { "duration": 1 }, "tasks": tasks })
}

/// Migrations, one per CPU and second at least: of fewer, ratios say nothing.
fn migrations(report: &Report, cpus: u32) -> f64 {
    (report.migrations as f64).max(f64::from(cpus) * report.time_s)
}

fn row(contest: &Contest<'_>, cell: &Cell, looks: &Looks) -> Outcome<Row> {
    let limit: Nanos = if contest.quick { 200_000_000 } else { 500_000_000 };
    let (cpus, few) = (Contest::cpus(&cell.machine), Contest::cpus(&cell.small));
    let (here, there) = (workload(cell.name, cpus)?, workload(cell.name, few)?);
    let (mut work, mut moves, mut cost) = <([Vec<f64>; 2], [Vec<f64>; 2], [Vec<f64>; 2])>::default();
    let (mut counts, mut gone) = ([0.0; 2], false);
    loop {
        let number = work[0].len();
        let own = contest.run((&cell.machine, &here), &contest.judged, number, Some(limit))?;
        let fair = contest.run((&cell.machine, &here), &contest.fair, number, Some(limit))?;
        let small = contest.run((&cell.small, &there), &contest.judged, number, Some(limit))?;
        gone |= ejected(&own) || ejected(&small);
        // How much longer the same work takes than under fair.
        work[0].push(fair.throughput);
        work[1].push(own.throughput);
        moves[0].push(migrations(&own, cpus));
        moves[1].push(migrations(&fair, cpus));
        counts[0] += own.migrations as f64;
        counts[1] += fair.migrations as f64;
        cost[0].push(own.instructions_per_switch().unwrap_or(0.0));
        cost[1].push(small.instructions_per_switch().unwrap_or(0.0));
        let seeds = work[0].len();
        if !looks.seeds.contains(&seeds) {
            continue;
        }
        let last = looks.seeds.last() == Some(&seeds);
        let judged = |rule, [values, base]: &[Vec<f64>; 2]| looks.judge(rule, last, |at| ratio(values, base, at));
        let (by_work, by_moves, by_cost) = (judged(WORK, &work), judged(HALF_MORE, &moves), judged(HALF_MORE, &cost));
        if gone || ![by_work, by_moves, by_cost].iter().any(|judged| judged.open) {
            let worst = by_work.verdict.max(by_moves.verdict).max(by_cost.verdict);
            let costs = cost.map(|values| values.iter().sum::<f64>() / values.len() as f64);
            let verdict = if gone { Verdict::Ejected } else { worst };
            let (work, migrations, instructions) = (by_work, by_moves, by_cost);
            return Ok(Row { seeds, work, migrations, counts, instructions, costs, verdict });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workloads::threads;

    #[test]
    fn workloads_grow_with_the_machine() {
        let counts = |cpus| WORKLOADS.map(|name| threads(&workload(name, cpus).unwrap()));
        // busy, hogs, schbench with its messengers, rpc, barriers, affinity.
        assert_eq!(counts(256), [512, 384, 264, 320, 256, 3 * 64 + 192]);
        assert_eq!(counts(8), [16, 12, 9, 10, 8, 3 * 2 + 6]);
    }
}
