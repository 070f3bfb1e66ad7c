// SPDX-License-Identifier: GPL-2.0-only
//! The context that every command gets.

use std::io::{Write, stderr};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use console::Term;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use tandem_experiments::{Progress, Simulator, Store, Stored};

use crate::failure::Failure;
use crate::files::{DASH, Files, Output};
use crate::interrupt::Interrupt;
use crate::progress::Lines;
use crate::simulate::watched::Watch;
use crate::store::Place;

/// The context that every command gets.
pub struct Context<'a> {
    /// Runs the simulations.
    pub simulator: &'a dyn Simulator,
    /// Where results are written, for people and for programs.
    pub out: &'a mut dyn Write,
    /// Columns of the terminal that `out` is, or those that a pipe gets; `None`: as many as it takes.
    pub width: Option<usize>,
    /// Whether a person watches standard error, so that progress is worth showing.
    pub progress: bool,
    /// The files that the command writes.
    pub files: Files,
    /// Ctrl-C, for commands that end in order.
    pub interrupt: Interrupt,
    /// Where the reports of finished runs are kept; `None`: nowhere.
    pub store: Option<Place>,
    /// The words of the command line that results follow from.
    pub command: Vec<String>,
}

impl<'a> Context<'a> {
    /// Warns on standard error. If standard error is closed, the warning is dropped.
    pub fn warn(&self, warning: &str) {
        warn(warning);
    }

    /// Writes `content` as the whole of `output`; prints it if there is none, or if it is `-`.
    pub fn deliver(&mut self, output: Option<Output<'_>>, content: &str) -> Result<(), Failure> {
        match output.filter(|output| output.path != Path::new(DASH)) {
            Some(output) => self.files.write(output, content),
            None => Ok(self.out.write_all(content.as_bytes())?),
        }
    }

    /// Shows the progress of runs on standard error: a bar for a person who watches, else a few lines for a log.
    pub fn bar(&self) -> Bar {
        let (shown, lines) = (Mutex::new(ProgressBar::hidden()), Lines::default());
        let (interrupt, reached) = (self.interrupt.clone(), Mutex::default());
        Bar { watched: self.progress, kept: false, shown, lines, interrupt, reached }
    }

    /// Where it is told how far one run has come: on standard error if a person watches, and by who ends it.
    pub fn watch(&self) -> Watch {
        let bar = ProgressBar::with_draw_target(None, target(self.progress));
        Watch { bar, interrupt: self.interrupt.clone() }
    }

    /// The context of this process, whose standard output is `out`, without a store and words.
    pub fn of_process(
        simulator: &'a dyn Simulator,
        out: &'a mut dyn Write,
        files: Files,
        interrupt: Interrupt,
    ) -> Self {
        let width = columns(&Term::stdout());
        Self {
            simulator,
            out,
            width,
            progress: Term::stderr().is_term(),
            files,
            interrupt,
            store: None,
            command: Vec::new(),
        }
    }

    /// The reports of finished runs, if they are kept.
    pub fn store(&self) -> Result<Option<Store>, Failure> {
        Ok(self.store.as_ref().map(Place::open).transpose()?.flatten())
    }

    /// Tells a person who watches how many runs were not made, because they had been finished before; and warns of entries of the
    /// store that were not what their names say.
    pub fn tell_store(&self, simulator: &Stored<'_>) {
        let found = simulator.found();
        if self.progress && found > 0 {
            let _ = writeln!(stderr(), "note: {found} runs were finished before; --fresh makes them again");
        }
        if let [first, others @ ..] = &*simulator.unsound() {
            let others = if others.is_empty() { String::new() } else { format!(" and {} more", others.len()) };
            self.warn(&format!(
                "the store of finished runs had entries that are damaged, or of other runs than their names say: {}{others}; these runs \
                 were made again, and the entries replaced",
                first.display()
            ));
        }
    }
}

