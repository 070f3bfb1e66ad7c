// SPDX-License-Identifier: GPL-2.0-only
//! Threads are switched and migrated as often in the simulator as in a kernel: the cases of `scenarios/switches`, compared.
//!
//! `scenarios/switches/kernel` has what a kernel counted, as `guest/switches` recorded it; `SWITCHES=FOLDER` names another recording.
//! `cargo test -p tandem-sched --test all switches:: -- --nocapture` prints the table of docs/fidelity.md.

pub mod case;
pub mod simulated;

use case::{Case, Counts};
use tandem_simulator::simulation::KernelParameters;

use crate::fidelity::simulated::opened;
use crate::recorded;

/// The simulator's runs, of which the mean counts.
const SEEDS: u64 = 5;
/// By which share of the kernel's number the simulator's may differ.
const APART: f64 = 0.1;
/// Numbers below this a second are too few to compare by their ratio; they may differ by so much.
const FEW: f64 = 5.0;

fn is_near(kernel: f64, here: f64) -> bool {
    (here - kernel).abs() <= FEW.max(APART * kernel)
}

/// The mean over all seeds.
fn simulated(case: &Case, scheduler: &str) -> Counts {
    let opened = opened(scheduler);
    let kernel = KernelParameters::default();
    let runs: Vec<Counts> = (0..SEEDS).map(|seed| simulated::run(case, &opened, &kernel, seed).counts).collect();
    let mean = |of: fn(&Counts) -> f64| runs.iter().map(of).sum::<f64>() / SEEDS as f64;
    Counts { switches: mean(|run| run.switches), migrations: mean(|run| run.migrations) }
}

mod long {
    use super::*;

    #[test]
    fn threads_are_switched_and_migrated_as_often_as_in_a_kernel() {
        let mut wrong = Vec::new();
        println!(
            "| case | scheduler | switches per s: kernel | simulator | ratio | migrations per s: kernel | simulator | ratio |"
        );
        println!("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |");
        for case in recorded::cases::<Case>("switches") {
            for (scheduler, kernel) in case.schedulers.iter().zip(case.kernel("switches", "SWITCHES")) {
                let kernel = kernel.counts(&case);
                let here = simulated(&case, scheduler);
                let known = case.known.contains(scheduler);
                let ratio =
                    |kernel: f64, here: f64| if kernel > 0.0 { format!("{:.2}", here / kernel) } else { String::new() };
                let columns = |kernel: f64, here: f64| format!("{kernel:.1} | {here:.1} | {}", ratio(kernel, here));
                let row = format!(
                    "| {}{} | `{scheduler}` | {} | {} |",
                    case.name,
                    if known { " (known)" } else { "" },
                    columns(kernel.switches, here.switches),
                    columns(kernel.migrations, here.migrations),
                );
                println!("{row}");
                let near = is_near(kernel.switches, here.switches) && is_near(kernel.migrations, here.migrations);
                if !near && !known {
                    wrong.push(row);
                }
            }
        }
        assert!(wrong.is_empty(), "the simulator and the kernel differ:\n{}", wrong.join("\n"));
    }
}
