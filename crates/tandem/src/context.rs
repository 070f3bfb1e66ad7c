// SPDX-License-Identifier: GPL-2.0-only
//! The context that every command gets.

use std::io::{Write, stderr};
use std::sync::{Mutex, PoisonError};

use console::Term;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use tandem_experiments::{Progress, Simulator};

use crate::files::Files;

/// The context that every command gets.
pub struct Context<'a> {
    /// Runs the simulations.
    pub simulator: &'a dyn Simulator,
    /// Where results are written, for people and for programs.
    pub out: &'a mut dyn Write,
    /// Columns of the terminal that `out` is; `None` if `out` is no terminal.
    pub width: Option<usize>,
    /// Whether a person watches standard error, so that progress is worth showing.
    pub progress: bool,
    /// The files that the command writes.
    pub files: Files,
}

impl<'a> Context<'a> {
    /// Warns on standard error. If standard error is closed, the warning is dropped.
    pub fn warn(&self, warning: &str) {
        warn(warning);
    }

    /// Shows the progress of runs on standard error; shows nothing if no person watches.
    pub fn bar(&self) -> Bar {
        Bar { watched: self.progress, shown: Mutex::new(ProgressBar::hidden()) }
    }

    /// The context of this process, whose standard output is `out`.
    pub fn of_process(simulator: &'a dyn Simulator, out: &'a mut dyn Write, files: Files) -> Self {
        let stdout = Term::stdout();
        let width = stdout.is_term().then(|| usize::from(stdout.size().1));
        Self { simulator, out, width, progress: Term::stderr().is_term(), files }
    }
}

fn warn(warning: &str) {
    let _ = writeln!(stderr(), "warning: {warning}");
}

/// A bar on standard error that shows how many of the runs under way are done.
#[derive(Debug)]
pub struct Bar {
    watched: bool,
    /// The bar of the runs under way; a hidden one between them.
    shown: Mutex<ProgressBar>,
}

impl Bar {
    fn shown(&self) -> ProgressBar {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Progress for Bar {
    fn begin(&self, what: &str, runs: usize) {
        let target = if self.watched { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(runs as u64), target);
        let style = ProgressStyle::with_template("{prefix}{bar:30} {pos}/{len} runs, {eta} left");
        let prefix = if what.is_empty() { String::new() } else { format!("{what}: ") };
        let bar = bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar())).with_prefix(prefix);
        *self.shown.lock().unwrap_or_else(PoisonError::into_inner) = bar;
    }

    fn run_done(&self) {
        self.shown().inc(1);
    }

    fn end(&self) {
        self.shown().finish_and_clear();
    }

    fn warn(&self, warning: &str) {
        warn(warning);
    }
}
