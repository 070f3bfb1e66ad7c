// SPDX-License-Identifier: MIT OR Apache-2.0
//! Descriptions of machines that exist as a few files in a temporary folder, and of the machine that runs the test.

use std::collections::BTreeMap;
use std::path::Path;

use crate::detect_tree::{Tree, at, describe, number, source_of, text, warned};
use tandem_simulator::machine::Machine;
use tandem_simulator::machine::detect::{
    DetectError, Measured, MeasuredClock, MeasuredCores, MeasuredDram, MeasuredMemory, MeasuredSwitching,
    MeasuredUncore, detect, detect_measured,
};

/// Four CPUs on four cores below one cache, one policy, no energy model.
fn symmetric() -> Tree {
    let all = [0, 1, 2, 3];
    let tree = Tree::with_online("0-3")
        .file("sys/devices/system/cpu/present", "0-3")
        .file("proc/cpuinfo", "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: Sample \"CPU\" @ 3GHz")
        .file("proc/meminfo", "MemTotal:       16777216 kB")
        .file("sys/devices/system/node/node0/cpulist", "0-3")
        .file("sys/devices/system/node/node0/meminfo", "Node 0 MemTotal:       16777216 kB")
        .file("sys/class/powercap/intel-rapl:0/name", "package-0")
        .policy(0, "0 1 2 3", 800_000, 3_000_000)
        .policy_file(0, "scaling_available_frequencies", "3000000 2000000 800000 ")
        .policy_file(0, "cpuinfo_transition_latency", 10_000)
        .idle(&all, 0, "POLL", 0, 0)
        .idle(&all, 1, "C1", 2, 2)
        .idle(&all, 2, "C6", 100, 300)
        .cache(&all, 3, "8192K", "0-3");
    all.into_iter().fold(tree, |tree, cpu| tree.topology(cpu, 0, &cpu.to_string()).cpu(cpu, "cpu_capacity", 1024))
}

#[test]
fn a_symmetric_machine_is_one_cluster() {
    let (detected, table) = describe(&symmetric());
    assert_eq!(text(&table, "title"), "Sample \"CPU\" @ 3GHz: 4 cores, 4 CPUs");
    assert!(text(&table, "notes").contains("powercap package-0"));
    assert_eq!(at(&table, "cluster").as_array().map(Vec::len), Some(1));
    assert_eq!(text(&table, "cluster/0/cpus"), "0-3");
    assert_eq!(text(&table, "cluster/0/performance_domain"), "cluster");
    assert_eq!(text(&table, "cluster/0/cache/per"), "cluster");
    assert_eq!(number(&table, "cluster/0/cache/kib"), 8192.0);
    let clocks: Vec<f64> = (0..3).map(|opp| number(&table, &format!("opp_table/core/opps/{opp}/mhz"))).collect();
    assert_eq!(clocks, [800.0, 2000.0, 3000.0]);
    assert_eq!(number(&table, "opp_table/core/transition_latency_us"), 10.0);
    assert_eq!(text(&table, "idle_table/core/states/0/name"), "C1", "POLL is no idle state");
    assert_eq!(number(&table, "idle_table/core/states/1/residency_us"), 300.0);
    assert_eq!(number(&table, "memory/node0/static_watts"), 0.8, "16 GiB at 50 mW");
    assert!(source_of(&table, "opp_table/core", "mv").starts_with("assumed"));
    assert!(source_of(&table, "opp_table/core", "opps").starts_with("sysfs"));
    assert_eq!(warned(&detected, "no watts for CPUs 0-3"), 1);
    assert_eq!(warned(&detected, "no file tells memory bandwidth"), 1);
}

#[test]
fn what_was_measured_of_the_memory_is_not_assumed() {
    let source = "measured: four threads".to_owned();
    let memory = MeasuredMemory { bytes_per_s: 12_345_678_901.0, thread_bytes_per_s: 13e9, source: source.clone() };
    let tree = symmetric();
    let described = |node| {
        let measured = Measured { memory: BTreeMap::from([(node, memory.clone())]), ..Measured::default() };
        detect_measured(tree.root(), "sample", &measured).unwrap()
    };
    let detected = described(0);
    Machine::parse("sample", Path::new("sample.toml"), &detected.toml, None).expect("a valid description");
    let table: toml::Table = toml::from_str(&detected.toml).unwrap();
    assert_eq!(number(&table, "memory/node0/gb_per_s"), 12.35);
    assert_eq!(number(&table, "memory/node0/thread_gb_per_s"), 12.35, "no more than all together");
    assert_eq!(source_of(&table, "memory/node0", "gb_per_s"), source);
    assert!(source_of(&table, "memory/node0", "contention").starts_with("assumed"));
    assert_eq!(warned(&detected, "no file tells memory bandwidth"), 0);
    assert_eq!(warned(&detected, "no file tells memory, uncore"), 1);
    // There is no such node.
    assert_eq!(described(1), detect(tree.root(), "sample").unwrap());
}

