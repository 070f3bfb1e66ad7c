// SPDX-License-Identifier: GPL-2.0-only
//! What `serial_first` does by its own decisions, and what by the letter of its paper: worked out by hand.

use std::path::Path;

use serde_json::{Value, json};

use crate::command::shown;

/// The report of these tasks on eight equal CPUs with `serial_first` and these settings besides.
fn run(settings: &str, tasks: &Value) -> Value {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("w.json"), json!({ "tasks": tasks }).to_string()).unwrap();
    let scheduler = format!("tandem,serial_first=true,{settings}+performance");
    let arguments = ["simulate", "w.json", "-m", "smp-8", "-s", &scheduler, "--quiet", "--json"];
    serde_json::from_str(&shown(Path::new(folder.path()), &arguments)).unwrap()
}

/// Seconds until an application had ended.
fn end(report: &Value, app: &str) -> f64 {
    let apps = report["apps"].as_array().unwrap();
    apps.iter().find(|other| other["name"] == app).unwrap()["time_s"].as_f64().unwrap()
}

/// Threads of an application that compute once.
fn threads(app: &str, instances: u32, run_ms: u32) -> Value {
    json!({ "instance": instances, "loop": 1, "run": run_ms * 1000, "tandem": { "application": app } })
}

/// Of the first application four threads are left after a while. By the letter it is the senior until its parallel phase ends,
/// so they keep a CPU each; else they share eight CPUs with eight threads of the other, as soon as they no longer fill these.
#[test]
fn seniority_lasts_until_the_phase_ends_by_the_papers_letter() {
    let mut second = threads("second", 8, 1_000);
    second["delay"] = json!(10_000);
    let tasks =
        json!({ "first-long": threads("first", 4, 1_000), "first-short": threads("first", 4, 100), "second": second });
    let end_of_first =
        |whole: bool| end(&run(&format!("seniority_ms=60000,seniority_whole_phase={whole}"), &tasks), "first");
    let (letter, ours) = (end_of_first(true), end_of_first(false));
    assert!((1.0..1.25).contains(&letter), "{letter} s");
    // 0.1 s alone, then eight CPUs for twelve threads.
    assert!((1.35..1.6).contains(&ours), "{ours} s");
}

/// A program of one thread beside one of eight that takes all CPUs: by the letter it comes first.
#[test]
fn a_program_that_was_never_parallel_comes_first_by_the_papers_letter() {
    let tasks = json!({ "lone": threads("lone", 1, 1_000), "wide": threads("wide", 8, 2_000) });
    let end_of_lone = |single: bool| end(&run(&format!("serial_single={single}"), &tasks), "lone");
    let (letter, ours) = (end_of_lone(true), end_of_lone(false));
    assert!((1.0..1.01).contains(&letter), "{letter} s");
    // Nine threads on eight CPUs.
    assert!((ours - 9.0 / 8.0).abs() < 0.03, "{ours} s");
}

/// Sixteen programs of one thread on eight CPUs beside one of eight threads: with the paper's own lack of a limit nothing is
/// left for the others; with the share they get half.
#[test]
fn the_share_of_serial_phases_is_a_limit_that_the_paper_lacks() {
    let mut tasks = json!({ "wide": threads("wide", 8, 500) });
    for number in 0..16 {
        tasks[format!("lone-{number}")] = threads(&format!("lone-{number}"), 1, 1_000);
    }
    let end_of_wide =
        |percent: u32| end(&run(&format!("serial_single=true,serial_share_pct={percent}"), &tasks), "wide");
    let (letter, ours) = (end_of_wide(100), end_of_wide(50));
    // Behind 16 s on eight CPUs; or half of the CPUs, but for the credit that serial phases have at the start.
    assert!(letter > 2.3 && (1.0..1.3).contains(&ours), "{letter} s and {ours} s");
}
