// SPDX-License-Identifier: MIT OR Apache-2.0
//! `mixes`: the four microbenchmarks of memory contention, in any numbers.

use super::document::{Document, Memory, Object};
use super::options::options;
use super::value::{Bytes, Cpus, Usec};
use super::{Generator, OptionError, value};

options! {
    /// Microbenchmarks that compute or stream through memory, side by side. Each is an application of one thread: `aluadd`
    /// adds integers in registers; `stream` runs through memory; the working set of `stream-fit1` fits into the shared
    /// cache once, that of `stream-fit2` twice. `cache` and `bandwidth` are the machine's.
    ///
    /// Assumed: how much of its time a stream waits for memory. A fitting stream does so too wherever it does not fit.
    "mixes" => Mixes from "Merkel & Bellosa, sections 3.1 (microbenchmarks, Fig. 1) and 3.2 (Table 1)" {
        /// How many `aluadd`.
        "aluadd" aluadd: u32 = 2, 0..=1024;
        /// How many `stream`.
        "stream" stream: u32 = 2, 0..=1024;
        /// How many `stream-fit1`.
        "stream-fit1" stream_fit1: u32 = 0, 0..=1024;
        /// How many `stream-fit2`.
        "stream-fit2" stream_fit2: u32 = 0, 0..=1024;
        /// Size of the cache that they share; the paper's has 4 MiB for two cores each.
        "cache" cache: Bytes = Bytes::mib(4), Bytes::kib(64)..=Bytes::mib(4096);
        /// Memory traffic of a stream alone, MB/s; that of one thread on the described Core 2 Quad Q6600.
        "bandwidth" bandwidth: f64 = 5_000.0, 1.0..=1_000_000.0;
        /// Share of a stream's time that waits for memory. Assumed.
        "memory-bound" memory_bound: f64 = 0.9, 0.0..=1.0;
        /// Work of each, whole milliseconds.
        "work" work: Usec = Usec::s(2), Usec::ms(1)..=Usec::s(100_000);
        /// CPUs to bind the threads to, one each, around: the first in the order of the options has the first CPU.
        "cpus" cpus: Cpus = Cpus::All, ();
        /// End after this time, whole seconds, with work that does not end before; 0s: when the work is done.
        "duration" duration: Usec = Usec(0), Usec(0)..=Usec::s(86_400);
    }
}

/// A thread's step.
const STEP: Usec = Usec::ms(1);

impl Generator for Mixes {
    fn document(&self) -> Result<Document, OptionError> {
        let counts = self.aluadd + self.stream + self.stream_fit1 + self.stream_fit2;
        if counts == 0 {
            return Err(OptionError::conflict(
                "aluadd",
                "no thread at all: at least one of the four must be 1 or more",
            ));
        }
        let seconds = value::steps("duration", self.duration, Usec::s(1))?;
        let steps = value::steps("work", self.work, STEP)?;
        let mut document = Document::new(format!(
            "Microbenchmarks side by side: {} aluadd, {} stream, {} stream-fit1, {} stream-fit2, an application each.",
            self.aluadd, self.stream, self.stream_fit1, self.stream_fit2
        ));
        document.duration = (seconds > 0).then_some(seconds as u32);
        document.note(match document.duration {
            Some(_) => "Work: until the time is up.".to_owned(),
            None => format!("Work: {} s each.", self.work.0 as f64 / 1e6),
        });
        let stream =
            |footprint| Memory { bound: self.memory_bound, mb_per_s: self.bandwidth, footprint: Bytes(footprint) };
        let mut made = 0;
        let none = Memory { bound: 0.0, mb_per_s: 0.0, footprint: Bytes(0) };
        for (kind, count, memory) in [
            ("aluadd", self.aluadd, none),
            ("stream", self.stream, stream(0)),
            ("stream-fit1", self.stream_fit1, stream(self.cache.0)),
            ("stream-fit2", self.stream_fit2, stream(self.cache.0 / 2)),
        ] {
            for index in 0..count {
                let name = format!("{kind}-{index}");
                let tandem = Object::new().with("application", name.as_str()).with_memory(memory);
                let task = Object::new().with_some("cpus", self.cpus.dealt(made)).with("tandem", tandem);
                let task = task.with_some("loop", (seconds == 0).then_some(steps));
                document.task(name, task.with("run", STEP.0));
                made += 1;
            }
        }
        Ok(document)
    }
}
