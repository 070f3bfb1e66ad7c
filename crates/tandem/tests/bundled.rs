// SPDX-License-Identifier: GPL-2.0-only
//! The scheduler that the command carries, and what objects say of their settings.

use std::fs;
use std::path::Path;

use crate::command::{mistake, shown};
use crate::compiled::object_path;
use serde_json::Value;

const RUN: [&str; 6] = ["simulate", "periodic", "-m", "hikey960", "--duration", "50ms"];

fn run<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    RUN.iter().copied().chain(arguments.iter().copied()).collect()
}

/// A folder with the test scheduler `chooser` and the file beside it.
fn chooser() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::copy(object_path("chooser"), folder.path().join("chooser.bpf.o")).unwrap();
    let beside = include_str!("../../simulator/tests/bpf/chooser.toml");
    fs::write(folder.path().join("chooser.toml"), beside).unwrap();
    folder
}

#[test]
fn tandem_is_a_scheduler_without_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let json = shown(folder.path(), &run(&["-s", "tandem,seniority_ms=300", "--json"]));
    let report: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(report["scheduler"], "tandem,seniority_ms=300");
    assert_eq!(report["governor"], "schedutil");
    assert_eq!(report["sched_ext"]["name"], "tandem");
    assert_eq!(report["sched_ext"]["exit"], Value::Null);
    assert!(report["sched_ext"]["statistics"]["base_idle"].as_u64().unwrap() > 0, "{json}");
    assert_eq!(report["sched_ext"]["states"]["sorted_state"], "off");
}

#[test]
fn what_tandem_can_be_set_to_is_listed_and_checked() {
    let folder = tempfile::tempdir().unwrap();
    let text = shown(folder.path(), &["scheduler", "show", "tandem,isolate=Shared"]);
    let line =
        |name: &str| text.lines().find(|line| line.trim_start().starts_with(name)).unwrap_or_default().to_owned();
    assert!(line("seniority_ms").contains("500 ms (u32, 1 to 60000). How long one parallel application"), "{text}");
    assert!(line("isolate").contains("shared, by default off (off, dedicated or shared). Keep"), "{text}");
    for (setting, expected) in [
        ("seniority_ms=0", "tandem: seniority_ms must be 1 to 60000 ms, not 0"),
        ("isolate=share", "is not one of off, dedicated, shared; did you mean shared?"),
        ("isolate=3", "\"3\" is not one of off, dedicated, shared"),
        ("sortet=true", "there is no setting sortet; did you mean sorted? The settings are all, "),
        ("nr_cpus=2", "there is no setting nr_cpus; the settings are all, "),
        ("sorted=2", "sorted is const volatile bool: 2 is not between 0 and 1"),
    ] {
        let text = mistake(folder.path(), &run(&["-s", &format!("tandem,{setting}")]));
        assert!(text.contains(expected), "{setting}: {text}");
        assert!(text.contains("`tandem scheduler show tandem` lists"), "{setting}: {text}");
    }
}

#[test]
fn one_set_takes_several_settings() {
    let folder = chooser();
    let json = shown(folder.path(), &run(&["-s", "./chooser.bpf.o", "--set", "mode=very_brisk,hz=1000", "--json"]));
    let report: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(report["sched_ext"]["states"]["mode_now"], "very_brisk");
    let text = mistake(folder.path(), &run(&["-s", "./chooser.bpf.o", "--set", "moda=calm"]));
    assert!(text.contains("did you mean the setting `mode` of chooser.bpf.o?"), "{text}");
    assert!(text.contains("settings of ./chooser.bpf.o: mode, slice_us, refuse_silently, error_after"), "{text}");
    let text = mistake(folder.path(), &run(&["-s", "./chooser.bpf.o", "--set", "mode=calm,hz=7"]));
    assert!(text.contains("`7` is no value of `hz`"), "{text}");
}

#[test]
fn settings_that_contradict_each_other_end_a_comparison_before_it_begins() {
    let folder = chooser();
    let refused = "chooser.bpf.o,mode=off,slice_us=700: slice_us=700 means nothing with mode=off";
    let second = ["-s", "fair", "-s", "./chooser.bpf.o,mode=off,slice_us=700"];
    // Runs of this length would take hours.
    let command = ["compare", "periodic", "-m", "hikey960", "--duration", "100h", "--no-alone"];
    let text = mistake(folder.path(), &[&command[..], &second].concat());
    assert!(text.contains(refused), "{text}");
    let text = mistake(folder.path(), &run(&second[2..]));
    assert!(text.contains(refused), "{text}");
}

#[test]
fn two_values_of_one_setting_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let both = "isolate=dedicated,isolate=shared";
    let behind = format!("tandem,{both}");
    for arguments in [&["-s", behind.as_str()][..], &["-s", "tandem", "--set", both]] {
        let text = mistake(folder.path(), &run(arguments));
        assert!(text.contains("isolate cannot be both dedicated and shared"), "{text}");
    }
}

#[test]
fn an_exported_object_runs_as_the_one_in_the_command() {
    let folder = tempfile::tempdir().unwrap();
    shown(folder.path(), &["scheduler", "export", "tandem", "-o", "t.bpf.o"]);
    assert!(folder.path().join("t.toml").exists());
    let report = |scheduler: &str| {
        let json = shown(folder.path(), &run(&["-s", scheduler, "--set", "sorted=true", "--json", "--reproducible"]));
        let mut report: Value = serde_json::from_str(&json).unwrap();
        report["scheduler"] = Value::Null;
        let produced = report["produced_by"].take();
        let inputs = produced["inputs"].as_array().unwrap().iter();
        let digests: Vec<Value> = inputs.map(|input| input["sha256"].clone()).collect();
        (report, digests)
    };
    assert_eq!(report("./t.bpf.o"), report("tandem"));
    let text = mistake(folder.path(), &["scheduler", "export", "tandem", "-o", "t.toml"]);
    assert!(text.contains("the name of an object ends in .bpf.o"), "{text}");
    let text = mistake(folder.path(), &["scheduler", "export", "fair"]);
    assert!(text.contains("possible values: tandem"), "{text}");
}

#[test]
fn the_object_names_no_folder_of_the_computer_that_built_it() {
    let folder = tempfile::tempdir().unwrap();
    shown(folder.path(), &["scheduler", "export", "tandem"]);
    let bytes = fs::read(folder.path().join("tandem.bpf.o")).unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_str().unwrap().as_bytes();
    assert!(root.len() > 1 && !bytes.windows(root.len()).any(|window| window == root));
}
