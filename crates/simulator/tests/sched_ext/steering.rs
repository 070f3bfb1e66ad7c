// SPDX-License-Identifier: MIT OR Apache-2.0
//! The slow loop beside a scheduler with a mode, where the processor chooses clocks: what it comes to on an i9-12900k, whose
//! fastest P-core has 5200 MHz alone.

use std::path::Path;

use tandem_simulator::machine::Machine;
use tandem_simulator::metrics::Report;
use tandem_simulator::simulation::{Governor, Options, Scheduler};
use tandem_simulator::workload::Workload;

use super::support::open_with;
use crate::common;

fn run(tasks: &str, settings: &str, governor: &str) -> Report {
    let text = format!("{{\"tasks\": {{ {tasks} }}}}");
    let workload = Workload::parse(Path::new("steered.json"), &text).unwrap();
    let scheduler = Scheduler::SchedExt(open_with("steered", settings, include_str!("../bpf/steered.toml")));
    let governor: Governor = governor.parse().unwrap();
    let machine = Machine::load("i9-12900k").unwrap();
    common::run_with(&machine, &workload, &Options { scheduler, governor, ..Options::default() })
}

fn of(mode: &str, tasks: &str) -> Report {
    run(tasks, &format!("mode={mode}"), "default")
}

/// A second of the fastest CPU.
const COMPUTES: &str = r#""computes": { "loop": 1, "run": 1000000 }"#;

fn wish(report: &Report) -> &str {
    let states = &report.sched_ext.as_ref().unwrap().states;
    states.iter().find(|(name, _)| name == "wish").map_or("", |(_, state)| state)
}

fn changes(report: &Report) -> Option<u64> {
    let statistics = &report.sched_ext.as_ref().unwrap().statistics;
    statistics.iter().find(|(name, _)| name == "steering_changes").map(|(_, count)| *count)
}

/// EPP 176 lets firmware go to 160 / 176 of 5200 MHz, which is 4727: 4700 is the closest point. The core then draws
/// 16.0 W in place of 22.3; what the ring draws, which has its highest clock either way, lasts a tenth longer.
#[test]
fn a_wish_to_save_slows_what_computes_by_a_tenth() {
    let (none, saves) = (of("none", COMPUTES), of("powersave", COMPUTES));
    let ratio = saves.time_s / none.time_s;
    assert!((ratio - 5200.0 / 4700.0).abs() < 0.01, "{ratio}");
    assert!(saves.energy_j.cores < 0.85 * none.energy_j.cores, "{} {}", saves.energy_j.cores, none.energy_j.cores);
}

/// 100 us in each 10 ms: firmware would see a hundredth of a millisecond busy and stay low; at EPP 0 it goes to the top. Some of
/// it runs on E-cores.
#[test]
fn a_wish_for_speed_has_the_highest_clock_at_once() {
    let light = r#""light": { "loop": 100, "run": 100, "timer": { "ref": "t", "period": 10000 } }"#;
    let busy = |report: &Report| report.cpus.iter().map(|cpu| cpu.busy_s).sum::<f64>();
    let (none, fast) = (of("none", light), of("performance", light));
    assert!(busy(&fast) < 0.8 * busy(&none), "{} s, {} s", busy(&fast), busy(&none));
}

#[test]
fn the_scheduler_hears_what_is_wished_and_of_nothing_without_a_mode() {
    let heard = |mode| wish(&of(mode, COMPUTES)).to_owned();
    let told = ["none", "auto", "performance", "balanced", "powersave"].map(heard);
    assert_eq!(told, ["untold", "balanced", "performance", "balanced", "powersave"]);
}

/// Where a person has set EPP, that is what `auto` comes to; and what saves already is not told to save less.
#[test]
fn auto_is_what_the_preference_that_was_found_says() {
    let found = |epp: &str| run(COMPUTES, "mode=auto", &format!("intel_pstate=powersave,epp={epp}"));
    assert_eq!(
        ["performance", "balance_performance", "power"].map(|epp| wish(&found(epp)).to_owned()),
        ["performance", "balanced", "powersave"]
    );
    // Ten clocks: the lowest clock of each. The preference stays where it was.
    assert_eq!(["performance", "power"].map(|epp| changes(&found(epp))), [Some(10), Some(10)]);
    let alone = run(COMPUTES, "", "intel_pstate=powersave,epp=power");
    assert_eq!(found("power").time_s, alone.time_s);
}

/// In passive mode a governor of the kernel's decides: the scheduler hears the wish of its mode, and nothing is turned.
#[test]
fn in_passive_mode_nothing_is_turned() {
    let passive = run(COMPUTES, "mode=powersave", "schedutil");
    assert_eq!((wish(&passive), changes(&passive)), ("powersave", None));
}
