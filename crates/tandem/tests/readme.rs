// SPDX-License-Identifier: GPL-2.0-only
//! What the README says of the command is what the command does.

use std::path::{Path, PathBuf};

use crate::command::{program, shown};

pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

pub fn readme() -> String {
    std::fs::read_to_string(repository().join("README.md")).unwrap()
}

#[test]
fn the_readme_counts_the_machines() {
    let machines = shown(&repository(), &["machine", "list"]).lines().count();
    assert_eq!(machines, 19, "the README says nineteen");
    assert!(readme().contains("Nineteen are bundled"));
}

/// What a pipe gets where COLUMNS is `columns`.
fn in_columns(columns: &str, arguments: &[&str]) -> String {
    let mut command = program();
    let output = command.args(arguments).env("COLUMNS", columns).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_pipe_has_as_many_columns_as_it_asks_for() {
    let run = ["simulate", "forkjoin", "-m", "hikey960", "--duration", "10ms", "--reproducible"];
    let widest = |text: &str| text.lines().map(|line| line.chars().count()).max();
    assert!(widest(&in_columns("40", &run)) <= Some(40), "{}", in_columns("40", &run));
    assert!((61..=100).contains(&widest(&in_columns("", &run)).unwrap()));
    assert_eq!(in_columns("nonsense", &run), in_columns("", &run));
}
