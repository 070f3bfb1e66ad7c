// SPDX-License-Identifier: MIT OR Apache-2.0
//! What cores, clusters and packages draw in the state they are in, and the meters that sum it up.

use super::Hardware;
use super::state::Supply;
use crate::engine::meter::{Cause, Causes, Power};
use crate::machine::power::{CoreState, active_watts, cluster_watts, core_activity, core_watts, voltage_ratio};
use crate::machine::{IdleScope, Opp};
use crate::observer::Observer;
use crate::units::{ClusterId, CoreId, CpuId, Nanos, PackageId, seconds};

impl Supply {
    /// The power of a core that runs with this activity, and what it is drawn for.
    #[inline]
    fn active(&self, activity: f64) -> Power {
        let watts = active_watts((self.dynamic_watts, self.leakage_watts), activity, self.voltage);
        let leakage_share = if watts > 0.0 { self.leakage_watts * self.voltage / watts } else { 0.0 };
        Power { watts, cause: Cause::Awake, leakage_share }
    }
}

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
        let cluster = &self.machine.clusters[self.machine.cores[core.index()].cluster.index()];
        let (opp, voltage) = self.core_supply(core);
        core_watts(cluster, opp, state, voltage)
    }

    /// The operating point of a core, and how far its supply is raised.
    fn core_supply(&self, core: CoreId) -> (&Opp, f64) {
        let entry = &self.machine.cores[core.index()];
        let cluster = &self.machine.clusters[entry.cluster.index()];
        let domain = self.core_domain(core);
        let opp = &self.machine.performance_domains[domain.index()].opps[self.domains[domain.index()].effective];
        (opp, voltage_ratio(cluster, opp, self.leader_khz(entry.cluster)))
    }

    /// The power of a core, and what it is drawn for.
    fn core_power(&mut self, core: CoreId, state: CoreState) -> Power {
        let cluster = &self.machine.clusters[self.machine.cores[core.index()].cluster.index()];
        let (opp, voltage) = self.core_supply(core);
        let supply = Supply { dynamic_watts: opp.dynamic_watts, leakage_watts: opp.leakage_watts, voltage };
        let power = match state {
            CoreState::Idle(_) => Power::of(core_watts(cluster, opp, state, voltage), Cause::Idle),
            CoreState::Active(activity) => supply.active(activity),
        };
        self.cores[core.index()].supply = supply;
        power
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
        let power = self.core_power(core, state);
        for cpu in cpus {
            let pays = busy == 0 || self.cpus[cpu.index()].activity.is_some();
            let sharers = if busy > 0 { busy as usize } else { cpus.len() };
            let share = if pays { power.watts / sharers as f64 } else { 0.0 };
            let changed = self.cpus[cpu.index()].meter.enter(self.now, Power { watts: share, ..power });
            if changed && self.observe {
                self.power_changes.push(*cpu);
            }
        }
    }

    /// [`Self::update_core`] for a `core` whose only CPU runs from now on with this activity, as its operating point has not changed.
    #[inline]
    pub(super) fn update_single_busy(&mut self, cpu: CpuId, core: CoreId, activity: f64) {
        let activity = core_activity(self.machine, cpu, f64::max(0.0, activity), 1);
        let power = self.cores[core.index()].supply.active(activity);
        if self.cpus[cpu.index()].meter.enter(self.now, power) && self.observe {
            self.power_changes.push(cpu);
        }
    }

    /// `cpu`, which counts as idle, has executed the kernel for `time`, at the present clock: its core drew then what it does when
    /// it runs, unless a sibling ran anyway. (Clusters and packages count as asleep as ever.)
    pub fn has_run(&mut self, cpu: CpuId, time: Nanos) {
        let core = self.machine.cpus[cpu.index()].core;
        if self.cores[core.index()].busy_threads > 0 {
            return;
        }
        let running = self.core_watts(core, CoreState::Active(1.0));
        let idle = self.core_watts(core, CoreState::Idle(self.core_idle_state(core)));
        self.cpus[cpu.index()].meter.add((running - idle).max(0.0) * seconds(time));
    }

    /// Keeps the cluster's count of idle cores by state.
    #[inline]
    pub(super) fn count_core(&mut self, core: CoreId, state: Option<usize>) {
        let before = std::mem::replace(&mut self.cores[core.index()].counted, state);
        if before == state {
            return;
        }
        let counts = &mut self.clusters[self.machine.cores[core.index()].cluster.index()].idle_cores;
        if let Some(before) = before {
            counts[before] -= 1;
        }
        if let Some(state) = state {
            counts[state] += 1;
        }
    }

    pub(super) fn update_cluster(&mut self, cluster: ClusterId) {
        let sleeping = self.sleeping(cluster);
        let power = self.cluster_power(cluster, sleeping);
        self.cluster_sleeps(cluster, sleeping);
        let changed = self.clusters[cluster.index()].meter.enter(self.now, power);
        if changed && self.observe {
            let entry = &self.machine.clusters[cluster.index()];
            self.power_changes.extend(entry.cores.iter().flat_map(|core| &self.machine.cores[core.index()].cpus));
        }
    }

    /// What a cluster that sleeps in this state, or is up, draws beside its cores.
    pub(super) fn cluster_power(&self, cluster: ClusterId, sleeping: Option<usize>) -> Power {
        let entry = &self.machine.clusters[cluster.index()];
        let state = &self.clusters[cluster.index()];
        let awake_opp = if state.opp_static && sleeping.is_none() {
            let opps = state.domains.iter().map(|domain| {
                &self.machine.performance_domains[domain.index()].opps[self.domains[domain.index()].effective]
            });
            opps.max_by(|a, b| a.static_watts.unwrap_or(0.0).total_cmp(&b.static_watts.unwrap_or(0.0)))
        } else {
            None
        };
        let watts = cluster_watts(entry, awake_opp, sleeping.unwrap_or(0));
        let stopped = sleeping.and_then(|state| entry.idle_states.get(state));
        let asleep = stopped.is_some_and(|state| state.scope == IdleScope::Cluster);
        Power::of(watts, if asleep { Cause::Asleep } else { Cause::Awake })
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

    /// Tells `observer` what no power has shown it: the ways into idle states and out of them.
    pub fn show_unseen(&mut self, observer: &mut dyn Observer) {
        for (index, cpu) in self.machine.cpus.iter().enumerate() {
            let cluster = &self.clusters[self.machine.cores[cpu.core.index()].cluster.index()];
            let joules = self.cpus[index].meter.unseen() + cluster.meter.unseen() / cluster.cpus;
            if joules != 0.0 {
                observer.unseen_energy(CpuId::at(index), joules);
            }
        }
        for (index, package) in self.packages.iter().enumerate().filter(|(_, package)| package.meter.unseen() != 0.0) {
            observer.unseen_uncore_energy(PackageId::at(index), package.meter.unseen());
        }
    }

    /// Watts of `cpu`: its share of its core and an equal share of its cluster.
    fn cpu_watts(&self, cpu: CpuId) -> f64 {
        let cluster = self.machine.cores[self.machine.cpus[cpu.index()].core.index()].cluster;
        let cluster = &self.clusters[cluster.index()];
        self.cpus[cpu.index()].meter.watts() + cluster.meter.watts() / cluster.cpus
    }

    /// Watts of a package: cores, clusters, uncore.
    pub(super) fn package_watts(&self, package: PackageId) -> f64 {
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

    /// Joules so far of the cores of a cluster, and of what they share.
    pub fn cluster_causes(&mut self, cluster: ClusterId) -> (Causes, Causes) {
        let mut cores = Causes::default();
        for core in &self.machine.clusters[cluster.index()].cores {
            for cpu in &self.machine.cores[core.index()].cpus {
                let own = self.cpus[cpu.index()].meter.read_causes(self.now);
                cores.iter_mut().zip(own).for_each(|(sum, joules)| *sum += joules);
            }
        }
        (cores, self.clusters[cluster.index()].meter.read_causes(self.now))
    }

    /// Joules so far of the uncore of a package.
    pub fn uncore_causes(&mut self, package: PackageId) -> Causes {
        self.packages[package.index()].meter.read_causes(self.now)
    }
}
