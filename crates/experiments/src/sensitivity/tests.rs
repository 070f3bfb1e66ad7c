// SPDX-License-Identifier: MIT OR Apache-2.0
//! A machine whose joules and seconds can be reckoned in the head.

use std::path::Path;

use tandem_simulator::metrics::Report;
use tandem_simulator::observer::Observer;
use tandem_simulator::simulation::{Options, SimulationError};

use super::*;
use crate::fixture::Counted;
use crate::{Choice, FairOrObject, Linux, Silent};

/// A CPU of 1 GHz and 4 W, or at half of that clock 2 W, and one that does half as much at the same clock. Idling takes nothing.
/// Memory takes 1 W, whatever is moved.
const MACHINE: &str = r#"
schema = 1
title = "One fast CPU and a slow one"
[core_type.fast]
ipc = 2
memory_speed = 1
stall_activity = 0.5
source = "assumed"
[core_type.slow]
ipc = 1
memory_speed = 0.5
stall_activity = 0.5
source = "assumed"
[opp_table.fast]
transition_latency_us = 0
opps = [{ mhz = 500, watts = 2 }, { mhz = 1000, watts = 4 }]
source = "a data sheet"
sources.watts = "assumed: plausible"
[opp_table.slow]
transition_latency_us = 0
opps = [{ mhz = 1000, watts = 4 }]
source = "a data sheet"
sources.watts = "measured"
[idle_table.off]
states = [{ name = "off", entry_us = 0, exit_us = 0, residency_us = 0, watts = 0 }]
source = "assumed"
[memory.dram]
gb_per_s = 10
thread_gb_per_s = 5
contention = 0.5
static_watts = 1
nj_per_byte = 0.1
source = "assumed"
[package.soc]
uncore_watts = 0
uncore_idle_watts = 0
source = "a data sheet"
[[cluster]]
name = "fast"
package = "soc"
core_type = "fast"
cores = 1
opp_table = "fast"
idle_table = "off"
performance_domain = "cpu"
memory = "dram"
static_watts = 0
source = "assumed"
[[cluster]]
name = "slow"
package = "soc"
core_type = "slow"
cores = 1
opp_table = "slow"
idle_table = "off"
performance_domain = "cpu"
memory = "dram"
static_watts = 0
source = "a data sheet"
[platform]
watts = 0
supply_efficiency = 1
source = "a data sheet"
[scheduling]
context_switch_us = 0
migration_us = 0
migration_llc_us = 0
tick_us = 0
source = "a data sheet"
"#;

fn description(text: &str) -> Description {
    Description { name: "two".to_owned(), path: "two.toml".into(), text: text.to_owned(), configuration: None }
}

/// A thread that computes for 1 s of the fast CPU on the CPU with this number.
fn on_cpu(cpu: u32) -> Workload {
    let text = format!(r#"{{ "tasks": {{ "a": {{ "cpus": [{cpu}], "loop": 1, "run": 1000000 }} }} }}"#);
    Workload::parse(Path::new("a.json"), &text).unwrap()
}

fn sensitivity(text: &str, workload: &Workload, pairs: &[&str], which: Which) -> Sensitivity {
    sensitivity_by(&Linux, text, workload, pairs, which)
}

fn sensitivity_by(
    simulator: &dyn Simulator,
    text: &str,
    workload: &Workload,
    pairs: &[&str],
    which: Which,
) -> Sensitivity {
    sensitivity_over(&[0], simulator, text, workload, (pairs, which))
}

fn sensitivity_over(
    seeds: &[u64],
    simulator: &dyn Simulator,
    text: &str,
    workload: &Workload,
    (pairs, which): (&[&str], Which),
) -> Sensitivity {
    let pairs: Vec<Pair> = pairs.iter().map(|pair| Choice::parse(pair, &FairOrObject).unwrap().pair()).collect();
    let runs = SensitivityRuns {
        description: &description(text),
        workload,
        scenario: &Scenario::default(),
        pairs: &pairs,
        seeds,
        which,
    };
    runs.run(simulator, &Silent).unwrap()
}

fn of<'s>(sensitivity: &'s Sensitivity, table: &str, key: &str) -> &'s MovedValue {
    let found = sensitivity.moved.iter().find(|moved| (&*moved.value.table, &*moved.value.key) == (table, key));
    found.unwrap_or_else(|| panic!("{table} {key} was not moved"))
}

