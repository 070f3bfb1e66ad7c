// SPDX-License-Identifier: GPL-2.0-only
//! `sorted` over the base: memory-bound threads beside others, and shares as the base has them.

use std::path::Path;

use serde_json::{Value, json};

use super::run::within;
use crate::command::shown;
use crate::equal;

/// Threads that compute for ever, of `more` beside.
fn computes(instances: u32, more: &Value) -> Value {
    let mut task = json!({ "instance": instances, "loop": -1, "run": 100_000 });
    task.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    task
}

/// The same of threads that wait for memory most of the time.
fn waits(instances: u32, more: &Value) -> Value {
    let mut task = computes(instances, &json!({ "tandem": { "memory_bound": 0.8, "bytes_per_work": 10_000 } }));
    task.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    task
}

/// The report of a run of `seconds` with these settings; on `machine`, or on two equal CPUs.
fn run(machine: Option<&str>, seconds: u32, tasks: &Value, settings: &str) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let folder = Path::new(folder.path());
    let groups = json!({ "/heavy": { "weight": 300 }, "/light": { "weight": 100 } });
    let workload = json!({ "global": { "duration": seconds }, "tandem": { "cgroups": groups }, "tasks": tasks });
    std::fs::write(folder.join("w.json"), workload.to_string()).unwrap();
    std::fs::write(folder.join("two.toml"), equal::description(2)).unwrap();
    let scheduler = format!("tandem,mode=none{settings}+performance");
    let machine = machine.unwrap_or("./two.toml");
    let arguments = ["simulate", "w.json", "-m", machine, "-s", &scheduler, "--quiet", "--json"];
    let report: Value = serde_json::from_str(&shown(folder, &arguments)).unwrap();
    assert!(report["sched_ext"]["exit"].is_null(), "{}", report["sched_ext"]);
    report
}

/// What the threads of a name have of a member, each.
fn of(report: &Value, name: &str, member: &str) -> Vec<f64> {
    let tasks = report["tasks"].as_array().unwrap().iter();
    let is = |task: &&Value| task["name"].as_str().unwrap().split('-').next() == Some(name);
    tasks.filter(is).map(|task| task[member].as_f64().unwrap()).collect()
}

/// The CPU time of the threads of a name, in seconds.
fn time(report: &Value, name: &str) -> f64 {
    of(report, name, "cpu_time_s").iter().sum()
}

fn counted(report: &Value, name: &str) -> u64 {
    report["sched_ext"]["statistics"][name].as_u64().unwrap()
}

/// Four of each kind on four CPUs. Two that wait get two of the bus's shares beside two that compute, and one of four beside each other.
/// Measured: a third more work than without sorting.
#[test]
fn memory_bound_threads_meet_others() {
    let tasks = json!({ "waits": waits(4, &json!({})), "computes": computes(4, &json!({})) });
    let work = |settings: &str| {
        let report = run(Some("core2-q6600"), 4, &tasks, settings);
        (["waits", "computes"].map(|name| of(&report, name, "work_s").iter().sum::<f64>()), report)
    };
    let ([sorted, computed], report) = work(",sorted=true");
    let ([base, _], _) = work("");
    assert!(sorted > 1.1 * base, "{sorted}, {base}");
    within(computed, 8.0, 0.1);
    assert!(counted(&report, "sorted_mixed") > 2 * counted(&report, "sorted_alike"), "{}", report["sched_ext"]);
}

/// Weights of 3121, 1024 and 335 for nice -5, 0 and 5: the epochs of two CPUs alone would not share by them. A task may be four slices of
/// its virtual time from the others', whatever the length of the run.
#[test]
fn nice_values_have_their_shares() {
    let tasks = json!({
        "waits": waits(4, &json!({})),
        "heavy": computes(2, &json!({ "priority": -5 })),
        "light": computes(2, &json!({ "priority": 5 })),
    });
    let report = run(None, 16, &tasks, ",sorted=true");
    assert!(counted(&report, "sorted_turns") > 100);
    for (name, weight) in [("waits", 4096.0), ("heavy", 6242.0), ("light", 670.0)] {
        within(100.0 * time(&report, name) / 32.0, 100.0 * weight / 11_008.0, 1.2);
    }
}

/// Groups of 300 and 100, of four threads each.
#[test]
fn groups_share_by_weight() {
    let tasks = json!({
        "heavy": waits(4, &json!({ "taskgroup": "/heavy" })), "light": waits(4, &json!({ "taskgroup": "/light" })),
    });
    let report = run(None, 8, &tasks, ",sorted=true");
    assert!(counted(&report, "sorted_turns") > 100);
    within(100.0 * time(&report, "light") / 16.0, 25.0, 1.0);
}

