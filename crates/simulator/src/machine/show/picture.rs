// SPDX-License-Identifier: MIT OR Apache-2.0
//! The drawing: packages, clusters, cores, and under them the caches and the memory that they share.

use super::groups::{self, Group};
use super::{paper, units};
use crate::machine::{Cache, Cluster, Machine, MemoryDomain};
use crate::units::{CpuId, MemoryDomainId, PackageId};
use tandem_loader::cpus::CpuList;

/// Columns that a cluster's box takes at least.
const NARROWEST_BOX: usize = 34;
/// Cores drawn one by one; more are a list of CPU numbers.
const MOST_CELLS: usize = 32;

/// The machine as boxes within boxes.
pub(super) fn boxes(machine: &Machine, groups: &[Vec<Group>], width: usize) -> Vec<String> {
    // Packages with one kind of cluster each stand beside each other.
    let small = groups.iter().all(|groups| groups.len() == 1);
    let narrowest = if small { NARROWEST_BOX + paper::FRAME } else { width };
    let (per_row, package_width) = divide(groups.len(), width, narrowest);
    let package = |(index, groups): (usize, &Vec<Group>)| {
        let inner = package_width - paper::FRAME;
        let mut content = clusters(machine, groups, inner);
        for text in shared(machine, PackageId::at(index)) {
            content.extend(paper::bar(&text, inner));
        }
        (package_title(machine, index), content)
    };
    let packages: Vec<(String, Vec<String>)> = groups.iter().enumerate().map(package).collect();
    let mut lines: Vec<String> = packages.chunks(per_row).flat_map(|row| paper::beside(row, package_width)).collect();
    for text in of_several_packages(machine) {
        lines.extend(paper::bar(&text, width));
    }
    lines
}

/// The machine as an indented tree, for narrow paper.
pub(super) fn tree(machine: &Machine, groups: &[Vec<Group>], width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut add = |depth: usize, text: &str| {
        let indented = format!("{}{text}", "  ".repeat(depth));
        lines.extend(paper::wrap(&indented, width, 2 * depth + 2));
    };
    for (index, groups) in groups.iter().enumerate() {
        add(0, &package_title(machine, index));
        for group in groups {
            add(1, &title(machine, group));
            for text in members(machine, group, width.saturating_sub(4)).iter().chain(&own_caches(machine, group)) {
                add(2, text);
            }
        }
        for text in shared(machine, PackageId::at(index)) {
            add(1, &text);
        }
    }
    for text in of_several_packages(machine) {
        add(0, &text);
    }
    lines
}

fn package_title(machine: &Machine, index: usize) -> String {
    let package = &machine.packages[index];
    let (awake, idle) = (units::watts(package.uncore_watts), units::watts(package.uncore_idle_watts));
    let power = package.power_limit.map(|limit| format!(", at most {} W", units::watts(limit.long_watts)));
    let heat = package.thermal.map(|heat| format!(", at most {} °C", heat.limit_celsius));
    let limits = power.into_iter().chain(heat).collect::<String>();
    format!("package {index}: uncore {awake} W, idle {idle} W{limits}")
}

/// How many of `count` boxes stand in a row of `width` columns, and how wide each is, at least `narrowest`.
fn divide(count: usize, width: usize, narrowest: usize) -> (usize, usize) {
    let fitting = ((width + paper::GAP) / (narrowest + paper::GAP)).max(1);
    // As even as possible: four boxes are two rows of two rather than three and one.
    let rows = count.div_ceil(fitting).max(1);
    let per_row = count.div_ceil(rows).max(1);
    (per_row, (width + paper::GAP) / per_row - paper::GAP)
}

/// Boxes of the clusters, as many beside each other as there is room for.
fn clusters(machine: &Machine, groups: &[Group], width: usize) -> Vec<String> {
    let (per_row, box_width) = divide(groups.len(), width, NARROWEST_BOX);
    let content = |group: &Group| {
        let inner = box_width - paper::FRAME;
        let mut lines: Vec<String> =
            members(machine, group, inner).iter().flat_map(|line| paper::wrap(line, inner, 2)).collect();
        lines.extend(paper::wrap(&ability(machine, group), inner, 2));
        for cache in own_caches(machine, group) {
            lines.extend(paper::bar(&cache, inner));
        }
        (title(machine, group), lines)
    };
    let boxes: Vec<(String, Vec<String>)> = groups.iter().map(content).collect();
    boxes.chunks(per_row).flat_map(|row| paper::beside(row, box_width)).collect()
}

