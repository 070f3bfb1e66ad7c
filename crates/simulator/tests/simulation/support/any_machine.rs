// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random machines: 1 to 24 CPUs in up to three clusters, of every shape that a description can have.

use proptest::prelude::*;

use super::machine::{Cache, Cluster, Idle, Memory, Opp, Package, Restriction, Spec};

/// Any machine.
pub fn any_machine() -> impl Strategy<Value = Spec> {
    let clusters = prop_oneof![3 => Just(1usize), 2 => Just(2), 1 => Just(3)];
    clusters.prop_flat_map(|count| {
        (prop::collection::vec(cluster(), count), layout(), costs(), prop::collection::vec(memory(), 4), package())
            .prop_map(assemble)
            .prop_flat_map(restricted)
    })
}

/// The clusters' packages and what they share.
#[derive(Debug, Clone, Copy)]
struct Layout {
    package_each: bool,
    node_each: bool,
    memory_each: bool,
    alike: bool,
    follows: bool,
    /// Latency of other nodes' memory, and what links between nodes carry, GB/s; `None`: the description does not say.
    far: Option<(f64, Option<f64>)>,
}

fn layout() -> impl Strategy<Value = Layout> {
    (any::<bool>(), any::<bool>(), any::<bool>(), prop::bool::weighted(0.3), prop::bool::weighted(0.3), far()).prop_map(
        |(package_each, node_each, memory_each, alike, follows, far)| Layout {
            package_each,
            node_each: package_each && node_each,
            memory_each,
            alike,
            follows,
            far,
        },
    )
}

fn far() -> impl Strategy<Value = Option<(f64, Option<f64>)>> {
    let link = prop::option::of(prop_oneof![0.1..2.0, 2.0..100.0]);
    prop::option::of((prop_oneof![Just(1.0), 1.0..4.0], link))
}

/// The table `[nodes]` for so many nodes, all as far from each other.
fn nodes(count: usize, (latency, link): (f64, Option<f64>)) -> String {
    let matrix = |own: f64, other: f64| {
        let row = |from: usize| (0..count).map(|to| if from == to { own } else { other }).collect::<Vec<f64>>();
        format!("{:?}", (0..count).map(row).collect::<Vec<_>>())
    };
    let link = link.map_or(String::new(), |link| format!("link_gb_per_s = {}\n", matrix(0.0, link)));
    let (distances, latency) = (matrix(10.0, 20.0), matrix(1.0, latency));
    format!("[nodes]\nsource = \"test\"\ndistances = {distances}\nlatency = {latency}\n{link}")
}

/// Microseconds of switch, migration, migration to another cache, tick; watts and efficiency.
type Costs = (f64, f64, f64, f64, f64, f64);

fn costs() -> impl Strategy<Value = Costs> {
    let us = |most: u32| prop_oneof![Just(0.0), (1..=most).prop_map(f64::from)];
    (us(10), us(50), us(200), us(10), prop_oneof![Just(0.0), 0.1..50.0], prop_oneof![Just(1.0), 0.5..1.0])
}

fn assemble(parts: (Vec<Cluster>, Layout, Costs, Vec<Memory>, Package)) -> Spec {
    let (mut clusters, layout, costs, memories, package) = parts;
    let first = clusters[0].clone();
    for (index, cluster) in clusters.iter_mut().enumerate() {
        if index > 0 && layout.alike {
            *cluster = Cluster { like: Some(0), ..first.clone() };
        }
        cluster.package = if layout.package_each { index } else { 0 };
        cluster.node = if layout.node_each { index as u32 } else { 0 };
        cluster.memory = if layout.memory_each { index + 1 } else { 0 };
    }
    // Memory speeds are relative to the reference, the fastest CPU.
    let speed = |cluster: &Cluster| cluster.ipc * f64::from(cluster.opps[cluster.opps.len() - 1].mhz);
    let fastest = clusters.iter().map(speed).fold(0.0, f64::max);
    for cluster in clusters.iter_mut().filter(|cluster| speed(cluster) == fastest) {
        cluster.memory_speed = 1.0;
    }
    if layout.follows && clusters.len() > 1 {
        let floor = clusters[1].opps.iter().map(|opp| (opp.mhz, opp.mv + 50)).collect();
        clusters[0].follows = Some((1, floor));
    }
    share_caches(&mut clusters);
    let packages = if layout.package_each { clusters.len() } else { 1 };
    let tables = if layout.memory_each { clusters.len() + 1 } else { 1 };
    let branch = |(index, memory): (usize, Memory)| Memory { parent: (index > 0).then_some(0), ..memory };
    let count = clusters.iter().map(|cluster| cluster.node as usize + 1).max().unwrap_or(1);
    let more = layout.far.map_or(String::new(), |far| nodes(count, far));
    let boost = package_boost(&clusters, &package);
    let (context_switch_us, migration_us, migration_llc_us, tick_us, platform_watts, supply_efficiency) = costs;
    Spec {
        packages: vec![Package { boost, ..package }; packages],
        memories: memories.into_iter().take(tables).enumerate().map(branch).collect(),
        clusters,
        platform_watts,
        supply_efficiency,
        context_switch_us,
        migration_us,
        migration_llc_us,
        tick_us,
        more,
        restriction: None,
    }
}

