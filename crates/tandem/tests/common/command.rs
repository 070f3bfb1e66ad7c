// SPDX-License-Identifier: GPL-2.0-only
//! The command in a folder, and what it must print.

use std::path::Path;
use std::process::{Command, Output};

/// The command without a store: what a test sees was run for it, and the tester's own store stays as it is.
pub fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tandem"));
    command.env("TANDEM_STORE", "off");
    command
}

pub fn tandem(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = program();
    // As wide as it takes, whatever the tester's shell exports.
    command.current_dir(folder).args(arguments).env("COLUMNS", "1000").output().unwrap()
}

/// Standard output of a command that must succeed.
pub fn shown(folder: &Path, arguments: &[&str]) -> String {
    let output = tandem(folder, arguments);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Standard error of a command that must find a mistake.
pub fn mistake(folder: &Path, arguments: &[&str]) -> String {
    let output = tandem(folder, arguments);
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {text}");
    assert!(output.stdout.is_empty(), "{arguments:?}");
    text
}
