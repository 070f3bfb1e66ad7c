// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether what is known of CPUs, cores, clusters, packages and clocks agrees.

use super::Hardware;
use crate::machine::power::CoreState;
use crate::units::{ClusterId, CoreId, CpuId, PackageId};

impl Hardware<'_> {
    /// Asserts that counts are those of what they count, and clocks within their limits.
    pub fn audit(&self) {
        self.audit_counts();
        self.audit_clocks();
        self.audit_power();
        for (index, cpu) in self.cpus.iter().enumerate() {
            assert_eq!(cpu.residency.total(self.now), self.now, "CPU {index} is in some state at each moment");
            let states = self.machine.cluster(CpuId::at(index)).idle_states.len().max(1);
            assert!(cpu.idle_state < states, "CPU {index} has no idle state {}", cpu.idle_state);
        }
    }

    fn audit_counts(&self) {
        for (core, entry) in self.cores.iter().zip(&self.machine.cores) {
            let busy = entry.cpus.iter().filter(|cpu| self.cpus[cpu.index()].activity.is_some()).count();
            assert_eq!(core.busy_threads as usize, busy, "threads that run on a core");
        }
        let is_active = |index: usize| self.cores[index].busy_threads > 0;
        for (cluster, entry) in self.clusters.iter().zip(&self.machine.clusters) {
            let active = entry.cores.iter().filter(|core| is_active(core.index())).count();
            assert_eq!(cluster.active_cores as usize, active, "active cores of a cluster");
            let idle: u32 = cluster.idle_cores.iter().sum();
            assert_eq!(idle as usize + active, entry.cores.len(), "idle and active cores of a cluster");
        }
        for (index, package) in self.packages.iter().enumerate() {
            let clusters = self.machine.clusters.iter().zip(&self.clusters);
            let inside = clusters.filter(|(entry, _)| entry.package.index() == index);
            let active: u32 = inside.map(|(_, cluster)| cluster.active_cores).sum();
            assert_eq!(package.active_cores, active, "active cores of a package");
        }
    }

    fn audit_clocks(&self) {
        for (domain, entry) in self.domains.iter().zip(&self.machine.performance_domains) {
            let allowed = entry.min_opp..=entry.max_opp;
            assert!(allowed.contains(&domain.requested), "a governor asks for OPP {} of {allowed:?}", domain.requested);
            assert!(domain.effective <= domain.requested, "a clock is above what the governor asks for");
            assert_eq!(domain.residency.total(self.now), self.now, "a clock has some frequency at each moment");
        }
    }

    /// What is changed only where something changed is what it would be if it were worked out now.
    fn audit_power(&self) {
        for (index, core) in self.cores.iter().enumerate() {
            let (id, cpu) = (CoreId::at(index), self.machine.cores[index].cpus[0]);
            assert_eq!(core.khz, self.domain_khz(self.core_domain(id)), "the clock of core {index}");
            if let Some(activity) = self.cpus[cpu.index()].activity.filter(|_| core.is_single) {
                let watts = self.core_watts(id, CoreState::Active(activity));
                assert_eq!(self.cpus[cpu.index()].meter.watts(), watts, "what core {index} draws");
            }
        }
        for (index, cluster) in self.clusters.iter().enumerate() {
            let id = ClusterId::at(index);
            let power = self.cluster_power(id, self.sleeping(id));
            assert_eq!(cluster.meter.watts(), power.watts, "what cluster {index} draws beside its cores");
        }
        for (index, package) in self.packages.iter().enumerate() {
            let power = self.uncore_power(PackageId::at(index));
            assert_eq!(package.meter.watts(), power.watts, "what package {index} draws beside its clusters");
        }
    }

    /// Joules so far of each part that has a meter, in a fixed order.
    pub fn joules_so_far(&self) -> Vec<f64> {
        let meters = self.cpus.iter().map(|cpu| &cpu.meter);
        let meters = meters.chain(self.clusters.iter().map(|cluster| &cluster.meter));
        let meters = meters.chain(self.packages.iter().map(|package| &package.meter));
        meters.map(|meter| meter.so_far(self.now)).collect()
    }

    /// Whether `cpu` runs.
    pub fn is_busy(&self, cpu: CpuId) -> bool {
        self.cpus[cpu.index()].activity.is_some()
    }
}
