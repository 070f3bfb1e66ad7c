// SPDX-License-Identifier: GPL-2.0-only
//! Inputs that never end: of whatever a command reads, it reads no more than a bound.
//!
//! The commands and their arguments come from the command line's own definition, so that a new one is tried without a word here.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command, CommandFactory};
use nix::libc::O_NONBLOCK;
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

use super::Story;
use crate::cli::Cli;

/// More than a pipe holds and its writer is about to write: so much was counted that nobody read.
const HELD: u64 = 1 << 20;
/// More than any limit: a command that takes so much reads without one. The pipe ends then, and this computer lives.
const TOO_MUCH: u64 = 3 << 30;

/// Options that name what a command writes.
const OUTPUTS: [&str; 12] =
    ["output", "json", "jsonl", "csv", "markdown", "trace", "report", "save", "junit", "write", "figure", "figures"];
/// Commands that act on the running kernel, or go on until somebody ends them.
const ACTING: [&str; 7] = ["run", "attach", "launch", "restore", "hint", "announce", "ui"];

/// A pipe into which a thread writes blanks for ever.
struct Endless {
    path: PathBuf,
    taken: Arc<AtomicU64>,
    done: Arc<AtomicBool>,
    writer: JoinHandle<()>,
}

impl Endless {
    fn new(path: PathBuf) -> Self {
        mkfifo(&path, Mode::S_IRUSR | Mode::S_IWUSR).unwrap();
        let (taken, done) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
        // For reading, too: who only writes waits for a reader.
        let mut pipe = OpenOptions::new().read(true).write(true).open(&path).unwrap();
        let (count, end) = (taken.clone(), done.clone());
        let writer = thread::spawn(move || {
            let blanks = vec![b' '; 1 << 16];
            while !end.load(Ordering::Relaxed) && count.load(Ordering::Relaxed) < TOO_MUCH {
                // Counted before: a reader may have taken all of them before the writer goes on.
                count.fetch_add(blanks.len() as u64, Ordering::Relaxed);
                pipe.write_all(&blanks).unwrap();
            }
        });
        Self { path, taken, done, writer }
    }

    /// How much was taken of the pipe, which is removed: up to [`HELD`] less than is returned, never more.
    fn end(self) -> u64 {
        let taken = self.taken.load(Ordering::Relaxed);
        self.done.store(true, Ordering::Relaxed);
        // The writer waits for room.
        let mut rest = OpenOptions::new().read(true).custom_flags(O_NONBLOCK).open(&self.path).unwrap();
        let mut bytes = vec![0; 1 << 16];
        while !self.writer.is_finished() {
            let _ = rest.read(&mut bytes);
            thread::yield_now();
        }
        self.writer.join().unwrap();
        fs::remove_file(&self.path).unwrap();
        taken
    }
}

/// The commands that have no commands below them, each with the words that lead to it.
fn leaves(command: &Command, words: &[String]) -> Vec<(Vec<String>, Command)> {
    if !command.has_subcommands() {
        return vec![(words.to_vec(), command.clone())];
    }
    let below = command.get_subcommands().filter(|below| below.get_name() != "help");
    below.flat_map(|below| leaves(below, &[words, &[below.get_name().to_owned()]].concat())).collect()
}

/// Whether the argument takes a value that a command may read as a file.
fn may_be_read(argument: &Arg) -> bool {
    argument.get_action().takes_values() && argument.get_long().is_none_or(|long| !OUTPUTS.contains(&long))
}

/// The words that give `argument` this value.
fn given(argument: &Arg, value: &str) -> Vec<String> {
    match argument.get_long() {
        Some(long) => vec![format!("--{long}={value}")],
        None => vec![value.to_owned()],
    }
}

/// A value that an argument takes which a command cannot do without.
fn usual(argument: &Arg) -> String {
    let name = argument.get_value_names().and_then(|names| names.first()).map_or("", |name| name.as_str());
    match name {
        "M" | "MACHINE" => "hikey960",
        "S" | "S+G" => "tandem+schedutil",
        "CONDITION" => "energy>1.02",
        "FILE" => "@out",
        "N" => "3",
        "SHELL" => "bash",
        "OBJECT" => "tandem",
        _ => "@one.json",
    }
    .to_owned()
}

