// SPDX-License-Identifier: GPL-2.0-only
//! What every command is given.

use std::io::{Write, stderr};

use console::Term;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

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

    /// A bar on standard error for so many runs; hidden where nobody watches.
    pub fn progress_bar(&self, runs: usize) -> ProgressBar {
        let target = if self.progress { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(runs as u64), target);
        let style = ProgressStyle::with_template("{prefix}{bar:30} {pos}/{len} runs, {eta} left");
        bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
    }

    /// The context of this process, whose standard output is `out`.
    pub fn of_process(out: &'a mut dyn Write, files: Files) -> Self {
        let stdout = Term::stdout();
        let width = stdout.is_term().then(|| usize::from(stdout.size().1));
        Self { simulator: &Linux, out, width, progress: Term::stderr().is_term(), files }
    }
}
