// SPDX-License-Identifier: MIT OR Apache-2.0
//! What noise brings into a cache pushes out a share of what others hold there, and they fetch it again.

use tandem_simulator::machine::Machine;
use tandem_simulator::metrics::Report;
use tandem_simulator::simulation::{Governor, Options};

use super::support::{machine_from, run, run_with, task, text, workload};

/// Noise on CPU 2 of `smp-8`, which has 8 MiB for all and moves 10 GB/s for one thread: it wakes once, at 5 ms, and works
/// for `run` microseconds. `victims` are the other tasks.
fn beside_noise(run: u32, disturbs: &str, victims: &str) -> Report {
    let noise = format!(
        r#""noise" : {{ "loop" : 1, "delay" : 5000, "cpus" : [2], "run" : {run},
            "tandem" : {{ "system" : true, "disturbs" : "{disturbs}" }} }}"#
    );
    let options = Options { governor: Governor::Performance, ..Options::default() };
    run_with(
        &Machine::load("smp-8").unwrap(),
        &workload(&format!(r#"{{ "tasks" : {{ {victims}, {noise} }} }}"#)),
        &options,
    )
}

const WORKER: &str = r#""worker" : { "loop" : 1, "cpus" : [1], "run" : 20000, "tandem" : { "footprint" : "4MiB" } }"#;

/// To a few nanoseconds: what is fetched takes whole ones at each tick.
#[track_caller]
fn same(value: f64, expected: f64) {
    assert!((value - expected).abs() < 5e-9, "{value} s instead of {expected} s");
}

/// 2 MiB come through a cache of 8, half of which is the worker's: it loses 1 MiB, which takes 104.9 us to fetch, and
/// draws 1 nJ a byte.
#[test]
fn what_runs_beside_noise_loses_in_proportion_to_what_it_holds() {
    let report = beside_noise(1000, "2MiB", WORKER);
    same(task(&report, "worker").cpu_time_s, 0.020 + f64::from(1 << 20) / 10e9);
    assert!((report.energy_j.memory - f64::from(1 << 20) * 1e-9).abs() < 1e-12, "{}", report.energy_j.memory);
    same(task(&beside_noise(1000, "0B", WORKER), "worker").cpu_time_s, 0.020);
}

/// In 50 us one thread moves 500,000 bytes; 4 of 8 MiB lose half as much.
#[test]
fn what_is_brief_brings_in_no_more_than_it_can_move() {
    same(task(&beside_noise(50, "2MiB", WORKER), "worker").cpu_time_s, 0.020 + 250_000.0 / 10e9);
}

/// The sleeper's 4 MiB are gone once, whatever came.
#[test]
fn nobody_loses_more_than_it_holds() {
    let sleeper = r#""worker" : { "loop" : 1, "cpus" : [2], "run0" : 4000, "sleep" : 15000, "run1" : 4000,
        "tandem" : { "footprint" : "4MiB" } }"#;
    same(task(&beside_noise(10_000, "64MiB", sleeper), "worker").cpu_time_s, 0.008 + f64::from(4 << 20) / 10e9);
}

/// Between two steps that work a thread waits at a barrier, spinning: it fetches what it lost when it works again.
#[test]
fn who_spins_fetches_when_the_wait_is_over() {
    let victims = r#""spins" : { "loop" : 1, "cpus" : [1], "run0" : 4000, "barrier0" : "b", "run1" : 4000,
            "tandem" : { "footprint" : "4MiB", "spin" : 100000 } },
        "late" : { "loop" : 1, "cpus" : [3], "run0" : 8000, "barrier0" : "b" }"#;
    let report = beside_noise(1000, "2MiB", victims);
    same(task(&report, "spins").cpu_time_s, 0.012 + f64::from(1 << 20) / 10e9);
}

#[test]
fn a_stream_has_nothing_to_lose() {
    let stream = r#""stream" : { "loop" : 1, "cpus" : [1], "run" : 20000, "tandem" : { "memory_bound" : 0.5 } }"#;
    same(task(&beside_noise(1000, "8MiB", stream), "stream").cpu_time_s, 0.020);
}

/// CPU 0 works, noise is on CPU 1: under one cache it disturbs, under two or none it does not.
#[test]
fn another_cache_and_none_are_left_alone() {
    let both = r#"{ "tasks" : {
        "worker" : { "loop" : 1, "cpus" : [0], "run" : 20000, "tandem" : { "footprint" : 1000000 } },
        "noise" : { "loop" : 1, "delay" : 5000, "cpus" : [1], "run" : 1000,
                    "tandem" : { "system" : true, "disturbs" : 1000000 } } } }"#;
    let time = |text: &str| task(&run(&machine_from(text), both), "worker").cpu_time_s;
    let shared = text(2);
    assert!(time(&shared) > 0.020_001, "{}", time(&shared));
    same(time(&shared.replace("per = \"package\"", "per = \"core\"")), 0.020);
    let without: String =
        shared.lines().filter(|line| !line.starts_with("cache =")).map(|line| format!("{line}\n")).collect();
    assert_ne!(without, shared);
    same(time(&without), 0.020);
}
