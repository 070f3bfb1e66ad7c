// SPDX-License-Identifier: MIT OR Apache-2.0
//! Clusters, packages and memory: which cores share what.

use super::cores::Core;
use crate::machine::CpufreqDriver;

use super::{Cache, Clock, Cluster, Kind, Memory, Package, number_repeated};
use tandem_loader::cpus::CpuList;
use tandem_loader::reading::{CacheLevel, Policy, Reading};

/// The tables that clusters refer to, and each core's entry in them.
pub(super) struct Tables<'a> {
    pub kinds: &'a [Kind],
    pub kind_of: Vec<usize>,
    pub clocks: &'a [Clock],
    pub clock_of: Vec<usize>,
    pub idle_of: Vec<usize>,
}

/// What [`lay_out`] finds.
pub(super) struct Layout {
    pub clusters: Vec<Cluster>,
    pub packages: Vec<Package>,
    pub memories: Vec<Memory>,
}

/// What all cores of a cluster have in common.
#[derive(PartialEq)]
struct Common {
    package: i64,
    node: u32,
    kind: usize,
    clock: usize,
    idle: usize,
    threads: usize,
    /// Online CPUs of the cpufreq policy, if it spans several cores.
    policy: Vec<u32>,
    /// CPUs of the last-level cache, if several cores share it; without cache files, those of the cluster in sysfs.
    sharing: Vec<u32>,
}

/// A cluster in the making: indices of its cores.
struct Group {
    common: Common,
    cores: Vec<usize>,
}

/// The clusters in order of their first CPU, with their packages and memories.
pub(super) fn lay_out(facts: &Reading, cores: &[Core], tables: &Tables, warnings: &mut Vec<String>) -> Layout {
    let mut groups: Vec<Group> = Vec::new();
    for (index, core) in cores.iter().enumerate() {
        let common = common(facts, cores, core, index, tables);
        match groups.iter_mut().find(|group| group.common == common) {
            Some(group) => group.cores.push(index),
            None => groups.push(Group { common, cores: vec![index] }),
        }
    }
    let packages = packages(&groups, tables);
    let memories = memories(facts, &groups);
    let names = names(&groups, tables);
    let clusters = groups.iter().zip(names).map(|(group, name)| {
        let common = &group.common;
        Cluster {
            name,
            package: packages.iter().position(|package| package.number == common.package).unwrap_or(0),
            kind: common.kind,
            clock: common.clock,
            idle_table: common.idle,
            memory: memories.iter().position(|memory| memory.node == common.node).unwrap_or(0),
            node: common.node,
            domain: domain(facts, cores, group, &groups, warnings),
            cores: group.cores.iter().map(|core| cores[*core].cpus.clone()).collect(),
            ranks: ranks(facts, cores, group),
            cache: cache(facts, cores, group, &groups, warnings),
        }
    });
    let clusters = clusters.collect();
    warnings.dedup();
    Layout { clusters, packages, memories }
}

fn common(facts: &Reading, cores: &[Core], core: &Core, index: usize, tables: &Tables) -> Common {
    let cpu = core.facts(facts);
    let spanning = |cpus: Option<Vec<u32>>| cpus.filter(|cpus| spans_cores(cores, cpus)).unwrap_or_default();
    let node = facts.nodes.iter().find(|node| node.cpus.contains(&core.leader));
    let shared = match last_level(facts, core.leader) {
        Some(cache) => Some(cache.cpus.clone()),
        None => cpu.cluster_cpus.clone(),
    };
    Common {
        package: cpu.package.unwrap_or(0),
        node: node.map_or(0, |node| node.number),
        kind: tables.kind_of[index],
        clock: tables.clock_of[index],
        idle: tables.idle_of[index],
        threads: core.cpus.len(),
        policy: spanning(policy(facts, core.leader).map(|policy| only_online(facts, &policy.cpus))),
        sharing: spanning(shared),
    }
}

/// What a driver of x86 ranks cores by (`intel_pstate_set_itmt_prio`): `highest_perf` of CPPC, where all CPUs have one and it
/// tells them apart. Where overclocking makes all of them 255, the driver reads a register that sysfs does not show.
fn ranks(facts: &Reading, cores: &[Core], group: &Group) -> Vec<u32> {
    let ranked = facts.policies.iter().any(|policy| policy.driver.as_deref().and_then(CpufreqDriver::named).is_some());
    let all: Option<Vec<u32>> = facts.cpus.iter().map(|cpu| cpu.highest_perf.filter(|perf| *perf < 255)).collect();
    let apart = all.filter(|all| ranked && all.iter().any(|perf| *perf != all[0]));
    let of_core = |all: &Vec<u32>| group.cores.iter().map(|core| all[cores[*core].leader as usize]).collect();
    apart.as_ref().map(of_core).unwrap_or_default()
}

fn policy(facts: &Reading, cpu: u32) -> Option<&Policy> {
    facts.policy_of(cpu)
}

/// The deepest data cache from level 2 on.
fn last_level(facts: &Reading, cpu: u32) -> Option<&CacheLevel> {
    facts.cpus[cpu as usize]
        .caches
        .iter()
        .filter(|cache| cache.level >= 2 && cache.kib.is_some())
        .max_by_key(|cache| cache.level)
}

