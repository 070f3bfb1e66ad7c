// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which threads there are, and whose.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::tasks::{Stat, Tasks};

/// Generations between two looks at all processes, at most.
const MOST_FOREBEARS: usize = 64;

/// Processes, as they were when they were seen first: a parent that ends leaves its children to another one.
#[derive(Debug)]
pub(super) struct Census {
    tasks: Tasks,
    /// This process, whose children are applications.
    own: u32,
    known: BTreeMap<u32, Process>,
}

#[derive(Debug)]
struct Process {
    start_time: u64,
    parent: u32,
    is_application: bool,
    /// Threads that were told of, of an application.
    threads: BTreeSet<u32>,
    /// How often its threads were told of: twice, since it may have started one before it was moved itself.
    told: u32,
}

/// A thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    pub pid: u32,
    pub tid: u32,
    pub stat: Stat,
    pub is_application: bool,
}

impl Census {
    pub(super) fn new(root: &Path) -> Self {
        Self { tasks: Tasks::below(root), own: std::process::id(), known: BTreeMap::new() }
    }

    /// A process is an application, with all that descend from it. `false`: there is no such process.
    pub(super) fn enter(&mut self, pid: u32) -> bool {
        self.count(true);
        let Some(process) = self.known.get_mut(&pid) else { return false };
        process.is_application = true;
        process.told = 0;
        self.classify();
        true
    }

    /// Threads that have not been told of twice: those of new processes, and new ones of applications. All of them if it is
    /// to be thorough, which costs some microseconds for each thread there is.
    pub(super) fn look(&mut self, thorough: bool) -> Vec<Found> {
        self.count(thorough);
        self.classify();
        let mut found = Vec::new();
        for (pid, process) in &mut self.known {
            let again = thorough || process.told < 2;
            process.told += 1;
            if !again && !process.is_application {
                continue;
            }
            let threads = self.tasks.threads(*pid);
            for tid in threads.iter().copied().filter(|tid| again || !process.threads.contains(tid)) {
                if let Some(stat) = self.tasks.thread(*pid, tid) {
                    found.push(Found { pid: *pid, tid, stat, is_application: process.is_application });
                }
            }
            if process.is_application {
                process.threads = threads.into_iter().collect();
            }
        }
        found
    }

    /// The process of an application that a thread belongs to, and when the thread began. Only its forebears are looked at: who
    /// asks may be anybody, and as often as they like.
    pub(super) fn of_application(&self, tid: u32) -> Option<(u32, u64)> {
        // `/proc` has the folder of a thread, though it does not list it; a tree of some processes has not.
        let has_it = |pid: &&u32| self.tasks.thread(**pid, tid).is_some();
        let pid = self.tasks.process_of(tid).or_else(|| self.known.keys().find(has_it).copied())?;
        let start_time = self.tasks.thread(pid, tid)?.start_time;
        self.descends(pid).then_some((pid, start_time))
    }

    /// Whether a process belongs to an application, known already or not.
    fn descends(&self, pid: u32) -> bool {
        let mut next = pid;
        for _ in 0..MOST_FOREBEARS {
            let Some(stat) = self.tasks.process(next) else { return false };
            if let Some(known) = self.known.get(&next).filter(|known| known.start_time == stat.start_time) {
                return known.is_application;
            }
            if stat.parent == self.own {
                return true;
            }
            next = stat.parent;
        }
        false
    }

    /// Whether a thread is still the one that began then.
    pub(super) fn lives(&self, pid: u32, tid: u32, start_time: u64) -> bool {
        self.tasks.thread(pid, tid).is_some_and(|stat| stat.start_time == start_time && !stat.is_dead())
    }

    /// Processes of applications that there are.
    pub(super) fn applications(&self) -> usize {
        self.known.values().filter(|process| process.is_application).count()
    }

    /// Sees who has come and gone. Numbers that come back within seconds are noticed by a thorough look.
    fn count(&mut self, thorough: bool) {
        let processes = self.tasks.processes();
        let there: BTreeSet<u32> = processes.iter().copied().collect();
        self.known.retain(|pid, _| there.contains(pid));
        for pid in processes {
            if !thorough && self.known.contains_key(&pid) {
                continue;
            }
            let Some(stat) = self.tasks.process(pid) else { continue };
            if self.known.get(&pid).is_some_and(|known| known.start_time == stat.start_time) {
                continue;
            }
            let (start_time, parent) = (stat.start_time, stat.parent);
            let new = Process { start_time, parent, is_application: false, threads: BTreeSet::new(), told: 0 };
            self.known.insert(pid, new);
        }
    }

    /// Whoever descends from an application belongs to it, also if it is known before its parent is.
    fn classify(&mut self) {
        let is_heir = |known: &BTreeMap<u32, Process>, pid: u32, process: &Process| {
            let of_parent = || known.get(&process.parent).is_some_and(|parent| parent.is_application);
            pid != self.own && !process.is_application && (process.parent == self.own || of_parent())
        };
        loop {
            let heirs: Vec<u32> = self
                .known
                .iter()
                .filter(|(pid, process)| is_heir(&self.known, **pid, process))
                .map(|(pid, _)| *pid)
                .collect();
            if heirs.is_empty() {
                return;
            }
            for pid in heirs {
                if let Some(process) = self.known.get_mut(&pid) {
                    (process.is_application, process.told) = (true, 0);
                }
            }
        }
    }
}
