// SPDX-License-Identifier: MIT OR Apache-2.0
//! `matmul`: a matrix product whose rows are divided unequally.

use super::document::Document;
use super::lengths::Lengths;
pub use super::lengths::Order;
use super::options::options;
use super::value::{Usec, Value};
use super::{Generator, OptionError};

options! {
    /// A matrix product whose rows are divided unequally among threads. Half of them compute X rows each, the other half
    /// Y rows, and the product is there when the last has ended. The paper's variants have X + Y = 600 and 8 threads:
    /// 300-300, 340-260, 350-250 and 360-240, of two matrices of 2400 x 2400.
    ///
    /// Assumed: the time of a row, at one multiplication and addition per nanosecond; no waiting for memory, as the
    /// paper's times follow the clock; the order of creation, which its round robin baseline depends on.
    "matmul" => Matmul from "Lakshminarayana & Kim, section VI-A (matrix multiplication)" {
        /// Rows per thread of either half.
        "rows" rows: Rows = Rows { long: 300, short: 300 }, ();
        /// Threads, an even number.
        "threads" threads: u32 = 8, 2..=1024;
        /// Work of a row: 2400 x 2400 steps of 1 ns.
        "row" row: Usec = Usec(5_760), Usec(1)..=Usec::s(1);
        /// Threads say how many rows they have (`relative_length`).
        "hints" hints: bool = false, ();
        /// In which order the threads are created.
        "order" order: Order = Order::LongFirst, ();
        /// Seed of a shuffled order.
        "seed" seed: u64 = 0, 0..=u64::MAX;
    }
}

/// Rows per thread of the two halves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rows {
    /// Rows per thread of the first half.
    pub long: u32,
    /// Rows per thread of the second half.
    pub short: u32,
}

impl Rows {
    /// Most rows of a thread.
    const MAX: u32 = 1_000_000;
}

impl Value for Rows {
    type Limits = ();
    const NAME: &'static str = "X-Y";

    fn read(text: &str) -> Option<Self> {
        let (long, short) = text.split_once('-')?;
        Some(Self { long: long.trim().parse().ok()?, short: short.trim().parse().ok()? })
    }

    fn within(&self, _limits: &()) -> bool {
        [self.long, self.short].iter().all(|rows| (1..=Self::MAX).contains(rows))
    }

    fn valid(_limits: &()) -> String {
        format!("X-Y with 1 to {} rows each, such as 340-260", Self::MAX)
    }

    fn show(&self) -> String {
        format!("{}-{}", self.long, self.short)
    }
}

impl Generator for Matmul {
    fn document(&self) -> Result<Document, OptionError> {
        if !self.threads.is_multiple_of(2) {
            return Err(OptionError::conflict("threads", "expected an even number: halves have different lengths"));
        }
        let half = self.threads as usize / 2;
        let mut document = Document::new(format!(
            "A matrix product on {} threads: half of them compute {} rows each, the others {}; it ends with the last.",
            self.threads, self.rows.long, self.rows.short
        ));
        let lengths = Lengths {
            application: "matmul",
            steps: [vec![self.rows.long; half], vec![self.rows.short; half]].concat(),
            work: self.row,
            rounds: 1,
            hints: self.hints,
            order: self.order,
            seed: self.seed,
        };
        lengths.add(&mut document);
        Ok(document)
    }
}
