// SPDX-License-Identifier: MIT OR Apache-2.0
//! Two applications on eight equal CPUs: what each keeps of its speed when both run (Morad, Kolodny and Weiser,
//! "Task Scheduling Based On Thread Essence and Resource Limitations", table 2, n = 8, all cores alike).

use super::support::{assert_near, run, spinning};

const SEEDS: [u64; 4] = [1, 2, 3, 4];
const SECONDS: u64 = 60;
/// Most by which a speedup may differ from the table.
const TOLERANCE: f64 = 0.03;

/// Mean over the seeds of an application's work per time beside the other, relative to alone.
fn speedups(a: u32, b: u32) -> (f64, f64) {
    let performance = |threads: [u32; 2], seed| {
        let tasks = [("a", threads[0]), ("b", threads[1])].map(|(name, count)| spinning(name, count, ""));
        let tasks: Vec<String> =
            tasks.into_iter().zip(threads).filter(|(_, count)| *count > 0).map(|(task, _)| task).collect();
        let report = run("smp-8", &tasks, seed, SECONDS);
        report.apps.iter().map(|app| (app.name.clone(), app.performance)).collect::<Vec<_>>()
    };
    let mut sums = (0.0, 0.0);
    for seed in SEEDS {
        let mix = performance([a, b], seed);
        let alone = (performance([a, 0], seed), performance([0, b], seed));
        sums.0 += mix[0].1 / alone.0[0].1;
        sums.1 += mix[1].1 / alone.1[0].1;
    }
    (sums.0 / SEEDS.len() as f64, sums.1 / SEEDS.len() as f64)
}

#[test]
fn two_serial_applications_do_not_meet() {
    let (a, b) = speedups(1, 1);
    assert_near(a, 1.0, TOLERANCE);
    assert_near(b, 1.0, TOLERANCE);
}

#[test]
fn a_serial_and_a_parallel_application_share_nine_to_eight() {
    let (serial, parallel) = speedups(1, 8);
    assert_near(serial, 8.0 / 9.0, TOLERANCE);
    assert_near(parallel, 8.0 / 9.0, TOLERANCE);
}

#[test]
fn two_parallel_applications_halve_the_machine() {
    let (a, b) = speedups(8, 8);
    assert_near(a, 0.5, TOLERANCE);
    assert_near(b, 0.5, TOLERANCE);
}

/// No CPU has room for the ninth thread, so it moves all the time: a CPU pulls it after three attempts in vain (each
/// failure halves what a task must be worth). Then the CPU that it left has one thread fewer, and its new CPU one more.
#[test]
fn nine_threads_take_turns_on_eight_cpus() {
    let report = run("smp-8", &[spinning("a", 9, "")], 1, SECONDS);
    for task in &report.tasks {
        assert_near(task.cpu_time_s, SECONDS as f64 * 8.0 / 9.0, TOLERANCE);
    }
    // At most one attempt of the eight CPUs every 124 ms succeeds, and of each CPU's attempts at least every fourth.
    let per_second = report.migrations as f64 / SECONDS as f64;
    assert!((2.0..=16.0).contains(&per_second), "{per_second} migrations per second");
}
