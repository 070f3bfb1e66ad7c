// SPDX-License-Identifier: GPL-2.0-only
//! Values of options: how they are written, and the types they become.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use tandem_simulator::input::{nearest, valid_names};
use tandem_simulator::machine::Machine;
use tandem_simulator::simulation::{
    self, Governor, Hotplug, KernelParameters, OpenError, Options, Profile, SchedExt, Scheduler, UnknownProfile,
    UnknownScheduler,
};
use tandem_simulator::units::{CpuId, MSEC, Nanos, SEC, USEC};

use crate::bundled;
use crate::failure::Failure;

/// A scheduler and the governor that chooses clocks beside it, written `fair+schedutil`.
#[derive(Debug, Clone, PartialEq)]
pub struct Pair {
    /// Chooses threads and CPUs.
    pub scheduler: Scheduler,
    /// Chooses clocks.
    pub governor: Governor,
}

impl fmt::Display for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}+{}", self.scheduler, self.governor)
    }
}

/// What `-s` takes: a scheduler, with or without a governor.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    /// Before the `+`.
    pub scheduler: Scheduler,
    /// Behind it.
    pub governor: Option<Governor>,
}

impl Choice {
    /// The pair, with Linux's usual governor where none was named.
    pub fn pair(&self) -> Pair {
        let governor = self.governor.unwrap_or(Governor::Schedutil(Default::default()));
        Pair { scheduler: self.scheduler.clone(), governor }
    }
}

/// Reads `S` or `S+G`. A path to a scheduler may hold a `+`, and so may a value behind it: the last one behind the path
/// separates.
pub fn choice(text: &str) -> Result<Choice, String> {
    let path = SchedExt::path_in(text).map_or(0, str::len);
    let (scheduler, governor) = match text[path..].rfind('+') {
        Some(at) => (&text[..path + at], Some(self::governor(&text[path + at + 1..])?)),
        None => (text, None),
    };
    Ok(Choice { scheduler: self::scheduler(scheduler)?, governor })
}

/// Reads a scheduler without a governor.
fn scheduler(text: &str) -> Result<Scheduler, String> {
    if let Some(bundled) = bundled::open(text) {
        let scheduler = bundled.map_err(|error| with_advice(&error))?;
        return Ok(Scheduler::SchedExt(Arc::new(scheduler)));
    }
    text.parse::<Scheduler>().map_err(|error| match error {
        UnknownScheduler::Object(error) => with_advice(&error),
        UnknownScheduler::Name { name, .. } => {
            let first = name.split(',').next().unwrap_or_default();
            UnknownScheduler::Name { valid: valid_names(first, &[&["fair"], &bundled::NAMES[..]].concat()), name }
                .to_string()
        }
    })
}

/// Reads a scheduler that the command carries, `tandem`, or the path of a sched_ext object, with variables to set behind it.
pub fn object(text: &str) -> Result<Arc<SchedExt>, String> {
    bundled::open(text).unwrap_or_else(|| SchedExt::open(text)).map(Arc::new).map_err(|error| with_advice(&error))
}

/// What is wrong with a sched_ext object, and what to do.
fn with_advice(error: &OpenError) -> String {
    match error {
        OpenError::Variable { path, .. } => {
            format!("{error}\n  help: `tandem scheduler show {}` lists the variables", path.display())
        }
        OpenError::Scheduler { .. } => format!("{error}\n  help: give a sched_ext object such as scx_simple.bpf.o"),
        _ => error.to_string(),
    }
}

/// Reads a governor's name.
pub fn governor(text: &str) -> Result<Governor, String> {
    text.parse::<Governor>().map_err(|error| error.to_string())
}

/// Reads a span of time such as `10s`, `2.5ms`, `300us` or `1min`.
pub fn duration(text: &str) -> Result<Nanos, String> {
    let expected = "expected a time with its unit, such as `10s`, `2.5ms`, `300us` or `1min`";
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let number: f64 = number.parse().map_err(|_| expected.to_owned())?;
    let unit = match unit.trim() {
        "ns" => 1,
        "us" | "µs" => USEC,
        "ms" => MSEC,
        "s" => SEC,
        "min" => 60 * SEC,
        "h" => 3600 * SEC,
        _ => return Err(expected.to_owned()),
    };
    let nanos = (number * unit as f64).round();
    // Beyond 2^53 ns (104 days) the product is not exact, and nobody waits for such a run.
    if !(1.0..=(1u64 << 53) as f64).contains(&nanos) {
        return Err("must be at least 1 ns and at most 104 days".to_owned());
    }
    Ok(nanos as Nanos)
}