/// The command line that gives `argument` the value `value`, and every argument a usual one that must be there then.
fn line(words: &[String], command: &Command, argument: &Arg, value: &str) -> String {
    let mut line = [words.to_vec(), given(argument, value)].concat();
    while let Err(error) = Cli::read([vec!["tandem".to_owned()], line.clone()].concat()) {
        let Some(ContextValue::Strings(missing)) = error.get(ContextKind::InvalidArg) else { break };
        if error.kind() != ErrorKind::MissingRequiredArgument {
            break;
        }
        let is_missing = |other: &&Arg| missing.iter().any(|text| *text == other.to_string());
        let more: Vec<String> =
            command.get_arguments().filter(is_missing).flat_map(|other| given(other, &usual(other))).collect();
        assert!(!more.is_empty(), "{line:?} lacks {missing:?}");
        line.extend(more);
    }
    line.join(" ")
}

/// Runs `line` where `@endless` never ends; what it took of that, and the message of its failure.
fn taken(line: &str) -> (u64, Option<String>) {
    let story = Story::new();
    let endless = Endless::new(story.path("endless"));
    let failure = story.tandem(line).err();
    (endless.end(), failure)
}

/// A story in which `place` never ends.
fn story(place: &str) -> (Story, Endless) {
    let story = Story::new();
    fs::create_dir_all(story.path(place).parent().unwrap()).unwrap();
    let endless = Endless::new(story.path(place));
    (story, endless)
}

#[test]
fn what_lies_beside_an_input_or_in_a_folder_has_a_bound_too() {
    for (place, command) in [
        ("papers/p/paper.toml", "reproduce --papers @papers"),
        ("own.toml", "scheduler show @own.bpf.o"),
        ("machine.toml", "attach --speed --machine @machine.toml"),
    ] {
        let (story, endless) = story(place);
        if place == "own.toml" {
            let object = crate::bundled::named("o1").unwrap().object;
            fs::write(story.path("own.bpf.o"), object).unwrap();
        }
        let said = story.tandem(command).unwrap_err();
        assert!((HELD..TOO_MUCH).contains(&endless.end()), "{command}");
        assert!(said.contains(place) && said.contains("more than 64 MiB"), "{command}: {said}");
    }
}

/// A report that somebody else has written may name anything as what it was made of.
#[test]
fn what_a_report_names_has_a_bound_too() {
    let (story, endless) = story("endless");
    story.tandem("simulate @one.json -m hikey960 --json=@report.json").unwrap();
    let text = fs::read_to_string(story.path("report.json")).unwrap();
    let name = |name: &str| story.path(name).to_str().unwrap().to_owned();
    fs::write(story.path("report.json"), text.replace(&name("one.json"), &name("endless"))).unwrap();
    let said = story.tandem("rerun @report.json").unwrap_err();
    assert!((HELD..TOO_MUCH).contains(&endless.end()));
    assert!(said.contains("endless cannot be read"), "{said}");
}

/// What reads hundreds of megabytes, again and again.
mod long {
    use super::*;

    #[test]
    fn of_an_input_without_end_no_command_reads_more_than_a_bound() {
        let mut cli = Cli::command();
        cli.build();
        let mut readers = Vec::new();
        let tried = leaves(&cli, &[]).into_iter().filter(|(words, _)| !ACTING.contains(&words[0].as_str()));
        for (words, command) in tried {
            for argument in command.get_arguments().filter(|argument| may_be_read(argument)) {
                let line = line(&words, &command, argument, "@endless");
                let (taken, failure) = taken(&line);
                assert!(taken < TOO_MUCH, "`{line}` reads without a limit");
                if taken > HELD {
                    let said = failure.unwrap_or_else(|| panic!("`{line}` is content with a part of its input"));
                    assert!(said.contains("endless") && said.contains("MiB, the limit of"), "`{line}`: {said}");
                    readers.push(format!("{} {argument}", words.join(" ")));
                }
            }
        }
        for known in ["report <INPUT>...", "rerun <REPORT>", "reproduce --from <FILE>", "compare --baseline <FILE>"] {
            assert!(readers.iter().any(|reader| reader == known), "{known} is not read: {readers:#?}");
        }
        assert!(readers.len() >= 29, "{readers:#?}");
    }

    /// The counting itself: a reader that never stops is seen, and one that stops.
    #[test]
    fn a_reader_without_a_bound_would_be_seen() {
        let read = |most: u64| {
            let folder = tempfile::tempdir().unwrap();
            let endless = Endless::new(folder.path().join("endless"));
            let open = |path: &Path| File::open(path).unwrap();
            std::io::copy(&mut open(&endless.path).take(most), &mut std::io::sink()).unwrap();
            endless.end()
        };
        assert!((10 << 20..(10 << 20) + HELD).contains(&read(10 << 20)));
        assert!(read(u64::MAX) >= TOO_MUCH);
    }
}
