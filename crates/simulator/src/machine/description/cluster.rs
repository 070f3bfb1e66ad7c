// SPDX-License-Identifier: MIT OR Apache-2.0
//! `[[cluster]]`: one row of the machine's topology, its references resolved.

use toml::de::DeValue;

use super::range::{GB_PER_S, MHZ, MILLIVOLTS, PART, WATTS, khz, microvolts};
use super::reader::{File, Named, Placed, Table};
use super::tables::Tables;
use super::{MAX_CPUS, boost, cpu_list, schema};
use crate::input::InputError;
use crate::machine::{Boost, VoltageFollows};
use crate::units::{ClusterId, CoreTypeId, MemoryDomainId, PackageId};

/// Of hardware POWER8 has the widest SMT, 8. A hypervisor may tell a virtual machine that its CPUs are the threads of one
/// core, however many there are, and Linux then says so, too.
const MAX_SMT: u32 = MAX_CPUS;
/// `MAX_NUMNODES` of the kernel's largest configurations.
const MAX_NODES: u32 = 1024;

/// `highest_perf` of CPPC has eight bits on the processors whose drivers rank by it.
const MAX_PRIORITY: u32 = 255;

/// Which CPUs share a clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClockScope {
    Cpu,
    Core,
    Cluster,
    Package,
}

const CLOCK_SCOPES: &[(&str, ClockScope)] = &[
    ("cpu", ClockScope::Cpu),
    ("core", ClockScope::Core),
    ("cluster", ClockScope::Cluster),
    ("package", ClockScope::Package),
];

/// Which CPUs share a cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CacheScope {
    /// Groups of so many cores.
    Cores(u32),
    Cluster,
    Package,
}

/// A cluster's last-level cache.
#[derive(Debug, Clone)]
pub(super) struct CacheRow {
    pub(super) at: usize,
    pub(super) level: u32,
    pub(super) kib: u32,
    pub(super) scope: CacheScope,
    pub(super) hit_cost: f64,
    /// Bytes per second of the link of each such cache to its memory, if that is narrower than the memory's own path.
    pub(super) link: Option<f64>,
}

/// A cluster as written.
#[derive(Debug, Clone)]
pub(super) struct ClusterRow {
    pub(super) at: usize,
    pub(super) name: String,
    pub(super) package: PackageId,
    pub(super) core_type: CoreTypeId,
    pub(super) cores: u32,
    pub(super) smt: u32,
    /// CPU numbers core by core, where the table has them.
    pub(super) numbers: Option<Vec<Vec<Placed<u32>>>>,
    pub(super) node: u32,
    pub(super) opp_table: Placed<usize>,
    pub(super) idle_table: usize,
    pub(super) clock: Placed<ClockScope>,
    pub(super) memory: MemoryDomainId,
    pub(super) static_watts: f64,
    pub(super) cache: Option<CacheRow>,
    /// Neighbouring cores that share an L2.
    pub(super) l2_cores: u32,
    pub(super) boost: Vec<Placed<Boost>>,
    /// By core; empty where the table has none.
    pub(super) itmt_priority: Vec<u32>,
}

pub(super) fn read(table: &Table<'_>, tables: &Tables) -> Result<ClusterRow, InputError> {
    let file = table.file;
    let cores = table.whole("cores", 1..=MAX_CPUS)?;
    let core_type = tables.core_types.find(file, table.text("core_type")?)?;
    let smt = read_smt(table, tables, core_type)?;
    let opp_table = table.text("opp_table")?;
    Ok(ClusterRow {
        at: table.at,
        name: table.text("name")?.value.to_owned(),
        package: PackageId::at(tables.packages.find(file, table.text("package")?)?),
        core_type: CoreTypeId::at(core_type),
        cores: cores.value,
        smt,
        numbers: cpu_list::read_cluster(table, cores.value, smt)?,
        node: table.whole_if("node", 0..=MAX_NODES - 1)?.map_or(0, |node| node.value),
        opp_table: Placed { value: tables.opp_tables.find(file, opp_table)?, at: opp_table.at },
        idle_table: tables.idle_tables.find(file, table.text("idle_table")?)?,
        clock: table
            .word_if("performance_domain", CLOCK_SCOPES)?
            .ok_or_else(|| table.missing("performance_domain", "\"cpu\", \"core\", \"cluster\" or \"package\""))?,
        memory: MemoryDomainId::at(tables.memories.find(file, table.text("memory")?)?),
        static_watts: table.number("static_watts", WATTS)?.value,
        cache: read_cache(table, cores.value)?,
        l2_cores: read_l2(table, cores.value)?,
        boost: boost::read(table)?,
        itmt_priority: read_itmt_priority(table, cores.value)?,
    })
}

/// A rank for all cores, or an array with one for each.
fn read_itmt_priority(table: &Table<'_>, cores: u32) -> Result<Vec<u32>, InputError> {
    const KEY: &str = "itmt_priority";
    let Some(value) = table.entry(KEY) else {
        return Ok(Vec::new());
    };
    let DeValue::Array(ranks) = value.get_ref() else {
        return Ok(vec![table.file.whole(KEY, value, 1..=MAX_PRIORITY)?.value; cores as usize]);
    };
    if ranks.len() != cores as usize {
        return Err(table
            .file
            .error(value.span().start, format!("`{KEY}` has {} ranks for {cores} cores", ranks.len()))
            .help("expected one number for all cores, or one for each"));
    }
    ranks.iter().map(|rank| Ok(table.file.whole(KEY, rank, 1..=MAX_PRIORITY)?.value)).collect()
}

