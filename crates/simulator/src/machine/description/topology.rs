// SPDX-License-Identifier: MIT OR Apache-2.0
//! CPUs, cores, caches and performance domains out of the clusters of a description.

use std::collections::BTreeMap;

use super::cluster::{CacheRow, CacheScope, ClockScope, ClusterRow};
use super::numbering::Cores;
use super::reader::{File, Named};
use super::tables::Tables;
use crate::input::InputError;
use crate::machine::{Cache, Core, Cpu, MemoryDomain, PerformanceDomain};
use crate::units::{CacheId, ClusterId, CoreId, CpuId, MemoryDomainId, PerformanceDomainId};

/// The tables that CPUs refer to.
#[derive(Debug, Clone)]
pub(super) struct Topology {
    /// By number; capacities are not known yet.
    pub(super) cpus: Vec<Cpu>,
    pub(super) cores: Vec<Core>,
    /// The cores of each cluster.
    pub(super) cluster_cores: Vec<Vec<CoreId>>,
    pub(super) caches: Vec<Cache>,
    pub(super) performance_domains: Vec<PerformanceDomain>,
    /// Links of caches to memory, to stand behind the paths that the file describes.
    pub(super) links: Vec<MemoryDomain>,
}

/// A CPU and where it sits.
struct Seat {
    cpu: CpuId,
    thread: u32,
    core: CoreId,
    /// The core's place in its cluster.
    place: u32,
    cluster: usize,
}

/// Which CPUs share a clock or a cache: those with the same kind of group, owner and index.
type Group = (u8, u32, u32);

pub(super) fn build(
    file: File<'_>,
    clusters: &Named<ClusterRow>,
    numbers: &[Cores],
    tables: &Tables,
) -> Result<Topology, InputError> {
    check_shared_caches(file, clusters)?;
    check_shared_clocks(file, clusters, tables)?;
    let seats = seats(numbers);
    let (caches, cache_of) = caches(&clusters.rows, &seats);
    let (performance_domains, domain_of) = performance_domains(&clusters.rows, &seats, tables);
    let cpus = seats.iter().zip(cache_of).zip(domain_of).map(|((seat, llc), performance_domain)| {
        let row = &clusters.rows[seat.cluster];
        Cpu {
            core: seat.core,
            thread: seat.thread,
            online: true,
            performance_domain,
            llc,
            l2: CoreId(seat.core.0 - seat.place % row.l2_cores),
            memory_domain: row.memory,
            node: row.node,
            capacity: 0,
            speed: 0,
            itmt_priority: row.itmt_priority.get(seat.place as usize).copied().unwrap_or(0),
        }
    });
    let mut cpus: Vec<Cpu> = cpus.collect();
    let links = link_caches(&mut cpus, &caches, numbers, clusters, tables);
    let (cores, cluster_cores) = cores(numbers);
    Ok(Topology { cpus, cores, cluster_cores, caches, performance_domains, links })
}

/// Every CPU, ascending by number.
fn seats(numbers: &[Cores]) -> Vec<Seat> {
    let mut seats = Vec::new();
    let mut core = 0;
    for (cluster, cores) in numbers.iter().enumerate() {
        for (place, cpus) in cores.iter().enumerate() {
            let seat = |(thread, number): (usize, &u32)| Seat {
                cpu: CpuId(*number),
                thread: thread as u32,
                core: CoreId::at(core),
                place: place as u32,
                cluster,
            };
            seats.extend(cpus.iter().enumerate().map(seat));
            core += 1;
        }
    }
    seats.sort_by_key(|seat| seat.cpu);
    seats
}

fn cores(numbers: &[Cores]) -> (Vec<Core>, Vec<Vec<CoreId>>) {
    let mut cores = Vec::new();
    let mut by_cluster = Vec::new();
    for (cluster, cluster_cores) in numbers.iter().enumerate() {
        let first = cores.len();
        cores.extend(cluster_cores.iter().map(|cpus| Core {
            cluster: ClusterId::at(cluster),
            cpus: cpus.iter().map(|number| CpuId(*number)).collect(),
        }));
        by_cluster.push((first..cores.len()).map(CoreId::at).collect());
    }
    (cores, by_cluster)
}

/// Collects CPUs by group: the groups in the order of their first CPU, and each CPU's place among them.
fn group(seats: &[Seat], key: impl Fn(&Seat) -> Option<Group>) -> (Vec<Vec<CpuId>>, Vec<Option<usize>>) {
    let mut index_of: BTreeMap<Group, usize> = BTreeMap::new();
    let mut groups: Vec<Vec<CpuId>> = Vec::new();
    let mut member_of = Vec::with_capacity(seats.len());
    for seat in seats {
        let index = key(seat).map(|key| {
            *index_of.entry(key).or_insert_with(|| {
                groups.push(Vec::new());
                groups.len() - 1
            })
        });
        if let Some(index) = index {
            groups[index].push(seat.cpu);
        }
        member_of.push(index);
    }
    (groups, member_of)
}