/// Elasticities of time and energy of the only pair.
fn elasticities(sensitivity: &Sensitivity, table: &str, key: &str) -> (f64, f64) {
    let only = of(sensitivity, table, key).elasticities[0];
    (only.time.unwrap().mean, only.energy.unwrap().mean)
}

fn same(found: (f64, f64), expected: (f64, f64)) {
    let near = (found.0 - expected.0).abs() < 1e-6 && (found.1 - expected.1).abs() < 1e-6;
    assert!(near, "{found:?} are not {expected:?}");
}

#[test]
fn energy_goes_with_a_power_by_its_share() {
    // 1 s of 4 W and 1 W.
    let found = sensitivity(MACHINE, &on_cpu(0), &["fair+performance"], Which::Assumed);
    same(elasticities(&found, "opp_table.fast", "opps.watts"), (0.0, 0.8));
    same(elasticities(&found, "memory.dram", "static_watts"), (0.0, 0.2));
    let first: Vec<&str> = found.moved.iter().take(2).map(|moved| moved.value.key.as_str()).collect();
    assert_eq!(first, ["opps.watts", "static_watts"], "the largest first");
    // Nothing computes on the slow CPU, and nothing goes to memory.
    for (table, key) in [
        ("memory.dram", "gb_per_s"),
        ("memory.dram", "contention"),
        ("core_type.slow", "memory_speed"),
        ("core_type.fast", "stall_activity"),
    ] {
        same(elasticities(&found, table, key), (0.0, 0.0));
    }
}

#[test]
fn time_goes_against_work_per_clock() {
    // The slow CPU takes 2 s: 10 J. The work is that of 1 s on the fast one, whatever the slow one does.
    let found = sensitivity(MACHINE, &on_cpu(1), &["fair+performance"], Which::Assumed);
    same(elasticities(&found, "core_type.slow", "ipc"), (-1.0, -1.0));
    // A fast CPU that does more makes the work more: a slow one then takes longer.
    same(elasticities(&found, "core_type.fast", "ipc"), (1.0, 1.0));
    same(elasticities(&found, "opp_table.fast", "opps.watts"), (0.0, 0.0));
    let all = sensitivity(MACHINE, &on_cpu(1), &["fair+performance"], Which::All);
    same(elasticities(&all, "opp_table.slow", "opps.mhz"), (-1.0, -1.0));
    same(elasticities(&all, "opp_table.slow", "opps.watts"), (0.0, 0.8));
}

#[test]
fn a_value_may_decide_who_wins_and_another_may_not() {
    // At half of the clock 0.9 W, and memory of m W: 4 + m J in 1 s, or 1.8 + 2 m J in 2 s. Equal at 2.2 W.
    let pairs = ["fair+performance", "fair+powersave"];
    let cheap_below = MACHINE.replace("mhz = 500, watts = 2", "mhz = 500, watts = 0.9");
    let with = |memory: &str| cheap_below.replace("static_watts = 1\n", &format!("static_watts = {memory}\n"));
    let near = sensitivity(&with("2.3"), &on_cpu(0), &pairs, Which::Assumed);
    let turns = &of(&near, "memory.dram", "static_watts").turns;
    let by_energy: Vec<&Turn> = turns.iter().filter(|turn| turn.metric == Metric::Energy).collect();
    let [turn] = by_energy.as_slice() else { panic!("{turns:?}") };
    assert_eq!((turn.was_better.to_string(), turn.is_better.to_string()), (pairs[0].to_owned(), pairs[1].to_owned()));
    assert!(turn.wins && turn.share < 0.0, "{turn:?}");
    // By time and by EDP the higher clock stays the better one.
    assert_eq!(turns.len(), 1);
    let far = sensitivity(&with("3"), &on_cpu(0), &pairs, Which::Assumed);
    assert!(far.moved.iter().all(|moved| moved.turns.is_empty()));
    // 3 of 7 J, and 6 of 7.8 J: of both pairs the larger counts.
    let memory = of(&far, "memory.dram", "static_watts");
    assert!((memory.energy().unwrap().mean - 6.0 / 7.8).abs() < 1e-6 && memory.elasticities.len() == 2);
}

