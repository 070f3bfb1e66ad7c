// SPDX-License-Identifier: GPL-2.0-only
//! `tandem workload GENERATOR`: prints a generated workload. The generators have the names, options and texts.

use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Command, FromArgMatches, Subcommand, value_parser};
use tandem_simulator::workload::generate::{self, Generator, OptionInfo, generators};

use crate::context::Context;
use crate::failure::Failure;
use crate::files::{Kind, Output};

/// The generator that was chosen, and the options that were given.
#[derive(Debug, Clone)]
pub struct Generate {
    command: String,
    /// Options that were given and their values, in the generator's order.
    given: Vec<(&'static str, String)>,
    output: Option<PathBuf>,
    force: bool,
}

impl Generate {
    /// Runs the command.
    pub fn run(&self, context: &mut Context<'_>) -> Result<(), Failure> {
        let text = self.text()?;
        let output = self.output.as_deref().map(|path| Output { path, kind: Kind::Workload, force: self.force });
        context.deliver(output, &text)
    }

    /// The generated file.
    fn text(&self) -> Result<String, Failure> {
        let known = generators().into_iter().find(|generator| generator.command() == self.command);
        let Some(mut generator) = known else {
            return Err(Failure::Options(format!("no generator `{}`", self.command)));
        };
        let mistake = |error: generate::OptionError| Failure::Options(error.to_string());
        for (option, value) in &self.given {
            generator.set(option, value).map_err(mistake)?;
        }
        generate::text(generator.as_ref()).map_err(mistake)
    }
}

/// The command of one generator.
fn command(generator: &dyn Generator) -> Command {
    let about = generator.about();
    let sentence = about.split_once(". ").map_or(about.as_str(), |(first, _)| first).to_owned();
    let output = Arg::new("output").short('o').long("output").value_name("FILE").value_parser(value_parser!(PathBuf));
    let force = Arg::new("force").long("force").action(ArgAction::SetTrue);
    Command::new(generator.command())
        .about(sentence)
        .long_about(format!("{about}\n\nSource: {}.", generator.source()))
        .args(generator.options().iter().map(argument))
        .arg(output.help("Write to this file instead of standard output (`-`)"))
        .arg(force.help("Replace an existing file even if tandem did not generate it"))
}

fn argument(option: &OptionInfo) -> Arg {
    let argument = Arg::new(option.name).long(option.name);
    if option.flag {
        return argument.action(ArgAction::SetTrue).help(option.help.clone());
    }
    let action = if option.list { ArgAction::Append } else { ArgAction::Set };
    argument
        .action(action)
        .value_name(option.value_name)
        .allow_hyphen_values(true)
        .help(format!("{} [{}; default: {}]", option.help, option.valid, option.value))
}

/// The value that was given for `option`.
fn given(option: &OptionInfo, matches: &ArgMatches) -> Option<(&'static str, String)> {
    if option.flag {
        return matches.get_flag(option.name).then(|| (option.name, "true".to_owned()));
    }
    let values: Vec<&str> = matches.get_many::<String>(option.name)?.map(String::as_str).collect();
    Some((option.name, values.join(",")))
}

impl FromArgMatches for Generate {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let missing = || clap::Error::new(ErrorKind::MissingSubcommand);
        let (command, matches) = matches.subcommand().ok_or_else(missing)?;
        let generator =
            generators().into_iter().find(|generator| generator.command() == command).ok_or_else(missing)?;
        let given = generator.options().iter().filter_map(|option| given(option, matches)).collect();
        let (output, force) = (matches.get_one("output").cloned(), matches.get_flag("force"));
        Ok(Self { command: command.to_owned(), given, output, force })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Subcommand for Generate {
    fn augment_subcommands(parent: Command) -> Command {
        parent.subcommands(generators().iter().map(|generator| command(generator.as_ref())))
    }

    fn augment_subcommands_for_update(parent: Command) -> Command {
        Self::augment_subcommands(parent)
    }

    fn has_subcommand(name: &str) -> bool {
        generators().iter().any(|generator| generator.command() == name)
    }
}
