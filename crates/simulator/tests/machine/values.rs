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
    let driverless = ("cpufreq_driver = \"amd-pstate-epp\"\ngovernor = \"powersave\"\nepp = \"balance_power\"\n", "");
    let slower = example(None, &[("mhz = 1200,", "mhz = 1198,"), driverless]);
    assert_eq!((slower.cpus[2].speed, slower.cpus[2].capacity), (306, 306));
    // 1024 · 0.7 · 2000 / (0.7 · 2000): a whole number, although 0.7 is no binary fraction.
    let alike =
        [("ipc = 2.0", "ipc = 0.7"), ("ipc = 1.0", "ipc = 0.35"), ("mips_mhz = 1.0", "mips_mhz = 0.35"), driverless];
    let capacities: Vec<u32> = example(None, &alike).cpus.iter().map(|cpu| cpu.capacity).collect();
    // 1024 · 0.35 · 800 / (0.7 · 2000) = 204.8.
    assert_eq!(capacities, [1024, 1024, 307, 307, 1024, 1024, 307, 307, 204]);
}

#[test]
fn hikey960_draws_what_lisa_has_and_believes_what_the_device_tree_formula_gives() {
    let machine = hikey960();
    // 87 up to 502 and 404 up to 2848 of LISA's units, of 0.40964 mW.
    let drawn = |cpu| opps(&machine, cpu).iter().map(milliwatts).collect::<Vec<_>>();
    assert_eq!((drawn(0), drawn(4)), (vec![36, 67, 109, 159, 206], vec![166, 353, 573, 901, 1167]));
    // 12 up to 144 and 102 up to 433 of them, for the clusters.
    let shared = |cpu| opps(&machine, cpu).iter().map(|opp| opp.static_watts).collect::<Vec<_>>();
    assert_eq!(shared(0), [0.0049, 0.0090, 0.0147, 0.0274, 0.0590].map(Some));
    assert_eq!(shared(4), [0.0418, 0.0508, 0.0905, 0.1352, 0.1774].map(Some));
    let believed =
        |cpu| opps(&machine, cpu).iter().map(|opp| (opp.em_watts.unwrap() * 1e3).round()).collect::<Vec<_>>();
    // 110 · 533 · 0.49 / 10⁶ = 28.7 mW up to 110 · 1844 · 1.21 / 10⁶ = 245.4 mW.
    assert_eq!(believed(0), [29.0, 70.0, 125.0, 188.0, 245.0]);
    // 550 · 903 · 0.49 / 10⁶ = 243.4 mW up to 550 · 2362 · 1.21 / 10⁶ = 1571.9 mW.
    assert_eq!(believed(4), [243.0, 500.0, 804.0, 1162.0, 1572.0]);
}

#[test]
fn rk3399_draws_what_rockchip_has_at_the_voltages_of_the_board() {
    let machine = Machine::load("rk3399").unwrap_or_else(|mistake| panic!("{mistake}"));
    let drawn = |cpu: usize, khz| milliwatts(opps(&machine, cpu).iter().find(|opp| opp.khz == khz).unwrap());
    // 162 at 1.1 V, here 1.125 V; 548 at 0.9 V, here 0.95 V; 1385 at 1.15 V, here 1.2 V.
    assert_eq!((drawn(0, 1_416_000), drawn(4, 1_200_000), drawn(4, 1_800_000)), (169, 611, 1508));
    // 100 · 1416 · 1.2656 / 10⁶ and 436 · 1800 · 1.44 / 10⁶ W.
    let believed = |cpu| (opps(&machine, cpu).last().unwrap().em_watts.unwrap() * 1e3).round();
    assert_eq!((believed(0), believed(4)), (179.0, 1130.0));
    // 442 / 904 of the A72's speed, 1024 · 485 · 1416 / (1024 · 1800) of its capacity.
    assert_eq!((machine.cpus[0].speed, machine.cpus[0].capacity), (500, 381));
}

