// SPDX-License-Identifier: GPL-2.0-only
//! What decisions cost: BPF instructions per context switch, the median over the bundled workloads.

use rayon::prelude::*;
use tandem_simulator::machine::Machine;
use tandem_simulator::metrics::Report;
use tandem_simulator::observer::NoObserver;
use tandem_simulator::simulation::{Scheduler, simulate};

use super::scheduler::{MECHANISMS, machine, open, options, tandem, workloads};
use crate::compiled::object_path;

/// What happens once, or once in a thread's life.
const RARE: [&str; 7] = ["init", "exit", "init_task", "exit_task", "enable", "disable", "set_cpumask"];
/// Most that the scheduler with everything off may cost, over what scx_simple does.
const MOST: f64 = 1.5;

/// Instructions of all callbacks and other programs, per context switch.
fn instructions_per_switch(report: &Report) -> f64 {
    let callbacks = report.sched_ext.as_ref().unwrap().callbacks.iter();
    let often = callbacks.filter(|(name, _)| !RARE.contains(&name.as_str()));
    often.map(|(_, callback)| callback.instructions).sum::<u64>() as f64 / report.switches as f64
}

/// Median, least and most over the workloads.
fn cost(machine: &Machine, scheduler: &Scheduler) -> [f64; 3] {
    let run = |workload| {
        let report = simulate(machine, workload, &options(scheduler.clone(), 0), &mut NoObserver).unwrap();
        instructions_per_switch(&report)
    };
    let mut costs: Vec<f64> = workloads(5).par_iter().map(run).collect();
    costs.sort_by(f64::total_cmp);
    [costs[costs.len() / 2], costs[0], costs[costs.len() - 1]]
}

#[test]
fn with_everything_off_it_costs_at_most_half_more_than_scx_simple() {
    let mut schedulers = vec![("scx_simple", open(&object_path("scx_simple").display().to_string()))];
    schedulers.push(("tandem", tandem("")));
    schedulers.extend(MECHANISMS.iter().map(|setting| (*setting, tandem(setting))));
    schedulers.push(("all=true", tandem("all=true")));
    for name in ["smp-8", "hikey960"] {
        let machine = machine(name);
        let costs: Vec<_> = schedulers.iter().map(|(_, scheduler)| cost(&machine, scheduler)).collect();
        println!("{name:<18} median  least to most, instructions per context switch");
        for ((scheduler, _), [median, least, most]) in schedulers.iter().zip(&costs) {
            println!("{scheduler:<18} {median:>6.0}  {least:.0} to {most:.0}");
        }
        let (simple, off) = (costs[0][0], costs[1][0]);
        assert!(off <= MOST * simple, "{off} instructions on {name}, scx_simple {simple}");
    }
}
