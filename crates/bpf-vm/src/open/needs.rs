// SPDX-License-Identifier: MIT OR Apache-2.0
//! What an object's settings need of it: the tag `needs runnable quiescent` of a variable names callbacks, programs or flags
//! that are of use only if the variable is on. A loader leaves out what is named so and needed by no setting that is on:
//! then nobody pays for calling it.

use std::collections::BTreeSet;

use super::OpenObject;

/// What settings that are on need, and what only settings need that are off.
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

    /// What settings that are on have named.
    pub fn needed(&self) -> impl Iterator<Item = &str> {
        self.needed.iter().map(String::as_str)
    }
}

impl OpenObject {
    /// What the settings need as they are now; one is on if it is not zero.
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
