// SPDX-License-Identifier: MIT OR Apache-2.0
//! Settings that are varied: `slice_us=1000,2000,4000`, and the pairs that their values make.

use std::fmt;
use std::str::FromStr;

use tandem_simulator::simulation::KernelParameters;

use super::pair::Pair;
use super::settings::{Setting, parts};
use super::{Scenario, ScenarioError, object_of};

/// A setting with the values that it takes in turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VariedSetting {
    /// The name: a kernel parameter, or a variable of a sched_ext scheduler.
    pub key: String,
    /// The values as they were written, each once.
    pub values: Vec<String>,
}

/// Why parameters span nothing.
#[derive(Debug, thiserror::Error)]
pub enum ParameterError {
    /// The text is no parameter.
    #[error("expected NAME=VALUE,VALUE..., such as `slice_us=1000,2000,4000`")]
    Form,
    /// A value stands twice in the list.
    #[error("`{key}` has the value {value} twice")]
    Repeated {
        /// The setting.
        key: String,
        /// The value.
        value: String,
    },
    /// A setting is varied and fixed, or varied twice.
    #[error("`{key}` is varied, and is also set {by}")]
    Twice {
        /// The setting.
        key: String,
        /// What else sets it.
        by: String,
    },
    /// No scheduler has the setting, or it has no such value.
    #[error("{0}")]
    Setting(#[from] ScenarioError),
}

impl VariedSetting {
    /// The setting with each of its values.
    fn settings(&self) -> impl Iterator<Item = Setting> + '_ {
        self.values.iter().map(|value| Setting { key: self.key.clone(), value: value.clone() })
    }
}

impl fmt::Display for VariedSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.key, self.values.join(","))
    }
}

impl FromStr for VariedSetting {
    type Err = ParameterError;

    /// Reads `NAME=VALUE[,VALUE]...`. A value that is a text with commas stands in quotes.
    fn from_str(text: &str) -> Result<Self, ParameterError> {
        let (key, values) = text.split_once('=').ok_or(ParameterError::Form)?;
        let (key, values) = (key.trim(), parts(values).into_iter().map(str::trim).collect::<Vec<_>>());
        if key.is_empty() || values.iter().any(|value| value.is_empty()) {
            return Err(ParameterError::Form);
        }
        for (index, value) in values.iter().enumerate() {
            if values[..index].contains(value) {
                return Err(ParameterError::Repeated { key: key.to_owned(), value: (*value).to_owned() });
            }
        }
        Ok(Self { key: key.to_owned(), values: values.into_iter().map(str::to_owned).collect() })
    }
}

/// Each pair with each combination of the values of those parameters that it has: every pair has the kernel's, a sched_ext
/// scheduler its own. A pair that has none of them stays one. The last parameter changes fastest.
///
/// # Errors
/// [`ParameterError`]: a parameter that no pair has, a value that is none of its type, a setting with two sources.
pub fn spanned(
    pairs: Vec<Pair>,
    parameters: &[VariedSetting],
    scenario: &Scenario,
) -> Result<Vec<Pair>, ParameterError> {
    for (index, parameter) in parameters.iter().enumerate() {
        check(parameter, &parameters[..index], &pairs, scenario)?;
    }
    let mut spanned = pairs;
    for parameter in parameters {
        let with = |pair: Pair| -> Vec<Pair> {
            if !has(&pair, &parameter.key) {
                return vec![pair];
            }
            let with = |setting| Pair { parameters: [&pair.parameters[..], &[setting]].concat(), ..pair.clone() };
            parameter.settings().map(with).collect()
        };
        spanned = spanned.into_iter().flat_map(with).collect();
    }
    Ok(spanned)
}

/// Whether a parameter means something for a pair.
fn has(pair: &Pair, key: &str) -> bool {
    is_kernel(key) || object_of(&pair.scheduler).is_some_and(|object| object.has_setting(key))
}

fn is_kernel(key: &str) -> bool {
    KernelParameters::keys().contains(&key)
}

