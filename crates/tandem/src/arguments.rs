// SPDX-License-Identifier: GPL-2.0-only
//! Values of options: how they are written, and the types they become.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use tandem_experiments::{
    self as experiments, ParameterError, ScenarioError, Schedulers, Setting, UnknownSetting, VariedSetting,
};
use tandem_simulator::input::nearest;
use tandem_simulator::machine::Machine;
use tandem_simulator::simulation::{
    Bpf, Governor, Hotplug, KernelParameters, OpenError, Profile, SchedExt, Scheduler, UnknownBpf, UnknownProfile,
    UnknownScheduler,
};
use tandem_simulator::units::Nanos;

use crate::bundled;
use crate::context::Context;
use crate::failure::Failure;
use crate::files::DASH;

pub use tandem_experiments::{Choice, Pair, Settings, parse_duration as duration, parse_hotplug as hotplug};

/// The schedulers that the simulator knows, and those that the command carries.
#[derive(Debug, Clone, Copy)]
pub struct Carried;

impl Schedulers for Carried {
    fn named(&self, text: &str) -> Result<Scheduler, Box<dyn Error + Send + Sync>> {
        Ok(scheduler(text)?)
    }
}

/// Reads `S` or `S+G`.
pub fn choice(text: &str) -> Result<Choice, String> {
    Choice::parse(text, &Carried).map_err(|error| error.to_string())
}

/// Reads a scheduler without a governor.
fn scheduler(text: &str) -> Result<Scheduler, String> {
    bundled::SCHEDULERS.scheduler(text).map_err(|error| match error {
        UnknownScheduler::Object(error) => with_advice(&error),
        error => error.to_string(),
    })
}

/// Reads `NAME=VALUE[,VALUE]...`.
pub fn varied(text: &str) -> Result<VariedSetting, String> {
    text.parse().map_err(|error: ParameterError| error.to_string())
}

/// Reads a scheduler that the command carries, `tandem`, or the path of a sched_ext object, with variables to set behind it.
pub fn object(text: &str) -> Result<Arc<SchedExt>, String> {
    bundled::open(text).unwrap_or_else(|| SchedExt::open(text)).map(Arc::new).map_err(|error| with_advice(&error))
}

/// The folder of the kernel's example schedulers, in the folder of the sources.
const COMPILED: &str = "out/schedulers";

fn is_compiled(folder: &Path) -> bool {
    folder.ends_with(COMPILED)
}

/// What is wrong with a sched_ext object, and what to do.
fn with_advice(error: &OpenError) -> String {
    match error {
        OpenError::Variable { path, .. } => {
            format!("{error}\n  help: `tandem scheduler show {}` lists the variables", path.display())
        }
        OpenError::Read { path, nearest: None, .. } if !path.exists() && path.parent().is_some_and(is_compiled) => {
            format!("{error}\n  help: `make objects` compiles the kernel's example schedulers into {COMPILED}")
        }
        OpenError::Scheduler { .. } => format!("{error}\n  help: give a sched_ext object such as scx_simple.bpf.o"),
        _ => error.to_string(),
    }
}

/// Reads a governor's name.
pub fn governor(text: &str) -> Result<Governor, String> {
    text.parse::<Governor>().map_err(|error| error.to_string())
}

/// Reads a Linux version: `6.12` or `7.1`.
pub fn profile(text: &str) -> Result<Profile, String> {
    text.parse().map_err(|error: UnknownProfile| error.to_string())
}

/// Reads `interpreter`, `compiled` or `auto`.
pub fn bpf(text: &str) -> Result<Bpf, String> {
    text.parse().map_err(|error: UnknownBpf| error.to_string())
}

/// Reads `KEY=VALUE[,KEY=VALUE]...`.
pub fn settings(text: &str) -> Result<Settings, String> {
    text.parse().map_err(|error: experiments::ValueError| error.to_string())
}

/// Lists the keys that `--set` takes.
fn setting_help() -> String {
    let keys: Vec<String> = KernelParameters::KEYS.iter().map(|(key, meaning)| format!("  {key}: {meaning}")).collect();
    format!(
        "Set a kernel parameter, or a setting of the sched_ext schedulers that have it, for example `--set hz=1000` \
         or `--set serial_first=true,sorted=true`; may be repeated. `tandem scheduler show tandem` lists those of Tandem's \
         own scheduler, `tandem scheduler show OBJECT` an object's variables.\n\n\
         Kernel parameters:\n\n{}",
        keys.join("\n")
    )
}

/// Whether runs have what every system does beside its workload; shared by all commands that simulate for a person.
#[derive(Debug, Clone, Copy, Args)]
pub struct QuietOption {
    /// Leave out what every system does beside its workload: interrupts, kernel workers, timers that go off late
    ///
    /// As `--set disturbances=false`; what `--set` says of it counts in any case.
    #[arg(long)]
    pub quiet: bool,
}