/// Five threads for two CPUs, which go around.
#[test]
fn threads_that_do_not_divide_evenly_have_the_same_time() {
    let tasks = json!({ "waits": waits(3, &json!({})), "computes": computes(2, &json!({})) });
    let report = run(None, 8, &tasks, ",sorted=true");
    for time in ["waits", "computes"].iter().flat_map(|name| of(&report, name, "cpu_time_s")) {
        within(time, 16.0 / 5.0, 0.1);
    }
}

/// Seven threads for four CPUs in slices of 100 ms: queues of two, and a CPU with one, which takes a thread of these in its turn.
/// Measured: 0.2 s between the most and the least; until queues that differ by one went around, 1.0 s.
#[test]
fn a_queue_that_is_longer_by_one_goes_around() {
    let tasks = json!({ "waits": waits(4, &json!({})), "computes": computes(3, &json!({})) });
    let report = run(Some("core2-q6600"), 8, &tasks, ",sorted=true,sorted_slice_us=100000");
    for time in ["waits", "computes"].iter().flat_map(|name| of(&report, name, "cpu_time_s")) {
        within(time, 32.0 / 7.0, 0.2);
    }
}

/// Two threads that each could fill the memory, two that take more than their share, too, and four that take less: by their rates the
/// first two meet the last four. Measured: 576 ticks beside the other half and 238 beside the same; while a share was the most that
/// counted, 382 and 433.
#[test]
fn threads_that_take_all_of_their_shares_are_sorted_by_rate() {
    let memory = |bound: f64, mbps: u32| json!({ "tandem": { "memory_bound": bound, "bytes_per_work": mbps } });
    let tasks = json!({
        "heavy": computes(2, &memory(0.8, 10_000)),
        "middle": computes(2, &memory(0.8, 3_000)),
        "light": computes(4, &memory(0.3, 1_000)),
    });
    let report = run(Some("core2-q6600"), 6, &tasks, ",sorted=true");
    assert!(2 * counted(&report, "sorted_mixed") > 3 * counted(&report, "sorted_alike"), "{}", report["sched_ext"]);
}

/// A pinned thread has its quarter of two CPUs, and the idle class next to nothing.
#[test]
fn pinned_threads_and_the_idle_class_go_the_bases_way() {
    let tasks = json!({ "waits": waits(3, &json!({})), "pinned": computes(1, &json!({ "cpus": [1] })) });
    within(time(&run(None, 8, &tasks, ",sorted=true"), "pinned"), 4.0, 0.1);
    let tasks = json!({ "waits": waits(4, &json!({})), "idle": computes(2, &json!({ "policy": "SCHED_IDLE" })) });
    let idle = time(&run(None, 8, &tasks, ",sorted=true"), "idle");
    assert!(idle < 0.08, "{idle} s");
}

/// Where nothing uses the memory there are no turns, and the same is done.
#[test]
fn without_use_of_memory_it_sorts_nothing() {
    let tasks = json!({ "hog": computes(5, &json!({})) });
    let report = run(None, 2, &tasks, ",sorted=true");
    assert_eq!(
        (counted(&report, "sorted_turns"), &report["sched_ext"]["states"]["sorted_state"]),
        (0, &json!("active"))
    );
    for time in of(&report, "hog", "cpu_time_s") {
        within(time, 0.8, 0.04);
    }
}

/// Three programs that could each fill the machine, with threads of the lowest weight and noise, under all five mechanisms: nobody waits
/// for the kernel's thirty seconds.
#[test]
fn all_mechanisms_together_starve_nobody() {
    let mut tasks = serde_json::Map::new();
    for program in ["a", "b", "c"] {
        let memory = json!({ "tandem": {
            "application": program, "process": true, "memory_bound": 0.8, "bytes_per_work": 10_000,
        } });
        let alone = json!({ "tandem": { "application": program, "process": true }, "priority": 19 });
        tasks.insert(format!("waits{program}"), waits(6, &memory));
        tasks.insert(format!("light{program}"), computes(2, &alone));
    }
    tasks.insert(
        "noise".into(),
        json!({ "instance": 2, "loop": -1, "run": 500, "sleep": 9500, "tandem": { "system": true } }),
    );
    let tasks = Value::Object(tasks);
    for machine in [None, Some("hikey960")] {
        let report = run(machine, 40, &tasks, ",all=true");
        assert!(counted(&report, "sorted_turns") > 100, "{}", report["sched_ext"]);
        for time in ["waitsa", "waitsb", "waitsc"].iter().flat_map(|name| of(&report, name, "cpu_time_s")) {
            assert!(time > 0.5, "{time}");
        }
    }
}
