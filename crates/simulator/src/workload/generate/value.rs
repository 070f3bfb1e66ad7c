// SPDX-License-Identifier: MIT OR Apache-2.0
//! Values of options: how they are written, and their limits.

use std::ops::RangeInclusive;
use tandem_loader::cpus::CpuList;

use super::options::OptionError;

/// A type that an option may have.
pub trait Value: Sized {
    /// The type of the limits of such a value.
    type Limits;

    /// Whether the option is given without a value.
    const FLAG: bool = false;
    /// Whether the option may be given several times.
    const LIST: bool = false;
    /// The word for a value in a usage text.
    const NAME: &'static str = "NAME";

    /// The value that `text` says, not yet compared with the limits.
    fn read(text: &str) -> Option<Self>;

    /// Whether the limits admit the value.
    fn within(&self, limits: &Self::Limits) -> bool;

    /// The values that the limits admit, in words.
    fn valid(limits: &Self::Limits) -> String;

    /// The value as it is written on the command line.
    fn show(&self) -> String;
}

/// Reads the value of `option`.
pub(super) fn read<V: Value>(option: &'static str, text: &str, limits: &V::Limits) -> Result<V, OptionError> {
    match V::read(text.trim()) {
        Some(value) if value.within(limits) => Ok(value),
        _ => Err(OptionError::Value { option, value: text.to_owned(), valid: V::valid(limits) }),
    }
}

/// Checks the value of `option`.
pub(super) fn check<V: Value>(option: &'static str, value: &V, limits: &V::Limits) -> Result<(), OptionError> {
    if value.within(limits) {
        return Ok(());
    }
    Err(OptionError::Value { option, value: value.show(), valid: V::valid(limits) })
}

/// The names with commas and `or`: `a`, `b` or `c`.
pub(super) fn one_of(names: &[&str]) -> String {
    match names {
        [rest @ .., last] if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => names.join(""),
    }
}

macro_rules! number {
    ($($type:ty),+) => {
        $(impl Value for $type {
            type Limits = RangeInclusive<$type>;
            const NAME: &'static str = "N";

            fn read(text: &str) -> Option<Self> {
                text.parse().ok()
            }

            fn within(&self, limits: &Self::Limits) -> bool {
                limits.contains(self)
            }

            fn valid(limits: &Self::Limits) -> String {
                format!("{} to {}", limits.start(), limits.end())
            }

            fn show(&self) -> String {
                self.to_string()
            }
        })+
    };
}
number!(u32, u64, f64);

impl Value for bool {
    type Limits = ();
    const FLAG: bool = true;

    fn read(text: &str) -> Option<Self> {
        text.parse().ok()
    }

    fn within(&self, _limits: &()) -> bool {
        true
    }

    fn valid(_limits: &()) -> String {
        "true or false".to_owned()
    }

    fn show(&self) -> String {
        self.to_string()
    }
}

/// A time in whole microseconds, rt-app's unit; written with a unit: `300us`, `2.5ms`, `10s`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Usec(pub u64);

impl Usec {
    /// A time of `ms` milliseconds.
    pub const fn ms(ms: u64) -> Self {
        Self(ms * 1_000)
    }

    /// A time of `s` seconds.
    pub const fn s(s: u64) -> Self {
        Self(s * 1_000_000)
    }
}

/// How often `step` fits into the `value` of `option`.
///
/// # Errors
/// The value is no whole number of steps.
pub(super) fn steps(option: &'static str, value: Usec, step: Usec) -> Result<u64, OptionError> {
    if value.0.is_multiple_of(step.0) {
        return Ok(value.0 / step.0);
    }
    Err(OptionError::conflict(option, format!("{} is no multiple of {}", value.show(), step.show())))
}

const TIMES: [(&str, u64); 4] = [("us", 1), ("ms", 1_000), ("min", 60_000_000), ("s", 1_000_000)];

impl Value for Usec {
    type Limits = RangeInclusive<Usec>;
    const NAME: &'static str = "TIME";

