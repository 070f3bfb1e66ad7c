// SPDX-License-Identifier: GPL-2.0-only
//! Why a command ended without its result, or with a result that is not the one asked for, and the exit status for
//! that.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use tandem_experiments::ExperimentError;
use tandem_experiments::memory::NoSize;
use tandem_simulator::input::InputError;
use tandem_simulator::simulation::SimulationError;

/// Exit status for a mistake in a machine, a workload or an option; clap uses the same.
const MISTAKE: u8 = 2;
/// Exit status of `tandem run` if its command was not started, as in `env` and `timeout`.
pub const NOT_STARTED: u8 = 125;
/// Exit status for a simulation that cannot end.
const STUCK: u8 = 3;
/// Exit status for results that are partly those of `fair`, because a scheduler was ejected, or for none, because it refused
/// a thread.
pub const EJECTED: u8 = 4;
/// Exit status for results that are worse than those of a baseline.
const WORSE: u8 = 5;
/// Exit status for results of which a limit of the user's cannot be said to hold or not.
const UNDECIDED: u8 = 6;
/// Exit status for what was finished before Ctrl-C: 128 + SIGINT, as of a shell's commands.
const INTERRUPTED: u8 = 130;
/// Exit status for any other failure.
const OTHER: u8 = 1;

/// Why a command ended without its result, or with a doubtful one.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// A mistake in a machine or a workload.
    #[error("{0}")]
    Input(#[from] InputError),
    /// A mistake in options that fit only each by itself.
    #[error("{0}")]
    Options(String),
    /// The simulation has no report.
    #[error("{0}")]
    Simulation(#[from] SimulationError),
    /// An experiment has no result, for another reason than those that have variants here.
    #[error("{0}")]
    Experiment(ExperimentError),
    /// The results are there, but a sched_ext scheduler went before the end of a run, which `fair` finished.
    #[error("{0}: its results are partly those of fair")]
    Ejected(String),
    /// The results are there, and worse than a baseline's by what the user has set as the limit.
    #[error("{0}")]
    Worse(String),
    /// The results are there, and whether they are worse than a baseline's is undecided.
    #[error("{0}")]
    Undecided(String),
    /// The results that were finished before an interrupt are there; this says which are missing.
    #[error("interrupted: {0}")]
    Interrupted(String),
    /// A file could not be written.
    #[error("{}: cannot be written: {source}", path.display())]
    File {
        /// The file, as the user named it.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Standard output could not be written.
    #[error("standard output: {0}")]
    Output(#[from] io::Error),
    /// Information about this computer could not be read.
    #[error("{0}")]
    System(String),
    /// The command of `tandem run` was not started.
    #[error("{0}")]
    NotStarted(String),
    /// A report that was made again comes out different; this says where.
    #[error("{0}")]
    Differs(String),
    /// Everything has been said; this is the exit status, mostly that of a command which was run.
    #[error("exit status {0}")]
    Status(u8),
}

impl From<ExperimentError> for Failure {
    fn from(error: ExperimentError) -> Self {
        match error {
            ExperimentError::Input(error) => Self::Input(error),
            ExperimentError::Scenario(error) => error.into(),
            ExperimentError::Simulation(error) => Self::Simulation(error),
            error => Self::Experiment(error),
        }
    }
}

impl From<NoSize> for Failure {
    fn from(error: NoSize) -> Self {
        Self::Options(error.to_string())
    }
}

impl Failure {
    /// The failure of writing `path`.
    pub fn writing(path: &Path, source: io::Error) -> Self {
        Self::File { path: path.to_owned(), source }
    }

    /// Says on standard error what failed, and returns the exit status. A reader that closed the pipe has got what it
    /// wanted, so that is no failure and gives no message.
    pub fn report(&self) -> ExitCode {
        if matches!(self, Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe) {
            return ExitCode::SUCCESS;
        }
        if let Self::Status(status) = self {
            return ExitCode::from(*status);
        }
        // If standard error is closed too, only the status says it.
        let _ = writeln!(io::stderr(), "error: {self}");
        ExitCode::from(self.status())
    }

    fn status(&self) -> u8 {
        match self {
            Self::Simulation(error) | Self::Experiment(ExperimentError::Run { source: error, .. }) => {
                of_simulation(error)
            }
            Self::Experiment(ExperimentError::Interrupted) | Self::Interrupted(_) => INTERRUPTED,
            Self::Experiment(ExperimentError::Threads(_)) => OTHER,
            Self::Experiment(_) => MISTAKE,
            Self::Ejected(_) => EJECTED,
            Self::Worse(_) => WORSE,
            Self::Undecided(_) => UNDECIDED,
            Self::Input(_) | Self::Options(_) => MISTAKE,
            Self::File { .. } | Self::Output(_) | Self::System(_) | Self::Differs(_) => OTHER,
            Self::NotStarted(_) => NOT_STARTED,
            Self::Status(status) => *status,
        }
    }
}

fn of_simulation(error: &SimulationError) -> u8 {
    match error {
        SimulationError::Stuck { .. }
        | SimulationError::NoProgress { .. }
        | SimulationError::TooManyThreads { .. }
        | SimulationError::Unfinished { .. } => STUCK,
        SimulationError::Scheduler { .. } | SimulationError::Hotplug { .. } => MISTAKE,
        SimulationError::KernelMemory { .. } | SimulationError::Governor(_) => MISTAKE,
        SimulationError::Memory(_) => OTHER,
        SimulationError::Stopped { .. } => INTERRUPTED,
        SimulationError::ForkRefused { .. } => EJECTED,
    }
}

#[cfg(test)]
mod tests {
    use tandem_simulator::simulation::OverBudget;

    use super::*;

    #[test]
    fn a_refused_thread_is_the_schedulers_doing_and_not_this_computers() {
        let error = SimulationError::ForkRefused { thread: "worker".to_owned(), errno: -11 };
        assert_eq!(Failure::Simulation(error).status(), 4);
    }

    #[test]
    fn memory_of_the_simulated_kernel_is_an_option_and_that_of_this_computer_is_not() {
        let (thread, why) = ("worker".to_owned(), "out of memory".to_owned());
        let simulated = SimulationError::KernelMemory { thread, why, at: 0 };
        assert_eq!(Failure::Simulation(simulated).status(), 2);
        let own = OverBudget { wanted: 2, used: 0, others: 0, limit: 1 };
        assert_eq!(Failure::Simulation(own.into()).status(), 1);
    }
}
