// SPDX-License-Identifier: GPL-2.0-only
//! `tandem why`.

use std::ffi::OsString;

use clap::Parser;
use serde_json::Value;
use tandem_experiments::Linux;

use super::Story;
use crate::cli::Cli;
use crate::context::Context;
use crate::files::Files;
use crate::produced::without_outputs;

/// Two threads that may use CPU 0 only.
const PINNED: &str = r#"{
    "tasks": {
        "left": { "cpus": [0], "loop": 1, "run": 20000 },
        "right": { "cpus": [0], "loop": 1, "run": 20000 }
    },
    "global": { "duration": 1 }
}"#;

/// What `tandem why …` prints of [`PINNED`] on the machine smp-8, on 90 columns.
fn why(arguments: &str) -> Result<String, String> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pinned.json");
    std::fs::write(&file, PINNED).unwrap();
    let words = ["tandem", "why", file.to_str().unwrap(), "-m", "smp-8", "-g", "performance"];
    let words: Vec<OsString> = words.into_iter().chain(arguments.split_whitespace()).map(OsString::from).collect();
    let cli = Cli::try_parse_from(&words).unwrap();
    let mut out = Vec::new();
    let mut context = Context {
        simulator: &Linux,
        out: &mut out,
        width: Some(90),
        progress: false,
        files: Files::default(),
        interrupt: Default::default(),
        store: None,
        command: without_outputs(&words),
    };
    cli.run(&mut context).map_err(|failure| failure.to_string())?;
    Ok(String::from_utf8(out).unwrap())
}

#[test]
fn a_person_reads_who_waited_for_whom_and_what_helps() {
    insta::assert_snapshot!(why("--worst 1").unwrap());
}

#[test]
fn a_program_reads_the_same_as_json() {
    let json: Value = serde_json::from_str(&why("--worst 2 --json --seed 3").unwrap()).unwrap();
    assert_eq!((&json["schema"], &json["seed"], &json["machine"]), (&1.into(), &3.into(), &"smp-8".into()));
    let waits = json["waits"].as_array().unwrap();
    assert_eq!(waits.len(), 2);
    for wait in waits {
        assert_eq!(wait["cause"], "affinity", "{wait}");
        assert_eq!(wait["remedy"], "widen the thread's affinity");
        assert_eq!(wait["earlier"], Value::Null);
        assert_eq!(wait["ran_instead"][0]["class"], "fair");
    }
}

#[test]
fn only_the_waits_of_one_task() {
    let json: Value = serde_json::from_str(&why("--task right --worst 100 --json").unwrap()).unwrap();
    let waits = json["waits"].as_array().unwrap();
    assert!(!waits.is_empty() && waits.iter().all(|wait| wait["task"] == "right"));
}

#[test]
fn an_unknown_task_is_refused_with_the_nearest_name() {
    let refused = why("--task rigth").unwrap_err();
    assert!(refused.contains("has no task `rigth`") && refused.contains("`right`"), "{refused}");
    assert!(Story::new().tandem("why @two.json -m hikey960 --worst 0").unwrap_err().contains("--worst"));
}
