// SPDX-License-Identifier: MIT OR Apache-2.0
//! What takes long, in portions between events: a look at all processes, which all who need one share, and what follows from it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, Instant};

use super::adoption::Adoption;
use super::site::Loaded;
use crate::control::{Peer, Reply};
use crate::process::{Family, Walk};

/// Processes that are looked at in one go: each takes some microseconds.
const PORTION: usize = 200;
/// From the beginning of a look to that of the next one, at least; and no less than twice what the last one took.
const PAUSE: Duration = Duration::from_millis(200);

/// What is still to be done.
#[derive(Debug, Default)]
pub(super) struct Chores {
    walk: Option<Walk>,
    /// When the last look began, and when the next one may.
    began: Option<Instant>,
    rested: Option<Instant>,
    adoptions: Vec<Adoption>,
    /// Who waits for a status.
    statuses: Vec<(Peer, Reply)>,
}

impl Chores {
    /// One more application whose descendants are to be found.
    pub(super) fn adopt(&mut self, adoption: Adoption) {
        self.adoptions.push(adoption);
    }

    /// Whoever announced an application is told once all of it is adopted; at once if it is.
    pub(super) fn answer_adopted(&mut self, number: u32, reply: Reply) {
        match self.adoptions.iter_mut().find(|adoption| adoption.number() == number) {
            Some(adoption) => adoption.wait(reply),
            None => reply.send(Ok(format!("ok {number}"))),
        }
    }

    /// Adoptions begin again, for a scheduler that knows nothing; those who waited wait on.
    pub(super) fn adopt_again(&mut self, adoptions: Vec<Adoption>) {
        let mut waiting: BTreeMap<u32, Vec<Reply>> =
            self.adoptions.iter_mut().map(|old| (old.number(), old.hang_up())).collect();
        self.adoptions = adoptions;
        for new in &mut self.adoptions {
            waiting.remove(&new.number()).into_iter().flatten().for_each(|reply| new.wait(reply));
        }
    }

    /// Somebody waits until a look at all processes has ended.
    pub(super) fn wait_for_status(&mut self, peer: Peer, reply: Reply) {
        self.statuses.push((peer, reply));
    }

    /// Who waits is told that nobody answers any more.
    pub(super) fn turn_away(&mut self) {
        self.statuses.clear();
        self.adoptions.iter_mut().for_each(|adoption| drop(adoption.hang_up()));
    }

    /// When there is something to do next; `None`: nothing, unless somebody asks.
    pub(super) fn due(&self, now: Instant) -> Option<Instant> {
        if self.walk.is_some() || self.adoptions.iter().any(Adoption::has_work) {
            return Some(now);
        }
        self.is_wanted().then(|| self.rested.map_or(now, |rested| rested.max(now)))
    }

    /// Whether somebody needs a look at all processes.
    fn is_wanted(&self) -> bool {
        !self.statuses.is_empty() || !self.adoptions.is_empty()
    }

    /// Does a portion; what a look has shown if one ends with it. `scheduler` is whom applications are told to.
    pub(super) fn go_on(&mut self, scheduler: Option<&dyn Loaded>, root: &Path, now: Instant) -> Option<Family> {
        let working = self.adoptions.iter_mut().find(|adoption| adoption.has_work());
        if let (Some(scheduler), Some(adoption)) = (scheduler, working) {
            adoption.go_on(scheduler, root);
            return None;
        }
        if self.walk.is_none() {
            if !self.is_wanted() || self.rested.is_some_and(|rested| now < rested) {
                return None;
            }
            self.began = Some(now);
            self.adoptions.iter_mut().for_each(Adoption::look);
        }
        let mut walk = self.walk.take().unwrap_or_else(|| Walk::begin(root));
        if walk.go_on(PORTION) {
            self.walk = Some(walk);
            return None;
        }
        let took = self.began.map_or(Duration::ZERO, |began| now.saturating_duration_since(began));
        self.rested = self.began.map(|began| (began + PAUSE).max(now + took));
        Some(walk.family())
    }

    /// A look has ended: adoptions learn of it. Who waits for a status waits no more.
    pub(super) fn learn(&mut self, family: &Family, firsts: &BTreeSet<u32>) -> Vec<(Peer, Reply)> {
        self.adoptions.retain_mut(|adoption| !adoption.learn(family, firsts));
        std::mem::take(&mut self.statuses)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::net::UnixStream;
    use std::sync::Arc;
    use std::sync::mpsc::{Receiver, channel};

    use super::*;
    use crate::control::Answer;

    /// A tree of so many processes, each the child of init.
    fn tree(processes: u32) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for id in 100..100 + processes {
            let folder = root.path().join(format!("proc/{id}"));
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("stat"), format!("{id} (p) S 1 0 0 0 0 0 0 0 0 0 0 0 0 0 20 0 1 0 5 0\n")).unwrap();
        }
        root
    }

    fn asked(chores: &mut Chores, users: u32) -> Receiver<(u64, Answer)> {
        let (answers, heard) = channel();
        let bell = Arc::new(UnixStream::pair().unwrap().0);
        for user in 0..users {
            let reply = Reply::new(u64::from(user), answers.clone(), Arc::clone(&bell));
            chores.wait_for_status(Peer { user, group: user, process: 1 }, reply);
        }
        heard
    }

    #[test]
    fn all_who_wait_share_one_look_at_all_processes_and_a_portion_of_it_is_small() {
        let (root, now) = (tree(1000), Instant::now());
        let mut chores = Chores::default();
        let heard = asked(&mut chores, 300);
        let mut portions = 1;
        let family = loop {
            match chores.go_on(None, root.path(), now) {
                Some(family) => break family,
                None => portions += 1,
            }
        };
        assert_eq!(portions, 1000 / PORTION + 1);
        assert_eq!(family.below(1, |_| false).len(), 1001);
        assert_eq!(chores.learn(&family, &BTreeSet::new()).len(), 300);
        assert_eq!(heard.iter().count(), 300);
        assert_eq!(chores.due(now), None);
    }

    #[test]
    fn the_next_look_waits_as_long_as_the_last_one_took_and_a_fifth_of_a_second_at_least() {
        let (root, begun) = (tree(300), Instant::now());
        let at = |ms| begun + Duration::from_millis(ms);
        let mut chores = Chores::default();
        let _heard = asked(&mut chores, 1);
        assert!(chores.go_on(None, root.path(), at(0)).is_none());
        // The second portion of this one comes late.
        let family = chores.go_on(None, root.path(), at(150)).unwrap();
        chores.learn(&family, &BTreeSet::new());
        let _heard = asked(&mut chores, 1);
        assert_eq!(chores.due(at(150)), Some(at(300)));
        assert!(chores.go_on(None, root.path(), at(299)).is_none());
        assert!(chores.go_on(None, root.path(), at(300)).is_none());
        assert!(chores.go_on(None, root.path(), at(301)).is_some());
        let _heard = asked(&mut chores, 1);
        assert_eq!(chores.due(at(301)), Some(at(500)));
    }
}
