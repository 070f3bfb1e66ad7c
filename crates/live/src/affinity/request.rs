// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is wanted of affinities and clocks: those of the scheduler's settings that they can heed.

use super::AffinityError;

/// Where the operating system's noise goes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Isolate {
    /// Anywhere.
    #[default]
    Off,
    /// To the OS CPU, which applications do not use (PS-Sched-1).
    Dedicated,
    /// To the OS CPU, which applications use, too (PS-Sched-2).
    Shared,
}

/// What is wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AffinityRequest {
    /// Where noise goes.
    pub isolate: Isolate,
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
    /// Of the scheduler's settings (`bpf/settings.bpf.h`), names and values; of one that is there twice the last holds. `all`
    /// means isolation as shared unless said otherwise, and longest: what is left out is for the caller to say.
    ///
    /// # Errors
    /// A setting needs a scheduler, or has no such value.
    pub fn from_settings(settings: &[(String, String)]) -> Result<Self, AffinityError> {
        let (mut request, mut isolate, mut all) = (Self::default(), None, false);
        let mut beyond: Vec<(&str, bool)> = Vec::new();
        for (name, value) in settings {
            let setting = Setting { name, value };
            match name.as_str() {
                "all" => all = setting.switch()?,
                "isolate" => isolate = Some(setting.isolate()?),
                "longest" => request.longest = setting.switch()?,
                "os_cpu" => request.os_cpu = setting.number(-1)?.map(|cpu| cpu as usize),
                "os_mhz" => request.os_mhz = setting.number(0)?,
                "rest_mhz" => request.rest_mhz = setting.number(0)?,
                "serial_first" | "sorted" | "speed" => beyond.push((name, setting.switch()?)),
                _ => return Err(AffinityError::NeedsScheduler { setting: name.clone() }),
            }
        }
        let asked = |name: &str| beyond.iter().rev().find(|(known, _)| *known == name).is_some_and(|(_, on)| *on);
        if let Some(name) = ["serial_first", "sorted", "speed"].into_iter().find(|name| !all && asked(name)) {
            return Err(AffinityError::NeedsScheduler { setting: name.to_owned() });
        }
        request.isolate = isolate.unwrap_or(if all { Isolate::Shared } else { Isolate::Off });
        request.longest |= all;
        let says_where = request.os_cpu.is_some() || request.os_mhz.is_some() || request.rest_mhz.is_some();
        if request.isolate == Isolate::Off && says_where { Err(AffinityError::NotIsolated) } else { Ok(request) }
    }
}

struct Setting<'a> {
    name: &'a str,
    value: &'a str,
}

impl Setting<'_> {
    fn switch(&self) -> Result<bool, AffinityError> {
        match self.value {
            "true" | "1" => Ok(true),
            "false" | "0" => Ok(false),
            _ => Err(self.wrong("true or false")),
        }
    }

    fn isolate(&self) -> Result<Isolate, AffinityError> {
        match self.value {
            "off" => Ok(Isolate::Off),
            "dedicated" => Ok(Isolate::Dedicated),
            "shared" => Ok(Isolate::Shared),
            _ => Err(self.wrong("off, dedicated or shared")),
        }
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
