// SPDX-License-Identifier: MIT OR Apache-2.0
//! Settings that change at the start of each phase.
//!
//! As in rt-app, scheduling parameters and the task group stay as they are if a phase does not set them, and the
//! affinity goes back to the task's. Because settings stay, a phase may start differently the first time than after the
//! last phase: then the first pass through the phases is a program of its own.

use super::super::Scheduling;
use super::fields::Source;
use super::scheduling::{apply, kind_of, warn_unused};
use super::syntax::{PolicyKind, Task};
use crate::input::InputError;

/// The settings at the start of a phase; `None`: unchanged.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct PhaseStart {
    pub scheduling: Option<Scheduling>,
    /// CPUs that the thread may use; `Some(None)`: all.
    pub affinity: Option<Option<Vec<u32>>>,
    pub task_group: Option<String>,
}

/// The starts of a task's phases.
pub(super) struct PhaseStarts {
    /// Scheduling parameters with which a thread starts.
    pub scheduling: Scheduling,
    /// The first pass, if it differs from the others.
    pub first: Option<Vec<PhaseStart>>,
    /// Every other pass.
    pub next: Vec<PhaseStart>,
}

/// The settings of a thread on its way through the phases.
#[derive(Clone, PartialEq)]
struct State {
    scheduling: Scheduling,
    affinity: Option<Vec<u32>>,
    task_group: Option<String>,
}

/// The settings of each phase in a pass, whether or not they change anything, and whether any did.
struct Pass {
    starts: Vec<PhaseStart>,
    changes: Vec<[bool; 3]>,
}

impl PhaseStarts {
    /// Follows a thread of `task` through its phases twice.
    ///
    /// # Errors
    /// Settings that the kernel or rt-app would refuse.
    pub fn of(source: &Source, task: &Task) -> Result<Self, InputError> {
        let mut state = initial(source, task)?;
        let scheduling = state.scheduling;
        let mut kinds = vec![None; task.phases.len()];
        let mut first = pass(source, task, &mut state, &mut kinds, true)?;
        if matches!(task.repeat, Some(0 | 1)) {
            return Ok(Self { scheduling, first: None, next: first.keep_changes() });
        }
        let mut next = pass(source, task, &mut state, &mut kinds, false)?;
        if first.starts != next.starts {
            return Ok(Self { scheduling, first: Some(first.keep_changes()), next: next.keep_changes() });
        }
        for (all, once) in next.changes.iter_mut().zip(&first.changes) {
            for (all, once) in all.iter_mut().zip(once) {
                *all |= once;
            }
        }
        Ok(Self { scheduling, first: None, next: next.keep_changes() })
    }
}

impl Pass {
    /// The phases' starts without the settings that change nothing.
    fn keep_changes(&mut self) -> Vec<PhaseStart> {
        let mut starts = std::mem::take(&mut self.starts);
        for (start, [scheduling, affinity, task_group]) in starts.iter_mut().zip(&self.changes) {
            start.scheduling = start.scheduling.filter(|_| *scheduling);
            start.affinity = start.affinity.take().filter(|_| *affinity);
            start.task_group = start.task_group.take().filter(|_| *task_group);
        }
        starts
    }
}

fn initial(source: &Source, task: &Task) -> Result<State, InputError> {
    let mut scheduling = Scheduling::default();
    if let Some(change) = &task.settings.scheduling {
        let kind = change.policy.unwrap_or(PolicyKind::Other);
        warn_unused(source, change, kind);
        scheduling = apply(source, &scheduling, change, kind)?;
    }
    let task_group = task.settings.task_group.clone().map(|(name, _)| name);
    Ok(State { scheduling, affinity: task.settings.cpus.clone(), task_group })
}

/// One pass through the phases from `state`. `kinds` keeps, for each phase without a policy, the policy that it had
/// when it first started: rt-app stays with that one.
fn pass(
    source: &Source,
    task: &Task,
    state: &mut State,
    kinds: &mut [Option<PolicyKind>],
    warn: bool,
) -> Result<Pass, InputError> {
    let mut pass = Pass { starts: Vec::new(), changes: Vec::new() };
    for (phase, kind) in task.phases.iter().zip(kinds) {
        let before = state.clone();
        let settings = &phase.settings;
        if let Some(change) = &settings.scheduling {
            let kind = *kind.get_or_insert(change.policy.unwrap_or(kind_of(&state.scheduling)));
            if warn {
                warn_unused(source, change, kind);
            }
            state.scheduling = apply(source, &state.scheduling, change, kind)?;
        }
        state.affinity = settings.cpus.clone().or_else(|| task.settings.cpus.clone());
        if let Some((name, _)) = &settings.task_group {
            state.task_group = Some(name.clone());
        }
        check_task_group(source, task, settings.task_group.as_ref().or(task.settings.task_group.as_ref()), state)?;
        pass.changes.push([
            before.scheduling != state.scheduling,
            before.affinity != state.affinity,
            before.task_group != state.task_group,
        ]);
        pass.starts.push(PhaseStart {
            scheduling: settings.scheduling.is_some().then_some(state.scheduling),
            affinity: Some(state.affinity.clone()),
            task_group: settings.task_group.clone().map(|(name, _)| name),
        });
    }
    Ok(pass)
}

/// Refuses a task group together with a real-time policy, as rt-app does.
fn check_task_group(
    source: &Source,
    task: &Task,
    group: Option<&(String, usize)>,
    state: &State,
) -> Result<(), InputError> {
    let kind = kind_of(&state.scheduling);
    let takes_one = matches!(kind, PolicyKind::Other | PolicyKind::Batch | PolicyKind::Idle | PolicyKind::Ext);
    if state.task_group.is_none() || takes_one {
        return Ok(());
    }
    let offset = group.map_or(task.offset, |(_, offset)| *offset);
    let message = format!("task `{}` has a `taskgroup` and a policy that takes none", task.name);
    Err(source.error(offset, message).help("task groups are for SCHED_OTHER, SCHED_BATCH and SCHED_IDLE"))
}