impl QuietOption {
    /// `scenario` with what every system does, unless the runs shall be quiet.
    pub fn unless(self, scenario: experiments::Scenario) -> experiments::Scenario {
        if self.quiet { scenario } else { scenario.disturbed() }
    }
}

/// What titles of reports add of runs that have what every system does: nothing of quiet ones.
pub fn disturbed_words(disturbed: bool) -> &'static str {
    if disturbed { ", disturbed" } else { "" }
}

/// What is simulated; shared by the commands that simulate.
#[derive(Debug, Args)]
pub struct ScenarioOptions {
    /// Workload: an rt-app JSON file, a bundled name (see `tandem workload list`), or `-` for standard input
    pub workload: PathBuf,

    /// Machine: a bundled name (see `tandem machine list`) or a TOML file, with `:CONFIGURATION` behind it if wanted
    #[arg(short, long, value_name = "M")]
    pub machine: String,

    #[command(flatten)]
    pub run: RunOptions,
}

/// What all runs have in common besides machine and workload; shared by the commands that simulate.
#[derive(Debug, Args)]
pub struct RunOptions {
    /// Set kernel parameters (`--set hz=1000`) or what a sched_ext scheduler can be set to; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE,...", value_parser = settings, long_help = setting_help())]
    pub settings: Vec<Settings>,

    #[command(flatten)]
    pub quiet: QuietOption,

    /// Linux version whose rules hold: 6.12, 6.18 or 7.1; by default the one that the scheduler's object asks for, else 6.12
    #[arg(long = "kernel", value_name = "VERSION", value_parser = profile)]
    pub profile: Option<Profile>,

    /// End the run after this much simulated time, for example `10s` or `500ms`
    #[arg(long, value_name = "TIME", value_parser = duration, allow_hyphen_values = true)]
    pub duration: Option<Nanos>,

    /// Take a CPU offline or bring it back, for example `--hotplug 2s:3=off --hotplug 3s:3=on`; may be repeated
    #[arg(long, value_name = "TIME:CPU=off|on", value_parser = hotplug)]
    pub hotplug: Vec<Hotplug>,

    #[command(flatten)]
    pub bpf: BpfOption,
}

/// How BPF programs run; shared by the commands that simulate.
#[derive(Debug, Clone, Copy, Default, Args)]
pub struct BpfOption {
    /// How programs of sched_ext schedulers run: `compiled` into this computer's own instructions, by an `interpreter`, or `auto`,
    /// the default: compiled as soon as that is worth its time. Results are the same
    #[arg(long, value_name = "HOW", value_parser = bpf)]
    bpf: Option<Bpf>,
}

impl BpfOption {
    /// What was asked for, else what is usual.
    pub fn how(self) -> Bpf {
        self.bpf.unwrap_or_default()
    }
}

impl RunOptions {
    /// What the options say of all runs.
    pub fn scenario(&self) -> experiments::Scenario {
        self.quiet.unless(experiments::Scenario {
            settings: all_settings(&self.settings),
            profile: self.profile,
            time_limit: self.duration,
            hotplug: self.hotplug.clone(),
        })
    }
}

/// Says which files a run of `schedulers` reads, so that no output takes the place of one. What the command carries is no
/// file.
pub fn reads<'s>(
    context: &Context<'_>,
    machine: &str,
    workload: Option<&Path>,
    schedulers: impl IntoIterator<Item = &'s Scheduler>,
) {
    if let Some(path) = Machine::file(machine) {
        context.files.reads(&path, "the machine");
    }
    match workload {
        Some(path) if path == Path::new(DASH) => context.files.reads(Path::new("/dev/stdin"), "the workload"),
        Some(path) => context.files.reads(path, "the workload"),
        None => {}
    }
    for scheduler in schedulers {
        if let Scheduler::SchedExt(object) = scheduler {
            reads_object(context, object);
        }
    }
}

/// Says what `powersave` and `performance` are where the machine's driver has governors of these names, and which settings of a
/// driver's governor count for nothing.
pub fn tell_own_governors<'g>(
    context: &Context<'_>,
    machine: &Machine,
    governors: impl IntoIterator<Item = &'g Governor>,
) {
    for governor in governors {
        if let Governor::Pstate(tunables) = governor {
            tunables.unheard().into_iter().for_each(|warning| context.warn(&warning));
        }
        let Ok(own @ Governor::Pstate(_)) = governor.on(machine) else { continue };
        let (name, generic) = match governor {
            Governor::Powersave => ("powersave", "the lowest clock"),
            Governor::Performance => ("performance", "the generic one"),
            _ => continue,
        };
        context.warn(&format!(
            "governor `{name}` is on {} that of the machine's driver, `{own}`; {generic}, in the driver's passive mode, is \
             `passive:{name}`",
            machine.name
        ));
    }
}

