// SPDX-License-Identifier: MIT OR Apache-2.0
//! A scheduler and the governor beside it, and how both are written: `fair+schedutil`.

use std::error::Error;
use std::fmt;

use tandem_simulator::machine::Machine;
use tandem_simulator::simulation::{Governor, GovernorError, NotOffered, SchedExt, Scheduler};

use super::settings::Setting;

/// Turns the names of schedulers into schedulers. A user of this crate gives one, which may know schedulers of the user's
/// own.
pub trait Schedulers {
    /// The scheduler that `text` names, with settings behind the name if wanted: `fair`, `./mine.bpf.o,slice_us=500`.
    ///
    /// # Errors
    /// What is wrong with `text`, and what to do next, for the person who wrote it.
    fn named(&self, text: &str) -> Result<Scheduler, Box<dyn Error + Send + Sync>>;
}

/// The schedulers that the simulator knows by itself: `fair`, and the paths of sched_ext objects.
#[derive(Debug, Clone, Copy, Default)]
pub struct FairOrObject;

impl Schedulers for FairOrObject {
    fn named(&self, text: &str) -> Result<Scheduler, Box<dyn Error + Send + Sync>> {
        Ok(text.parse()?)
    }
}

/// A scheduler and the governor that chooses clocks beside it, written `fair+schedutil`, or `fair` where each machine has its
/// own default; where settings are varied, with its values of them: `single+schedutil slice_us=1000`.
#[derive(Debug, Clone, PartialEq)]
pub struct Pair {
    /// Chooses threads and CPUs.
    pub scheduler: Scheduler,
    /// Chooses clocks.
    pub governor: Governor,
    /// Values of varied settings, of the kernel or the scheduler, in the order of the parameters: see
    /// [`spanned`](crate::spanned). They take effect after the scenario's.
    pub parameters: Vec<Setting>,
}

impl Pair {
    /// A scheduler beside a governor; no setting is varied.
    pub fn new(scheduler: Scheduler, governor: Governor) -> Self {
        Self { scheduler, governor, parameters: Vec::new() }
    }

    /// The pair as it runs on `machine`: the governor under the name that it has there.
    ///
    /// # Errors
    /// The machine's driver does not offer the governor.
    pub fn on(&self, machine: &Machine) -> Result<Self, NotOffered> {
        Ok(Self { governor: self.governor.on(machine)?, ..self.clone() })
    }

    /// The pair as it runs on all of `machines`, if it is the same on all; else as it is written.
    pub fn on_all(&self, machines: &[Machine]) -> Self {
        let mut there = machines.iter().map(|machine| self.on(machine));
        match there.next() {
            Some(Ok(first)) if there.all(|other| other.as_ref() == Ok(&first)) => first,
            _ => self.clone(),
        }
    }
}

impl fmt::Display for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.scheduler)?;
        if self.governor != Governor::Default {
            write!(f, "+{}", self.governor)?;
        }
        self.parameters.iter().try_for_each(|parameter| write!(f, " {parameter}"))
    }
}

/// A scheduler, with or without a governor, as a person chooses it.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    /// The part before the `+`.
    pub scheduler: Scheduler,
    /// The part behind the `+`.
    pub governor: Option<Governor>,
}

/// Why a text names no scheduler, or none with a governor.
#[derive(Debug, thiserror::Error)]
pub enum ChoiceError {
    /// The part before the `+` names no scheduler.
    #[error("{0}")]
    Scheduler(Box<dyn Error + Send + Sync>),
    /// The part behind the `+` names no governor.
    #[error("{0}")]
    Governor(#[from] GovernorError),
    /// The governor stands behind the scheduler and in an option of its own.
    #[error("the governor is given twice: {in_pair} in --scheduler and {alone} in --governor")]
    TwoGovernors {
        /// The governor behind the scheduler.
        in_pair: Governor,
        /// The governor of the option.
        alone: Governor,
    },
}

impl Choice {
    /// Reads `S` or `S+G`. A path to a scheduler may hold a `+`, and so may a value behind it: the last `+` behind the
    /// path separates.
    ///
    /// # Errors
    /// [`ChoiceError::Scheduler`] or [`ChoiceError::Governor`].
    pub fn parse(text: &str, schedulers: &dyn Schedulers) -> Result<Self, ChoiceError> {
        let path = SchedExt::path_in(text).map_or(0, str::len);
        let (scheduler, governor) = match text[path..].rfind('+') {
            Some(at) => (&text[..path + at], Some(text[path + at + 1..].parse()?)),
            None => (text, None),
        };
        Ok(Self { scheduler: schedulers.named(scheduler).map_err(ChoiceError::Scheduler)?, governor })
    }

    /// The pair, with the governor that a machine's own Linux runs with where none was named.
    pub fn pair(&self) -> Pair {
        Pair::new(self.scheduler.clone(), self.governor.unwrap_or(Governor::Default))
    }

    /// The pair with the governor of an option beside the scheduler, if there is one.
    ///
    /// # Errors
    /// [`ChoiceError::TwoGovernors`].
    pub fn with_governor(&self, alone: Option<Governor>) -> Result<Pair, ChoiceError> {
        match (self.governor, alone) {
            (Some(in_pair), Some(alone)) => Err(ChoiceError::TwoGovernors { in_pair, alone }),
            (None, Some(governor)) => Ok(Pair::new(self.scheduler.clone(), governor)),
            (_, None) => Ok(self.pair()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_governor_stands_behind_the_last_plus() {
        let choice = |text| Choice::parse(text, &FairOrObject).unwrap();
        assert_eq!(choice("fair+powersave").pair(), Pair::new(Scheduler::Fair, Governor::Powersave));
        assert_eq!(choice("fair+powersave").pair().to_string(), "fair+powersave");
        assert_eq!(choice("fair+userspace=1400MHz").pair().governor, Governor::Userspace { khz: Some(1_400_000) });
    }

    #[test]
    fn a_governor_is_given_once() {
        let with = |text, alone| Choice::parse(text, &FairOrObject).unwrap().with_governor(alone);
        assert_eq!(with("fair", Some(Governor::Powersave)).unwrap().to_string(), "fair+powersave");
        assert_eq!(with("fair", None).unwrap().to_string(), "fair");
        let there = |machine| with("fair", None).unwrap().on(&Machine::load(machine).unwrap()).unwrap().to_string();
        assert_eq!(there("hikey960"), "fair+schedutil");
        assert_eq!(there("i9-12900k"), "fair+intel_pstate=powersave,epp=balance_performance");
        assert!(with("fair+powersave", Some(Governor::Performance)).is_err());
    }
}
