// SPDX-License-Identifier: MIT OR Apache-2.0
//! Schedulers that a program carries, under names of their own, beside those that the simulator knows.

use std::error::Error;
use std::sync::Arc;

use tandem_simulator::input::valid_names;
use tandem_simulator::simulation::{OpenError, SchedExt, Scheduler, UnknownScheduler};

use super::pair::Schedulers;

/// A sched_ext object with its loader file, which a program carries under a name of its own.
#[derive(Debug, Clone, Copy)]
pub struct CarriedObject<'a> {
    /// Name of the scheduler where a scheduler is named.
    pub name: &'a str,
    /// The object's bytes.
    pub object: &'a [u8],
    /// Text of the loader file beside the object.
    pub sidecar: &'a str,
}

/// The schedulers that the simulator knows by itself, and those that a program carries.
#[derive(Debug, Clone, Copy)]
pub struct FairOrCarried<'a>(pub &'a [CarriedObject<'a>]);

impl<'a> FairOrCarried<'a> {
    /// The object of this name, if the program carries one.
    pub fn carried(&self, name: &str) -> Option<&'a CarriedObject<'a>> {
        self.0.iter().find(|carried| carried.name == name)
    }

    /// The object that `text` names, with variables to set behind the name if wanted (`tandem,sorted=true`); `None` if the
    /// program carries none of this name.
    pub fn open(&self, text: &str) -> Option<Result<SchedExt, OpenError>> {
        let CarriedObject { name, object, sidecar } = self.carried(text.split(',').next()?)?;
        Some(SchedExt::embedded(name, object, sidecar, &text[name.len()..]))
    }

    /// The scheduler that `text` names: one that is carried, `fair`, or the path of an object.
    ///
    /// # Errors
    /// The text names none, with the nearest name; or the object cannot be used.
    pub fn scheduler(&self, text: &str) -> Result<Scheduler, UnknownScheduler> {
        if let Some(carried) = self.open(text) {
            return Ok(Scheduler::SchedExt(Arc::new(carried?)));
        }
        text.parse::<Scheduler>().map_err(|error| match error {
            UnknownScheduler::Name { name, .. } => {
                let first = name.split(',').next().unwrap_or_default();
                let names: Vec<&str> = ["fair"].into_iter().chain(self.0.iter().map(|carried| carried.name)).collect();
                UnknownScheduler::Name { valid: valid_names(first, &names), name }
            }
            error => error,
        })
    }
}

impl Schedulers for FairOrCarried<'_> {
    fn named(&self, text: &str) -> Result<Scheduler, Box<dyn Error + Send + Sync>> {
        Ok(self.scheduler(text)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_looked_for_among_those_carried_and_a_mistake_names_the_nearest() {
        let carried = [CarriedObject { name: "mine", object: b"no object", sidecar: "" }];
        let schedulers = FairOrCarried(&carried);
        assert_eq!(schedulers.scheduler("fair"), Ok(Scheduler::Fair));
        let wrong = |text: &str| schedulers.scheduler(text).unwrap_err().to_string();
        assert!(wrong("mine,a=1").starts_with("mine: "), "{}", wrong("mine,a=1"));
        assert!(wrong("mime").contains("did you mean `mine`?"), "{}", wrong("mime"));
    }
}
