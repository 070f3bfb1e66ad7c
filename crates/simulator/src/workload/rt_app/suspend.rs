// SPDX-License-Identifier: MIT OR Apache-2.0
//! The name that a `suspend` waits for.
//!
//! Versions of rt-app up to May 2025 (so Debian's 1.0) wait for a `resume` of the name in the `suspend`, and rt-app's
//! examples rely on that. Later versions ignore the name and wait for a `resume` of the task's own name. Tandem serves
//! both: the name in the `suspend` counts if some `resume` has it, otherwise the task's own name does.

use std::collections::BTreeSet;

use super::fields::Source;
use super::syntax::{Event, Task};

/// Settles the name in every `suspend`, and warns if versions of rt-app differ.
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
                source.warn(step.offset, format!("`suspend` waits for a resume of `{own}`: no task resumes `{name}`"));
                name.clone_from(own);
            }
        }
    }
}
