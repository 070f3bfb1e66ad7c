// SPDX-License-Identifier: GPL-2.0-only
//! The job of docs/ci.md does what the page says.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

use crate::command::{mistake, shown};
use crate::compiled::object_path;
use crate::readme::repository;

/// The script of the page, as it stands there.
fn script() -> String {
    let page = fs::read_to_string(repository().join("docs/ci.md")).unwrap();
    let (_, script) = page.split_once("```sh\n#!/bin/sh\n").unwrap();
    script.split_once("```").unwrap().0.to_owned()
}

/// Runs `script` in the folder, with this build's command.
fn judged(folder: &Path, script: &str) -> Output {
    fs::write(folder.join("energy-gate"), script).unwrap();
    let command = Path::new(env!("CARGO_BIN_EXE_tandem")).parent().unwrap();
    let path = format!("{}:{}", command.display(), std::env::var("PATH").unwrap());
    let words = ["energy-gate", "old/scx_simple.bpf.o", "new/scx_simple.bpf.o"];
    Command::new("sh").args(words).current_dir(folder).env("PATH", path).output().unwrap()
}

/// A folder with the object of scx_simple in `old` and, with each of its slices so many times as long, in `new`.
fn objects(longer: u32) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let object = fs::read(object_path("scx_simple")).unwrap();
    // SCX_SLICE_DFL as the immediate of instructions.
    let (slice, other) = (20_000_000u32.to_le_bytes(), (20_000_000 * longer).to_le_bytes());
    let mut changed = object.clone();
    let places: Vec<usize> = (0..object.len() - 4).filter(|at| object[*at..*at + 4] == slice).collect();
    assert!(!places.is_empty(), "scx_simple has no slice of its own");
    places.iter().for_each(|at| changed[*at..*at + 4].copy_from_slice(&other));
    for (name, bytes) in [("old", object), ("new", changed)] {
        fs::create_dir(folder.path().join(name)).unwrap();
        fs::write(folder.path().join(name).join("scx_simple.bpf.o"), bytes).unwrap();
    }
    folder
}

#[test]
fn the_script_of_the_page_passes_what_is_the_same() {
    let folder = objects(1);
    let same = judged(folder.path(), &script());
    assert_eq!(same.status.code(), Some(0), "{}", String::from_utf8_lossy(&same.stderr));
    let text = String::from_utf8(same.stdout).unwrap();
    assert!(text.ends_with("\n12 not worse.\n"), "{text}");
    for (file, beginning) in [
        (
            "gate.xml",
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"tandem compare\" tests=\"12\" failures=\"0\"",
        ),
        ("gate.md", "<!-- tandem compare -->\n"),
        ("runs.csv", "machine,workload,scheduler,governor,seed,"),
    ] {
        let content = fs::read_to_string(folder.path().join(file)).unwrap();
        assert!(content.starts_with(beginning), "{file}: {content}");
    }
}

#[test]
fn the_script_of_the_page_fails_a_scheduler_whose_slices_are_four_times_as_long() {
    let worse = judged(objects(4).path(), &script());
    let (text, error) = (String::from_utf8(worse.stdout).unwrap(), String::from_utf8(worse.stderr).unwrap());
    assert_eq!(worse.status.code(), Some(5), "{error}{text}");
    assert!(error.starts_with("error: worse than the first pair: "), "{error}");
}

#[test]
fn a_kept_baseline_is_that_of_its_sources_only() {
    let folder = tempfile::tempdir().unwrap();
    let run = ["compare", "periodic", "-m", "smp-8", "-s", "fair", "--runs", "2", "--duration", "5ms", "--no-alone"];
    shown(folder.path(), &[&run[..], &["--save", "base.json"]].concat());
    let judge = ["--baseline", "base.json", "--fail-if", "power > 1"];
    shown(folder.path(), &[&run[..], &judge].concat());
    let path = folder.path().join("base.json");
    let baseline = fs::read_to_string(&path).unwrap();
    fs::write(&path, baseline.replacen("\"model\": \"", "\"model\": \"x", 1)).unwrap();
    let error = mistake(folder.path(), &[&run[..], &judge].concat());
    assert!(error.contains("the simulator has changed: the baseline is of build x"), "{error}");
    fs::write(&path, baseline.replacen("\"version\": \"", "\"version\": \"9.", 1)).unwrap();
    let error = mistake(folder.path(), &[&run[..], &judge].concat());
    assert!(error.contains("the baseline is of version 9."), "{error}");
}
