// SPDX-License-Identifier: GPL-2.0-only
//! A comparison is not won by ignoring what a workload asks for: a limit, a weight, a nice value.

use std::fs;

use crate::command::{shown, tandem};
use crate::compiled::object_path;
use crate::variant::Variant;

/// Two groups of hogs, of which one may have a fifth of a CPU.
const LIMITED: &str = r#"{
    "global": { "duration": 1 },
    "tasks": {
        "free": { "instance": 2, "loop": -1, "run": 1000 },
        "held": { "instance": 2, "loop": -1, "run": 1000, "taskgroup": "/held" }
    },
    "tandem": { "cgroups": { "/held": { "max": 20000, "period": 100000 } } }
}"#;
/// A group that weighs four times as much as another, and a nice thread.
const WEIGHED: &str = r#"{
    "global": { "duration": 1 },
    "tasks": {
        "heavy": { "instance": 8, "loop": -1, "run": 1000, "taskgroup": "/heavy" },
        "light": { "instance": 8, "loop": -1, "run": 1000, "taskgroup": "/light", "priority": 10 }
    },
    "tandem": { "cgroups": { "/heavy": { "weight": 400 }, "/light": { "weight": 100 } } }
}"#;

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("limited.json"), LIMITED).unwrap();
    fs::write(folder.path().join("weighed.json"), WEIGHED).unwrap();
    for name in ["scx_simple", "selftests/minimal"] {
        let file = name.rsplit('/').next().unwrap();
        fs::copy(object_path(name), folder.path().join(format!("{file}.bpf.o"))).unwrap();
    }
    folder
}

#[test]
fn who_ignores_a_limit_does_more_and_wins_nothing() {
    let folder = folder();
    let run = ["compare", "limited.json", "-m", "smp-8", "--runs", "2", "--no-alone", "--quiet", "-s", "fair"];
    let text = shown(folder.path(), &[&run[..], &["-s", "./scx_simple.bpf.o", "-s", "tandem"]].concat());
    let simple = text.lines().find(|line| line.starts_with("scx_simple.bpf.o+schedutil ~")).expect(&text);
    assert_eq!(simple.matches(" ~ ").count() + usize::from(simple.ends_with(" ~")), 1 + simple.matches('×').count());
    let said = "~ scx_simple.bpf.o+schedutil ignored cpu.max (group /held used 2.00 CPUs of 0.2";
    assert!(text.contains(said), "{text}");
    assert!(!text.lines().any(|line| line.starts_with("scx_simple.bpf.o+schedutil did")), "{text}");
    // Tandem holds the limit, and is compared.
    assert!(!text.contains("tandem+schedutil ~"), "{text}");
    assert!(
        text.contains("Between tandem+schedutil and fair+schedutil") || text.contains("than tandem+schedutil"),
        "{text}"
    );
    let gate =
        ["-s", "./scx_simple.bpf.o", "--fail-if", "energy > 1.02", "--fail-if", "throughput < 0.98", "--decide", "4"];
    let judged = tandem(folder.path(), &[&run[..], &gate].concat());
    let (text, error) = (String::from_utf8_lossy(&judged.stdout), String::from_utf8_lossy(&judged.stderr));
    assert_eq!(judged.status.code(), Some(6), "{error}{text}");
    assert_eq!(text.matches("ignores cpu.max").count(), 2, "{text}");
    // More runs would not tell, so that there are none.
    assert!(text.contains(": 2 runs per pair"), "{text}");
}

#[test]
fn weights_and_nice_values_are_heeded_by_those_who_look_at_them() {
    let folder = folder();
    let ignored = |scheduler: &str| {
        let json =
            shown(folder.path(), &["simulate", "weighed.json", "-m", "smp-8", "-s", scheduler, "--quiet", "--json"]);
        let report: serde_json::Value = serde_json::from_str(&json).unwrap();
        let ignored = report["sched_ext"]["ignored"].as_array().cloned().unwrap_or_default();
        ignored.iter().map(|it| it["what"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(ignored("tandem"), [""; 0]);
    assert_eq!(ignored("./scx_simple.bpf.o"), ["cpu.weight"], "it shares time by p->scx.weight");
    assert_eq!(ignored("./minimal.bpf.o"), ["cpu.weight", "nice"]);
    let text = shown(folder.path(), &["simulate", "weighed.json", "-m", "smp-8", "-s", "./minimal.bpf.o", "--quiet"]);
    assert!(text.contains("It ignored cpu.weight: the scheduler has no ops.cgroup_set_weight."), "{text}");
}

/// How often a group had to wait is known of schedulers that say which of their threads do.
#[test]
fn a_scheduler_that_does_not_say_what_waits_is_not_said_to_have_held_nothing() {
    let folder = folder();
    let groups = |scheduler: &str| {
        let run = ["simulate", "limited.json", "-m", "smp-8", "-s", scheduler, "--quiet", "--json"];
        let report: serde_json::Value = serde_json::from_str(&shown(folder.path(), &run)).unwrap();
        let group = &report["groups"][0];
        (group["periods"].as_u64().unwrap(), group["throttled_periods"].as_u64(), group["throttled_s"].as_f64())
    };
    let (periods, throttled, time) = groups("tandem");
    assert!((10..=12).contains(&periods) && throttled.unwrap() + 1 >= periods && time.unwrap() > 1.0);
    let (periods, throttled, time) = groups("./scx_simple.bpf.o");
    assert!((10..=12).contains(&periods) && throttled.is_none() && time.is_none());
    let text =
        shown(folder.path(), &["simulate", "limited.json", "-m", "smp-8", "-s", "./scx_simple.bpf.o", "--quiet"]);
    assert!(text.contains("the scheduler does not say when it waits for them"), "{text}");
}

/// A setting of the scheduler that reads no limits while it is off.
const HEEDS: &str = r#"
#include "bpf/include/scx.bpf.h"
const volatile bool heeds __attribute__((btf_decl_tag("needs tick cgroup_init cgroup_exit cgroup_move"))) = true;
"#;

#[test]
fn a_search_finds_no_gain_in_ignoring_a_limit() {
    let (folder, variant) = (folder(), Variant::new(HEEDS));
    let scheduler = variant.object().to_str().unwrap();
    let search = ["tune", "limited.json", "-m", "smp-8", "-s", scheduler, "--parameter", "heeds", "--minimise", "time"];
    let text =
        shown(folder.path(), &[&search[..], &["--trials", "3", "--runs", "1", "--confirm", "2", "--quiet"]].concat());
    assert!(text.contains("Nothing better was found"), "{text}");
    assert!(text.contains("the scheduler ignores cpu.max, which the workload asks for"), "{text}");
}