/// `little: 4 × cortex-a53`, `8 × ccd-0 … 7: each 8 × zen4, SMT 2`.
fn title(machine: &Machine, group: &Group) -> String {
    let cluster = group.first(machine);
    let kind = &machine.core_types[cluster.core_type.index()].name;
    let smt = match threads(machine, cluster) {
        1 => String::new(),
        threads => format!(", SMT {threads}"),
    };
    let cores = format!("{} × {kind}{smt}", cluster.cores.len());
    match group.clusters.len() {
        1 => format!("{}: {cores}", group.name(machine)),
        count => format!("{count} × {}: each {cores}", group.name(machine)),
    }
}

fn threads(machine: &Machine, cluster: &Cluster) -> usize {
    cluster.cores.iter().map(|core| machine.cores[core.index()].cpus.len()).max().unwrap_or(1)
}

fn ability(machine: &Machine, group: &Group) -> String {
    let Some(first) = groups::cpus(machine, group.first(machine)).first().copied() else { return String::new() };
    let cpu = &machine.cpus[first.index()];
    let opps = &machine.performance_domains[cpu.performance_domain.index()].opps;
    let ends = |first: &str, last: &str| if first == last { first.to_owned() } else { format!("{first}-{last}") };
    let clocks = match (opps.first(), opps.last()) {
        (Some(first), Some(last)) => ends(&units::mhz(first.khz), &units::mhz(last.khz)),
        _ => String::new(),
    };
    if cpu.speed == cpu.capacity {
        return format!("capacity {}, {clocks} MHz", cpu.capacity);
    }
    format!("speed {} (capacity {}), {clocks} MHz", cpu.speed, cpu.capacity)
}

/// The CPUs: a cell per core, or a list per cluster where there are many.
fn members(machine: &Machine, group: &Group, width: usize) -> Vec<String> {
    let cluster = group.first(machine);
    let clusters = || group.clusters.iter().map(|id| &machine.clusters[id.index()]);
    if cluster.cores.len() * group.clusters.len() <= MOST_CELLS {
        return clusters().flat_map(|cluster| cells(machine, cluster, width)).collect();
    }
    let mut lines: Vec<String> = match group.clusters.len() {
        1 => vec![list(machine, cluster)],
        _ => clusters().map(|cluster| format!("{}: {}", cluster.name, list(machine, cluster))).collect(),
    };
    if let Some(core) = cluster.cores.first().filter(|_| threads(machine, cluster) > 1) {
        lines.push(format!("siblings such as {}", cell(machine, &machine.cores[core.index()].cpus)));
    }
    lines
}

/// `CPUs 0-7,128-135`.
fn list(machine: &Machine, cluster: &Cluster) -> String {
    let (online, offline): (Vec<CpuId>, Vec<CpuId>) =
        groups::cpus(machine, cluster).into_iter().partition(|cpu| machine.cpus[cpu.index()].online);
    let mut parts = Vec::new();
    if !online.is_empty() {
        parts.push(format!("CPUs{}{}", units::TIE, numbers(&online)));
    }
    if !offline.is_empty() {
        parts.push(format!("offline ({})", numbers(&offline)));
    }
    parts.join(", ")
}

/// Rows of cells, aligned; each cluster begins a row.
fn cells(machine: &Machine, cluster: &Cluster, width: usize) -> Vec<String> {
    let cells: Vec<String> =
        cluster.cores.iter().map(|core| cell(machine, &machine.cores[core.index()].cpus)).collect();
    let widest = cells.iter().map(|cell| paper::columns(cell)).max().unwrap_or(1);
    let per_row = ((width + 1) / (widest + 1)).max(1);
    let row = |cells: &[String]| cells.iter().map(|cell| format!("{cell:<widest$}")).collect::<Vec<_>>().join(" ");
    cells.chunks(per_row).map(|cells| row(cells).trim_end().to_owned()).collect()
}

/// A core: `[4]`, `[0+8]` with its siblings; offline CPUs in parentheses.
fn cell(machine: &Machine, cpus: &[CpuId]) -> String {
    let number = |cpu: &CpuId| if machine.cpus[cpu.index()].online { cpu.to_string() } else { format!("({cpu})") };
    format!("[{}]", cpus.iter().map(number).collect::<Vec<_>>().join("+"))
}

fn numbers(cpus: &[CpuId]) -> String {
    CpuList::of(&cpus.iter().map(|cpu| cpu.0).collect::<Vec<_>>()).to_string()
}

/// Caches that lie within each cluster of the group.
fn own_caches(machine: &Machine, group: &Group) -> Vec<String> {
    let members = groups::cpus(machine, group.first(machine));
    let own: Vec<&Cache> = machine.caches.iter().filter(|cache| is_within(&cache.cpus, &members)).collect();
    let l2 = shared_l2(machine, members.first().copied());
    let Some(first) = own.first() else { return l2.into_iter().collect() };
    let size = format!("L{} {}", first.level, units::bytes(first.bytes));
    let cores = first.cpus.iter().map(|cpu| machine.cpus[cpu.index()].core).collect::<std::collections::BTreeSet<_>>();
    let text = match (own.len(), cores.len(), group.clusters.len()) {
        (1, _, 1) => size,
        (1, ..) => format!("{size} each"),
        (_, 1, _) => format!("{size} per core"),
        (_, cores, _) => format!("{size} per {cores} cores"),
    };
    let path =
        machine.memory_domains.iter().find(|path| path.link_of.is_some_and(|of| machine.caches[of.index()] == **first));
    let link = path.map(|path| format!("{} GB/s to memory", units::gb_per_s(path.bytes_per_s)));
    vec![std::iter::once(text).chain(link).collect::<Vec<_>>().join(", ")].into_iter().chain(l2).collect()
}

