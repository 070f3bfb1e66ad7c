// SPDX-License-Identifier: MIT OR Apache-2.0
//! `schbench`: message threads that wake workers, which then serve a request each.

use super::document::{Document, Memory, Object};
use super::options::options;
use super::value::{Bytes, Usec};
use super::{Generator, OptionError, value};

options! {
    /// Message threads that wake workers, which serve a request each. A worker sleeps as if the network answered, multiplies
    /// matrices, and tells its message thread that it is free. The names and defaults of options are schbench's, but for
    /// --threads, which there is the number of CPUs.
    ///
    /// A worker's round is a request: its response, from the wake-up by the message thread to the end of the work, is schbench's
    /// request latency with the wake-up latency before it. schbench's wakeup latency is that of this wake-up alone; here a
    /// worker's wakeup latency counts the end of its sleep, too. rounds_per_s of the application has the requests and the rounds of
    /// the message threads; those of the workers alone are in the threads of the report (RPS).
    ///
    /// Taken: threads, their messages, sleep, operations, footprint, the bursts of -R. Left out: the lock per CPU (as with -L),
    /// the pipe test, -A, warm-up. Assumed: a multiplication step takes 1 ns of work, of which 104^3 are an operation at the
    /// default footprint; a message thread works 1 us per message.
    "schbench" => Schbench from "C. Mason, schbench.c (git.kernel.org/pub/scm/linux/kernel/git/mason/schbench.git)" {
        /// Message threads (-m).
        "message-threads" message_threads: u32 = 1, 1..=1024;
        /// Workers of each message thread (-t); schbench takes the number of CPUs.
        "threads" threads: u32 = 8, 1..=8192;
        /// Run time (-r), in whole seconds.
        "runtime" runtime: Usec = Usec::s(30), Usec::s(1)..=Usec::s(100_000);
        /// Bytes of the three matrices that a worker multiplies (-F).
        "cache-footprint" footprint: Bytes = Bytes::kib(256), Bytes::kib(1)..=Bytes::mib(1024);
        /// Multiplications per request (-n).
        "operations" operations: u32 = 5, 1..=1_000_000;
        /// Time that a request sleeps before its work (-s).
        "sleep-usec" sleep: Usec = Usec(100), Usec(0)..=Usec::s(1000);
        /// Requests per second of each message thread, all at the beginning of the second (-R); 0: a worker has the next when it
        /// is done.
        "rps" rps: u32 = 0, 0..=1_000_000;
    }
}

/// Work of a message thread per message. Assumed.
const MESSAGE_US: u64 = 1;
/// Work of one step of a multiplication, in nanoseconds. Assumed.
const STEP_NS: u64 = 1;
/// Bytes of a matrix element (`unsigned long`), and how many matrices there are.
const ELEMENT: u64 = 8;
const MATRICES: u64 = 3;

impl Generator for Schbench {
    fn document(&self) -> Result<Document, OptionError> {
        let seconds = value::steps("runtime", self.runtime, Usec::s(1))?;
        let mut document = Document::new(format!(
            "schbench: {} message threads with {} workers each; response of a worker: its request latency.",
            self.message_threads, self.threads
        ));
        document.note(format!("Work of a request: {} us on the reference CPU.", self.request_us()));
        document.duration = Some(seconds as u32);
        for index in 0..self.message_threads {
            document.task(format!("message-{index}"), self.message_thread(index));
            document.task(format!("worker-{index}"), self.worker(index));
        }
        Ok(document)
    }
}

impl Schbench {
    /// Work of a request: all its multiplications, each of the cube of the matrix' size.
    fn request_us(&self) -> u64 {
        let size = (self.footprint.0 / MATRICES / ELEMENT).isqrt();
        (u64::from(self.operations) * size.pow(3) * STEP_NS).div_ceil(1000)
    }

    fn message_thread(&self, index: u32) -> Object {
        let (inbox, wake) = (format!("inbox-{index}"), format!("wake-{index}"));
        match self.rps {
            0 => Object::new().with("sem_wait", inbox).with("run", MESSAGE_US).with("sem_post", wake),
            rps => {
                let timer = Object::new().with("ref", "unique").with("period", 1_000_000u32).with("mode", "absolute");
                let burst = Object::new().with("loop", rps).with("run", MESSAGE_US).with("sem_post", wake);
                let phases = Object::new().with("second", Object::new().with("timer", timer)).with("burst", burst);
                Object::new().with("phases", phases)
            }
        }
    }

    fn worker(&self, index: u32) -> Object {
        let mut wait = Object::new();
        if self.rps == 0 {
            wait = wait.with("sem_post", format!("inbox-{index}"));
        }
        let mut phases = Object::new().with("wait", wait.with("sem_wait", format!("wake-{index}")));
        if self.sleep.0 > 0 {
            let same_round = Object::new().with("same_round", true);
            phases = phases.with("network", Object::new().with("sleep", self.sleep.0).with("tandem", same_round));
        }
        phases = phases.with("work", Object::new().with("run", self.request_us()));
        let memory = Memory { bound: 0.0, mb_per_s: 0.0, footprint: self.footprint };
        Object::new()
            .with("instance", self.threads)
            .with("tandem", Object::new().with_memory(memory))
            .with("phases", phases)
    }
}
