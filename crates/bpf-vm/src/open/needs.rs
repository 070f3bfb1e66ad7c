// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parts of an object that only some settings need: the tag `needs runnable quiescent` of a variable names callbacks,
//! programs or flags that are of use only if the variable is on. A loader leaves out the parts that no setting needs
//! which is on: then calling them costs nothing.

use std::collections::BTreeSet;

use super::OpenObject;

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
}

impl OpenObject {
    /// The parts that the settings need with their present values; a setting is on if it is not zero.
    pub fn needs(&self) -> Needs {
        let mut needs = Needs::default();
        for (name, tags) in &*self.tags {
            let on = self.bytes(name).is_ok_and(|bytes| bytes.iter().any(|byte| *byte != 0));
            let named = tags.needs.iter().cloned();
            if on { needs.needed.extend(named) } else { needs.not_needed.extend(named) }
        }
        needs.not_needed.retain(|name| !needs.needed.contains(name));
        needs
    }
}
