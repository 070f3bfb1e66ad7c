// SPDX-License-Identifier: GPL-2.0-only
//! What every command is given.

use std::io::{Write, stderr};

use console::Term;

use crate::files::Files;
use crate::simulator::{Linux, Simulator};

/// What every command is given.
pub struct Context<'a> {
    /// Runs the simulations.
    pub simulator: &'a dyn Simulator,
    /// Where results for people and programs go.
    pub out: &'a mut dyn Write,
    /// Columns of the terminal that `out` is; `None` if it is none.
    pub width: Option<usize>,
    /// Whether somebody watches standard error, so that progress is worth showing.
    pub progress: bool,
    /// The files that the command writes.
    pub files: Files,
}

impl<'a> Context<'a> {
    /// Warns on standard error; whoever closed it does not want to know.
    pub fn warn(&self, warning: &str) {
        let _ = writeln!(stderr(), "warning: {warning}");
    }

    /// The context of this process, whose standard output is `out`.
    pub fn of_process(out: &'a mut dyn Write, files: Files) -> Self {
        let stdout = Term::stdout();
        let width = stdout.is_term().then(|| usize::from(stdout.size().1));
        Self { simulator: &Linux, out, width, progress: Term::stderr().is_term(), files }
    }
}
