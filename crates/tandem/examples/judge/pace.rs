// SPDX-License-Identifier: GPL-2.0-only
//! How slow a run was: by its time, or, where timers set the end, by what was done meanwhile.

use tandem_simulator::machine::Machine;
use tandem_simulator::metrics::Report;
use tandem_simulator::workload::Workload;

use crate::contest::{Contest, Outcome};
use crate::workloads::{set_by_timers, with_work};

/// Seeds by which it is decided what sets a workload's end.
const ENDS: usize = 3;

/// Seconds per round and per work where timers set the end, else seconds.
pub fn slowness(report: &Report, by_timers: bool) -> Vec<f64> {
    match by_timers {
        true => vec![1.0 / report.timing.rounds_per_s, 1.0 / report.throughput],
        false => vec![report.time_s],
    }
}

/// Whether timers set the end under fair: with less work, it hardly comes sooner.
pub fn ends_by_timers(contest: &Contest<'_>, machine: &Machine, workload: &Workload) -> Outcome<bool> {
    let less = with_work(workload, 90);
    let time = |workload: &Workload| -> Outcome<f64> {
        let run = |number| Ok(contest.run((machine, workload), &contest.fair, number, None)?.time_s);
        (0..ENDS).map(run).sum()
    };
    Ok(set_by_timers(time(workload)?, time(&less)?))
}
