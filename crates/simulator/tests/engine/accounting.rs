// SPDX-License-Identifier: MIT OR Apache-2.0
//! CPU time, overhead and energy are booked once, and to the thread or CPU that caused them.

use std::path::Path;

use tandem_simulator::machine::Machine;
use tandem_simulator::observer::NoObserver;
use tandem_simulator::simulation::{Options, simulate};

use super::support::{assert_time, machine_from, options, run, task, text, workload};

/// A CPU needs 10 ms to wake. A second, more urgent thread that comes meanwhile does not make that shorter.
#[test]
fn who_preempts_during_a_wakeup_waits_for_the_rest_of_it() {
    let slow = text(1).replace("exit_us = 0", "exit_us = 10000");
    let report = run(
        &machine_from(&slow),
        r#"{ "tasks": {
            "plain": { "delay": 100000, "loop": 1, "run": 5000 },
            "urgent": { "delay": 101000, "loop": 1, "policy": "SCHED_FIFO", "priority": 50, "run": 5000 } } }"#,
    );
    // Awake at 110 ms, then 5 ms of work twice.
    assert_time(report.time_s, 0.120);
}

/// 1,000 ticks per second of 100 µs each leave 90 % of a CPU, whichever thread runs after the tick.
#[test]
fn a_tick_that_preempts_still_costs() {
    let costly = text(1).replace("tick_us = 0", "tick_us = 100");
    let mut options = options();
    options.kernel.hz = 1000;
    options.kernel.base_slice = Some(1_000_000);
    let workload = workload(r#"{ "tasks": { "a": { "instance": 2, "loop": 1, "run": 450000 } } }"#);
    let report = simulate(&machine_from(&costly), &workload, &options, &mut NoObserver).unwrap();
    assert!((report.time_s - 1.0).abs() < 0.002, "{}", report.time_s);
}

/// 8 MB at 10 GB/s take 0.8 ms to bring back under another cache, also when the thread slept in between.
#[test]
fn a_footprint_is_refilled_after_a_sleep_elsewhere() {
    let two_caches = text(2).replace("per = \"package\"", "per = \"core\"");
    let report = run(
        &machine_from(&two_caches),
        r#"{ "tasks": { "mover": { "loop": 1,
            "tandem": { "footprint": 4000000 },
            "phases": {
                "here": { "loop": 1, "cpus": [0], "run": 10000, "sleep": 10000 },
                "there": { "loop": 1, "cpus": [1], "run": 10000 } } } } }"#,
    );
    assert_time(report.time_s, 0.0304);
    assert_eq!(task(&report, "mover").migrations, 1);
}

/// Contention ends with the traffic, however small: first both threads are slowed by 1.0011, then neither is.
#[test]
fn contention_leaves_nothing_behind() {
    let report = run(
        &machine_from(&text(3).replace("contention = 0\n", "contention = 0.0015\n")),
        r#"{ "tasks": {
            "short": { "loop": 1, "run": 10000, "tandem": { "memory_bound": 1.0, "bytes_per_work": 5000 } },
            "long": { "loop": 1, "run": 20000, "tandem": { "memory_bound": 1.0, "bytes_per_work": 5000 } },
            "later": { "delay": 50000, "loop": 1, "run": 100000, "tandem": { "memory_bound": 1.0 } } } }"#,
    );
    assert_time(report.time_s, 0.15);
}

/// Half of the bus is used: work that only waits for memory is slowed by 1 + 1 · 0.5², the thread that uses the bus is
/// not.
#[test]
fn contention_is_what_others_cause() {
    let report = run(
        &machine_from(&text(2).replace("contention = 0\n", "contention = 1\n")),
        r#"{ "tasks": {
            "stream": { "loop": 1, "run": 10000, "tandem": { "memory_bound": 1.0, "bytes_per_work": 5000 } },
            "chase": { "loop": 1, "run": 6000, "tandem": { "memory_bound": 1.0 } } } }"#,
    );
    assert_time(report.time_s, 0.01);
    assert_time(task(&report, "chase").cpu_time_s, 0.0075);
}

