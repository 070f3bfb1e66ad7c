// SPDX-License-Identifier: GPL-2.0-only
//! `tandem ui`: a page in the browser of this computer. The server is [`tandem_ui`]'s; docs/ui.md is the page's guide.

use std::io::{Write, stderr};
use std::process::{Command, Stdio};

use clap::Args;
use tandem_simulator::simulation::Governor;
use tandem_ui::{Carried, Server, UiError};

use crate::bundled;
use crate::context::Context;
use crate::failure::Failure;
use crate::produced::VERSION;

const EXAMPLES: &str = "\
Examples:
  tandem ui
  tandem ui --open
  tandem ui --port 4000        (behind `ssh -L 4000:127.0.0.1:4000 HOST`)

The address has a token: whoever knows it can run simulations as you, so share reports, not the
address. Ctrl-C ends the page and the runs under way; finished runs are kept, as by `tandem compare`.";

/// Choose, run and compare in a browser, on a page that only this computer can reach
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Ui {
    /// Listen at this port of 127.0.0.1; by default at one that is free
    #[arg(long, value_name = "PORT", default_value_t = 0, hide_default_value = true)]
    port: u16,

    /// Open the page in the browser (xdg-open)
    #[arg(long)]
    open: bool,
}

impl Ui {
    /// Runs the command.
    pub fn run(&self, context: &mut Context<'_>) -> Result<(), Failure> {
        // In all runs the same file, even if another is put in its place meanwhile.
        let program = "/proc/self/exe".into();
        let program = std::env::current_exe().map_or(program, Into::into);
        let server = Server::new(self.port, program, carried())?;
        context.interrupt.all_awaited();
        writeln!(context.out, "{}", server.url())?;
        context.out.flush()?;
        if context.progress {
            writeln!(stderr(), "Ctrl-C ends the page and the runs under way")?;
        }
        if self.open {
            open(&server.url(), context);
        }
        server.serve(|| context.interrupt.has_arrived())?;
        Ok(())
    }
}

impl From<UiError> for Failure {
    fn from(error: UiError) -> Self {
        Self::System(error.to_string())
    }
}

/// Versions of Linux, as `--kernel` takes them.
const KERNELS: [&str; 3] = ["6.12", "6.18", "7.1"];

/// What the command has to choose from.
fn carried() -> Carried {
    let settings = |name: &&str| {
        let scheduler = bundled::open(name)?.ok()?;
        let listing = scheduler.listing().ok()?;
        let settings = listing.variables.into_iter().filter(|variable| variable.setting);
        let described = settings.map(|it| (format!("{}={}", it.name, it.default), it.help.unwrap_or_default()));
        Some(((*name).to_owned(), described.collect()))
    };
    Carried {
        version: VERSION.to_owned(),
        schedulers: ["fair"].into_iter().chain(bundled::NAMES).map(str::to_owned).collect(),
        // What none is named for is a choice of its own.
        governors: Governor::NAMES.into_iter().filter(|name| *name != "default").map(str::to_owned).collect(),
        kernels: KERNELS.map(str::to_owned).to_vec(),
        settings: bundled::NAMES.iter().filter_map(settings).collect(),
    }
}

/// Opens the address in the person's browser, which outlives this command or not, as it likes.
fn open(url: &str, context: &Context<'_>) {
    let quiet = || Stdio::null();
    let opened = Command::new("xdg-open").arg(url).stdin(quiet()).stdout(quiet()).stderr(quiet()).spawn();
    if let Err(error) = opened {
        context.warn(&format!("no browser could be opened: xdg-open: {error}"));
    }
}

#[cfg(test)]
mod tests {
    use tandem_simulator::simulation::Profile;

    use super::*;

    #[test]
    fn what_the_page_offers_the_command_takes() {
        let carried = carried();
        assert!(carried.kernels.iter().all(|kernel| kernel.parse::<Profile>().is_ok()));
        assert_eq!(carried.schedulers, ["fair", "tandem", "single", "o1"]);
        for (scheduler, settings) in &carried.settings {
            assert!(crate::arguments::choice(scheduler).is_ok() && !settings.is_empty(), "{scheduler}");
            for (setting, _) in settings {
                let choice = crate::arguments::choice(&format!("{scheduler},{setting}"));
                assert!(choice.is_ok(), "{scheduler}: {choice:?}");
            }
        }
    }
}
