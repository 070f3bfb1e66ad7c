// SPDX-License-Identifier: GPL-2.0-only
//! What the page runs is what the command runs.

use std::fs;

use serde_json::json;

use super::*;
use crate::command::shown;

/// A workload that is done at once.
const SHORT: &str = r#"{ "tasks": { "a": { "instance": 2, "loop": 20, "run": 1000, "sleep": 1000 } } }"#;
/// A workload that goes on for three weeks, simulated: none of it ends by itself while anybody waits.
const LONG: &str = r#"{ "tasks": { "a": { "instance": 8, "loop": 2000000000, "run": 900, "sleep": 100 } } }"#;

fn words(command: &str) -> Vec<&str> {
    command.split(' ').skip(1).collect()
}

#[test]
fn a_run_is_the_commands_to_the_byte() {
    let page = Page::open();
    let request = json!({
        "machine": { "name": "hikey960" }, "workload": { "name": "mine", "text": SHORT },
        "schedulers": ["fair+schedutil"], "seed": 7,
    });
    let job = page.run(&request);
    assert_eq!(state(&job), "done", "{job}");
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("mine.json"), SHORT).unwrap();
    let command = job["command"].as_str().unwrap();
    assert_eq!(
        command,
        "tandem simulate ./mine.json --machine=hikey960 --scheduler=fair+schedutil --seed=7 --reproducible --json"
    );
    let printed = shown(folder.path(), &words(command));
    assert!(printed.into_bytes() == page.get("jobs/0/report.json").body);
    let saved = page.get("jobs/0/report.json/save");
    assert!(saved.head.contains("attachment; filename=\"tandem-1.json\""), "{}", saved.head);
}

#[test]
fn a_comparison_grows_and_is_the_commands_to_the_byte() {
    let page = Page::open();
    let machine = page.get("text/machine/hikey960").text();
    let request = json!({
        "machine": { "name": "own", "text": machine }, "workload": { "name": "mine", "text": SHORT },
        "schedulers": ["fair", "tandem+schedutil"], "runs": 3, "settings": "hz=1000", "quiet": true,
    });
    let job = page.run(&request);
    assert_eq!((state(&job), &job["done"], &job["results"]), ("done", &3.into(), &3.into()), "{job}");
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("mine.json"), SHORT).unwrap();
    fs::write(folder.path().join("own.toml"), machine).unwrap();
    let printed = shown(folder.path(), &words(job["command"].as_str().unwrap()));
    assert!(printed.into_bytes() == page.get("jobs/0/report.json").body);
}

#[test]
fn what_the_command_finds_wrong_is_shown() {
    let page = Page::open();
    let request = |scheduler: &str, text: &str| {
        json!({
            "machine": { "name": "hikey960" }, "workload": { "name": "mine", "text": text }, "schedulers": [scheduler],
        })
    };
    let job = page.run(&request("fiar", SHORT));
    assert_eq!(state(&job), "failed");
    assert!(job["said"].as_str().unwrap().contains("`fair`"), "{job}");
    let job = page.run(&request("fair", "{\n  \"tasks\": { \"a\": { \"run\": \"soon\" } }\n}"));
    assert!(job["said"].as_str().unwrap().contains("mine.json:2:28:"), "{job}");
    assert_eq!(page.get("jobs/1/report.json").status, 404);
    // An option's value is no option.
    let job = page.run(&request("--help", SHORT));
    assert_eq!(state(&job), "failed", "{job}");
}

#[test]
fn a_run_that_is_cancelled_ends_at_once_and_the_next_one_begins() {
    let page = Page::open();
    let request = json!({
        "machine": { "name": "hikey960" }, "workload": { "name": "long", "text": LONG }, "schedulers": ["fair"],
    });
    for id in 0..2 {
        assert_eq!(page.post("jobs", &request.to_string()).json()["id"], id);
    }
    page.wait(0, |job| state(job) == "running" && job["seconds"].as_f64().unwrap() > 0.0);
    assert_eq!(state(&page.wait(1, |_| true)), "waiting");
    assert_eq!(page.post("jobs/0/cancel", "{}").json()["cancelled"], true);
    page.wait(1, |job| state(job) == "running");
    assert_eq!(state(&page.wait(0, |_| true)), "cancelled");
    assert_eq!(page.post("jobs/0/cancel", "{}").json()["cancelled"], false);
    for _ in 0..12 {
        page.post("jobs", &request.to_string());
    }
    assert_eq!(page.post("jobs", &request.to_string()).status, 429);
}

#[test]
fn how_far_runs_are_is_told_while_they_go_on() {
    let page = Page::open();
    let request = |name: &str, text: &str, runs: u32| {
        let schedulers = if runs > 1 { vec!["fair", "tandem"] } else { vec!["fair"] };
        let workload = json!({ "name": name, "text": text });
        json!({ "machine": { "name": "hikey960" }, "workload": workload, "schedulers": schedulers, "runs": runs })
            .to_string()
    };
    page.post("jobs", &request("long", LONG, 1));
    let told = |job: &serde_json::Value| job["progress"]["words"].as_str().unwrap_or_default().to_owned();
    let words = told(&page.wait(0, |job| !told(job).is_empty()));
    assert!(words.starts_with("long: ") && words.contains(" simulated"), "{words}");
    page.post("jobs/0/cancel", "{}");
    page.post("jobs", &request("short", SHORT, 1000));
    let job = page.wait(1, |job| job["progress"]["runs"]["left_s"].is_number());
    assert_eq!(job["progress"]["runs"]["of"], 2000, "{job}");
    page.post("jobs/1/cancel", "{}");
}

#[test]
fn ctrl_c_ends_the_page_its_runs_and_leaves_nothing() {
    let mut page = Page::open();
    let request = json!({
        "machine": { "name": "hikey960" }, "workload": { "name": "long", "text": LONG }, "schedulers": ["fair"],
    });
    page.post("jobs", &request.to_string());
    page.wait(0, |job| state(job) == "running");
    assert_eq!(page.files().len(), 1);
    let pid = page.process.id();
    let children = || {
        let all = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
        let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
        let of = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok()).collect::<String>();
        format!("{all} {of}").split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    let running = eventually(|| Some(children()).filter(|children| !children.is_empty()).ok_or("nothing runs"));
    let killed = std::process::Command::new("kill").args(["-INT", &pid.to_string()]).status().unwrap();
    assert!(killed.success());
    let status = eventually(|| page.process.try_wait().unwrap().ok_or("it goes on"));
    assert!(status.success(), "{status}");
    assert!(page.files().is_empty(), "{:?}", page.files());
    for child in running {
        assert!(!std::path::Path::new(&format!("/proc/{child}")).exists(), "{child} goes on");
    }
}

#[test]
fn a_port_that_another_has_is_an_error() {
    let page = Page::open();
    let output = program().args(["ui", "--port", &page.port.to_string()]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains(&format!("127.0.0.1:{}", page.port)) && said.contains("in use"), "{said}");
}
