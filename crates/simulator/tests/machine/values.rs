// SPDX-License-Identifier: MIT OR Apache-2.0
//! Values that the reader derives from a description, with numbers that can be checked by hand.

use std::path::Path;

use tandem_simulator::machine::{IdleScope, Machine, Opp};
use tandem_simulator::units::{CoreId, CpuId};

fn hikey960() -> Machine {
    Machine::load("hikey960").unwrap_or_else(|mistake| panic!("{mistake}"))
}

/// The documentation's example after `edits` of its text.
fn example(configuration: Option<&str>, edits: &[(&str, &str)]) -> Machine {
    let mut text = super::example().to_owned();
    for (from, to) in edits {
        assert_eq!(text.matches(from).count(), 1, "`{from}` must occur once");
        text = text.replace(from, to);
    }
    let machine = Machine::parse("example", Path::new("example.toml"), &text, configuration);
    machine.unwrap_or_else(|mistake| panic!("{mistake}"))
}

fn opps(machine: &Machine, cpu: usize) -> &[Opp] {
    &machine.performance_domains[machine.cpus[cpu].performance_domain.index()].opps
}

/// A core's busy watts in whole milliwatts.
fn milliwatts(opp: &Opp) -> u32 {
    ((opp.dynamic_watts + opp.leakage_watts) * 1e3).round() as u32
}

/// The clocks, in MHz, between which the governor may choose for each performance domain.
fn allowed_mhz(machine: &Machine) -> Vec<(u32, u32)> {
    let mhz = |opp: &Opp| opp.khz / 1000;
    let allowed = |domain: &tandem_simulator::machine::PerformanceDomain| {
        (mhz(&domain.opps[domain.min_opp]), mhz(&domain.opps[domain.max_opp]))
    };
    machine.performance_domains.iter().map(allowed).collect()
}

#[test]
fn hikey960_has_the_capacities_that_its_kernel_shows() {
    // 592 · 1844 / (1024 · 2362) · 1024 = 462.2, rounded down.
    let capacities: Vec<u32> = hikey960().cpus.iter().map(|cpu| cpu.capacity).collect();
    assert_eq!(capacities, [462, 462, 462, 462, 1024, 1024, 1024, 1024]);
}

#[test]
fn capacities_are_rounded_down_as_the_kernel_rounds() {
    // 1024 · 1198 / (2 · 2000) = 306.7.
    assert_eq!(example(None, &[("mhz = 1200,", "mhz = 1198,")]).cpus[2].capacity, 306);
    // 1024 · 0.7 · 2000 / (0.7 · 2000): a whole number, although 0.7 is no binary fraction.
    let alike = [("ipc = 2.0", "ipc = 0.7"), ("ipc = 1.0", "ipc = 0.35")];
    let capacities: Vec<u32> = example(None, &alike).cpus.iter().map(|cpu| cpu.capacity).collect();
    // 1024 · 0.35 · 800 / (0.7 · 2000) = 204.8.
    assert_eq!(capacities, [1024, 1024, 307, 307, 1024, 1024, 307, 307, 204]);
}

#[test]
fn hikey960_draws_what_the_device_tree_formula_gives() {
    let machine = hikey960();
    // 110 · 533 · 0.49 / 10⁶ = 28.7 mW up to 110 · 1844 · 1.21 / 10⁶ = 245.4 mW.
    let little: Vec<u32> = opps(&machine, 0).iter().map(milliwatts).collect();
    assert_eq!(little, [29, 70, 125, 188, 245]);
    // 550 · 903 · 0.49 / 10⁶ = 243.4 mW up to 550 · 2362 · 1.21 / 10⁶ = 1571.9 mW.
    let big: Vec<u32> = opps(&machine, 4).iter().map(milliwatts).collect();
    assert_eq!(big, [243, 500, 804, 1162, 1572]);
}

#[test]
fn hikey960_has_its_topology() {
    let machine = hikey960();
    assert_eq!((machine.name.as_str(), machine.cores.len(), machine.packages.len()), ("hikey960", 8, 1));
    let domains: Vec<Vec<u32>> =
        machine.performance_domains.iter().map(|domain| domain.cpus.iter().map(|cpu| cpu.0).collect()).collect();
    assert_eq!(domains, [[0, 1, 2, 3], [4, 5, 6, 7]]);
    assert_eq!(machine.caches.iter().map(|cache| cache.bytes).collect::<Vec<_>>(), [512 << 10, 2048 << 10]);
    assert_eq!((machine.reference.cpu, machine.reference.llc_bytes), (CpuId(4), 2048 << 10));
    assert_eq!(machine.reference.khz_ipc, 2_362_000.0 * 1024.0);
    let deepest = machine.clusters[1].idle_states.last().expect("it has states");
    assert_eq!((deepest.scope, deepest.exit, deepest.residency), (IdleScope::Cluster, 2_900_000, 3_500_000));
    assert_eq!(machine.performance_domains[0].transition_latency, 300_000);
}

