// SPDX-License-Identifier: MIT OR Apache-2.0
//! `global-sum`: threads that add to one sum, under a lock or between barriers.

use super::document::{Document, Object};
use super::options::{names, options};
use super::value::{Usec, Value};
use super::{Generator, OptionError};

options! {
    /// Threads that add to one sum, in critical sections or between barriers. Each sums blocks of an array; `section` is
    /// the share of the sequential run time inside critical sections, `frequency` says how often a thread enters. With
    /// `barriers` the threads meet so many times instead, and these two have no effect.
    ///
    /// Assumed: an interval of a million instructions includes the section at its end; the array's size and the
    /// instructions per second, which are not published; no waiting for memory. rt-app's shortest step is 1 us.
    "global-sum" => GlobalSum from "Lakshminarayana & Kim, sections IV-B to IV-D (globalSum)" {
        /// Threads; the paper has one per CPU, 16 on its Machine-II.
        "threads" threads: u32 = 16, 1..=1024;
        /// Share of the sequential run time inside critical sections, percent; the paper has 10, 15, 20, 50 and 75.
        "section" section: u32 = 20, 1..=99;
        /// Entries of a thread per ten million instructions.
        "frequency" frequency: Frequency = Frequency::F100, ();
        /// Barriers instead of critical sections; the paper has 1000 to 1000000. 0: critical sections.
        "barriers" barriers: u32 = 0, 0..=10_000_000;
        /// Sequential run time, shared equally by the threads. Assumed.
        "total" total: Usec = Usec::s(16), Usec(1)..=Usec::s(100_000);
        /// Million instructions per second on the fastest CPU, to turn `frequency` into time. Assumed.
        "mips" mips: u32 = 1000, 1..=100_000;
    }
}

names! {
    /// How often a thread enters the critical section.
    Frequency {
        /// Once per million instructions.
        F10 = "f10",
        /// Ten times per million.
        F100 = "f100",
        /// A hundred times per million.
        F1000 = "f1000",
        /// A thousand times per million.
        F10000 = "f10000",
    }
}

impl Frequency {
    /// Instructions from entry to entry.
    fn instructions(self) -> u64 {
        match self {
            Self::F10 => 1_000_000,
            Self::F100 => 100_000,
            Self::F1000 => 10_000,
            Self::F10000 => 1_000,
        }
    }
}

impl Generator for GlobalSum {
    fn document(&self) -> Result<Document, OptionError> {
        if self.barriers > 0 { self.with_barriers() } else { self.with_sections() }
    }
}

impl GlobalSum {
    fn with_barriers(&self) -> Result<Document, OptionError> {
        let parts = u64::from(self.threads) * u64::from(self.barriers);
        let run = (self.total.0 + parts / 2) / parts;
        if run == 0 {
            let reason =
                format!("less than 1 us of work between two: --total {} or more is needed", Usec(parts).show());
            return Err(OptionError::conflict("barriers", reason));
        }
        let mut document = Document::new(format!(
            "{} threads sum an array and meet at a barrier {} times, after {run} us of work each.",
            self.threads, self.barriers
        ));
        document.note(format!("Work: {} s.", (parts * run) as f64 / 1e6));
        document.task("sum", self.threads().with("loop", self.barriers).with("run", run).with("barrier", "sum"));
        Ok(document)
    }

    fn with_sections(&self) -> Result<Document, OptionError> {
        let (inside, outside) = self.interval()?;
        let share = self.total.0 / u64::from(self.threads);
        let entries = ((share + (inside + outside) / 2) / (inside + outside)).max(1);
        if entries > i32::MAX as u64 {
            return Err(OptionError::conflict("total", "more than 2147483647 entries per thread, rt-app's limit"));
        }
        let mut document = Document::new(format!(
            "{} threads sum an array and add to one global sum: {outside} us of work outside the critical section and \
             {inside} us inside, {entries} times each.",
            self.threads
        ));
        let work = u64::from(self.threads) * entries * (inside + outside);
        document.note(format!("Work: {} s, {} entries in all.", work as f64 / 1e6, u64::from(self.threads) * entries));
        let thread = self.threads().with("loop", entries).with("run0", outside).with("lock", "sum");
        document.task("sum", thread.with("run1", inside).with("unlock", "sum"));
        Ok(document)
    }

    /// Microseconds inside and outside the section, from entry to entry.
    fn interval(&self) -> Result<(u64, u64), OptionError> {
        let instructions = self.frequency.instructions();
        let interval = instructions as f64 / f64::from(self.mips);
        let inside = interval * f64::from(self.section) / 100.0;
        let outside = interval - inside;
        let shorter = self.section.min(100 - self.section);
        if inside.min(outside) < 0.5 {
            // The shorter part lasts at least a microsecond.
            let mips = (instructions * u64::from(shorter) / 100).max(1);
            let part = inside.min(outside);
            let reason = format!("a part of {part:.2} us, shorter than rt-app's 1 us: --mips {mips} or less is needed");
            return Err(OptionError::conflict("frequency", reason));
        }
        Ok((inside.round() as u64, outside.round() as u64))
    }

    fn threads(&self) -> Object {
        Object::new().with("instance", self.threads).with("tandem", Object::new().with("application", "global-sum"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_is_divided_as_the_section_says() {
        let interval = |section, frequency| GlobalSum { section, frequency, ..GlobalSum::default() }.interval();
        assert_eq!(interval(20, Frequency::F10), Ok((200, 800)));
        assert_eq!(interval(75, Frequency::F100), Ok((75, 25)));
        assert_eq!(interval(10, Frequency::F1000), Ok((1, 9)));
        let error = interval(20, Frequency::F10000).unwrap_err();
        assert_eq!(
            error.to_string(),
            "--frequency: a part of 0.20 us, shorter than rt-app's 1 us: --mips 200 or less is needed"
        );
        let slow = GlobalSum { frequency: Frequency::F10000, mips: 200, ..GlobalSum::default() };
        assert_eq!(slow.interval(), Ok((1, 4)));
    }
}
