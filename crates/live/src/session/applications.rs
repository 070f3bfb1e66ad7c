// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which processes were said to be applications, and how many of them there may be.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::process::Process;
use crate::tasks::Tasks;

/// Applications that one user may have announced and that live.
pub const MOST_OF_USER: usize = 64;
/// Applications of all users.
pub const MOST: usize = 1024;
/// Of these, what only root can use.
pub const KEPT_FOR_ROOT: usize = 64;
/// How often those that have ended are looked for, at most: it takes a look at each.
const SWEEP: Duration = Duration::from_millis(200);

/// A process that was said to be an application, with all that descends from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Application {
    /// First process of the application.
    pub process: u32,
    /// When that process began: its number may be another one's later.
    pub start_time: u64,
    /// Number of the application, from 1; no other one of this session has had it.
    pub number: u32,
    /// The name of that process when it was entered.
    pub name: String,
    /// Who has said so.
    pub user: u32,
}

impl Application {
    /// Whether its first process has not ended.
    pub fn lives(&self, root: &Path) -> bool {
        let found = Tasks::below(root).process(self.process);
        found.is_some_and(|found| found.start_time == self.start_time && !found.is_dead())
    }
}

/// Why a process is not made an application.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TooMany {
    /// A user's room is used up.
    #[error(
        "this user has announced {MOST_OF_USER} applications that live: no more are taken until some of them end; one \
         announcement is enough for a process and all that it starts"
    )]
    OfUser,
    /// All room is, or all but what is kept for root.
    #[error("too many applications live already ({MOST} are the most): no more are taken until some of them end")]
    OfAll,
}

/// Applications, in the order in which they came.
#[derive(Debug, Default)]
pub struct Applications {
    known: Vec<Application>,
    /// The largest number so far.
    last: u32,
    swept: Option<Instant>,
}

impl Applications {
    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Application> {
        self.known.iter()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.known.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// The number of an application that a process is the first one of.
    pub fn number(&self, process: &Process) -> Option<u32> {
        let is_it = |known: &&Application| (known.process, known.start_time) == (process.id, process.start_time);
        self.known.iter().find(is_it).map(|known| known.number)
    }

    /// The first process of each.
    pub fn first_processes(&self) -> BTreeSet<u32> {
        self.known.iter().map(|known| known.process).collect()
    }

    /// Makes room for one more of a user's, if there is none, by forgetting those that have ended.
    ///
    /// # Errors
    /// [`TooMany`] live.
    pub fn make_room(&mut self, user: u32, root: &Path, now: Instant) -> Result<(), TooMany> {
        let Err(full) = self.room(user) else { return Ok(()) };
        if self.swept.is_some_and(|swept| now.saturating_duration_since(swept) < SWEEP) {
            return Err(full);
        }
        self.swept = Some(now);
        self.forget_ended(root);
        self.room(user)
    }

    fn room(&self, user: u32) -> Result<(), TooMany> {
        let of_user = self.known.iter().filter(|known| known.user == user).count();
        match user {
            0 if self.known.len() < MOST => Ok(()),
            0 => Err(TooMany::OfAll),
            _ if of_user >= MOST_OF_USER => Err(TooMany::OfUser),
            _ if self.known.len() >= MOST - KEPT_FOR_ROOT => Err(TooMany::OfAll),
            _ => Ok(()),
        }
    }

    /// Forgets those whose first process has ended.
    pub fn forget_ended(&mut self, root: &Path) {
        self.known.retain(|known| known.lives(root));
    }

    /// The number that the next one gets.
    pub fn next(&self) -> u32 {
        self.last + 1
    }

    /// Enters a process, of which a user has said that it is an application. One that had the process's number has ended.
    pub fn enter(&mut self, process: &Process, name: &str, user: u32) -> u32 {
        self.last += 1;
        self.known.retain(|known| known.process != process.id);
        let (number, name) = (self.last, name.to_owned());
        self.known.push(Application { process: process.id, start_time: process.start_time, number, name, user });
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(id: u32, start_time: u64) -> Process {
        Process { id, group: id, parent: 1, users: [7; 4], kernel: false, start_time, name: "p".to_owned() }
    }

    #[test]
    fn a_process_is_known_by_its_number_and_by_when_it_began_and_never_by_its_name() {
        let mut applications = Applications::default();
        assert_eq!(applications.enter(&process(800, 5), "server", 7), 1);
        let renamed = Process { name: "another".to_owned(), ..process(800, 5) };
        assert_eq!(applications.number(&renamed), Some(1));
        assert_eq!(applications.number(&process(800, 6)), None);
        assert_eq!(applications.enter(&process(800, 6), "server", 7), 2);
        assert_eq!(applications.len(), 1);
    }

    #[test]
    fn users_have_a_limit_each_and_all_together_leave_room_for_root() {
        let (nothing, now) = (tempfile::tempdir().unwrap(), Instant::now());
        // None is swept away: that was only just done.
        let mut applications = Applications { swept: Some(now), ..Applications::default() };
        let mut fill = |user: u32, first: u32| {
            (first..)
                .take_while(|id| {
                    let room = applications.make_room(user, nothing.path(), now).is_ok();
                    room.then(|| applications.enter(&process(*id, 1), "p", user)).is_some()
                })
                .count()
        };
        assert_eq!((1..=14).map(|user| fill(user, 1000 * user)).collect::<Vec<_>>(), [64; 14]);
        assert_eq!((fill(15, 15_000), fill(16, 16_000)), (64, 0));
        assert_eq!(fill(0, 17_000), 64);
        assert_eq!(applications.make_room(0, nothing.path(), now), Err(TooMany::OfAll));
        // They all have ended.
        assert_eq!(applications.make_room(3, nothing.path(), now + SWEEP), Ok(()));
        assert_eq!((applications.len(), applications.next()), (0, 1025));
    }
}
