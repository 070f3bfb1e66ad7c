// SPDX-License-Identifier: GPL-2.0-only
//! The job of docs/ci.md does what the page says.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

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

#[test]
fn the_script_of_the_page_passes_what_is_the_same_and_fails_what_is_worse() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["old", "new"] {
        fs::create_dir(folder.path().join(name)).unwrap();
        fs::copy(object_path("scx_simple"), folder.path().join(name).join("scx_simple.bpf.o")).unwrap();
    }
    let same = judged(folder.path(), &script());
    assert_eq!(same.status.code(), Some(0), "{}", String::from_utf8_lossy(&same.stderr));
    let text = String::from_utf8(same.stdout).unwrap();
    assert!(text.ends_with("\n8 not worse.\n"), "{text}");
    for (file, beginning) in [
        (
            "gate.xml",
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"tandem compare\" tests=\"8\" failures=\"0\"",
        ),
        ("gate.md", "<!-- tandem compare -->\n"),
        ("runs.csv", "machine,workload,scheduler,governor,seed,"),
        ("before.txt", "2 workloads on 2 machines, 1 pair: 3 runs per pair"),
    ] {
        let content = fs::read_to_string(folder.path().join(file)).unwrap();
        assert!(content.starts_with(beginning), "{file}: {content}");
    }
    // A limit that the same scheduler is beyond takes the place of a worse scheduler.
    let strict = script().replace("energy > 1.02", "energy > 0.5");
    let worse = judged(folder.path(), &strict);
    assert_eq!(worse.status.code(), Some(5), "{}", String::from_utf8_lossy(&worse.stderr));
    let error = String::from_utf8(worse.stderr).unwrap();
    assert_eq!(error, "error: worse than the baseline: 4 worse, 4 not worse\n");
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
