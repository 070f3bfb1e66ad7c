// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a session says while it lives: a command prints it.

use std::io;
use std::net::SocketAddr;

use super::gone::Gone;
use crate::changes::{ChangeError, Owner, Restored};
use crate::meter::Measured;
use crate::metrics::MetricsError;
use crate::plan::{Backend, Note};
use crate::{Exit, LeftOut, Uncounted};

/// Something that happened.
#[derive(Debug)]
pub enum Notice<'a> {
    /// A process was killed before it gave all back; that was done now.
    LeftBehind(&'a Owner, &'a Restored),
    /// What has a journal's name cannot be read as one: what it may say stays changed.
    NoJournal(&'a ChangeError),
    /// What people should know of the plan.
    Note(&'a Note),
    /// A part of the scheduler was left out, as the kernel does not have it.
    LeftOut(&'a LeftOut),
    /// A counter that the scheduler wants cannot be had.
    Uncounted(&'a Uncounted),
    /// A session that stays acts from now on.
    Attached {
        /// What acts.
        backend: Backend,
        /// Where metrics are.
        metrics: Option<SocketAddr>,
    },
    /// Metrics cannot be handed out; it will be tried again.
    NoMetrics(&'a MetricsError),
    /// Metrics are handed out now, where they could not be before.
    Metrics(SocketAddr),
    /// Something about the clocks that are steered, a sentence.
    Steered(&'a str),
    /// The scheduler is loaded again, as it wished.
    Reloading(&'a Exit),
    /// The scheduler went before it was asked to.
    Ejected {
        /// How the scheduler went.
        gone: &'a Gone,
        /// Whether the command runs on.
        command_runs: bool,
    },
    /// The command was interrupted, but has not ended: the machine is given back already.
    GivenBackEarly,
    /// The command is killed, as it was interrupted twice.
    Killing,
    /// A session that stayed begins to end.
    Ending,
    /// The machine was given back.
    GivenBack(&'a Restored),
    /// A session that stayed has ended; what the scheduler says of its end.
    Ended(Option<&'a Exit>),
}

/// Hears what a session says.
pub trait Listener {
    /// Something happened.
    fn hear(&mut self, notice: Notice<'_>);

    /// What was measured and counted since the session began, as often as was asked for.
    ///
    /// # Errors
    /// It cannot be passed on: that ends a session that stays.
    fn activity(&mut self, measured: &Measured, counters: &[(String, u64)]) -> io::Result<()>;
}