#[test]
fn sdm845_believes_what_its_energy_model_shows() {
    let machine = Machine::load("sdm845").unwrap_or_else(|mistake| panic!("{mistake}"));
    let believed = |cpu: usize, khz| {
        let opp = opps(&machine, cpu).iter().find(|opp| opp.khz == khz).unwrap();
        (opp.em_watts.unwrap() * 1e6).round()
    };
    // Microwatts that LISA's pull request 1892 shows; its kernel had 290 where today's has 154, and takes whole megahertz.
    assert_eq!(believed(0, 480_000), (46_183.0f64 * 154.0 / 290.0).round());
    assert_eq!(believed(4, 1_536_000), 340_314.0);
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
    let machine =
        example(None, &[("level = 2, kib = 512, per = \"cores:2\", hit_cost = 0.1, link_gb_per_s = 8 }", shared)]);
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

/// The kernel of a hybrid without SMT under intel_pstate has the ratio of the ranks for the ratio of the speeds; with SMT, or
/// under another driver, all CPUs are equals to it.
#[test]
fn capacities_on_x86_are_ranks_or_nothing() {
    let intel = ("cpufreq_driver = \"amd-pstate-epp\"", "cpufreq_driver = \"intel_pstate\"");
    let capacities =
        |edits: &[(&str, &str)]| -> Vec<u32> { example(None, edits).cpus.iter().map(|cpu| cpu.capacity).collect() };
    assert_eq!(capacities(&[intel]), [1024; 9]);
    let one_thread = [
        intel,
        ("smt = 2\n", ""),
        ("cpus = [[0, 4], [1, 5]]", "cpus = \"0-1\""),
        ("cpus = \"2-3,6-7\"", "cpus = \"2-5\""),
        ("online = \"0-3,6-7\"", "online = \"0-3\""),
    ];
    // 1024 · 90 / 100 = 921.6, 1024 · 40 / 100 = 409.6, 1024 · 20 / 100 = 204.8.
    assert_eq!(capacities(&one_thread), [921, 1024, 409, 409, 409, 409, 204]);
}

#[test]
fn clusters_of_a_package_share_a_clock_where_they_say_so() {
    let second = "[[cluster]]\nname = \"twin\"\npackage = \"io\"\ncore_type = \"slow\"\ncores = 2\nopp_table = \"helper\"\n\
                  idle_table = \"all\"\nperformance_domain = \"package\"\nmemory = \"io-bus\"\nstatic_watts = 0.01\nitmt_priority = 20\n\
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
    assert_eq!(names[..2], ["dram", "io-bus"]);
    assert_eq!(machine.memory_domains[1].parent.map(|parent| parent.index()), Some(0));
    assert_eq!(machine.cpus[8].memory_domain.index(), 1);
    assert_eq!(machine.memory_domains[0].bytes_per_s, 20e9);
}

#[test]
fn each_cache_with_a_link_has_a_path_of_its_own_to_memory() {
    let machine = example(None, &[]);
    let path = |cpu: usize| &machine.memory_domains[machine.cpus[cpu].memory_domain.index()];
    assert_eq!(
        [0, 2, 3, 6, 8].map(|cpu| path(cpu).name.as_str()),
        ["dram", "dram/L2-1", "dram/L2-1", "dram/L2-2", "io-bus"]
    );
    let link = path(2);
    // A thread can use 10 GB/s of the memory, and no more than the link has.
    assert_eq!((link.bytes_per_s, link.thread_bytes_per_s, link.contention), (8e9, 8e9, 0.0));
    assert_eq!((link.parent.map(|parent| parent.index()), link.link_of.map(|cache| cache.index())), (Some(0), Some(1)));
}

#[test]
fn cores_share_an_l2_in_groups_of_neighbours() {
    let l2 = |edits: &[(&str, &str)]| example(None, edits).cpus.iter().map(|cpu| cpu.l2.0).collect::<Vec<_>>();
    // CPUs 0, 4 and 1, 5 are cores 0 and 1, CPUs 2, 3, 6, 7 cores 2 to 5, CPU 8 is core 6.
    assert_eq!(l2(&[]), [0, 1, 2, 3, 0, 1, 4, 5, 6]);
    let pairs = ("itmt_priority = 40", "l2_per = \"cores:2\"\nitmt_priority = 40");
    assert_eq!(l2(&[pairs]), [0, 1, 2, 2, 0, 1, 4, 4, 6]);
    assert_eq!(l2(&[("itmt_priority = 40", "l2_per = \"cluster\"\nitmt_priority = 40")]), [0, 1, 2, 2, 0, 1, 2, 2, 6]);
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
