// SPDX-License-Identifier: MIT OR Apache-2.0
//! Claims of docs/models.md about models that work together: runs whose numbers can be worked out by hand.

use tandem_simulator::machine::Machine;
use tandem_simulator::metrics::Report;
use tandem_simulator::simulation::{Governor, Options};

use crate::common::{self, task};

fn options(settings: &[(&str, &str)]) -> Options {
    let mut options = Options { governor: Governor::Performance, ..Options::default() };
    for (key, value) in settings {
        options.kernel.set(key, value).unwrap();
    }
    options
}

fn run_with(machine: &str, workload: &str, options: &Options) -> Report {
    common::run_with(&Machine::load(machine).unwrap(), &common::workload(workload), options)
}

fn run(machine: &str, workload: &str) -> Report {
    run_with(machine, workload, &options(&[]))
}

/// The example of docs/models.md, word for word.
fn documented_workload() -> &'static str {
    let page = include_str!("../../../docs/models.md");
    page.split("```json\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap()
}

fn assert_close(value: f64, expected: f64) {
    assert!((value - expected).abs() <= 1e-6 * expected.abs(), "{value} is not {expected}");
}

/// "A run by hand" of docs/models.md: every intermediate number is worked out here as the document does it.
#[test]
fn the_worked_run_comes_out() {
    let seed_0 = Options { seed: 0, ..options(&[("path_costs", "false")]) };
    let report = run_with("hikey960", documented_workload(), &seed_0);
    let overhead = 2e-6;
    let working = 0.1 + 25.0 * 2e-6;
    let time = overhead + working;
    assert!((report.time_s - time).abs() < 2e-9, "{} {time}", report.time_s);
    let busy = 1.1667;
    let activity = 0.5 + 0.5 * 0.56;
    assert_close(report.energy_j.cores, busy * overhead + busy * activity * working + 0.1774 * time);
    assert_close(report.energy_j.uncore, 0.05 * time);
    assert_close(report.energy_j.memory, 0.1 * time + 5e8 * 0.15e-9);
}

/// Nice 0 and nice 5 weigh 1024 and 335.
#[test]
fn cpu_time_follows_the_weights() {
    let report = run(
        "smp-8",
        r#"{ "global" : { "duration" : 10 }, "tasks" : {
            "zero" : { "loop" : -1, "cpus" : [0], "run" : 1000000 },
            "five" : { "loop" : -1, "cpus" : [0], "run" : 1000000, "priority" : 5 } } }"#,
    );
    let share = task(&report, "zero").cpu_time_s / 10.0;
    assert!((share - 1024.0 / 1359.0).abs() < 0.001, "{share}");
}

/// A slice of 2.8 ms ends at the next tick: after 4 ms at 250 Hz, after 3 ms at 1000 Hz.
#[test]
fn ticks_round_a_slice_up() {
    let two = r#"{ "tasks" : { "t" : { "instance" : 2, "loop" : 1, "cpus" : [0], "run" : 1000000 } } }"#;
    for (hz, turn) in [("250", 0.004), ("1000", 0.003)] {
        let switches = run_with("smp-8", two, &options(&[("hz", hz)])).switches as f64;
        assert!((switches - 2.0 / turn).abs() <= 4.0, "{switches} at {hz} Hz");
    }
}

const MIX: &str = r#"{ "global" : { "duration" : 1 }, "tasks" : {
    "light" : { "instance" : 4, "loop" : -1, "run" : 2000, "timer" : { "ref" : "unique", "period" : 50000 } },
    "heavy" : { "loop" : -1, "run" : 6000, "timer" : { "ref" : "unique", "period" : 40000 } } } }"#;

/// `sched_is_eas_possible` refuses a machine with SMT.
#[test]
fn energy_aware_placement_needs_an_asymmetric_machine_without_smt() {
    for (machine, matters) in [("hikey960", true), ("i9-12900k", false)] {
        let energy = |aware| {
            let schedutil = Options { governor: "schedutil".parse().unwrap(), ..options(&[("energy_aware", aware)]) };
            run_with(machine, MIX, &schedutil).energy_j.total
        };
        assert_eq!(energy("true") != energy("false"), matters, "{machine}");
    }
}

/// A burst on all CPUs overutilises the machine, which ends energy-aware placement. Idle CPUs that keep their tick
/// notice the end of the burst, also while only light tasks run.
#[test]
fn energy_aware_placement_comes_back_after_a_burst() {
    let workload = r#"{ "global" : { "duration" : 2 }, "tasks" : {
        "burst" : { "instance" : 8, "loop" : 1, "run" : 30000 },
        "light" : { "instance" : 4, "loop" : -1, "delay" : 200000, "run" : 300,
                    "timer" : { "ref" : "unique", "period" : 3000 } } } }"#;
    let energy = |aware| {
        let schedutil = Options { governor: "schedutil".parse().unwrap(), ..options(&[("energy_aware", aware)]) };
        run_with("hikey960", workload, &schedutil).energy_j.total
    };
    assert!(energy("true") < 0.9 * energy("false"), "{} {}", energy("true"), energy("false"));
}

