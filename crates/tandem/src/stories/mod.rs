// SPDX-License-Identifier: GPL-2.0-only
//! What people do with the command, told through the real argument parser. A mock simulates: its results follow from
//! the request by rules that one can check in the head.

mod analyzing;
mod asking_why;
mod comparing;
mod documents;
#[path = "../../tests/common/documents.rs"]
mod documents_common;
mod ejected;
mod endless;
mod experimenting;
mod gating;
mod generating;
mod live;
mod matrix;
mod mattering;
mod mistakes;
mod mock;
mod one_run;
mod outputs;
mod reporting;
mod reproducing;
mod rerunning;
mod schema;
mod shell;
mod storing;

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;

use tandem_experiments::Simulator;
use tempfile::TempDir;

use crate::cli::Cli;
use crate::context::Context;
use crate::failure::Failure;
use crate::files::Files;
use crate::produced::without_outputs;
use crate::store::Place;

pub use mock::{Mock, report};

/// Two applications, `fast` with two threads and `slow` with one.
const TWO_APPLICATIONS: &str = r#"{
    "tasks": {
        "f": { "instance": 2, "loop": 1, "run": 1000, "tandem": { "application": "fast" } },
        "s": { "loop": 1, "run": 1000, "tandem": { "application": "slow" } }
    }
}"#;
const ONE_APPLICATION: &str = r#"{ "tasks": { "only": { "loop": 1, "run": 1000 } } }"#;
/// A workload that can never end; the mock knows it by its name.
const DEADLOCK: &str = r#"{ "tasks": { "deadlock": { "loop": 1, "run": 1000 } } }"#;

/// A workload under which a scheduler errs, but not under the governor performance, nor with every third seed. The mock
/// knows it by its name.
const ERRING: &str = r#"{ "tasks": { "erring": { "loop": 1, "run": 1000 } } }"#;
/// A workload under which a scheduler ends itself. The mock knows it by its name.
const LEAVING: &str = r#"{ "tasks": { "leaving": { "loop": 1, "run": 1000 } } }"#;

/// An application whose rounds are frames.
const FRAMES: &str = r#"{ "tasks": { "draw": { "loop": 1, "run": 1000, "tandem": { "frame": true } } } }"#;

/// Two applications, one of which the mock does not let run alone.
const PARTNERS: &str = r#"{
    "tasks": {
        "free": { "loop": 1, "run": 1000, "tandem": { "application": "free" } },
        "needs-partner": { "loop": 1, "run": 1000, "tandem": { "application": "bound" } }
    }
}"#;

/// A folder with the workloads above, a simulator, a terminal or none, and a store of finished runs or none.
struct Story {
    folder: TempDir,
    mock: Mock,
    width: Option<usize>,
    store: Option<Place>,
}

impl Story {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let workloads = [
            ("two", TWO_APPLICATIONS),
            ("one", ONE_APPLICATION),
            ("deadlock", DEADLOCK),
            ("partners", PARTNERS),
            ("frames", FRAMES),
            ("erring", ERRING),
            ("leaving", LEAVING),
        ];
        for (name, text) in workloads {
            fs::write(folder.path().join(format!("{name}.json")), text).unwrap();
        }
        Self { folder, mock: Mock::default(), width: None, store: None }
    }

    fn on_terminal(width: usize) -> Self {
        Self { width: Some(width), ..Self::new() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs the words of `command`, in which `@` stands for the folder. Returns what the command prints, or why it
    /// failed.
    fn tandem(&self, command: &str) -> Result<String, String> {
        let (text, result) = self.run(command)?;
        result.map_err(|failure| failure.to_string())?;
        Ok(text)
    }

    /// Runs a command whose results come with a failure; returns both.
    fn doubtful(&self, command: &str) -> (String, String) {
        let (text, result) = self.run(command).unwrap();
        (text, result.unwrap_err().to_string())
    }

    /// What `command` prints, and how it ends; an error if the command line has unknown words.
    fn run(&self, command: &str) -> Result<(String, Result<(), Failure>), String> {
        let (bytes, result) = self.run_to_bytes(command)?;
        Ok((String::from_utf8(bytes).unwrap(), result))
    }

    /// The bytes that `command` prints, and how it ends.
    fn run_to_bytes(&self, command: &str) -> Result<(Vec<u8>, Result<(), Failure>), String> {
        self.run_on(&self.mock, command)
    }

    /// The same where `simulator` simulates.
    fn run_on(&self, simulator: &dyn Simulator, command: &str) -> Result<(Vec<u8>, Result<(), Failure>), String> {
        let command = command.replace('@', &format!("{}/", self.folder.path().display()));
        let words = ["tandem"].into_iter().chain(command.split_whitespace());
        let words: Vec<OsString> = words.map(OsString::from).collect();
        let cli = Cli::read(&words).map_err(|error| error.to_string())?;
        let mut out = Vec::new();
        let mut context = Context {
            simulator,
            out: &mut out,
            width: self.width,
            progress: false,
            files: Files::default(),
            interrupt: self.mock.interrupt.clone(),
            store: self.store.clone(),
            command: without_outputs(&words),
        };
        let result = cli.run(&mut context);
        Ok((out, result))
    }

    fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder.path()).unwrap();
        let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}
