// SPDX-License-Identifier: MIT OR Apache-2.0
//! `iterations`: a loop of few, long iterations that do not divide equally.

use super::document::{Document, times};
use super::lengths::Lengths;
pub use super::lengths::Order;
use super::options::options;
use super::value::Usec;
use super::{Generator, OptionError};

options! {
    /// A loop of few, long iterations that do not divide equally among threads. ITK's image registration has 50 on 8
    /// threads: four threads get 7, two 6 and two 5. With `rounds` the same threads do it again and again and meet after
    /// each round, so that lengths can be learned.
    ///
    /// Assumed: the work of an iteration; no waiting for memory; the order of creation.
    "iterations" => Iterations from "Lakshminarayana & Kim, section VI-B (ITK MultiRegistration)" {
        /// Iterations of each thread.
        "shares" shares: Vec<u32> = vec![7, 7, 7, 7, 6, 6, 5, 5], 1..=1_000_000;
        /// Work of an iteration. Assumed.
        "work" work: Usec = Usec::ms(100), Usec(1)..=Usec::s(1000);
        /// How often the loop is run.
        "rounds" rounds: u32 = 1, 1..=1_000_000;
        /// Threads say how many iterations they have (`relative_length`).
        "hints" hints: bool = false, ();
        /// In which order the threads are created.
        "order" order: Order = Order::LongFirst, ();
        /// Seed of a shuffled order.
        "seed" seed: u64 = 0, 0..=u64::MAX;
    }
}

impl Generator for Iterations {
    fn document(&self) -> Result<Document, OptionError> {
        let all: u64 = self.shares.iter().map(|share| u64::from(*share)).sum();
        let mut document = Document::new(format!(
            "A loop of {all} iterations divided unequally among {} threads, run {}.",
            self.shares.len(),
            times(self.rounds)
        ));
        let lengths = Lengths {
            application: "itk",
            steps: self.shares.clone(),
            work: self.work,
            rounds: self.rounds,
            hints: self.hints,
            order: self.order,
            seed: self.seed,
        };
        lengths.add(&mut document);
        Ok(document)
    }
}