/// 1 nJ per cycle at 800 MHz, 2 at 3000: 2000 MHz, which was not measured, is 1 + 1200 / 2200 = 1.545 nJ, 3.091 W.
#[test]
fn what_was_measured_of_cores_is_written_with_its_source() {
    let point = |mhz: f64, watts| MeasuredClock { mhz: Some(mhz), watts: Some(watts), ..MeasuredClock::default() };
    let cores = MeasuredCores {
        cpus: vec![0, 1, 2, 3],
        clocks: vec![point(800.0, 0.8), point(3000.0, 6.0)],
        idle: vec![("C1".to_owned(), 0.4), ("C6".to_owned(), 0.0)],
        stall_activity: Some(0.45),
        ..MeasuredCores::default()
    };
    let measured = Measured {
        cores: vec![cores],
        uncore: Some(MeasuredUncore { awake: 7.0, idle: 2.0 }),
        dram: Some(MeasuredDram { static_watts: 1.25, nj_per_byte: 0.3 }),
        switching: MeasuredSwitching { context_switch_us: Some(1.25), ..MeasuredSwitching::default() },
        source: "measured by a meter".to_owned(),
        ..Measured::default()
    };
    let tree = symmetric();
    let detected = detect_measured(tree.root(), "sample", &measured).unwrap();
    let machine =
        Machine::parse("sample", Path::new("sample.toml"), &detected.toml, None).expect("a valid description");
    let table: toml::Table = toml::from_str(&detected.toml).unwrap();
    let watts: Vec<f64> = (0..3).map(|opp| number(&table, &format!("opp_table/core/opps/{opp}/watts"))).collect();
    assert_eq!((watts, machine.cpus.len()), (vec![0.8, 3.091, 6.0], 4));
    for (place, key, value) in [
        ("core_type/core", "stall_activity", 0.45),
        ("package/package0", "uncore_watts", 7.0),
        ("package/package0", "uncore_idle_watts", 2.0),
        ("memory/node0", "static_watts", 1.25),
        ("memory/node0", "nj_per_byte", 0.3),
        ("scheduling", "context_switch_us", 1.25),
    ] {
        let written = (number(&table, &format!("{place}/{key}")), source_of(&table, place, key));
        assert_eq!(written, (value, measured.source.as_str()), "{place} {key}");
    }
    assert_eq!(number(&table, "idle_table/core/states/0/watts"), 0.4);
    assert_eq!(source_of(&table, "idle_table/core", "watts"), measured.source);
    assert_eq!(number(&table, "cluster/0/static_watts"), 0.0, "the package's contain it");
    assert!(source_of(&table, "scheduling", "migration_us").starts_with("assumed"));
    assert_eq!(warned(&detected, "no watts for CPUs"), 0);
    assert_eq!(warned(&detected, "no file tells memory bandwidth and costs of ticks: assumed"), 1);
}

/// 2000 µW/MHz/V² would be no leakage; the description has what the fit says, and at most what a point leaves for it.
#[test]
fn voltages_and_leakage_are_written_where_they_are_known() {
    let point =
        |mhz: f64, mv, watts| MeasuredClock { mhz: Some(mhz), mv: Some(mv), watts: Some(watts), real_mhz: None };
    let clocks = vec![point(800.0, 700.0, 0.7), point(2000.0, 800.0, 2.0), point(3000.0, 1000.0, 5.0)];
    let tree = symmetric();
    let described = |leakage| {
        let cores = MeasuredCores {
            cpus: vec![0, 1, 2, 3],
            clocks: clocks.clone(),
            leakage_watts_per_v: Some(leakage),
            ..MeasuredCores::default()
        };
        let measured = Measured { cores: vec![cores], source: "measured".to_owned(), ..Measured::default() };
        let detected = detect_measured(tree.root(), "sample", &measured).unwrap();
        Machine::parse("sample", Path::new("sample.toml"), &detected.toml, None).expect("a valid description");
        toml::from_str::<toml::Table>(&detected.toml).unwrap()
    };
    let table = described(0.25);
    assert_eq!(number(&table, "opp_table/core/leakage_watts_per_v"), 0.25);
    assert_eq!(number(&table, "opp_table/core/opps/1/mv"), 800.0);
    assert_eq!(source_of(&table, "opp_table/core", "mv"), "debugfs opp: u_volt_target");
    assert_eq!(number(&described(9.0), "opp_table/core/leakage_watts_per_v"), 1.0, "0.7 W at 0.7 V");
}