    fn read(text: &str) -> Option<Self> {
        scaled(text, &TIMES).map(Self)
    }

    fn within(&self, limits: &Self::Limits) -> bool {
        limits.contains(self)
    }

    fn valid(limits: &Self::Limits) -> String {
        format!("a time from {} to {}", limits.start().show(), limits.end().show())
    }

    fn show(&self) -> String {
        match self.0 {
            0 => "0us".to_owned(),
            us if us.is_multiple_of(1_000_000) => format!("{}s", us / 1_000_000),
            us if us.is_multiple_of(1_000) => format!("{}ms", us / 1_000),
            us => format!("{us}us"),
        }
    }
}

/// A number of bytes; written with a unit: `512KiB`, `4MiB`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bytes(pub u64);

const SIZES: [(&str, u64); 4] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1)];

impl Bytes {
    /// A size of `kib` KiB.
    pub const fn kib(kib: u64) -> Self {
        Self(kib << 10)
    }

    /// A size of `mib` MiB.
    pub const fn mib(mib: u64) -> Self {
        Self(mib << 20)
    }
}

impl Value for Bytes {
    type Limits = RangeInclusive<Bytes>;
    const NAME: &'static str = "SIZE";

    fn read(text: &str) -> Option<Self> {
        scaled(text, &SIZES).map(Self)
    }

    fn within(&self, limits: &Self::Limits) -> bool {
        limits.contains(self)
    }

    fn valid(limits: &Self::Limits) -> String {
        format!("a size from {} to {}", limits.start().show(), limits.end().show())
    }

    fn show(&self) -> String {
        let (unit, factor) =
            SIZES.iter().find(|(_, factor)| self.0 >= *factor && self.0.is_multiple_of(*factor)).unwrap_or(&("B", 1));
        format!("{}{unit}", self.0 / factor)
    }
}

/// A decimal number with one of `units` behind it; `None` also if the value is no whole number of the smallest unit.
fn scaled(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let (_, factor) = units.iter().find(|(name, _)| *name == unit.trim())?;
    let value = number.parse::<f64>().ok()? * *factor as f64;
    // Above 2^53 a double does not tell whole numbers apart.
    let whole = value.round();
    ((value - whole).abs() < 1e-6 && whole <= (1u64 << 53) as f64).then_some(whole as u64)
}

/// A value, or the value of the program that another option names (`program`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Own<V> {
    /// The program's value.
    Program,
    /// This value.
    Given(V),
}

impl<V: Copy> Own<V> {
    /// The value; `own` is the program's.
    pub fn or(self, own: V) -> V {
        match self {
            Self::Program => own,
            Self::Given(value) => value,
        }
    }
}

impl<V: Value> Value for Own<V> {
    type Limits = V::Limits;
    const NAME: &'static str = V::NAME;

    fn read(text: &str) -> Option<Self> {
        if text == "program" { Some(Self::Program) } else { V::read(text).map(Self::Given) }
    }

    fn within(&self, limits: &Self::Limits) -> bool {
        match self {
            Self::Program => true,
            Self::Given(value) => value.within(limits),
        }
    }

    fn valid(limits: &Self::Limits) -> String {
        format!("{}, or program", V::valid(limits))
    }

    fn show(&self) -> String {
        match self {
            Self::Program => "program".to_owned(),
            Self::Given(value) => value.show(),
        }
    }
}

/// CPUs that a task may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cpus {
    /// Every CPU.
    All,
    /// These CPUs, ascending.
    These(Vec<u32>),
}

impl Cpus {
    /// The list for rt-app's `cpus`; `None` for every CPU.
    pub fn list(&self) -> Option<Vec<u32>> {
        match self {
            Self::All => None,
            Self::These(cpus) => Some(cpus.clone()),
        }
    }
}

