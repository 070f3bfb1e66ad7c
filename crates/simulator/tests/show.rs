// SPDX-License-Identifier: MIT OR Apache-2.0
//! Machines as `show` prints them.

use std::collections::BTreeSet;
use std::path::Path;

use proptest::prelude::*;
use tandem_simulator::machine::show::{provenance, show};
use tandem_simulator::machine::{Machine, catalogue};

use crate::simulation::support::cases;

/// The description of a small machine without its clusters.
const TABLES: &str = r#"schema = 1
title = "Two kinds of core"
[core_type.small]
ipc = 0.5
memory_speed = 0.75
stall_activity = 0.5
source = "calibrated with the first cell of a table"
[core_type.large]
ipc = 1.0
memory_speed = 1.0
stall_activity = 0.5
smt_speed = 0.6
smt_activity = 1.2
source = "data sheet"
sources.stall_activity = "assumed"
[opp_table.slow]
transition_latency_us = 300
opps = [{ mhz = 500, watts = 0.1 }, { mhz = 1000, watts = 0.4 }]
source = "measured"
[opp_table.fast]
transition_latency_us = 2000
dynamic_power_coefficient = 500
opps = [{ mhz = 1000, mv = 800 }, { mhz = 2000, mv = 1000 }]
source = "data sheet"
[idle_table.usual]
states = [
    { name = "WFI", entry_us = 0, exit_us = 1, residency_us = 1, watts = 0.02 },
    { name = "off", scope = "cluster", entry_us = 10, exit_us = 90, residency_us = 1500, watts = 0.0, cluster_watts = 0.01 },
]
source = "data sheet"
[memory.dram]
gb_per_s = 12.8
thread_gb_per_s = 6.4
contention = 0.5
static_watts = 0.1
nj_per_byte = 0.15
source = "assumed"
[package.a]
uncore_watts = 0.5
uncore_idle_watts = 0.1
source = "assumed"
[package.b]
uncore_watts = 0.5
uncore_idle_watts = 0.1
source = "assumed"
[platform]
watts = 5.0
supply_efficiency = 0.9
source = "assumed"
[scheduling]
context_switch_us = 2.0
migration_us = 5.0
migration_llc_us = 30.0
tick_us = 2.0
source = "assumed"
[configuration.half]
title = "without CPU 1"
online = "0,2-100"
source = "ours"
"#;

fn parse(text: &str, configuration: Option<&str>) -> Machine {
    match Machine::parse("sample", Path::new("sample.toml"), text, configuration) {
        Ok(machine) => machine,
        Err(mistake) => panic!("{mistake}\n{text}"),
    }
}

fn cluster(name: &str, package: &str, cores: u32, smt: u32, rest: &str) -> String {
    let (kind, opps) = if smt > 1 { ("large", "fast") } else { ("small", "slow") };
    format!(
        "[[cluster]]\nname = \"{name}\"\npackage = \"{package}\"\ncore_type = \"{kind}\"\ncores = {cores}\nsmt = {smt}\n\
         opp_table = \"{opps}\"\nidle_table = \"usual\"\nmemory = \"dram\"\nstatic_watts = 0.05\nsource = \"data sheet\"\n{rest}\n"
    )
}

fn small(configuration: Option<&str>) -> Machine {
    let little =
        "performance_domain = \"cluster\"\ncache = { level = 2, kib = 512, per = \"cluster\", hit_cost = 0.1 }";
    let big = "performance_domain = \"core\"\ncache = { level = 3, kib = 4096, per = \"package\", hit_cost = 0.2 }";
    let clusters = cluster("little", "a", 4, 1, little) + &cluster("big", "a", 2, 2, big);
    let tables = TABLES.replace("[package.b]\nuncore_watts = 0.5\nuncore_idle_watts = 0.1\nsource = \"assumed\"\n", "");
    parse(&(tables.replace("2-100", "2-7") + &clusters), configuration)
}

