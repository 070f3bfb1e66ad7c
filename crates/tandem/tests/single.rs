// SPDX-License-Identifier: GPL-2.0-only
//! One queue for all CPUs (`schedulers/single.bpf.c`): shares and waits by virtual time, weights and slices, worked out by hand.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::command::shown;
use crate::schedulers::Opened;
use crate::simulated;

/// The report of these tasks after so many seconds on eight equal CPUs, where decisions take no time.
fn run(seconds: u32, scheduler: &str, tasks: &Value) -> Value {
    static OPENED: Opened = Opened::new();
    let workload = simulated::workload(&workload(seconds, tasks));
    let scheduler = format!("{scheduler}+performance");
    simulated::report(&OPENED, &workload, "smp-8", &scheduler, 0, &["--set", "bpf_insn_ps=0"])
}

fn workload(seconds: u32, tasks: &Value) -> String {
    json!({ "global": { "duration": seconds }, "tasks": tasks }).to_string()
}

/// The threads of a task: what the report says of each.
fn threads<'r>(report: &'r Value, task: &str) -> Vec<&'r Value> {
    let is = |name: &str| name.strip_prefix(task).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'));
    let all = report["tasks"].as_array().unwrap().iter();
    let found: Vec<_> = all.filter(|thread| is(thread["name"].as_str().unwrap())).collect();
    assert!(!found.is_empty(), "no thread {task}: {report}");
    found
}

/// Asserts that each thread of a task has so much CPU time, in seconds.
#[track_caller]
fn assert_time(report: &Value, task: &str, expected: f64, slack: f64) {
    for thread in threads(report, task) {
        let time = thread["cpu_time_s"].as_f64().unwrap();
        assert!((time - expected).abs() <= slack, "{}: {time} s, not {expected} ± {slack}", thread["name"]);
    }
}

/// A slice ends with the first tick after it, each 4 ms: 20 ms take 20, 5 ms take 8.
#[test]
fn equals_take_turns_of_a_slice() {
    for (scheduler, turns) in [("single", 10_000 / 20), ("single,slice_us=5000", 10_000 / 8)] {
        let report = run(10, scheduler, &json!({ "hog": { "instance": 2, "loop": -1, "run": 100_000, "cpus": [0] } }));
        assert_time(&report, "hog", 5.0, 0.02);
        let switches = report["switches"].as_u64().unwrap();
        assert!(switches.abs_diff(turns) <= 2, "{scheduler}: {switches} switches, not {turns}");
    }
}

/// To a scheduler nice 0 weighs 100, and nice 5, which is 335 of the kernel's 1024, weighs 33.
#[test]
fn many_share_a_cpu_by_weight() {
    let hogs = |nice: i32| json!({ "instance": 4, "loop": -1, "run": 100_000, "cpus": [0], "priority": nice });
    let report = run(30, "single", &json!({ "plain": hogs(0), "nice": hogs(5) }));
    assert_time(&report, "plain", 30.0 / 4.0 * 100.0 / 133.0, 0.03);
    assert_time(&report, "nice", 30.0 / 4.0 * 33.0 / 133.0, 0.03);
}

/// A thread whose slice is over is in the queue only once the CPU has taken the next one: two take turns whatever they weigh.
#[test]
fn of_two_neither_follows_itself() {
    let hog = |nice: i32| json!({ "loop": -1, "run": 100_000, "cpus": [0], "priority": nice });
    let report = run(10, "single", &json!({ "plain": hog(0), "nice": hog(5) }));
    assert_time(&report, "plain", 5.0, 0.02);
    assert_time(&report, "nice", 5.0, 0.02);
}

/// After five seconds of sleep a thread has a third of the other five and what one slice buys. With all that it did not use it would
/// take every second turn.
#[test]
fn who_sleeps_saves_up_a_slice_and_no_more() {
    let phases = json!({ "asleep": { "loop": 1, "sleep": 5_000_000 }, "awake": { "loop": -1, "run": 100_000 } });
    let report = run(
        10,
        "single",
        &json!({
            "hog": { "instance": 2, "loop": -1, "run": 100_000, "cpus": [0] },
            "late": { "loop": 1, "phases": phases, "cpus": [0] },
        }),
    );
    assert_time(&report, "late", 5.0 / 3.0, 0.025);
}

/// At the least weight, 1, a slice costs a hundred. It is taken for ten: two others have ten turns each until the next one, which is
/// one of 21. By weight it would be one of 201.
#[test]
fn the_idle_policy_waits_for_ten_slices_and_no_longer() {
    let report = run(
        20,
        "single",
        &json!({
            "hog": { "instance": 2, "loop": -1, "run": 100_000, "cpus": [0] },
            "spare": { "policy": "SCHED_IDLE", "loop": -1, "run": 100_000, "cpus": [0] },
        }),
    );
    assert_time(&report, "spare", 20.0 / 21.0, 0.021);
}

