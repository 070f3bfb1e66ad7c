// SPDX-License-Identifier: GPL-2.0-only
//! Tasks whose migration the kernel has disabled: no mechanism sends one to another CPU.

use serde_json::{Value, json};

use crate::variant::{Variant, ejection};

const SETTINGS: [&str; 13] = [
    "",
    "isolate=dedicated",
    "isolate=shared",
    "longest=true",
    "serial_first=true",
    "base=single,isolate=dedicated",
    "base=single,longest=true",
    "base=single,serial_first=true",
    "isolate=shared,longest=true,serial_first=true,speed=true",
    "sorted=true",
    "speed=true",
    "longest=true,serial_first=true,sorted=true",
    "all=true",
];
const MACHINES: [&str; 3] = ["smp-8", "hikey960", "sdm845"];

/// Threads that disable migration again and again, of two applications and of the system, beside some that never do.
fn workload() -> Value {
    let waits = json!({ "migration_disabled": true, "memory_bound": 0.6, "bytes_per_work": 3000 });
    json!({ "tasks": {
        "held": { "instance": 6, "loop": -1, "tandem": { "application": "a" }, "phases": {
            "free": { "loop": 3, "run": 3000 },
            "held": { "loop": 20, "run": 2500, "sleep": 100, "tandem": waits }
        } },
        "hog": { "instance": 6, "loop": -1, "run": 7000, "sleep": 300, "tandem": { "application": "b" } },
        "noise": { "instance": 2, "loop": -1, "run": 300, "sleep": 2000,
            "tandem": { "system": true, "migration_disabled": true } }
    } })
}

/// In this time a scheduler that does not look (the next test) is ejected: after 50 ms at most, but for `longest` on the base of
/// several queues, after 4.9 s.
const TIME: &str = "500ms";
const TIME_OF_LONGEST: &str = "6s";

#[track_caller]
fn assert_left_on_their_cpu(tandem: &Variant, time: &str, machine: &str, settings: &str) {
    let report = tandem.report_after(time, &workload(), machine, settings);
    assert_eq!(ejection(&report), None, "{settings} on {machine}");
    for task in report["tasks"].as_array().unwrap() {
        assert!(task["cpu_time_s"].as_f64().unwrap() > 0.0, "{settings} on {machine}: {task}");
    }
}

/// On the dedicated OS CPU only noise is looked for, and on the others only applications: a task that must stay on the wrong side
/// has its turn all the same.
#[test]
fn what_must_stay_on_the_wrong_side_of_isolation_does_not_starve() {
    let workload = json!({ "global": { "duration": 3 }, "tasks": {
        "held": { "instance": 8, "loop": -1, "run": 4000, "sleep": 10,
            "tandem": { "application": "a", "migration_disabled": true } },
        "hog": { "instance": 8, "loop": -1, "run": 7000, "tandem": { "application": "a" } },
        "noise": { "instance": 8, "loop": -1, "run": 4000, "sleep": 10,
            "tandem": { "system": true, "migration_disabled": true } }
    } });
    let report = Variant::carried().report(&workload, "smp-8", "isolate=dedicated");
    assert_eq!(ejection(&report), None);
    for task in report["tasks"].as_array().unwrap() {
        assert!(task["cpu_time_s"].as_f64().unwrap() > 0.05, "{task}");
    }
}

mod long {
    use super::*;

    #[test]
    fn who_does_not_look_is_ejected() {
        let blind = Variant::new("#include \"bpf/base/migration.bpf.h\"\n#define must_stay(p) false");
        for (time, machine, settings) in [
            (TIME_OF_LONGEST, "hikey960", "longest=true"),
            (TIME, "hikey960", "base=single,longest=true"),
            (TIME, "hikey960", "base=single,serial_first=true"),
            // On the base of several queues these do not send what runs to another CPU in this workload.
            (TIME, "hikey960", "base=single,all=true"),
            (TIME, "smp-8", "base=single,all=true"),
        ] {
            let report = blind.report_after(time, &workload(), machine, settings);
            let said = ejection(&report).unwrap_or_else(|| panic!("{settings} on {machine}"));
            assert!(said.starts_with("SCX_DSQ_LOCAL[_ON] cannot move migration disabled "), "{said}");
        }
    }

    #[test]
    fn every_mechanism_leaves_them_on_their_cpu() {
        let tandem = Variant::carried();
        for machine in MACHINES {
            for settings in SETTINGS {
                assert_left_on_their_cpu(&tandem, TIME, machine, settings);
            }
        }
        assert_left_on_their_cpu(&tandem, TIME_OF_LONGEST, "hikey960", "longest=true");
    }
}
