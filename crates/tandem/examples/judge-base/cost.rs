// SPDX-License-Identifier: GPL-2.0-only
//! Cost: BPF instructions per context switch, beside other schedulers.

use tandem_experiments::{Silent, run_all};
use tandem_simulator::machine::Machine;

use crate::Page;
use crate::contest::{Contest, Outcome};
use crate::table::{Align, Table};
use crate::workloads::{bundled, load};

const MACHINES: [&str; 8] =
    ["smp-8", "hikey960", "pixel6", "apple-m1", "i9-12900k", "core-ultra-7-258v", "ryzen-ai-9-hx-370", "epyc-9554-2s"];

/// How to read a line.
const LEGEND: &str = "BPF instructions per context switch";

/// Measures the half. There is no limit: what others cost stands beside.
pub fn judge(contest: &Contest<'_>) -> Outcome<Page> {
    let mut cells = Vec::new();
    for (place, machine) in MACHINES.iter().enumerate().filter(|(place, _)| !contest.quick || place % 2 == 0) {
        for (other, workload) in bundled().enumerate() {
            if contest.half.has(&[place, other]) {
                cells.push((Machine::load(machine)?, load(workload)?));
            }
        }
    }
    let schedulers: Vec<_> =
        std::iter::once(("judged".to_owned(), contest.judged.clone())).chain(contest.others.clone()).collect();
    let rows = run_all(
        &cells,
        |(machine, workload)| -> Outcome<Vec<Option<f64>>> {
            let cost = |pair| Ok(contest.run((machine, workload), pair, 0, None)?.instructions_per_switch());
            // That another scheduler cannot be loaded on a machine is a gap in its column.
            schedulers
                .iter()
                .enumerate()
                .map(|(number, (_, pair))| cost(pair).or_else(|error| if number == 0 { Err(error) } else { Ok(None) }))
                .collect()
        },
        &Silent,
        "",
    )?;
    let names = schedulers.iter().map(|(name, _)| (name.clone(), Align::Right));
    let columns = [("machine".to_owned(), Align::Left), ("workload".to_owned(), Align::Left)];
    let mut table = Table::with_columns(columns.into_iter().chain(names));
    for ((machine, workload), costs) in cells.iter().zip(&rows) {
        let costs = costs.iter().map(|cost| cost.map_or("-".to_owned(), |cost| format!("{cost:.0}")));
        table.row([machine.name.clone(), workload.name.clone()].into_iter().chain(costs));
    }
    let medians = schedulers.iter().enumerate().map(|(number, (name, _))| {
        let median = median(rows.iter().filter_map(|costs| costs[number]).collect());
        format!("{name} {}", median.map_or("-".to_owned(), |median| format!("{median:.0}")))
    });
    let summary = format!("median BPF instructions per switch: {}", medians.collect::<Vec<_>>().join(", "));
    Ok(Page { table, legend: LEGEND, summary: vec![summary] })
}

/// The middle value, the upper one of two; `None` of none.
fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_values_are_below_the_median() {
        assert_eq!(median(vec![5.0, 1.0, 3.0]), Some(3.0));
        assert_eq!(median(Vec::new()), None);
    }
}