fn only_online(facts: &Reading, cpus: &[u32]) -> Vec<u32> {
    let online = |cpu: &u32| facts.cpus.get(*cpu as usize).is_some_and(|cpu| cpu.online);
    cpus.iter().copied().filter(online).collect()
}

fn spans_cores(cores: &[Core], cpus: &[u32]) -> bool {
    cores.iter().filter(|core| core.cpus.iter().any(|cpu| cpus.contains(cpu))).count() > 1
}

/// Online CPUs of a group, ascending.
fn online(facts: &Reading, cores: &[Core], group: &Group) -> Vec<u32> {
    let all: Vec<u32> = group.cores.iter().flat_map(|core| cores[*core].cpus.clone()).collect();
    let mut cpus = only_online(facts, &all);
    cpus.sort_unstable();
    cpus
}

fn packages(groups: &[Group], tables: &Tables) -> Vec<Package> {
    let mut numbers: Vec<i64> = groups.iter().map(|group| group.common.package).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let busy = |number: i64| -> f64 {
        let own = groups.iter().filter(|group| group.common.package == number);
        own.map(|group| group.cores.len() as f64 * tables.clocks[group.common.clock].busy_watts().1).sum()
    };
    let package = |(index, number)| Package { number, name: format!("package{index}"), busy_watts: busy(number) };
    numbers.into_iter().enumerate().map(package).collect()
}

fn memories(facts: &Reading, groups: &[Group]) -> Vec<Memory> {
    let mut nodes: Vec<u32> = groups.iter().map(|group| group.common.node).collect();
    nodes.sort_unstable();
    nodes.dedup();
    let only = nodes.len() == 1;
    let known = |node| facts.nodes.iter().find(|known| known.number == node);
    let memory = |node| Memory {
        node,
        name: format!("node{node}"),
        cores: groups.iter().filter(|group| group.common.node == node).map(|group| group.cores.len()).sum(),
        kib: known(node).and_then(|known| known.memory_kib).or_else(|| facts.memory_kib.filter(|_| only)),
        distances: known(node).map_or(Vec::new(), |known| known.distances.clone()),
        measured: None,
    };
    nodes.into_iter().map(memory).collect()
}

/// After the kind of core where there are several, with a number where several clusters are of one kind.
fn names(groups: &[Group], tables: &Tables) -> Vec<String> {
    let name = |group: &Group| match tables.kinds {
        [_] => "cluster".to_owned(),
        kinds => kinds[group.common.kind].name.clone(),
    };
    let names: Vec<String> = groups.iter().map(name).collect();
    let several_kinds = tables.kinds.len() > 1;
    number_repeated(&names, if several_kinds { "-" } else { "" })
}

/// The value of `performance_domain`.
fn domain(
    facts: &Reading,
    cores: &[Core],
    group: &Group,
    groups: &[Group],
    warnings: &mut Vec<String>,
) -> &'static str {
    let cpus = online(facts, cores, group);
    let Some(policy) = cpus.first().and_then(|cpu| policy(facts, *cpu)) else { return "cluster" };
    let policy = only_online(facts, &policy.cpus);
    if policy == cpus {
        return "cluster";
    }
    if !spans_cores(cores, &policy) {
        // Siblings with a policy each still run at one clock: the hardware takes the higher request.
        return if group.common.threads > 1 { "core" } else { "cpu" };
    }
    let of_package = groups
        .iter()
        .filter(|other| other.common.package == group.common.package && other.common.clock == group.common.clock);
    let mut union: Vec<u32> = of_package.flat_map(|other| online(facts, cores, other)).collect();
    union.sort_unstable();
    if policy == union {
        return "package";
    }
    let list = CpuList::of(&policy);
    warnings.push(format!("the clock of CPUs {list} spans unlike clusters: each is described with a clock of its own"));
    "cluster"
}

/// The last-level cache of a group.
fn cache(
    facts: &Reading,
    cores: &[Core],
    group: &Group,
    groups: &[Group],
    warnings: &mut Vec<String>,
) -> Option<Cache> {
    let cpus = online(facts, cores, group);
    let leader = cores[*group.cores.first()?].leader;
    let Some(cache) = last_level(facts, leader) else {
        warnings.push("some CPUs have no second-level cache in sysfs: described without a shared cache".to_owned());
        return None;
    };
    let (level, kib) = (cache.level, cache.kib?);
    let of = |per| Some(Cache { level, kib, per });
    if !spans_cores(cores, &cache.cpus) {
        return of(if group.cores.len() == 1 { "cluster" } else { "core" });
    }
    if cache.cpus.iter().all(|cpu| cpus.contains(cpu)) {
        return of("cluster");
    }
    // `per = "package"` joins every cluster of the package with a cache of this level that says so.
    let mut others = groups.iter().filter(|other| other.common.package == group.common.package);
    let is_only = others.all(|other| {
        let theirs = cores.get(other.cores[0]).and_then(|core| last_level(facts, core.leader));
        theirs.is_none_or(|theirs| theirs.level != level || theirs == cache)
    });
    if is_only {
        return of("package");
    }
    let list = CpuList::of(&cache.cpus);
    warnings.push(format!("the L{level} cache of CPUs {list} spans clusters: each is described with one of its own"));
    of("cluster")
}