/// Nine on eight CPUs: each of them has eight ninths of one.
#[test]
fn all_cpus_take_from_one_queue() {
    let report = run(10, "single", &json!({ "hog": { "instance": 9, "loop": -1, "run": 100_000 } }));
    assert_time(&report, "hog", 80.0 / 9.0, 0.02);
}

#[test]
fn who_wakes_takes_an_idle_cpu_at_once() {
    let report = run(
        5,
        "single",
        &json!({
            "hog": { "instance": 7, "loop": -1, "run": 100_000 },
            "light": { "loop": -1, "run": 1_000, "sleep": 9_000 },
        }),
    );
    assert_eq!(threads(&report, "light")[0]["wakeup_latency_ns"]["max"], 0);
}

/// The slices of a thread that goes on alone are of `slice_us`, too: 5 ms take 8, and so long who wakes may have to wait. The
/// kernel's own slices, of 20 ms, would let it wait for that long.
#[test]
fn who_runs_alone_has_no_longer_slices() {
    let report = run(
        10,
        "single,slice_us=5000",
        &json!({
            "hog": { "loop": -1, "run": 1_000_000, "cpus": [0] },
            "light": { "loop": -1, "run": 1_000, "timer": { "ref": "t", "period": 103_000 }, "cpus": [0] },
        }),
    );
    let longest = threads(&report, "light")[0]["wakeup_latency_ns"]["max"].as_u64().unwrap();
    assert!((7_000_000..=8_000_000).contains(&longest), "{longest} ns");
}

/// A thread runs alone for 17 ms, and sleeps with a part of a slice left, of which it is charged the rest: after a second of sleep beside
/// two that compute it is the next one. Of a slice of 20 ms it would have more left than the 5 ms that count as one, and be charged for
/// less than nothing, which is nearly all that an integer holds.
#[test]
fn who_ran_alone_is_charged_for_a_part_of_its_last_slice() {
    let early = json!({
        "alone": { "loop": 1, "sleep": 100_000, "run": 17_000, "sleep2": 1_000_000 },
        "beside": { "loop": -1, "run": 100_000 },
    });
    let late = json!({ "asleep": { "loop": 1, "sleep": 1_000_000 }, "awake": { "loop": -1, "run": 100_000 } });
    let report = run(
        2,
        "single,slice_us=5000",
        &json!({
            "early": { "loop": 1, "phases": early, "cpus": [0] },
            "late": { "instance": 2, "loop": 1, "phases": late, "cpus": [0] },
        }),
    );
    let longest = threads(&report, "early")[0]["wakeup_latency_ns"]["max"].as_u64().unwrap();
    assert!(longest <= 8_000_000, "{longest} ns");
}

/// Each callback costs time: those that have nothing to do are not there.
#[test]
fn it_has_these_callbacks_and_no_others() {
    let report = run(1, "single", &json!({ "light": { "loop": -1, "run": 1_000, "sleep": 9_000 } }));
    let called: Vec<&String> = report["sched_ext"]["callbacks"].as_object().unwrap().keys().collect();
    assert_eq!(called, ["dispatch", "enable", "exit", "init", "running", "select_cpu", "stopping"]);
    let shown = shown(Path::new("."), &["scheduler", "show", "single"]);
    let callbacks = "select_cpu, enqueue, dispatch, running, stopping, core_sched_before, enable, cpu_online, cpu_offline, init, exit";
    assert!(shown.contains(callbacks), "{shown}");
}

#[test]
fn it_stays_as_a_cpu_goes_and_comes() {
    let folder = tempfile::tempdir().unwrap();
    let hogs = json!({ "hog": { "instance": 9, "loop": -1, "run": 100_000 } });
    fs::write(folder.path().join("hogs.json"), workload(10, &hogs)).unwrap();
    let run = ["simulate", "hogs.json", "-m", "smp-8", "-s", "single+performance", "--quiet", "--json"];
    let changes = ["--hotplug", "2s:3=off", "--hotplug", "6s:3=on"];
    let report: Value = serde_json::from_str(&shown(folder.path(), &[&run[..], &changes].concat())).unwrap();
    assert_eq!((&report["sched_ext"]["exit"], &report["sched_ext"]["restarts"]), (&Value::Null, &json!([])));
    // Eight CPUs for ten seconds, but one for four of them.
    let time: f64 = threads(&report, "hog").iter().map(|thread| thread["cpu_time_s"].as_f64().unwrap()).sum();
    assert!((time - 76.0).abs() <= 0.01, "{time} s");
}
