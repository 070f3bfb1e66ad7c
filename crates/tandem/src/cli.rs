// SPDX-License-Identifier: GPL-2.0-only
//! The commands.

use std::ffi::OsString;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue};
use clap::{Parser, Subcommand};
use tandem_simulator::input::nearest;
use tandem_simulator::simulation::Bpf;

use crate::analyze::Analyze;
use crate::arguments::BpfOption;
use crate::bench::Bench;
use crate::compare::Compare;
use crate::context::Context;
use crate::experiment::ExperimentCommand;
use crate::explain::Explain;
use crate::failure::Failure;
use crate::live::attach::Attach;
use crate::live::hint::{Announce, Hint};
use crate::live::launch::Launch;
use crate::live::restore::Restore;
use crate::live::run::Run;
use crate::live::status::StatusCommand;
use crate::machine::MachineCommand;
use crate::report::ReportCommand;
use crate::reproduce::Reproduce;
use crate::rerun::Rerun;
use crate::scheduler::SchedulerCommand;
use crate::schema::SchemaCommand;
use crate::shell::{Completions, Manual};
use crate::simulate::Simulate;
use crate::tune::Tune;
use crate::ui::Ui;
use crate::why::Why;
use crate::workload::WorkloadCommand;

const EXAMPLES: &str = "\
Examples:
  tandem machine list
  tandem simulate app.json --machine hikey960
  tandem compare app.json --machine hikey960 -s fair+schedutil -s fair+performance
  tandem compare app.json --machine hikey960 -s fair -s ./scx_simple.bpf.o
  sudo tandem run -- make -j8

Exit status: 0 success; 1 failure; 2 mistake in an option, a machine, a workload or
a sched_ext object; 3 the simulation cannot end (who waits for what is printed);
4 a sched_ext scheduler was ejected (results are printed, fair did the rest); 5 worse than
the baseline (`tandem compare --baseline`); 130 interrupted.
`tandem run` has that of its command, and 125 where it was not started.";

/// Schedules multicore machines for energy: on the kernel that runs, and in a simulator on described machines.
#[derive(Debug, Parser)]
#[command(name = "tandem", version, after_help = EXAMPLES)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Simulate(Simulate),
    Why(Why),
    Compare(Compare),
    Explain(Explain),
    Machine(MachineCommand),
    Scheduler(SchedulerCommand),
    Workload(WorkloadCommand),
    Analyze(Analyze),
    Tune(Tune),
    Experiment(ExperimentCommand),
    Reproduce(Reproduce),
    Report(ReportCommand),
    Rerun(Rerun),
    Bench(Bench),
    Schema(SchemaCommand),
    Ui(Ui),
    Run(Run),
    Attach(Attach),
    Status(StatusCommand),
    Hint(Hint),
    Announce(Announce),
    Restore(Restore),
    Completions(Completions),
    #[command(hide = true)]
    Manual(Manual),
    #[command(hide = true)]
    Launch(Launch),
}

/// Fewest letters of a beginning that its name is suggested for.
const FEWEST: usize = 3;

impl Cli {
    /// Reads the words of a command line, the first of which is the program's name.
    ///
    /// # Errors
    /// What is wrong with them, or the help that was asked for.
    pub fn read(words: impl IntoIterator<Item = impl Into<OsString>>) -> Result<Self, clap::Error> {
        let words: Vec<OsString> = words.into_iter().map(Into::into).collect();
        Self::try_parse_from(&words).map_err(|error| advised(error, &words))
    }

    /// Whether the command itself ends in order when a signal arrives.
    pub fn minds_signals(&self) -> bool {
        matches!(self.command, Command::Run(_) | Command::Attach(_) | Command::Launch(_))
    }

    /// How BPF programs run in the command's simulations.
    pub fn bpf(&self) -> Bpf {
        let option = match &self.command {
            Command::Simulate(command) => command.run.scenario.run.bpf,
            Command::Why(command) => command.run.scenario.run.bpf,
            Command::Compare(command) => command.options.bpf,
            Command::Explain(command) => command.bpf,
            Command::Tune(command) => command.bpf,
            Command::Experiment(command) => command.study.bpf,
            Command::Reproduce(command) => command.study.bpf,
            Command::Bench(command) => command.bpf,
            _ => BpfOption::default(),
        };
        option.how()
    }

