// SPDX-License-Identifier: MIT OR Apache-2.0
//! What runs have in common besides machine and workload, and the pairs of scheduler and governor that they differ in.
//!
//! - [`Scenario`]: kernel parameters, settings of schedulers, kernel version, time limit, CPUs that come and go
//! - `pair`: [`Pair`], how it is written, and where the names of schedulers come from
//! - `carried`: schedulers that a program carries under names of their own
//! - `parameter`: settings that are varied, each value with each pair
//! - `settings`, `values`: texts such as `hz=1000`, `2.5ms` and `2s:3=off`
//! - `clock`: whether a machine has the clock that a governor is asked for
//! - `line`: lines of options, those of a run and those of a generator

mod carried;
mod clock;
pub(crate) mod generated;
pub(crate) mod line;
pub mod pair;
pub mod parameter;
pub mod settings;
pub mod values;

use std::path::PathBuf;
use std::sync::Arc;

use tandem_simulator::input::{nearest, valid_names};
use tandem_simulator::machine::Machine;
use tandem_simulator::simulation::{
    self, Bpf, Budget, Hotplug, KernelParameters, Linux, NotOffered, OpenError, Options, Profile, SchedExt, Scheduler,
    SettingError, SimulationError,
};
use tandem_simulator::units::{Nanos, seconds};

pub use carried::{CarriedObject, FairOrCarried};
pub use clock::ClockOutside;
use pair::Pair;
use settings::Setting;

/// What all runs of a comparison, or of a simulation over seeds, have in common besides machine and workload.
///
/// Nothing disturbs these runs unless a setting or [`Scenario::disturbed`] says so: by itself the library shows what scheduling
/// alone does.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Scenario {
    /// Kernel parameters and settings of sched_ext schedulers, in the order given. Of one key the last counts; what
    /// stands behind a scheduler's own name goes before.
    pub settings: Vec<Setting>,
    /// Linux version whose rules hold; `None`: of sched_ext the one that the scheduler's object asks for, else 6.12.
    pub profile: Option<Profile>,
    /// Simulated time in nanoseconds after which a run ends; `None`: the workload's own end.
    pub time_limit: Option<Nanos>,
    /// CPUs that go offline or come back, in any order.
    pub hotplug: Vec<Hotplug>,
}

