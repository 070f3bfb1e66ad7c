// SPDX-License-Identifier: MIT OR Apache-2.0
//! Mistakes in the texts of machines and workloads, with their places, before anything runs.

use std::path::Path;

use serde::{Deserialize, Serialize};
use tandem_simulator::{InputError, Machine, Workload};

/// What kind of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    Machine,
    Workload,
}

/// A text to be looked at.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Text {
    pub what: What,
    pub text: String,
    /// Of a machine: what would stand behind the colon.
    #[serde(default)]
    pub configuration: Option<String>,
}

/// What was found.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Checked {
    /// The first mistake.
    pub mistake: Option<Mistake>,
    /// What is odd and no mistake.
    pub warnings: Vec<String>,
}

/// A mistake in a text.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Mistake {
    /// From 1; `None` where it is nowhere in particular.
    pub line: Option<usize>,
    /// From 1, in characters.
    pub column: Option<usize>,
    pub message: String,
    /// What was expected.
    pub help: Option<String>,
}

impl Text {
    /// Looks at the text, as the command would before it runs.
    pub fn check(&self) -> Checked {
        let read = match self.what {
            What::Machine => {
                let path = Path::new("machine.toml");
                Machine::parse("machine", path, &self.text, self.configuration.as_deref()).map(|_| Vec::new())
            }
            What::Workload => Workload::parse(Path::new("workload.json"), &self.text).map(|workload| workload.warnings),
        };
        match read {
            Ok(warnings) => Checked { mistake: None, warnings },
            Err(error) => Checked { mistake: Some(error.into()), warnings: Vec::new() },
        }
    }
}

impl From<InputError> for Mistake {
    fn from(error: InputError) -> Self {
        let place = error.position.as_ref();
        Self {
            line: place.map(|place| place.line),
            column: place.map(|place| place.column),
            message: error.message,
            help: error.help,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue;

    fn check(what: What, text: &str) -> Checked {
        Text { what, text: text.to_owned(), configuration: None }.check()
    }

    #[test]
    fn what_is_bundled_has_no_mistake() {
        let machine = catalogue::text("machine", "hikey960").unwrap();
        let workload = catalogue::text("workload", "forkjoin").unwrap();
        assert_eq!(check(What::Machine, machine).mistake, None);
        assert_eq!(check(What::Workload, workload).mistake, None);
    }

    #[test]
    fn a_mistake_has_its_line_and_column() {
        let machine = catalogue::text("machine", "hikey960").unwrap();
        let line = machine.lines().position(|line| line.starts_with("[")).unwrap() + 1;
        let wrong: Vec<String> = machine
            .lines()
            .enumerate()
            .map(|(at, text)| if at + 1 == line { format!("{text}]") } else { text.to_owned() })
            .collect();
        let mistake = check(What::Machine, &wrong.join("\n")).mistake.unwrap();
        assert_eq!(mistake.line, Some(line), "{mistake:?}");
        let mistake = check(What::Workload, "{\n  \"tasks\": { \"a\": { \"run\": \"soon\" } }\n}").mistake.unwrap();
        assert_eq!((mistake.line, mistake.column), (Some(2), Some(28)), "{mistake:?}");
    }
}
