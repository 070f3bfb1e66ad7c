// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs what fuzzing (`make fuzz`) runs: on its first inputs, on these damaged in simple ways, and on inputs that once
//! failed.

#[path = "../fuzz/src/btf.rs"]
mod btf;
#[path = "../fuzz/src/interpreter.rs"]
mod interpreter;
#[path = "../fuzz/src/kernel.rs"]
mod kernel;
#[path = "../fuzz/src/object.rs"]
mod object;

use std::path::Path;

use tandem_bpf_vm::fault::FaultKind;

/// The inputs in `fuzz/seeds/TARGET`, by name.
fn seeds(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/seeds").join(target);
    let files = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty(), "{} is empty", folder.display());
    files.iter().map(|file| std::fs::read(file).unwrap()).collect()
}

/// Calls with each seed, then with some that differ from it in one byte or end early.
fn run(target: &str, body: fn(&[u8])) {
    for seed in seeds(target) {
        body(&seed);
        for at in (0..seed.len()).step_by((seed.len() / 97).max(1)) {
            let mut damaged = seed.clone();
            for flip in [0x01, 0x80, 0xff] {
                damaged[at] = seed[at] ^ flip;
                body(&damaged);
            }
            body(&seed[..at]);
        }
    }
}

#[test]
fn objects_do_no_harm() {
    run("object", object::run);
}

#[test]
fn types_do_no_harm() {
    run("btf", btf::run);
}

#[test]
fn programs_do_no_harm() {
    run("interpreter", interpreter::run);
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
