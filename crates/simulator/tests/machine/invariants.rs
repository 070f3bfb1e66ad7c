// SPDX-License-Identifier: MIT OR Apache-2.0
//! Properties of every machine that the rest of the simulator relies on.

use tandem_simulator::machine::{Machine, PerformanceDomain};

/// Panics if `machine`, which `spec` names, breaks a promise of its types.
pub fn check(machine: &Machine, spec: &str) {
    assert!(machine.online().next().is_some(), "{spec} has no online CPU");
    // The fastest by what the kernel believes, which need not be the reference.
    assert_eq!(machine.cpus.iter().map(|cpu| cpu.capacity).max(), Some(1024), "{spec}");
    assert_eq!(machine.core_type(machine.reference.cpu).memory_speed, 1.0, "{spec}");
    check_cpus(machine, spec);
    for domain in &machine.performance_domains {
        check_domain(machine, domain, spec);
    }
    for (index, memory) in machine.memory_domains.iter().enumerate() {
        assert!(memory.parent.is_none_or(|parent| parent.index() < index), "{spec}: parents come first");
        assert!(memory.thread_bytes_per_s <= memory.bytes_per_s, "{spec}: a thread has more than all");
    }
    for (index, _) in machine.packages.iter().enumerate() {
        assert!(machine.clusters.iter().any(|cluster| cluster.package.index() == index), "{spec}: an empty package");
    }
    for cluster in &machine.clusters {
        assert!(cluster.idle_states.is_sorted_by(|shallow, deep| shallow.residency <= deep.residency), "{spec}");
        assert!(!cluster.cores.is_empty() && !cluster.idle_states.is_empty(), "{spec}");
    }
}

fn check_cpus(machine: &Machine, spec: &str) {
    for (number, cpu) in machine.cpus.iter().enumerate() {
        assert!((1..=1024).contains(&cpu.capacity), "{spec}: CPU {number} has capacity {}", cpu.capacity);
        let core = &machine.cores[cpu.core.index()];
        assert_eq!(core.cpus[cpu.thread as usize].index(), number, "{spec}: core of CPU {number}");
        assert!(machine.clusters[core.cluster.index()].cores.contains(&cpu.core), "{spec}: cluster of CPU {number}");
        let domain = &machine.performance_domains[cpu.performance_domain.index()];
        assert!(domain.cpus.iter().any(|member| member.index() == number), "{spec}: domain of CPU {number}");
        if let Some(llc) = cpu.llc {
            let members = &machine.caches[llc.index()].cpus;
            assert!(members.iter().any(|member| member.index() == number), "{spec}: cache of CPU {number}");
        }
        assert!(cpu.memory_domain.index() < machine.memory_domains.len(), "{spec}: memory of CPU {number}");
    }
    let threads: usize = machine.cores.iter().map(|core| core.cpus.len()).sum();
    assert_eq!(threads, machine.cpus.len(), "{spec}: each CPU has one core");
}

fn check_domain(machine: &Machine, domain: &PerformanceDomain, spec: &str) {
    assert!(domain.min_opp <= domain.max_opp && domain.max_opp < domain.opps.len(), "{spec}: clock limits");
    assert!(domain.opps.is_sorted_by(|slow, fast| slow.khz < fast.khz), "{spec}: clocks ascend");
    assert!(domain.cpus.is_sorted_by(|low, high| low < high), "{spec}: CPUs ascend");
    let kinds = domain.cpus.iter().map(|cpu| machine.cluster(*cpu).core_type);
    assert!(kinds.clone().all(|kind| Some(kind) == kinds.clone().next()), "{spec}: one core type per domain");
    for opp in &domain.opps {
        assert!(opp.khz > 0 && opp.duty > 0.0 && opp.duty <= 1.0, "{spec}: {opp:?}");
        assert!(opp.dynamic_watts >= 0.0 && opp.dynamic_watts.is_finite(), "{spec}: {opp:?}");
        assert!(opp.leakage_watts >= 0.0 && opp.leakage_watts.is_finite(), "{spec}: {opp:?}");
    }
}
