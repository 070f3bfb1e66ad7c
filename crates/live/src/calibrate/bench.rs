// SPDX-License-Identifier: MIT OR Apache-2.0
//! What makes CPUs busy and takes the time: the machine itself, or a test's.

use std::fmt::Debug;
use std::io;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use super::work;
use crate::pinned::Pinned;

/// What threads do that make a CPU busy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// Integer arithmetic in registers, with loads that the first-level cache has.
    Compute,
    /// Each load waits for the one before, and none is in a cache.
    Chase {
        /// Bytes that a thread goes through.
        bytes: u64,
    },
    /// Loads one after the other through more than caches hold.
    Read {
        /// Bytes that a thread goes through.
        bytes: u64,
    },
}

/// What one CPU did.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Done {
    /// Steps of the work per second; of [`Work::Read`] bytes.
    pub per_s: f64,
    /// The clock, where the processor counts its cycles.
    pub mhz: Option<f64>,
}

/// A machine to be measured.
pub trait Bench: Debug {
    /// The time since some beginning.
    fn now(&self) -> Duration;

    /// Keeps these CPUs busy for a time, the others idle, and calls `each` with the time now at least ten times a second; a break
    /// ends it. What each of the CPUs did, in their order.
    ///
    /// # Errors
    /// A thread cannot be started, or not run on its CPU.
    fn run(
        &mut self,
        cpus: &[u32],
        work: Work,
        time: Duration,
        each: &mut dyn FnMut(Duration) -> ControlFlow<()>,
    ) -> io::Result<Vec<Done>>;

    /// Wakes these CPUs for a moment. One that sleeps is not told that it has other idle states now, and goes to them when it
    /// sleeps again; only when it wakes the kernel counts how long it was in one.
    ///
    /// # Errors
    /// A thread cannot run on one of them.
    fn wake(&mut self, cpus: &[u32]) -> io::Result<()>;

    /// Seconds that one switch between two threads on a CPU takes.
    ///
    /// # Errors
    /// A thread cannot be started, or not run on this CPU.
    fn switch(&mut self, cpu: u32) -> io::Result<f64>;

    /// Seconds by which a pass through a small set of data takes longer after a move from one CPU to another.
    ///
    /// # Errors
    /// The thread cannot run on one of them.
    fn moved(&mut self, from: u32, to: u32) -> io::Result<f64>;
}

/// The machine that this runs on.
#[derive(Debug)]
pub struct ThisMachine {
    begun: Instant,
}

impl Default for ThisMachine {
    fn default() -> Self {
        Self { begun: Instant::now() }
    }
}

impl Bench for ThisMachine {
    fn now(&self) -> Duration {
        self.begun.elapsed()
    }

    fn run(
        &mut self,
        cpus: &[u32],
        work: Work,
        time: Duration,
        each: &mut dyn FnMut(Duration) -> ControlFlow<()>,
    ) -> io::Result<Vec<Done>> {
        let begun = self.begun;
        work::run(cpus, work, time, &mut || each(begun.elapsed()))
    }

    fn wake(&mut self, cpus: &[u32]) -> io::Result<()> {
        cpus.iter().try_for_each(|cpu| Pinned::on(*cpu).map(drop))
    }

    fn switch(&mut self, cpu: u32) -> io::Result<f64> {
        work::switch(cpu)
    }

    fn moved(&mut self, from: u32, to: u32) -> io::Result<f64> {
        work::moved(from, to)
    }
}
