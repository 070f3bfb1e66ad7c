// SPDX-License-Identifier: MIT OR Apache-2.0
//! From names to indices: synchronisation objects, loops, behaviours, applications.

use std::collections::{BTreeMap, BTreeSet};

use super::super::{Behaviour, BehaviourId, LoopId, Objects, ParallelLoop, Span};
use super::fields::Source;
use super::syntax::{Event, ParallelFor, Task};
use crate::input::InputError;

/// Names that the whole workload shares.
pub(super) struct Names {
    pub objects: Objects,
    pub loops: Vec<ParallelLoop>,
    pub behaviours: Vec<Behaviour>,
    pub applications: Vec<String>,
    /// Tasks by name.
    tasks: BTreeMap<String, u32>,
    /// Timers that any use calls absolute; in rt-app the timer keeps that.
    absolute: BTreeSet<String>,
    /// Names of conditions and mutexes, and names that `suspend` steps of other tasks give. rt-app makes `suspend` and
    /// `resume` of a condition and a mutex that have the task's name, so a task named here shares them.
    shared: BTreeSet<String>,
}

impl Names {
    pub fn new(tasks: &[Task], objects: Objects) -> Self {
        let mut absolute = BTreeSet::new();
        let mut shared = BTreeSet::new();
        let steps = tasks.iter().flat_map(|task| task.steps().map(move |step| (task, &step.event)));
        for (task, event) in steps {
            match event {
                Event::Suspend(name) if *name != task.name => drop(shared.insert(name.clone())),
                Event::Timer { timer, absolute: true, .. } if !is_unique(timer) => drop(absolute.insert(timer.clone())),
                _ => {}
            }
            shared.extend(event.condition().into_iter().chain(event.mutex()).map(str::to_owned));
        }
        Self {
            objects,
            loops: Vec::new(),
            behaviours: vec![Behaviour::default()],
            applications: Vec::new(),
            tasks: tasks.iter().zip(0..).map(|(task, index)| (task.name.clone(), index)).collect(),
            absolute,
            shared,
        }
    }

    /// The task called `name`.
    pub fn task(&self, name: &str) -> Option<u32> {
        self.tasks.get(name).copied()
    }

    /// The task that a `resume` of `name` wakes and nothing else; `None` if the `resume` wakes a condition of that
    /// name.
    pub fn resumed(&self, name: &str) -> Option<u32> {
        self.task(name).filter(|_| !self.shared.contains(name))
    }

    /// Whether the timer of all threads called `name` counts from its first use.
    pub fn is_absolute(&self, name: &str) -> bool {
        self.absolute.contains(name)
    }

    pub fn mutex(&mut self, name: &str) -> u32 {
        intern(&mut self.objects.mutexes, name)
    }

    pub fn condition(&mut self, name: &str) -> u32 {
        intern(&mut self.objects.conditions, name)
    }

    pub fn semaphore(&mut self, name: &str) -> u32 {
        intern(&mut self.objects.semaphores, name)
    }

    pub fn timer(&mut self, name: &str) -> u32 {
        intern(&mut self.objects.timers, name)
    }

    /// The barrier called `name`; a new barrier has no users yet.
    pub fn barrier(&mut self, name: &str) -> u32 {
        place(&mut self.objects.barriers, |(other, _)| other == name, || (name.to_owned(), 0))
    }

    pub fn application(&mut self, name: &str) -> usize {
        intern(&mut self.applications, name) as usize
    }

    pub fn behaviour(&mut self, behaviour: &Behaviour) -> BehaviourId {
        BehaviourId(place(&mut self.behaviours, |other| other == behaviour, || behaviour.clone()))
    }

    /// The parallel loop of `step`; a new loop has no participants yet.
    ///
    /// # Errors
    /// Another loop has the same name.
    pub fn parallel_loop(
        &mut self,
        source: &Source,
        offset: usize,
        step: &ParallelFor,
        work: Span,
        behaviour: BehaviourId,
    ) -> Result<LoopId, InputError> {
        let ParallelFor { name, iterations, schedule, .. } = step.clone();
        let wanted = ParallelLoop { name, iterations, work, behaviour, schedule, participants: 0 };
        let id = place(&mut self.loops, |other| other.name == step.name, || wanted.clone());
        let known = &self.loops[id as usize];
        if (ParallelLoop { participants: 0, ..known.clone() }) != wanted {
            return Err(source
                .error(offset, format!("`parallel_for` \"{}\" differs from another use of that name", step.name))
                .help("iterations, work, schedule, chunk, spread and memory behaviour must agree, or names differ"));
        }
        Ok(LoopId(id))
    }
}

/// Whether each thread has its own timer of this name.
pub(super) fn is_unique(timer: &str) -> bool {
    timer.starts_with("unique")
}

/// The index of `name` in `names`; a new name is added.
pub(super) fn intern(names: &mut Vec<String>, name: &str) -> u32 {
    place(names, |other| other == name, || name.to_owned())
}

fn place<T>(list: &mut Vec<T>, same: impl FnMut(&T) -> bool, new: impl FnOnce() -> T) -> u32 {
    let index = list.iter().position(same).unwrap_or_else(|| {
        list.push(new());
        list.len() - 1
    });
    index as u32
}
