// SPDX-License-Identifier: GPL-2.0-only
//! What `tandem run` and `tandem attach` are asked to do: mechanisms, settings, the way of acting.

use clap::{Args, ValueEnum};
use tandem_live::control::Announcers;
use tandem_live::plan::{Choice, Governor, SessionRequest};

use super::bandwidth;
use crate::arguments::{Settings, settings};
use crate::failure::Failure;
use crate::mechanism;

/// Options that both commands have.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Mechanisms")]
pub struct MechanismOptions {
    /// All five: what can act here acts, isolation as `shared` unless said otherwise
    #[arg(long)]
    all: bool,

    /// Keep operating-system noise on one CPU, which applications do not use, or use too
    #[arg(long, value_name = "HOW", value_enum)]
    isolate: Option<Isolation>,

    /// The longest jobs run on the fastest CPUs
    #[arg(long)]
    longest: bool,

    /// Serial phases of parallel programs run first
    #[arg(long)]
    serial_first: bool,

    /// Memory-bound threads run beside compute-bound ones
    #[arg(long)]
    sorted: bool,

    /// Clocks follow idle and loaded CPUs, and what runs there
    #[arg(long)]
    speed: bool,

    /// Change a setting of the scheduler (`tandem scheduler show tandem` lists them); may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE,...", value_parser = settings)]
    settings: Vec<Settings>,

    /// A description of this machine (`tandem machine detect --measure`), for what no file of the kernel says: what its memory
    /// can move. Without it `speed` does not know which threads wait for memory, unless `--set memory_mbps=` says it
    #[arg(long, value_name = "M")]
    machine: Option<String>,

    /// Act through sched_ext, or through affinities and clocks alone, which `isolate` and `longest` can do with
    #[arg(long, value_enum, default_value_t)]
    backend: BackendChoice,

    /// Whether to switch clocks to schedutil meanwhile, which a scheduler needs to ask for them, or keep the governors
    #[arg(long, value_enum)]
    governor: Option<GovernorChoice>,

    /// Who may announce applications, each for processes of their own: `root`, `anybody`, or root and a GROUP, by name or
    /// number. Without it root with isolation, where an application keeps all other programs off its CPUs; else anybody
    #[arg(long, value_name = "WHO", value_parser = announcers)]
    announce: Option<Announcers>,
}

fn announcers(word: &str) -> Result<Announcers, String> {
    Announcers::named(word).map_err(|error| error.to_string())
}

/// How noise is kept apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Isolation {
    /// Applications stay off its CPU
    Dedicated,
    /// Applications may use it, too
    Shared,
}

/// How to act.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum BackendChoice {
    /// sched_ext; where it is missing, say what is
    #[default]
    Auto,
    /// sched_ext
    SchedExt,
    /// Affinities and clocks
    Affinity,
}

/// Who shall choose clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum GovernorChoice {
    /// schedutil, which follows the scheduler
    Schedutil,
    /// Whoever does now
    Keep,
}

impl MechanismOptions {
    /// Settings of the scheduler, in the order in which they take effect.
    fn settings(&self) -> Result<Vec<(String, String)>, Failure> {
        let flags = [
            ("all", self.all),
            ("longest", self.longest),
            ("serial_first", self.serial_first),
            ("sorted", self.sorted),
            ("speed", self.speed),
        ];
        let on = flags.into_iter().filter(|(_, on)| *on).map(|(name, _)| (name, "true"));
        let isolate = self.isolate.map(|how| match how {
            Isolation::Dedicated => ("isolate", "dedicated"),
            Isolation::Shared => ("isolate", "shared"),
        });
        let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        let described = self.machine.as_deref().map(bandwidth::setting).transpose()?;
        let set = self.settings.iter().flat_map(Settings::pairs);
        Ok(on.chain(isolate).map(owned).chain(described).chain(set.map(owned)).collect())
    }

    /// What to plan for.
    ///
    /// # Errors
    /// [`Failure::Input`], [`Failure::Options`]: the machine's description is none, or does not say what it is asked for.
    pub fn request(&self) -> Result<SessionRequest, Failure> {
        let settings = self.settings()?;
        Ok(SessionRequest {
            backend: match self.backend {
                BackendChoice::Auto => Choice::Auto,
                BackendChoice::SchedExt => Choice::SchedExt,
                BackendChoice::Affinity => Choice::Affinity,
            },
            keeps_limits: mechanism::keeps_limits(),
            settings,
            governor: self.governor.map(|governor| match governor {
                GovernorChoice::Schedutil => Governor::Schedutil,
                GovernorChoice::Keep => Governor::Keep,
            }),
            announcers: self.announce.clone(),
            states: mechanism::states().clone(),
        })
    }
}
