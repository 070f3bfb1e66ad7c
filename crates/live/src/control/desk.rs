// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whose turn it is of those who have asked: root's, then each user's in turn.

use std::collections::{BTreeMap, VecDeque};

use super::Asked;
use super::rights::ROOT_USER;

/// Requests that wait. A connection has one open at a time, so a user has no more here than connections.
#[derive(Debug, Default)]
pub struct Desk {
    /// By user, in the order in which they came.
    waiting: BTreeMap<u32, VecDeque<Asked>>,
    /// The user whose turn was last.
    last: u32,
}

impl Desk {
    /// One more waits.
    pub fn enter(&mut self, asked: Asked) {
        self.waiting.entry(asked.peer.user).or_default().push_back(asked);
    }

    /// The next to be answered: root's, else the next user's, however many requests others have here.
    pub fn take(&mut self) -> Option<Asked> {
        let next = |from: u32| self.waiting.range(from..).next().map(|(user, _)| *user);
        let after_last = self.last.checked_add(1).and_then(next);
        let user = if self.waiting.contains_key(&ROOT_USER) { ROOT_USER } else { after_last.or_else(|| next(0))? };
        if user != ROOT_USER {
            self.last = user;
        }
        let queue = self.waiting.get_mut(&user)?;
        let asked = queue.pop_front();
        if queue.is_empty() {
            self.waiting.remove(&user);
        }
        asked
    }

    /// How many wait.
    pub fn len(&self) -> usize {
        self.waiting.values().map(VecDeque::len).sum()
    }

    /// Whether nobody waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;
    use std::sync::Arc;
    use std::sync::mpsc::channel;

    use super::*;
    use crate::control::{Peer, Reply, Request};

    fn asked(user: u32, thread: u32) -> Asked {
        let (bell, _) = UnixStream::pair().unwrap();
        let reply = Reply::new(0, channel().0, Arc::new(bell));
        Asked { peer: Peer { user, group: user, process: 1 }, request: Request::Hint { thread, length: 1 }, reply }
    }

    fn order(desk: &mut Desk) -> Vec<u32> {
        std::iter::from_fn(|| desk.take()).map(|asked| asked.peer.user).collect()
    }

    #[test]
    fn users_take_turns_however_much_one_of_them_asks() {
        let mut desk = Desk::default();
        (0..4).for_each(|thread| desk.enter(asked(7, thread)));
        desk.enter(asked(8, 1));
        desk.enter(asked(9, 1));
        desk.enter(asked(9, 2));
        assert_eq!(desk.len(), 7);
        assert_eq!(order(&mut desk), [7, 8, 9, 7, 9, 7, 7]);
        assert!(desk.is_empty());
    }

    #[test]
    fn root_goes_first_and_takes_nobodys_turn() {
        let mut desk = Desk::default();
        [7, 7, 8, 8].into_iter().for_each(|user| desk.enter(asked(user, 1)));
        assert_eq!(desk.take().unwrap().peer.user, 7);
        desk.enter(asked(0, 1));
        assert_eq!(order(&mut desk), [0, 8, 7, 8]);
    }

    #[test]
    fn requests_of_one_user_keep_their_order() {
        let mut desk = Desk::default();
        (1..=3).for_each(|thread| desk.enter(asked(7, thread)));
        let threads: Vec<Request> = std::iter::from_fn(|| desk.take()).map(|asked| asked.request).collect();
        assert_eq!(threads, [1, 2, 3].map(|thread| Request::Hint { thread, length: 1 }));
    }
}