fn read_smt(table: &Table<'_>, tables: &Tables, core_type: usize) -> Result<u32, InputError> {
    let Some(smt) = table.whole_if("smt", 1..=MAX_SMT)? else {
        return Ok(1);
    };
    match tables.core_types.rows[core_type].lacks {
        Some(key) if smt.value > 1 => Err(table
            .file
            .error(smt.at, format!("core type `{}` has no `{key}`", tables.core_types.names[core_type]))
            .help("expected `smt_speed` and `smt_activity` in the type of cores with several threads")),
        _ => Ok(smt.value),
    }
}

fn read_cache(table: &Table<'_>, cores: u32) -> Result<Option<CacheRow>, InputError> {
    let Some(row) = table.table_if("cache", &schema::CACHE)? else {
        return Ok(None);
    };
    // The name is for readers of the file: an empty one is a mistake, any other has no effect.
    row.text_if("name")?;
    let scope = cache_scope(row.file, "per", row.text("per")?, cores)?;
    let link = row.number_if("link_gb_per_s", GB_PER_S)?;
    if let Some(link) = link.filter(|_| scope == CacheScope::Package) {
        return Err(row
            .file
            .error(link.at, "a cache of the whole package has no link of its own")
            .help("expected the bandwidth in the `gb_per_s` of the memory"));
    }
    Ok(Some(CacheRow {
        at: row.at,
        level: row.whole("level", 1..=4)?.value,
        kib: row.whole("kib", 1..=1 << 30)?.value,
        scope,
        hit_cost: row.number("hit_cost", PART)?.value,
        link: link.map(|link| link.value * 1e9),
    }))
}

/// How many neighbouring cores share an L2: `"core"`, `"cores:N"` or `"cluster"`.
fn read_l2(table: &Table<'_>, cores: u32) -> Result<u32, InputError> {
    let Some(per) = table.text_if("l2_per")? else { return Ok(1) };
    match cache_scope(table.file, "l2_per", per, cores)? {
        CacheScope::Cores(group) => Ok(group),
        CacheScope::Cluster => Ok(cores),
        CacheScope::Package => Err(table
            .file
            .error(per.at, "`l2_per` cannot be `package`")
            .help("expected \"core\", \"cores:N\" or \"cluster\": the cache of a package is described in `cache`")),
    }
}

fn cache_scope(file: File<'_>, key: &str, per: Placed<&str>, cores: u32) -> Result<CacheScope, InputError> {
    if let Some(group) = per.value.strip_prefix("cores:") {
        let group = group.trim().parse::<u32>().ok().filter(|group| *group > 0 && cores.is_multiple_of(*group));
        return group.map(CacheScope::Cores).ok_or_else(|| {
            file.error(per.at, format!("`{key}` cannot be `{}`", per.value))
                .help(format!("expected \"cores:N\" with an N that divides the cluster's {cores} cores"))
        });
    }
    match per.value {
        "core" => Ok(CacheScope::Cores(1)),
        "cluster" => Ok(CacheScope::Cluster),
        "package" => Ok(CacheScope::Package),
        other => Err(file
            .error(per.at, format!("`{key}` cannot be `{other}`"))
            .help(crate::input::valid_names(other, &["core", "cluster", "package", "cores:N"]))),
    }
}

/// The rail that cluster `own` shares with another; read once every cluster's name is known.
pub(super) fn read_voltage_follows(
    table: &Table<'_>,
    own: usize,
    clusters: &Named<ClusterRow>,
    tables: &Tables,
) -> Result<Option<VoltageFollows>, InputError> {
    let Some(row) = table.table_if("voltage_follows", &schema::VOLTAGE_FOLLOWS)? else {
        return Ok(None);
    };
    let written = row.text("leader")?;
    let leader = clusters.find(row.file, written)?;
    if leader == own {
        return Err(row
            .file
            .error(written.at, format!("cluster `{}` follows itself", written.value))
            .help("expected the name of another cluster"));
    }
    let opps = &tables.opp_tables.rows[clusters.rows[own].opp_table.value].opps;
    if opps.iter().any(|opp| opp.microvolts.is_none()) {
        return Err(row
            .error("the cluster's operating points have no voltage that could follow another")
            .help("expected `mv` in each operating point of its `opp_table`"));
    }
    Ok(Some(VoltageFollows { leader: ClusterId::at(leader), floor: read_floor(&row)? }))
}

fn read_floor(table: &Table<'_>) -> Result<Vec<(u32, u32)>, InputError> {
    let mut floor: Vec<(u32, u32)> = Vec::new();
    for row in table.rows("floor", &schema::VOLTAGE_FLOOR)? {
        let mhz = row.number("mhz", MHZ)?;
        let millivolts = row.number("mv", MILLIVOLTS)?;
        let step = (khz(mhz.value), microvolts(millivolts.value));
        if let Some(below) = floor.last() {
            if step.0 <= below.0 {
                return Err(row.file.error(mhz.at, "`floor` does not ascend").help("expected a higher clock"));
            }
            if step.1 < below.1 {
                return Err(row
                    .file
                    .error(millivolts.at, "`floor` lowers the voltage for a higher clock")
                    .help("expected at least the voltage of the entry before"));
            }
        }
        floor.push(step);
    }
    if floor.is_empty() {
        return Err(table.missing("floor", "an array of at least one { mhz, mv }"));
    }
    Ok(floor)
}
