// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which room may use which: the arrows of the house point one way.
//!
//! A room is a folder or a file beside `lib.rs`. Code uses another room where it names `crate::ROOM`; comments and tests
//! may name any.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Each room and the rooms that its code may use. A room stands below all rooms that it uses, so that no arrow can point
/// upwards: there is no circle.
const ROOMS: [(&str, &[&str]); 18] = [
    ("units", &[]),
    ("input", &[]),
    ("metrics", &[]),
    ("streams", &["units"]),
    ("workload", &["input", "units"]),
    ("observer", &["units", "workload"]),
    ("machine", &["input", "units"]),
    ("generated", &["input", "machine", "units", "workload"]),
    ("analysis", &["machine", "units", "workload"]),
    ("why", &["machine", "observer", "units", "workload"]),
    ("trace", &["machine", "observer", "units", "workload"]),
    ("kernel", &["input", "machine", "observer", "units", "workload"]),
    ("scx", &["generated", "input", "kernel", "machine", "observer", "streams", "units", "workload"]),
    ("sched", &["kernel", "machine", "scx", "units", "workload"]),
    ("error", &["kernel", "scx", "units"]),
    ("options", &["input", "kernel", "scx", "units"]),
    (
        "engine",
        &[
            "error", "kernel", "machine", "metrics", "observer", "options", "sched", "scx", "streams", "units",
            "workload",
        ],
    ),
    (
        "simulation",
        &["engine", "error", "kernel", "machine", "metrics", "observer", "options", "scx", "units", "workload"],
    ),
];

/// A place where code names a room.
#[derive(Debug, PartialEq, Eq)]
struct Arrow {
    /// The line, from 1.
    line: usize,
    /// The room that is used.
    to: String,
}

fn allowed(from: &str) -> BTreeSet<&'static str> {
    ROOMS.iter().filter(|(room, _)| *room == from).flat_map(|(_, to)| to.iter().copied()).collect()
}

/// Room and lines of code with their numbers, of all files that are not tests alone.
fn sources() -> Vec<(String, PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let (mut files, mut folders) = (Vec::new(), vec![root.clone()]);
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        for path in entries.map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(path);
            }
        }
    }
    files.sort();
    let texts: BTreeMap<PathBuf, String> =
        files.into_iter().map(|path| (path.clone(), fs::read_to_string(path).unwrap())).collect();
    let tests: Vec<PathBuf> = texts.iter().flat_map(|(path, text)| test_modules(path, text)).collect();
    let is_test = |path: &Path| tests.iter().any(|test| path == test.with_extension("rs") || path.starts_with(test));
    let room_of = |path: &Path| {
        let first = path.strip_prefix(&root).unwrap().components().next().unwrap();
        Path::new(&first).with_extension("").display().to_string()
    };
    let code = texts.into_iter().filter(|(path, _)| !is_test(path));
    code.map(|(path, text)| (room_of(&path), path, text)).filter(|(room, ..)| room != "lib").collect()
}

/// Modules that the file at `path` declares for tests only, as paths without `.rs`.
fn test_modules(path: &Path, text: &str) -> Vec<PathBuf> {
    let is_root = path.file_name().is_some_and(|name| name == "mod.rs" || name == "lib.rs");
    let folder = if is_root { path.parent().unwrap().to_owned() } else { path.with_extension("") };
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let declared = lines.windows(2).filter(|pair| pair[0] == "#[cfg(test)]").filter_map(|pair| {
        let (_, name) = pair[1].strip_suffix(';')?.split_once("mod ")?;
        Some(folder.join(name))
    });
    declared.collect()
}

/// The lines of `text` with their numbers, without comments and without what is only compiled for tests.
fn code(text: &str) -> Vec<(usize, &str)> {
    let mut lines = (1..).zip(text.lines());
    let mut code = Vec::new();
    while let Some((number, line)) = lines.next() {
        if line.trim() == "#[cfg(test)]" {
            // The item after it, up to the brace that ends it.
            let indent = &line[..line.len() - line.trim_start().len()];
            let item = lines.by_ref().find(|(_, line)| !line.trim_start().starts_with('#'));
            if item.is_some_and(|(_, item)| !item.ends_with(';')) {
                lines.by_ref().find(|(_, line)| line.strip_prefix(indent) == Some("}"));
            }
            continue;
        }
        code.push((number, line.split("//").next().unwrap_or_default()));
    }
    code
}

/// Where the code of `text` names `crate::ROOM`.
fn arrows(text: &str) -> Vec<Arrow> {
    let mut arrows = Vec::new();
    for (line, code) in code(text) {
        for (_, rest) in code.match_indices("crate::").map(|(at, name)| (at, &code[at + name.len()..])) {
            let end = rest.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(rest.len());
            arrows.push(Arrow { line, to: rest[..end].to_owned() });
        }
    }
    arrows
}

#[test]
fn rooms_use_only_what_the_table_allows() {
    let mut wrong = Vec::new();
    for (room, path, text) in sources() {
        let allowed = allowed(&room);
        for Arrow { line, to } in arrows(&text) {
            if to != room && !allowed.contains(to.as_str()) {
                wrong.push(format!("{}:{line}: {room} must not use {to}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "see ROOMS for what each room may use:\n{}", wrong.join("\n"));
}

#[test]
fn each_room_stands_below_those_that_it_uses() {
    let mut rooms: BTreeSet<String> = sources().into_iter().map(|(room, ..)| room).collect();
    // The loader's module of this name, under the same path.
    assert!(rooms.insert("input".to_owned()));
    let listed: Vec<&str> = ROOMS.iter().map(|(room, _)| *room).collect();
    assert_eq!(rooms, listed.iter().map(|room| (*room).to_owned()).collect(), "ROOMS has every room");
    for (place, (room, used)) in ROOMS.iter().enumerate() {
        for to in *used {
            assert!(listed[..place].contains(to), "{room} uses {to}, which must stand above it in ROOMS");
        }
    }
}

#[test]
fn comments_and_tests_may_name_any_room() {
    let text = "\
use crate::one::One;
/// See [`crate::two`].
fn f(three: crate::three::Three) {} // not crate::four
#[cfg(test)]
impl Five {
    fn five(five: crate::five::Five) {}
}
#[cfg(test)]
mod six;
use crate::seven;
#[cfg(test)]
mod tests {
    use crate::eight::Eight;
}
";
    let found: Vec<(usize, String)> = arrows(text).into_iter().map(|arrow| (arrow.line, arrow.to)).collect();
    assert_eq!(found, [(1, "one".to_owned()), (3, "three".to_owned()), (10, "seven".to_owned())]);
    assert_eq!(test_modules(Path::new("room/mod.rs"), text), [Path::new("room/six")]);
    assert_eq!(test_modules(Path::new("room/file.rs"), text), [Path::new("room/file/six")]);
}
