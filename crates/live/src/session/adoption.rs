// SPDX-License-Identifier: MIT OR Apache-2.0
//! What descends from a new application becomes a part of it, in portions, while others are served.
//!
//! A scheduler counts whatever an entered process starts as the application's. So the first process comes first, then its
//! threads, then what it has started before, as a look at all processes shows it, parents before their children. What those
//! have started meanwhile the next look shows, until there is nothing new.

use std::collections::{BTreeSet, VecDeque};
use std::path::Path;

use super::site::Loaded;
use crate::control::{Answer, Reply};
use crate::process::{Family, threads};

/// Looks at all processes for one application, at most: a process that forks without end would have it go on for ever.
const MOST_ROUNDS: usize = 8;
/// Processes and threads that are entered in one go: each takes some microseconds.
const PORTION: usize = 200;

/// A process whose descendants are looked for.
#[derive(Debug)]
pub(super) struct Adoption {
    first: u32,
    number: u32,
    entered: BTreeSet<u32>,
    /// Processes that are still to be entered.
    open: VecDeque<u32>,
    /// Threads of those that are entered, still to be adopted.
    threads: Vec<u32>,
    rounds: usize,
    /// Takes part in the look that is under way: it began after all that is known was entered.
    looks: bool,
    /// What the scheduler said when it did not take a process.
    refused: Option<String>,
    /// Who waits for it: a process may be announced again meanwhile.
    waiting: Vec<Reply>,
}

impl Adoption {
    /// The first process was entered; its threads are adopted first, and so many of them at once.
    pub(super) fn begin(scheduler: &dyn Loaded, root: &Path, first: u32, number: u32) -> Self {
        let mut adoption = Self {
            first,
            number,
            entered: BTreeSet::from([first]),
            open: VecDeque::new(),
            threads: threads(root, first),
            rounds: 0,
            looks: false,
            refused: None,
            waiting: Vec::new(),
        };
        adoption.go_on(scheduler, root);
        adoption
    }

    pub(super) fn number(&self) -> u32 {
        self.number
    }

    /// Somebody is to be told when it is done.
    pub(super) fn wait(&mut self, reply: Reply) {
        self.waiting.push(reply);
    }

    /// Those who wait, of whom somebody else takes care from now on.
    pub(super) fn hang_up(&mut self) -> Vec<Reply> {
        std::mem::take(&mut self.waiting)
    }

    /// Whether there is something to enter; else it waits for a look at all processes.
    pub(super) fn has_work(&self) -> bool {
        !self.open.is_empty() || !self.threads.is_empty()
    }

    /// A look begins.
    pub(super) fn look(&mut self) {
        self.looks = !self.has_work();
    }

    /// Enters some processes and threads.
    pub(super) fn go_on(&mut self, scheduler: &dyn Loaded, root: &Path) {
        for _ in 0..PORTION {
            if let Some(thread) = self.threads.pop() {
                self.note(scheduler.adopt(thread, self.number).err().map(|error| error.to_string()));
            } else if let Some(process) = self.open.pop_front() {
                self.entered.insert(process);
                match scheduler.enter_application(process, self.number) {
                    Ok(_) => self.threads = threads(root, process),
                    Err(error) => self.note(Some(error.to_string())),
                }
            } else {
                return;
            }
        }
    }

    fn note(&mut self, refused: Option<String>) {
        self.refused = self.refused.take().or(refused);
    }

    /// A look has ended: what is new is to be entered. True if nothing is, or there were enough looks: then who waits is told.
    pub(super) fn learn(&mut self, family: &Family, firsts: &BTreeSet<u32>) -> bool {
        if !std::mem::take(&mut self.looks) {
            return false;
        }
        self.rounds += 1;
        // What was announced by itself is an application of its own.
        let below = family.below(self.first, |process| firsts.contains(&process));
        self.open = below.into_iter().filter(|process| !self.entered.contains(process)).collect();
        let done = self.open.is_empty() || self.rounds >= MOST_ROUNDS;
        if done {
            let answer = self.answer();
            self.waiting.drain(..).for_each(|reply| reply.send(answer.clone()));
        }
        done
    }

    fn answer(&self) -> Answer {
        match &self.refused {
            None => Ok(format!("ok {}", self.number)),
            Some(why) => Err(format!(
                "application {} is known, but the scheduler does not take all of its processes, which count as the \
                 system's: {why}",
                self.number
            )),
        }
    }
}
