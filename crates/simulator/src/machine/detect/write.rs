// SPDX-License-Identifier: MIT OR Apache-2.0
//! Writes a plan as TOML, schema 1, every value with its source.

use super::assumed;
use super::plan::{Clock, Cluster, IdleTable, Kind, Memory, Package, Plan, Power, Sourced};
use tandem_loader::cpus::CpuList;

/// The text of the description.
pub(super) fn description(plan: &Plan, name: &str) -> String {
    let mut tables = Vec::new();
    tables.extend(plan.kinds.iter().map(|kind| core_type(kind, plan.reference_ipc, &plan.measured_source)));
    tables.extend(plan.clocks.iter().map(opp_table));
    tables.extend(plan.idle_tables.iter().map(idle_table));
    tables.extend(plan.memories.iter().map(|memory| self::memory(plan, memory)));
    tables.extend(nodes(plan));
    tables.extend(plan.packages.iter().map(|package| self::package(plan, package)));
    tables.extend(plan.clusters.iter().map(|cluster| self::cluster(plan, cluster)));
    tables.push(platform(plan));
    tables.push(scheduling(plan));
    tables.extend(plan.online.as_ref().map(|online| configuration(name, online)));
    let mut text = format!("schema = 1\ntitle = {}\nnotes = {}\n", quoted(&plan.title), quoted(&plan.notes.join(" ")));
    for table in tables {
        text.push('\n');
        text.push_str(&table.text());
    }
    text
}

