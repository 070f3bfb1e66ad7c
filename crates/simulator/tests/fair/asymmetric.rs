// SPDX-License-Identifier: MIT OR Apache-2.0
//! Machines whose CPUs differ: misfit migration, energy-aware placement, clamps.

use super::support::{Places, counts, options, spinning};
use tandem_simulator::machine::Machine;
use tandem_simulator::simulation::Options;
use tandem_simulator::units::{CAPACITY_SCALE, CpuId, MSEC, Nanos, SEC};

fn schedutil(limit: Nanos) -> Options {
    Options { time_limit: Some(limit), ..Options::default() }
}

fn capacity(machine: &Machine, cpu: CpuId) -> u64 {
    u64::from(machine.cpus[cpu.index()].capacity)
}

fn periodic(name: &str, count: u32, run: u32, period: u32, more: &str) -> String {
    format!(
        r#""{name}" : {{ "instance" : {count}, "loop" : -1, "run" : {run},
            "timer" : {{ "ref" : "unique", "period" : {period} }} {more} }}"#
    )
}

/// A thread runs on a little CPU for 20 ms, then may use any CPU and never stops: the next balance finds that it does
/// not fit.
#[test]
fn a_heavy_thread_leaves_a_little_cpu() {
    for name in ["hikey960", "pixel6", "rk3399"] {
        let machine = Machine::load(name).unwrap();
        let little = machine.online().find(|cpu| capacity(&machine, *cpu) < CAPACITY_SCALE).unwrap();
        let task = format!(
            r#""heavy" : {{ "phases" : {{
                "little" : {{ "loop" : 1, "run" : 20000, "cpus" : [{}] }},
                "free" : {{ "loop" : -1, "run" : 1000000, "cpus" : {:?} }} }} }}"#,
            little.0,
            machine.online().map(|cpu| cpu.0).collect::<Vec<_>>()
        );
        let places = Places::of(&machine, &[task], &schedutil(SEC));
        let last = places.at("heavy", SEC)[0];
        assert_eq!(capacity(&machine, last), CAPACITY_SCALE, "{name}: {last:?}");
        let soon = places.at("heavy", 500 * MSEC)[0];
        assert_eq!(capacity(&machine, soon), CAPACITY_SCALE, "{name}: {soon:?}");
    }
}

/// Two light threads, 5 % of the largest CPU each, go where the lowest sufficient clock costs least per work.
///
/// HiKey960: at 533 MHz the little CPUs give 134 of 1024 for 29 mW (0.21 mW per unit of capacity). At 903 MHz the big
/// ones give 391 for 243 mW (0.62). Pixel 6: the little CPUs need 738 MHz for 64 (46 mW: 0.70). The middle ones give 88
/// at 400 MHz for 29 mW (0.32): they are cheaper although they are bigger.
#[test]
fn light_threads_go_where_work_is_cheapest() {
    for (name, cheapest) in [("hikey960", 462), ("pixel6", 498)] {
        let machine = Machine::load(name).unwrap();
        let places = Places::of(&machine, &[periodic("light", 2, 800, 16_000, "")], &schedutil(3 * SEC));
        for thread in 0..2 {
            for cpu in places.since(&format!("light-{thread}"), SEC) {
                assert_eq!(capacity(&machine, cpu), cheapest, "{name}: thread {thread} on {cpu:?}");
            }
        }
    }
}

/// A thread that needs 60 % of the largest CPU (750 of 1024 with the margin of a fifth) fits only there.
#[test]
fn a_thread_runs_where_it_fits() {
    for name in ["hikey960", "pixel6"] {
        let machine = Machine::load(name).unwrap();
        let places = Places::of(&machine, &[periodic("half", 1, 9600, 16_000, "")], &schedutil(3 * SEC));
        for cpu in places.since("half", SEC) {
            assert_eq!(capacity(&machine, cpu), CAPACITY_SCALE, "{name}: {cpu:?}");
        }
    }
}

/// If there are as many never-ending threads as big CPUs, they run on the big CPUs, without energy-awareness too.
#[test]
fn the_big_cpus_are_used_first() {
    let machine = Machine::load("hikey960").unwrap();
    let big: Vec<CpuId> = machine.online().filter(|cpu| capacity(&machine, *cpu) == CAPACITY_SCALE).collect();
    let places = Places::of(&machine, &[spinning("t", big.len() as u32, "")], &options(1, 2 * SEC));
    let mut used = places.at("t", SEC);
    used.sort_unstable();
    assert_eq!(used, big);
}

/// util_min moves a light thread to a CPU that can give that performance; util_max keeps a heavy thread on a small CPU.
#[test]
fn clamps_move_threads_between_clusters() {
    let machine = Machine::load("hikey960").unwrap();
    let boosted = periodic("boosted", 1, 800, 16_000, r#", "util_min" : 800"#);
    let places = Places::of(&machine, &[boosted], &schedutil(3 * SEC));
    for cpu in places.since("boosted", SEC) {
        assert_eq!(capacity(&machine, cpu), CAPACITY_SCALE, "{cpu:?}");
    }
    let capped = periodic("capped", 1, 9600, 16_000, r#", "util_max" : 200"#);
    let places = Places::of(&machine, &[capped], &schedutil(3 * SEC));
    for cpu in places.since("capped", SEC) {
        assert!(capacity(&machine, cpu) < CAPACITY_SCALE, "{cpu:?}");
    }
}

/// Sixteen never-ending threads on eight P cores of two hardware threads and eight E cores: one on each core.
#[test]
fn hybrid_cores_get_one_thread_each() {
    let machine = Machine::load("i9-12900k").unwrap();
    let places = Places::of(&machine, &[spinning("t", 16, "")], &options(1, 3 * SEC));
    let used = counts(&places.at("t", 2 * SEC), |cpu| machine.cpus[cpu.index()].core);
    assert_eq!(used.len(), 16, "{used:?}");
}

/// Eight never-ending threads: one on each P core.
#[test]
fn hybrid_fast_cores_come_first() {
    let machine = Machine::load("i9-12900k").unwrap();
    let places = Places::of(&machine, &[spinning("t", 8, "")], &options(1, 3 * SEC));
    let cpus = places.at("t", 2 * SEC);
    let used = counts(&cpus, |cpu| machine.cpus[cpu.index()].core);
    assert_eq!(used.len(), 8, "{used:?}");
    for cpu in cpus {
        assert_eq!(machine.cores[machine.cpus[cpu.index()].core.index()].cpus.len(), 2, "{cpu:?} is no P core");
    }
}
