// SPDX-License-Identifier: MIT OR Apache-2.0
//! The machine as its kernel describes it in sysfs: what a scheduler's loader finds out and hands to its object.
//!
//! `topology`: what CPUs share. `capacity`: how fast they are. `opps`: clocks, and what they give and cost.
//!
//! What sysfs does not have is not made up: where no source tells CPUs apart they are equal, without cpufreq there are no
//! clocks, without an energy model no watts, and nothing at all says how fast memory is.

mod capacity;
mod opps;
#[cfg(test)]
mod tests;
mod topology;

use std::path::Path;

pub use capacity::{Capacities, Claim, CoreType, Doubt, Kind, Source};
pub use opps::OppTable;

use crate::reading::{ReadError, Reading};

/// The capacity of the fastest CPU at its highest clock (`SCHED_CAPACITY_SCALE`).
pub const CAPACITY_SCALE: u64 = 1024;

/// A CPU. Numbers of what CPUs share count from 0 in the order of their lowest CPUs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cpu {
    /// Whether it runs now.
    pub online: bool,
    /// NUMA node, as the kernel numbers it.
    pub node: u64,
    /// Package.
    pub package: u64,
    /// Last-level cache.
    pub llc: u64,
    /// The lowest CPU of the same core.
    pub core: u64,
    /// Another CPU of the same core.
    pub sibling: Option<u64>,
    /// Set of CPUs that share a clock; without cpufreq a CPU has its own.
    pub performance_domain: u64,
    /// Index into [`Machine::opp_tables`].
    pub opp_table: u64,
    /// At the highest clock there is, 1..=1024; of CPUs of one kind that of the best ([`Capacities`]).
    pub capacity: u64,
    /// At the highest clock that is allowed now (`scaling_max_freq`), 1..=1024.
    pub performance: u64,
}

/// A machine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Machine {
    /// All CPUs that the kernel has room for (`nr_cpu_ids`), offline ones included.
    pub cpus: Vec<Cpu>,
    /// Different tables of operating points, in the order of the first CPU that has each.
    pub opp_tables: Vec<OppTable>,
    /// Number of NUMA nodes.
    pub nr_nodes: u64,
    /// Whether a governor asks the scheduler (schedutil), so that `scx_bpf_cpuperf_set` has an effect.
    pub cpuperf: bool,
}

impl Machine {
    /// The machine that this runs on.
    ///
    /// # Errors
    /// [`ReadError`]: sysfs does not say which CPUs there are.
    pub fn running() -> Result<Self, ReadError> {
        Self::read(Path::new("/"))
    }

    /// The machine whose `/sys` and `/proc` are below `root`.
    ///
    /// # Errors
    /// [`ReadError`].
    pub fn read(root: &Path) -> Result<Self, ReadError> {
        Ok(Self::read_with_capacities(root)?.0)
    }

    /// The same, and where its capacities come from.
    ///
    /// # Errors
    /// [`ReadError`].
    pub fn read_with_capacities(root: &Path) -> Result<(Self, Capacities), ReadError> {
        let (reading, _) = Reading::of(root)?;
        Ok(Self::of(&reading))
    }

    /// What follows from what the files of a machine say, and where its capacities come from.
    pub fn of(reading: &Reading) -> (Self, Capacities) {
        let mut machine = topology::of(reading);
        let capacities = Capacities::of(reading);
        for (number, cpu) in machine.cpus.iter_mut().enumerate() {
            cpu.capacity =
                capacities.kind_of(reading.like(number as u32) as usize).map_or(CAPACITY_SCALE, |kind| kind.capacity);
            cpu.performance = cpu.capacity;
        }
        opps::add(reading, &mut machine, &capacities);
        (machine, capacities)
    }
}
