// SPDX-License-Identifier: MIT OR Apache-2.0
//! `desktop`: somebody at a screen, and work in the background.

use super::document::{Document, Memory, Object};
use super::options::options;
use super::value::{Bytes, Usec};
use super::{Generator, OptionError, value};

options! {
    /// Interactive programs beside work in the background. The programs answer their user in short bursts, each after a pause in
    /// which nobody asks; the background takes what it gets.
    ///
    /// A round of an interactive program is what it does for one key or click. Its response is from the end of the pause to the
    /// end of the burst, and should be below 100 ms, which people take for at once (R. B. Miller 1968; J. Nielsen 1993).
    /// Background work never waits, so it has no rounds; its work_s says what it got.
    ///
    /// Pauses (exponential), bursts (log-normal) and the background's use of memory (0.3 of its time, at 500 MB/s) are assumed.
    "desktop" => Desktop from "no paper: bursts beside background work" {
        /// Interactive programs.
        "programs" programs: u32 = 4, 1..=4096;
        /// Mean pause of a program's user.
        "pause" pause: Usec = Usec::ms(150), Usec(1)..=Usec::s(1000);
        /// Mean work of a burst.
        "burst" burst: Usec = Usec::ms(8), Usec(1)..=Usec::s(1000);
        /// Sigma of the logarithm of that work; 0: all equal.
        "spread" spread: f64 = 0.8, 0.0..=3.0;
        /// From key or click to deadline.
        "deadline" deadline: Usec = Usec::ms(100), Usec(1)..=Usec::s(1000);
        /// Threads in the background.
        "background" background: u32 = 8, 0..=8192;
        /// Nice value of the background.
        "nice" nice: u32 = 0, 0..=19;
        /// Run time, in whole seconds.
        "duration" duration: Usec = Usec::s(10), Usec::s(1)..=Usec::s(100_000);
    }
}

impl Generator for Desktop {
    fn document(&self) -> Result<Document, OptionError> {
        let seconds = value::steps("duration", self.duration, Usec::s(1))?;
        let mut document = Document::new(format!(
            "{} interactive programs beside {} threads in the background; response: from key or click to the end of the \
             burst.",
            self.programs, self.background
        ));
        document.duration = Some(seconds as u32);
        document.task("program", self.program());
        if self.background > 0 {
            let memory = Memory { bound: 0.3, mb_per_s: 500.0, footprint: Bytes(0) };
            let tandem = Object::new().with("application", "background").with_memory(memory);
            let task = Object::new().with("instance", self.background).with("tandem", tandem);
            document.task("background", task.with("priority", self.nice).with("run", 100_000u32));
        }
        Ok(document)
    }
}

impl Desktop {
    fn program(&self) -> Object {
        let log_normal = (self.spread > 0.0).then(|| Object::new().with("log_normal", self.spread));
        let tandem = Object::new()
            .with("application", "interactive")
            .with("deadline", self.deadline.0)
            .with("sleep_spread", "exponential")
            .with_some("run_spread", log_normal);
        let task = Object::new().with("instance", self.programs).with("tandem", tandem);
        task.with("sleep", self.pause.0).with("run", self.burst.0)
    }
}
