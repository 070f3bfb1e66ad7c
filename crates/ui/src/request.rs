// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a person asked for, as words of a command line.

use serde::Deserialize;

use crate::catalogue;

/// Limits of a request.
const MOST_SCHEDULERS: usize = 24;
const MOST_RUNS: u32 = 1000;
const MOST_LETTERS: usize = 4096;

/// The files that a command leaves in its folder.
pub const REPORT: &str = "report.json";
pub const TRACE: &str = "run.perfetto";
pub const PAGE: &str = "report.html";

/// A run, or a comparison.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    machine: Source,
    workload: Source,
    /// One is a run, several are compared; each as behind `--scheduler`.
    schedulers: Vec<String>,
    /// Runs of each scheduler.
    #[serde(default = "one")]
    runs: u32,
    #[serde(default)]
    seed: u64,
    /// As behind `--set`.
    #[serde(default)]
    settings: String,
    /// As behind `--duration`.
    #[serde(default)]
    duration: String,
    /// As behind `--kernel`.
    #[serde(default)]
    kernel: String,
    /// Whether runs lack what every system does beside its workload.
    #[serde(default)]
    quiet: bool,
}

fn one() -> u32 {
    1
}

/// A bundled file, or a text.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Source {
    /// What it is called; of a text, the stem of the file.
    name: String,
    /// What stands behind the colon.
    #[serde(default)]
    configuration: String,
    /// `None` is the bundled file of that name.
    #[serde(default)]
    text: Option<String>,
}

/// What is wrong with a request.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// No such file is bundled.
    #[error("no {0} `{1}` is bundled")]
    Unknown(&'static str, String),
    /// A name that could be no file's.
    #[error("the name of the {0} may have small letters, digits, `-`, `_` and `.`, and 64 of them: `{1}`")]
    Name(&'static str, String),
    /// Nothing to run, or too much.
    #[error("give 1 to {MOST_SCHEDULERS} schedulers")]
    Schedulers,
    /// No runs, or too many.
    #[error("give 1 to {MOST_RUNS} runs")]
    Runs,
    /// An option that is no option's value.
    #[error("{0}: at most {MOST_LETTERS} letters, and none that control a terminal")]
    Value(&'static str),
}

/// A command to run, and the files that it reads, in its folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// The words behind the program's name, without those that say how many runs and where results go.
    words: Vec<String>,
    /// Names and texts.
    pub files: Vec<(String, String)>,
    /// How many runs of each scheduler a comparison has; `None` is a single run.
    pub runs: Option<u32>,
    /// How many schedulers there are.
    pub schedulers: u32,
}

impl Request {
    /// The command.
    ///
    /// # Errors
    /// What no command line could be made of. What the command itself finds wrong, it says when it runs.
    pub fn task(&self) -> Result<Task, RequestError> {
        if self.schedulers.is_empty() || self.schedulers.len() > MOST_SCHEDULERS {
            return Err(RequestError::Schedulers);
        }
        if !(1..=MOST_RUNS).contains(&self.runs) {
            return Err(RequestError::Runs);
        }
        let mut files = Vec::new();
        let workload = self.workload.named("workload", "json", &mut files)?;
        let machine = self.machine.named("machine", "toml", &mut files)?;
        let compared = self.schedulers.len() > 1 || self.runs > 1;
        let mut words = vec![if compared { "compare" } else { "simulate" }.to_owned(), workload];
        let mut option = |name: &'static str, value: &str| {
            if value.chars().count() > MOST_LETTERS || value.chars().any(char::is_control) {
                return Err(RequestError::Value(name));
            }
            // Behind a sign a value is never taken for an option.
            words.push(format!("{name}={value}"));
            Ok(())
        };
        option("--machine", &machine)?;
        self.schedulers.iter().try_for_each(|scheduler| option("--scheduler", scheduler))?;
        let optional = [("--set", &self.settings), ("--duration", &self.duration), ("--kernel", &self.kernel)];
        for (name, value) in optional.into_iter().filter(|(_, value)| !value.is_empty()) {
            option(name, value)?;
        }
        if self.seed != 0 {
            option("--seed", &self.seed.to_string())?;
        }
        if self.quiet {
            words.push("--quiet".to_owned());
        }
        let schedulers = self.schedulers.len() as u32;
        Ok(Task { words, files, runs: compared.then_some(self.runs), schedulers })
    }
}

impl Source {
    /// The word of a command line for it; a text is put among the `files`.
    fn named(
        &self,
        what: &'static str,
        extension: &str,
        files: &mut Vec<(String, String)>,
    ) -> Result<String, RequestError> {
        let Self { name, configuration, text } = self;
        let named = match text {
            None if catalogue::text(what, name).is_none() => return Err(RequestError::Unknown(what, name.clone())),
            None => name.clone(),
            Some(text) => {
                if !is_stem(name) {
                    return Err(RequestError::Name(what, name.clone()));
                }
                let file = format!("{name}.{extension}");
                files.push((file.clone(), text.clone()));
                format!("./{file}")
            }
        };
        if configuration.is_empty() { Ok(named) } else { Ok(format!("{named}:{configuration}")) }
    }
}

