// SPDX-License-Identifier: MIT OR Apache-2.0
use super::*;
use crate::machine::{Machine, catalogue};
use crate::units::USEC;
use std::path::Path;

fn machine(name: &str) -> Machine {
    Machine::load(name).unwrap()
}

fn big(machine: &Machine) -> (&Cluster, &Opp) {
    let cpu = machine.reference.cpu;
    let domain = &machine.performance_domains[machine.cpus[cpu.index()].performance_domain.index()];
    (machine.cluster(cpu), domain.opps.last().unwrap())
}

/// Energy of a stay of `time` in `state` until the first instruction: of the core, and of the cluster with `and_cluster`.
fn stay(cluster: &Cluster, opp: &Opp, state: usize, time: Nanos, and_cluster: bool) -> f64 {
    let idle = &cluster.idle_states[state];
    let first = opp.idle_watts.unwrap_or(cluster.idle_states[0].watts);
    let watts = if state == 0 { first } else { idle.watts };
    let time = seconds(time + idle.typical_exit);
    let core = core_joules(cluster, opp)[cluster.core_state(state)] + watts * time;
    let awake = opp.static_watts.unwrap_or(cluster.static_watts);
    let asleep = if idle.scope == IdleScope::Cluster { idle.cluster_watts } else { awake };
    core + f64::from(and_cluster) * (cluster_joules(cluster, opp)[state] + asleep * time)
}

#[test]
fn a_stay_of_the_residency_costs_as_much_as_in_the_next_shallower_state() {
    for name in catalogue::names() {
        let machine = machine(name);
        let (cluster, opp) = big(&machine);
        for deeper in 1..cluster.idle_states.len() {
            let residency = cluster.idle_states[deeper].residency;
            let [above, state] = [deeper - 1, deeper].map(|state| &cluster.idle_states[state]);
            let cluster_stops = state.scope == IdleScope::Cluster;
            let stopped = opp.static_watts.unwrap_or(cluster.static_watts) - state.cluster_watts;
            let saves_nothing = if cluster_stops { stopped == 0.0 } else { state.watts == above.watts };
            if saves_nothing {
                // Where only the package saves anything, or nothing is known, there is nothing to compare.
                continue;
            }
            let energy = |state| stay(cluster, opp, state, residency, cluster_stops);
            let (shallow, deep) = (energy(deeper - 1), energy(deeper));
            let both_even = (deep - shallow).abs() <= 1e-9 * shallow;
            assert!(both_even, "{name} {}: {deep} J for its residency, {shallow} J above", state.name);
        }
    }
}

#[test]
fn sleeping_pays_from_the_residency_on() {
    // 1 W in the first state, 0.25 W in the second, which takes 1 ms to pay: 0.75 mJ for the way in and out.
    let text = |extra: &str| {
        let states = format!(
            "[\n{{ name = \"C1\", entry_us = 0, exit_us = 0, residency_us = 0, watts = 1 }},\n\
             {{ name = \"C2\", entry_us = 100, exit_us = 200, {extra}residency_us = 1000, watts = 0.25 }},\n]"
        );
        let file = catalogue::text("smp-8").unwrap();
        let one = "[{ name = \"C1\", entry_us = 0, exit_us = 0, residency_us = 0, watts = 1 }]";
        assert!(file.contains(one));
        Machine::parse("two", Path::new("two.toml"), &file.replace(one, &states), None).unwrap()
    };
    let slow = text("");
    let (cluster, opp) = big(&slow);
    // Leaving takes 200 us, at 0.25 W: 0.75 mJ less 0.05.
    assert!((core_joules(cluster, opp)[1] - 0.70e-3).abs() < 1e-12);
    let fast = text("typical_entry_us = 50, typical_exit_us = 100, ");
    assert!((core_joules(big(&fast).0, opp)[1] - 0.725e-3).abs() < 1e-12);
    let state = &big(&fast).0.idle_states[1];
    let latency = |elapsed| wakeup_latency(state, elapsed) / USEC;
    assert_eq!([0, 10 * USEC, 50 * USEC, 500 * USEC].map(latency), [0, 20, 100, 100]);
    assert_eq!([0, 10 * USEC, 500 * USEC].map(|elapsed| entered(state, elapsed)), [0.0, 0.2, 1.0]);
}

#[test]
fn a_transition_costs_as_clock_cycles_do() {
    // hikey960's A73: 165.5 mW at 903 MHz, 1166.7 mW at 2362 MHz. With the square of the voltage it would be 0.405.
    let machine = machine("hikey960");
    let (_, highest) = big(&machine);
    let domain = &machine.performance_domains[machine.cpus[machine.reference.cpu.index()].performance_domain.index()];
    let expected = (0.1655 / 903.0) / (1.1667 / 2362.0);
    assert!((scale(&domain.opps[0], highest) - expected).abs() < 1e-3, "{}", scale(&domain.opps[0], highest));
}
