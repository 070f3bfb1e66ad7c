// SPDX-License-Identifier: MIT OR Apache-2.0
//! Descriptions of machines with several kinds of core, and sources that contradict each other.

mod detect_tree;

use detect_tree::{Tree, at, describe, number, source_of, text, warned};

const LITTLE: [(u32, u64); 2] = [(533_000, 50_000), (1_844_000, 245_000)];
const BIG: [(u32, u64); 2] = [(903_000, 300_000), (2_362_000, 1_572_000)];

/// Four Cortex-A53 and four Cortex-A73, as a HiKey960 shows itself but for the energy model.
fn big_little() -> Tree {
    let mut cpuinfo = String::new();
    let mut tree = Tree::with_online("0-7").file("sys/firmware/devicetree/base/model", "HiKey960\0");
    for cpu in 0..8u32 {
        let (part, capacity, shared) = if cpu < 4 { ("0xd03", 462, "0-3") } else { ("0xd09", 1024, "4-7") };
        cpuinfo += &format!("processor : {cpu}\nCPU implementer : 0x41\nCPU part : {part}\n\n");
        tree =
            tree.topology(cpu, 0, &cpu.to_string()).cpu(cpu, "cpu_capacity", capacity).cache(&[cpu], 2, "512K", shared);
    }
    tree.file("proc/cpuinfo", cpuinfo)
        .policy(0, "0 1 2 3", 533_000, 1_844_000)
        .policy_file(0, "scaling_available_frequencies", "533000 1844000")
        .policy(4, "4 5 6 7", 903_000, 2_362_000)
        .policy_file(4, "scaling_available_frequencies", "903000 2362000")
        .idle(&[0, 1, 2, 3, 4, 5, 6, 7], 0, "WFI", 1, 1)
        .idle(&[0, 1, 2, 3, 4, 5, 6, 7], 1, "cpu-sleep", 1050, 1500)
        .idle(&[0, 1, 2, 3, 4, 5, 6, 7], 2, "cluster-sleep", 2100, 3500)
}

/// Two P-cores with two threads (CPUs 0-3) and four E-cores, one policy per CPU, all below one L3.
fn p_and_e(p_khz: u32, e_khz: u32) -> Tree {
    let mut tree = Tree::with_online("0-7")
        .file("sys/devices/cpu_core/cpus", "0-3")
        .file("sys/devices/cpu_atom/cpus", "4-7")
        .file("proc/cpuinfo", "processor : 0\nvendor_id : GenuineIntel\nmodel name : Sample hybrid");
    for cpu in 0..8u32 {
        let siblings = if cpu < 4 { format!("{}-{}", cpu / 2 * 2, cpu / 2 * 2 + 1) } else { cpu.to_string() };
        let khz = if cpu < 4 { p_khz } else { e_khz };
        tree =
            tree.topology(cpu, 0, &siblings).cache(&[cpu], 3, "12M", "0-7").policy(cpu, &cpu.to_string(), 800_000, khz);
    }
    tree
}

#[test]
fn big_little_with_an_energy_model_has_its_watts() {
    let tree = big_little().energy_model("cpu0", "0-3", "ps", &LITTLE).energy_model("cpu4", "4-7", "ps", &BIG);
    let (detected, table) = describe(&tree);
    assert_eq!(text(&table, "title"), "HiKey960: 8 cores, 8 CPUs");
    assert_eq!(text(&table, "cluster/0/name"), "cortex-a53");
    assert_eq!(text(&table, "cluster/1/cpus"), "4-7");
    assert_eq!(text(&table, "cluster/1/performance_domain"), "cluster");
    assert_eq!(number(&table, "opp_table/cortex-a53/opps/1/watts"), 0.245);
    assert_eq!(number(&table, "opp_table/cortex-a73/opps/1/watts"), 1.572);
    assert!(source_of(&table, "opp_table/cortex-a73", "watts").contains("energy model cpu4"));
    assert_eq!(number(&table, "cluster/0/static_watts"), 0.0, "the model's watts contain it");
    // 462/1024 of the capacity at 1844/2362 of the clock.
    assert_eq!(number(&table, "core_type/cortex-a53/ipc"), 0.5779);
    assert_eq!(text(&table, "idle_table/cortex-a53/states/2/scope"), "cluster");
    assert_eq!(warned(&detected, "no watts"), 0);
}

#[test]
fn an_energy_model_in_milliwatts_is_recognised_by_its_size() {
    let milli = |states: [(u32, u64); 2]| states.map(|(khz, power)| (khz, power / 1000));
    let tree =
        big_little().energy_model("pd0", "0-3", "cs", &milli(LITTLE)).energy_model("pd1", "4-7", "cs", &milli(BIG));
    let (_, table) = describe(&tree);
    assert_eq!(number(&table, "opp_table/cortex-a73/opps/1/watts"), 1.572);
    assert!(source_of(&table, "opp_table/cortex-a73", "watts").contains("milliwatts"));
}

#[test]
fn an_abstract_energy_model_gives_clocks_but_no_watts() {
    for (file, content) in [("flags", "0x5"), ("flags", "0x0"), ("units", "bogoWatts")] {
        let tree = big_little()
            .energy_model("cpu0", "0-3", "ps", &LITTLE)
            .file(&format!("sys/kernel/debug/energy_model/cpu0/{file}"), content);
        let (detected, table) = describe(&tree);
        assert!(source_of(&table, "opp_table/cortex-a53", "mv").starts_with("assumed"), "{file}");
        assert_eq!(warned(&detected, "energy model cpu0 is abstract"), 1);
        assert_eq!(warned(&detected, "no watts for CPUs 0-7"), 1);
    }
}

