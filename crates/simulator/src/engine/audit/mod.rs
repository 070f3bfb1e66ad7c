// SPDX-License-Identifier: MIT OR Apache-2.0
//! Checks of the simulator by itself: after each event, whether everything that it knows agrees.
//!
//! A run asks for them ([`crate::options::Audit`]). What does not hold is a mistake of the simulator, and a panic. Nothing
//! here changes a run: its report is the same to the byte.
//!
//! - this file: when, and that it ends. `queues`: tasks stand where they belong. `threads`: what threads wait for, and
//!   where their time went. `energy`: what was drawn only grows. `virtual_time`: and so does virtual time. Parts check themselves where others cannot see:
//!   `hardware::audit`, `scx::audit`.

mod energy;
mod queues;
mod threads;
mod virtual_time;

use super::Engine;
use super::events::Event;
use crate::error::SimulationError;
use crate::options::Audit;
use crate::units::Nanos;
use energy::Drawn;
use threads::Lives;
use virtual_time::VirtualTimes;

/// Threads and CPUs that are looked at after each event: with more, only every so many events are checked.
const PARTS_PER_EVENT: usize = 100;
/// Threads that have ended cost so much less to look at.
const RARELY: usize = 8;

/// What was seen before.
#[derive(Debug)]
pub(super) struct Auditor {
    options: Audit,
    /// Events and decisions so far.
    steps: u64,
    /// Events and decisions since time went on.
    at_once: u64,
    /// Events since everything was checked.
    unchecked: usize,
    /// When the last event was.
    now: Nanos,
    drawn: Drawn,
    lives: Lives,
    virtual_times: VirtualTimes,
}

impl Auditor {
    /// Nothing has been seen yet.
    pub fn new(options: Audit) -> Self {
        let (drawn, lives, virtual_times) = (Drawn::default(), Lives::default(), VirtualTimes::default());
        Self { options, steps: 0, at_once: 0, unchecked: 0, now: 0, drawn, lives, virtual_times }
    }

    /// Counts an event, or a decision of one, beside the turns that a loaded scheduler has taken: one event of a timer may
    /// make every CPU look for work, again and again.
    ///
    /// # Errors
    /// There were as many as the run may have.
    pub fn step(&mut self, turns: u64) -> Result<(), SimulationError> {
        let most_steps = self.options.most_steps;
        assert!(self.at_once < most_steps / 10 * 9, "time stands still for {} steps", self.at_once);
        if self.steps + turns >= most_steps {
            return Err(SimulationError::Unfinished { most_steps });
        }
        self.steps += 1;
        self.at_once += 1;
        Ok(())
    }

    fn check(&mut self, engine: &Engine<'_>) {
        let now = engine.agenda.now();
        assert!(now >= self.now, "time goes back from {} to {now}", self.now);
        if now > self.now {
            self.at_once = 0;
        }
        self.unchecked += 1;
        let parts = self.lives.count() + engine.threads.ids().len() / RARELY + engine.machine.cpus.len();
        if self.unchecked * PARTS_PER_EVENT < parts {
            self.lives.lose_track();
            return;
        }
        self.unchecked = 0;
        queues::check(&engine.sched);
        engine.sched.fair.audit();
        self.virtual_times.check(&engine.sched);
        self.lives.check(engine, now - self.now);
        engine.hardware.audit();
        self.drawn.check(&engine.hardware);
        if let Some(ext) = &engine.sched.ext {
            ext.audit(&engine.sched.kernel);
        }
        self.now = now;
    }
}

impl Engine<'_> {
    /// Checks everything, if the run asks for that; an instant that is not over has more to settle.
    #[inline]
    pub(super) fn audit(&mut self) {
        if self.audit.is_some() {
            self.audit_everything();
        }
    }

    #[inline(never)]
    fn audit_everything(&mut self) {
        if let Some(mut audit) = self.audit.take() {
            audit.check(self);
            self.audit = Some(audit);
        }
    }

    /// Whether `event` is still to come.
    fn awaits(&self, event: Event) -> bool {
        self.agenda.time_of(event).is_some_and(|time| time >= self.agenda.now())
    }
}