#[test]
fn a_small_machine_is_drawn() {
    insta::assert_snapshot!(show(&small(None), 80), @r"
    Two kinds of core
    sample: 1 package, 2 clusters, 6 cores, 8 CPUs, 5 W outside the packages, power
    supply 90 %

    ┌─ package 0: uncore 0.5 W, idle 0.1 W ────────────────────────────────────────┐
    │ ┌─ little: 4 × small ───────────────┐ ┌─ big: 2 × large, SMT 2 ───────────┐  │
    │ │ [0] [1] [2] [3]                   │ │ [4+5] [6+7]                       │  │
    │ │ capacity 256, 500-1000 MHz        │ │ capacity 1024, 1000-2000 MHz      │  │
    │ │ ╘═ L2 512 KiB ══════════════════╛ │ │ ╘═ L3 4 MiB ════════════════════╛ │  │
    │ └───────────────────────────────────┘ └───────────────────────────────────┘  │
    │ ╘═ dram: 12.8 GB/s, one thread 6.4, 0.1 W + 0.15 nJ/byte, CPUs 0-7 ════════╛ │
    └──────────────────────────────────────────────────────────────────────────────┘

    little: CPUs 0-3
      core    small: capacity 256, 0.5 of CPU 4's work per clock, 0.75 of its speed
              in memory
      clock   500-1000 MHz, 2 points, one per cluster, 300 us to change
      idle    WFI: 0.02 W, in 0 us, out 1 us, pays from 1 us
              off: 0 W (cluster 0.01 W), in 10 us, out 90 us, pays from 1.5 ms
      static  0.05 W per cluster
      MHz        500  1000
      W busy     0.1   0.4

    big: CPUs 4-7
      core    large: capacity 1024, 0.6 with a busy SMT sibling
      clock   1000-2000 MHz, 2 points, one per core, 2 ms to change
      idle    WFI: 0.02 W, in 0 us, out 1 us, pays from 1 us
              off: 0 W (cluster 0.01 W), in 10 us, out 90 us, pays from 1.5 ms
      static  0.05 W per cluster
      MHz       1000  2000
      V          0.8     1
      W busy    0.32     1
    ");
}

#[test]
fn offline_cpus_are_in_parentheses() {
    let text = show(&small(Some("half")), 80);
    assert!(text.contains("[0] [(1)] [2] [3]"), "{text}");
    assert!(text.contains("8 CPUs, 1 of them offline"), "{text}");
}

#[test]
fn narrow_paper_gets_a_tree() {
    insta::assert_snapshot!(show(&small(None), 40).split("\n\n").nth(1).unwrap_or_default(), @r"
    package 0: uncore 0.5 W, idle 0.1 W
      little: 4 × small
        [0] [1] [2] [3]
        L2 512 KiB
      big: 2 × large, SMT 2
        [4+5] [6+7]
        L3 4 MiB
      dram: 12.8 GB/s, one thread 6.4, 0.1 W
        + 0.15 nJ/byte, CPUs 0-7
    ");
}

#[test]
fn sources_are_marked() {
    insta::assert_snapshot!(provenance(&small(None)), @r"
    sample: 12 sources, 1 measured (*), 0 computed (=), 1 calibrated (~), 5 assumed (?), 5 from documents
    core_type.small
      ~ (the rest)  calibrated with the first cell of a table
    core_type.large
        (the rest)      data sheet
      ? stall_activity  assumed
    opp_table.slow
      * (the rest)  measured
    opp_table.fast
        (the rest)  data sheet
    idle_table.usual
        (the rest)  data sheet
    memory.dram
      ? (the rest)  assumed
    package.a
      ? (the rest)  assumed
    platform
      ? (the rest)  assumed
    scheduling
      ? (the rest)  assumed
    cluster.little … cluster.big (2 tables)
        (the rest)  data sheet
    ");
}

#[test]
fn what_the_kernel_believes_of_energy_is_compared_with_what_is_drawn() {
    let belief = |text: &str| {
        let machine = parse(text, None);
        show(&machine, 300).rsplit("\n\n").next().unwrap_or_default().to_owned()
    };
    let little = "performance_domain = \"cluster\"";
    let text = TABLES
        .replace("2-100", "2-7")
        .replace("[package.b]\nuncore_watts = 0.5\nuncore_idle_watts = 0.1\nsource = \"assumed\"\n", "")
        + &cluster("little", "a", 4, 1, little)
        + &cluster("big", "a", 2, 2, "performance_domain = \"core\"");
    // Little: 0.4 W at 1000 MHz and 0.5 work per clock; big: 1 W at 2000 MHz and 1: (1 / 2000) / (0.4 / 500) = 0.625 drawn.
    // Believed of the little one: 0.2 W and a capacity of 1024 · 400 / 2000 = 204: (1 / 1024) / (0.2 / 204) = 0.996.
    let told = text
        .replace("ipc = 0.5\n", "ipc = 0.5\ncapacity_dmips_mhz = 0.4\n")
        .replace("mhz = 500, watts = 0.1", "mhz = 500, watts = 0.1, em_watts = 0.025")
        .replace("mhz = 1000, watts = 0.4", "mhz = 1000, watts = 0.4, em_watts = 0.2");
    let lines = belief(&told);
    for expected in [
        "at the highest clocks: 0.5 CPU 0, 1 CPU 4; ",
        "furthest apart 0.25, CPU 0 at 500 MHz; ",
        "energy per work of CPU 4 over CPU 0: drawn 0.62, believed 1\n",
    ] {
        assert!(lines.contains(expected), "{lines}");
    }
    let none = text.replace("source = \"measured\"", "energy_model = false\nsource = \"measured\"");
    assert_eq!(belief(&none), "energy model  none: the kernel places nothing by energy\n");
    assert!(!show(&parse(&text, None), 200).contains("energy model"));
}

#[test]
fn alike_clusters_and_their_sources_are_one_entry() {
    let rest = "performance_domain = \"core\"\ncache = { level = 3, kib = 4096, per = \"cluster\", hit_cost = 0.2 }";
    let ccd = |(index, package)| cluster(&format!("ccd-{index}"), package, 8, 2, rest);
    let packages = [["a"; 8], ["b"; 8]].concat();
    let clusters: String = packages.into_iter().enumerate().map(ccd).collect();
    let machine = parse(&(TABLES.replace("\nonline = \"0,2-100\"", "") + &clusters), None);
    let text = show(&machine, 100);
    assert!(text.contains("8 × ccd-0 … 7: each 8 × large, SMT 2"), "{text}");
    assert!(text.contains("ccd-9: CPUs 144-159"), "{text}");
    assert!(text.contains("ccd-0 … 15: CPUs 0-255"), "{text}");
    assert!(text.contains("L3 4 MiB each"), "{text}");
    assert!(text.lines().count() < 60, "{} lines", text.lines().count());
    assert!(provenance(&machine).contains("cluster.ccd-0 … cluster.ccd-15 (16 tables)"));
}

/// CPU numbers in the cells and lists of the drawing, but not in the bars of shared resources.
fn drawn(picture: &str) -> BTreeSet<u32> {
    let mut numbers = BTreeSet::new();
    // Text behind the end of a bar, or on a line without a bar.
    let drawings = picture.lines().flat_map(|line| line.split('╛').filter_map(|part| part.split('╘').next()));
    for line in drawings {
        let cells = line.split('[').skip(1).filter_map(|rest| Some(rest.split_once(']')?.0));
        let lists = line.split("CPUs ").skip(1).filter_map(|rest| rest.split(' ').next());
        for part in cells.chain(lists).flat_map(|list| list.split(['+', ','])) {
            let part = part.trim_matches(['(', ')']);
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            if let (Ok(first), Ok(last)) = (first.parse::<u32>(), last.parse::<u32>()) {
                numbers.extend(first..=last);
            }
        }
    }
    numbers
}

fn check(machine: &Machine, width: usize) -> Result<(), TestCaseError> {
    let text = show(machine, width);
    for line in text.lines() {
        prop_assert!(line.chars().count() <= width.max(24), "{width} columns: {line}");
        prop_assert_eq!(line, line.trim_end());
    }
    if width >= 60 {
        let picture = text.split("\n\n").nth(1).unwrap_or_default();
        let numbers = drawn(picture);
        for cpu in machine.online() {
            prop_assert!(numbers.contains(&cpu.0), "CPU {cpu} is missing at {width} columns:\n{text}");
        }
    }
    Ok(())
}

#[test]
fn the_catalogue_fits_any_paper() {
    for name in catalogue::names() {
        let machine = Machine::load(name).expect("a bundled machine");
        for width in [0, 24, 40, 59, 60, 80, 100, 120, 200] {
            check(&machine, width).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    }
}

#[test]
fn every_operating_point_is_shown_on_any_paper() {
    let machine = Machine::load("sdm845").expect("a bundled machine");
    for width in [24, 40, 80, 200] {
        let text = show(&machine, width);
        let clocks = text.lines().filter_map(|line| line.strip_prefix("  MHz")).flat_map(str::split_whitespace);
        // 18 of the small cores and 24 of the large ones.
        assert_eq!(clocks.count(), 42, "{width}: {text}");
    }
}

/// Clusters as (package, cores, threads, cache, clock, length of the name).
fn clusters() -> impl Strategy<Value = Vec<(bool, u32, u32, usize, usize, usize)>> {
    prop::collection::vec((any::<bool>(), 1u32..40, 1u32..3, 0usize..4, 0usize..4, 1usize..50), 1..7)
}

proptest! {
    #![proptest_config(cases(256, 256))]

    #[test]
    fn any_machine_fits_any_paper(clusters in clusters(), width in 0usize..150) {
        let text: String = clusters.iter().enumerate().map(|(index, (second, cores, smt, cache, clock, length))| {
            let name = format!("{}{index}", "n".repeat(*length));
            let clock = ["cpu", "core", "cluster", "package"][*clock];
            let cache = match ["none", "core", "cluster", "package"][*cache] {
                "none" => String::new(),
                per => format!("cache = {{ level = 3, kib = 1024, per = \"{per}\", hit_cost = 0.2 }}"),
            };
            let package = if *second { "b" } else { "a" };
            cluster(&name, package, *cores, *smt, &format!("performance_domain = \"{clock}\"\n{cache}"))
        }).collect();
        // The reference must be a large core, and no package may be empty.
        let fastest = cluster("fastest", "b", 1, 2, "performance_domain = \"core\"")
            + &cluster("first", "a", 1, 1, "performance_domain = \"core\"");
        let machine = parse(&(TABLES.replace("\nonline = \"0,2-100\"", "") + &fastest + &text), None);
        check(&machine, width)?;
    }
}
