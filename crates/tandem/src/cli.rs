// SPDX-License-Identifier: GPL-2.0-only
//! The commands.

use clap::{Parser, Subcommand};

use crate::analyze::Analyze;
use crate::bench::Bench;
use crate::compare::Compare;
use crate::context::Context;
use crate::explain::Explain;
use crate::failure::Failure;
use crate::live::attach::Attach;
use crate::live::hint::{Announce, Hint};
use crate::live::launch::Launch;
use crate::live::restore::Restore;
use crate::live::run::Run;
use crate::live::status::StatusCommand;
use crate::machine::MachineCommand;
use crate::reproduce::Reproduce;
use crate::scheduler::SchedulerCommand;
use crate::simulate::Simulate;
use crate::workload::WorkloadCommand;

const EXAMPLES: &str = "\
Examples:
  tandem machine list
  tandem simulate app.json --machine hikey960
  tandem compare app.json --machine hikey960 -s fair+schedutil -s fair+performance
  tandem compare app.json --machine hikey960 -s fair -s ./scx_simple.bpf.o
  sudo tandem run --all -- make -j8

Exit status: 0 success; 1 failure; 2 mistake in an option, a machine, a workload or
a sched_ext object; 3 the simulation cannot end (who waits for what is printed);
4 a sched_ext scheduler was ejected (results are printed, fair did the rest); 130 interrupted.
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
    Compare(Compare),
    Explain(Explain),
    Machine(MachineCommand),
    Scheduler(SchedulerCommand),
    Workload(WorkloadCommand),
    Analyze(Analyze),
    Reproduce(Reproduce),
    Bench(Bench),
    Run(Run),
    Attach(Attach),
    Status(StatusCommand),
    Hint(Hint),
    Announce(Announce),
    Restore(Restore),
    #[command(hide = true)]
    Launch(Launch),
}

impl Cli {
    /// Whether the command itself ends in order when a signal arrives.
    pub fn minds_signals(&self) -> bool {
        matches!(self.command, Command::Run(_) | Command::Attach(_) | Command::Launch(_))
    }

    /// Runs the command that was asked for.
    pub fn run(&self, context: &mut Context<'_>) -> Result<(), Failure> {
        match &self.command {
            Command::Simulate(command) => command.run(context),
            Command::Compare(command) => command.run(context),
            Command::Explain(command) => command.run(context),
            Command::Machine(command) => command.run(context),
            Command::Scheduler(command) => command.run(context),
            Command::Workload(command) => command.run(context),
            Command::Analyze(command) => command.run(context),
            Command::Reproduce(command) => command.run(context),
            Command::Bench(command) => command.run(context),
            Command::Run(command) => command.run(context),
            Command::Attach(command) => command.run(context),
            Command::Status(command) => command.run(context),
            Command::Hint(command) => command.run(context),
            Command::Announce(command) => command.run(context),
            Command::Restore(command) => command.run(context),
            Command::Launch(command) => Err(command.run()),
        }
    }
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
