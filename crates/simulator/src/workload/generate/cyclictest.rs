// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cyclictest`: threads that only look how late a timer woke them.

use super::document::{Document, Object};
use super::options::options;
use super::value::Usec;
use super::{Generator, OptionError, value};

options! {
    /// Threads that sleep until their next interval and note how late they are. The names and defaults of options are
    /// cyclictest's. Thread n has the interval of thread n-1 and the distance, and a priority lower by one; at priority 0 it is
    /// SCHED_OTHER, as without --prio.
    ///
    /// What cyclictest prints is the wakeup latency. A response is from the timer's expiry to the end of the work on a
    /// sample, so it is the latency and that work, and a deadline is missed where a thread is not back for its next interval.
    ///
    /// Taken: -t, -i, -d, -p, -D, absolute timers (not -r). Assumed: the work on a sample takes 2 us. Added: threads that compute
    /// beside it, as people run a load beside cyclictest.
    "cyclictest" => Cyclictest from "T. Gleixner et al., rt-tests, cyclictest(8)" {
        /// Measuring threads (-t).
        "threads" threads: u32 = 1, 1..=8192;
        /// Interval of the first thread (-i).
        "interval" interval: Usec = Usec(1000), Usec(10)..=Usec::s(1000);
        /// What the interval of each further thread is longer by (-d).
        "distance" distance: Usec = Usec(500), Usec(0)..=Usec::s(1000);
        /// Priority of the first thread under SCHED_FIFO (-p); 0: SCHED_OTHER.
        "prio" prio: u32 = 0, 0..=99;
        /// Run time (-D), in whole seconds; cyclictest's own default is for ever.
        "duration" duration: Usec = Usec::s(10), Usec::s(1)..=Usec::s(100_000);
        /// Threads that compute without end beside the measuring ones; cyclictest has none.
        "load" load: u32 = 0, 0..=8192;
    }
}

/// Work on a sample. Assumed.
const SAMPLE_US: u64 = 2;

impl Generator for Cyclictest {
    fn document(&self) -> Result<Document, OptionError> {
        let seconds = value::steps("duration", self.duration, Usec::s(1))?;
        let mut document = Document::new(format!(
            "cyclictest with {} threads, interval {} us, distance {} us; response: from the timer's expiry to the end of \
             the sample.",
            self.threads, self.interval.0, self.distance.0
        ));
        document.duration = Some(seconds as u32);
        for thread in 0..self.threads {
            document.task(format!("cyclic-{thread}"), self.thread(thread));
        }
        if self.load > 0 {
            let tandem = Object::new().with("application", "load");
            let load = Object::new().with("instance", self.load).with("tandem", tandem);
            document.task("load", load.with("run", 10_000u32));
        }
        Ok(document)
    }
}

impl Cyclictest {
    fn thread(&self, thread: u32) -> Object {
        let period = self.interval.0 + u64::from(thread) * self.distance.0;
        let timer = Object::new().with("ref", "unique").with("period", period).with("mode", "absolute");
        let mut task = Object::new().with("tandem", Object::new().with("application", "cyclictest"));
        let prio = self.prio.saturating_sub(thread);
        if prio > 0 {
            task = task.with("policy", "SCHED_FIFO").with("priority", prio);
        }
        task.with("timer", timer).with("run", SAMPLE_US)
    }
}
