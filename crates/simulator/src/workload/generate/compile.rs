// SPDX-License-Identifier: MIT OR Apache-2.0
//! `compile`: a parallel make, a tree of short processes.

use super::document::{Document, Memory, Object};
use super::options::options;
use super::value::{Bytes, Usec};
use super::{Generator, OptionError};

options! {
    /// A parallel make: a tree of short processes. make starts up to `jobs` compilers at a time; each is a driver (cc) that
    /// starts the compiler proper (cc1), waits for it, starts the assembler (as) and waits for that; make links (ld) when
    /// all have ended. cc1 reads its headers in short pieces of work between short waits for files.
    ///
    /// All figures are assumed, of the order of a C file of some thousand lines; 0.25 of cc1's time waits for memory, at
    /// 400 MB/s and with a footprint of 1 MiB. How long a file takes varies log-normally, drawn by the simulation's seed.
    "compile" => Compile from "no paper: a developer's everyday job, of processes instead of threads" {
        /// Files.
        "files" files: u32 = 100, 1..=100_000;
        /// Compilers at a time, as make's -j.
        "jobs" jobs: u32 = 8, 1..=4096;
        /// Mean work of cc1 after its headers.
        "compile" compile: Usec = Usec::ms(100), Usec(1)..=Usec::s(1000);
        /// Sigma of the logarithm of that work; 0: all equal.
        "spread" spread: f64 = 0.8, 0.0..=3.0;
        /// Headers and other files that cc1 reads.
        "reads" reads: u32 = 20, 0..=100_000;
        /// Mean wait for a file (exponential); most are in memory.
        "read-wait" read_wait: Usec = Usec(100), Usec(1)..=Usec::s(1);
        /// Work of cc1 on a file it reads.
        "read-work" read_work: Usec = Usec(300), Usec(1)..=Usec::s(1);
        /// Work of the assembler.
        "assemble" assemble: Usec = Usec::ms(10), Usec(1)..=Usec::s(1000);
        /// Work of the linker.
        "link" link: Usec = Usec::ms(300), Usec(1)..=Usec::s(1000);
        /// CPUs on which the kernel's own upkeep runs for 20 us once a second; without it a CPU that never gets a process never
        /// wakes, and keeps the clock that it had at the start.
        "upkeep" upkeep: u32 = 0, 0..=8192;
    }
}

/// Work of make per file, and of the driver before and after each program it starts, in microseconds.
const MAKE_US: u64 = 200;
const DRIVER_US: u64 = 500;
/// Run time of a CPU's upkeep (statistics of memory, watchdogs), and its period. Assumed.
const UPKEEP: Usec = Usec(20);
const UPKEEP_PERIOD: Usec = Usec::s(1);

impl Generator for Compile {
    fn document(&self) -> Result<Document, OptionError> {
        let mut document = Document::new(format!(
            "A parallel make of {} files, {} at a time: make starts drivers, drivers start compiler and assembler, make \
             links at the end.",
            self.files, self.jobs
        ));
        let reads = u64::from(self.reads) * self.read_work.0;
        let file = MAKE_US + 2 * DRIVER_US + reads + self.compile.0 + self.assemble.0;
        let work = u64::from(self.files) * file + self.link.0;
        document.note(format!("Work: {} s in the mean, {} processes.", work as f64 / 1e6, 2 + 3 * self.files));
        document.task("make", self.make());
        document.task("cc", driver());
        document.task("cc1", self.compiler());
        let tool = Memory { bound: 0.15, mb_per_s: 200.0, footprint: Bytes::kib(512) };
        document.task("as", process(tool).with("loop", 1u32).with("run", self.assemble.0));
        let linker = Memory { bound: 0.4, mb_per_s: 800.0, footprint: Bytes::mib(16) };
        document.task("ld", process(linker).with("loop", 1u32).with("run", self.link.0));
        for cpu in 0..self.upkeep {
            let tandem = Object::new().with("system", true).with("kernel_thread", true);
            let timer = Object::new().with("ref", "unique").with("period", UPKEEP_PERIOD.0);
            let thread = Object::new().with("cpus", vec![cpu]).with("tandem", tandem);
            document.task(format!("upkeep-{cpu}"), thread.with("timer", timer).with("run", UPKEEP.0));
        }
        Ok(document)
    }
}

/// A task whose threads are processes of their own, started by others.
fn process(memory: Memory) -> Object {
    let tandem = Object::new().with("application", "make").with("process", true).with_memory(memory);
    Object::new().with("instance", 0u32).with("tandem", tandem)
}

fn join() -> Object {
    Object::new().with("tandem", Object::new().with("join", true))
}

/// Does `us` of work and starts `task`.
fn start(us: u64, task: &str) -> Object {
    Object::new().with("run", us).with("fork", task)
}

fn driver() -> Object {
    let none = Memory { bound: 0.0, mb_per_s: 0.0, footprint: Bytes(0) };
    let phases = Object::new()
        .with("compile", start(DRIVER_US, "cc1"))
        .with("compiled", join())
        .with("assemble", start(DRIVER_US, "as"))
        .with("assembled", join())
        .with("done", Object::new().with("sem_post", "job"));
    process(none).with("loop", 1u32).with("phases", phases)
}

impl Compile {
    fn make(&self) -> Object {
        let jobs = Object::new().with("loop", self.files).with("run", MAKE_US);
        let phases = Object::new()
            .with("tokens", Object::new().with("loop", self.jobs).with("sem_post", "job"))
            .with("jobs", jobs.with("sem_wait", "job").with("fork", "cc"))
            .with("compiled", join())
            .with("link", Object::new().with("fork", "ld"))
            .with("linked", join());
        let tandem = Object::new().with("application", "make");
        Object::new().with("tandem", tandem).with("loop", 1u32).with("phases", phases)
    }

    fn compiler(&self) -> Object {
        let memory = Memory { bound: 0.25, mb_per_s: 400.0, footprint: Bytes::mib(1) };
        let mut phases = Object::new();
        if self.reads > 0 {
            let spread = Object::new().with("sleep_spread", "exponential");
            let read = Object::new().with("loop", self.reads).with("tandem", spread);
            phases = phases.with("read", read.with("sleep", self.read_wait.0).with("run", self.read_work.0));
        }
        let spread = Object::new().with("run_spread", Object::new().with("log_normal", self.spread));
        let tandem = (self.spread > 0.0).then_some(spread);
        phases = phases.with("compile", Object::new().with_some("tandem", tandem).with("run", self.compile.0));
        process(memory).with("loop", 1u32).with("phases", phases)
    }
}
