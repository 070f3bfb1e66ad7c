// SPDX-License-Identifier: MIT OR Apache-2.0
//! The smallest machine with two kinds of core.

use crate::machine::{
    Cluster, Coordination, Core, CoreType, Cpu, EnergyPreference, IdleScope, IdleState, Machine, MemoryDomain, Package,
    PerformanceDomain, Platform, Reference, SchedulingCosts,
};
use crate::units::{ClusterId, CoreId, CoreTypeId, CpuId, MemoryDomainId, PackageId, PerformanceDomainId};

/// CPU 0 little, CPU 1 big, each with a clock of its own.
pub fn two_cpus() -> Machine {
    Machine {
        name: "two".to_owned(),
        title: "one little, one big".to_owned(),
        cpus: vec![cpu(0, 256), cpu(1, 1024)],
        cores: (0..2).map(|index| Core { cluster: ClusterId(index), cpus: vec![CpuId(index)] }).collect(),
        clusters: vec![cluster("little", 0), cluster("big", 1)],
        packages: vec![Package { uncore_watts: 0.5, uncore_idle_watts: 0.1, ..Package::default() }],
        core_types: vec![core_type("cortex-a53", 0.5), core_type("cortex-a73", 1.0)],
        caches: Vec::new(),
        memory_domains: vec![memory()],
        nodes: None,
        performance_domains: vec![
            PerformanceDomain::for_tests(CpuId(0), &[533_000, 1_844_000]),
            PerformanceDomain::for_tests(CpuId(1), &[903_000, 2_362_000]),
        ],
        platform: Platform {
            watts: 0.0,
            supply_efficiency: 1.0,
            cpufreq_driver: None,
            governor: None,
            epp: EnergyPreference::Default,
        },
        costs: SchedulingCosts {
            context_switch: 0,
            migration: 0,
            migration_llc: 0,
            tick: 0,
            line: 0,
            line_llc: 0,
            line_node: 0,
        },
        reference: Reference {
            cpu: CpuId(1),
            khz_ipc: 2_362_000.0,
            llc_bytes: 0,
            hit_cost: 1.0,
            memory_knee: 0.0,
            memory_overlap: 1.0,
        },
        provenance: Vec::new(),
    }
}

fn cpu(index: u32, capacity: u32) -> Cpu {
    Cpu {
        core: CoreId(index),
        thread: 0,
        online: true,
        performance_domain: PerformanceDomainId(index),
        llc: None,
        l2: CoreId(index),
        memory_domain: MemoryDomainId(0),
        node: 0,
        capacity,
        speed: capacity,
        itmt_priority: 0,
    }
}

fn cluster(name: &str, index: u32) -> Cluster {
    let wfi = IdleState {
        name: "WFI".to_owned(),
        scope: IdleScope::Core,
        entry: 0,
        exit: 0,
        typical_entry: 0,
        typical_exit: 0,
        residency: 0,
        told_residency: 0,
        coordination: Coordination::Platform,
        watts: 0.0,
        cluster_watts: 0.0,
    };
    Cluster {
        name: name.to_owned(),
        package: PackageId(0),
        core_type: CoreTypeId(index),
        cores: vec![CoreId(index)],
        static_watts: 0.0,
        idle_states: vec![wfi],
        boost: Vec::new(),
        voltage_follows: None,
    }
}

fn core_type(name: &str, ipc: f64) -> CoreType {
    CoreType {
        name: name.to_owned(),
        ipc,
        capacity_dmips_mhz: ipc,
        memory_speed: 1.0,
        memory_knee_khz: 0.0,
        memory_overlap: 1.0,
        stall_activity: 1.0,
        smt_speed: 1.0,
        smt_activity: 1.0,
    }
}

fn memory() -> MemoryDomain {
    MemoryDomain {
        name: "dram".to_owned(),
        bytes_per_s: 1e10,
        thread_bytes_per_s: 1e10,
        contention: 0.0,
        static_watts: 0.0,
        joules_per_byte: 0.0,
        parent: None,
        link_of: None,
    }
}
