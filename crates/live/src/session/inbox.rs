// SPDX-License-Identifier: MIT OR Apache-2.0
//! The queue of what happens: signals and ends go before whatever is asked, root's requests before others'.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::events::Event;
use crate::control::Asked;
use crate::control::desk::Desk;

/// An end of the queue; all its copies are of one queue.
#[derive(Debug, Clone, Default)]
pub struct Inbox(Arc<Queue>);

#[derive(Debug, Default)]
struct Queue {
    waiting: Mutex<Waiting>,
    more: Condvar,
}

#[derive(Debug, Default)]
struct Waiting {
    urgent: VecDeque<Event>,
    desk: Desk,
    /// Requests are refused.
    silent: bool,
    closed: bool,
}

impl Inbox {
    /// Something happened. False if nobody will see it any more.
    pub fn tell(&self, event: Event) -> bool {
        let mut waiting = self.lock();
        if waiting.closed {
            return false;
        }
        match event {
            Event::Asked(asked) if waiting.silent => drop(asked),
            Event::Asked(asked) => waiting.desk.enter(asked),
            event => waiting.urgent.push_back(event),
        }
        self.0.more.notify_one();
        true
    }

    /// A program asks. Once nobody listens any more, it is told so.
    pub fn ask(&self, asked: Asked) {
        self.tell(Event::Asked(asked));
    }

    /// The next event, if there is one.
    pub fn take(&self) -> Option<Event> {
        self.lock().take()
    }

    /// Waits for the next event; `None` if nothing happens until then.
    pub fn wait(&self, until: Instant) -> Option<Event> {
        let mut waiting = self.lock();
        loop {
            if let Some(event) = waiting.take() {
                return Some(event);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return None;
            }
            waiting = self.0.more.wait_timeout(waiting, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Whoever has asked, or asks from now on, is told that nobody listens; signals are still events.
    pub fn turn_away(&self) {
        let mut waiting = self.lock();
        waiting.silent = true;
        let desk = std::mem::take(&mut waiting.desk);
        drop(waiting);
        // Outside of the lock: each of them is answered.
        drop(desk);
    }

    /// Nobody will look any more.
    pub fn close(&self) {
        self.lock().closed = true;
        self.turn_away();
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    fn take(&mut self) -> Option<Event> {
        self.urgent.pop_front().or_else(|| self.desk.take().map(Event::Asked))
    }
}
