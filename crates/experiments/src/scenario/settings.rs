// SPDX-License-Identifier: MIT OR Apache-2.0
//! Settings as they are written: `hz=1000`, or several with commas between them.

use std::fmt;
use std::str::FromStr;

use tandem_simulator::simulation::KernelParameters;

use super::values::ValueError;

/// One KEY=VALUE: a kernel parameter, or a variable of a sched_ext scheduler.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// The name.
    pub key: String,
    /// The value as it was written.
    pub value: String,
}

impl Setting {
    /// The value for programs: a number or a truth value where it is written as one, else the text.
    pub(crate) fn typed(&self) -> serde_json::Value {
        match serde_json::from_str(&self.value) {
            Ok(value @ (serde_json::Value::Number(_) | serde_json::Value::Bool(_))) => value,
            _ => self.value.as_str().into(),
        }
    }

    /// Whether it is a kernel parameter; that goes before a variable of the same name.
    pub fn is_kernel(&self) -> bool {
        KernelParameters::keys().contains(&self.key.as_str())
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.key, self.value)
    }
}

/// The settings of one text: `KEY=VALUE[,KEY=VALUE]...`. To whom a key belongs, and what it may be, depends on the
/// schedulers: [`Scenario::check`](super::Scenario::check) asks them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings(pub Vec<Setting>);

impl Settings {
    /// Keys with their values, in the order given.
    pub fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|Setting { key, value }| (key.as_str(), value.as_str()))
    }
}

impl FromStr for Settings {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        parts(text).into_iter().map(setting).collect::<Result<_, _>>().map(Self)
    }
}

fn setting(text: &str) -> Result<Setting, ValueError> {
    let (key, value) = text.split_once('=').ok_or(ValueError::Setting)?;
    let (key, value) = (key.trim().to_owned(), value.trim().to_owned());
    if key.is_empty() { Err(ValueError::Setting) } else { Ok(Setting { key, value }) }
}

/// The parts of a text at its commas, but for those between quotes: a text may hold commas of its own.
pub(super) fn parts(text: &str) -> Vec<&str> {
    let mut quoted = false;
    let separates = |c: char| {
        quoted ^= c == '"';
        c == ',' && !quoted
    };
    text.split(separates).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_settings_stand_between_commas_and_quotes_keep_theirs() {
        let read = |text: &str| {
            let settings: Settings = text.parse().unwrap();
            settings.pairs().map(|(key, value)| format!("{key}:{value}")).collect::<Vec<_>>()
        };
        assert_eq!(read("hz=100"), ["hz:100"]);
        assert_eq!(read("a=1, b = true ,c=-2"), ["a:1", "b:true", "c:-2"]);
        assert_eq!(read(r#"name="x,y=1",hz=100"#), [r#"name:"x,y=1""#, "hz:100"]);
    }

    #[test]
    fn a_setting_without_key_or_value_is_none() {
        for mistake in ["hz", "=250", "hz=250,"] {
            assert_eq!(mistake.parse::<Settings>(), Err(ValueError::Setting), "{mistake}");
        }
    }
}
