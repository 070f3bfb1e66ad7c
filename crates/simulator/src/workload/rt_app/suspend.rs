// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a `suspend` waits for.
//!
//! rt-app up to May 2025 (so Debian's 1.0) waits for a `resume` of the name that stands there, and its examples count
//! on it; later versions ignore the name and wait for a `resume` of the own task. Both are served: the name counts if
//! some `resume` gives it, otherwise the own task's does.

use std::collections::BTreeSet;

use super::fields::Source;
use super::syntax::{Event, Task};

/// Settles the name in every `suspend`, and warns where versions of rt-app differ.
pub(super) fn resolve(source: &Source, tasks: &mut [Task]) {
    let resumed: BTreeSet<String> = tasks
        .iter()
        .flat_map(Task::steps)
        .filter_map(|step| match &step.event {
            Event::Resume(name) => Some(name.clone()),
            _ => None,
        })
        .collect();
    for task in tasks {
        for step in task.phases.iter_mut().flat_map(|phase| &mut phase.steps) {
            let Event::Suspend(name) = &mut step.event else { continue };
            let own = &task.name;
            if name.is_empty() || name == own {
                name.clone_from(own);
            } else if resumed.contains(name) {
                let message = format!("`suspend` waits for a resume of `{name}`: rt-app since May 2025 for `{own}`");
                source.warn(step.offset, message);
            } else {
                source.warn(step.offset, format!("`suspend` waits for a resume of `{own}`: nobody resumes `{name}`"));
                name.clone_from(own);
            }
        }
    }
}
