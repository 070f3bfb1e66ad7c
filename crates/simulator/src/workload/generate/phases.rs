// SPDX-License-Identifier: MIT OR Apache-2.0
//! `phases`: applications that are in turn parallel and serial.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg32;

use super::document::{Document, Object};
use super::options::{names, options};
use super::value::{Usec, Value};
use super::{Generator, OptionError, value};

options! {
    /// Applications that are in turn parallel and serial, one per label. Each iteration forks `threads` threads of p work
    /// each, joins them, and then does s work alone. A label P:S makes s = p S / P; of `inf:1` there is no serial and of
    /// `1:inf` no parallel part, whose p is then the serial work.
    ///
    /// p is the same for all threads of an iteration, and is drawn from the seed for each: a table of `rounds` iterations,
    /// which repeats until `duration`. All work counts once in `apps[].work_s` of the report, n p + s per iteration, so
    /// `apps[].performance` is the benchmark's figure of merit.
    "phases" => Phases from "Morad, Kolodny & Weiser, section IV and equation (1)" {
        /// Parallel to serial time of each application, alone on as many equal CPUs as it has threads.
        "label" label: Vec<Label> = vec![Label::EQUAL, Label::EQUAL], ();
        /// Threads of a parallel part; the paper has as many as CPUs.
        "threads" threads: u32 = 8, 1..=1024;
        /// Length of the run, whole seconds.
        "duration" duration: Usec = Usec::s(60), Usec::s(1)..=Usec::s(86_400);
        /// Mean of p, which is uniform from 1 us to twice this. Assumed: the paper only says "random".
        "work" work: Usec = Usec::ms(20), Usec(1)..=Usec::s(1);
        /// Iterations in the table that repeats.
        "rounds" rounds: u32 = 32, 1..=256;
        /// Whether each iteration forks new threads or wakes the same ones at a barrier, which rt-app can do too.
        "workers" workers: Workers = Workers::Forked, ();
        /// Seed of the table.
        "seed" seed: u64 = 0, 0..=u64::MAX;
    }
}

names! {
    /// Where the threads of a parallel part come from.
    Workers {
        /// Forked for each iteration, and joined.
        Forked = "forked",
        /// Threads that exist from the start; barriers begin and end an iteration.
        Kept = "kept",
    }
}

/// Parallel to serial time; `None` is infinite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Label {
    /// The ratio's parallel part; `None`: infinite.
    pub parallel: Option<u32>,
    /// The ratio's serial part; `None`: infinite.
    pub serial: Option<u32>,
}

impl Label {
    /// Both parts take the same time.
    const EQUAL: Self = Self { parallel: Some(1), serial: Some(1) };
    /// Largest value of a part.
    const MAX: u32 = 1000;

    /// p and s of an iteration for which `drawn` was drawn, in microseconds.
    fn work(self, drawn: u64) -> (u64, u64) {
        match (self.parallel, self.serial) {
            (_, None) => (0, drawn),
            (None, _) => (drawn, 0),
            (Some(parallel), Some(serial)) => {
                let (parallel, serial) = (u64::from(parallel), u64::from(serial));
                (drawn, (drawn * serial + parallel / 2) / parallel)
            }
        }
    }
}

impl Value for Label {
    type Limits = ();
    const NAME: &'static str = "P:S";

    fn read(text: &str) -> Option<Self> {
        let side = |text: &str| match text.trim() {
            "inf" => Some(None),
            number => number.parse().ok().map(Some),
        };
        let (parallel, serial) = text.split_once(':')?;
        Some(Self { parallel: side(parallel)?, serial: side(serial)? })
    }

    fn within(&self, _limits: &()) -> bool {
        let side = |side: Option<u32>| side.is_none_or(|part| (1..=Self::MAX).contains(&part));
        side(self.parallel) && side(self.serial) && (self.parallel.is_some() || self.serial.is_some())
    }

    fn valid(_limits: &()) -> String {
        format!("P:S with parts of 1 to {} or one of them inf, such as 1:4 or inf:1", Self::MAX)
    }

    fn show(&self) -> String {
        let side = |side: Option<u32>| side.map_or_else(|| "inf".to_owned(), |part| part.to_string());
        format!("{}:{}", side(self.parallel), side(self.serial))
    }
}

/// Most applications: a letter names each.
const MAX_APPLICATIONS: usize = 26;

