// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rpc`: requests that arrive whether or not earlier ones are done, and fan out over workers.

use super::document::{Document, Object};
use super::options::options;
use super::value::Usec;
use super::{Generator, OptionError, value};

options! {
    /// A service whose requests arrive at random and fan out over workers. Arrivals are open-loop, so a late answer delays none;
    /// a frontend asks a number of its workers and answers when all of them have.
    ///
    /// A frontend's round is a request. Its response is from the arrival, also one while the frontend was still busy, to the
    /// end of the answer; the deadline is from the arrival, too. Workers' rounds are their shares of requests, from the
    /// frontend's question to their answer. Both are applications of their own.
    ///
    /// All figures are assumed, of the order of a cache or a search tier. Times between arrivals and the work of a worker are
    /// exponential, drawn by the simulation's seed.
    "rpc" => Rpc from "no paper: open-loop load with fan-out as in J. Dean, L. A. Barroso, The Tail at Scale, CACM 56 (2013)" {
        /// Frontends, each with its own arrivals and workers.
        "frontends" frontends: u32 = 4, 1..=4096;
        /// Workers that a frontend has, and asks for each request.
        "fan-out" fan_out: u32 = 4, 1..=1024;
        /// Mean time between arrivals at a frontend.
        "arrival" arrival: Usec = Usec::ms(5), Usec(1)..=Usec::s(1000);
        /// Work of a frontend before it asks its workers.
        "parse" parse: Usec = Usec(100), Usec(1)..=Usec::s(1000);
        /// Mean work of a worker.
        "work" work: Usec = Usec(500), Usec(1)..=Usec::s(1000);
        /// Work of a frontend on the answer.
        "answer" answer: Usec = Usec(100), Usec(1)..=Usec::s(1000);
        /// From the arrival of a request to its deadline.
        "deadline" deadline: Usec = Usec::ms(10), Usec(1)..=Usec::s(1000);
        /// Run time, in whole seconds.
        "duration" duration: Usec = Usec::s(10), Usec::s(1)..=Usec::s(100_000);
    }
}

impl Generator for Rpc {
    fn document(&self) -> Result<Document, OptionError> {
        let seconds = value::steps("duration", self.duration, Usec::s(1))?;
        let mut document = Document::new(format!(
            "Requests arrive at {} frontends, which ask {} workers each; response of a frontend: from arrival to answer.",
            self.frontends, self.fan_out
        ));
        let request = self.parse.0 + self.answer.0 + u64::from(self.fan_out) * self.work.0;
        let load = u64::from(self.frontends) as f64 * request as f64 / self.arrival.0 as f64;
        document.note(format!("Load in the mean: {load:.3} reference CPUs."));
        document.duration = Some(seconds as u32);
        for index in 0..self.frontends {
            document.task(format!("frontend-{index}"), self.frontend(index));
            document.task(format!("worker-{index}"), self.worker(index));
        }
        Ok(document)
    }
}

impl Rpc {
    fn frontend(&self, index: u32) -> Object {
        let (question, answer) = (format!("question-{index}"), format!("answer-{index}"));
        let timer = Object::new().with("ref", "unique").with("period", self.arrival.0).with("mode", "absolute");
        let at_random = Object::new().with("sleep_spread", "exponential");
        let same_round = Object::new().with("same_round", true);
        let phases = Object::new()
            .with("arrival", Object::new().with("timer", timer).with("tandem", at_random))
            .with("parse", Object::new().with("run", self.parse.0))
            .with("ask", Object::new().with("loop", self.fan_out).with("sem_post", question))
            .with("wait", Object::new().with("loop", self.fan_out).with("sem_wait", answer).with("tandem", same_round))
            .with("answer", Object::new().with("run", self.answer.0));
        let tandem = Object::new().with("application", "frontends").with("deadline", self.deadline.0);
        Object::new().with("tandem", tandem).with("phases", phases)
    }

    fn worker(&self, index: u32) -> Object {
        let tandem = Object::new().with("application", "workers").with("run_spread", "exponential");
        Object::new()
            .with("instance", self.fan_out)
            .with("tandem", tandem)
            .with("sem_wait", format!("question-{index}"))
            .with("run", self.work.0)
            .with("sem_post", format!("answer-{index}"))
    }
}
