// SPDX-License-Identifier: GPL-2.0-only
//! Tasks whose migration the kernel has disabled: no mechanism sends one to another CPU.

use serde_json::{Value, json};

use crate::variant::{Variant, ejection};

const SETTINGS: [&str; 10] = [
    "",
    "isolate=dedicated",
    "isolate=shared",
    "longest=true",
    "serial_first=true",
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

/// In this time a scheduler that does not look is ejected (`who_does_not_look_is_ejected`).
const TIME: &str = "1300ms";

#[track_caller]
fn assert_left_on_their_cpu(tandem: &Variant, machine: &str, settings: &str) {
    let report = tandem.report_after(TIME, &workload(), machine, settings);
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

    /// When a mechanism sends such a task elsewhere depends on every instruction: of these nine runs several end by it.
    #[test]
    fn who_does_not_look_is_ejected() {
        let blind = Variant::new("#include \"bpf/state/migration.bpf.h\"\n#define must_stay(p) false");
        let mut ejected = 0;
        for settings in ["all=true", "longest=true,serial_first=true", "longest=true,serial_first=true,sorted=true"] {
            for machine in ["rk3399", "sdm845", "hikey960"] {
                let report = blind.report_after(TIME, &workload(), machine, settings);
                let Some(said) = ejection(&report) else { continue };
                assert!(said.starts_with("SCX_DSQ_LOCAL[_ON] cannot move migration disabled "), "{said}");
                ejected += 1;
            }
        }
        assert!(ejected >= 2, "{ejected}");
    }

    #[test]
    fn every_mechanism_leaves_them_on_their_cpu() {
        let tandem = Variant::carried();
        for machine in MACHINES {
            for settings in SETTINGS {
                assert_left_on_their_cpu(&tandem, machine, settings);
            }
        }
    }
}
