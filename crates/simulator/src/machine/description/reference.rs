// SPDX-License-Identifier: MIT OR Apache-2.0
//! Speeds, capacities, and the CPU that work is given against. A configuration changes none of them.
//!
//! A CPU's speed is what it does, its capacity what its kernel has of that: what a device tree says. On x86 nothing says how
//! fast CPUs are: `arch_scale_cpu_capacity()` is 1024 of all (`arch/x86/kernel/cpu/aperfmperf.c`), but for hybrids without SMT,
//! where intel_pstate sets the ratio of what the firmware promises (`hybrid_set_cpu_capacity`).

use super::cluster::ClusterRow;
use super::reader::{File, Named};
use super::tables::Tables;
use super::topology::Topology;
use crate::input::InputError;
use crate::machine::{CpufreqDriver, Reference};
use crate::units::{CAPACITY_SCALE, CoreTypeId, CpuId};

/// Sets every speed and capacity, and finds the fastest CPU: the lowest number where several are equally fast.
pub(super) fn rate(
    file: File<'_>,
    topology: &mut Topology,
    clusters: &Named<ClusterRow>,
    tables: &Tables,
    driver: Option<CpufreqDriver>,
) -> Result<Reference, InputError> {
    check_ranks(file, clusters)?;
    let speeds: Vec<f64> = (0..topology.cpus.len()).map(|cpu| speed(topology, clusters, tables, cpu)).collect();
    let mut fastest = 0;
    for (cpu, speed) in speeds.iter().enumerate() {
        if *speed > speeds[fastest] {
            fastest = cpu;
        }
    }
    for (cpu, speed) in topology.cpus.iter_mut().zip(&speeds) {
        cpu.speed = capacity(*speed, speeds[fastest]);
    }
    set_capacities(topology, clusters, tables, driver);
    check_memory_speed(file, tables, core_type(topology, clusters, fastest), fastest)?;
    let kind = &tables.core_types.rows[core_type(topology, clusters, fastest).index()].core_type;
    let llc = topology.cpus[fastest].llc.map(|llc| &topology.caches[llc.index()]);
    Ok(Reference {
        cpu: CpuId::at(fastest),
        khz_ipc: speeds[fastest],
        llc_bytes: llc.map_or(0, |cache| cache.bytes),
        // Without a cache nothing hits; 1 is what an access to memory costs.
        hit_cost: llc.map_or(1.0, |cache| cache.hit_cost),
        memory_knee: kind.memory_knee_khz * kind.ipc / speeds[fastest],
        memory_overlap: kind.memory_overlap,
    })
}

/// Sets what the machine's kernel has of each CPU's speed.
fn set_capacities(
    topology: &mut Topology,
    clusters: &Named<ClusterRow>,
    tables: &Tables,
    driver: Option<CpufreqDriver>,
) {
    let hybrid = clusters.rows.iter().any(|row| row.core_type != clusters.rows[0].core_type);
    let smt = clusters.rows.iter().any(|row| row.smt > 1);
    let highest_rank = topology.cpus.iter().map(|cpu| cpu.itmt_priority).max().unwrap_or(0);
    let told: Vec<f64> = (0..topology.cpus.len()).map(|cpu| told_speed(topology, clusters, tables, cpu)).collect();
    let highest = told.iter().copied().fold(0.0, f64::max);
    for (cpu, told) in topology.cpus.iter_mut().zip(told) {
        cpu.capacity = match driver {
            None => capacity(told, highest),
            Some(driver) if driver.is_intel() && hybrid && !smt && highest_rank > 0 => {
                CAPACITY_SCALE as u32 * cpu.itmt_priority / highest_rank
            }
            Some(_) => CAPACITY_SCALE as u32,
        };
    }
}

fn core_type(topology: &Topology, clusters: &Named<ClusterRow>, cpu: usize) -> CoreTypeId {
    let core = &topology.cores[topology.cpus[cpu].core.index()];
    clusters.rows[core.cluster.index()].core_type
}

/// Work per time at the highest OPP, in kHz × ipc.
fn speed(topology: &Topology, clusters: &Named<ClusterRow>, tables: &Tables, cpu: usize) -> f64 {
    let domain = &topology.performance_domains[topology.cpus[cpu].performance_domain.index()];
    let highest = domain.opps.last().map_or(0.0, |opp| f64::from(opp.khz));
    highest * tables.core_types.rows[core_type(topology, clusters, cpu).index()].core_type.ipc
}

/// The same as a device tree tells the machine's kernel.
fn told_speed(topology: &Topology, clusters: &Named<ClusterRow>, tables: &Tables, cpu: usize) -> f64 {
    let kind = &tables.core_types.rows[core_type(topology, clusters, cpu).index()].core_type;
    speed(topology, clusters, tables, cpu) / kind.ipc * kind.capacity_dmips_mhz
}

/// The kernel's rounding: `topology_normalize_cpu_scale()` shifts by `SCHED_CAPACITY_SHIFT` and divides, which
/// rounds down. The slack undoes what binary fractions lose where the quotient is whole. A CPU below a thousandth of
/// the fastest keeps a capacity to divide by.
fn capacity(speed: f64, fastest: f64) -> u32 {
    let capacity = (CAPACITY_SCALE as f64 * speed / fastest + 1e-9).floor() as u32;
    capacity.max(1)
}

/// Ranks compare all CPUs of a machine.
fn check_ranks(file: File<'_>, clusters: &Named<ClusterRow>) -> Result<(), InputError> {
    let lacks = clusters.rows.iter().find(|row| row.itmt_priority.is_empty());
    match (lacks, clusters.rows.iter().any(|row| !row.itmt_priority.is_empty())) {
        (Some(row), true) => Err(file
            .error(row.at, format!("cluster `{}` has no `itmt_priority`, others have one", row.name))
            .help("expected `itmt_priority` in each cluster, or in none")),
        _ => Ok(()),
    }
}

/// Memory speeds are relative to the reference CPU, so its own is 1.
fn check_memory_speed(
    file: File<'_>,
    tables: &Tables,
    core_type: CoreTypeId,
    fastest: usize,
) -> Result<(), InputError> {
    let row = &tables.core_types.rows[core_type.index()];
    if row.memory_speed.value == 1.0 {
        return Ok(());
    }
    let name = &row.core_type.name;
    Err(file
        .error(row.memory_speed.at, format!("`{name}` is the type of the fastest CPU ({fastest}), the reference"))
        .help("expected memory_speed = 1.0 here, other types relative to it"))
}