/// A clock that two clusters share obeys the limit of each: two active cores of the second cluster halve it for both
/// clusters.
#[test]
fn a_package_wide_clock_keeps_both_clusters_within_their_limits() {
    let one = text(1);
    let (head, rest) = one.split_once("[[cluster]]").unwrap();
    let (cluster, tail) = rest.split_once("[platform]").unwrap();
    let cluster = cluster.replace("performance_domain = \"cpu\"", "performance_domain = \"package\"");
    let second = cluster.replace("name = \"cores\"", "name = \"more\"").replace("cores = 1\n", "cores = 2\n").replace(
        "static_watts = 0",
        "static_watts = 0\nboost = [{ active_cores = 1, mhz = 1000 }, { active_cores = 2, mhz = 500 }]",
    );
    let machine = machine_from(&format!("{head}[[cluster]]{cluster}[[cluster]]{second}[platform]{tail}"));
    let report = run(&machine, r#"{ "tasks": { "a": { "instance": 3, "loop": 1, "run": 10000 } } }"#);
    assert_time(report.time_s, 0.02);
}

/// The first state costs nothing to go into and out of, however long entering takes.
#[test]
fn entering_the_first_idle_state_costs_nothing() {
    let slow = text(1).replace("entry_us = 0", "entry_us = 10000");
    let report = run(
        &machine_from(&slow),
        r#"{ "tasks": { "a": { "loop": 1, "run0": 10000, "sleep": 5000, "run1": 10000 } } }"#,
    );
    // 10 ms at 1 W, 5 ms at nothing, and as leaving takes no time, 10 ms at 1 W.
    assert_time(report.time_s, 0.025);
    assert!((report.energy_j.cores - 0.02).abs() < 1e-6, "{}", report.energy_j.cores);
}

/// SMT siblings with a clock each run on one core, whose clock is the faster of the two that they ask for.
#[test]
fn siblings_share_the_faster_clock() {
    let smt = text(1)
        .replace("cores = 1\n", "cores = 1\nsmt = 2\n")
        .replace("stall_activity = 0.5\n", "stall_activity = 0.5\nsmt_speed = 1.0\nsmt_activity = 1.0\n");
    let workload = workload(
        r#"{ "global": { "duration": 1 }, "tasks": {
            "hog": { "loop": -1, "cpus": [0], "runtime": 10000 },
            "light": { "loop": -1, "cpus": [1], "run": 1000, "sleep": 19000 } } }"#,
    );
    let report = simulate(&machine_from(&smt), &workload, &Options::default(), &mut NoObserver).unwrap();
    let light = task(&report, "light");
    assert!((light.cpu_time_s / light.work_s - 1.0).abs() < 0.05, "{} s for {} s", light.cpu_time_s, light.work_s);
}

/// Without a cpufreq driver governors have no effect.
#[test]
fn a_clock_without_a_driver_stays() {
    let fixed = text(1).replace("transition_latency_us = 0", "transition_latency_us = 0\nscalable = false");
    for governor in ["powersave", "schedutil", "ondemand", "conservative"] {
        let options = Options { governor: governor.parse().unwrap(), ..Options::default() };
        let workload = workload(r#"{ "tasks": { "a": { "loop": 1, "run": 10000 } } }"#);
        let report = simulate(&machine_from(&fixed), &workload, &options, &mut NoObserver).unwrap();
        assert_time(report.time_s, 0.01);
    }
}

/// A cache whose hits cost nothing would let memory-bound work end at once, on any machine.
#[test]
fn a_cache_hit_costs_something() {
    let text = text(1).replace("hit_cost = 0.1", "hit_cost = 0");
    let error = Machine::parse("small", Path::new("small.toml"), &text, None).unwrap_err().to_string();
    assert!(error.contains("hit_cost"), "{error}");
}
