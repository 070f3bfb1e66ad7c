// SPDX-License-Identifier: GPL-2.0-only
//! Runs what fuzzing (`make fuzz`) runs: on its first inputs, on these damaged in simple ways, and on inputs that once
//! failed.

#[path = "../../../../fuzz/src/lib.rs"]
mod targets;

use std::path::{Path, PathBuf};

use tandem_bpf_vm::fault::FaultKind;
use targets::{TARGETS, Target, interpreter, tokens};

/// Damaged copies of all inputs of a target, about.
const COPIES: usize = 1000;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The files of a folder, in the order of their names.
fn files(folder: &Path) -> Vec<PathBuf> {
    let files = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
    files.sort();
    files
}

/// The first inputs of a target: those in `fuzz/seeds/TARGET`, and the project's own files that `fuzz/examples` lists.
fn seeds(target: &str) -> Vec<Vec<u8>> {
    let mut all = files(&root().join("fuzz/seeds").join(target));
    for line in std::fs::read_to_string(root().join("fuzz/examples")).unwrap().lines() {
        let words: Vec<&str> = line.split(' ').collect();
        if let [name, folder, ending] = words[..]
            && name == target
        {
            let examples = files(&root().join(folder)).into_iter();
            all.extend(examples.filter(|path| path.to_string_lossy().ends_with(ending)));
        }
    }
    assert!(!all.is_empty(), "{target} has no first input");
    all.iter().map(|file| std::fs::read(file).unwrap()).collect()
}

/// Calls with each seed, then with some that differ from it in one byte, end early, or have other words.
fn run(target: &Target) {
    let seeds = seeds(target.name);
    let copies = (COPIES / seeds.len() / 5).max(2);
    for seed in &seeds {
        (target.run)(seed);
        for at in (0..seed.len()).step_by((seed.len() / copies).max(1)) {
            let mut damaged = seed.clone();
            for flip in [0x01, 0x80, 0xff] {
                damaged[at] = seed[at] ^ flip;
                (target.run)(&damaged);
            }
            (target.run)(&seed[..at]);
            if let Some(text) = std::str::from_utf8(seed).ok().filter(|_| target.is_text) {
                (target.run)(tokens::mutated(text, at as u64).as_bytes());
            }
        }
    }
}

/// Runs the targets of these names.
fn run_all(names: &[&str]) {
    for name in names {
        let target = TARGETS.iter().find(|target| target.name == *name);
        run(target.unwrap_or_else(|| panic!("there is no target {name}")));
    }
}

#[test]
fn objects_do_no_harm() {
    run_all(&["object"]);
}

#[test]
fn types_do_no_harm() {
    run_all(&["btf"]);
}

#[test]
fn programs_do_no_harm() {
    run_all(&["interpreter"]);
}

#[test]
fn programs_do_the_same_in_both_engines() {
    run_all(&["engines"]);
}

#[test]
fn machines_and_workloads_do_no_harm() {
    run_all(&["machine", "workload", "scenario"]);
}

#[test]
fn papers_and_their_expressions_do_no_harm() {
    run_all(&["paper", "expression"]);
}

#[test]
fn what_pages_are_made_of_does_no_harm() {
    run_all(&["report_json", "report_trace"]);
}

#[test]
fn what_loaders_read_does_no_harm() {
    run_all(&["loader_file", "cpus", "tree", "process"]);
}

#[test]
fn what_a_session_hears_and_finds_does_no_harm() {
    run_all(&["control", "metrics_request", "journal", "status"]);
}

#[test]
fn every_target_is_run_by_one_of_these_tests_and_has_a_program() {
    let here = std::fs::read_to_string(root().join("crates/tandem/tests/long/fuzzing.rs")).unwrap();
    let manifest = std::fs::read_to_string(root().join("fuzz/Cargo.toml")).unwrap();
    for Target { name, .. } in TARGETS {
        let run = here.lines().any(|line| line.contains("run_all(&[") && line.contains(&format!("\"{name}\"")));
        assert!(run, "no test runs {name}");
        assert!(manifest.contains(&format!("name = \"{name}\"\npath = \"fuzz_targets/{name}.rs\"")), "{name}");
    }
}

#[test]
fn a_text_that_is_changed_by_its_words_fits_into_its_room() {
    let text = "tasks = 12, \"a.b\"\nnext line\n";
    let mut changed = 0;
    for seed in 0..1000 {
        let (mut data, mut fell_back) = ([0xff; 40], false);
        data[..text.len()].copy_from_slice(text.as_bytes());
        let size = tokens::mutate(&mut data, text.len(), 36, seed, |_, size, _| {
            fell_back = true;
            size
        });
        assert!(size <= 36 && data[36..] == [0xff; 4] && std::str::from_utf8(&data[..size]).is_ok(), "seed {seed}");
        changed += u32::from(!fell_back && data[..size] != *text.as_bytes());
    }
    assert!(changed > 250, "{changed} of 1000 texts were changed by words");
}

#[test]
fn an_odd_first_byte_makes_programs_that_decode() {
    let seeds = seeds("interpreter");
    assert!(seeds.iter().any(|seed| seed[0] % 2 == 1) && seeds.iter().any(|seed| seed[0] % 2 == 0));
    // No instruction is poisoned, except for calls of helpers that are not there.
    for choice in 0..=u8::MAX {
        for fields in [[0x21, 3, 0, 7, 0, 0, 0], [0xff; 7], [0x90, 0, 0x80, 0, 0, 0, 0x80]] {
            let mut bytes = vec![choice];
            bytes.extend(fields);
            let outcome = interpreter::execute(&[&[1], &bytes[..]].concat()).expect("it is a program");
            if let Err(fault) = outcome
                && let FaultKind::Poisoned(reason) = fault.kind()
            {
                // The address of a function that begins at the last instruction cuts off the one before.
                let known = ["unknown helper", "main runs over its end"].iter().any(|text| reason.starts_with(text));
                assert!(known, "choice {choice} with {fields:?}: {reason}");
            }
        }
    }
}
