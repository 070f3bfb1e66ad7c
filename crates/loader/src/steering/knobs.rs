// SPDX-License-Identifier: MIT OR Apache-2.0
//! What of a processor that chooses clocks itself can be turned, and what turns it.

use std::fmt;

/// Something of a cpufreq policy that can be turned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Knob {
    /// `energy_performance_preference`.
    Preference,
    /// `scaling_min_freq`.
    Lowest,
    /// `scaling_max_freq`.
    Highest,
}

impl Knob {
    /// All of them, in the order in which they are turned.
    pub const ALL: [Self; 3] = [Self::Preference, Self::Lowest, Self::Highest];

    /// The file of a policy that it is.
    pub fn file(self) -> &'static str {
        match self {
            Self::Preference => "energy_performance_preference",
            Self::Lowest => "scaling_min_freq",
            Self::Highest => "scaling_max_freq",
        }
    }

    /// The value that a file's text means; `None`: none.
    pub fn parse(self, text: &str) -> Option<Value> {
        match self {
            Self::Preference => Preference::parse(text).map(Value::Preference),
            Self::Lowest | Self::Highest => text.trim().parse().ok().map(Value::Khz),
        }
    }
}

/// `energy_performance_preference`: how energy is weighed against speed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Preference {
    /// What the firmware has set.
    Default,
    /// 0.
    Performance,
    /// 128; some models of Intel's have less.
    BalancePerformance,
    /// 192.
    BalancePower,
    /// 255.
    Power,
    /// Another number.
    Number(u8),
}

impl Preference {
    const NAMES: [(&'static str, Self); 5] = [
        ("default", Self::Default),
        ("performance", Self::Performance),
        ("balance_performance", Self::BalancePerformance),
        ("balance_power", Self::BalancePower),
        ("power", Self::Power),
    ];

    /// As sysfs has it: a name, or a number from 0 to 255.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let named = Self::NAMES.iter().find(|(name, _)| *name == text).map(|(_, preference)| *preference);
        named.or_else(|| text.parse().ok().map(Self::Number))
    }

    /// The preference of a number, by its name if it has one: drivers of older kernels know only these.
    pub fn of_number(number: u8) -> Self {
        let mut named = Self::NAMES.iter().map(|(_, named)| *named);
        named.find(|named| named.number() == Some(number)).unwrap_or(Self::Number(number))
    }

    /// The preference's number; `None` for the firmware's own.
    pub fn number(self) -> Option<u8> {
        match self {
            Self::Default => None,
            Self::Performance => Some(0),
            Self::BalancePerformance => Some(128),
            Self::BalancePower => Some(192),
            Self::Power => Some(255),
            Self::Number(number) => Some(number),
        }
    }
}

impl fmt::Display for Preference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            named => f.write_str(Self::NAMES.iter().find(|(_, known)| known == named).map_or("", |(name, _)| name)),
        }
    }
}

/// The value of a knob.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Value {
    /// How energy is weighed against speed.
    Preference(Preference),
    /// A clock.
    Khz(u32),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Preference(preference) => preference.fmt(f),
            Self::Khz(khz) => khz.fmt(f),
        }
    }
}

/// A knob that would not be turned.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct Refused {
    /// Why, in words.
    pub why: String,
}

/// Turns knobs. What it changes it can give back: it writes down what was there before it writes.
pub trait Knobs {
    /// What a knob of the `domain`-th clock is at now; `None`: there is no such knob, or it does not say.
    fn read(&mut self, domain: usize, knob: Knob) -> Option<Value>;

    /// Turns it; what it is at then, which may be another value nearby.
    ///
    /// # Errors
    /// [`Refused`]: it is where it was.
    fn write(&mut self, domain: usize, knob: Knob, value: Value) -> Result<Value, Refused>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn preferences_are_read_and_written_as_sysfs_has_them() {
        for text in ["default", "performance", "balance_performance", "balance_power", "power", "97"] {
            assert_eq!(Preference::parse(&format!("{text}\n")).unwrap().to_string(), text);
        }
        assert_eq!(Preference::parse("256"), None);
        assert_eq!(Knob::Lowest.parse("800000\n"), Some(Value::Khz(800_000)));
    }
}