#[test]
fn an_empty_tree_is_an_error_that_says_what_to_do() {
    let tree = Tree::empty();
    let error = detect(tree.root(), "sample").expect_err("nothing to describe");
    assert!(matches!(error, DetectError::Unreadable { .. }));
    let message = error.to_string();
    assert!(message.contains("sys/devices/system/cpu/online") && message.contains("mount sysfs"), "{message}");
}

#[test]
fn a_list_of_cpus_that_is_none_is_an_error() {
    for online in ["", "all", "3-1", "0-99999"] {
        let error = detect(Tree::with_online(online).root(), "sample").expect_err("no CPUs");
        assert!(matches!(error, DetectError::Malformed { .. }), "{online}: {error}");
        assert!(error.to_string().contains("0-3,8"), "{error}");
    }
}

#[test]
fn a_machine_without_cpufreq_has_one_fixed_clock() {
    let tree = Tree::with_online("0-1").file(
        "proc/cpuinfo",
        "processor : 0\nvendor_id : AuthenticAMD\ncpu MHz : 2596.120\n\nprocessor : 1\ncpu MHz : 2590.0",
    );
    let (detected, table) = describe(&tree);
    assert_eq!(at(&table, "opp_table/core/scalable").as_bool(), Some(false));
    assert_eq!(at(&table, "opp_table/core/opps").as_array().map(Vec::len), Some(1));
    assert_eq!(number(&table, "opp_table/core/opps/0/mhz"), 2596.0, "the highest of both CPUs, in whole MHz");
    assert_eq!(warned(&detected, "CPUs 0-1 have no cpufreq"), 1);
    assert_eq!(warned(&detected, "CPUs 0-1 have no cpuidle"), 1);
    assert_eq!(warned(&detected, "topology of CPUs 0-1: not in sysfs"), 1);
}

#[test]
fn a_machine_that_names_no_clock_at_all_is_still_described() {
    let (detected, table) = describe(&Tree::with_online("0"));
    assert!(source_of(&table, "opp_table/core", "opps").starts_with("assumed"));
    assert_eq!(warned(&detected, "no clock in cpufreq, /proc/cpuinfo or acpi_cppc"), 1);
    assert!(table["cluster"][0].get("cache").is_none());
}

#[test]
fn numbers_that_make_no_sense_are_named_and_not_used() {
    let tree = symmetric()
        .cpu(1, "cpu_capacity", "a lot")
        .cpu(2, "cache/index3/size", "8192 bananas")
        .policy_file(0, "cpuinfo_max_freq", "999999999999")
        .policy_file(0, "scaling_available_frequencies", "800000 fast")
        .energy_model("cpu0", "0-x", "ps", &[(800_000, 100_000)])
        .file("proc/meminfo", "MemTotal: much kB");
    let (detected, table) = describe(&tree);
    for part in ["\"a lot\"", "\"8192 bananas\"", "\"999999999999\"", "\"800000 fast\"", "\"0-x\"", "meminfo"] {
        assert_eq!(warned(&detected, part), 1, "{part}: {:#?}", detected.warnings);
    }
    assert_eq!(at(&table, "opp_table/core/scalable").as_bool(), Some(false), "no clock is left");
}

