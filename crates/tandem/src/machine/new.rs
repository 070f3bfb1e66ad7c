// SPDX-License-Identifier: GPL-2.0-only
//! `tandem machine new`: a description to fill in.

use std::path::{Path, PathBuf};

use clap::Args;
use tandem_live::session::ROOT;
use tandem_simulator::input::valid_names;
use tandem_simulator::machine::detect::detect;
use tandem_simulator::machine::template::{nearest, template};
use tandem_simulator::machine::{Machine, catalogue};

use crate::context::Context;
use crate::failure::Failure;
use crate::files::{DASH, Kind, Output};

/// Write a description to fill in: the values of a bundled machine, each marked as assumed
#[derive(Debug, Args)]
pub struct New {
    /// What the machine is called
    #[arg(value_name = "NAME")]
    name: String,

    /// The bundled machine whose values it begins with; by default the nearest to the machine this runs on
    #[arg(long, value_name = "MACHINE")]
    like: Option<String>,

    /// Write the description to this file instead of standard output (`-`)
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Replace an existing file, whatever has been filled in there
    #[arg(long)]
    force: bool,
}

impl New {
    /// Runs the command.
    pub fn run(&self, context: &mut Context<'_>) -> Result<(), Failure> {
        let file = self.output.as_deref().filter(|path| *path != Path::new(DASH));
        if let Some(path) = file.filter(|path| path.exists() && !self.force) {
            let what = "there is a file, which may have been filled in\n  help: --force replaces it";
            return Err(Failure::Options(format!("{}: {what}", path.display())));
        }
        let like = match &self.like {
            Some(like) => like.clone(),
            None => self.nearest_here()?,
        };
        let text = template(&self.name, &like).ok_or_else(|| {
            let help = valid_names(&like, &catalogue::names().collect::<Vec<_>>());
            Failure::Options(format!("--like: no bundled machine `{like}`\n  help: {help}"))
        })?;
        context.deliver(file.map(|path| Output { path, kind: Kind::Machine, force: self.force }), &text)
    }

    /// The bundled machine that is nearest to the one this runs on.
    fn nearest_here(&self) -> Result<String, Failure> {
        let detected = detect(Path::new(ROOT), &self.name).map_err(|error| Failure::System(error.to_string()))?;
        let own = Machine::parse(&self.name, Path::new("this machine"), &detected.toml, None)?;
        Ok(nearest(&own).to_owned())
    }
}