/// The fair task comes after 20 s in which the real-time task had the CPU to itself. From then on it gets 50 ms of each
/// second, and nothing for the time before.
#[test]
fn a_real_time_task_does_not_pay_for_the_time_when_nobody_waited() {
    let report = run(
        "smp-8",
        r#"{ "global" : { "duration" : 40 }, "tasks" : {
            "rt" : { "loop" : -1, "cpus" : [0], "run" : 1000000, "policy" : "SCHED_FIFO", "priority" : 10 },
            "fair" : { "loop" : -1, "cpus" : [0], "delay" : 20000000, "run" : 1000000 } } }"#,
    );
    let fair = task(&report, "fair").cpu_time_s;
    assert!((0.95..=1.05).contains(&fair), "{fair} s of 20");
}

/// Two threads want 10 GB/s each of 10 from the 10th millisecond on, so a thread that waits for memory takes twice as
/// long from there: 10 ms for the first half of 20, 20 ms for the second.
#[test]
fn who_waits_for_memory_without_moving_much_is_slowed_too() {
    let report = run(
        "smp-8",
        r#"{ "tasks" : {
            "waits" : { "loop" : 1, "cpus" : [1], "run" : 20000, "tandem" : { "memory_bound" : 1 } },
            "moves" : { "loop" : 1, "cpus" : [2], "delay" : 10000, "run" : 50000,
                        "tandem" : { "memory_bound" : 1, "bytes_per_work" : 10000 } },
            "too" : { "loop" : 1, "cpus" : [3], "delay" : 10000, "run" : 50000,
                      "tandem" : { "memory_bound" : 1, "bytes_per_work" : 10000 } } } }"#,
    );
    assert_close(task(&report, "waits").cpu_time_s, 0.030);
}

/// 10 ms at 5 bytes/ns are 50 MB: 0.05 J at 1 nJ per byte. The core waits half of the time: 2 W + 8 W · 0.75 = 8 W.
#[test]
fn a_span_of_cpu_time_moves_its_bytes_and_waits_for_them() {
    let report = run(
        "smp-8",
        r#"{ "tasks" : { "t" : { "loop" : 1, "runtime" : 10000,
                                "tandem" : { "memory_bound" : 0.5, "bytes_per_work" : 5000 } } } }"#,
    );
    assert_close(report.time_s, 0.010);
    assert_close(report.energy_j.memory, 0.05);
    assert_close(report.energy_j.cores, 0.010 * (8.0 + 7.0 * 1.0));
}

/// Two threads of 4 MiB take turns on one CPU by sleeping. A thread that comes back finds its footprint gone: 4 MiB at
/// 10 GB/s are 419.43 µs, for each of the five switches to a thread that ran there before.
#[test]
fn a_footprint_is_lost_to_whoever_ran_meanwhile_also_over_a_sleep() {
    let report = run(
        "smp-8",
        r#"{ "tasks" : {
            "a" : { "loop" : 3, "cpus" : [0], "run" : 1000, "timer" : { "ref" : "unique", "period" : 10000 },
                    "tandem" : { "footprint" : "4MiB" } },
            "b" : { "loop" : 3, "cpus" : [0], "delay" : 5000, "run" : 1000,
                    "timer" : { "ref" : "unique", "period" : 10000 }, "tandem" : { "footprint" : "4MiB" } } } }"#,
    );
    let refill = (4u64 << 20) as f64 / 10e9;
    // Each thread comes back three times, the last time only to end.
    assert_close(task(&report, "a").cpu_time_s, 0.003 + 3.0 * refill);
    assert_close(task(&report, "b").cpu_time_s, 0.003 + 3.0 * refill);
}

/// Both threads have half of the 8 MiB from the 10th to the 15th millisecond and miss half; before and after, the
/// thread that runs misses nothing. 5 ms of half a byte per nanosecond, twice: 5 MB, 5 mJ.
#[test]
fn traffic_counts_with_the_share_of_the_cache_that_it_was_made_with() {
    let report = run(
        "smp-8",
        r#"{ "tasks" : {
            "long" : { "loop" : 1, "cpus" : [1], "run" : 20000,
                       "tandem" : { "bytes_per_work" : 1000, "footprint" : "8MiB" } },
            "short" : { "loop" : 1, "cpus" : [2], "delay" : 10000, "run" : 5000,
                        "tandem" : { "bytes_per_work" : 1000, "footprint" : "8MiB" } } } }"#,
    );
    assert_close(report.energy_j.memory, 0.005);
}

/// A file's requests that cannot be met are warnings.
#[test]
fn what_cannot_be_done_is_a_warning() {
    let report = run(
        "smp-8",
        r#"{ "tasks" : {
            "d" : { "loop" : 1, "policy" : "SCHED_DEADLINE", "dl-runtime" : 10000, "dl-period" : 10000, "cpus" : [1],
                    "run" : 1000 } } }"#,
    );
    let words = "d: a deadline thread must be allowed on all CPUs";
    assert!(report.warnings.iter().any(|warning| warning.contains(words)), "{:?}", report.warnings);
    assert!(run("smp-8", MIX).warnings.is_empty());
}
