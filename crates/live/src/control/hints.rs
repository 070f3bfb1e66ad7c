// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which threads have given a length: the scheduler's map has room for so many, and nobody shall take it all.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::process::Process;

/// Threads of one user that may have a length.
pub const MOST_OF_USER: usize = 4096;
/// Threads of all users. The scheduler's map has 65,536 entries.
pub const MOST: usize = 32768;
/// How often those that have ended are looked for, at most: it takes a look at each.
const SWEEP: Duration = Duration::from_secs(1);

/// Why a length is not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Full {
    /// A user's room is used up.
    #[error("{MOST_OF_USER} living threads of this user have a length already: no more are kept")]
    User,
    /// All room is.
    #[error("{MOST} living threads have a length already: no more are kept")]
    All,
}

/// Threads that have given a length.
#[derive(Debug, Default)]
pub struct Hints {
    /// By thread: its user, and when it began.
    threads: BTreeMap<u32, (u32, u64)>,
    /// By user: how many.
    of_user: BTreeMap<u32, usize>,
    swept: Option<Instant>,
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

    /// Notes that a thread has a length.
    ///
    /// # Errors
    /// [`Full`]: there is no room for one more; [`Hints::sweep`] may make some.
    pub fn enter(&mut self, thread: &Process) -> Result<(), Full> {
        let user = thread.users[0];
        let known = self.threads.get(&thread.id).is_some_and(|(its, _)| *its == user);
        if !known && self.of_user.get(&user).is_some_and(|count| *count >= MOST_OF_USER) {
            return Err(Full::User);
        }
        if !known && self.threads.len() >= MOST {
            return Err(Full::All);
        }
        // The number may have been another user's thread's.
        self.forget(thread.id);
        self.threads.insert(thread.id, (user, thread.start_time));
        *self.of_user.entry(user).or_default() += 1;
        Ok(())
    }

    fn forget(&mut self, thread: u32) {
        let Some((user, _)) = self.threads.remove(&thread) else { return };
        if let Some(count) = self.of_user.get_mut(&user) {
            *count -= 1;
        }
    }

    /// Forgets the threads that have ended, and returns them; none if it did so only just now.
    pub fn sweep(&mut self, root: &Path, now: Instant) -> Vec<u32> {
        if self.swept.is_some_and(|swept| now.duration_since(swept) < SWEEP) {
            return Vec::new();
        }
        self.swept = Some(now);
        let lives =
            |thread: u32, began: u64| Process::read(root, thread).is_some_and(|found| found.start_time == began);
        let ended = |(thread, (_, began)): (&u32, &(u32, u64))| (!lives(*thread, *began)).then_some(*thread);
        let ended: Vec<u32> = self.threads.iter().filter_map(ended).collect();
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
        (1..=most).for_each(|id| hints.enter(&thread(id, 7, 1)).unwrap());
        assert_eq!(hints.enter(&thread(most + 1, 7, 1)), Err(Full::User));
        assert_eq!(hints.enter(&thread(most, 7, 1)), Ok(()));
        assert_eq!(hints.enter(&thread(most + 1, 8, 1)), Ok(()));
        assert_eq!(hints.len(), MOST_OF_USER + 1);
    }

    #[test]
    fn all_users_together_cannot_fill_the_map() {
        let mut hints = Hints::default();
        let mut entered = 0;
        while hints.enter(&thread(entered + 1, entered / 4000, 1)).is_ok() {
            entered += 1;
        }
        assert_eq!(entered, 32768);
    }

    #[test]
    fn threads_that_have_ended_are_forgotten_and_those_that_live_stay() {
        let mine = Process::read(Path::new("/"), std::process::id()).unwrap();
        let mut hints = Hints::default();
        hints.enter(&mine).unwrap();
        // A number that no process has: beyond the largest (`PID_MAX_LIMIT`).
        hints.enter(&thread(1 << 23, 7, 1)).unwrap();
        let now = Instant::now();
        assert_eq!(hints.sweep(Path::new("/"), now), [1 << 23]);
        hints.enter(&Process { start_time: mine.start_time - 1, ..mine.clone() }).unwrap();
        assert_eq!(hints.sweep(Path::new("/"), now), Vec::<u32>::new());
        assert_eq!(hints.sweep(Path::new("/"), now + SWEEP), [mine.id]);
        assert!(hints.is_empty());
    }
}
