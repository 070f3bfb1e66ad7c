// SPDX-License-Identifier: GPL-2.0-only
//! The worked example of docs/experiments.md, as a reader would try it.

use std::fs;

use crate::command::{program, shown};

/// The guide's first block in the language `name`.
fn block(name: &str) -> String {
    let guide = include_str!("../../../../docs/experiments.md");
    let (_, rest) = guide.split_once(&format!("```{name}\n")).unwrap();
    rest.split_once("```").unwrap().0.to_owned()
}

#[test]
fn the_example_of_the_guide_prints_what_the_guide_shows() {
    let example = block("toml");
    assert!(example.lines().count() <= 40, "{}", example.lines().count());
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("governors.toml"), example).unwrap();
    // The first block without a language is what is printed.
    let guide = include_str!("../../../../docs/experiments.md");
    let (_, behind) = guide.split_once("`tandem experiment governors.toml` prints\n\n```\n").unwrap();
    let (expected, _) = behind.split_once("```").unwrap();
    let printed = shown(folder.path(), &["experiment", "governors.toml"]);
    assert_eq!(printed, expected, "docs/experiments.md shows something else than this:\n{printed}");
}

#[test]
fn a_report_is_the_same_from_a_full_store_and_comes_out_the_same_again() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("governors.toml"), block("toml").replace("seeds = 3", "seeds = 1")).unwrap();
    let json = |store: &str| {
        let mut command = program();
        command.current_dir(folder.path()).args(["experiment", "governors.toml", "--json"]).env("TANDEM_STORE", store);
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    };
    let store = folder.path().join("runs");
    let store = store.to_str().unwrap();
    let without = json("off");
    assert_eq!(json(store), without);
    assert_eq!(json(store), without);
    fs::write(folder.path().join("report.json"), &without).unwrap();
    let said = shown(folder.path(), &["rerun", "report.json"]);
    assert_eq!(said, "The same to the byte: tandem experiment governors.toml\n");
}