/// A table of the description: keys with their values as TOML and where each comes from.
struct Table {
    header: String,
    entries: Vec<(&'static str, String)>,
    sources: Vec<(&'static str, String)>,
}

impl Table {
    fn new(header: String) -> Self {
        Self { header, entries: Vec::new(), sources: Vec::new() }
    }

    fn entry(&mut self, key: &'static str, value: String, source: &str) {
        self.entries.push((key, value));
        self.source(key, source);
    }

    fn number(&mut self, key: &'static str, value: f64, source: &str) {
        self.entry(key, float(value), source);
    }

    /// The source of a key that stands inside the value of another, such as the watts of operating points.
    fn source(&mut self, key: &'static str, source: &str) {
        self.sources.push((key, source.to_owned()));
    }

    /// The source of most keys becomes the table's, the others are named.
    fn text(&self) -> String {
        let count = |source: &String| self.sources.iter().filter(|(_, other)| other == source).count();
        let most = self.sources.iter().map(|(_, source)| count(source)).max().unwrap_or(0);
        let main = self.sources.iter().map(|(_, source)| source).find(|source| count(source) == most);
        let mut text = format!("{}\n", self.header);
        for (key, value) in &self.entries {
            text.push_str(&format!("{key} = {value}\n"));
        }
        if let Some(source) = main {
            text.push_str(&format!("source = {}\n", quoted(source)));
        }
        for (key, source) in self.sources.iter().filter(|(_, source)| Some(source) != main) {
            text.push_str(&format!("sources.{key} = {}\n", quoted(source)));
        }
        text
    }
}

fn core_type(kind: &Kind, reference_ipc: f64, measured_source: &str) -> Table {
    let mut table = Table::new(format!("[core_type.{}]", kind.name));
    table.number("ipc", kind.ipc.value, &kind.ipc.source);
    table.number("memory_speed", assumed::memory_speed(kind.ipc.value / reference_ipc), assumed::MEMORY_SPEED_SOURCE);
    let mut number = |key, measured: Option<f64>, assumed, source| match measured {
        Some(value) => table.number(key, value, measured_source),
        None => table.number(key, assumed, source),
    };
    let measured = kind.measured.as_ref();
    let stall_activity = measured.and_then(|cores| cores.stall_activity);
    number("stall_activity", stall_activity, assumed::STALL_ACTIVITY, assumed::STALL_ACTIVITY_SOURCE);
    if kind.smt {
        let (speed, activity) = measured.map_or((None, None), |cores| (cores.smt_speed, cores.smt_activity));
        number("smt_speed", speed, assumed::SMT_SPEED, assumed::SMT_SOURCE);
        number("smt_activity", activity, assumed::SMT_ACTIVITY, assumed::SMT_SOURCE);
    }
    table
}

fn opp_table(clock: &Clock) -> Table {
    let mut table = Table::new(format!("[opp_table.{}]", clock.name));
    if !clock.scalable {
        table.entry("scalable", "false".to_owned(), "no cpufreq that names clocks: taken as fixed");
    }
    if !clock.energy_model {
        table.entry("energy_model", "false".to_owned(), "Linux registers no energy model of operating points on x86");
    }
    table.number("transition_latency_us", clock.latency_us.value, &clock.latency_us.source);
    let mhz: Vec<String> = clock.khz.value.iter().map(|khz| format!("mhz = {}", megahertz(*khz))).collect();
    let (power, key, source) = match &clock.power {
        Power::Modelled(Sourced { value, source }) => (
            value.iter().map(|watts| format!("watts = {}", float(*watts))).collect::<Vec<_>>(),
            "watts",
            source.as_str(),
        ),
        Power::Assumed(power) => {
            table.number("dynamic_power_coefficient", power.coefficient, assumed::POWER_SOURCE);
            table.number("leakage_watts_per_v", power.leakage_watts_per_v, assumed::POWER_SOURCE);
            (power.mv.iter().map(|mv| format!("mv = {mv}")).collect(), "mv", assumed::POWER_SOURCE)
        }
        Power::Measured(power) => {
            if let Some(leakage) = power.leakage_watts_per_v {
                table.number("leakage_watts_per_v", leakage, &power.source);
            }
            if power.mv.is_some() {
                table.source("mv", "debugfs opp: u_volt_target");
            }
            let volts =
                |at: usize| power.mv.as_ref().map_or_else(String::new, |mv| format!("mv = {}, ", float(mv[at])));
            let row = |(at, watts): (usize, &f64)| format!("{}watts = {}", volts(at), float(*watts));
            (power.watts.iter().enumerate().map(row).collect(), "watts", power.source.as_str())
        }
    };
    let rows = mhz.iter().zip(&power).map(|(mhz, power)| format!("{mhz}, {power}"));
    table.entry("opps", rows_of(rows), &clock.khz.source);
    table.source(key, source);
    table
}

fn idle_table(idle: &IdleTable) -> Table {
    let mut table = Table::new(format!("[idle_table.{}]", idle.name));
    let rows = idle.states.iter().map(|state| {
        let (scope, cluster) = match state.stops_cluster {
            true => ("scope = \"cluster\", ", ", cluster_watts = 0.0"),
            false => ("", ""),
        };
        format!(
            "name = {}, {scope}entry_us = {}, exit_us = {}, residency_us = {}, watts = {}{cluster}",
            quoted(&state.name),
            float(assumed::ENTRY_US),
            state.exit_us,
            state.residency_us,
            float(state.watts)
        )
    });
    table.entry("states", rows_of(rows), &idle.source);
    table.source("entry_us", assumed::ENTRY_SOURCE);
    table.source("watts", idle.watts_source.as_deref().unwrap_or(assumed::IDLE_WATTS_SOURCE));
    if idle.states.iter().any(|state| state.stops_cluster) {
        table.source("cluster_watts", assumed::IDLE_WATTS_SOURCE);
    }
    table
}

fn memory(plan: &Plan, memory: &Memory) -> Table {
    let mut table = Table::new(format!("[memory.{}]", memory.name));
    let (node, thread, source) = match &memory.measured {
        Some(measured) => (measured.bytes_per_s / 1e9, measured.thread_bytes_per_s / 1e9, measured.source.as_str()),
        None => {
            let (node, thread) = assumed::bandwidth(memory.cores);
            (node, thread, assumed::BANDWIDTH_SOURCE)
        }
    };
    table.number("gb_per_s", node, source);
    table.number("thread_gb_per_s", thread.min(node), source);
    table.number("contention", assumed::CONTENTION, assumed::CONTENTION_SOURCE);
    match plan.dram {
        Some(dram) => {
            table.number("static_watts", dram.static_watts, &plan.measured_source);
            table.number("nj_per_byte", dram.nj_per_byte, &plan.measured_source);
        }
        None => {
            table.number("static_watts", assumed::memory_watts(memory.kib), assumed::MEMORY_WATTS_SOURCE);
            table.number("nj_per_byte", assumed::NJ_PER_BYTE, assumed::NJ_PER_BYTE_SOURCE);
        }
    }
    table
}

/// Distances between nodes as the kernel has them; `None` with a single node, or where one does not tell all, as a node without
/// CPUs would need.
fn nodes(plan: &Plan) -> Option<Table> {
    let count = plan.memories.len();
    let told = |(index, memory): (usize, &Memory)| {
        let distances = &memory.distances;
        memory.node as usize == index
            && distances.len() == count
            && distances.iter().all(|distance| (10..=255).contains(distance))
            && distances.get(index) == Some(&10)
    };
    if count < 2 || !plan.memories.iter().enumerate().all(told) {
        return None;
    }
    let matrix = |cell: fn(u32) -> String| {
        let row = |memory: &Memory| {
            let cells: Vec<String> = memory.distances.iter().map(|distance| cell(*distance)).collect();
            format!("[{}]", cells.join(", "))
        };
        format!("[{}]", plan.memories.iter().map(row).collect::<Vec<_>>().join(", "))
    };
    let mut table = Table::new("[nodes]".to_owned());
    table.entry("distances", matrix(|distance| distance.to_string()), "sysfs node/distance");
    table.entry("latency", matrix(|distance| float(f64::from(distance) / 10.0)), assumed::NODE_LATENCY_SOURCE);
    Some(table)
}

fn package(plan: &Plan, package: &Package) -> Table {
    let mut table = Table::new(format!("[package.{}]", package.name));
    let ((awake, idle), source) = match plan.uncore {
        Some(uncore) => ((uncore.awake, uncore.idle), plan.measured_source.as_str()),
        None => (assumed::uncore_watts(package.busy_watts), assumed::UNCORE_SOURCE),
    };
    table.number("uncore_watts", awake, source);
    table.number("uncore_idle_watts", idle, source);
    table
}

fn cluster(plan: &Plan, cluster: &Cluster) -> Table {
    const TOPOLOGY: &str = "sysfs topology";
    let mut table = Table::new("[[cluster]]".to_owned());
    let clock = &plan.clocks[cluster.clock];
    let threads = cluster.cores.first().map_or(1, Vec::len);
    table.entry("name", quoted(&cluster.name), TOPOLOGY);
    table.entry("package", quoted(&plan.packages[cluster.package].name), TOPOLOGY);
    table.entry("core_type", quoted(&plan.kinds[cluster.kind].name), TOPOLOGY);
    table.entry("cores", cluster.cores.len().to_string(), TOPOLOGY);
    if threads > 1 {
        table.entry("smt", threads.to_string(), TOPOLOGY);
    }
    table.entry("cpus", cpus(&cluster.cores, threads), TOPOLOGY);
    table.entry("opp_table", quoted(&clock.name), TOPOLOGY);
    table.entry("idle_table", quoted(&plan.idle_tables[cluster.idle_table].name), TOPOLOGY);
    let domains =
        if clock.scalable { "sysfs cpufreq/related_cpus" } else { "no cpufreq that names clocks: taken as fixed" };
    table.entry("performance_domain", quoted(cluster.domain), domains);
    table.entry("memory", quoted(&plan.memories[cluster.memory].name), TOPOLOGY);
    table.entry("node", cluster.node.to_string(), TOPOLOGY);
    let (watts, source) = static_watts(clock, cluster.cores.len());
    table.number("static_watts", watts, source);
    if let Some(cache) = &cluster.cache {
        let hit_cost = float(assumed::hit_cost(cache.level));
        let (level, kib, per) = (cache.level, cache.kib, cache.per);
        let value = format!("{{ level = {level}, kib = {kib}, per = {}, hit_cost = {hit_cost} }}", quoted(per));
        table.entry("cache", value, "sysfs cache");
        table.source("hit_cost", assumed::HIT_COST_SOURCE);
    }
    if !cluster.ranks.is_empty() {
        let ranks: Vec<String> = cluster.ranks.iter().map(u32::to_string).collect();
        table.entry("itmt_priority", format!("[{}]", ranks.join(", ")), "sysfs acpi_cppc/highest_perf");
    }
    table
}

fn static_watts(clock: &Clock, cores: usize) -> (f64, &'static str) {
    match &clock.power {
        Power::Modelled(_) => (0.0, assumed::CLUSTER_MODELLED_SOURCE),
        Power::Measured(_) => (0.0, assumed::CLUSTER_MEASURED_SOURCE),
        Power::Assumed(_) => {
            (assumed::cluster_watts(clock.busy_watts().1 * cores as f64), assumed::CLUSTER_WATTS_SOURCE)
        }
    }
}

/// A plain list where cores have one CPU each, one list per core where they have several.
fn cpus(cores: &[Vec<u32>], threads: usize) -> String {
    if threads == 1 {
        return quoted(&CpuList::of(&cores.concat()).to_string());
    }
    let core = |cpus: &Vec<u32>| format!("[{}]", cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(", "));
    format!("[{}]", cores.iter().map(core).collect::<Vec<_>>().join(", "))
}

fn platform(plan: &Plan) -> Table {
    let mut table = Table::new("[platform]".to_owned());
    table.number("watts", 0.0, assumed::PLATFORM_SOURCE);
    table.number("supply_efficiency", 1.0, assumed::PLATFORM_SOURCE);
    if let Some(driver) = plan.cpufreq_driver {
        table.entry("cpufreq_driver", quoted(driver.name()), "sysfs cpufreq/scaling_driver");
    }
    table
}

fn scheduling(plan: &Plan) -> Table {
    let mut table = Table::new("[scheduling]".to_owned());
    for (key, value) in assumed::SCHEDULING {
        let measured = match key {
            "context_switch_us" => plan.switching.context_switch_us,
            "migration_us" => plan.switching.migration_us,
            "migration_llc_us" => plan.switching.migration_llc_us,
            _ => None,
        };
        match measured {
            Some(value) => table.number(key, value, &plan.measured_source),
            None => table.number(key, value, assumed::SCHEDULING_SOURCE),
        }
    }
    table
}

fn configuration(name: &str, online: &[u32]) -> Table {
    let source = "sysfs cpu/online";
    let mut table = Table::new("[configuration.online]".to_owned());
    table.entry("title", quoted(&format!("{name} with the CPUs that were online")), source);
    table.entry("online", quoted(&CpuList::of(online).to_string()), source);
    table
}

fn rows_of(rows: impl Iterator<Item = String>) -> String {
    let rows: String = rows.map(|row| format!("    {{ {row} }},\n")).collect();
    format!("[\n{rows}]")
}

fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

/// Whole MHz without a point: 1800, 403.2.
fn megahertz(khz: u32) -> String {
    (f64::from(khz) / 1e3).to_string()
}

/// Four significant digits, always with a point.
fn float(value: f64) -> String {
    const DIGITS: i32 = 4;
    if value == 0.0 || !value.is_finite() {
        return "0.0".to_owned();
    }
    let scale = 10f64.powi(DIGITS - 1 - value.abs().log10().floor() as i32);
    format!("{:?}", (value * scale).round() / scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_exact_enough() {
        assert_eq!(float(1.0), "1.0");
        assert_eq!(float(0.123_456), "0.1235");
        assert_eq!(float(12_345.6), "12350.0");
        assert_eq!(float(0.0), "0.0");
        assert_eq!(megahertz(403_200), "403.2");
        assert_eq!(megahertz(1_800_000), "1800");
    }

    #[test]
    fn the_commonest_source_is_the_tables() {
        let mut table = Table::new("[t]".to_owned());
        table.number("a", 1.0, "x");
        table.number("b", 2.0, "assumed");
        table.number("c", 3.0, "assumed");
        assert_eq!(table.text(), "[t]\na = 1.0\nb = 2.0\nc = 3.0\nsource = \"assumed\"\nsources.a = \"x\"\n");
    }

    #[test]
    fn text_from_files_cannot_break_out_of_its_string() {
        let text = quoted("a \"b\"\\ \n[c]");
        let value: toml::Table = toml::from_str(&format!("t = {text}")).expect("valid TOML");
        assert_eq!(value["t"].as_str(), Some("a \"b\"\\ \n[c]"));
    }
}
