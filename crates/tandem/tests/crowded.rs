// SPDX-License-Identifier: GPL-2.0-only
//! Maps that are full, and no memory for a task: nothing fails, the task is scheduled without the mechanism, and it is counted.

use serde_json::{Value, json};

use crate::variant::{Variant, count, ejection};

const SETTINGS: [&str; 7] = [
    "isolate=dedicated",
    "isolate=shared",
    "longest=true",
    "serial_first=true",
    "sorted=true",
    "speed=true",
    "all=true",
];

/// Processes that make processes and threads, which come and go, so that room is found and lost again.
fn workload() -> Value {
    let child = json!({ "application": "make", "process": true, "memory_bound": 0.5, "bytes_per_work": 3000 });
    let thread = json!({ "application": "make" });
    json!({ "tasks": {
        "make": { "instance": 8, "loop": 20, "tandem": { "application": "make", "process": true }, "phases": {
            "job": { "run": 300, "fork": "cc", "fork1": "cc", "fork2": "as", "sleep": 200 },
            "done": { "tandem": { "join": true } }
        } },
        "cc": { "instance": 0, "loop": 1, "tandem": child, "phases": {
            "parse": { "loop": 3, "run": 1500, "sleep": 100 }, "pass": { "fork": "as", "fork1": "as", "run": 700 }
        } },
        "as": { "instance": 0, "loop": 4, "run": 900, "sleep": 50, "tandem": thread },
        "noise": { "instance": 4, "loop": -1, "run": 100, "sleep": 3000, "tandem": { "system": true } }
    } })
}

/// Runs it to its end under a variant, with each mechanism and all: `counted` is greater than zero where `counts` says so.
#[track_caller]
fn assert_goes_on(before: &str, counted: &str, counts: impl Fn(&str) -> bool) {
    let variant = Variant::new(before);
    for settings in SETTINGS {
        let report = variant.report(&workload(), "hikey960", settings);
        assert_eq!(ejection(&report), None, "{settings}");
        assert_eq!(report["time_limited"], false, "{settings}");
        assert_eq!(count(&report, counted) > 0, counts(settings), "{settings}: {}", count(&report, counted));
    }
}

#[test]
fn processes_beyond_those_that_are_watched_run_and_are_counted() {
    assert_goes_on("#define MAX_GROUPS 3", "base_ungrouped", |_| true);
}

#[test]
fn programs_beyond_those_whose_threads_are_compared_run_and_are_counted() {
    let longest = |settings: &str| settings == "longest=true" || settings == "all=true";
    assert_goes_on("#define MAX_ROSTERS 1", "longest_unlisted", longest);
}

#[test]
fn processes_beyond_those_that_are_remembered_still_belong_to_the_application() {
    assert_goes_on("#define MAX_APPLICATION_PROCESSES 2", "isolate_crowded", |_| true);
    let small = Variant::new("#define MAX_APPLICATION_PROCESSES 2");
    let [crowded, roomy] = [small, Variant::new("")].map(|variant| {
        let report = variant.report(&workload(), "hikey960", "isolate=dedicated");
        report["cpus"][0]["busy_s"].as_f64().unwrap()
    });
    // Only noise is on the OS CPU.
    assert!(crowded < 1.5 * roomy, "{crowded} s against {roomy} s");
}

#[test]
fn tasks_for_which_no_memory_is_left_run_and_are_counted() {
    let none = "#include \"bpf/include/scx.bpf.h\"\n\
        #define bpf_task_storage_get(map, p, value, flags) \\\n\
        ((flags) && (p)->pid % 2 ? (void *)0 : bpf_task_storage_get(map, p, value, flags))";
    assert_goes_on(none, "base_unknown", |_| true);
}