fn caches(clusters: &[ClusterRow], seats: &[Seat]) -> (Vec<Cache>, Vec<Option<CacheId>>) {
    let (groups, cache_of) = group(seats, |seat| {
        let row = &clusters[seat.cluster];
        row.cache.as_ref().map(|cache| match cache.scope {
            CacheScope::Cores(size) => (0, seat.core.0 - seat.place % size, 0),
            CacheScope::Cluster => (1, seat.cluster as u32, 0),
            CacheScope::Package => (2, row.package.0, cache.level),
        })
    });
    let described = groups.into_iter().filter_map(|cpus| {
        let cluster = seats[cpus.first()?.index()].cluster;
        clusters[cluster].cache.as_ref().map(|cache| (cache, cpus))
    });
    let caches = described.map(|(cache, cpus)| Cache {
        level: cache.level,
        bytes: u64::from(cache.kib) * 1024,
        hit_cost: cache.hit_cost,
        cpus,
    });
    (caches.collect(), cache_of.into_iter().map(|index| index.map(CacheId::at)).collect())
}

/// Puts a link between each cache whose cluster says so and the memory: it is the path of the cache's CPUs from then on.
fn link_caches(
    cpus: &mut [Cpu],
    caches: &[Cache],
    numbers: &[Cores],
    clusters: &Named<ClusterRow>,
    tables: &Tables,
) -> Vec<MemoryDomain> {
    let cluster_of =
        |cpu: CpuId| numbers.iter().position(|cores| cores.iter().flatten().any(|number| *number == cpu.0));
    let mut links = Vec::new();
    for (index, cache) in caches.iter().enumerate() {
        let Some(row) = cache.cpus.first().and_then(|cpu| cluster_of(*cpu)).map(|cluster| &clusters.rows[cluster])
        else {
            continue;
        };
        let Some(bytes_per_s) = row.cache.as_ref().and_then(|cache| cache.link) else { continue };
        let memory = &tables.memories.rows[row.memory.index()];
        for cpu in &cache.cpus {
            cpus[cpu.index()].memory_domain = MemoryDomainId::at(tables.memories.rows.len() + links.len());
        }
        links.push(MemoryDomain {
            name: format!("{}/L{}-{index}", memory.name, cache.level),
            bytes_per_s,
            thread_bytes_per_s: memory.thread_bytes_per_s.min(bytes_per_s),
            contention: 0.0,
            static_watts: 0.0,
            joules_per_byte: 0.0,
            parent: Some(row.memory),
            link_of: Some(CacheId::at(index)),
        });
    }
    links
}

fn performance_domains(
    clusters: &[ClusterRow],
    seats: &[Seat],
    tables: &Tables,
) -> (Vec<PerformanceDomain>, Vec<PerformanceDomainId>) {
    let (groups, domain_of) = group(seats, |seat| {
        let row = &clusters[seat.cluster];
        Some(match row.clock.value {
            ClockScope::Cpu => (0, seat.cpu.0, 0),
            ClockScope::Core => (1, seat.core.0, 0),
            ClockScope::Cluster => (2, seat.cluster as u32, 0),
            ClockScope::Package => (3, row.package.0, row.opp_table.value as u32),
        })
    });
    let domains = groups.into_iter().map(|cpus| {
        let table = &tables.opp_tables.rows[clusters[seats[cpus[0].index()].cluster].opp_table.value];
        PerformanceDomain {
            cpus,
            opps: table.opps.clone(),
            transition_latency: table.transition_latency,
            min_opp: 0,
            max_opp: table.opps.len() - 1,
            scalable: table.scalable,
        }
    });
    (domains.collect(), domain_of.into_iter().flatten().map(PerformanceDomainId::at).collect())
}

/// Clusters of one package that share a cache must say the same about it.
fn check_shared_caches(file: File<'_>, clusters: &Named<ClusterRow>) -> Result<(), InputError> {
    let mut first: BTreeMap<(u32, u32), (&str, &CacheRow)> = BTreeMap::new();
    for row in &clusters.rows {
        let Some(cache) = row.cache.as_ref().filter(|cache| cache.scope == CacheScope::Package) else {
            continue;
        };
        let (name, shared) = *first.entry((row.package.0, cache.level)).or_insert((&row.name, cache));
        if (shared.kib, shared.hit_cost) != (cache.kib, cache.hit_cost) {
            return Err(file
                .error(cache.at, format!("cluster `{name}` describes the package's shared cache otherwise"))
                .help(format!("expected kib = {}, hit_cost = {}", shared.kib, shared.hit_cost)));
        }
    }
    Ok(())
}

/// Cores of one clock must be of one kind: a performance domain has one capacity.
fn check_shared_clocks(file: File<'_>, clusters: &Named<ClusterRow>, tables: &Tables) -> Result<(), InputError> {
    let mut first: BTreeMap<(u32, usize), &ClusterRow> = BTreeMap::new();
    for row in clusters.rows.iter().filter(|row| row.clock.value == ClockScope::Package) {
        let other = *first.entry((row.package.0, row.opp_table.value)).or_insert(row);
        if other.core_type != row.core_type {
            let kinds = &tables.core_types.names;
            let (this, that) = (&kinds[row.core_type.index()], &kinds[other.core_type.index()]);
            return Err(file
                .error(
                    row.clock.at,
                    format!("the performance domain mixes core types: `{this}` here, `{that}` in `{}`", other.name),
                )
                .help("expected an `opp_table` of its own, or another `performance_domain`"));
        }
    }
    Ok(())
}
