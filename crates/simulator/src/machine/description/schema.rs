// SPDX-License-Identifier: MIT OR Apache-2.0
//! The tables of a machine description and the keys that each of them knows.
//!
//! This is the list that the reader checks keys against; `docs/machines.md` explains each of them.

/// The only version of the schema so far, the value of the key `schema`.
pub const VERSION: u32 = 1;

/// What one kind of table may hold.
#[derive(Debug)]
pub struct Shape {
    /// How the documentation calls the table: `core_type.NAME`.
    pub title: &'static str,
    /// Every key it knows, in the documentation's order.
    pub keys: &'static [&'static str],
    /// Tables within it; `sources` may name their keys too.
    pub inner: &'static [&'static Shape],
}

impl Shape {
    /// Every key that an entry of `sources` may name.
    pub fn sourced_keys(&self) -> Vec<&'static str> {
        let own = self.keys.iter().filter(|key| !matches!(**key, "source" | "sources"));
        let mut keys: Vec<&'static str> = own.copied().collect();
        for shape in self.inner {
            keys.extend(shape.sourced_keys().into_iter().filter(|key| !self.keys.contains(key)));
        }
        keys
    }
}

/// Every shape, for tests and documentation.
pub const ALL: &[&Shape] = &[
    &DOCUMENT,
    &CORE_TYPE,
    &OPP_TABLE,
    &OPP,
    &IDLE_TABLE,
    &IDLE_STATE,
    &MEMORY,
    &NODES,
    &PACKAGE,
    &UNCORE_CLOCK,
    &PACKAGE_IDLE_STATE,
    &POWER_LIMIT,
    &THERMAL,
    &BOOST,
    &CLUSTER,
    &CACHE,
    &VOLTAGE_FOLLOWS,
    &VOLTAGE_FLOOR,
    &PLATFORM,
    &SCHEDULING,
    &CONFIGURATION,
    &LIMIT,
];

/// The file as a whole.
pub static DOCUMENT: Shape = Shape {
    title: "top level",
    keys: &[
        "schema",
        "title",
        "notes",
        "core_type",
        "opp_table",
        "idle_table",
        "memory",
        "nodes",
        "package",
        "cluster",
        "platform",
        "scheduling",
        "configuration",
    ],
    inner: &[],
};

/// A kind of core.
pub static CORE_TYPE: Shape = Shape {
    title: "core_type.NAME",
    keys: &[
        "ipc",
        "capacity_dmips_mhz",
        "memory_speed",
        "memory_knee_mhz",
        "memory_overlap",
        "stall_activity",
        "smt_speed",
        "smt_activity",
        "source",
        "sources",
    ],
    inner: &[],
};

/// The operating points of a clock.
pub static OPP_TABLE: Shape = Shape {
    title: "opp_table.NAME",
    keys: &[
        "transition_latency_us",
        "opps",
        "dynamic_power_coefficient",
        "leakage_watts_per_v",
        "duty_cycle",
        "duty_mhz",
        "scalable",
        "energy_model",
        "source",
        "sources",
    ],
    inner: &[&OPP],
};

/// One operating point.
pub static OPP: Shape = Shape {
    title: "opps",
    keys: &["mhz", "mv", "watts", "leakage_watts", "em_watts", "idle_watts", "static_watts"],
    inner: &[],
};

/// The idle states of a core.
pub static IDLE_TABLE: Shape =
    Shape { title: "idle_table.NAME", keys: &["states", "source", "sources"], inner: &[&IDLE_STATE] };

/// One idle state.
pub static IDLE_STATE: Shape = Shape {
    title: "states",
    keys: &[
        "name",
        "scope",
        "coordination",
        "entry_us",
        "exit_us",
        "typical_entry_us",
        "typical_exit_us",
        "residency_us",
        "told_residency_us",
        "watts",
        "cluster_watts",
    ],
    inner: &[],
};

