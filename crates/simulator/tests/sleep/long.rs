// SPDX-License-Identifier: MIT OR Apache-2.0
//! The same of all bundled machines.

use super::{load, run, run_seeded, sleeper, with_over_without};
use tandem_simulator::machine::{Cluster, IdleScope, Machine, catalogue};
use tandem_simulator::units::{CpuId, SEC};
use tandem_simulator::workload::bundled::BUNDLED;

/// Machines with more than one idle state.
fn that_sleep() -> impl Iterator<Item = Machine> {
    let machines = catalogue::names().map(load);
    machines.filter(|machine| machine.clusters.iter().any(|cluster| cluster.idle_states.len() > 1))
}

/// Whether the description says that `state` saves anything over the next shallower one.
fn saves(machine: &Machine, cluster: &Cluster, state: usize) -> bool {
    let [above, idle] = [state - 1, state].map(|state| &cluster.idle_states[state]);
    let domain = machine.cpus[machine.cores[cluster.cores[0].index()].cpus[0].index()].performance_domain;
    let highest = machine.performance_domains[domain.index()].opps.last().and_then(|opp| opp.static_watts);
    let stops = idle.scope == IdleScope::Cluster && highest.unwrap_or(cluster.static_watts) > idle.cluster_watts;
    idle.watts < above.watts || stops
}

/// How much cheaper a run of sleeps of `share` residencies is if the state may be used.
fn gain(machine: &Machine, cluster: usize, state: usize, governor: &str, share: f64) -> f64 {
    let mut without = machine.clone();
    for state in &mut without.clusters[cluster].idle_states[state..] {
        state.told_residency = 9 * SEC;
    }
    let cpu: CpuId = machine.cores[machine.clusters[cluster].cores[0].index()].cpus[0];
    let asleep = (machine.clusters[cluster].idle_states[state].residency as f64 * share) as u64;
    let (text, deepest) = (sleeper(cpu, asleep), state.to_string());
    let settings = [("max_cstate", deepest.as_str()), ("cpuidle_governor", governor)];
    let energy = |machine| run(machine, &text, "performance", &settings).energy_j.total;
    energy(&without) / energy(machine) - 1.0
}

/// The break-even of each state under the whole simulation, its governor and what else sleeps included, is its residency within a
/// factor of two: half of it does not pay, twice as long does.
#[test]
fn every_state_pays_from_about_its_residency_on() {
    for machine in that_sleep() {
        let mut seen = Vec::new();
        for (index, cluster) in machine.clusters.iter().enumerate() {
            if seen.contains(&&cluster.idle_states) {
                continue;
            }
            seen.push(&cluster.idle_states);
            for state in (1..cluster.idle_states.len()).filter(|state| saves(&machine, cluster, *state)) {
                for governor in ["menu", "teo"] {
                    let [half, twice] = [0.5, 2.0].map(|share| gain(&machine, index, state, governor, share));
                    let what = format!("{} {} {governor}", machine.name, cluster.idle_states[state].name);
                    assert!(half <= 1e-4, "{what}: half of its residency saves {half}");
                    assert!(twice > 0.0, "{what}: twice its residency saves {twice}");
                }
            }
        }
    }
}

/// Four threads that meet at a barrier after `work` us each, 5 ms in all.
fn at_barriers(work: u32) -> String {
    let rounds = 5_000 / work;
    format!(r#"{{ "tasks" : {{ "t" : {{ "instance" : 4, "loop" : {rounds}, "run" : {work}, "barrier" : "b" }} }} }}"#)
}

/// Machines on which the menu governor takes the waits at these barriers for long ones: its last eight pauses do not agree with each
/// other, as each thread waits for another cluster's wakeup, and then it believes the timer, of which there is none.
const MENU_IS_WRONG: [(&str, u32); 4] = [("hikey960", 100), ("hikey960", 500), ("rk3399", 100), ("rk3399", 500)];

#[test]
fn short_waits_at_barriers_cost_no_more_with_idle_states() {
    for machine in that_sleep() {
        for (governor, work) in
            ["menu", "teo"].into_iter().flat_map(|governor| [10, 100, 500].map(|work| (governor, work)))
        {
            let (time, energy) = with_over_without(&machine, &at_barriers(work), governor);
            let fine = time <= 1.10 && energy <= 1.03;
            let known = governor == "menu" && MENU_IS_WRONG.contains(&(machine.name.as_str(), work));
            assert_eq!(
                fine, !known,
                "{} {governor}, {work} us: {time} of the time, {energy} of the energy",
                machine.name
            );
        }
    }
}

/// Each bundled workload as its machine's own Linux runs it, the mean of three seeds. `locks` is the exception, on two machines with
/// regard to time: its threads hand on two mutexes, each that gets one leaves an idle state first, and all others wait behind it.
/// How long they wait depends on how many do, so that no governor foresees it. docs/models.md has the numbers (Idle states).
#[test]
fn bundled_workloads_take_little_more_with_idle_states() {
    for machine in that_sleep() {
        for (name, text) in BUNDLED {
            let ratios = [0, 1, 2].map(|seed| {
                let run = |cpuidle| run_seeded(&machine, text, "default", &[("cpuidle", cpuidle)], seed);
                let (with, without) = (run("true"), run("false"));
                (with.time_s / without.time_s, with.energy_j.total / without.energy_j.total)
            });
            let mean = |of: fn(&(f64, f64)) -> f64| ratios.iter().map(of).sum::<f64>() / 3.0;
            let (time, energy) = (mean(|it| it.0), mean(|it| it.1));
            let (slowest, most) = if *name == "locks" { (1.5, 1.1) } else { (1.1, 1.05) };
            assert!(time <= slowest && energy <= most, "{name} on {}: {time} and {energy}", machine.name);
        }
    }
}