/// Why a scenario cannot be run with a scheduler.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    /// A kernel parameter has no such value.
    #[error("{0}")]
    Kernel(#[from] SettingError),
    /// A setting is neither a kernel parameter nor a variable of a scheduler.
    #[error("{0}")]
    Unknown(Box<UnknownSetting>),
    /// A scheduler's variable has no such value.
    #[error("{0}")]
    Variable(#[from] OpenError),
    /// The machine does not have the clock of the governor.
    #[error("{0}")]
    Clock(#[from] ClockOutside),
    /// The machine's driver does not offer the governor.
    #[error("{0}")]
    Governor(#[from] NotOffered),
    /// The scheduler cannot be loaded on the machine.
    #[error("{0}")]
    Load(#[from] SimulationError),
}

/// The kernel parameter that a run with what every system does beside its workload has.
const DISTURBANCES: &str = "disturbances";

/// The setting of runs with what every system does beside its workload: interrupts, kernel workers, timers that go off late.
pub(crate) fn disturbances() -> Setting {
    Setting { key: DISTURBANCES.to_owned(), value: "true".to_owned() }
}

impl Scenario {
    /// The same with what every system does beside its workload, unless its settings say whether there is any of that.
    ///
    /// A scenario is quiet by itself; the commands that simulate for a person make it a disturbed one.
    #[must_use]
    pub fn disturbed(mut self) -> Self {
        if self.value_of(DISTURBANCES).is_none() {
            self.settings.insert(0, disturbances());
        }
        self
    }

    /// Whether its settings ask for what every system does beside its workload.
    pub fn is_disturbed(&self) -> bool {
        self.value_of(DISTURBANCES) == Some("true")
    }

    /// What the settings set `key` to; the last one counts.
    pub fn value_of(&self, key: &str) -> Option<&str> {
        self.settings.iter().rfind(|setting| setting.key == key).map(|setting| setting.value.as_str())
    }

    /// What it says besides settings, as the command's options `--kernel`, `--duration` and `--hotplug` and their values.
    pub fn beside_settings(&self) -> Vec<(&'static str, String)> {
        let Self { settings: _, profile, time_limit, hotplug } = self;
        let change =
            |it: &Hotplug| format!("{}s:{}={}", seconds(it.at), it.cpu.0, if it.online { "on" } else { "off" });
        let hotplug = (!hotplug.is_empty()).then(|| hotplug.iter().map(change).collect::<Vec<_>>().join(","));
        let said = [
            ("kernel", profile.map(|profile| profile.to_string())),
            ("duration", time_limit.map(|limit| format!("{}s", seconds(limit)))),
            ("hotplug", hotplug),
        ];
        said.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }

    /// Whether every setting belongs to the kernel or to at least one of `schedulers`, and has a value of its type. Nothing
    /// is run.
    ///
    /// # Errors
    /// [`ScenarioError::Unknown`] or [`ScenarioError::Variable`]; values of kernel parameters are looked at by
    /// [`Scenario::options`].
    pub fn check<'p>(&self, schedulers: impl IntoIterator<Item = &'p Scheduler>) -> Result<(), ScenarioError> {
        let objects: Vec<&SchedExt> = schedulers.into_iter().filter_map(object_of).collect();
        for setting in self.settings.iter().filter(|setting| !setting.is_kernel()) {
            let owners: Vec<&&SchedExt> = objects.iter().filter(|object| object.has_setting(&setting.key)).collect();
            if owners.is_empty() {
                return Err(ScenarioError::Unknown(Box::new(UnknownSetting::of(setting, &objects))));
            }
            for owner in owners {
                owner.with_settings(vec![(setting.key.clone(), setting.value.clone())])?;
            }
        }
        Ok(())
    }

    /// Whether the scheduler of `pair` can be loaded on `machine` and accepts its settings there, and whether the governor's
    /// clock is one of the machine's. Nothing is run.
    ///
    /// # Errors
    /// [`ScenarioError`].
    pub fn check_on(&self, machine: &Machine, pair: &Pair, seed: u64) -> Result<(), ScenarioError> {
        pair.governor.on(machine)?;
        clock::check(machine, &pair.governor)?;
        Ok(simulation::check(machine, &self.options(pair, seed)?)?)
    }

    /// The options of the run of `pair` on `machine` with `seed`, with the governor under the name that it has there. Everything is
    /// looked at but what loading the scheduler says, which the run does first of all.
    ///
    /// # Errors
    /// [`ScenarioError`].
    pub fn options_on(&self, machine: &Machine, pair: &Pair, seed: u64) -> Result<Options, ScenarioError> {
        self.check([&pair.scheduler])?;
        let options = self.options(pair, seed)?;
        clock::check(machine, &pair.governor)?;
        Ok(Options { governor: pair.governor.on(machine)?, ..options })
    }

    /// The options of the run of `pair` with `seed`. Settings take effect in the order given, then the pair's parameters,
    /// those behind a scheduler's name last.
    ///
    /// # Errors
    /// [`ScenarioError::Kernel`] or [`ScenarioError::Variable`]: the value is none of its key's.
    pub fn options(&self, pair: &Pair, seed: u64) -> Result<Options, ScenarioError> {
        let settings: Vec<&Setting> = self.settings.iter().chain(&pair.parameters).collect();
        let linux = self.profile.map_or_else(Linux::default, Profile::linux);
        let mut kernel = KernelParameters { linux, ..KernelParameters::default() };
        for setting in settings.iter().filter(|setting| setting.is_kernel()) {
            kernel.set(&setting.key, &setting.value)?;
        }
        let Pair { scheduler, governor, .. } = pair.clone();
        let (scheduler, hotplug) = (self.on_kernel(configured(scheduler, &settings)?), self.hotplug.clone());
        Ok(Options {
            scheduler,
            governor,
            seed,
            time_limit: self.time_limit,
            kernel,
            hotplug,
            audit: None,
            memory: Budget::default(),
            bpf: Bpf::default(),
        })
    }

    /// `scheduler` on the kernel that was asked for.
    fn on_kernel(&self, scheduler: Scheduler) -> Scheduler {
        match (scheduler, self.profile) {
            (Scheduler::SchedExt(object), Some(profile)) => {
                let mut object = Arc::unwrap_or_clone(object);
                object.profile = Some(profile);
                Scheduler::SchedExt(Arc::new(object))
            }
            (scheduler, _) => scheduler,
        }
    }
}

/// `scheduler` with those of the settings that it has.
fn configured(scheduler: Scheduler, settings: &[&Setting]) -> Result<Scheduler, OpenError> {
    let Some(object) = object_of(&scheduler) else { return Ok(scheduler) };
    let its = |setting: &&&Setting| !setting.is_kernel() && object.has_setting(&setting.key);
    let settings: Vec<(String, String)> =
        settings.iter().filter(its).map(|setting| (setting.key.clone(), setting.value.clone())).collect();
    if settings.is_empty() {
        return Ok(scheduler);
    }
    Ok(Scheduler::SchedExt(Arc::new(object.with_settings(settings)?)))
}

fn object_of(scheduler: &Scheduler) -> Option<&SchedExt> {
    match scheduler {
        Scheduler::SchedExt(object) => Some(object),
        Scheduler::Fair => None,
    }
}

/// A setting that neither the kernel nor a scheduler has, with the names that are near.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.text())]
pub struct UnknownSetting {
    /// The key as it was written.
    pub key: String,
    /// The sched_ext schedulers that were asked, in the order given.
    pub schedulers: Vec<Settable>,
}

/// What a user can set of a sched_ext scheduler.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settable {
    /// What the scheduler is called.
    pub scheduler: String,
    /// The object's file.
    pub path: PathBuf,
    /// Whether the object itself says which of its variables are settings.
    pub tagged: bool,
    /// The settings, if the object says which they are, else all variables.
    pub names: Vec<String>,
}

impl Settable {
    fn of(scheduler: &SchedExt) -> Self {
        let mut variables = scheduler.variables();
        let tagged = variables.iter().any(|variable| variable.tags.is_some());
        variables.retain(|variable| variable.tags.is_some() == tagged);
        let names = variables.into_iter().map(|variable| variable.name).collect();
        Self { scheduler: scheduler.name.clone(), path: scheduler.path.clone(), tagged, names }
    }

    fn near(&self, key: &str) -> Option<String> {
        let what = if self.tagged { "setting" } else { "variable" };
        let name = nearest(key, self.names.iter().map(String::as_str))?;
        Some(format!("the {what} `{name}` of {}", self.scheduler))
    }
}

impl UnknownSetting {
    fn of(setting: &Setting, schedulers: &[&SchedExt]) -> Self {
        let schedulers = schedulers.iter().map(|scheduler| Settable::of(scheduler)).collect();
        Self { key: setting.key.clone(), schedulers }
    }

    /// The names that may have been meant, each with where it belongs; none if no name is near.
    pub fn near(&self) -> Vec<String> {
        let mut near: Vec<String> = self.schedulers.iter().filter_map(|scheduler| scheduler.near(&self.key)).collect();
        near.extend(nearest(&self.key, KernelParameters::keys()).map(|name| format!("the kernel parameter `{name}`")));
        near.dedup();
        near
    }

    fn text(&self) -> String {
        let (key, keys) = (&self.key, KernelParameters::keys());
        if self.schedulers.is_empty() {
            return format!("unknown setting `{key}`; {}", valid_names(key, &keys));
        }
        let mut lists: Vec<String> = Vec::new();
        for Settable { path, names, .. } in self.schedulers.iter().filter(|scheduler| scheduler.tagged) {
            let list = format!("\n  settings of {}: {}", path.display(), names.join(", "));
            if !lists.contains(&list) {
                lists.push(list);
            }
        }
        let near = self.near();
        let advice = match near.is_empty() {
            true => format!("valid: {}", keys.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ")),
            false => format!("did you mean {}?", near.join(" or ")),
        };
        let names: Vec<&str> = self.schedulers.iter().map(|known| known.scheduler.as_str()).collect();
        let schedulers = names.join(" or ");
        format!("`{key}` is neither a kernel parameter nor a variable of {schedulers}; {advice}{}", lists.concat())
    }
}

#[cfg(test)]
mod tests {
    use tandem_simulator::simulation::Governor;

    use super::*;

    #[test]
    fn a_scenario_is_disturbed_unless_its_settings_say_otherwise() {
        let of =
            |text: &str| Scenario { settings: text.parse::<settings::Settings>().unwrap().0, ..Scenario::default() };
        assert!(!Scenario::default().is_disturbed() && Scenario::default().disturbed().is_disturbed());
        let quiet = of("disturbances=false");
        assert_eq!(quiet.clone().disturbed(), quiet);
        let told = of("disturbances=true");
        assert_eq!(told.clone().disturbed(), told, "once is enough");
        let fair = Pair::new(Scheduler::Fair, Governor::Default);
        assert!(of("hz=100").disturbed().options(&fair, 0).unwrap().kernel.disturbances);
    }

    #[test]
    fn the_kernel_asked_for_holds_for_sched_ext_objects() {
        let object = SchedExt {
            path: PathBuf::from("./x.bpf.o"),
            name: "x.bpf.o".to_owned(),
            object: Arc::default(),
            sidecar: None,
            settings: Vec::new(),
            profile: None,
            code: Arc::default(),
            linked: Arc::default(),
        };
        let mut scenario = Scenario::default();
        let governor = Governor::Powersave;
        let pair = Pair::new(Scheduler::SchedExt(Arc::new(object)), governor);
        let profile_of = |scenario: &Scenario| match scenario.options(&pair, 0).unwrap().scheduler {
            Scheduler::SchedExt(object) => object.profile,
            Scheduler::Fair => panic!("another scheduler"),
        };
        assert_eq!(profile_of(&scenario), None);
        scenario.profile = Some(Profile::V7);
        assert_eq!(profile_of(&scenario), Some(Profile::V7));
        let fair = Pair::new(Scheduler::Fair, governor);
        assert_eq!(scenario.options(&fair, 0).unwrap().scheduler, Scheduler::Fair);
    }

    #[test]
    fn of_one_key_the_last_value_counts() {
        let setting = |text: &str| text.parse::<settings::Settings>().unwrap().0.remove(0);
        let scenario = Scenario { settings: vec![setting("hz=100"), setting("hz=1000")], ..Scenario::default() };
        let pair = Pair::new(Scheduler::Fair, Governor::Powersave);
        assert_eq!(scenario.value_of("hz"), Some("1000"));
        assert_eq!(scenario.options(&pair, 0).unwrap().kernel.hz, 1000);
    }

    #[test]
    fn a_setting_that_nothing_has_names_what_is_near() {
        let scenario = Scenario { settings: "hzz=100".parse::<settings::Settings>().unwrap().0, ..Scenario::default() };
        let error = scenario.check([&Scheduler::Fair]).unwrap_err().to_string();
        assert!(error.starts_with("unknown setting `hzz`; did you mean `hz`?"), "{error}");
    }
}
