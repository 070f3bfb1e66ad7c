// SPDX-License-Identifier: MIT OR Apache-2.0
//! Clusters that differ in nothing but their numbers, so that a large machine is drawn as briefly as a small one.

use crate::machine::{Cluster, Machine};
use crate::units::{ClusterId, CoreId, CpuId, PackageId};

/// Clusters of one package that are alike.
pub(super) struct Group {
    /// In the order of the description; never empty.
    pub clusters: Vec<ClusterId>,
}

impl Group {
    /// The cluster that stands for all.
    pub(super) fn first<'m>(&self, machine: &'m Machine) -> &'m Cluster {
        &machine.clusters[self.clusters[0].index()]
    }

    /// `little`, `ccd-0 … 7`, or all names.
    pub(super) fn name(&self, machine: &Machine) -> String {
        let names: Vec<&str> = self.clusters.iter().map(|id| machine.clusters[id.index()].name.as_str()).collect();
        let stem = |name: &str| name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        match names.as_slice() {
            [first, .., last] if first[..stem(first)] == last[..stem(last)] => {
                format!("{first} … {}", &last[stem(last)..])
            }
            names => names.join(", "),
        }
    }

    /// All its CPUs, ascending.
    pub(super) fn cpus(&self, machine: &Machine) -> Vec<CpuId> {
        let mut cpus: Vec<CpuId> =
            self.clusters.iter().flat_map(|id| cpus(machine, &machine.clusters[id.index()])).collect();
        cpus.sort_unstable();
        cpus
    }
}

/// The CPUs of `cluster`, ascending.
pub(super) fn cpus(machine: &Machine, cluster: &Cluster) -> Vec<CpuId> {
    let mut cpus: Vec<CpuId> =
        cluster.cores.iter().flat_map(|core| machine.cores[core.index()].cpus.iter().copied()).collect();
    cpus.sort_unstable();
    cpus
}

/// The groups of each package, in the order of their first clusters.
pub(super) fn find(machine: &Machine) -> Vec<Vec<Group>> {
    (0..machine.packages.len()).map(|package| of_package(machine, PackageId::at(package))).collect()
}

/// Clusters that can do the same, whatever their package, caches and memory.
pub(super) fn of_one_ability(machine: &Machine) -> Vec<Group> {
    let all = (0..machine.clusters.len()).map(ClusterId::at);
    collect(machine, all, |a, b| {
        let boost = |cluster: &Cluster| &machine.packages[cluster.package.index()].boost;
        described(a) == described(b) && boost(a) == boost(b) && clocks(machine, a) == clocks(machine, b)
    })
}

fn of_package(machine: &Machine, package: PackageId) -> Vec<Group> {
    let own = machine.clusters.iter().enumerate().filter(|(_, cluster)| cluster.package == package);
    let own = own.map(|(index, _)| ClusterId::at(index));
    collect(machine, own, |a, b| described(a) == described(b) && shape(machine, a) == shape(machine, b))
}

fn collect(
    machine: &Machine,
    clusters: impl Iterator<Item = ClusterId>,
    is_alike: impl Fn(&Cluster, &Cluster) -> bool,
) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for id in clusters {
        let cluster = &machine.clusters[id.index()];
        match groups.iter_mut().find(|group| is_alike(group.first(machine), cluster)) {
            Some(group) => group.clusters.push(id),
            None => groups.push(Group { clusters: vec![id] }),
        }
    }
    groups
}

/// The description of a cluster, without its name and place: equal for clusters that are alike.
fn described(cluster: &Cluster) -> Cluster {
    Cluster { name: String::new(), package: PackageId(0), cores: Vec::new(), ..cluster.clone() }
}

/// The clock of each CPU of a cluster, and how many CPUs share that.
fn clocks<'m>(machine: &'m Machine, cluster: &Cluster) -> impl PartialEq + use<'m> {
    let of_cpu = |id: CpuId| {
        let domain = &machine.performance_domains[machine.cpus[id.index()].performance_domain.index()];
        (domain.cpus.len(), &domain.opps, domain.transition_latency, domain.scalable)
    };
    cpus(machine, cluster).into_iter().map(of_cpu).collect::<Vec<_>>()
}

/// For each CPU in turn what its cache and memory are like, on top of its clock.
fn shape<'m>(machine: &'m Machine, cluster: &Cluster) -> impl PartialEq + use<'m> {
    let of_cpu = |id: &CpuId| {
        let cpu = &machine.cpus[id.index()];
        let cache = cpu.llc.map(|llc| &machine.caches[llc.index()]);
        let cache = cache.map(|cache| (cache.level, cache.bytes, cache.cpus.len()));
        let path = &machine.memory_domains[cpu.memory_domain.index()];
        let link = path.link_of.map(|_| path.bytes_per_s);
        let memory = path.parent.filter(|_| link.is_some()).unwrap_or(cpu.memory_domain);
        let l2 = machine.cores.iter().filter(|core| machine.cpus[core.cpus[0].index()].l2 == cpu.l2).count();
        (cpu.online, cache, memory, link, l2, cpu.node)
    };
    let of_core = |core: &CoreId| machine.cores[core.index()].cpus.iter().map(of_cpu).collect::<Vec<_>>();
    (clocks(machine, cluster), cluster.cores.iter().map(of_core).collect::<Vec<_>>())
}
