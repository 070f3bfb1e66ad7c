// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why there is no session, or why one ended.

use std::io;
use std::path::PathBuf;

use crate::LiveError;
use crate::affinity::AffinityError;
use crate::changes::ChangeError;
use crate::control::ControlError;
use crate::metrics::MetricsError;
use crate::plan::PlanError;

use super::gone::Gone;

/// Why a session did not begin, or could not go on.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// A mistake in a setting of the scheduler.
    #[error("{name}={value}: {why}")]
    Setting {
        /// The setting.
        name: String,
        /// The value that it was to get.
        value: String,
        /// What is wrong with it.
        why: LiveError,
    },
    /// A mistake in a setting that affinities should heed.
    #[error("{0}")]
    AffinitySetting(AffinityError),
    /// The scheduler's object, or the file beside it, has a mistake.
    #[error("{0}")]
    Object(LiveError),
    /// Nothing says which CPUs there are.
    #[error("{0}")]
    Machine(LiveError),
    /// The machine cannot do what is asked for.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The kernel does not take the scheduler, or the scheduler refuses the machine or its settings.
    #[error("{0}")]
    Load(LiveError),
    /// Affinities and limits of clocks cannot do it here.
    #[error("{0}")]
    Affinity(AffinityError),
    /// Another session runs.
    #[error("Tandem runs already (process {process}): `tandem status` shows it")]
    Running {
        /// The process that has the lock; empty if it has not written its number yet.
        process: String,
    },
    /// The lock cannot be made.
    #[error("{}: cannot be written: {why}", path.display())]
    Lock {
        /// The file of the lock.
        path: PathBuf,
        /// What the system said.
        why: io::Error,
    },
    /// A setting of the machine cannot be changed, or what a killed session left cannot be read.
    #[error(transparent)]
    Change(#[from] ChangeError),
    /// Nothing can be asked at the control socket.
    #[error(transparent)]
    Control(#[from] ControlError),
    /// Nothing can be asked for metrics.
    #[error(transparent)]
    Metrics(#[from] MetricsError),
    /// A process cannot be made an application.
    #[error("{0}")]
    Application(String),
    /// The command cannot be started.
    #[error("the command cannot be started: {0}")]
    Launch(io::Error),
    /// A signal asked for the end before the command was started; its number.
    #[error("ended by signal {0} before the command was started")]
    Interrupted(i32),
    /// The scheduler went before it was asked to.
    #[error("{0}")]
    Ejected(Gone),
    /// What was done lately could not be said.
    #[error("what was done cannot be said: {0}")]
    Activity(io::Error),
}