impl Cpus {
    /// The only CPU of the task that is made as the `index`th, if they are dealt one after the other, around; `None` for every CPU.
    pub fn dealt(&self, index: usize) -> Option<Vec<u32>> {
        match self {
            Self::All => None,
            Self::These(cpus) => Some(vec![cpus[index % cpus.len()]]),
        }
    }
}

impl Value for Cpus {
    type Limits = ();
    const NAME: &'static str = "CPUS";

    fn read(text: &str) -> Option<Self> {
        if text == "all" {
            return Some(Self::All);
        }
        let cpus = CpuList::parse(text).filter(|cpus| !cpus.is_empty())?;
        Some(Self::These(cpus.iter().map(|cpu| cpu as u32).collect()))
    }

    fn within(&self, _limits: &()) -> bool {
        true
    }

    fn valid(_limits: &()) -> String {
        "all, or a list such as 0,2-5".to_owned()
    }

    fn show(&self) -> String {
        match self {
            Self::All => "all".to_owned(),
            Self::These(cpus) => CpuList::of(cpus).to_string(),
        }
    }
}

/// Longest list.
const MAX_ENTRIES: usize = 1024;

impl<V: Value> Value for Vec<V> {
    type Limits = V::Limits;
    const LIST: bool = true;
    const NAME: &'static str = V::NAME;

    fn read(text: &str) -> Option<Self> {
        text.split(',').map(|entry| V::read(entry.trim())).collect()
    }

    fn within(&self, limits: &Self::Limits) -> bool {
        (1..=MAX_ENTRIES).contains(&self.len()) && self.iter().all(|entry| entry.within(limits))
    }

    fn valid(limits: &Self::Limits) -> String {
        format!("{}; several between commas", V::valid(limits))
    }

    fn show(&self) -> String {
        self.iter().map(Value::show).collect::<Vec<_>>().join(",")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_sizes_are_read_as_they_are_shown() {
        for (text, us) in [("300us", 300), ("2500us", 2_500), ("20ms", 20_000), ("60s", 60_000_000), ("0us", 0)] {
            assert_eq!(Usec::read(text), Some(Usec(us)));
            assert_eq!(Usec(us).show(), text);
        }
        assert_eq!(Usec::read("2.5ms"), Some(Usec(2_500)));
        assert_eq!(Usec::read("1min"), Some(Usec(60_000_000)));
        for mistake in ["20", "us", "0.5us", "-1ms", "1.2.3s", "1h", "1e99s", ""] {
            assert_eq!(Usec::read(mistake), None, "{mistake}");
        }
        for (text, bytes) in [("512KiB", 512 << 10), ("4MiB", 4 << 20), ("1GiB", 1 << 30), ("100B", 100), ("0B", 0)] {
            assert_eq!(Bytes::read(text), Some(Bytes(bytes)));
            assert_eq!(Bytes(bytes).show(), text);
        }
        assert_eq!(Bytes::read("1.5MiB"), Some(Bytes(1536 << 10)));
        assert_eq!(Bytes::read("4MB"), None);
    }

    #[test]
    fn a_value_outside_of_its_limits_is_refused_with_the_limits() {
        let error = read::<u32>("threads", "0", &(1..=8)).unwrap_err();
        assert_eq!(error.to_string(), "--threads 0: expected 1 to 8");
        let error = read::<Usec>("work", "20", &(Usec(1)..=Usec::s(1))).unwrap_err();
        assert_eq!(error.to_string(), "--work 20: expected a time from 1us to 1s");
        assert_eq!(read::<f64>("share", "nan", &(0.0..=1.0)).unwrap_err().to_string(), "--share nan: expected 0 to 1");
    }

    #[test]
    fn lists_stand_between_commas_and_are_not_empty() {
        assert_eq!(Vec::<u32>::read("7, 7,5"), Some(vec![7, 7, 5]));
        assert_eq!(Vec::<u32>::read("7,,5"), None);
        assert!(!Vec::<u32>::new().within(&(1..=9)));
        assert!(!vec![7u32, 10].within(&(1..=9)));
    }
}
