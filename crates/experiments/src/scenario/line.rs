// SPDX-License-Identifier: MIT OR Apache-2.0
//! Options on a line, as experiments write them: `--set hz=1000 --duration 2s`, and what a run's options make.

use std::error::Error;

use tandem_simulator::input::valid_names;
use tandem_simulator::simulation::Governor;

use super::Scenario;
use super::pair::{Choice, Pair, Schedulers};
use super::settings::Settings;
use super::values::{parse_duration, parse_hotplug};

/// What is wrong with a line of options.
#[derive(Debug, thiserror::Error)]
pub enum LineError {
    /// A word that belongs to no option.
    #[error("`{0}` is no option and belongs to none")]
    Stray(String),
    /// An option that does not exist.
    #[error("no option `--{option}`; {valid}")]
    Unknown {
        /// The name as it was written, without its dashes.
        option: String,
        /// The valid names, the nearest first.
        valid: String,
    },
    /// An option that makes no sense in this place.
    #[error("`--{option}` cannot be among the options: {why}")]
    Fixed {
        /// The name.
        option: &'static str,
        /// What decides it instead.
        why: &'static str,
    },
    /// An option without its value, a flag with one.
    #[error("`--{option}` {}", if *.flag { "takes no value" } else { "lacks its value" })]
    Arity {
        /// The name.
        option: String,
        /// Whether it takes no value.
        flag: bool,
    },
    /// An option that may be given once only.
    #[error("`--{0}` is given twice")]
    Twice(String),
    /// A value that is none of its option's.
    #[error("invalid value '{value}' for '--{option} <{placeholder}>': {why}")]
    Value {
        /// The name.
        option: &'static str,
        /// What stands for the value in descriptions.
        placeholder: &'static str,
        /// The value as it was written.
        value: String,
        /// What is wrong with it.
        why: Box<dyn Error + Send + Sync>,
    },
    /// The scheduler and the governor do not go together.
    #[error("{0}")]
    Pair(#[from] super::pair::ChoiceError),
    /// The first word names no generator of workloads.
    #[error("no generator `{name}`; {valid}")]
    Generator {
        /// The name as it was written.
        name: String,
        /// The valid names, the nearest first.
        valid: String,
    },
    /// Options that make no workload.
    #[error("{0}")]
    Workload(#[from] tandem_simulator::workload::generate::OptionError),
}

/// An option that a line may give.
pub(super) struct Known {
    /// The name without its dashes.
    pub name: &'static str,
    /// Whether it is given without a value.
    pub flag: bool,
    /// Whether it may be given several times.
    pub list: bool,
}

/// The options of `line` with their values, in the order given; a flag's value is `true`.
pub(super) fn given(line: &[String], known: &[Known]) -> Result<Vec<(&'static str, String)>, LineError> {
    let mut given: Vec<(&'static str, String)> = Vec::new();
    let mut words = line.iter();
    while let Some(word) = words.next() {
        let Some(option) = word.strip_prefix("--") else { return Err(LineError::Stray(word.clone())) };
        let (name, value) = option.split_once('=').map_or((option, None), |(name, value)| (name, Some(value)));
        let Some(Known { name, flag, list }) = known.iter().find(|known| known.name == name) else {
            let names: Vec<&str> = known.iter().map(|known| known.name).collect();
            return Err(LineError::Unknown { option: name.to_owned(), valid: valid_names(name, &names) });
        };
        if !list && given.iter().any(|(other, _)| other == name) {
            return Err(LineError::Twice((*name).to_owned()));
        }
        let arity = || LineError::Arity { option: (*name).to_owned(), flag: *flag };
        let value = match (flag, value) {
            (true, None) => "true",
            (true, Some(_)) => return Err(arity()),
            (false, Some(value)) => value,
            (false, None) => words.next().ok_or_else(arity)?,
        };
        given.push((name, value.to_owned()));
    }
    Ok(given)
}

/// What a run's line may say of a scenario.
const OPTIONS: [Known; 5] = [
    Known { name: "governor", flag: false, list: false },
    Known { name: "set", flag: false, list: true },
    Known { name: "kernel", flag: false, list: false },
    Known { name: "duration", flag: false, list: false },
    Known { name: "hotplug", flag: false, list: true },
];

/// Options of `tandem simulate` that say nothing of a simulation in an experiment.
const FIXED: [(&str, &str); 4] = [
    ("seed", "an experiment's `seeds` says how many there are"),
    ("json", "the report is the command's"),
    ("trace", "`tandem simulate` writes traces"),
    ("reproducible", "runs always are"),
];

/// What a run is: `scheduler` as `-s` takes it, and further options of `tandem simulate`.
pub(crate) fn scenario(
    scheduler: &str,
    line: &[String],
    schedulers: &dyn Schedulers,
) -> Result<(Scenario, Pair), LineError> {
    let named = |word: &String, option: &str| {
        word.strip_prefix("--").and_then(|word| word.split('=').next()).is_some_and(|name| name == option)
    };
    if let Some((option, why)) = FIXED.into_iter().find(|(option, _)| line.iter().any(|word| named(word, option))) {
        return Err(LineError::Fixed { option, why });
    }
    let choice = Choice::parse(scheduler, schedulers).map_err(wrong("scheduler", "S", scheduler))?;
    let (mut scenario, mut governor) = (Scenario::default(), None);
    for (option, value) in given(line, &OPTIONS)? {
        match option {
            "governor" => governor = Some(value.parse::<Governor>().map_err(wrong(option, "G", &value))?),
            "set" => {
                let settings = value.parse::<Settings>().map_err(wrong(option, "KEY=VALUE,...", &value))?;
                scenario.settings.extend(settings.0);
            }
            "kernel" => scenario.profile = Some(value.parse().map_err(wrong(option, "VERSION", &value))?),
            "duration" => scenario.time_limit = Some(parse_duration(&value).map_err(wrong(option, "TIME", &value))?),
            _ => scenario.hotplug.push(parse_hotplug(&value).map_err(wrong(option, "TIME:CPU=off|on", &value))?),
        }
    }
    Ok((scenario, choice.with_governor(governor)?))
}

/// Makes the mistake of a value from what is wrong with it.
fn wrong<E: Into<Box<dyn Error + Send + Sync>>>(
    option: &'static str,
    placeholder: &'static str,
    value: &str,
) -> impl FnOnce(E) -> LineError {
    let value = value.to_owned();
    move |why| LineError::Value { option, placeholder, value, why: why.into() }
}

#[cfg(test)]
mod tests {
    use tandem_simulator::units::SEC;

    use super::super::pair::FairOrObject;
    use super::*;

    fn read(scheduler: &str, line: &str) -> Result<(Scenario, Pair), String> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        scenario(scheduler, &words, &FairOrObject).map_err(|error| error.to_string())
    }

    #[test]
    fn a_line_makes_a_scenario_and_a_pair() {
        let (scenario, pair) =
            read("fair", "--set hz=1000,cpuidle=false --duration=2s --set hz=100 --governor powersave").unwrap();
        assert_eq!(pair.to_string(), "fair+powersave");
        assert_eq!(scenario.time_limit, Some(2 * SEC));
        let settings: Vec<String> = scenario.settings.iter().map(ToString::to_string).collect();
        assert_eq!(settings, ["hz=1000", "cpuidle=false", "hz=100"]);
        let (scenario, _) = read("fair", "--hotplug 1s:3=off --hotplug 2s:3=on --kernel 7.1").unwrap();
        assert_eq!((scenario.hotplug.len(), scenario.profile.is_some()), (2, true));
    }

    #[test]
    fn a_mistake_says_what_was_meant() {
        let wrong = |scheduler: &str, line: &str| read(scheduler, line).unwrap_err();
        assert!(wrong("fair", "--st hz=1").contains("did you mean `set`?"));
        assert!(wrong("fair", "--seed=3").contains("`--seed` cannot be among the options"));
        assert!(wrong("fair", "hz=100").contains("`hz=100` is no option"));
        assert!(wrong("fair", "--set").contains("lacks its value"));
        assert!(wrong("fair", "--duration 1s --duration 2s").contains("given twice"));
        assert!(wrong("fair", "--duration 10").starts_with("invalid value '10' for '--duration <TIME>': expected"));
        assert!(wrong("far", "").starts_with("invalid value 'far' for '--scheduler <S>': no scheduler `far`"));
        assert!(wrong("fair+powersave", "--governor schedutil").contains("given twice"));
    }
}
