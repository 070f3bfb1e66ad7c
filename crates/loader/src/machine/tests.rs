// SPDX-License-Identifier: MIT OR Apache-2.0
//! Machines as files.

use std::fs;
use std::path::Path;

use super::*;
use crate::hosts::Host;

/// Writes a file below `/sys`.
fn write(root: &Path, path: &str, text: &str) {
    let path = root.join("sys").join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, format!("{text}\n")).unwrap();
}

fn write_cpu(root: &Path, cpu: usize, path: &str, text: &str) {
    write(root, &format!("devices/system/cpu/cpu{cpu}/{path}"), text);
}

fn with_cpus(list: &str) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    write(root.path(), "devices/system/cpu/possible", list);
    root
}

#[test]
fn a_machine_without_any_files_but_the_list_of_cpus_has_equal_ones_that_share_everything() {
    let root = with_cpus("0-1");
    let machine = Machine::read(root.path()).unwrap();
    let cpu = |number| Cpu {
        online: true,
        core: number,
        performance_domain: number,
        capacity: 1024,
        performance: 1024,
        ..Cpu::default()
    };
    assert_eq!(machine.cpus, [cpu(0), cpu(1)]);
    assert_eq!((machine.opp_tables, machine.nr_nodes, machine.cpuperf), (vec![OppTable::default()], 1, false));
}

#[test]
fn without_a_list_of_cpus_there_is_no_machine() {
    let root = tempfile::tempdir().unwrap();
    assert!(matches!(Machine::read(root.path()), Err(ReadError::Unreadable { .. })));
}

/// Two packages of a core with two threads each: CPUs 0 and 2, 1 and 3.
#[test]
fn threads_caches_and_packages_are_numbered_by_their_lowest_cpu() {
    let root = with_cpus("0-3");
    for cpu in 0..4 {
        let siblings = ["0,2", "1,3"][cpu % 2];
        write_cpu(root.path(), cpu, "topology/thread_siblings_list", siblings);
        write_cpu(root.path(), cpu, "topology/physical_package_id", ["7", "3"][cpu % 2]);
        write_cpu(root.path(), cpu, "cache/index0/level", "1");
        write_cpu(root.path(), cpu, "cache/index0/type", "Data");
        write_cpu(root.path(), cpu, "cache/index0/shared_cpu_list", "0-3");
        write_cpu(root.path(), cpu, "cache/index2/level", "2");
        write_cpu(root.path(), cpu, "cache/index2/type", "Unified");
        write_cpu(root.path(), cpu, "cache/index2/shared_cpu_list", siblings);
    }
    let cpus = Machine::read(root.path()).unwrap().cpus;
    assert_eq!([cpus[2].core, cpus[3].core], [0, 1]);
    assert_eq!([cpus[0].sibling, cpus[3].sibling], [Some(2), Some(1)]);
    assert_eq!(cpus.iter().map(|cpu| (cpu.package, cpu.llc)).collect::<Vec<_>>(), [(0, 0), (1, 1), (0, 0), (1, 1)]);
}

/// A little CPU of 1 GHz, and a big one of 2 GHz that may not go above 1.5 GHz now.
#[test]
fn clocks_above_the_limit_count_for_capacity_only() {
    let root = with_cpus("0-1");
    for (cpu, capacity, clocks, most) in
        [(0, "400", "500000 1000000", "1000000"), (1, "1024", "1000000 1500000 2000000", "1500000")]
    {
        write_cpu(root.path(), cpu, "cpu_capacity", capacity);
        write_cpu(root.path(), cpu, "cpufreq/related_cpus", &cpu.to_string());
        write_cpu(root.path(), cpu, "cpufreq/scaling_available_frequencies", clocks);
        write_cpu(root.path(), cpu, "cpufreq/scaling_max_freq", most);
        write_cpu(root.path(), cpu, "cpufreq/scaling_governor", "schedutil");
    }
    for (file, text) in
        [("cpus", "1"), ("flags", "0x1"), ("ps:1000000/frequency", "1000000"), ("ps:1000000/power", "300500")]
    {
        write(root.path(), &format!("kernel/debug/energy_model/cpu1/{file}"), text);
    }
    let machine = Machine::read(root.path()).unwrap();
    let (little, big) = (machine.cpus[0], machine.cpus[1]);
    assert_eq!([little.capacity, little.performance, big.capacity, big.performance], [400, 400, 1024, 768]);
    assert_eq!([little.opp_table, big.opp_table, big.performance_domain], [0, 1, 1]);
    let table = |frequency: [u64; 2], performance: [u64; 2], power: [u64; 2]| OppTable {
        frequency: frequency.into(),
        performance: performance.into(),
        power: power.into(),
        busy_power: vec![0; 2],
        static_power: vec![0; 2],
        ..OppTable::default()
    };
    assert_eq!(machine.opp_tables[0], table([500_000, 1_000_000], [200, 400], [0, 0]));
    assert_eq!(machine.opp_tables[1], table([1_000_000, 1_500_000], [512, 768], [301, 0]));
    assert!(machine.cpuperf);
}

/// As intel_pstate is: no list of clocks, but a range, which is limited to 3 GHz from above and 1 GHz from below.
#[test]
fn a_range_of_clocks_ends_at_its_limits() {
    let root = with_cpus("0");
    for (file, khz) in [
        ("cpuinfo_min_freq", "800000"),
        ("cpuinfo_max_freq", "4000000"),
        ("scaling_min_freq", "1000000"),
        ("scaling_max_freq", "3000000"),
    ] {
        write_cpu(root.path(), 0, &format!("cpufreq/{file}"), khz);
    }
    let machine = Machine::read(root.path()).unwrap();
    assert_eq!(machine.opp_tables[0].frequency, [1_000_000, 3_000_000]);
    assert_eq!((machine.cpus[0].capacity, machine.cpus[0].performance), (1024, 768));
}

/// Favoured cores are of one kind, and have one table, though each has a clock of its own.
#[test]
fn a_hybrid_with_a_clock_for_every_cpu_has_two_tables_of_clocks() {
    let host = Host::all().into_iter().find(|host| host.name.contains("275HX")).unwrap();
    let root = tempfile::tempdir().unwrap();
    host.write(root.path()).unwrap();
    let machine = Machine::read(root.path()).unwrap();
    assert_eq!(machine.opp_tables.len(), 2);
    let (first, performance) = (machine.opp_tables[0].frequency.as_slice(), machine.cpus[0].performance);
    assert_eq!((first, performance), (&[800_000, 5_600_000][..], 1024));
    let domains: Vec<u64> = machine.cpus.iter().map(|cpu| cpu.performance_domain).collect();
    assert_eq!(domains, (0..24).collect::<Vec<_>>());
}