/// Columns of text in a pipe or a file, unless COLUMNS says otherwise: what a person reads there, with a pager or in a log.
const PIPED: usize = 100;

/// The columns to write for: a terminal's own; where there is none, in a pipe say, those of COLUMNS, and without these
/// [`PIPED`].
pub fn columns(term: &Term) -> Option<usize> {
    let own = term.is_term().then(|| usize::from(term.size().1));
    let asked = || wanted(&std::env::var("COLUMNS").ok()?);
    own.or_else(asked).or(Some(PIPED))
}

/// The columns that COLUMNS asks for; what is no number above 0 asks for nothing.
fn wanted(columns: &str) -> Option<usize> {
    columns.trim().parse().ok().filter(|columns| *columns > 0)
}

fn warn(warning: &str) {
    let _ = writeln!(stderr(), "warning: {warning}");
}

/// A bar on standard error that shows how many of the runs under way are ready, or done.
#[derive(Debug)]
pub struct Bar {
    watched: bool,
    /// Whether runs that are done are kept, so that the same command goes on.
    kept: bool,
    /// The bar of the runs under way; a hidden one between them.
    shown: Mutex<ProgressBar>,
    lines: Lines,
    interrupt: Interrupt,
    /// How many runs were done of those that were begun last, in words.
    reached: Mutex<Option<String>>,
}

impl Bar {
    /// How many runs were done of those that were begun last, for a message that says what an interrupt ended.
    pub fn how_far(&self) -> Option<String> {
        self.reached.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The same of runs that are kept in a store, if there is one.
    pub fn keeping(self, store: Option<&Store>) -> Self {
        Self { kept: store.is_some(), ..self }
    }

    /// Notes how many runs are done, for who ends the command now.
    fn note(&self) {
        let bar = self.shown();
        let (done, of) = (bar.position(), bar.length().unwrap_or_default());
        let goes_on = if self.kept && done > 0 { "; they are kept, and the same command goes on" } else { "" };
        let words = format!("{done} of {of} runs were done{goes_on}");
        *self.reached.lock().unwrap_or_else(PoisonError::into_inner) = Some(words.clone());
        self.interrupt.reached(Some(words));
        self.interrupt.tell(&format!("{done} of {of} runs"));
    }

    fn shown(&self) -> ProgressBar {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Shows that none of so many is done yet.
    fn show(&self, what: &str, count: usize, done: &str) {
        let bar = ProgressBar::with_draw_target(Some(count as u64), target(self.watched));
        let template = format!("{{prefix}}{{bar:30}} {{pos}}/{{len}} runs{done}, {{eta}} left");
        let style = ProgressStyle::with_template(&template);
        let prefix = if what.is_empty() { String::new() } else { format!("{what}: ") };
        let bar = bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar())).with_prefix(prefix);
        bar.tick();
        *self.shown.lock().unwrap_or_else(PoisonError::into_inner) = bar;
    }
}

/// Standard error if a person watches it.
fn target(watched: bool) -> ProgressDrawTarget {
    if watched { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() }
}

impl Progress for Bar {
    fn prepare(&self, what: &str, simulations: usize) {
        self.show(what, simulations, " ready");
    }

    fn prepared(&self) {
        self.shown().inc(1);
    }

    fn begin(&self, what: &str, runs: usize) {
        self.show(what, runs, "");
        self.lines.begin(what, runs);
        self.note();
    }

    fn run_done(&self) {
        self.shown().inc(1);
        self.note();
        if !self.watched {
            self.lines.run_done();
        }
    }

    fn end(&self) {
        self.shown().finish_and_clear();
        self.interrupt.reached(None);
    }

    fn stopped(&self) -> bool {
        self.interrupt.has_arrived()
    }

    fn warn(&self, warning: &str) {
        warn(warning);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_a_number_above_0() {
        assert_eq!(
            [wanted("40"), wanted(" 100 "), wanted("0"), wanted("-4"), wanted("")],
            [Some(40), Some(100), None, None, None]
        );
    }
}