#[test]
fn a_value_is_moved_as_far_as_the_file_allows() {
    let text = MACHINE.replace("supply_efficiency = 1\n", "supply_efficiency = 0.9\n");
    let found = sensitivity(&text, &on_cpu(0), &["fair+performance"], Which::All);
    let efficiency = of(&found, "platform", "supply_efficiency");
    // Up to 1: a ninth.
    let larger = efficiency.larger.unwrap();
    assert!(larger <= 1.0 / 9.0 && larger > 1.0 / 9.0 - 1e-3, "{larger}");
    assert!((efficiency.smaller.unwrap() + 0.2).abs() < 1e-12);
    same(elasticities(&found, "platform", "supply_efficiency"), (0.0, -1.0));
    // At its limit it only goes down.
    let found = sensitivity(MACHINE, &on_cpu(0), &["fair+performance"], Which::All);
    assert_eq!(of(&found, "platform", "supply_efficiency").larger, None);
    // That way, and half of it: the law is found all the same.
    same(elasticities(&found, "platform", "supply_efficiency"), (0.0, -1.0));
}

#[test]
fn what_cannot_be_moved_says_why() {
    let found = sensitivity(MACHINE, &on_cpu(0), &["fair+performance"], Which::All);
    let why = |table: &str, key: &str| {
        let not = found.not_moved.iter().find(|(value, _)| (&*value.table, &*value.key) == (table, key));
        not.unwrap_or_else(|| panic!("{table} {key} was moved")).1.clone()
    };
    assert_eq!(why("cluster.fast", "performance_domain"), NotMoved::Word);
    assert_eq!(why("cluster.fast", "cores"), NotMoved::Counts);
    assert_eq!(why("cluster.fast", "static_watts"), NotMoved::Nothing);
    assert!(matches!(why("core_type.fast", "memory_speed"), NotMoved::Refused(_)));
    assert_eq!(found.moved.len() + found.not_moved.len(), found.values);
}

/// 10 J and those of the memory, and what the slow CPU does more per clock than 1, of odd seeds less.
struct Restless;

impl Simulator for Restless {
    fn simulate(
        &self,
        machine: &Machine,
        workload: &Workload,
        options: &Options,
        observer: &mut dyn Observer,
    ) -> Result<Report, SimulationError> {
        let mut report = Linux.simulate(machine, workload, options, observer)?;
        let sign = if options.seed.is_multiple_of(2) { 1.0 } else { -1.0 };
        let of_memory = machine.memory_domains[0].static_watts;
        report.energy_j.total = 10.0 + sign * (machine.core_types[1].ipc - 1.0) + of_memory;
        Ok(report)
    }
}

#[test]
fn what_differs_from_seed_to_seed_is_chance() {
    let found = sensitivity_over(&[0, 1], &Restless, MACHINE, &on_cpu(0), (&["fair"], Which::Assumed));
    // 1 of 11 J with either seed.
    let energy = of(&found, "memory.dram", "static_watts").energy().unwrap();
    assert!((energy.mean - 1.0 / 11.0).abs() < 1e-6 && energy.half_width.unwrap() < 1e-6, "{energy:?}");
    // 1 of 11 J more with one seed, and less with the other: 0 ± 12.706 · √2/11 / √2.
    let chance = of(&found, "core_type.slow", "ipc");
    let energy = chance.energy().unwrap();
    assert!(energy.mean.abs() < 1e-6 && (energy.half_width.unwrap() - 12.706 / 11.0).abs() < 1e-3, "{energy:?}");
    assert!(chance.weight() == 0.0 && found.moved[0].value.key == "static_watts");
}

#[test]
fn each_value_takes_two_runs_of_each_pair_and_seed() {
    let counting = Counted::default();
    let found = sensitivity_by(&counting, MACHINE, &on_cpu(0), &["fair", "fair+powersave"], Which::Assumed);
    // Two steps, two pairs, one seed.
    assert_eq!(found.runs, 2 * 2 * found.moved.len());
    assert_eq!(counting.0.into_inner(), found.runs + 2, "and those with all as the file says");
    assert_eq!(found.assumed, found.moved.len() + found.not_moved.len());
}
