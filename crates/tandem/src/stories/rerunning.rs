// SPDX-License-Identifier: GPL-2.0-only
//! Stories of reports that say what they were produced by, and of `tandem rerun`.

use std::fs;

use serde_json::Value;

use super::Story;
use crate::failure::Failure;

/// A story with the report of `command` in `report.json`.
fn story(command: &str) -> Story {
    let story = Story::new();
    story.tandem(&format!("{command} --json=@report.json")).unwrap();
    story
}

fn report(story: &Story) -> Value {
    serde_json::from_str(&fs::read_to_string(story.path("report.json")).unwrap()).unwrap()
}

const SIMULATE: &str = "simulate @two.json -m hikey960 -s tandem,sorted=true --set hz=1000 --seed 7 --reproducible";
const COMPARE: &str = "compare @two.json -m hikey960 -s fair -s fair+powersave --runs 3 --seed 5";

#[test]
fn a_report_says_what_it_was_produced_by_and_is_the_same_wherever_it_goes() {
    let story = story(&format!("{SIMULATE} --force"));
    let printed = story.tandem(&format!("{SIMULATE} --json")).unwrap();
    assert_eq!(fs::read_to_string(story.path("report.json")).unwrap(), printed);
    let produced = &report(&story)["produced_by"];
    assert_eq!((&produced["version"], &produced["seed"]), (&env!("CARGO_PKG_VERSION").into(), &7.into()));
    let command: Vec<&str> = produced["command"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    let folder = format!("{}/", story.folder.path().display());
    assert_eq!(command.join(" ").replace(&folder, "@"), format!("tandem {SIMULATE}"));
    assert_eq!(
        produced["settings"],
        serde_json::json!({ "disturbances": "true", "hz": "1000", "tandem.sorted": "true" })
    );
    let kinds: Vec<&str> = produced["inputs"].as_array().unwrap().iter().filter_map(|it| it["kind"].as_str()).collect();
    assert_eq!(kinds, ["machine", "workload", "object", "loader_file"]);
    assert_eq!(produced["assumed"][0]["machine"], "hikey960");
}

#[test]
fn a_report_comes_out_the_same() {
    for command in [SIMULATE, COMPARE, "simulate @one.json -m hikey960"] {
        let said = story(command).tandem("rerun @report.json").unwrap();
        let begin =
            if command.contains("one") { "The same, but for `wall_s`" } else { "The same to the byte: tandem " };
        assert!(said.starts_with(begin), "{said}");
    }
}

#[test]
fn a_report_that_was_edited_comes_out_different() {
    let story = story(COMPARE);
    let path = story.path("report.json");
    let text = fs::read_to_string(&path).unwrap();
    let edited = text.replacen("\"power_w\": 6.0", "\"power_w\": 5.0", 1);
    assert_ne!(text, edited);
    fs::write(&path, edited).unwrap();
    let (_, result) = story.run("rerun @report.json").unwrap();
    let Err(Failure::Differs(message)) = result else { panic!("{result:?}") };
    assert!(message.contains("/pairs/0/runs/0/power_w: 6.0 was 5.0"), "{message}");
}

#[test]
fn a_report_whose_workload_has_changed_is_refused() {
    let story = story(COMPARE);
    let path = story.path("two.json");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("1000", "1001")).unwrap();
    let message = story.tandem("rerun @report.json").unwrap_err();
    assert!(message.contains("the workload ") && message.contains("has changed: its SHA-256 was "), "{message}");
    fs::remove_file(&path).unwrap();
    let message = story.tandem("rerun @report.json").unwrap_err();
    assert!(message.contains("two.json cannot be read"), "{message}");
}

#[test]
fn what_is_no_report_is_refused() {
    let story = Story::new();
    fs::write(story.path("other.json"), "{ \"schema\": 1 }").unwrap();
    fs::write(story.path("text.json"), "hello").unwrap();
    for (file, expected) in [
        ("other.json", "does not say what it was produced by"),
        ("text.json", "is no JSON"),
        ("none.json", "cannot be read"),
    ] {
        let message = story.tandem(&format!("rerun @{file}")).unwrap_err();
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn a_report_makes_no_other_file_whatever_it_says() {
    let story = story(COMPARE);
    let (path, other) = (story.path("report.json"), story.path("other.json"));
    let mut said = report(&story);
    let command = said["produced_by"]["command"].as_array_mut().unwrap();
    command.extend(["--save".into(), other.to_str().unwrap().into()]);
    fs::write(&path, said.to_string()).unwrap();
    let _ = story.run("rerun @report.json").unwrap();
    assert!(!other.exists());
}
