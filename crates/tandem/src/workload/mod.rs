// SPDX-License-Identifier: GPL-2.0-only
//! `tandem workload`: lists bundled workloads, shows what their threads do, makes them longer, and generates others.

mod generate;
mod repeat;

use std::io;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use jsonc_parser::{JsonValue, ParseOptions, parse_to_value};
use tandem_simulator::bounded::Limit;
use tandem_simulator::input::InputError;
use tandem_simulator::workload::Workload;
use tandem_simulator::workload::bundled::BUNDLED;

use crate::context::Context;
use crate::failure::Failure;
use crate::files::DASH;
use crate::table::{descriptions, paragraph, printable};

use self::generate::Generate;
use self::repeat::Repeat;

/// How messages call standard input.
const STANDARD_INPUT: &str = "standard input";

const EXAMPLES: &str = "\
Examples:
  tandem workload list
  tandem workload show pipeline
  tandem workload show ./app.json
  tandem workload repeat forkjoin --times 60 | tandem simulate - -m hikey960 --set hot_start=true
  tandem workload phases --label 1:4 --label inf:1 -o phases.json
  tandem workload mixes --aluadd 3 --stream 1 | tandem simulate - -m core2-q6600

Beside list, show and repeat, each command generates workloads of one kind; its --help has the
options with units, ranges, defaults and source.";

/// List, show and generate workloads
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct WorkloadCommand {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the bundled workloads
    List,
    Show(Show),
    Repeat(Repeat),
    #[command(flatten)]
    Generate(Generate),
}

/// Say what a workload is and what each of its threads does
#[derive(Debug, Args)]
struct Show {
    /// A bundled name, an rt-app JSON file, or `-` for standard input
    #[arg(value_name = "NAME")]
    workload: PathBuf,

    /// Print the file itself
    #[arg(long)]
    source: bool,
}

impl WorkloadCommand {
    /// Runs the command.
    pub fn run(&self, context: &mut Context<'_>) -> Result<(), Failure> {
        match &self.action {
            Action::List => list(context),
            Action::Show(show) => show.run(context),
            Action::Repeat(repeat) => repeat.run(context),
            Action::Generate(generate) => generate.run(context),
        }
    }
}

/// The workload that `spec` names: a bundled one, a file, or `-`, standard input.
pub fn load(spec: &Path) -> Result<Workload, InputError> {
    match spec == Path::new(DASH) {
        true => Workload::parse(Path::new(STANDARD_INPUT), &standard_input()?),
        false => Workload::load(spec),
    }
}

/// The workload that `spec` names, with its text.
pub fn load_with_text(spec: &Path) -> Result<(Workload, String), InputError> {
    if spec == Path::new(DASH) {
        let text = standard_input()?;
        return Ok((Workload::parse(Path::new(STANDARD_INPUT), &text)?, text));
    }
    // The workload is loaded first: its mistakes say more than the file system's.
    let workload = Workload::load(spec)?;
    let text = match bundled_text(spec) {
        Some(text) if !spec.exists() => text.to_owned(),
        _ => Limit::DESCRIPTION.read_text(spec).map_err(|error| unreadable(spec, &error))?,
    };
    Ok((workload, text))
}

fn standard_input() -> Result<String, InputError> {
    Limit::DESCRIPTION.read_text_from(io::stdin().lock()).map_err(|error| unreadable(Path::new(STANDARD_INPUT), &error))
}

fn unreadable(path: &Path, error: &io::Error) -> InputError {
    InputError::whole(path, format!("cannot be read: {error}"))
}

fn bundled_text(spec: &Path) -> Option<&'static str> {
    BUNDLED.iter().find(|(name, _)| Path::new(name) == spec).map(|(_, text)| *text)
}

fn list(context: &mut Context<'_>) -> Result<(), Failure> {
    let row = |(name, text): &(&str, &str)| ((*name).to_owned(), first_sentence(&description(text)).to_owned());
    let rows: Vec<(String, String)> = BUNDLED.iter().map(row).collect();
    Ok(context.out.write_all(descriptions(&rows, context.width).as_bytes())?)
}

impl Show {
    fn run(&self, context: &mut Context<'_>) -> Result<(), Failure> {
        let (workload, text) = load_with_text(&self.workload)?;
        if self.source {
            return Ok(context.out.write_all(text.as_bytes())?);
        }
        let description = description(&text);
        let mut shown = String::new();
        if !description.is_empty() {
            shown = paragraph(&description, context.width) + "\n";
        }
        shown += &workload.listing().to_string().split('\n').map(printable).collect::<Vec<_>>().join("\n");
        for warning in &workload.warnings {
            shown += &paragraph(&format!("warning: {warning}"), context.width);
        }
        Ok(context.out.write_all(shown.as_bytes())?)
    }
}

fn first_sentence(text: &str) -> &str {
    text.split_inclusive(". ").next().unwrap_or_default().trim_end()
}

/// The file's own description: `tandem.description` at its top; empty if there is none.
fn description(text: &str) -> String {
    let file = parse_to_value(text, &ParseOptions::default()).ok().flatten();
    let Some(JsonValue::Object(file)) = file else { return String::new() };
    let description = file.get_object("tandem").and_then(|tandem| tandem.get_string("description"));
    description.map_or(String::new(), |text| text.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_may_describe_itself() {
        let text = r#"{ /* a comment */ "tandem": { "description": "Two threads." }, "tasks": {}, }"#;
        assert_eq!(description(text), "Two threads.");
        assert_eq!(description(r#"{ "tasks": {} }"#), "");
    }

    #[test]
    fn every_bundled_workload_has_a_description_and_loads() {
        for (name, text) in BUNDLED {
            assert!(!description(text).is_empty(), "{name}");
            Workload::load(Path::new(name)).unwrap();
        }
    }
}
