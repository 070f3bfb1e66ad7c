// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether a workload's parts fit together. Found here: names of tasks that do not exist, waits that no thread ends,
//! loops in which time stands still.

use std::collections::{BTreeMap, BTreeSet};

use super::fields::Source;
use super::names::Names;
use super::syntax::{Event, Global, Task};
use crate::input::{InputError, nearest};

/// Checks all tasks.
///
/// # Errors
/// A workload that cannot run.
pub(super) fn all(source: &Source, global: &Global, tasks: &[Task]) -> Result<(), InputError> {
    let forked = forked(source, tasks)?;
    barriers(source, tasks, &forked)?;
    resumes(source, tasks);
    for task in tasks {
        mutexes(source, task);
        unreachable_phases(source, task);
        joins(source, task);
        still_loops(source, task)?;
        if task.instances == 0 && !forked.contains(task.name.as_str()) {
            source.warn(task.offset, format!("task `{}` has no instances and no task forks it", task.name));
        }
    }
    ends(source, global, tasks, &forked);
    Ok(())
}

/// The names of forked tasks; each must be a task's.
fn forked<'a>(source: &Source, tasks: &'a [Task]) -> Result<BTreeSet<&'a str>, InputError> {
    let mut forked = BTreeSet::new();
    for step in tasks.iter().flat_map(Task::steps) {
        let Event::Fork(name) = &step.event else { continue };
        if !tasks.iter().any(|task| task.name == *name) {
            let error = source.error(step.offset, format!("`fork` of `{name}`: no task has that name"));
            let near = nearest(name, tasks.iter().map(|task| task.name.as_str()));
            return Err(match near {
                Some(near) => error.help(format!("did you mean `{near}`?")),
                None => error.help("the tasks of `tasks` may be forked; `instance` 0 keeps them from starting first"),
            });
        }
        forked.insert(name.as_str());
    }
    Ok(forked)
}

/// Barriers count their users from `instance`, so forked threads cannot use them.
fn barriers(source: &Source, tasks: &[Task], forked: &BTreeSet<&str>) -> Result<(), InputError> {
    for task in tasks {
        let mut uses: BTreeMap<&str, u32> = BTreeMap::new();
        for step in task.steps() {
            let Event::Barrier(name) = &step.event else { continue };
            let uses = uses.entry(name).or_default();
            *uses += 1;
            if task.instances == 0 {
                let message =
                    format!("barrier `{name}` cannot count threads of `{}`, which has no instances", task.name);
                return Err(source.error(step.offset, message).help("barriers do not go together with `fork`"));
            }
            if *uses == 2 {
                let message = format!("barrier `{name}` is used twice by `{}`: each use counts as a thread", task.name);
                source.warn(step.offset, message);
            } else if forked.contains(task.name.as_str()) {
                source.warn(step.offset, format!("barrier `{name}` does not count forked threads of `{}`", task.name));
            }
        }
    }
    Ok(())
}

/// Warns about a `resume` that wakes no thread and a `suspend` that no thread ends.
fn resumes(source: &Source, tasks: &[Task]) {
    let steps = || tasks.iter().flat_map(Task::steps);
    let waited: BTreeSet<&str> = steps()
        .filter_map(|step| match &step.event {
            Event::Suspend(name) => Some(name.as_str()),
            Event::Wait { condition, .. } | Event::Sync { condition, .. } => Some(condition),
            _ => None,
        })
        .collect();
    let woken: BTreeSet<&str> = steps()
        .filter_map(|step| match &step.event {
            Event::Resume(name) => Some(name.as_str()),
            other => other.condition(),
        })
        .collect();
    for step in steps() {
        let Event::Resume(name) = &step.event else { continue };
        if !waited.contains(name.as_str()) {
            let near = nearest(name, waited.iter().copied());
            let hint = near.map_or_else(String::new, |near| format!(" (`{near}` is)"));
            source.warn(
                step.offset,
                format!("`resume` of `{name}` wakes no thread: no such task is ever suspended{hint}"),
            );
        }
    }
    for step in steps() {
        match &step.event {
            Event::Suspend(name) if !woken.contains(name.as_str()) => {
                source.warn(step.offset, format!("no task resumes `{name}`: it waits for ever"));
            }
            _ => {}
        }
    }
}