/// `L2 per 4 cores`, where several cores share one that is not the last level.
fn shared_l2(machine: &Machine, cpu: Option<CpuId>) -> Option<String> {
    let l2 = machine.cpus[cpu?.index()].l2;
    let sharing = machine.cores.iter().filter(|core| machine.cpus[core.cpus[0].index()].l2 == l2).count();
    (sharing > 1).then(|| format!("L2 per {sharing} cores"))
}

/// Caches and memory that clusters of a package share, and memory that belongs to it alone.
fn shared(machine: &Machine, package: PackageId) -> Vec<String> {
    let clusters = || machine.clusters.iter().filter(|cluster| cluster.package == package);
    let members: Vec<CpuId> = clusters().flat_map(|cluster| groups::cpus(machine, cluster)).collect();
    let is_own = |cache: &&Cache| clusters().any(|cluster| is_within(&cache.cpus, &groups::cpus(machine, cluster)));
    let caches = machine.caches.iter().filter(|cache| is_within(&cache.cpus, &members) && !is_own(cache));
    let mut lines: Vec<String> = caches.map(cache).collect();
    lines.extend(memories(machine).filter(|(_, cpus)| is_within(cpus, &members)).map(memory));
    lines
}

/// Caches and memory that no single package owns.
fn of_several_packages(machine: &Machine) -> Vec<String> {
    let packages: Vec<Vec<CpuId>> = (0..machine.packages.len())
        .map(|package| {
            let own = machine.clusters.iter().filter(|cluster| cluster.package == PackageId::at(package));
            own.flat_map(|cluster| groups::cpus(machine, cluster)).collect()
        })
        .collect();
    let is_wide = |cpus: &[CpuId]| !packages.iter().any(|members| is_within(cpus, members));
    let mut lines: Vec<String> = machine.caches.iter().filter(|shared| is_wide(&shared.cpus)).map(cache).collect();
    lines.extend(memories(machine).filter(|(_, cpus)| is_wide(cpus)).map(memory));
    lines
}

fn is_within(cpus: &[CpuId], members: &[CpuId]) -> bool {
    !cpus.is_empty() && cpus.iter().all(|cpu| members.contains(cpu))
}

fn cache(cache: &Cache) -> String {
    format!("L{} {}, CPUs {}", cache.level, units::bytes(cache.bytes), numbers(&cache.cpus))
}

/// Memory domains with the CPUs whose traffic crosses them, narrow before wide.
fn memories(machine: &Machine) -> impl Iterator<Item = (&MemoryDomain, Vec<CpuId>)> {
    let crosses = |cpu: usize, target: MemoryDomainId| {
        let mut at = Some(machine.cpus[cpu].memory_domain);
        while let Some(domain) = at.filter(|domain| *domain != target) {
            at = machine.memory_domains[domain.index()].parent;
        }
        at.is_some()
    };
    let mut order: Vec<usize> = (0..machine.memory_domains.len()).collect();
    order.retain(|index| machine.memory_domains[*index].link_of.is_none());
    order.sort_by_key(|index| std::cmp::Reverse(depth(machine, MemoryDomainId::at(*index))));
    order.into_iter().map(move |index| {
        let cpus = (0..machine.cpus.len()).filter(|cpu| crosses(*cpu, MemoryDomainId::at(index)));
        (&machine.memory_domains[index], cpus.map(CpuId::at).collect())
    })
}

/// How many wider paths the traffic of a memory domain crosses.
fn depth(machine: &Machine, domain: MemoryDomainId) -> usize {
    std::iter::successors(Some(domain), |domain| machine.memory_domains[domain.index()].parent).count() - 1
}

fn memory((domain, cpus): (&MemoryDomain, Vec<CpuId>)) -> String {
    let (all, one) = (units::gb_per_s(domain.bytes_per_s), units::gb_per_s(domain.thread_bytes_per_s));
    let (watts, joules) = (units::watts(domain.static_watts), units::number(domain.joules_per_byte * 1e9, 2));
    let power = format!("{watts} W + {joules} nJ/byte");
    format!("{}: {all} GB/s, one thread {one}, {power}, CPUs {}", domain.name, numbers(&cpus))
}
