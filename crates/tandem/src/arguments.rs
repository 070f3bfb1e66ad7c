// SPDX-License-Identifier: GPL-2.0-only
//! Values of options: how they are written, and the types they become.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use tandem_simulator::input::valid_names;
use tandem_simulator::simulation::{Governor, KernelParameters, Options, Profile, Scheduler, UnknownProfile};
use tandem_simulator::units::{MSEC, Nanos, SEC, USEC};

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

/// Reads `S` or `S+G`. The last `+` separates: a path to a scheduler may hold others.
pub fn choice(text: &str) -> Result<Choice, String> {
    let (scheduler, governor) = match text.rsplit_once('+') {
        Some((scheduler, governor)) => (scheduler, Some(self::governor(governor)?)),
        None => (text, None),
    };
    Ok(Choice { scheduler: scheduler.parse::<Scheduler>().map_err(|error| error.to_string())?, governor })
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

/// One `--set KEY=VALUE`, whose key is known to be one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    key: String,
    value: String,
}

/// Reads `KEY=VALUE`. The value is judged with all others in [`Scenario::options`]: one may bound another.
pub fn setting(text: &str) -> Result<Setting, String> {
    let (key, value) = text.split_once('=').ok_or("expected KEY=VALUE")?;
    let (key, value) = (key.trim().to_owned(), value.trim().to_owned());
    let keys = KernelParameters::keys();
    if !keys.contains(&key.as_str()) {
        return Err(format!("unknown setting `{key}`; {}", valid_names(&key, &keys)));
    }
    Ok(Setting { key, value })
}

/// Lists the keys that `--set` takes.
fn setting_help() -> String {
    let keys: Vec<String> = KernelParameters::KEYS.iter().map(|(key, meaning)| format!("  {key}: {meaning}")).collect();
    format!("Set a kernel parameter, for example `--set hz=1000`; may be repeated.\n\n{}", keys.join("\n"))
}

/// What is simulated; shared by the commands that simulate.
#[derive(Debug, Args)]
pub struct Scenario {
    /// Workload: an rt-app JSON file, or the name of a bundled workload (see `tandem workload list`)
    pub workload: PathBuf,

    /// Machine: a bundled name (see `tandem machine list`) or a TOML file, with `:CONFIGURATION` behind it if wanted
    #[arg(short, long, value_name = "M")]
    pub machine: String,

    /// Set a kernel parameter, for example `--set hz=1000`; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = setting, long_help = setting_help())]
    pub settings: Vec<Setting>,

    /// Linux version whose sched_ext rules hold: 6.12 or 7.1; by default the one that the scheduler's object asks for
    #[arg(long = "kernel", value_name = "VERSION", value_parser = profile)]
    pub profile: Option<Profile>,

    /// End the run after this much simulated time, for example `10s` or `500ms`
    #[arg(long, value_name = "TIME", value_parser = duration, allow_hyphen_values = true)]
    pub duration: Option<Nanos>,
}

impl Scenario {
    /// The options of one run. Fails if a setting's value is none of its key's; they take effect in the order given.
    pub fn options(&self, pair: &Pair, seed: u64) -> Result<Options, String> {
        let mut kernel = KernelParameters::default();
        for setting in &self.settings {
            kernel.set(&setting.key, &setting.value).map_err(|error| format!("--set: {error}"))?;
        }
        let Pair { scheduler, governor } = pair.clone();
        let scheduler = self.on_kernel(scheduler);
        Ok(Options { scheduler, governor, seed, time_limit: self.duration, kernel })
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

#[cfg(test)]
mod tests {
    use tandem_simulator::simulation::SchedExt;

    use super::*;

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
            name: "./x.bpf.o".to_owned(),
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
        assert!(setting("hz").unwrap_err().contains("KEY=VALUE"));
        assert!(setting("hertz=250").unwrap_err().contains("hz"));
    }
}
