// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads with unequal numbers of equal steps, as a static division of a loop gives them.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg32;

use super::document::{Document, Object};
use super::options::names;
use super::value::Usec;

names! {
    /// In which order threads are created.
    Order {
        /// The longest first; equal threads as given.
        LongFirst = "long-first",
        /// The shortest first.
        ShortFirst = "short-first",
        /// In an order that `seed` draws.
        Shuffled = "shuffled",
    }
}

/// Threads that each do `work` a number of times.
pub(super) struct Lengths<'a> {
    pub application: &'a str,
    /// Number of steps of each thread.
    pub steps: Vec<u32>,
    /// Work of a step.
    pub work: Usec,
    /// How often everything is repeated; the threads meet at a barrier after each round.
    pub rounds: u32,
    /// Whether threads say how long they are (`relative_length`).
    pub hints: bool,
    pub order: Order,
    pub seed: u64,
}

impl Lengths<'_> {
    /// Adds the threads, in order of creation, and a remark on how much work they are.
    pub fn add(mut self, document: &mut Document) {
        match self.order {
            Order::LongFirst => self.steps.sort_by_key(|steps| std::cmp::Reverse(*steps)),
            Order::ShortFirst => self.steps.sort_unstable(),
            Order::Shuffled => self.steps.shuffle(&mut Pcg32::seed_from_u64(self.seed)),
        }
        let all: u64 = self.steps.iter().map(|steps| u64::from(*steps)).sum();
        let work = all * u64::from(self.rounds) * self.work.0;
        document.note(format!("Work: {} s.", work as f64 / 1e6));
        for (index, steps) in self.steps.iter().enumerate() {
            document.task(format!("thread-{index}"), self.thread(*steps));
        }
    }

    fn thread(&self, steps: u32) -> Object {
        let tandem = Object::new()
            .with("application", self.application)
            .with_some("relative_length", self.hints.then_some(steps));
        let task = Object::new().with("tandem", tandem);
        let loops = |object: Object| object.with("loop", steps).with("run", self.work.0);
        match self.rounds {
            1 => loops(task),
            rounds => {
                let phases = Object::new()
                    .with("steps", loops(Object::new()))
                    .with("join", Object::new().with("barrier", "join"));
                task.with("loop", rounds).with("phases", phases)
            }
        }
    }
}