#[test]
fn duty_cycle_steps_keep_voltage_and_leakage() {
    let machine = example(None, &[("duty_cycle = [0.25]", "duty_cycle = [0.125, 0.25]")]);
    let points: Vec<_> = opps(&machine, 0)
        .iter()
        .map(|opp| (opp.khz / 1000, opp.microvolts, opp.duty, opp.dynamic_watts, opp.leakage_watts))
        .collect();
    // 0.8 W of switching at 2000 MHz and 1 V: an eighth of it at 250 MHz, a quarter at 500 MHz; 0.5 W leak throughout.
    // 1000 MHz is a clock of its own: 400 · 1000 · 0.64 / 10⁶ = 0.256 W of switching, 0.5 · 0.8 = 0.4 W of leakage.
    assert_eq!(points[0], (250, Some(1_000_000), 0.125, 0.1, 0.5));
    assert_eq!(points[1], (500, Some(1_000_000), 0.25, 0.2, 0.5));
    assert_eq!((points[2].0, milliwatts(&opps(&machine, 0)[2])), (1000, 656));
    assert_eq!(points[3], (2000, Some(1_000_000), 1.0, 0.8, 0.5));
}

#[test]
fn duty_clocks_are_duty_cycles() {
    // 400 of 800 MHz: half of 0.3 W.
    let machine = example(None, &[]);
    let step = &opps(&machine, 8)[0];
    assert_eq!((step.khz, step.duty, step.dynamic_watts, step.microvolts), (400_000, 0.5, 0.15, None));
    assert!(!machine.performance_domains[machine.cpus[8].performance_domain.index()].scalable);
}

#[test]
fn measured_watts_include_leakage() {
    let machine = example(None, &[]);
    let lowest = &opps(&machine, 2)[0];
    assert_eq!((milliwatts(lowest), lowest.leakage_watts), (200, 0.05));
    assert_eq!((lowest.idle_watts, lowest.static_watts), (Some(0.02), Some(0.03)));
}

#[test]
fn cpus_get_the_numbers_written_and_the_rest_what_is_left() {
    let machine = example(None, &[]);
    let cores: Vec<Vec<u32>> = machine.cores.iter().map(|core| core.cpus.iter().map(|cpu| cpu.0).collect()).collect();
    assert_eq!(cores, [vec![0, 4], vec![1, 5], vec![2], vec![3], vec![6], vec![7], vec![8]]);
    assert_eq!((machine.cpus[5].core, machine.cpus[5].thread), (CoreId(1), 1));
    assert_eq!(machine.cpus.iter().map(|cpu| cpu.node).collect::<Vec<_>>(), [0, 0, 0, 0, 0, 0, 0, 0, 1]);
}

#[test]
fn a_plain_list_numbers_core_by_core() {
    let machine = example(None, &[("cpus = [[0, 4], [1, 5]]", "cpus = \"0,4,1,5\"")]);
    assert_eq!(machine, example(None, &[]));
}

#[test]
fn caches_follow_their_scope() {
    let machine = example(None, &[]);
    let caches: Vec<(u32, Vec<u32>)> =
        machine.caches.iter().map(|cache| (cache.level, cache.cpus.iter().map(|cpu| cpu.0).collect())).collect();
    assert_eq!(caches, [(3, vec![0, 1, 4, 5]), (2, vec![2, 3]), (2, vec![6, 7])]);
    assert_eq!(machine.cpus[8].llc, None);
    // A second cluster of the package that says the same of level 3 shares the first one's cache.
    let shared = "level = 3, kib = 4096, per = \"package\", hit_cost = 0.2 }";
    let machine = example(None, &[("level = 2, kib = 512, per = \"cores:2\", hit_cost = 0.1 }", shared)]);
    assert_eq!(machine.caches.len(), 1);
    assert_eq!(machine.caches[0].cpus.len(), 8);
}

