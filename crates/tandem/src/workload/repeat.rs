// SPDX-License-Identifier: GPL-2.0-only
//! `tandem workload repeat`: a workload that goes on for longer, by more rounds of everything that it does.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::{Args, value_parser};
use jsonc_parser::ast::{Object, Value};
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use tandem_simulator::input::InputError;
use tandem_simulator::workload::Workload;

use super::load_with_text;
use crate::context::Context;
use crate::failure::Failure;
use crate::files::{Kind, Output};

/// Print a workload that does everything N times as often: its threads' outermost loops have N times as many rounds
///
/// For loads that last, which reach limits on power and heat. Endless threads stay endless, `global.duration` becomes N times as long,
/// and threads that others fork stay as they are, as they are forked N times as often.
#[derive(Debug, Args)]
pub struct Repeat {
    /// A bundled name, an rt-app JSON file, or `-` for standard input
    #[arg(value_name = "NAME")]
    workload: PathBuf,

    /// How many times as often
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..=1_000_000))]
    times: u32,

    /// Write to this file instead of standard output (`-`)
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Replace an existing file even if tandem did not generate it
    #[arg(long)]
    force: bool,
}

impl Repeat {
    /// Runs the command.
    pub fn run(&self, context: &mut Context<'_>) -> Result<(), Failure> {
        let (_, text) = load_with_text(&self.workload)?;
        let text = repeated(&self.workload, &text, self.times)?;
        // Nothing is handed out that cannot be read back, such as a loop of more rounds than rt-app counts.
        Workload::parse(&self.workload, &text)?;
        let output = self.output.as_deref().map(|path| Output { path, kind: Kind::Workload, force: self.force });
        context.deliver(output, &text)
    }
}

/// `text` with other numbers in place: comments and order stay.
fn repeated(path: &Path, text: &str, times: u32) -> Result<String, InputError> {
    let (collect, options) = (CollectOptions::default(), ParseOptions::default());
    let parsed = parse_to_ast(text, &collect, &options);
    let mistake = |why: String| InputError::whole(path, format!("cannot be repeated: {why}"));
    let parsed = parsed.map_err(|error| mistake(error.to_string()))?;
    let Some(Value::Object(file)) = parsed.value else { return Err(mistake("no JSON object".to_owned())) };
    let mut edits: Vec<_> =
        file.get_object("global").and_then(|global| longer(global, "duration", times)).into_iter().collect();
    if let Some(tasks) = file.get_object("tasks") {
        let mut forked = BTreeSet::new();
        forks(tasks, &mut forked);
        for task in tasks.properties.iter().filter(|task| !forked.contains(task.name.as_str())) {
            edits.extend(task.value.as_object().and_then(|task| longer(task, "loop", times)));
        }
    }
    let mut text = text.to_owned();
    edits.sort_by_key(|(range, _)| std::cmp::Reverse(range.start));
    for (range, number) in edits {
        text.replace_range(range, &number);
    }
    Ok(text)
}

/// Where the whole number of `key` stands in `object`, and what it becomes; none if it means that there is no end.
fn longer(object: &Object<'_>, key: &str, times: u32) -> Option<(std::ops::Range<usize>, String)> {
    let number = object.get_number(key)?;
    let value: u64 = number.value.parse().ok()?;
    let range = number.range();
    Some((range.start..range.end, value.saturating_mul(u64::from(times)).to_string()))
}

/// The names of all tasks that some task forks: rt-app numbers repeated keys, `fork`, `fork1`, ….
fn forks<'a>(object: &'a Object<'_>, names: &mut BTreeSet<&'a str>) {
    for property in &object.properties {
        match &property.value {
            Value::Object(inner) => forks(inner, names),
            Value::StringLit(name) if property.name.as_str().starts_with("fork") => {
                names.insert(name.value.as_ref());
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tandem_simulator::workload::bundled::BUNDLED;

    fn three_times(text: &str) -> String {
        repeated(Path::new("x.json"), text, 3).unwrap()
    }

    #[test]
    fn outermost_loops_and_the_duration_grow_and_nothing_else() {
        let text = r#"{ "global": { "duration": 2 }, /* two */
  "tasks": { "a": { "loop": 5, "phases": { "p": { "loop": 7, "run": 1 } } }, "b": { "loop": -1, "run": 1 }, "c": { "run": 1 } } }"#;
        let expected = text.replace("\"duration\": 2", "\"duration\": 6").replace("\"loop\": 5", "\"loop\": 15");
        assert_eq!(three_times(text), expected);
    }

    #[test]
    fn what_is_forked_three_times_as_often_is_not_longer_each_time() {
        let text = r#"{ "tasks": { "a": { "loop": 2, "fork": "b" }, "b": { "instance": 0, "loop": 4, "run": 1 } } }"#;
        assert_eq!(three_times(text), text.replace("\"loop\": 2", "\"loop\": 6"));
    }

    #[test]
    fn every_bundled_workload_can_be_repeated() {
        for (name, text) in BUNDLED {
            Workload::parse(Path::new(name), &three_times(text)).unwrap();
        }
    }
}
