// SPDX-License-Identifier: GPL-2.0-only
//! The O(1) scheduler that the command carries (`schedulers/o1.bpf.c`): what Linux 2.6.18 would do, worked out by hand.

use std::io::Write;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::command::program;

/// The report of these tasks after so many seconds on eight equal CPUs, where decisions take no time.
fn run(seconds: u32, tasks: &Value) -> Value {
    run_on("smp-8", "o1+performance", seconds, tasks)
}

fn run_on(machine: &str, scheduler: &str, seconds: u32, tasks: &Value) -> Value {
    let mut command = program();
    command.args(["simulate", "-", "-m", machine, "-s", scheduler, "--set", "bpf_insn_ps=0", "--quiet", "--json"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let workload = json!({ "global": { "duration": seconds }, "tasks": tasks });
    child.stdin.take().unwrap().write_all(workload.to_string().as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    serde_json::from_slice(&output.stdout).unwrap()
}

/// CPU time in seconds by name.
fn times(report: &Value) -> Vec<(String, f64)> {
    let tasks = report["tasks"].as_array().unwrap();
    tasks.iter().map(|task| (task["name"].as_str().unwrap().to_owned(), task["cpu_time_s"].as_f64().unwrap())).collect()
}

fn time(report: &Value, name: &str) -> f64 {
    times(report).iter().find(|(other, _)| other == name).unwrap().1
}

#[test]
fn equals_take_turns_of_a_hundred_milliseconds() {
    let report = run(10, &json!({ "hog": { "instance": 2, "loop": -1, "run": 100_000, "cpus": [0] } }));
    for (name, time) in times(&report) {
        assert!((time - 5.0).abs() <= 0.1, "{name}: {time} s");
    }
    assert!((100..=102).contains(&report["switches"].as_u64().unwrap()), "{}", report["switches"]);
}

/// `task_timeslice()`: 100 ms at nice 0, 50 ms at nice 10, 600 ms at nice -10.
#[test]
fn slices_are_as_long_as_nice_values_say() {
    for (nice, share) in [(10, 50.0 / 150.0), (-10, 600.0 / 700.0)] {
        let hog = |nice: i32| json!({ "loop": -1, "run": 100_000, "cpus": [0], "priority": nice });
        let report = run(60, &json!({ "plain": hog(0), "nice": hog(nice) }));
        let time = time(&report, "nice") / 60.0;
        assert!((time - share).abs() <= 0.02, "nice {nice}: {time}, not {share}");
    }
}

/// Asleep for 95 % of the time, it has the best priority soon, and then never waits for one that computes.
#[test]
fn who_sleeps_much_runs_at_once() {
    let report = run(
        20,
        &json!({
            "hog": { "loop": -1, "run": 100_000, "cpus": [0] },
            "sleeper": { "loop": -1, "run": 1_000, "sleep": 19_000, "cpus": [0] },
        }),
    );
    let sleeper = report["tasks"].as_array().unwrap().iter().find(|task| task["name"] == "sleeper").unwrap();
    assert_eq!(sleeper["wakeup_latency_ns"]["p99"], 0);
    assert!((time(&report, "sleeper") - 1.0).abs() <= 0.05, "{}", time(&report, "sleeper"));
}

/// Nine on eight CPUs: two share one for good, as a difference of one is left alone. A fair scheduler would move the ninth.
#[test]
fn a_difference_of_one_is_left_alone() {
    let report = run(10, &json!({ "hog": { "instance": 9, "loop": -1, "run": 100_000 } }));
    let mut halves = times(&report).into_iter().map(|(_, time)| time).collect::<Vec<_>>();
    halves.sort_by(f64::total_cmp);
    assert!(halves[..2].iter().all(|time| (time - 5.0).abs() <= 0.1), "{halves:?}");
    assert!(halves[2..].iter().all(|time| (time - 10.0).abs() <= 0.1), "{halves:?}");
}

/// Two on each CPU, although all began on one.
#[test]
fn a_difference_of_two_is_not() {
    let report = run(10, &json!({ "hog": { "instance": 16, "loop": -1, "run": 100_000 } }));
    for (name, time) in times(&report) {
        assert!((time - 5.0).abs() <= 0.1, "{name}: {time} s");
    }
}

/// A CPU that has nothing to do takes what waits elsewhere at its next tick: four tasks of two seconds are done in little more
/// than two on eight CPUs.
#[test]
fn idle_cpus_take_what_waits() {
    let report = run(10, &json!({ "once": { "instance": 4, "loop": 1, "run": 2_000_000 } }));
    let time = report["time_s"].as_f64().unwrap();
    assert!((2.0..=2.02).contains(&time), "{time} s");
}

/// Whom a barrier lets go runs where it was: eight threads that meet each ten milliseconds keep their CPUs.
#[test]
fn who_wakes_up_stays() {
    let report = run(10, &json!({ "met": { "instance": 8, "loop": 500, "run": 10_000, "barrier": "all" } }));
    let time = report["time_s"].as_f64().unwrap();
    assert!((5.0..=5.1).contains(&time), "{time} s");
    let moved =
        report["tasks"].as_array().unwrap().iter().map(|task| task["migrations"].as_u64().unwrap()).sum::<u64>();
    assert!(moved <= 16, "{moved}");
}

/// The machine of the paper on thread essence: CPU 0 twice as fast as the other seven.
const UNEQUAL: &str = "proliant-dl580:asymmetric";

/// Threads that compute for ever and begin on CPU 3, a slow one.
fn hogs(instances: u32) -> Value {
    let phases = json!({
        "begin": { "loop": 1, "run": 1_000, "cpus": [3] },
        "free": { "loop": -1, "run": 100_000, "cpus": [0, 1, 2, 3, 4, 5, 6, 7] },
    });
    json!({ "instance": instances, "loop": 1, "phases": phases })
}

/// Seconds of work of each thread called `hog`.
fn works(report: &Value) -> Vec<f64> {
    let tasks = report["tasks"].as_array().unwrap().iter();
    let hogs = tasks.filter(|task| task["name"].as_str().unwrap().starts_with("hog"));
    hogs.map(|task| task["work_s"].as_f64().unwrap()).collect()
}

/// Nine on eight CPUs: a kernel that knows of speeds lets two share the fast one, so that all nine get as much done. To one
/// that does not, two on a slow CPU are as good.
#[test]
fn a_kernel_that_was_told_of_speeds_gives_a_fast_cpu_more_tasks() {
    let works = |scheduler| works(&run_on(UNEQUAL, scheduler, 10, &json!({ "hog": hogs(9) })));
    let told = works("o1,cpu_power=true+performance");
    assert!(told.iter().all(|work| (work - 5.0).abs() <= 0.3), "{told:?}");
    let blind = works("o1+performance");
    assert!(blind.iter().filter(|work| **work <= 2.7).count() == 2, "{blind:?}");
    assert!(blind.iter().filter(|work| **work >= 9.0).count() == 1, "{blind:?}");
}

/// What the paper on thread essence says of its baseline: a thread alone on a slow CPU stays when the fast one gets idle.
#[test]
fn a_lone_thread_stays_on_a_slow_cpu() {
    let tasks = json!({ "short": { "loop": 1, "run": 1_000_000, "cpus": [0] }, "hog": hogs(1) });
    let works = works(&run_on(UNEQUAL, "o1,cpu_power=true+performance", 10, &tasks));
    assert!((works[0] - 5.0).abs() <= 0.05, "{works:?}");
}
