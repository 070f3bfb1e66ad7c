// SPDX-License-Identifier: MIT OR Apache-2.0
//! What loader programs find out about a simulated machine and its kernel.

use tandem_loader::facts::{self, EnergyDomain, Facts};
use tandem_loader::machine::{Cpu, OppTable};

use super::opps::OppTables;
use crate::kernel::Kernel;
use crate::kernel::cpufreq::Governor;
use crate::kernel::fair::energy::{self, EnergyModel, PerfState};
use crate::machine::{self, Machine, MemoryDomain, Package};
use crate::scx::idle::nr_nodes;
use crate::units::{CAPACITY_SCALE, CpuId, MemoryDomainId};

/// Where a loader runs: what it reads of the system in sysfs and `/proc`.
#[derive(Debug, Clone, Copy)]
pub struct System<'s> {
    /// The kernel.
    pub kernel: &'s Kernel,
    /// The machine under it.
    pub machine: &'s Machine,
    /// What chooses clocks (`scaling_governor`).
    pub governor: Governor,
}

impl System<'_> {
    /// All that is to be known of the system.
    pub fn known(&self) -> facts::System {
        facts::System::of(self)
    }

    fn package(&self, cpu: &machine::Cpu) -> u64 {
        let Machine { cores, clusters, .. } = self.machine;
        u64::from(clusters[cores[cpu.core.index()].cluster.index()].package.0)
    }

    fn cpu(&self, cpu: CpuId, opps: &OppTables) -> Cpu {
        let (topology, rq) = (&self.kernel.topology, self.kernel.rq(cpu));
        let (described, siblings) = (&self.machine.cpus[cpu.index()], &topology.smt[cpu.index()]);
        Cpu {
            online: topology.online.test(cpu),
            node: topology.node_of(cpu) as u64,
            package: self.package(described),
            llc: u64::from(topology.llc_of[cpu.index()]),
            core: u64::from(siblings.first().copied().unwrap_or(cpu).0),
            sibling: siblings.iter().find(|other| **other != cpu).map(|other| u64::from(other.0)),
            performance_domain: u64::from(described.performance_domain.0),
            opp_table: opps.number_of(described.performance_domain) as u64,
            capacity: self.capacity(cpu),
            performance: self.capacity(cpu) * u64::from(rq.capacity_limit) / u64::from(rq.capacity_orig),
        }
    }

    /// What a loader takes for the capacity of `cpu`, 1 to 1024: the kernel's, but where the firmware ranks CPUs the best rank of
    /// its kind. Loaders read `acpi_cppc/highest_perf` before `cpu_capacity` (`get_capacity_source` of scx_utils), which x86 does
    /// not have; that some of a kind are favoured makes no difference of capacity.
    pub(super) fn capacity(&self, cpu: CpuId) -> u64 {
        match self.ranked() {
            Some(highest) => {
                let kind = self.machine.cluster(cpu).core_type;
                let same = |cpu: &usize| self.machine.cluster(CpuId::at(*cpu)).core_type == kind;
                let ranks = (0..self.machine.cpus.len()).filter(same).map(|cpu| self.machine.cpus[cpu].itmt_priority);
                let best = u64::from(ranks.max().unwrap_or(highest));
                (CAPACITY_SCALE * best + u64::from(highest) / 2) / u64::from(highest)
            }
            None => u64::from(self.kernel.rq(cpu).capacity_orig),
        }
    }

    /// The highest rank of a CPU, if the firmware ranks them.
    fn ranked(&self) -> Option<u32> {
        let highest = self.machine.cpus.iter().map(|cpu| cpu.itmt_priority).max()?;
        (highest > 0 && self.kernel.params.capacity_aware).then_some(highest)
    }
}

