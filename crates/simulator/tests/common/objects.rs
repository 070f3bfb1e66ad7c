// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compiled BPF objects: the kernel's four C schedulers, its selftests and `tests/bpf`, by `scripts/objects`.

#![allow(dead_code, reason = "another crate's tests, or a bench, use a part")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The bytes of an object by the name of its source: `scx_simple` is compiled from `scx_simple.bpf.c`.
///
/// # Panics
/// There is no such object, or a package is missing that compiling needs: the message says which.
#[track_caller]
pub fn object(name: &str) -> Vec<u8> {
    let file = object_path(name);
    std::fs::read(&file).unwrap_or_else(|error| panic!("no object {}: {error}", file.display()))
}

/// The file of an object, by the name of its source; `selftests/minimal` is one of the kernel's selftests.
///
/// # Panics
/// There is no such object, or a package is missing that compiling needs: the message says which.
#[track_caller]
pub fn object_path(name: &str) -> PathBuf {
    match folder() {
        Ok(folder) => folder.join(format!("{name}.bpf.o")),
        Err(message) => panic!("BPF objects cannot be compiled (`scripts/requirements test` installs it): {message}"),
    }
}

/// Number of the first line of one of this project's sources that contains `text`.
///
/// # Panics
/// No line contains `text`.
#[track_caller]
pub fn line_of(source: &str, text: &str) -> u32 {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bpf").join(source);
    let content = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let at = content.lines().position(|line| line.contains(text));
    at.unwrap_or_else(|| panic!("no line of {} contains {text}", file.display())) as u32 + 1
}

/// Compiles the objects that are out of date, once in this process. Returns the folder with the objects, or what is
/// wrong.
fn folder() -> Result<&'static Path, &'static str> {
    static FOLDER: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    FOLDER.get_or_init(compile).as_deref().map_err(String::as_str)
}

fn compile() -> Result<PathBuf, String> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/objects");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("objects");
    let output = Command::new("sh").arg(&script).arg(&folder).output();
    let output = output.map_err(|error| format!("{}: {error}", script.display()))?;
    if output.status.success() { Ok(folder) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
}