/// The machine as a whole, or a configuration of it: fewer CPUs, narrower clocks.
fn restricted(spec: Spec) -> impl Strategy<Value = Spec> {
    let cpus: u32 = spec.clusters.iter().map(|cluster| cluster.cores * cluster.smt).sum();
    let range = |cluster: &Cluster| {
        // A limit must cover a whole domain, which clusters that are alike may share; a fixed clock has none.
        let free = cluster.scalable && cluster.duty_cycle.is_empty() && cluster.like.is_none();
        let count = cluster.opps.len();
        let range = (0..count, 0..count).prop_map(|(a, b)| (a.min(b), a.max(b)));
        prop::option::weighted(0.5, range).prop_map(move |range| range.filter(|_| free))
    };
    let alike = spec.clusters.iter().any(|cluster| cluster.like.is_some());
    let opps: Vec<_> = if alike { Vec::new() } else { spec.clusters.iter().map(range).collect() };
    let restriction = (1..=cpus, opps).prop_map(|(online, opps)| Restriction { online, opps });
    prop::option::weighted(0.3, restriction).prop_map(move |restriction| Spec { restriction, ..spec.clone() })
}

/// Caches of one package and level are one cache, so they must be described alike.
fn share_caches(clusters: &mut [Cluster]) {
    let shared = clusters[0].cache.clone().filter(|cache| cache.per == "package");
    for cluster in clusters {
        match &shared {
            Some(cache) => cluster.cache = Some(cache.clone()),
            None => {
                if let Some(cache) = cluster.cache.as_mut().filter(|cache| cache.per == "package") {
                    cache.per = "cluster".into();
                }
            }
        }
    }
}

/// A package's boost that leaves every cluster an OPP, and gives one core the highest.
fn package_boost(clusters: &[Cluster], package: &Package) -> Vec<(u32, u32)> {
    let highest = |cluster: &Cluster| cluster.opps[cluster.opps.len() - 1].mhz;
    let top = clusters.iter().map(highest).max().unwrap_or(0);
    let floor = clusters.iter().map(|cluster| cluster.opps[0].mhz).max().unwrap_or(0);
    match package.boost.first() {
        Some((cores, _)) => vec![(*cores, top), (*cores + 2, floor.max(top * 3 / 4))],
        None => Vec::new(),
    }
}

fn package() -> impl Strategy<Value = Package> {
    let boost = prop::option::weighted(0.2, 1..4u32);
    (0.0..5.0, 0.0..1.0, boost, more()).prop_map(|(awake, idle, boost, more)| Package {
        uncore_watts: idle + awake,
        uncore_idle_watts: idle,
        boost: boost.map(|cores| vec![(cores, 0)]).unwrap_or_default(),
        more,
    })
}

/// An uncore with a clock, and limits on power and heat, which the kernel may be told of.
fn more() -> impl Strategy<Value = String> {
    let clock = prop::option::weighted(0.2, (100..1000u32, 0..3000u32, 300..900u32, 0..500u32));
    let power = prop::option::weighted(0.2, (1.0..50.0, 0.001..1.0, 0.0..50.0));
    let heat = prop::option::weighted(0.2, (0.5..5.0, 0.01..1.0, 1.0..50.0));
    let seen = prop::sample::select(vec!["nothing", "cpufreq_pressure", "hw_pressure"]);
    (clock, power, heat, seen).prop_map(|(clock, power, heat, seen)| {
        let mut lines = format!("throttle_seen_as = \"{seen}\"\n");
        if let Some((mhz, more_mhz, mv, more_mv)) = clock {
            let (max_mhz, max_mv) = (mhz + more_mhz, mv + more_mv);
            lines += &format!(
                "uncore_clock = {{ min_mhz = {mhz}, max_mhz = {max_mhz}, min_mv = {mv}, max_mv = {max_mv} }}\n"
            );
        }
        if let Some((watts, tau, above)) = power {
            let short = watts + above;
            lines += &format!("power_limit = {{ long_watts = {watts}, long_tau_s = {tau}, short_watts = {short} }}\n");
        }
        if let Some((resistance, capacity, rise)) = heat {
            let limit = 20.0 + rise;
            lines += &format!("thermal = {{ kelvin_per_watt = {resistance}, joules_per_kelvin = {capacity}, ");
            lines += &format!("ambient_celsius = 20, limit_celsius = {limit} }}\n");
        }
        lines
    })
}

