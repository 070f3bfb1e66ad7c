// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which threads have given a length: the scheduler's map has room for so many, and nobody shall take it all.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::process::Process;
use crate::tasks::Tasks;

/// Threads to which one user may give a length.
pub const MOST_OF_USER: usize = 4096;
/// Threads to which all users may give one. The scheduler's map has 65,536 entries.
pub const MOST: usize = 32768;
/// Of these, what only root can use.
pub const KEPT_FOR_ROOT: usize = 4096;
/// How often those that have ended are looked for, at most.
const SWEEP: Duration = Duration::from_millis(200);
/// Threads that are looked at in one go: each takes some microseconds, in which nobody else is served.
const PORTION: usize = 512;

/// Why a length is not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Full {
    /// A user's room is used up.
    #[error("this user has given {MOST_OF_USER} threads a length already: no more are kept until some of them end")]
    User,
    /// All room is.
    #[error("{} threads have a length already: no more are kept until some of them end", MOST - KEPT_FOR_ROOT)]
    All,
    /// All room is, that which is kept for root too.
    #[error("{MOST} threads have a length already: no more are kept until some of them end")]
    Root,
}

/// Threads that have given a length.
#[derive(Debug, Default)]
pub struct Hints {
    /// By thread: who gave it, and when the thread began.
    threads: BTreeMap<u32, (u32, u64)>,
    /// By user: how many.
    of_user: BTreeMap<u32, usize>,
    swept: Option<Instant>,
    /// The thread that is looked at next.
    next: u32,
}

impl Hints {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.threads.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.threads.is_empty()
    }

    /// Notes that a user has given a thread a length: for whom it is room is taken.
    ///
    /// # Errors
    /// [`Full`]: there is no room for one more; [`Hints::sweep`] may make some.
    pub fn enter(&mut self, thread: &Process, user: u32) -> Result<(), Full> {
        let known = self.threads.get(&thread.id).is_some_and(|(giver, _)| *giver == user);
        match user {
            _ if known => {}
            0 if self.threads.len() >= MOST => return Err(Full::Root),
            0 => {}
            _ if self.of_user.get(&user).is_some_and(|count| *count >= MOST_OF_USER) => return Err(Full::User),
            _ if self.threads.len() >= MOST - KEPT_FOR_ROOT => return Err(Full::All),
            _ => {}
        }
        // The number may have been another user's thread's.
        self.forget(thread.id);
        self.threads.insert(thread.id, (user, thread.start_time));
        *self.of_user.entry(user).or_default() += 1;
        Ok(())
    }

    /// Takes back what was entered of a thread.
    pub fn forget(&mut self, thread: u32) {
        let Some((user, _)) = self.threads.remove(&thread) else { return };
        if let Some(count) = self.of_user.get_mut(&user) {
            *count -= 1;
            if *count == 0 {
                self.of_user.remove(&user);
            }
        }
    }

    /// Looks at some of the threads, at others each time, forgets those that have ended, and returns them; none if it did so
    /// only just now.
    pub fn sweep(&mut self, root: &Path, now: Instant) -> Vec<u32> {
        if self.swept.is_some_and(|swept| now.saturating_duration_since(swept) < SWEEP) {
            return Vec::new();
        }
        self.swept = Some(now);
        let tasks = Tasks::below(root);
        let lives = |thread: u32, began: u64| {
            tasks.process(thread).is_some_and(|found| found.start_time == began && !found.is_dead())
        };
        let (before, behind) = (self.threads.range(..self.next), self.threads.range(self.next..));
        let looked: Vec<(u32, u64)> =
            behind.chain(before).take(PORTION).map(|(thread, (_, began))| (*thread, *began)).collect();
        self.next = looked.last().map_or(0, |(thread, _)| thread.saturating_add(1));
        let ended: Vec<u32> =
            looked.into_iter().filter(|(thread, began)| !lives(*thread, *began)).map(|(thread, _)| thread).collect();
        ended.iter().for_each(|thread| self.forget(*thread));
        ended
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thread(id: u32, user: u32, start_time: u64) -> Process {
        Process { id, group: id, parent: 1, users: [user; 4], kernel: false, start_time, name: String::new() }
    }

    #[test]
    fn one_user_cannot_take_all_the_room() {
        let mut hints = Hints::default();
        let most = MOST_OF_USER as u32;
        (1..=most).for_each(|id| hints.enter(&thread(id, 7, 1), 7).unwrap());
        assert_eq!(hints.enter(&thread(most + 1, 7, 1), 7), Err(Full::User));
        assert_eq!(hints.enter(&thread(most, 7, 1), 7), Ok(()));
        assert_eq!(hints.enter(&thread(most + 1, 8, 1), 8), Ok(()));
        // Root speaks for that user's thread, and needs none of the user's room.
        assert_eq!(hints.enter(&thread(most + 2, 7, 1), 0), Ok(()));
        assert_eq!(hints.len(), MOST_OF_USER + 2);
    }

    #[test]
    fn all_users_together_leave_root_some_room_and_nobody_fills_the_map() {
        let mut hints = Hints::default();
        let mut entered = 0;
        while hints.enter(&thread(entered + 1, 7, 1), 1 + entered / 4000).is_ok() {
            entered += 1;
        }
        assert_eq!(entered, 28_672);
        assert_eq!(hints.enter(&thread(entered + 1, 7, 1), 999), Err(Full::All));
        while hints.enter(&thread(entered + 1, 7, 1), 0).is_ok() {
            entered += 1;
        }
        assert_eq!(entered, 32_768);
        assert_eq!(hints.enter(&thread(entered + 1, 7, 1), 0), Err(Full::Root));
    }

    #[test]
    fn threads_that_have_ended_are_forgotten_and_those_that_live_stay() {
        let mine = Process::read(Path::new("/"), std::process::id()).unwrap();
        let mut hints = Hints::default();
        hints.enter(&mine, 7).unwrap();
        // A number that no process has: beyond the largest (`PID_MAX_LIMIT`).
        hints.enter(&thread(1 << 23, 7, 1), 7).unwrap();
        let now = Instant::now();
        assert_eq!(hints.sweep(Path::new("/"), now), [1 << 23]);
        hints.enter(&Process { start_time: mine.start_time - 1, ..mine.clone() }, 7).unwrap();
        assert_eq!(hints.sweep(Path::new("/"), now), Vec::<u32>::new());
        assert_eq!(hints.sweep(Path::new("/"), now + SWEEP), [mine.id]);
        assert!(hints.is_empty());
    }

    #[test]
    fn a_sweep_looks_at_some_hundred_threads_and_the_next_one_at_others() {
        let nothing = tempfile::tempdir().unwrap();
        let mut hints = Hints::default();
        (1..=1000).for_each(|id| hints.enter(&thread(id, 7, 1), 7).unwrap());
        let now = Instant::now();
        let swept = [0, 1, 2].map(|time| hints.sweep(nothing.path(), now + SWEEP * time));
        assert_eq!(swept.each_ref().map(Vec::len), [512, 488, 0]);
        assert_eq!((swept[0][0], swept[1][0]), (1, 513));
    }
}
