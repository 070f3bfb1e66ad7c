// SPDX-License-Identifier: MIT OR Apache-2.0
//! What cores, clusters and packages draw in the state they are in, and the meters that sum it up.

use super::Hardware;
use crate::machine::IdleScope;
use crate::machine::power::{CoreState, cluster_watts, core_activity, core_watts, voltage_ratio};
use crate::observer::Observer;
use crate::units::{ClusterId, CoreId, CpuId, PackageId};

impl Hardware<'_> {
    /// The clock of the leader's fastest domain, if any of its cores is awake.
    fn leader_khz(&self, cluster: ClusterId) -> Option<u32> {
        let leader = self.machine.leader_of(cluster)?;
        let state = &self.clusters[leader.index()];
        if state.active_cores == 0 {
            return None;
        }
        state.domains.iter().map(|domain| self.domain_khz(*domain)).max()
    }

    pub(super) fn core_watts(&self, core: CoreId, state: CoreState) -> f64 {
        let entry = &self.machine.cores[core.index()];
        let cluster = &self.machine.clusters[entry.cluster.index()];
        let domain = self.core_domain(core);
        let opp = &self.machine.performance_domains[domain.index()].opps[self.domains[domain.index()].effective];
        let voltage = voltage_ratio(cluster, opp, self.leader_khz(entry.cluster));
        core_watts(cluster, opp, state, voltage)
    }

    /// The idle state of a core: the shallowest of its siblings'.
    pub(super) fn core_idle_state(&self, core: CoreId) -> usize {
        let cpus = &self.machine.cores[core.index()].cpus;
        cpus.iter().map(|cpu| self.cpus[cpu.index()].idle_state).min().unwrap_or(0)
    }

    /// Sets the power of a core's CPUs: busy siblings share it, idle ones if none is busy.
    pub(super) fn update_core(&mut self, core: CoreId) {
        let cpus = &self.machine.cores[core.index()].cpus;
        let busy = self.cores[core.index()].busy_threads;
        let state = if busy > 0 {
            let highest = cpus.iter().filter_map(|cpu| self.cpus[cpu.index()].activity).fold(0.0, f64::max);
            CoreState::Active(core_activity(self.machine, cpus[0], highest, busy))
        } else {
            CoreState::Idle(self.core_idle_state(core))
        };
        self.count_core(core, if busy > 0 { None } else { Some(self.core_idle_state(core)) });
        let watts = self.core_watts(core, state);
        for cpu in cpus {
            let pays = busy == 0 || self.cpus[cpu.index()].activity.is_some();
            let sharers = if busy > 0 { busy as usize } else { cpus.len() };
            let share = if pays { watts / sharers as f64 } else { 0.0 };
            let meter = &mut self.cpus[cpu.index()].meter;
            if meter.watts() != share {
                meter.enter(self.now, share);
                if self.observe {
                    self.power_changes.push(*cpu);
                }
            }
        }
    }

    /// Keeps the cluster's count of idle cores by state.
    fn count_core(&mut self, core: CoreId, state: Option<usize>) {
        let before = std::mem::replace(&mut self.cores[core.index()].counted, state);
        let counts = &mut self.clusters[self.machine.cores[core.index()].cluster.index()].idle_cores;
        if let Some(before) = before {
            counts[before] -= 1;
        }
        if let Some(state) = state {
            counts[state] += 1;
        }
    }

    pub(super) fn update_cluster(&mut self, cluster: ClusterId) {
        let entry = &self.machine.clusters[cluster.index()];
        let state = &self.clusters[cluster.index()];
        let shallowest = state.idle_cores.iter().position(|cores| *cores > 0).unwrap_or(0);
        let in_cluster_state = entry.idle_states.get(shallowest).is_some_and(|state| state.scope == IdleScope::Cluster);
        let awake_opp = if state.opp_static && (state.active_cores > 0 || !in_cluster_state) {
            let opps = state.domains.iter().map(|domain| {
                &self.machine.performance_domains[domain.index()].opps[self.domains[domain.index()].effective]
            });
            opps.max_by(|a, b| a.static_watts.unwrap_or(0.0).total_cmp(&b.static_watts.unwrap_or(0.0)))
        } else {
            None
        };
        let shallowest = if state.active_cores > 0 { 0 } else { shallowest };
        let watts = cluster_watts(entry, awake_opp, shallowest);
        let meter = &mut self.clusters[cluster.index()].meter;
        if meter.watts() != watts {
            meter.enter(self.now, watts);
            if self.observe {
                self.power_changes.extend(entry.cores.iter().flat_map(|core| &self.machine.cores[core.index()].cpus));
            }
        }
    }

    pub(super) fn update_package(&mut self, package: PackageId) {
        let entry = &self.machine.packages[package.index()];
        let state = &mut self.packages[package.index()];
        let watts = if state.active_cores > 0 { entry.uncore_watts } else { entry.uncore_idle_watts };
        if state.meter.watts() != watts {
            state.meter.enter(self.now, watts);
            self.uncore_changed = true;
        }
    }

    /// Counts the power of every CPU as changed: what a run begins with is news to an observer.
    pub fn tell_all_power(&mut self) {
        if self.observe {
            self.power_changes.extend((0..self.cpus.len()).map(CpuId::at));
        }
    }

    /// Tells `observer` the power of the CPUs whose power changed since it was last told, and of all packages.
    pub fn show_power(&mut self, observer: &mut dyn Observer) {
        let mut changes = std::mem::take(&mut self.power_changes);
        // Where a CPU idles at the power that it computes at, the uncore's changes alone.
        let uncore_changed = std::mem::take(&mut self.uncore_changed);
        if changes.is_empty() && !uncore_changed {
            return;
        }
        changes.sort_unstable();
        changes.dedup();
        for cpu in &changes {
            observer.cpu_power(self.now, *cpu, self.cpu_watts(*cpu));
        }
        for package in (0..self.machine.packages.len()).map(PackageId::at) {
            observer.package_power(self.now, package, self.package_watts(package));
        }
    }

    /// Watts of `cpu`: its share of its core and an equal share of its cluster.
    fn cpu_watts(&self, cpu: CpuId) -> f64 {
        let cluster = self.machine.cores[self.machine.cpus[cpu.index()].core.index()].cluster;
        let cluster = &self.clusters[cluster.index()];
        self.cpus[cpu.index()].meter.watts() + cluster.meter.watts() / cluster.cpus
    }

    /// Watts of a package: cores, clusters, uncore.
    fn package_watts(&self, package: PackageId) -> f64 {
        let clusters = self.machine.clusters.iter().enumerate().filter(|(_, cluster)| cluster.package == package);
        let cores = clusters.map(|(index, cluster)| {
            let cpus = cluster.cores.iter().flat_map(|core| &self.machine.cores[core.index()].cpus);
            cpus.map(|cpu| self.cpus[cpu.index()].meter.watts()).sum::<f64>() + self.clusters[index].meter.watts()
        });
        cores.sum::<f64>() + self.packages[package.index()].meter.watts()
    }

    /// Joules of `cpu` so far: its share of its core and an equal share of its cluster.
    pub fn cpu_joules(&mut self, cpu: CpuId) -> f64 {
        let cluster = self.machine.cores[self.machine.cpus[cpu.index()].core.index()].cluster;
        let cluster = &mut self.clusters[cluster.index()];
        let share = cluster.meter.read(self.now) / cluster.cpus;
        self.cpus[cpu.index()].meter.read(self.now) + share
    }

    /// Joules of all uncores so far.
    pub fn uncore_joules(&mut self) -> f64 {
        let now = self.now;
        self.packages.iter_mut().map(|package| package.meter.read(now)).sum()
    }
}