fn memory() -> impl Strategy<Value = Memory> {
    (1.0..20.0, 0.2..1.0, prop_oneof![Just(0.0), 0.0..1.0], 0.0..2.0, 0.0..0.1).prop_map(
        |(gb_per_s, share, contention, static_watts, nj_per_byte)| Memory {
            gb_per_s,
            thread_gb_per_s: gb_per_s * share,
            contention,
            static_watts,
            nj_per_byte,
            parent: None,
        },
    )
}

fn cluster() -> impl Strategy<Value = Cluster> {
    let size = (1..=4u32, prop_oneof![3 => Just(1u32), 1 => Just(2)]);
    let speeds = (0.3..1.0, 0.3..1.0, 0.0..1.0, 0.4..1.0, 1.0..1.5);
    let clocks = (opps(), prop_oneof![Just(0u32), 10..2000u32], prop::bool::weighted(0.9), any::<bool>());
    let domain = prop::sample::select(vec!["cpu", "core", "cluster", "package"]);
    let boosts = prop::bool::weighted(0.2);
    (size, speeds, clocks, domain, idle_states(), 0.0..2.0, cache(), boosts).prop_map(build_cluster)
}

type Parts = (
    (u32, u32),
    (f64, f64, f64, f64, f64),
    (Vec<Opp>, u32, bool, bool),
    &'static str,
    Vec<Idle>,
    f64,
    Option<Cache>,
    bool,
);

fn build_cluster(parts: Parts) -> Cluster {
    let ((cores, smt), speeds, (opps, transition_us, scalable, duty), domain, idle, static_watts, cache, boosts) =
        parts;
    let (ipc, memory_speed, stall_activity, smt_speed, smt_activity) = speeds;
    let boost = match (boosts, opps[opps.len() - 1].mhz) {
        (true, top) => vec![(1, top), (2, opps[opps.len() / 2].mhz)],
        (false, _) => Vec::new(),
    };
    // A core's threads share its clock.
    let domain = if smt > 1 && domain == "cpu" { "core" } else { domain };
    let duty_cycle = if duty && opps.len() == 1 { vec![0.25, 0.5, 0.75] } else { Vec::new() };
    Cluster {
        cores,
        smt,
        ipc,
        memory_speed,
        stall_activity,
        smt_speed,
        smt_activity,
        opps,
        duty_cycle,
        transition_us,
        scalable,
        domain,
        idle,
        static_watts,
        cache,
        boost,
        ..Cluster::default()
    }
}

fn opps() -> impl Strategy<Value = Vec<Opp>> {
    prop::collection::vec((50..800u32, 0..150u32, 0.05..5.0, 0.0..0.5), 1..6).prop_map(|steps| {
        let (mut mhz, mut mv, mut dynamic, mut leakage) = (200, 600, 0.0, 0.0);
        let row = |(clock, volts, watts, leaks): (u32, u32, f64, f64)| {
            mhz += clock;
            mv += volts;
            dynamic += watts;
            leakage += leaks;
            Opp { mhz, mv, watts: dynamic + leakage, leakage_watts: leakage }
        };
        steps.into_iter().map(row).collect()
    })
}

fn idle_states() -> impl Strategy<Value = Vec<Idle>> {
    let deeper = prop::collection::vec((0..300u32, 0..300u32, 1..2000u32), 0..3);
    (deeper, any::<bool>(), any::<bool>(), 0.001..0.5).prop_map(|(deeper, cluster, slow_entry, watts)| {
        let first = Idle { cluster_scope: false, entry_us: 0, exit_us: 0, residency_us: 0, watts, cluster_watts: 0.0 };
        let mut states = vec![first];
        for (entry, exit, stay) in deeper {
            let last = states[states.len() - 1];
            let entry_us = last.entry_us + if slow_entry { entry } else { 0 };
            let exit_us = last.exit_us + exit;
            let residency_us = (last.residency_us + stay).max(entry_us + exit_us);
            states.push(Idle { entry_us, exit_us, residency_us, watts: last.watts / 2.0, ..last });
        }
        if cluster && states.len() > 1 {
            let deepest = states.len() - 1;
            states[deepest].cluster_scope = true;
        }
        states
    })
}

fn cache() -> impl Strategy<Value = Option<Cache>> {
    let per = prop::sample::select(vec!["core", "cluster", "package"]);
    let link = prop::option::weighted(0.3, 1.0..50.0);
    let cache = (64..8192u32, per, 0.0..1.0, link).prop_map(|(kib, per, hit_cost, link)| {
        // A cache of the whole package has no link of its own.
        Cache { kib, per: per.into(), hit_cost, link: link.filter(|_| per != "package") }
    });
    prop::option::weighted(0.7, cache)
}
