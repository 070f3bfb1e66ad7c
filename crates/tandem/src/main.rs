// SPDX-License-Identifier: GPL-2.0-only
//! The `tandem` command: reads arguments, calls the simulator or the kernel, prints.
//!
//! - [`cli`]: the commands; each is a struct with its arguments and `run`. [`arguments`]: values of options.
//! - [`simulate`], [`compare`], [`explain`], [`analyze`], [`mod@bench`], [`machine`], [`scheduler`], [`workload`]: one command each.
//! - [`reproduce`]: the published numbers of papers beside ours.
//! - [`schema`]: what the JSON of commands looks like, for programs.
//! - [`live`]: the commands for the kernel that is running.
//! - [`bundled`]: the schedulers that the command carries. [`mechanism`]: what Tandem's says of its mechanisms.
//! - [`context`]: what commands are given: the simulator, where to print, the [`files`] they write; [`json`]: how.
//! - [`interrupt`]: Ctrl-C where a command ends in order.
//! - [`progress`]: lines for a log while runs go on.
//! - [`memory`]: how much of it simulations may spend.
//! - [`quantity`], [`table`]: numbers and text for people. [`failure`]: exit statuses.

mod analyze;
mod arguments;
mod bench;
mod bundled;
mod cli;
mod compare;
mod context;
mod explain;
mod failure;
mod files;
mod interrupt;
mod json;
mod live;
#[cfg(test)]
mod loaders;
mod machine;
mod mechanism;
mod memory;
mod progress;
mod quantity;
mod reproduce;
mod scheduler;
mod schema;
mod simulate;
mod table;
mod workload;

#[cfg(test)]
mod stories;

use std::io::{Write, stdout};
use std::process::ExitCode;

use tandem_experiments::LinuxWithin;

use crate::cli::Cli;
use crate::context::Context;
use crate::failure::Failure;
use crate::files::Files;
use crate::interrupt::Interrupt;

fn main() -> ExitCode {
    let cli = Cli::read(std::env::args_os()).unwrap_or_else(|error| error.exit());
    match run(&cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

fn run(cli: &Cli) -> Result<(), Failure> {
    let (files, interrupt) = (Files::default(), Interrupt::default());
    if !cli.minds_signals() {
        files
            .remove_on_signals(&interrupt)
            .map_err(|error| Failure::System(format!("cannot watch for signals: {error}")))?;
    }
    let mut out = stdout().lock();
    let simulator = LinuxWithin(memory::budget()?);
    let result = cli.run(&mut Context::of_process(&simulator, &mut out, files, interrupt));
    // Results that come with a failure are flushed too.
    out.flush()?;
    result
}