#[test]
fn smt_on_p_cores_only() {
    let tree = (0..8).fold(p_and_e(5_200_000, 3_900_000), |tree, cpu| {
        tree.cpu(cpu, "acpi_cppc/highest_perf", if cpu < 4 { 66 } else { 39 })
    });
    let (detected, table) = describe(&tree);
    assert_eq!(at(&table, "cluster/0/cpus").to_string(), "[[0, 1], [2, 3]]");
    assert_eq!(number(&table, "cluster/0/smt"), 2.0);
    assert_eq!(text(&table, "cluster/0/performance_domain"), "core");
    assert_eq!(text(&table, "cluster/1/cpus"), "4-7");
    assert!(table["cluster"][1].get("smt").is_none());
    assert_eq!(text(&table, "cluster/1/performance_domain"), "cpu");
    assert_eq!(text(&table, "cluster/0/cache/per"), "package");
    assert_eq!(text(&table, "cluster/1/cache/per"), "package");
    assert!(table["core_type"]["e-core"].get("smt_speed").is_none());
    // 39/66 of the performance at 3.9/5.2 of the clock.
    assert_eq!(number(&table, "core_type/e-core/ipc"), 0.7879);
    assert_eq!(warned(&detected, "capacity"), 0, "{:#?}", detected.warnings);
}

#[test]
fn sources_that_call_p_and_e_cores_equal_are_not_believed() {
    // As an i7-13650HX was seen to do: 2.6 GHz and one highest_perf on all CPUs.
    let tree = (0..8).fold(p_and_e(2_600_000, 2_600_000), |tree, cpu| {
        tree.cpu(cpu, "acpi_cppc/highest_perf", 60).cpu(cpu, "cpu_capacity", 1024)
    });
    let (detected, table) = describe(&tree);
    let though = "is equal on all CPUs, though they are P-cores (0-3) and E-cores (4-7): it is not believed";
    for source in ["cpu_capacity", "acpi_cppc/highest_perf", "cpufreq/cpuinfo_max_freq"] {
        assert_eq!(warned(&detected, &format!("{source} {though}")), 1);
    }
    assert_eq!(warned(&detected, "an E-core is assumed to do 79 % of a P-core's work per clock"), 1);
    assert_eq!(number(&table, "core_type/e-core/ipc"), 0.7874);
    assert!(source_of(&table, "core_type/e-core", "ipc").starts_with("assumed"));
}

#[test]
fn the_kernels_capacity_wins_over_the_firmwares_and_says_so() {
    let tree = (0..8).fold(p_and_e(5_200_000, 3_900_000), |tree, cpu| {
        let (capacity, perf) = if cpu < 4 { (1024, 66) } else { (605, 60) };
        tree.cpu(cpu, "acpi_cppc/highest_perf", perf).cpu(cpu, "cpu_capacity", capacity)
    });
    let (detected, table) = describe(&tree);
    let warning =
        "acpi_cppc/highest_perf gives CPU 7 a capacity of 931, cpu_capacity one of 605: the latter is believed";
    assert_eq!(warned(&detected, warning), 1, "{:#?}", detected.warnings);
    assert!(source_of(&table, "core_type/e-core", "ipc").contains("cpu_capacity"));
}

#[test]
fn kinds_that_no_source_tells_apart_are_assumed_equal() {
    let mut cpuinfo = String::new();
    for (cpu, part) in ["0xd03", "0xd09"].into_iter().enumerate() {
        cpuinfo += &format!("processor : {cpu}\nCPU implementer : 0x41\nCPU part : {part}\n\n");
    }
    let (detected, table) = describe(&Tree::with_online("0-1").file("proc/cpuinfo", cpuinfo));
    assert_eq!(at(&table, "cluster").as_array().map(Vec::len), Some(2));
    assert_eq!(warned(&detected, "all are assumed to do the same work per clock"), 1);
}

#[test]
fn the_fastest_cpu_is_the_reference_even_if_another_kind_does_more_per_clock() {
    // Capacity 1024 at 2.4 GHz, and 900 at 1.5 GHz.
    let mut cpuinfo = String::new();
    let mut tree = Tree::with_online("0-1");
    for (cpu, part, capacity, khz) in [(0, "0xd09", 1024, 2_400_000), (1, "0xd0b", 900, 1_500_000)] {
        cpuinfo += &format!("processor : {cpu}\nCPU implementer : 0x41\nCPU part : {part}\n\n");
        tree = tree.cpu(cpu, "cpu_capacity", capacity).policy(cpu, &cpu.to_string(), 300_000, khz);
    }
    let (_, table) = describe(&tree.file("proc/cpuinfo", cpuinfo));
    assert_eq!(number(&table, "core_type/cortex-a73/memory_speed"), 1.0);
    assert!(number(&table, "core_type/cortex-a76/memory_speed") > 1.0);
    assert_eq!(number(&table, "core_type/cortex-a76/ipc"), 1.0);
}

#[test]
fn low_power_cores_outside_the_l3_keep_their_own_cache() {
    // As on Lunar Lake: two P-cores with an L3, two low-power cores with an L2 only.
    let mut tree = Tree::with_online("0-3")
        .file("sys/devices/cpu_core/cpus", "0-1")
        .file("sys/devices/cpu_lowpower/cpus", "2-3")
        .cache(&[0, 1], 3, "12M", "0-1")
        .cache(&[2, 3], 2, "4M", "2-3");
    for cpu in 0..4 {
        tree = tree.topology(cpu, 0, &cpu.to_string()).policy(cpu, &cpu.to_string(), 800_000, 4_800_000);
    }
    let (_, table) = describe(&tree);
    assert_eq!((number(&table, "cluster/0/cache/level"), number(&table, "cluster/1/cache/level")), (3.0, 2.0));
    assert_eq!(text(&table, "cluster/1/core_type"), "lp-e-core");
}