/// Reads a Linux version: `6.12` or `7.1`.
pub fn profile(text: &str) -> Result<Profile, String> {
    text.parse().map_err(|error: UnknownProfile| error.to_string())
}

/// One `--set`: one setting or several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings(Vec<Setting>);

/// One KEY=VALUE.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    key: String,
    value: String,
}

impl Settings {
    /// Keys with their values, in the order given.
    pub fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|Setting { key, value }| (key.as_str(), value.as_str()))
    }
}

/// Reads `KEY=VALUE[,KEY=VALUE]...`. Whose key it is, and what it may be, depends on the schedulers: see
/// [`Scenario::check`].
pub fn settings(text: &str) -> Result<Settings, String> {
    parts(text).into_iter().map(setting).collect::<Result<_, _>>().map(Settings)
}

fn setting(text: &str) -> Result<Setting, String> {
    let expected = || "expected KEY=VALUE, or several with commas between them".to_owned();
    let (key, value) = text.split_once('=').ok_or_else(expected)?;
    let (key, value) = (key.trim().to_owned(), value.trim().to_owned());
    if key.is_empty() { Err(expected()) } else { Ok(Setting { key, value }) }
}

/// The parts of a text at its commas, but for those between quotes: a text may hold commas of its own.
fn parts(text: &str) -> Vec<&str> {
    let mut quoted = false;
    let separates = |c: char| {
        quoted ^= c == '"';
        c == ',' && !quoted
    };
    text.split(separates).collect()
}

/// Reads `TIME:CPU=on` or `TIME:CPU=off`.
pub fn hotplug(text: &str) -> Result<Hotplug, String> {
    let expected = "expected TIME:CPU=off or TIME:CPU=on, such as `2s:3=off`";
    let (time, change) = text.split_once(':').ok_or(expected)?;
    let (cpu, state) = change.split_once('=').ok_or(expected)?;
    let online = match state.trim() {
        "on" => true,
        "off" => false,
        _ => return Err(expected.to_owned()),
    };
    let cpu = cpu.trim().parse().map(CpuId).map_err(|_| expected)?;
    Ok(Hotplug { at: duration(time)?, cpu, online })
}

impl Setting {
    /// A kernel parameter goes before a variable of the same name.
    fn is_kernel(&self) -> bool {
        KernelParameters::keys().contains(&self.key.as_str())
    }

    /// Nobody has it: the nearest name of a variable and of a parameter.
    fn unknown(&self, schedulers: &[&SchedExt]) -> String {
        let (key, keys) = (&self.key, KernelParameters::keys());
        if schedulers.is_empty() {
            return format!("--set: unknown setting `{key}`; {}", valid_names(key, &keys));
        }
        let names: Vec<&str> = schedulers.iter().map(|scheduler| scheduler.name.as_str()).collect();
        let (mut near, mut all) = (Vec::new(), String::new());
        for scheduler in schedulers {
            let (what, variables) = settable(scheduler);
            if let Some(name) = nearest(key, variables.iter().map(String::as_str)) {
                near.push(format!("the {what} `{name}` of {}", scheduler.name));
            }
            let list = format!("\n  settings of {}: {}", scheduler.path.display(), variables.join(", "));
            if what == "setting" && !all.contains(&list) {
                all += &list;
            }
        }
        near.extend(nearest(key, keys.iter().copied()).map(|name| format!("the kernel parameter `{name}`")));
        near.dedup();
        let advice = match near.is_empty() {
            true => format!(
                "valid: {}; `tandem scheduler show {}` lists the variables",
                keys.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", "),
                schedulers[0].path.display()
            ),
            false => format!("did you mean {}?", near.join(" or ")),
        };
        format!("--set: `{key}` is neither a kernel parameter nor a variable of {}; {advice}{all}", names.join(" or "))
    }
}