/// A path to memory.
pub static MEMORY: Shape = Shape {
    title: "memory.NAME",
    keys: &["gb_per_s", "thread_gb_per_s", "contention", "static_watts", "nj_per_byte", "parent", "source", "sources"],
    inner: &[],
};

/// How far nodes are from each other.
pub static NODES: Shape =
    Shape { title: "nodes", keys: &["distances", "latency", "link_gb_per_s", "source", "sources"], inner: &[] };

/// A package (socket).
pub static PACKAGE: Shape = Shape {
    title: "package.NAME",
    keys: &[
        "uncore_watts",
        "uncore_idle_watts",
        "uncore_clock",
        "idle_states",
        "boost",
        "power_limit",
        "thermal",
        "throttle_seen_as",
        "source",
        "sources",
    ],
    inner: &[&UNCORE_CLOCK, &PACKAGE_IDLE_STATE, &BOOST, &POWER_LIMIT, &THERMAL],
};

/// The clock of a package's uncore.
pub static UNCORE_CLOCK: Shape =
    Shape { title: "uncore_clock", keys: &["min_mhz", "max_mhz", "min_mv", "max_mv"], inner: &[] };

/// An idle state of a package.
pub static PACKAGE_IDLE_STATE: Shape =
    Shape { title: "idle_states", keys: &["name", "core_state", "entry_us", "exit_us", "watts"], inner: &[] };

/// What a package may draw.
pub static POWER_LIMIT: Shape =
    Shape { title: "power_limit", keys: &["long_watts", "long_tau_s", "short_watts"], inner: &[] };

/// How a package heats up.
pub static THERMAL: Shape = Shape {
    title: "thermal",
    keys: &["kelvin_per_watt", "joules_per_kelvin", "ambient_celsius", "limit_celsius"],
    inner: &[],
};

/// A limit of the clock by active cores.
pub static BOOST: Shape = Shape { title: "boost", keys: &["active_cores", "mhz"], inner: &[] };

/// A cluster of cores.
pub static CLUSTER: Shape = Shape {
    title: "cluster",
    keys: &[
        "name",
        "package",
        "core_type",
        "cores",
        "smt",
        "cpus",
        "node",
        "opp_table",
        "idle_table",
        "performance_domain",
        "memory",
        "static_watts",
        "cache",
        "l2_per",
        "boost",
        "itmt_priority",
        "voltage_follows",
        "source",
        "sources",
    ],
    inner: &[&CACHE, &BOOST, &VOLTAGE_FOLLOWS],
};

/// A cluster's last-level cache.
pub static CACHE: Shape =
    Shape { title: "cache", keys: &["level", "kib", "per", "hit_cost", "link_gb_per_s", "name"], inner: &[] };

/// A supply voltage that another cluster raises.
pub static VOLTAGE_FOLLOWS: Shape =
    Shape { title: "voltage_follows", keys: &["leader", "floor"], inner: &[&VOLTAGE_FLOOR] };

/// One step of that voltage.
pub static VOLTAGE_FLOOR: Shape = Shape { title: "floor", keys: &["mhz", "mv"], inner: &[] };

/// What is outside the packages.
pub static PLATFORM: Shape = Shape {
    title: "platform",
    keys: &["watts", "supply_efficiency", "cpufreq_driver", "governor", "epp", "source", "sources"],
    inner: &[],
};

/// Costs of scheduling.
pub static SCHEDULING: Shape = Shape {
    title: "scheduling",
    keys: &[
        "context_switch_us",
        "migration_us",
        "migration_llc_us",
        "tick_us",
        "line_transfer_us",
        "line_transfer_llc_us",
        "line_transfer_node_us",
        "source",
        "sources",
    ],
    inner: &[],
};

/// A way to run the machine.
pub static CONFIGURATION: Shape =
    Shape { title: "configuration.NAME", keys: &["title", "online", "limits", "source", "sources"], inner: &[&LIMIT] };

/// Clock limits of some CPUs.
pub static LIMIT: Shape = Shape { title: "limits", keys: &["cpus", "min_mhz", "max_mhz", "mhz"], inner: &[] };