/// Whether a file may be called so: nothing that leads out of a folder, hides, or is an option.
fn is_stem(name: &str) -> bool {
    let valid = |letter: u8| letter.is_ascii_lowercase() || letter.is_ascii_digit() || b"-_.".contains(&letter);
    (1..=64).contains(&name.len()) && name.bytes().all(valid) && name.as_bytes()[0].is_ascii_alphanumeric()
}

impl Task {
    /// The words that give the results of so many runs, and leave them in the folder.
    pub fn words(&self, runs: u32) -> Vec<String> {
        let mut words = self.words.clone();
        match self.runs {
            Some(_) => words.push(format!("--runs={runs}")),
            None => words.extend(["--reproducible".to_owned(), format!("--trace={TRACE}")]),
        }
        words.push(format!("--json={REPORT}"));
        words
    }

    /// The command as a person would type it, for results as JSON.
    pub fn shown(&self) -> String {
        let mut words = self.words.clone();
        match self.runs {
            Some(runs) => words.push(format!("--runs={runs}")),
            None => words.push("--reproducible".to_owned()),
        }
        words.push("--json".to_owned());
        ["tandem".to_owned()].into_iter().chain(words).map(|word| quoted(&word)).collect::<Vec<_>>().join(" ")
    }

    /// After how many runs there is something to see: 1, 2, 4, … and all. Runs that are done are not done again.
    pub fn stages(&self) -> Vec<u32> {
        let Some(all) = self.runs else { return vec![1] };
        let doubled = std::iter::successors(Some(1_u32), |runs| runs.checked_mul(2)).take_while(|runs| *runs < all);
        doubled.chain([all]).collect()
    }
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./=,:+%@".contains(letter);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(json: &str) -> Result<Task, RequestError> {
        serde_json::from_str::<Request>(json).unwrap().task()
    }

    #[test]
    fn a_request_becomes_the_words_of_a_command() {
        let task = request(
            r#"{ "machine": { "name": "hikey960" }, "workload": { "name": "mine", "text": "{}" },
                 "schedulers": ["fair", "tandem,sorted=true+schedutil"], "runs": 5, "seed": 7, "settings": "hz=1000", "quiet": true }"#,
        )
        .unwrap();
        assert_eq!(
            task.shown(),
            "tandem compare ./mine.json --machine=hikey960 --scheduler=fair --scheduler=tandem,sorted=true+schedutil \
             --set=hz=1000 --seed=7 --quiet --runs=5 --json"
        );
        assert_eq!(task.files, [("mine.json".to_owned(), "{}".to_owned())]);
        assert_eq!(task.stages(), [1, 2, 4, 5]);
    }

    #[test]
    fn one_scheduler_once_is_a_run() {
        let task = request(
            r#"{ "machine": { "name": "rk3399" }, "workload": { "name": "forkjoin" }, "schedulers": ["fair"] }"#,
        );
        let task = task.unwrap();
        assert_eq!(task.shown(), "tandem simulate forkjoin --machine=rk3399 --scheduler=fair --reproducible --json");
        assert_eq!(task.stages(), [1]);
    }

    #[test]
    fn names_lead_nowhere_and_values_are_no_options() {
        for name in ["../x", "/etc/passwd", "", ".x", "-x", "a b", "A", &"x".repeat(65)] {
            let json = format!(
                r#"{{ "machine": {{ "name": "{name}", "text": "" }}, "workload": {{ "name": "forkjoin" }}, "schedulers": ["fair"] }}"#
            );
            assert!(matches!(request(&json), Err(RequestError::Name("machine", _))), "{name}");
        }
        let unknown =
            r#"{ "machine": { "name": "/etc/passwd" }, "workload": { "name": "forkjoin" }, "schedulers": ["fair"] }"#;
        assert!(matches!(request(unknown), Err(RequestError::Unknown("machine", _))));
        let option =
            r#"{ "machine": { "name": "rk3399" }, "workload": { "name": "forkjoin" }, "schedulers": ["--force"] }"#;
        assert!(request(option).unwrap().words(1).contains(&"--scheduler=--force".to_owned()));
        let control =
            r#"{ "machine": { "name": "rk3399" }, "workload": { "name": "forkjoin" }, "schedulers": ["a\u001b"] }"#;
        assert_eq!(request(control), Err(RequestError::Value("--scheduler")));
        assert_eq!(quoted("it's"), "'it'\\''s'");
    }
}
