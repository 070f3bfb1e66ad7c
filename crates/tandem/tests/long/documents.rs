// SPDX-License-Identifier: GPL-2.0-only
//! The guide's commands do something, in the order in which they stand on a page, in a folder that has what the page speaks of. What
//! takes long runs shorter: fewer runs, less simulated time. What needs root and a kernel, or is a test of its own, is not run here;
//! that it can be read is for `stories::documents` to say.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::compiled::object_path;
use crate::documents_common::{Line, commands, lines, pages, repository, simple};

/// Subcommands that are for a running kernel, wait for a browser, or take minutes however little they are asked for and have tests of
/// their own (`ui`, `published`, `stories::reproducing`, `bench`).
const NOT_RUN: [&str; 9] = ["run", "attach", "hint", "announce", "restore", "status", "ui", "reproduce", "bench"];

/// Options that make a command short: `(subcommand, option, value)`.
const SHORTER: [(&str, &str, &str); 10] = [
    ("simulate", "--duration", "100ms"),
    ("why", "--duration", "100ms"),
    ("compare", "--duration", "50ms"),
    ("compare", "--runs", "2"),
    ("explain", "--limit", "50ms"),
    ("experiment", "--seeds", "1"),
    ("tune", "--trials", "4"),
    ("tune", "--duration", "50ms"),
    ("tune", "--runs", "2"),
    ("analyze", "--simulate", "100ms"),
];

#[test]
fn the_guides_commands_do_what_they_say() {
    let (mut run, mut left, mut wrong) = (0, Vec::new(), Vec::new());
    for page in pages() {
        let lines = commands(&page);
        if lines.is_empty() {
            continue;
        }
        let folder = folder_of(&page);
        for line in lines {
            match shortened(&line) {
                Some(command) => {
                    wrong.extend(failure(folder.path(), &line, &command));
                    run += 1;
                }
                None => left.push(format!("{}: {}", line.place(), line.text)),
            }
        }
    }
    println!("{run} commands of the guide were run, {} not:\n{}", left.len(), left.join("\n"));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(run >= 60, "{run} commands");
}

/// A line with options that make it short; `None` if it is not to be run.
fn shortened(line: &Line) -> Option<String> {
    let commands = simple(line);
    let is_run = |words: &Vec<String>| match &words[..] {
        [tandem, command, ..] if tandem == "tandem" => !NOT_RUN.contains(&command.as_str()),
        [other, ..] => ["jq", "mkdir", "cp", "cat"].contains(&other.as_str()),
        [] => false,
    };
    // A command that begins with `sudo` changes this machine; one with `~` needs what another script has built.
    let elsewhere = ["sudo ", "~/", "$SLURM", "\"$@\"", "--measure"].iter().any(|word| line.text.contains(word));
    if elsewhere || !commands.iter().all(is_run) {
        return None;
    }
    let text = line.text.split(" # ").next().unwrap_or_default().trim_end();
    let parts = text.split(" | ").map(|part| part.split(" && ").map(shorter).collect::<Vec<_>>().join(" && "));
    Some(parts.collect::<Vec<_>>().join(" | "))
}

/// One command with its options for length replaced or added.
fn shorter(command: &str) -> String {
    let mut words: Vec<&str> = command.split(' ').filter(|word| !word.is_empty()).collect();
    let Some(name) = words.get(1).copied().filter(|_| words[0] == "tandem") else { return command.to_owned() };
    for (_, option, value) in SHORTER.iter().filter(|(of, ..)| *of == name) {
        match words.iter().position(|word| word == option) {
            Some(at) => words[at + 1] = value,
            // A whole analysis has no simulation unless it is asked for; a description is explained without one, too.
            None if name == "analyze" || (name == "explain" && words.iter().all(|word| word.starts_with('-'))) => {}
            None => words.extend([option, value]),
        }
    }
    words.join(" ")
}

/// A folder with the files that a page's reader has: of the README, those of a fresh clone, and what `make objects`, one of its
/// commands, puts there. All others its own commands must make.
fn folder_of(page: &Path) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::create_dir_all(path("out/schedulers")).unwrap();
    for name in ["scx_simple", "scx_qmap", "scx_flatcg", "scx_central"] {
        fs::copy(object_path(name), path(&format!("out/schedulers/{name}.bpf.o"))).unwrap();
    }
    if page == Path::new("README.md") {
        for entry in fs::read_dir(repository()).unwrap().map(Result::unwrap) {
            let name = entry.file_name().into_string().unwrap();
            if !name.starts_with('.') && !["out", "target"].contains(&name.as_str()) {
                std::os::unix::fs::symlink(entry.path(), path(&name)).unwrap();
            }
        }
        return folder;
    }
    for name in ["workloads", "machines", "docs"] {
        std::os::unix::fs::symlink(repository().join(name), path(name)).unwrap();
    }
    for (name, workload) in [("app.json", "periodic"), ("mix.json", "mixed-memory")] {
        fs::copy(repository().join(format!("workloads/{workload}.json")), path(name)).unwrap();
    }
    fs::copy(object_path("scx_simple"), path("scx_simple.bpf.o")).unwrap();
    fs::write(path("governors.toml"), experiment()).unwrap();
    assert!(repository().join(page).exists());
    folder
}

/// The first experiment of docs/experiments.md, with one seed.
fn experiment() -> String {
    let mut text = String::new();
    for (_, line) in lines(Path::new("docs/experiments.md"))
        .iter()
        .skip_while(|(of, _)| of.is_none())
        .take_while(|(of, _)| of.is_some())
    {
        text += &line.text.replace("seeds = 3", "seeds = 1");
        text.push('\n');
    }
    text
}

/// Runs a line as a shell does, with the command that is tested before all others; what it said if it failed.
fn failure(folder: &Path, line: &Line, command: &str) -> Option<String> {
    let program = Path::new(env!("CARGO_BIN_EXE_tandem"));
    let path = format!("{}:{}", program.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let mut shell = Command::new("bash");
    shell.args(["-o", "pipefail", "-ec", command]).current_dir(folder).env("PATH", path).env("TANDEM_STORE", "off");
    let output = shell.stdin(Stdio::null()).env_remove("COLUMNS").output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    // So few and short runs may leave undecided what the guide's would decide.
    let undecided = command.contains("--fail-if") && output.status.code() == Some(6);
    let well = output.status.success() || undecided;
    (!well).then(|| format!("{}: {command}: {said}", line.place()))
}