    /// Runs the command that was asked for.
    pub fn run(&self, context: &mut Context<'_>) -> Result<(), Failure> {
        match &self.command {
            Command::Simulate(command) => command.run(context),
            Command::Why(command) => command.run(context),
            Command::Compare(command) => command.run(context),
            Command::Explain(command) => command.run(context),
            Command::Machine(command) => command.run(context),
            Command::Scheduler(command) => command.run(context),
            Command::Workload(command) => command.run(context),
            Command::Analyze(command) => command.run(context),
            Command::Tune(command) => command.run(context),
            Command::Experiment(command) => command.run(context),
            Command::Reproduce(command) => command.run(context),
            Command::Report(command) => command.run(context),
            Command::Rerun(command) => command.run(context),
            Command::Bench(command) => command.run(context),
            Command::Schema(command) => command.run(context),
            Command::Ui(command) => command.run(context),
            Command::Run(command) => command.run(context),
            Command::Attach(command) => command.run(context),
            Command::Status(command) => command.run(context),
            Command::Hint(command) => command.run(context),
            Command::Announce(command) => command.run(context),
            Command::Restore(command) => command.run(context),
            Command::Completions(command) => command.run(context),
            Command::Manual(command) => command.run(),
            Command::Launch(command) => Err(command.run()),
        }
    }
}

/// The error without names that are not near the one that was written: clap takes `--hotplug` to be like `--output`.
fn advised(mut error: clap::Error, words: &[OsString]) -> clap::Error {
    let suggested = [
        (ContextKind::InvalidArg, ContextKind::SuggestedArg),
        (ContextKind::InvalidSubcommand, ContextKind::SuggestedSubcommand),
        (ContextKind::InvalidValue, ContextKind::SuggestedValue),
    ];
    let Some((written, kind)) = suggested.into_iter().find_map(|(invalid, kind)| match error.get(invalid)? {
        ContextValue::String(written) => Some((written.clone(), kind)),
        _ => None,
    }) else {
        return error;
    };
    let Some(suggestion) = error.remove(kind) else { return with_tip(error, &written, words) };
    let near = match suggestion {
        ContextValue::String(name) if is_near(&written, &name) => Some(ContextValue::String(name)),
        ContextValue::Strings(mut names) => {
            names.retain(|name| is_near(&written, name));
            (!names.is_empty()).then_some(ContextValue::Strings(names))
        }
        _ => None,
    };
    match near {
        Some(near) => drop(error.insert(kind, near)),
        // The usage would show that name, too.
        None => drop(error.remove(ContextKind::Usage)),
    }
    with_tip(error, &written, words)
}

/// Options whose file stands behind `=`.
const FORMATS: [&str; 4] = ["--json", "--jsonl", "--csv", "--markdown"];

/// The error with what to do about a file that stands behind `--json` without `=`.
fn with_tip(mut error: clap::Error, written: &str, words: &[OsString]) -> clap::Error {
    let option = |pair: &[OsString]| {
        let option = FORMATS.into_iter().find(|option| pair[0] == *option)?;
        (pair[1].to_str() == Some(written)).then_some(option)
    };
    if let Some(option) = words.windows(2).find_map(option) {
        let format = option.trim_start_matches('-').to_uppercase();
        let tip = StyledStr::from(format!("to write the {format} to a file, use '{option}={written}'"));
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip]));
    }
    error
}

/// Whether `name` is a slip away from what was written, or begins with it.
fn is_near(written: &str, name: &str) -> bool {
    let (written, name) = (written.trim_start_matches('-'), name.trim_start_matches('-'));
    nearest(written, [name]).is_some() || written.len() >= FEWEST && name.starts_with(written)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definition_of_the_arguments_is_sound() {
        Cli::command().debug_assert();
    }
}
