// SPDX-License-Identifier: MIT OR Apache-2.0
//! A request on its way to whoever answers, and the answer's way back.

use std::io::Write;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::mpsc::Sender;

use super::{Answer, Peer, Request};

/// What somebody asks, and how to answer.
#[derive(Debug)]
pub struct Asked {
    /// The user and the process that ask.
    pub peer: Peer,
    /// What they ask.
    pub request: Request,
    /// Where they wait for the answer.
    pub reply: Reply,
}

/// The way back to who asked. Dropped without an answer, it says that nobody is there any more.
#[derive(Debug)]
pub struct Reply {
    client: u64,
    answers: Option<Sender<(u64, Answer)>>,
    /// Wakes the server's thread.
    bell: Arc<UnixStream>,
    /// There until an answer has gone.
    #[cfg(test)]
    way: Arc<()>,
}

impl Reply {
    pub(crate) fn new(client: u64, answers: Sender<(u64, Answer)>, bell: Arc<UnixStream>) -> Self {
        Self {
            client,
            answers: Some(answers),
            bell,
            #[cfg(test)]
            way: Arc::default(),
        }
    }

    /// Something that is there until an answer has gone.
    #[cfg(test)]
    pub(crate) fn way(&self) -> std::sync::Weak<()> {
        Arc::downgrade(&self.way)
    }

    /// Answers with a text of one line, empty for `ok`, or with why not.
    pub fn send(mut self, answer: Answer) {
        self.deliver(answer);
    }

    fn deliver(&mut self, answer: Answer) {
        let Some(answers) = self.answers.take() else { return };
        // A server that is gone has nobody to tell; a bell that cannot ring any more has rung.
        let _ = answers.send((self.client, answer));
        let _ = (&*self.bell).write(&[0]);
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        self.deliver(Err("Tandem is just ending".to_owned()));
    }
}
