// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every machine of the catalogue, shown as its kernel would show it, is described as the same machine.

use std::path::Path;

use crate::detect_tree::{Tree, describe};
use tandem_simulator::machine::{Machine, PerformanceDomain, catalogue};
use tandem_simulator::units::CpuId;

/// A CPU list as the kernel may write it, but without ranges: both spellings must be readable.
fn list(cpus: &[CpuId]) -> String {
    cpus.iter().map(CpuId::to_string).collect::<Vec<_>>().join(",")
}

/// What the kernel shows of a CPU's speed: its capacity, which on Arm is all that can be known without measuring; on x86 the
/// speed, as if it had been measured.
fn shown_speed(machine: &Machine, id: CpuId) -> u32 {
    let cpu = &machine.cpus[id.index()];
    if machine.platform.cpufreq_driver.is_none() { cpu.capacity } else { cpu.speed }
}

/// The files that `machine`'s kernel would show.
fn files(machine: &Machine) -> Tree {
    let all: Vec<CpuId> = (0..machine.cpus.len()).map(CpuId::at).collect();
    let mut tree = Tree::with_online(&list(&all)).file("proc/cpuinfo", "processor : 0\nmodel name : Sample");
    for cpu in all {
        tree = cpu_files(tree, machine, cpu);
    }
    for (index, domain) in machine.performance_domains.iter().enumerate() {
        tree = domain_files(tree, index, domain);
        if let Some(driver) = machine.platform.cpufreq_driver {
            tree = tree.policy_file(index as u32, "scaling_driver", driver.name());
        }
    }
    let nodes: std::collections::BTreeSet<u32> = machine.cpus.iter().map(|cpu| cpu.node).collect();
    nodes.into_iter().fold(tree, |tree, node| {
        let cpus = machine.cpus.iter().enumerate().filter(|(_, cpu)| cpu.node == node);
        let cpus: Vec<CpuId> = cpus.map(|(index, _)| CpuId::at(index)).collect();
        tree.file(&format!("sys/devices/system/node/node{node}/cpulist"), list(&cpus))
    })
}

fn cpu_files(tree: Tree, machine: &Machine, id: CpuId) -> Tree {
    let cpu = &machine.cpus[id.index()];
    let cluster = machine.cluster(id);
    let mut tree = tree.topology(id.0, cluster.package.0, &list(&machine.cores[cpu.core.index()].cpus)).cpu(
        id.0,
        "cpu_capacity",
        shown_speed(machine, id),
    );
    if cpu.itmt_priority > 0 {
        tree = tree.cpu(id.0, "acpi_cppc/highest_perf", cpu.itmt_priority);
    }
    if let Some(cache) = cpu.llc.map(|llc| &machine.caches[llc.index()]) {
        tree = tree.cache(&[id.0], cache.level, &format!("{}K", cache.bytes / 1024), &list(&cache.cpus));
    }
    for (index, state) in cluster.idle_states.iter().enumerate() {
        let (latency, residency) = ((state.entry + state.exit) / 1000, state.residency / 1000);
        tree = tree.idle(&[id.0], index as u32, &state.name, latency as u32, residency as u32);
    }
    tree
}

fn domain_files(tree: Tree, index: usize, domain: &PerformanceDomain) -> Tree {
    let clocks: Vec<u32> = domain.opps.iter().map(|opp| opp.khz).collect();
    let power = domain.opps.iter().map(|opp| ((opp.dynamic_watts + opp.leakage_watts) * 1e6).round() as u64);
    let states: Vec<(u32, u64)> = clocks.iter().copied().zip(power).collect();
    let cpus = list(&domain.cpus);
    tree.policy(index as u32, &cpus, clocks[0], clocks[clocks.len() - 1])
        .policy_file(index as u32, "cpuinfo_transition_latency", domain.transition_latency)
        .energy_model(&format!("cpu{index}"), &cpus, "ps", &states)
}

/// The properties of each CPU that must come back: siblings, CPUs of its cache and of its clock, clocks, node, states.
fn seen(machine: &Machine, id: CpuId) -> impl PartialEq + std::fmt::Debug + use<> {
    let cpu = &machine.cpus[id.index()];
    let cache =
        cpu.llc.map(|llc| machine.caches[llc.index()].clone()).map(|cache| (cache.level, cache.bytes, cache.cpus));
    let domain = &machine.performance_domains[cpu.performance_domain.index()];
    let clocks: Vec<u32> = domain.opps.iter().map(|opp| opp.khz).collect();
    let siblings = machine.cores[cpu.core.index()].cpus.clone();
    let states: Vec<String> = machine.cluster(id).idle_states.iter().map(|state| state.name.clone()).collect();
    (siblings, cache, domain.cpus.clone(), clocks, cpu.node, machine.cluster(id).package, states)
}

fn busy_watts(machine: &Machine, id: CpuId) -> f64 {
    let domain = &machine.performance_domains[machine.cpus[id.index()].performance_domain.index()];
    domain.opps.last().map_or(0.0, |opp| opp.dynamic_watts + opp.leakage_watts)
}

mod long {
    use super::*;

    #[test]
    fn every_machine_of_the_catalogue_comes_back() {
        for name in catalogue::names() {
            let machine = Machine::load(name).expect("a bundled machine");
            let (detected, _) = describe(&files(&machine));
            let found =
                Machine::parse(name, Path::new("found.toml"), &detected.toml, None).expect("a valid description");
            assert_eq!(found.cpus.len(), machine.cpus.len(), "{name}");
            for id in (0..machine.cpus.len()).map(CpuId::at) {
                assert_eq!(seen(&found, id), seen(&machine, id), "{name}, CPU {id}");
                let (got, expected) = (&found.cpus[id.index()], &machine.cpus[id.index()]);
                let near = |got: u32, expected: u32| got.abs_diff(expected) <= 1 + expected / 20;
                let speed = shown_speed(&machine, id);
                assert!(near(got.speed, speed), "{name}, CPU {id}: speed {}, was {speed}", got.speed);
                assert!(near(got.capacity, expected.capacity), "{name}, CPU {id}: capacity {}", got.capacity);
                assert_eq!(got.itmt_priority, expected.itmt_priority, "{name}, CPU {id}");
                let (got, expected) = (busy_watts(&found, id), busy_watts(&machine, id));
                assert!((got - expected).abs() <= 1e-3 * expected, "{name}, CPU {id}: {got} W, was {expected} W");
            }
        }
    }
}
