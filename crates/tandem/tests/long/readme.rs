// SPDX-License-Identifier: GPL-2.0-only
//! The README's commands do what it says, and print what it shows.

use crate::command::program;
use crate::command::tandem;
use crate::readme::{readme, repository};

/// The value that the Makefile gives to a variable.
fn made(variable: &str) -> String {
    let makefile = std::fs::read_to_string(repository().join("Makefile")).unwrap();
    let line = makefile.lines().find_map(|line| line.strip_prefix(&format!("{variable} ?= ")));
    line.unwrap_or_else(|| panic!("{variable}")).to_owned()
}

#[test]
fn make_run_prints_what_the_readme_shows() {
    let readme = readme();
    let (_, shown) = readme.split_once("```\npair ").unwrap();
    let (shown, _) = shown.split_once("```").unwrap();
    let pairs = made("PAIRS");
    let mut command = program();
    command.args(["compare", &made("WORKLOAD"), "--machine", &made("MACHINE")]);
    command.args(pairs.split(' ').flat_map(|pair| ["-s", pair]));
    let output = command.env("COLUMNS", "120").output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(printed.ends_with(&format!("pair {shown}")), "the README shows\npair {shown}\nand not\n{printed}");
}

#[test]
fn the_readmes_commands_succeed() {
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(repository().join("workloads"), folder.path().join("workloads")).unwrap();
    let readme = readme();
    let cheap = ["tandem machine list", "tandem machine show", "tandem simulate", "tandem explain"];
    let commands = readme.lines().filter(|line| cheap.iter().any(|start| line.starts_with(start)));
    let mut count = 0;
    for line in commands {
        let arguments: Vec<&str> = line.split_whitespace().skip(1).collect();
        let output = tandem(folder.path(), &arguments);
        assert_eq!(output.status.code(), Some(0), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        count += 1;
    }
    assert!(count >= 6, "{count}");
}
