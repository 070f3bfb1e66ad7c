// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parts of an object that only some settings need: the tag `needs runnable quiescent` of a variable names callbacks,
//! programs or flags that are of use only if the variable is on. A loader leaves out the parts that no setting needs
//! which is on: then calling them costs nothing. The tag `instead cpu_release tandem_sched_switch` has two parts that do the same,
//! of which a loader takes one.

use std::collections::BTreeSet;

use super::OpenObject;
use super::tags::Instead;

/// The parts that settings need: those of settings that are on, and those that only settings need that are off.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Needs {
    needed: BTreeSet<String>,
    not_needed: BTreeSet<String>,
}

impl Needs {
    /// Whether a callback or program is to be left out.
    pub fn leave_out(&self, name: &str) -> bool {
        self.not_needed.contains(name)
    }

    /// The parts that settings which are on have named.
    pub fn needed(&self) -> impl Iterator<Item = &str> {
        self.needed.iter().map(String::as_str)
    }

    /// Takes one of two parts, the second one in place of the first or never; neither if the first is not needed.
    fn choose(&mut self, of: &str, comes: &str, second: bool) {
        if second && !self.leave_out(of) {
            self.needed.remove(of);
            self.needed.insert(comes.to_owned());
            self.not_needed.insert(of.to_owned());
        } else {
            self.not_needed.insert(comes.to_owned());
        }
    }
}

impl OpenObject {
    /// The parts that the settings need with their present values; a setting is on if it is not zero.
    pub fn needs(&self) -> Needs {
        let mut needs = Needs::default();
        for (name, tags) in &*self.tags {
            let named = tags.needs.iter().cloned();
            if self.variable_is_on(name) { needs.needed.extend(named) } else { needs.not_needed.extend(named) }
        }
        needs.not_needed.retain(|name| !needs.needed.contains(name));
        for Instead { variable, of, comes } in &*self.instead {
            needs.choose(of, comes, self.variable_is_on(variable));
        }
        needs
    }

    /// Whether a variable is not zero.
    pub(super) fn variable_is_on(&self, variable: &str) -> bool {
        self.bytes(variable).is_ok_and(|bytes| bytes.iter().any(|byte| *byte != 0))
    }
}
