// SPDX-License-Identifier: MIT OR Apache-2.0
//! `crossed`: one program and then another, beside the same two in the opposite order.

use super::document::{Document, Object};
use super::options::options;
use super::scientific::{Program, Scientific, pieces, round, spread};
use super::value::{Usec, Value};
use super::{Generator, OptionError};

options! {
    /// Two benchmarks side by side, each to completion: one executes program A and then B, the other B and then A. Both do
    /// the same work and end at nearly the same time, so that no program runs on alone. Each program is an application
    /// of its own: `a1` and then `b1` of the first benchmark, `b2` and then `a2` of the second. The time of a benchmark is that
    /// of its second program, which the report counts from the start of the run; what the second program took is
    /// that less the time of the first. One program instead of two runs alone: that time is what speedups are relative to.
    ///
    /// Programs, their threads' loops dealt dynamically, and system noise are those of `scientific`. How long the
    /// programs are is not published: here they are of one length, in iterations that take so long without contention.
    "crossed" => Crossed from "Morad, Kolodny & Weiser, section V and equation (4); section IV (SPEC OMP2001)" {
        /// Programs A and B, or one that runs alone.
        "programs" programs: Vec<Program> = vec![Program::Art, Program::Equake], ();
        /// Threads of a program; thread 0 also does the serial part.
        "threads" threads: u32 = 8, 1..=1024;
        /// Length of each program, alone on as many equal CPUs as it has threads, with memory to itself. Assumed.
        "length" length: Usec = Usec::s(1), Usec::ms(1)..=Usec::s(100_000);
    }
}

/// A program's place in a benchmark.
struct Part<'a> {
    program: Program,
    /// What its names begin with.
    name: &'a str,
    /// The program that begins when this one has ended.
    before: Option<&'a str>,
    /// Whether the program begins when another one has ended.
    waits: bool,
}

impl Generator for Crossed {
    fn document(&self) -> Result<Document, OptionError> {
        let mut document;
        match &self.programs[..] {
            [only] => {
                document = Document::new(format!("A program like {}, alone, beside system noise.", only.show()));
                self.part(&mut document, &Part { program: *only, name: "a1", before: None, waits: false });
            }
            [a, b] => {
                let (first, second) = (a.show(), b.show());
                document = Document::new(format!(
                    "A program like {first} and then one like {second}, beside the same two in the opposite order."
                ));
                self.part(&mut document, &Part { program: *a, name: "a1", before: Some("b1"), waits: false });
                self.part(&mut document, &Part { program: *b, name: "b1", before: None, waits: true });
                self.part(&mut document, &Part { program: *b, name: "b2", before: Some("a2"), waits: false });
                self.part(&mut document, &Part { program: *a, name: "a2", before: None, waits: true });
            }
            _ => return Err(OptionError::conflict("programs", "one program, or two")),
        }
        Scientific::default().noise(&mut document);
        Ok(document)
    }
}

impl Crossed {
    /// The threads of a program. A benchmark's second program is there from the start, too, but asleep: as many threads of
    /// the first one wake its threads as there are, when the first one's last loop has ended.
    fn part(&self, document: &mut Document, part: &Part<'_>) {
        let values = part.program.values();
        let (iteration, serial) = (values.iteration.0, values.serial.0);
        let rounds = (self.length.0 + (iteration + serial) / 2) / (iteration + serial);
        let work = (u64::from(self.threads) * iteration + serial) * rounds.max(1);
        document.note(format!("Work of {}-{}: {} s.", part.name, part.program.show(), work as f64 / 1e6));
        if serial > 0 {
            document.task(format!("{}-main", part.name), self.threads(part, 1, rounds.max(1), Some(serial)));
        }
        let others = self.threads - u32::from(serial > 0);
        if others > 0 {
            document.task(format!("{}-worker", part.name), self.threads(part, others, rounds.max(1), None));
        }
    }

    /// Threads of a program, all alike; `serial` is the work of the thread for which the others wait.
    fn threads(&self, part: &Part<'_>, instances: u32, rounds: u64, serial: Option<u64>) -> Object {
        let (values, name) = (part.program.values(), part.name);
        let begin = (values.serial.0 > 0).then(|| format!("{name}-begin"));
        let pieces = pieces(format!("{name}-loop"), self.threads, values.iteration);
        let round = round(Object::new().with("loop", rounds), serial, begin);
        let mut phases = Object::new();
        if part.waits {
            phases = phases.with("begin", Object::new().with("sem_wait", format!("{name}-may-begin")));
        }
        phases = phases.with("rounds", round.with("tandem", Object::new().with("parallel_for", pieces)));
        if let Some(next) = part.before {
            phases = phases.with("end", Object::new().with("sem_post", format!("{next}-may-begin")));
        }
        let tandem = Object::new()
            .with("application", format!("{name}-{}", part.program.show()))
            .with_memory(values.memory)
            .with_some("run_spread", spread(values.imbalance));
        Object::new().with("instance", instances).with("loop", 1u32).with("tandem", tandem).with("phases", phases)
    }
}
