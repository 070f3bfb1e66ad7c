// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is wanted of affinities and clocks: those of the scheduler's settings that they can heed.

use super::AffinityError;
use crate::plan::{Isolation, Mechanisms};

/// What is wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AffinityRequest {
    /// Where noise goes; `None`: anywhere.
    pub isolate: Option<Isolation>,
    /// The OS CPU; `None`: the lowest that is online.
    pub os_cpu: Option<usize>,
    /// The highest clock of its core, MHz; `None`: as it is.
    pub os_mhz: Option<u64>,
    /// The highest clock of all others, MHz; `None`: as it is.
    pub rest_mhz: Option<u64>,
    /// Whether the longest threads get the fastest CPUs.
    pub longest: bool,
}

impl AffinityRequest {
    /// Of the scheduler's settings (`bpf/settings.bpf.h`), names and values; of one that is there twice the last holds.
    /// `all` asks for what affinities can do: what is left out is for [`crate::plan::Plan::notes`] to say.
    ///
    /// # Errors
    /// A setting needs a scheduler, or has no such value.
    pub fn from_settings(settings: &[(String, String)]) -> Result<Self, AffinityError> {
        let mechanisms = Mechanisms::of(settings);
        if let Some(setting) = mechanisms.beyond_affinity().first().filter(|_| !mechanisms.all) {
            return Err(AffinityError::NeedsScheduler { setting: (*setting).to_owned() });
        }
        let mut request =
            Self { isolate: mechanisms.isolate, longest: mechanisms.longest, ..AffinityRequest::default() };
        for (name, value) in settings {
            let setting = Setting { name, value };
            match name.as_str() {
                "isolate" => {
                    setting.one_of(&["off", "dedicated", "shared", "0", "1", "2"], "off, dedicated or shared")?
                }
                "all" | "longest" | "serial_first" | "sorted" | "speed" => {
                    setting.one_of(&["true", "false", "1", "0"], "true or false")?;
                }
                "os_cpu" => request.os_cpu = setting.number(-1)?.map(|cpu| cpu as usize),
                "os_mhz" => request.os_mhz = setting.number(0)?,
                "rest_mhz" => request.rest_mhz = setting.number(0)?,
                _ => return Err(AffinityError::NeedsScheduler { setting: name.clone() }),
            }
        }
        let says_where = request.os_cpu.is_some() || request.os_mhz.is_some() || request.rest_mhz.is_some();
        if request.isolate.is_none() && says_where { Err(AffinityError::NotIsolated) } else { Ok(request) }
    }
}

struct Setting<'a> {
    name: &'a str,
    value: &'a str,
}

impl Setting<'_> {
    fn one_of(&self, values: &[&str], expected: &'static str) -> Result<(), AffinityError> {
        if values.contains(&self.value) { Ok(()) } else { Err(self.wrong(expected)) }
    }

    /// A number; `None` for the one that means that nothing is said.
    fn number(&self, nothing: i64) -> Result<Option<u64>, AffinityError> {
        let number: i64 = self.value.parse().map_err(|_| self.wrong("a whole number"))?;
        match u64::try_from(number) {
            _ if number == nothing => Ok(None),
            Ok(number) if number <= 20_000 => Ok(Some(number)),
            _ => Err(self.wrong("a number of at most 20000, and not below 0")),
        }
    }

    fn wrong(&self, expected: &'static str) -> AffinityError {
        AffinityError::Value { setting: self.name.to_owned(), value: self.value.to_owned(), expected }
    }
}