/// Says that an object and the file beside it are read.
pub fn reads_object(context: &Context<'_>, object: &SchedExt) {
    let carried = object.path.to_str().is_some_and(|path| bundled::named(path).is_some());
    if !carried {
        context.files.reads(&object.path, "the scheduler");
        context.files.reads(&object.sidecar_path(), "the scheduler's loader file");
    }
}

/// The settings of every `--set`, in the order given.
pub fn all_settings(given: &[Settings]) -> Vec<Setting> {
    given.iter().flat_map(|Settings(settings)| settings).cloned().collect()
}

impl From<ScenarioError> for Failure {
    fn from(error: ScenarioError) -> Self {
        of_scenario("--set", error)
    }
}

impl From<ParameterError> for Failure {
    fn from(error: ParameterError) -> Self {
        match error {
            ParameterError::Setting(error) => of_scenario("--parameter", error),
            error => Self::Options(format!("--parameter: {error}")),
        }
    }
}

/// The failure of a setting that `option` has given.
fn of_scenario(option: &str, error: ScenarioError) -> Failure {
    let mistake = |text: String| Failure::Options(format!("{option}: {text}"));
    match error {
        ScenarioError::Load(error) => Failure::Simulation(error),
        ScenarioError::Clock(error) => Failure::Options(error.to_string()),
        ScenarioError::Governor(error) => Failure::Options(error.to_string()),
        ScenarioError::Variable(error) => mistake(with_advice(&error)),
        ScenarioError::Unknown(unknown) if of_carried(&unknown).is_some() => {
            mistake(of_carried(&unknown).unwrap_or_default())
        }
        ScenarioError::Unknown(unknown) if unknown.near().is_empty() && !unknown.schedulers.is_empty() => {
            let object = unknown.schedulers[0].path.display();
            mistake(format!("{unknown}\n  help: `tandem scheduler show {object}` lists the variables"))
        }
        error => mistake(error.to_string()),
    }
}

/// What to do about a setting that a scheduler has which the command carries, but which is not simulated: exactly that one,
/// or one with a name that is near, if nothing else is.
fn of_carried(unknown: &UnknownSetting) -> Option<String> {
    let UnknownSetting { key, schedulers } = unknown;
    let absent = |name: &&str| !schedulers.iter().any(|scheduler| scheduler.path == Path::new(name));
    for name in bundled::NAMES.into_iter().filter(absent) {
        let variables = bundled::open(name)?.ok()?.variables();
        let settings =
            variables.iter().filter(|variable| variable.tags.is_some()).map(|variable| variable.name.as_str());
        let near = nearest(key, settings).filter(|near| near == key || unknown.near().is_empty());
        if let Some(setting) = near {
            let like = if setting == key { "is" } else { "is no setting, but like" };
            let what = if setting == key { String::new() } else { format!(" `{setting}`,") };
            return Some(format!(
                "`{key}` {like}{what} a setting of the scheduler {name}, which is not simulated here\n  help: choose it by \
                 `-s {name}`; `tandem scheduler show {name}` lists its settings"
            ));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_are_named_by_version() {
        assert_eq!(profile("6.12"), Ok(Profile::V6_12));
        assert_eq!(profile("7.1"), Ok(Profile::V7));
        assert_eq!(profile("6.18"), Ok(Profile::V6_18));
        assert!(profile("6.6").unwrap_err().contains("`6.12`, `6.18` or `7.1`"));
    }

    #[test]
    fn the_governor_is_the_machines_unless_one_is_named() {
        assert_eq!(choice("fair").unwrap().pair().to_string(), "fair");
    }

    #[test]
    fn names_that_are_unknown_get_the_nearest() {
        assert!(choice("fiar").unwrap_err().contains("`fair`"));
        assert!(choice("fair+shedutil").unwrap_err().contains("`schedutil`"));
        assert!(choice("fair+").is_err());
        assert!(super::choice("tanden,sorted=true").unwrap_err().contains("did you mean `tandem`"));
        assert!(settings("hz").unwrap_err().contains("KEY=VALUE"));
        assert!(settings("=250").unwrap_err().contains("KEY=VALUE"));
        assert!(settings("hz=250,").unwrap_err().contains("KEY=VALUE"));
    }

    #[test]
    fn the_commands_own_scheduler_is_named_without_a_path() {
        let choice = super::choice("tandem,sorted=true,isolate=dedicated+powersave").unwrap();
        assert_eq!(choice.pair().to_string(), "tandem,sorted=true,isolate=dedicated+powersave");
        let pair = super::choice("tandem").unwrap().pair();
        assert_eq!(pair.to_string(), "tandem");
        assert!(super::choice("tandems").unwrap_err().contains("no scheduler `tandems`"));
    }
}