impl Generator for Phases {
    fn document(&self) -> Result<Document, OptionError> {
        if self.label.len() > MAX_APPLICATIONS {
            return Err(OptionError::conflict("label", format!("at most {MAX_APPLICATIONS} applications")));
        }
        let seconds = value::steps("duration", self.duration, Usec::s(1))?;
        let mut document = Document::new(format!(
            "Applications that alternate between a parallel part of {} threads and a serial one, until the time is up; \
             the name has the ratio of both.",
            self.threads
        ));
        document.duration = Some(seconds as u32);
        for (index, label) in self.label.iter().enumerate() {
            self.application(&mut document, index, *label);
        }
        Ok(document)
    }
}

impl Phases {
    fn application(&self, document: &mut Document, index: usize, label: Label) {
        let letter = char::from(b'a' + index as u8);
        let name = format!("{letter}-{}", label.show());
        let table: Vec<(u64, u64)> = self.table(index as u64).into_iter().map(|drawn| label.work(drawn)).collect();
        let pass: u64 = table.iter().map(|(parallel, serial)| u64::from(self.threads) * parallel + serial).sum();
        document.note(format!("{name}: {} iterations are {} s of work.", self.rounds, pass as f64 / 1e6));
        match self.workers {
            Workers::Forked => self.forked(document, letter, &name, &table),
            Workers::Kept => self.kept(document, letter, &name, &table),
        }
    }

    /// The numbers drawn for the iterations of application `index`, each of which has a random stream of its own.
    fn table(&self, index: u64) -> Vec<u64> {
        let mut stream = Pcg32::seed_from_u64(self.seed ^ (index + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        (0..self.rounds).map(|_| stream.random_range(1..=2 * self.work.0)).collect()
    }

    fn forked(&self, document: &mut Document, letter: char, name: &str, table: &[(u64, u64)]) {
        let application = || Object::new().with("application", name);
        let mut phases = Object::new();
        for (round, (parallel, serial)) in table.iter().enumerate() {
            if *parallel > 0 {
                let fork = Object::new().with("loop", self.threads).with("fork", format!("{letter}-work-{round}"));
                let join = Object::new().with("tandem", Object::new().with("join", true));
                phases = phases.with(format!("fork-{round}"), fork).with(format!("join-{round}"), join);
            }
            phases = with_serial(phases, round, *serial);
        }
        document.task(format!("{letter}-main"), Object::new().with("tandem", application()).with("phases", phases));
        for (round, (parallel, _)) in table.iter().enumerate().filter(|(_, (parallel, _))| *parallel > 0) {
            let work = Object::new().with("instance", 0u32).with("tandem", application()).with("loop", 1u32);
            document.task(format!("{letter}-work-{round}"), work.with("run", *parallel));
        }
    }

    fn kept(&self, document: &mut Document, letter: char, name: &str, table: &[(u64, u64)]) {
        let application = || Object::new().with("application", name);
        let (mut of_main, mut of_workers) = (Object::new(), Object::new());
        let mut parallel_rounds = 0;
        for (round, (parallel, serial)) in table.iter().enumerate() {
            if *parallel > 0 {
                let barriers = |run: Option<u64>| {
                    Object::new()
                        .with("barrier0", format!("{letter}-fork-{round}"))
                        .with_some("run", run)
                        .with("barrier1", format!("{letter}-join-{round}"))
                };
                of_main = of_main.with(format!("parallel-{round}"), barriers(None));
                of_workers = of_workers.with(format!("parallel-{round}"), barriers(Some(*parallel)));
                parallel_rounds += 1;
            }
            of_main = with_serial(of_main, round, *serial);
        }
        document.task(format!("{letter}-main"), Object::new().with("tandem", application()).with("phases", of_main));
        if parallel_rounds > 0 {
            let workers = Object::new().with("instance", self.threads).with("tandem", application());
            document.task(format!("{letter}-work"), workers.with("phases", of_workers));
        }
    }
}

fn with_serial(phases: Object, round: usize, serial: u64) -> Object {
    match serial {
        0 => phases,
        _ => phases.with(format!("serial-{round}"), Object::new().with("run", serial)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_says_how_much_is_serial() {
        let work = |text: &str, drawn| Label::read(text).unwrap().work(drawn);
        assert_eq!(work("1:1", 100), (100, 100));
        assert_eq!(work("1:4", 100), (100, 400));
        assert_eq!(work("8:1", 100), (100, 13));
        assert_eq!(work("inf:1", 100), (100, 0));
        assert_eq!(work("1:inf", 100), (0, 100));
    }

    #[test]
    fn labels_have_two_parts_of_which_one_is_finite() {
        for mistake in ["inf:inf", "0:1", "1:1001", "1", "1:", ":", "a:b", "-1:1"] {
            assert!(!Label::read(mistake).is_some_and(|label| label.within(&())), "{mistake}");
        }
    }
}
