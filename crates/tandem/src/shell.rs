// SPDX-License-Identifier: GPL-2.0-only
//! `tandem completions` and `tandem manual`: what shells and `man` are told of the command line.

use std::fs;
use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, Command, CommandFactory, ValueEnum};
use clap_complete::Shell;
use tandem_simulator::machine::catalogue;

use crate::cli::Cli;
use crate::context::Context;
use crate::failure::Failure;

const EXAMPLES: &str = "\
Examples:
  source <(tandem completions bash)
  tandem completions zsh >~/.zfunc/_tandem
  tandem completions fish >~/.config/fish/completions/tandem.fish

`make install` puts those of the three shells where they look for them.";

/// The shells that know completions of other commands.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Interactive {
    Bash,
    Zsh,
    Fish,
}

/// Print a script that completes the command's words in a shell
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Completions {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: Interactive,
}

/// Write manual pages, one for each command
#[derive(Debug, Args)]
pub struct Manual {
    /// The folder for them; it is made if it is not there
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
}

impl Completions {
    /// Runs the command.
    pub fn run(&self, context: &mut Context<'_>) -> Result<(), Failure> {
        let shell = match self.shell {
            Interactive::Bash => Shell::Bash,
            Interactive::Zsh => Shell::Zsh,
            Interactive::Fish => Shell::Fish,
        };
        let mut script = Vec::new();
        clap_complete::generate(shell, &mut with_machines(Cli::command()), "tandem", &mut script);
        Ok(context.out.write_all(&script)?)
    }
}

impl Manual {
    /// Runs the command.
    pub fn run(&self) -> Result<(), Failure> {
        let failed =
            |error| Failure::System(format!("cannot write manual pages to {}: {error}", self.folder.display()));
        fs::create_dir_all(&self.folder).map_err(failed)?;
        clap_mangen::generate_to(Cli::command(), &self.folder).map_err(failed)
    }
}

/// The command with the bundled machines as what `--machine` takes. Files are taken, too, but a name is what people write.
fn with_machines(command: Command) -> Command {
    command.mut_subcommands(|subcommand| {
        if subcommand.get_arguments().all(|arg| arg.get_id() != "machine") {
            return subcommand;
        }
        subcommand.mut_arg("machine", |arg| arg.value_parser(PossibleValuesParser::new(catalogue::names())))
    })
}
