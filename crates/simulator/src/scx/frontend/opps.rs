// SPDX-License-Identifier: MIT OR Apache-2.0
//! Operating points as a loader reads them: clocks from cpufreq (`scaling_available_frequencies`, between `scaling_min_freq`
//! and `scaling_max_freq`), performance and power from the kernel's energy model (`/sys/kernel/debug/energy_model`).
//!
//! CPUs that differ in none of these share a table.

use std::collections::BTreeSet;

use tandem_loader::machine::OppTable;

use super::facts::System;
use crate::kernel::fair::energy;
use crate::machine::power::active_watts;
use crate::machine::{Machine, Opp, PerformanceDomain};
use crate::units::{CoreId, PerformanceDomainId};

/// The different tables of a machine, in order of the first domain that has each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OppTables {
    tables: Vec<OppTable>,
    /// By performance domain: the index of its table.
    of_domain: Vec<usize>,
}

impl OppTables {
    /// The tables of the operating points that limits allow; without a cpufreq driver there is one point, the clock that
    /// the firmware has set.
    pub fn of(system: &System<'_>) -> Self {
        let mut all = Self { tables: Vec::new(), of_domain: Vec::new() };
        for domain in &system.machine.performance_domains {
            let capacity = domain.cpus.first().map_or(1, |cpu| system.capacity(*cpu));
            let lowest = if domain.scalable { domain.min_opp } else { domain.max_opp };
            let states = energy::states(domain, capacity);
            let mut table = OppTable::default();
            for (opp, state) in domain.opps.iter().zip(states).take(domain.max_opp + 1).skip(lowest) {
                table.frequency.push(u64::from(opp.khz));
                table.performance.push(state.performance);
                table.power.push((state.power + 500) / 1000);
                push_described(&mut table, system.machine, domain, opp);
            }
            push_idle_states(&mut table, system.machine, domain);
            let known = all.tables.iter().position(|other| *other == table);
            all.of_domain.push(known.unwrap_or(all.tables.len()));
            if known.is_none() {
                all.tables.push(table);
            }
        }
        all
    }

    /// The tables.
    pub fn into_tables(self) -> Vec<OppTable> {
        self.tables
    }

    /// The number of a domain's table.
    pub fn number_of(&self, domain: PerformanceDomainId) -> usize {
        self.of_domain.get(domain.index()).copied().unwrap_or(0)
    }
}

/// Adds to a table what the machine's description says of `opp`: what no kernel knows.
pub fn push_described(table: &mut OppTable, machine: &Machine, domain: &PerformanceDomain, opp: &Opp) {
    let milliwatts = |watts: f64| (watts * 1e3).round() as u64;
    table.busy_power.push(milliwatts(busy_watts(machine, domain, opp)));
    table.static_power.push(milliwatts(static_watts(machine, domain, opp)));
}

/// Adds to a table what the machine's description says of its CPUs' idle states, at the lowest clock.
fn push_idle_states(table: &mut OppTable, machine: &Machine, domain: &PerformanceDomain) {
    let Some(cpu) = domain.cpus.first() else { return };
    let shallowest = domain.opps.first().and_then(|opp| opp.idle_watts);
    for (number, state) in machine.cluster(*cpu).idle_states.iter().enumerate() {
        let watts = shallowest.filter(|_| number == 0).unwrap_or(state.watts);
        table.idle_power.push((watts * 1e6).round() as u64);
        table.idle_residency.push(state.residency / 1000);
    }
}

/// Watts that a busy core of a domain adds to what it draws in its deepest idle state, at `opp` and full activity.
fn busy_watts(machine: &Machine, domain: &PerformanceDomain, opp: &Opp) -> f64 {
    let Some(cpu) = domain.cpus.first() else { return 0.0 };
    let idle = machine.cluster(*cpu).idle_states.last().map_or(0.0, |state| state.watts);
    (active_watts((opp.dynamic_watts, opp.leakage_watts), 1.0, 1.0) - idle).max(0.0)
}

/// Static power, in watts, of the clusters of a domain's CPUs at `opp`, as far as their cores are of this domain.
fn static_watts(machine: &Machine, domain: &PerformanceDomain, opp: &Opp) -> f64 {
    let cores: BTreeSet<CoreId> = domain.cpus.iter().map(|cpu| machine.cpus[cpu.index()].core).collect();
    let share = |core: &CoreId| {
        let cluster = &machine.clusters[machine.cores[core.index()].cluster.index()];
        opp.static_watts.unwrap_or(cluster.static_watts) / cluster.cores.len() as f64
    };
    cores.iter().map(share).sum()
}