#[test]
fn two_sockets_of_chiplets_are_a_cluster_per_cache() {
    // Two packages of two caches of two SMT cores each; siblings are 8 CPUs apart; a policy per CPU.
    let mut tree = Tree::with_online("0-15");
    for cpu in 0..16u32 {
        let core = cpu % 8;
        let (first, second) = (core / 2 * 2, core / 2 * 2 + 8);
        let shared = format!("{first}-{},{second}-{}", first + 1, second + 1);
        tree = tree
            .topology(cpu, core / 4, &format!("{core},{}", core + 8))
            .cache(&[cpu], 3, "32M", &shared)
            .policy(cpu, &cpu.to_string(), 1_500_000, 3_700_000)
            .cpu(cpu, "acpi_cppc/highest_perf", 166 + core);
    }
    let tree = tree
        .file("sys/devices/system/node/node0/cpulist", "0-3,8-11")
        .file("sys/devices/system/node/node0/distance", "10 32")
        .file("sys/devices/system/node/node1/cpulist", "4-7,12-15")
        .file("sys/devices/system/node/node1/distance", "32 10");
    let (detected, table) = describe(&tree);
    assert_eq!(at(&table, "cluster").as_array().map(Vec::len), Some(4));
    assert_eq!(at(&table, "cluster/2/cpus").to_string(), "[[4, 12], [5, 13]]");
    assert_eq!(text(&table, "cluster/2/package"), "package1");
    assert_eq!(number(&table, "cluster/2/node"), 1.0);
    assert_eq!(text(&table, "cluster/2/memory"), "node1");
    assert_eq!(at(&table, "nodes/distances").to_string(), "[[10, 32], [32, 10]]");
    assert_eq!(at(&table, "nodes/latency").to_string(), "[[1.0, 3.2], [3.2, 1.0]]");
    assert!(source_of(&table, "nodes", "latency").starts_with("assumed"));
    assert_eq!(text(&table, "cluster/2/performance_domain"), "core");
    assert_eq!(text(&table, "cluster/2/cache/per"), "cluster");
    assert_eq!(at(&table, "core_type").as_table().map(toml::Table::len), Some(1));
    assert_eq!(warned(&detected, "it ranks favoured ones, and is no capacity"), 1);
    assert_eq!(warned(&detected, "lists no clocks"), 1);
    let steps = at(&table, "opp_table/core/opps").as_array().map(Vec::len);
    assert_eq!(steps, Some(23), "1.5 to 3.7 GHz in steps of 100 MHz");
}

#[test]
fn cores_that_boost_a_little_further_are_no_kind_of_their_own() {
    let tree = (0..4).fold(Tree::with_online("0-3"), |tree, cpu| {
        tree.topology(cpu, 0, &cpu.to_string()).policy(cpu, &cpu.to_string(), 800_000, 5_000_000 + cpu / 3 * 100_000)
    });
    let (detected, table) = describe(&tree);
    assert_eq!(at(&table, "cluster").as_array().map(Vec::len), Some(1));
    assert_eq!(text(&table, "cluster/0/performance_domain"), "cpu");
    let opps = at(&table, "opp_table/core/opps").as_array().expect("operating points");
    assert_eq!(opps.last().and_then(|opp| opp["mhz"].as_integer()), Some(5100));
    assert_eq!(warned(&detected, "CPUs 0-2 boost less far"), 1);
}

#[test]
fn offline_cpus_are_placed_and_a_configuration_leaves_them_out() {
    // CPU 2, a sibling of 3, and CPU 4 are off; siblings are neighbours.
    let tree = Tree::with_online("0-1,3,5")
        .file("sys/devices/system/cpu/present", "0-5")
        .topology(0, 0, "0-1")
        .topology(1, 0, "0-1")
        .topology(3, 0, "3")
        .topology(5, 0, "5");
    let (detected, table) = describe(&tree);
    assert_eq!(at(&table, "cluster/0/cpus").to_string(), "[[0, 1], [2, 3], [4, 5]]");
    assert_eq!(text(&table, "configuration/online/online"), "0-1,3,5");
    let machine = Machine::parse("sample", Path::new("sample.toml"), &detected.toml, Some("online")).expect("valid");
    assert_eq!(machine.online().map(|cpu| cpu.0).collect::<Vec<_>>(), [0, 1, 3, 5]);
    assert_eq!(warned(&detected, "CPUs 2,4 are offline"), 1);
}

#[test]
fn switched_off_smt_is_undone_in_the_description() {
    let tree = Tree::with_online("0-1")
        .file("sys/devices/system/cpu/present", "0-3")
        .file("sys/devices/system/cpu/smt/control", "off")
        .topology(0, 0, "0")
        .topology(1, 0, "1");
    let (_, table) = describe(&tree);
    assert_eq!(at(&table, "cluster/0/cpus").to_string(), "[[0, 2], [1, 3]]");
}

#[test]
fn the_running_machine_is_described() {
    let detected = detect(Path::new("/"), "this").expect("sysfs is mounted");
    let machine = Machine::parse("this", Path::new("this.toml"), &detected.toml, None).expect("a valid description");
    assert!(machine.online().count() >= 1);
}