/// What a user can set of a scheduler: settings, if the object says which of its variables are, else variables.
fn settable(scheduler: &SchedExt) -> (&'static str, Vec<String>) {
    let mut variables = scheduler.variables();
    let tagged = variables.iter().any(|variable| variable.tags.is_some());
    variables.retain(|variable| variable.tags.is_some() == tagged);
    let names = variables.into_iter().map(|variable| variable.name).collect();
    (if tagged { "setting" } else { "variable" }, names)
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

/// What is simulated; shared by the commands that simulate.
#[derive(Debug, Args)]
pub struct Scenario {
    /// Workload: an rt-app JSON file, a bundled name (see `tandem workload list`), or `-` for standard input
    pub workload: PathBuf,

    /// Machine: a bundled name (see `tandem machine list`) or a TOML file, with `:CONFIGURATION` behind it if wanted
    #[arg(short, long, value_name = "M")]
    pub machine: String,

    /// Set kernel parameters (`--set hz=1000`) or what a sched_ext scheduler can be set to; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE,...", value_parser = settings, long_help = setting_help())]
    pub settings: Vec<Settings>,

    /// Linux version whose sched_ext rules hold: 6.12 or 7.1; by default the one that the scheduler's object asks for
    #[arg(long = "kernel", value_name = "VERSION", value_parser = profile)]
    pub profile: Option<Profile>,

    /// End the run after this much simulated time, for example `10s` or `500ms`
    #[arg(long, value_name = "TIME", value_parser = duration, allow_hyphen_values = true)]
    pub duration: Option<Nanos>,

    /// Take a CPU offline or bring it back, for example `--hotplug 2s:3=off --hotplug 3s:3=on`; may be repeated
    #[arg(long, value_name = "TIME:CPU=off|on", value_parser = hotplug)]
    pub hotplug: Vec<Hotplug>,
}

impl Scenario {
    fn settings(&self) -> impl Iterator<Item = &Setting> {
        self.settings.iter().flat_map(|Settings(settings)| settings)
    }

    /// What `--set` sets `key` to; the last one counts.
    pub fn value_of(&self, key: &str) -> Option<&str> {
        self.settings().filter(|setting| setting.key == key).last().map(|setting| setting.value.as_str())
    }

    /// All settings, as they can be given again: `KEY=VALUE`.
    pub fn settings_text(&self) -> impl Iterator<Item = String> + '_ {
        self.settings().map(|Setting { key, value }| format!("{key}={value}"))
    }

    /// Whether the scheduler can be loaded on this machine and accepts its settings there, before anything is run.
    pub fn check_on(&self, machine: &Machine, pair: &Pair, seed: u64) -> Result<(), Failure> {
        let options = self.options(pair, seed).map_err(Failure::Options)?;
        Ok(simulation::check(machine, &options)?)
    }

    /// Whether every setting is somebody's, and of its type, before anything is run: a kernel parameter, or a variable of
    /// at least one of the schedulers.
    pub fn check<'p>(&self, schedulers: impl IntoIterator<Item = &'p Scheduler>) -> Result<(), String> {
        let objects: Vec<&SchedExt> = schedulers.into_iter().filter_map(object_of).collect();
        for setting in self.settings().filter(|setting| !setting.is_kernel()) {
            let owners: Vec<&&SchedExt> = objects.iter().filter(|object| object.has_setting(&setting.key)).collect();
            if owners.is_empty() {
                return Err(setting.unknown(&objects));
            }
            for owner in owners {
                let settings = vec![(setting.key.clone(), setting.value.clone())];
                owner.with_settings(settings).map_err(|error| format!("--set: {}", with_advice(&error)))?;
            }
        }
        Ok(())
    }

    /// The options of one run. Fails if a setting's value is none of its key's; they take effect in the order given, those
    /// behind a scheduler's path last.
    pub fn options(&self, pair: &Pair, seed: u64) -> Result<Options, String> {
        let mut kernel = KernelParameters::default();
        for setting in self.settings().filter(|setting| setting.is_kernel()) {
            kernel.set(&setting.key, &setting.value).map_err(|error| format!("--set: {error}"))?;
        }
        let Pair { scheduler, governor } = pair.clone();
        let (scheduler, hotplug) = (self.on_kernel(self.configured(scheduler)?), self.hotplug.clone());
        Ok(Options { scheduler, governor, seed, time_limit: self.duration, kernel, hotplug })
    }

    /// The scheduler with those of the variables that it has.
    fn configured(&self, scheduler: Scheduler) -> Result<Scheduler, String> {
        let Some(object) = object_of(&scheduler) else { return Ok(scheduler) };
        let its = |setting: &&Setting| !setting.is_kernel() && object.has_setting(&setting.key);
        let settings: Vec<(String, String)> =
            self.settings().filter(its).map(|setting| (setting.key.clone(), setting.value.clone())).collect();
        if settings.is_empty() {
            return Ok(scheduler);
        }
        let configured = object.with_settings(settings).map_err(|error| format!("--set: {}", with_advice(&error)))?;
        Ok(Scheduler::SchedExt(Arc::new(configured)))
    }

    /// The scheduler on the kernel that was asked for.
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