fn check(
    parameter: &VariedSetting,
    earlier: &[VariedSetting],
    pairs: &[Pair],
    scenario: &Scenario,
) -> Result<(), ParameterError> {
    let key = &parameter.key;
    let twice = |by: String| Err(ParameterError::Twice { key: key.clone(), by });
    if earlier.iter().any(|earlier| earlier.key == *key) {
        return twice("by another parameter".to_owned());
    }
    if scenario.value_of(key).is_some() {
        return twice("for all runs".to_owned());
    }
    for object in pairs.iter().filter_map(|pair| object_of(&pair.scheduler)).filter(|_| !is_kernel(key)) {
        if object.settings.iter().any(|(name, _)| name == key) {
            return twice(format!("behind the name of {}", object.name));
        }
    }
    for setting in parameter.settings() {
        if setting.is_kernel() {
            KernelParameters::default().set(&setting.key, &setting.value).map_err(ScenarioError::from)?;
        }
        let alone = Scenario { settings: vec![setting], ..Scenario::default() };
        alone.check(pairs.iter().map(|pair| &pair.scheduler))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Choice, FairOrObject};

    fn pairs(texts: &[&str]) -> Vec<Pair> {
        texts.iter().map(|text| Choice::parse(text, &FairOrObject).unwrap().pair()).collect()
    }

    fn parameters(texts: &[&str]) -> Vec<VariedSetting> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    fn names(pairs: &[Pair]) -> Vec<String> {
        pairs.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn the_last_parameter_changes_fastest() {
        let spanned = spanned(
            pairs(&["fair", "fair+powersave"]),
            &parameters(&["hz=100,1000", "load_balance=true,false"]),
            &Scenario::default(),
        );
        let expected = ["fair", "fair+powersave"].map(|pair| {
            ["hz=100 load_balance=true", "hz=100 load_balance=false", "hz=1000 load_balance=true"]
                .into_iter()
                .chain(["hz=1000 load_balance=false"])
                .map(|values| format!("{pair} {values}"))
                .collect::<Vec<_>>()
        });
        assert_eq!(names(&spanned.unwrap()), expected.concat());
    }

    #[test]
    fn the_values_reach_the_kernel() {
        let spanned = spanned(pairs(&["fair"]), &parameters(&["hz=100,1000"]), &Scenario::default()).unwrap();
        let hz = |pair| Scenario::default().options(pair, 0).unwrap().kernel.hz;
        assert_eq!(spanned.iter().map(hz).collect::<Vec<_>>(), [100, 1000]);
    }

    #[test]
    fn a_parameter_is_a_name_with_values() {
        assert_eq!("hz=100".parse::<VariedSetting>().unwrap().values, ["100"]);
        assert_eq!(r#"label="a,b", c"#.parse::<VariedSetting>().unwrap().values, [r#""a,b""#, "c"]);
        for mistake in ["hz", "=1", "hz=", "hz=1,,2", "hz=1,"] {
            assert!(matches!(mistake.parse::<VariedSetting>(), Err(ParameterError::Form)), "{mistake}");
        }
        assert_eq!("hz=1,2,1".parse::<VariedSetting>().unwrap_err().to_string(), "`hz` has the value 1 twice");
    }

    #[test]
    fn what_spans_nothing_says_why() {
        let error = |texts: &[&str], set: &str| {
            let settings = if set.is_empty() { Vec::new() } else { set.parse::<crate::Settings>().unwrap().0 };
            let scenario = Scenario { settings, ..Scenario::default() };
            spanned(pairs(&["fair"]), &parameters(texts), &scenario).unwrap_err().to_string()
        };
        assert!(error(&["hzz=1,2"], "").starts_with("unknown setting `hzz`; did you mean `hz`?"));
        assert!(error(&["hz=250,fast"], "").contains("fast"));
        assert_eq!(error(&["hz=100", "hz=1000"], ""), "`hz` is varied, and is also set by another parameter");
        assert_eq!(error(&["hz=100,1000"], "hz=250"), "`hz` is varied, and is also set for all runs");
    }
}