impl Facts for System<'_> {
    fn cpus(&self) -> Vec<Cpu> {
        let opps = OppTables::of(self);
        (0..self.kernel.topology.nr_cpus).map(|cpu| self.cpu(CpuId::at(cpu), &opps)).collect()
    }

    fn opp_tables(&self) -> Vec<OppTable> {
        OppTables::of(self).into_tables()
    }

    /// All states, those too that energy-aware placement leaves out as inefficient.
    fn energy_model(&self) -> Vec<EnergyDomain> {
        let System { kernel, machine, .. } = self;
        let is_hybrid = machine.platform.cpufreq_driver.is_some();
        if !EnergyModel::is_registered(machine, kernel.params.linux) || is_hybrid && !kernel.params.capacity_aware {
            return Vec::new();
        }
        let Some(model) = EnergyModel::with_online(machine, &kernel.topology.online) else { return Vec::new() };
        let domain = |described: &energy::PerfDomain| {
            let cpus: Vec<usize> = described.cpus.iter().map(|cpu| cpu.index()).collect();
            let of = machine.cpus[cpus[0]].performance_domain;
            let capacity = u64::from(machine.cpus[cpus[0]].capacity);
            let states = match is_hybrid {
                true => described.states.clone(),
                false => energy::states(&machine.performance_domains[of.index()], capacity),
            };
            let state = |state: &PerfState| (state.performance, state.power);
            EnergyDomain { cpus, states: states.iter().map(state).collect() }
        };
        model.domains().iter().map(domain).collect()
    }

    fn nr_nodes(&self) -> u64 {
        nr_nodes(&self.kernel.topology) as u64
    }

    fn cpuperf(&self) -> bool {
        follows_cpuperf(self)
    }

    /// A loader measures it, or is told.
    fn memory_bandwidth(&self) -> Option<u64> {
        Some(u64::from(memory_bandwidth(self.machine)))
    }

    /// A loader measures it, or is told.
    fn idle_power(&self) -> Option<u64> {
        Some((idle_watts(self.machine) * 1e3).round() as u64)
    }

    /// A loader measures it, or is told.
    fn package_power(&self) -> Option<u64> {
        Some((package_watts(self.machine) * 1e3).round() as u64)
    }
}

/// Of the governors only schedutil asks a scheduler, and only where there is a clock to change.
fn follows_cpuperf(system: &System<'_>) -> bool {
    let is_online = |cpu: &CpuId| system.kernel.topology.online.test(*cpu);
    let mut domains = system.machine.performance_domains.iter();
    matches!(system.governor, Governor::Schedutil(_))
        && domains.any(|domain| domain.scalable && domain.cpus.iter().any(is_online))
}

/// MB/s of the path to memory that the most CPUs share.
fn memory_bandwidth(machine: &Machine) -> u32 {
    let domains = &machine.memory_domains;
    let crosses = |mut at: MemoryDomainId, path: usize| loop {
        match domains[at.index()].parent {
            _ if at.index() == path => return true,
            Some(parent) => at = parent,
            None => return false,
        }
    };
    let cpus = |path: usize| machine.cpus.iter().filter(|cpu| crosses(cpu.memory_domain, path)).count();
    let widest = (0..domains.len()).map(cpus).max().unwrap_or(0);
    let shared = domains.iter().enumerate().filter(|(path, _)| cpus(*path) == widest);
    let narrowest = shared.map(|(_, domain): (_, &MemoryDomain)| domain.bytes_per_s).min_by(f64::total_cmp);
    narrowest.map_or(0, |bytes_per_s| (bytes_per_s / 1e6).round() as u32)
}

/// Watts that a package draws more while one of its cores is busy than in its deepest idle state; of several the most.
fn package_watts(machine: &Machine) -> f64 {
    let of = |package: &Package| {
        let asleep = package.idle_states.last().map_or(package.uncore_idle_watts, |state| state.watts);
        package.uncore_watts - asleep
    };
    machine.packages.iter().map(of).fold(0.0, f64::max)
}

/// Watts of a machine at rest, behind the power supply.
fn idle_watts(machine: &Machine) -> f64 {
    let cores = machine.clusters.iter().map(|cluster| {
        let deepest = cluster.idle_states.last().map_or(0.0, |state| state.watts);
        deepest * cluster.cores.len() as f64
    });
    let uncore = machine.packages.iter().map(|package| package.uncore_idle_watts);
    let memory = machine.memory_domains.iter().map(|domain| domain.static_watts);
    machine.platform.watts + cores.chain(uncore).chain(memory).sum::<f64>()
}
