// SPDX-License-Identifier: MIT OR Apache-2.0
//! `parallel-for`: OpenMP's parallel loop under its three schedules.

use super::document::{Document, Object, times};
use super::options::{names, options};
use super::value::Value;
use super::{Generator, OptionError};

options! {
    /// A parallel loop under OpenMP's static, dynamic or guided schedule. It squares the elements of an array; an iteration
    /// here is a block of them.
    ///
    /// Assumed: the array's size, which is not published; no waiting for memory, as the published times follow the clock.
    "parallel-for" => ParallelFor from "Lakshminarayana & Kim, section V (parallel-for), Table V" {
        /// How iterations are dealt.
        "schedule" schedule: Schedule = Schedule::Static, ();
        /// Threads; the paper has one per CPU, 16 on its Machine-II.
        "threads" threads: u32 = 16, 1..=1024;
        /// Iterations of the loop.
        "iterations" iterations: u64 = 16_000, 1..=1_000_000_000;
        /// Work of an iteration, microseconds.
        "work" work: f64 = 1_000.0, 0.001..=1_000_000.0;
        /// Iterations taken at a time under dynamic, at least under guided.
        "chunk" chunk: u64 = 1, 1..=1_000_000_000;
        /// How often the loop is run.
        "rounds" rounds: u32 = 1, 1..=1_000_000;
    }
}

names! {
    /// OpenMP's schedules.
    Schedule {
        /// Equal shares.
        Static = "static",
        /// `chunk` iterations to the next thread that is free.
        Dynamic = "dynamic",
        /// The rest divided by the number of threads to the next thread that is free.
        Guided = "guided",
    }
}

impl Generator for ParallelFor {
    fn document(&self) -> Result<Document, OptionError> {
        let chunk = (self.schedule != Schedule::Static).then_some(self.chunk);
        if chunk.is_none() && self.chunk != 1 {
            let reason = "a static schedule deals equal shares: --schedule dynamic or guided takes a chunk";
            return Err(OptionError::conflict("chunk", reason));
        }
        let mut document = Document::new(format!(
            "A parallel loop of {} iterations on {} threads under a {} schedule, run {}. rt-app, which has no such \
             loops, has nothing to do.",
            self.iterations,
            self.threads,
            self.schedule.show(),
            times(self.rounds)
        ));
        // As the parser reads it: whole nanoseconds.
        let work = (self.work * 1e3).round() / 1e9;
        document.note(format!("Work: {} s.", work * self.iterations as f64 * f64::from(self.rounds)));
        let parallel_for = Object::new()
            .with("name", "square")
            .with("iterations", self.iterations)
            .with("work", self.work)
            .with("schedule", self.schedule.show())
            .with_some("chunk", chunk);
        let tandem = Object::new().with("application", "parallel-for").with("parallel_for", parallel_for);
        let task = Object::new().with("instance", self.threads).with("loop", self.rounds).with("run", 0u32);
        document.task("square", task.with("tandem", tandem));
        Ok(document)
    }
}
