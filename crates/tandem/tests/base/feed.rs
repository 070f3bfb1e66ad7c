// SPDX-License-Identifier: GPL-2.0-only
//! `memory_turns`: no more threads at a time than the memory can feed.

use std::path::Path;

use serde_json::{Value, json};

use super::run::within;
use crate::command::shown;

/// Threads with so much work, in milliseconds of a CPU alone, that wait for memory for nine tenths of their time: two of them fill the
/// bus of a Core 2 Quad.
fn streams(instances: u32, work_ms: u32, nice: i32) -> Value {
    let memory = json!({ "memory_bound": 0.9, "bytes_per_work": 5000 });
    json!({ "instance": instances, "loop": work_ms / 100, "run": 100_000, "priority": nice, "tandem": memory })
}

fn computes(instances: u32, work_ms: u32) -> Value {
    json!({ "instance": instances, "loop": work_ms / 100, "run": 100_000 })
}

/// The report of these tasks on four equal CPUs with one bus, with turns at the memory or without.
fn run(tasks: &Value, seconds: i32, turns: bool) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let folder = Path::new(folder.path());
    let workload = json!({ "global": { "duration": seconds }, "tasks": tasks });
    std::fs::write(folder.join("w.json"), workload.to_string()).unwrap();
    let scheduler = format!("tandem,speed=true,memory_turns={turns}+schedutil");
    let arguments = ["simulate", "w.json", "-m", "core2-q6600", "-s", &scheduler, "--quiet", "--json"];
    let report: Value = serde_json::from_str(&shown(folder, &arguments)).unwrap();
    assert!(report["sched_ext"]["exit"].is_null(), "{}", report["sched_ext"]);
    report
}

fn time(report: &Value) -> f64 {
    report["time_s"].as_f64().unwrap()
}

fn energy(report: &Value) -> f64 {
    report["energy_j"]["total"].as_f64().unwrap()
}

fn held(report: &Value) -> u64 {
    report["sched_ext"]["statistics"]["speed_held"].as_u64().unwrap()
}

fn cpu_time(report: &Value, name: &str) -> Vec<f64> {
    let tasks = report["tasks"].as_array().unwrap().iter();
    let is = |task: &&Value| task["name"].as_str().unwrap().starts_with(name);
    tasks.filter(is).map(|task| task["cpu_time_s"].as_f64().unwrap()).collect()
}

/// Measured: 0.77 of the energy in 1.002 of the time; half of the CPUs idle, and each thread has a quarter of what the others leave.
#[test]
fn half_of_the_cpus_idle_where_two_threads_fill_the_memory() {
    let tasks = json!({ "stream": streams(4, 2500, 0) });
    let (all, turns) = (run(&tasks, -1, false), run(&tasks, -1, true));
    assert_eq!(held(&all), 0);
    assert!(held(&turns) > 100, "{}", held(&turns));
    assert!(energy(&turns) < 0.85 * energy(&all), "{} J, {} J", energy(&turns), energy(&all));
    assert!(time(&turns) < 1.02 * time(&all), "{} s, {} s", time(&turns), time(&all));
    let times = cpu_time(&turns, "stream");
    let mean = times.iter().sum::<f64>() / 4.0;
    for time in times {
        within(time / mean, 1.0, 0.1);
    }
}

/// Without a full memory there is nothing to save: one thread that waits beside three that compute, and four that compute.
#[test]
fn nobody_waits_where_the_memory_has_room() {
    for tasks in [
        json!({ "stream": streams(1, 1000, 0), "compute": computes(3, 1500) }),
        json!({ "compute": computes(4, 1500) }),
    ] {
        assert_eq!(held(&run(&tasks, -1, true)), 0, "{tasks}");
    }
}

/// Where others want the CPUs that would idle, nothing is saved either: after each attempt all run again, and the loss is small.
#[test]
fn it_costs_no_time_where_others_want_the_cpus() {
    let tasks = json!({ "stream": streams(4, 1000, 0), "compute": computes(8, 1000) });
    let (all, turns) = (run(&tasks, -1, false), run(&tasks, -1, true));
    assert!(time(&turns) < 1.02 * time(&all), "{} s, {} s", time(&turns), time(&all));
}

/// Nice 5 weighs 335, nice 0 1024, and so are their turns; in the first of the twelve seconds all four run.
#[test]
fn turns_go_by_weight() {
    let tasks = json!({ "light": streams(2, 60_000, 5), "heavy": streams(2, 60_000, 0) });
    let report = run(&tasks, 12, true);
    assert!(held(&report) > 100);
    let of = |name| cpu_time(&report, name).iter().sum::<f64>();
    let (light, heavy) = (of("light"), of("heavy"));
    within(100.0 * light / (light + heavy), 100.0 * 335.0 / 1359.0, 6.0);
}
