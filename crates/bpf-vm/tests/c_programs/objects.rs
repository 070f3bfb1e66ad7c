// SPDX-License-Identifier: MIT OR Apache-2.0
//! The objects of `tests/c`, compiled by `scripts/objects`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, OnceLock};

use tandem_bpf_vm::object::Object;

/// The object that is compiled from `NAME.bpf.c`.
#[track_caller]
pub fn object(name: &str) -> Arc<Object> {
    let file = match folder() {
        Ok(folder) => folder.join(format!("{name}.bpf.o")),
        Err(message) => panic!("BPF objects cannot be compiled (`scripts/requirements test` installs it): {message}"),
    };
    let bytes = std::fs::read(&file).unwrap_or_else(|error| panic!("no object {}: {error}", file.display()));
    Arc::new(Object::parse(&bytes).unwrap_or_else(|error| panic!("{}: {error}", file.display())))
}

/// Number of the first line of a source that contains a text.
#[track_caller]
pub fn line_of(source: &str, text: &str) -> u32 {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c").join(source);
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