fn object_of(scheduler: &Scheduler) -> Option<&SchedExt> {
    match scheduler {
        Scheduler::SchedExt(object) => Some(object),
        Scheduler::Fair => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cpu_comes_or_goes_at_a_time() {
        let change = |at, cpu, online| Ok(Hotplug { at, cpu: CpuId(cpu), online });
        assert_eq!(hotplug("2s:3=off"), change(2 * SEC, 3, false));
        assert_eq!(hotplug("1.5ms: 12 = on"), change(1_500_000, 12, true));
        for mistake in ["2s", "2s:3", "3=off", "2:3=off", "2s:x=off", "2s:-1=off", "2s:3=down", "0s:3=off"] {
            assert!(hotplug(mistake).is_err(), "{mistake}");
        }
    }

    #[test]
    fn times_carry_their_unit() {
        assert_eq!(duration("10s"), Ok(10 * SEC));
        assert_eq!(duration("2.5 ms"), Ok(2_500_000));
        assert_eq!(duration("300us"), Ok(300_000));
        assert_eq!(duration("1min"), Ok(60 * SEC));
        for mistake in ["10", "s", "", "-1s", "0s", "0.1ns", "1e9s", "99999999h", "1.2.3s"] {
            assert!(duration(mistake).is_err(), "{mistake}");
        }
    }

    #[test]
    fn a_governor_stands_behind_the_last_plus() {
        let choice = choice("fair+powersave").unwrap();
        assert_eq!(choice.pair(), Pair { scheduler: Scheduler::Fair, governor: Governor::Powersave });
        assert_eq!(choice.pair().to_string(), "fair+powersave");
        let pair = super::choice("fair+userspace=1400MHz").unwrap().pair();
        assert_eq!(pair.governor, Governor::Userspace { khz: Some(1_400_000) });
    }

    #[test]
    fn kernels_are_named_by_version() {
        assert_eq!(profile("6.12"), Ok(Profile::V6_12));
        assert_eq!(profile("7.1"), Ok(Profile::V7));
        assert!(profile("6.6").unwrap_err().contains("`6.12` or `7.1`"));
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
        };
        let mut scenario = Scenario {
            workload: PathBuf::new(),
            machine: String::new(),
            settings: Vec::new(),
            profile: None,
            duration: None,
            hotplug: Vec::new(),
        };
        let governor = Governor::Powersave;
        let pair = Pair { scheduler: Scheduler::SchedExt(Arc::new(object)), governor };
        let profile_of = |scenario: &Scenario| match scenario.options(&pair, 0).unwrap().scheduler {
            Scheduler::SchedExt(object) => object.profile,
            Scheduler::Fair => panic!("another scheduler"),
        };
        assert_eq!(profile_of(&scenario), None);
        scenario.profile = Some(Profile::V7);
        assert_eq!(profile_of(&scenario), Some(Profile::V7));
        let fair = Pair { scheduler: Scheduler::Fair, governor };
        assert_eq!(scenario.options(&fair, 0).unwrap().scheduler, Scheduler::Fair);
    }

    #[test]
    fn schedutil_is_the_governor_unless_one_is_named() {
        assert_eq!(choice("fair").unwrap().pair().to_string(), "fair+schedutil");
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
    fn several_settings_stand_between_commas_and_quotes_keep_theirs() {
        let read = |text: &str| {
            let Settings(all) = settings(text).unwrap();
            all.into_iter().map(|Setting { key, value }| format!("{key}:{value}")).collect::<Vec<_>>()
        };
        assert_eq!(read("hz=100"), ["hz:100"]);
        assert_eq!(read("a=1, b = true ,c=-2"), ["a:1", "b:true", "c:-2"]);
        assert_eq!(read(r#"name="x,y=1",hz=100"#), [r#"name:"x,y=1""#, "hz:100"]);
    }

    #[test]
    fn the_commands_own_scheduler_is_named_without_a_path() {
        let choice = super::choice("tandem,sorted=true,isolate=dedicated+powersave").unwrap();
        assert_eq!(choice.pair().to_string(), "tandem,sorted=true,isolate=dedicated+powersave");
        let pair = super::choice("tandem").unwrap().pair();
        assert_eq!(pair.to_string(), "tandem+schedutil");
        assert!(super::choice("tandems").unwrap_err().contains("no scheduler `tandems`"));
    }
}