#[test]
fn performance_domains_follow_their_scope() {
    let domains = |machine: &Machine| machine.performance_domains.iter().map(|domain| domain.cpus.len()).collect();
    let by_core: Vec<usize> = domains(&example(None, &[]));
    assert_eq!(by_core, [2, 2, 4, 1]);
    let cpu = [("performance_domain = \"core\"", "performance_domain = \"cpu\""), LIMITS_BY_CORE];
    let by_cpu: Vec<usize> = domains(&example(None, &cpu));
    assert_eq!(by_cpu, [1, 1, 4, 1, 1, 1]);
}

/// Removes the example's limits, which are meant for its cores.
const LIMITS_BY_CORE: (&str, &str) =
    ("    { cpus = \"0\", mhz = 500 },\n    { cpus = \"1\", min_mhz = 500, max_mhz = 1000 },", "");

#[test]
fn clusters_of_a_package_share_a_clock_where_they_say_so() {
    let second = "[[cluster]]\nname = \"twin\"\npackage = \"io\"\ncore_type = \"slow\"\ncores = 2\nopp_table = \"helper\"\n\
                  idle_table = \"all\"\nperformance_domain = \"package\"\nmemory = \"io-bus\"\nstatic_watts = 0.01\n\
                  source = \"test\"\n\n[platform]";
    let machine = example(None, &[("[platform]", second)]);
    let shared: Vec<u32> =
        machine.performance_domains.last().expect("it has domains").cpus.iter().map(|cpu| cpu.0).collect();
    assert_eq!(shared, [8, 9, 10]);
}

#[test]
fn a_parent_memory_precedes_its_children() {
    let machine = example(None, &[]);
    let names: Vec<&str> = machine.memory_domains.iter().map(|domain| domain.name.as_str()).collect();
    assert_eq!(names, ["dram", "io-bus"]);
    assert_eq!(machine.memory_domains[1].parent.map(|parent| parent.index()), Some(0));
    assert_eq!(machine.cpus[8].memory_domain.index(), 1);
    assert_eq!(machine.memory_domains[0].bytes_per_s, 20e9);
}

#[test]
fn rails_and_boost_limits_are_resolved() {
    let machine = example(None, &[]);
    let rail = machine.clusters[1].voltage_follows.as_ref().expect("it follows");
    assert_eq!((rail.leader.index(), rail.floor.as_slice()), (0, &[(1_000_000, 700_000), (2_000_000, 800_000)][..]));
    let limits = |boost: &[tandem_simulator::machine::Boost]| {
        boost.iter().map(|limit| (limit.active_cores, limit.max_khz)).collect::<Vec<_>>()
    };
    assert_eq!(limits(&machine.packages[0].boost), [(2, 2_000_000), (6, 1_000_000)]);
    assert_eq!(limits(&machine.clusters[0].boost), [(1, 2_000_000), (2, 1_000_000)]);
}

#[test]
fn a_configuration_narrows_the_machine_and_not_its_reference() {
    let (built, quiet) = (example(None, &[]), example(Some("quiet"), &[]));
    assert_eq!(quiet.name, "example:quiet");
    assert_eq!(quiet.online().map(|cpu| cpu.0).collect::<Vec<_>>(), [0, 1, 2, 3, 6, 7]);
    assert_eq!(allowed_mhz(&built), [(500, 2000), (500, 2000), (600, 1200), (400, 800)]);
    assert_eq!(allowed_mhz(&quiet), [(500, 500), (500, 1000), (600, 1200), (400, 800)]);
    assert_eq!(quiet.reference, built.reference);
    assert!(quiet.cpus.iter().zip(&built.cpus).all(|(quiet, built)| quiet.capacity == built.capacity));
}

#[test]
fn sources_keep_the_order_of_the_file() {
    let entries = |machine: &Machine| -> Vec<String> {
        machine.provenance.iter().map(|entry| format!("{} {}", entry.table, entry.key)).collect()
    };
    let built = entries(&example(None, &[]));
    assert_eq!(built[..3], ["core_type.fast *", "core_type.fast smt_speed", "core_type.fast smt_activity"]);
    assert_eq!(built[built.len() - 3..], ["cluster.helper *", "platform *", "scheduling *"]);
    assert!(built.contains(&"idle_table.all watts".to_owned()));
    let quiet = entries(&example(Some("quiet"), &[]));
    assert_eq!(quiet[..built.len()], built[..]);
    assert_eq!(quiet[built.len()..], ["configuration.quiet *"]);
}
