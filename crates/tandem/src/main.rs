// SPDX-License-Identifier: GPL-2.0-only
//! The `tandem` command: reads arguments, calls the simulator or the kernel, prints.
//!
//! - [`cli`]: the commands; each is a struct with its arguments and `run`. [`arguments`]: values of options.
//! - [`simulate`], [`why`], [`compare`], [`explain`], [`analyze`], [`mod@bench`], [`machine`], [`scheduler`], [`workload`]: one command each.
//! - [`one_run`]: what commands share that simulate once.
//! - [`tune`]: settings of a scheduler, searched. [`experiment`]: experiments of one's own. [`reproduce`]: the published numbers of
//!   papers beside ours. [`figures`]: plots of them.
//! - [`report`]: results as a page for a browser. [`mod@ui`]: a page to run from.
//! - [`schema`]: what the JSON of commands looks like, for programs.
//! - [`sensitivity`]: which values of a machine matter.
//! - [`live`]: the commands for the kernel that is running.
//! - [`calibrate`]: what `tandem machine detect` measured, as values of a description.
//! - [`bundled`]: the schedulers that the command carries. [`mechanism`]: what Tandem's says of its mechanisms.
//! - [`context`]: what commands are given: the simulator, where to print, the [`files`] they write; [`json`]: how.
//! - [`interrupt`]: Ctrl-C where a command ends in order.
//! - [`produced`]: what a report was produced by; [`mod@rerun`] makes it again.
//! - [`progress`]: lines for a log while runs go on.
//! - [`store`]: where finished ones are kept.
//! - [`shell`]: completions and manual pages.
//! - [`quantity`], [`table`]: numbers and text for people. [`failure`]: exit statuses.

mod analyze;
mod arguments;
mod bench;
mod bundled;
mod calibrate;
mod cli;
mod compare;
mod context;
mod experiment;
mod explain;
mod failure;
mod figures;
mod files;
mod interrupt;
mod json;
mod live;
#[cfg(test)]
mod loaders;
mod machine;
mod mechanism;
mod one_run;
mod produced;
mod progress;
mod quantity;
mod report;
mod reproduce;
mod rerun;
mod scheduler;
mod schema;
mod sensitivity;
mod shell;
mod simulate;
mod store;
mod table;
mod tune;
mod ui;
mod why;
mod workload;

#[cfg(test)]
mod stories;

use std::ffi::OsString;
use std::io::{Write, stdout};
use std::process::ExitCode;

use tandem_experiments::LinuxWithin;

use crate::cli::Cli;
use crate::context::Context;
use crate::failure::Failure;
use crate::files::Files;
use crate::interrupt::{Interrupt, PROGRESS};
use crate::produced::without_outputs;
use crate::store::Place;

fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().collect();
    let result = match Cli::read(&words) {
        Ok(cli) => run(&cli, without_outputs(&words)),
        Err(error) if error.use_stderr() => error.exit(),
        Err(help) => printed(&help),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

/// Prints the help or the version that was asked for. Clap itself would not mind a full disk.
fn printed(help: &clap::Error) -> Result<(), Failure> {
    help.print()?;
    Ok(stdout().flush()?)
}

fn run(cli: &Cli, command: Vec<String>) -> Result<(), Failure> {
    let (files, interrupt) = (Files::default(), Interrupt::telling(std::env::var_os(PROGRESS).map(Into::into)));
    if !cli.minds_signals() {
        files
            .remove_on_signals(&interrupt)
            .map_err(|error| Failure::System(format!("cannot watch for signals: {error}")))?;
    }
    let mut out = stdout().lock();
    let simulator = LinuxWithin { memory: tandem_experiments::memory::budget()?, bpf: cli.bpf() };
    let store = Place::of_process()?.map(|place| place.of_runs_by(cli.bpf()));
    let context = Context::of_process(&simulator, &mut out, files, interrupt);
    let result = cli.run(&mut Context { store, command, ..context });
    // Results that come with a failure are flushed too.
    out.flush()?;
    result
}