/// Warns about mutexes that a task releases and never takes.
fn mutexes(source: &Source, task: &Task) {
    let locked: BTreeSet<&str> = task
        .steps()
        .filter_map(|step| match &step.event {
            Event::Lock(mutex) => Some(mutex.as_str()),
            _ => None,
        })
        .collect();
    for step in task.steps() {
        let (verb, mutex) = match &step.event {
            Event::Unlock(mutex) => ("unlocks", mutex),
            Event::Wait { mutex, .. } | Event::Sync { mutex, .. } => ("waits with", mutex),
            _ => continue,
        };
        if !locked.contains(mutex.as_str()) {
            source.warn(step.offset, format!("task `{}` {verb} mutex `{mutex}`, which it never locks", task.name));
        }
    }
}

fn unreachable_phases(source: &Source, task: &Task) {
    let endless = task.phases.iter().position(|phase| phase.repeat.is_none());
    if let Some(next) = endless.and_then(|endless| task.phases.get(endless + 1)) {
        source.warn(next.offset, format!("phase `{}` is never reached: the one before it never ends", next.name));
    }
}

fn joins(source: &Source, task: &Task) {
    let forks = task.steps().any(|step| matches!(step.event, Event::Fork(_)));
    if let Some(phase) = task.phases.iter().find(|phase| phase.tandem.join && !forks) {
        source.warn(phase.offset, format!("task `{}` joins threads but forks none", task.name));
    }
}

/// Refuses endless loops whose steps take no time: they would keep the clock from moving.
fn still_loops(source: &Source, task: &Task) -> Result<(), InputError> {
    let moves = |event: &Event| match event {
        Event::Run(time) | Event::Runtime(time) | Event::Sleep(time) => *time > 0,
        Event::Timer { period, .. } => *period > 0,
        Event::Memory { bytes, .. } => *bytes > 0,
        Event::Chase { count, .. } => *count > 0,
        Event::Lock(_) | Event::Unlock(_) | Event::Signal(_) | Event::Broadcast(_) => false,
        Event::Resume(_) | Event::SemPost(_) | Event::Yield | Event::Fork(_) => false,
        Event::Wait { .. } | Event::Sync { .. } | Event::Suspend(_) | Event::SemWait(_) | Event::Barrier(_) => true,
        Event::ParallelFor(_) => true,
    };
    let still = |phase: &super::syntax::Phase| !phase.tandem.join && !phase.steps.iter().any(|s| moves(&s.event));
    let endless_phase = task.phases.iter().find(|phase| phase.repeat.is_none() && still(phase));
    let all_still = task.repeat.is_none() && task.phases.iter().all(still);
    if task.repeat == Some(0) || !(all_still || endless_phase.is_some()) {
        return Ok(());
    }
    let offset = endless_phase.map_or(task.offset, |phase| phase.offset);
    Err(source
        .error(offset, format!("task `{}` repeats for ever what takes no time", task.name))
        .help("add a `run`, `sleep` or `timer`, or give a `loop` count"))
}

/// Warns if only the simulation's own limit ends the run.
fn ends(source: &Source, global: &Global, tasks: &[Task], forked: &BTreeSet<&str>) {
    let starts = |task: &&Task| task.instances > 0 || forked.contains(task.name.as_str());
    let Some(endless) = tasks.iter().filter(starts).find(|task| !task.tandem.system && task.endless()) else { return };
    if global.duration.is_none() {
        let message = format!("task `{}` never ends and `global` gives no `duration`: a time limit must", endless.name);
        source.warn(endless.offset, message);
    }
}

/// Counts the threads that arrive at each barrier and that take part in each parallel loop: uses times instances.
///
/// # Errors
/// A parallel loop in which no thread takes part.
pub(super) fn count_users(source: &Source, tasks: &[Task], names: &mut Names) -> Result<(), InputError> {
    for task in tasks {
        for step in task.steps() {
            match &step.event {
                Event::Barrier(name) => {
                    let barrier = names.barrier(name) as usize;
                    let users = &mut names.objects.barriers[barrier].1;
                    *users = users.saturating_add(task.instances);
                }
                Event::ParallelFor(parallel) if task.instances == 0 => {
                    let message = format!("`parallel_for` \"{}\" cannot count forked threads", parallel.name);
                    return Err(source
                        .error(step.offset, message)
                        .help("its participants are counted from `instance`"));
                }
                Event::ParallelFor(parallel) => {
                    for known in names.loops.iter_mut().filter(|known| known.name == parallel.name) {
                        known.participants = known.participants.saturating_add(task.instances);
                    }
                }
                _ => {}
            }
        }
    }
    Ok(())
}
