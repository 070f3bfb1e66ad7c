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

/// Whether a counter counts with these settings.
type Counts = fn(&str) -> bool;

/// Runs it to its end under a variant, with each mechanism and all: `counted` is greater than zero where its function says so.
#[track_caller]
fn assert_goes_on(variant: &Variant, counted: &[(&str, Counts)]) {
    for settings in SETTINGS {
        let report = variant.report(&workload(), "hikey960", settings);
        assert_eq!(ejection(&report), None, "{settings}");
        assert_eq!(report["time_limited"], false, "{settings}");
        for (name, counts) in counted {
            assert_eq!(count(&report, name) > 0, counts(settings), "{settings}: {name} {}", count(&report, name));
        }
    }
}

/// Three maps that are made small, and what is counted once each is full: processes that are watched, programs whose threads are
/// compared, processes that are remembered.
const SMALL: [(&str, &str, Counts); 3] = [
    ("#define MAX_GROUPS 3", "base_ungrouped", |_| true),
    ("#define MAX_ROSTERS 1", "longest_unlisted", |settings| settings == "longest=true" || settings == "all=true"),
    ("#define MAX_APPLICATION_PROCESSES 2", "isolate_crowded", |_| true),
];

#[test]
#[ignore = "compiles three objects: `make soak`; the test above fills all maps at once"]
fn what_finds_no_room_in_one_map_alone_runs_and_is_counted() {
    for (size, counted, counts) in SMALL {
        assert_goes_on(&Variant::new(size), &[(counted, counts)]);
    }
}

mod long {
    use super::*;

    /// All three at once, as compiling takes longer than all that is run.
    #[test]
    fn what_finds_no_room_runs_is_counted_and_still_belongs_to_the_application() {
        let small = Variant::new(&SMALL.map(|(size, ..)| size).join("\n"));
        assert_goes_on(&small, &SMALL.map(|(_, counted, counts)| (counted, counts)));
        let [crowded, roomy] = [small, Variant::carried()].map(|variant| {
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
        assert_goes_on(&Variant::new(none), &[("base_unknown", |_| true)]);
    }
}
