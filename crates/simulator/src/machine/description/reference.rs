// SPDX-License-Identifier: MIT OR Apache-2.0
//! Capacities, and the CPU that work is given against. A configuration changes neither.

use super::cluster::ClusterRow;
use super::reader::{File, Named};
use super::tables::Tables;
use super::topology::Topology;
use crate::input::InputError;
use crate::machine::Reference;
use crate::units::{CAPACITY_SCALE, CoreTypeId, CpuId};

/// Sets every capacity, and finds the fastest CPU: the lowest number where several are equally fast.
pub(super) fn rate(
    file: File<'_>,
    topology: &mut Topology,
    clusters: &Named<ClusterRow>,
    tables: &Tables,
) -> Result<Reference, InputError> {
    let speeds: Vec<f64> = (0..topology.cpus.len()).map(|cpu| speed(topology, clusters, tables, cpu)).collect();
    let mut fastest = 0;
    for (cpu, speed) in speeds.iter().enumerate() {
        if *speed > speeds[fastest] {
            fastest = cpu;
        }
    }
    for (cpu, speed) in topology.cpus.iter_mut().zip(&speeds) {
        cpu.capacity = capacity(*speed, speeds[fastest]);
    }
    check_memory_speed(file, tables, core_type(topology, clusters, fastest), fastest)?;
    let llc = topology.cpus[fastest].llc.map(|llc| &topology.caches[llc.index()]);
    Ok(Reference {
        cpu: CpuId::at(fastest),
        khz_ipc: speeds[fastest],
        llc_bytes: llc.map_or(0, |cache| cache.bytes),
        // Without a cache nothing hits; 1 is what an access to memory costs.
        hit_cost: llc.map_or(1.0, |cache| cache.hit_cost),
    })
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

/// The kernel's rounding: `topology_normalize_cpu_scale()` shifts by `SCHED_CAPACITY_SHIFT` and divides, which
/// rounds down. The slack undoes what binary fractions lose where the quotient is whole. A CPU below a thousandth of
/// the fastest keeps a capacity to divide by.
fn capacity(speed: f64, fastest: f64) -> u32 {
    let capacity = (CAPACITY_SCALE as f64 * speed / fastest + 1e-9).floor() as u32;
    capacity.max(1)
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
