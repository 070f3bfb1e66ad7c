// SPDX-License-Identifier: MIT OR Apache-2.0
//! Columns as few bytes: differences, each as long as it needs to be, then deflated. `page/src/columns.js` reads them.
//!
//! The order is: by CPU the columns of its slices (the gap before, the length, the thread, how it ended, the wait), the changes of
//! its clock and of its idle state (the time since the change before, the value), its power; then the powers of packages. A power
//! is the times, then the values as 32-bit floats, little-endian. How long each column is stands beside the bytes, in [`Counts`].

use std::io::Read;

use flate2::Compression;
use flate2::read::ZlibEncoder;
use serde::Serialize;
use tandem_simulator::units::Nanos;

use super::{CpuLine, Levels, Means, Timeline};

/// How long the columns are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Counts {
    cpus: Vec<CpuCounts>,
    packages: Vec<PowerCount>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct CpuCounts {
    slices: usize,
    khz: usize,
    idle: usize,
    watts: PowerCount,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct PowerCount {
    count: usize,
    /// Width of a step of means, in ns.
    width: Option<Nanos>,
}

impl Timeline {
    /// The columns' lengths, and the columns, deflated.
    pub(crate) fn pack(&self) -> (Counts, Vec<u8>) {
        let mut columns = Columns(Vec::new());
        self.cpus.iter().for_each(|cpu| columns.cpu(cpu));
        self.packages.iter().for_each(|package| columns.power(package));
        let counts = Counts {
            cpus: self.cpus.iter().map(CpuCounts::of).collect(),
            packages: self.packages.iter().map(PowerCount::of).collect(),
        };
        (counts, deflated(&columns.0))
    }
}

impl CpuCounts {
    fn of(cpu: &CpuLine) -> Self {
        Self {
            slices: cpu.slices.start.len(),
            khz: cpu.khz.at.len(),
            idle: cpu.idle.at.len(),
            watts: PowerCount::of(&cpu.watts),
        }
    }
}

impl PowerCount {
    fn of(means: &Means) -> Self {
        Self { count: means.levels.at.len(), width: means.width }
    }
}

/// The zlib stream of `bytes`.
fn deflated(bytes: &[u8]) -> Vec<u8> {
    let mut deflated = Vec::new();
    // Reading from memory never fails.
    let _ = ZlibEncoder::new(bytes, Compression::default()).read_to_end(&mut deflated);
    deflated
}

struct Columns(Vec<u8>);

impl Columns {
    fn cpu(&mut self, cpu: &CpuLine) {
        let slices = &cpu.slices;
        let mut end = 0;
        let gaps = slices.start.iter().zip(&slices.length).map(|(start, length)| {
            let gap = start - end;
            end = start + length;
            gap
        });
        self.numbers(gaps);
        self.numbers(slices.length.iter().copied());
        self.numbers(slices.thread.iter().map(|thread| u64::from(*thread)));
        self.numbers(slices.left.iter().map(|left| *left as u64));
        self.numbers(slices.waited.iter().copied());
        self.levels(&cpu.khz);
        self.levels(&cpu.idle);
        self.power(&cpu.watts);
    }

    fn levels(&mut self, levels: &Levels<u32>) {
        self.times(&levels.at);
        self.numbers(levels.value.iter().map(|value| u64::from(*value)));
    }

    fn power(&mut self, means: &Means) {
        self.times(&means.levels.at);
        self.0.extend(means.levels.value.iter().flat_map(|watts| watts.to_le_bytes()));
    }

    fn times(&mut self, at: &[Nanos]) {
        let before = std::iter::once(0).chain(at.iter().copied());
        self.numbers(at.iter().zip(before).map(|(at, before)| at - before));
    }

    /// Each number in groups of seven bits, the lowest first; the highest bit of a byte says that another follows (LEB128).
    fn numbers(&mut self, numbers: impl Iterator<Item = u64>) {
        for mut number in numbers {
            while number >= 0x80 {
                self.0.push(number as u8 | 0x80);
                number >>= 7;
            }
            self.0.push(number as u8);
        }
    }
}

#[cfg(test)]
mod tests {
    use flate2::read::ZlibDecoder;

    use super::super::{Left, Slices};
    use super::*;

    #[test]
    fn columns_are_differences_in_groups_of_seven_bits() {
        let slices = Slices {
            start: vec![300, 400],
            length: vec![100, 5],
            thread: vec![0, 7],
            left: vec![Left::Runnable, Left::Cut],
            waited: vec![0, 128],
        };
        let khz = Levels { at: vec![0, 10], value: vec![1, 2] };
        let mut watts = Means::up_to(8);
        watts.set(3, 1.0);
        let line = CpuLine { slices, khz, idle: Levels::default(), watts };
        let timeline = Timeline { cpus: vec![line], ..Timeline::default() };
        let (counts, bytes) = timeline.pack();
        let mut plain = Vec::new();
        ZlibDecoder::new(&bytes[..]).read_to_end(&mut plain).unwrap();
        // 300 is 0b10_0101100; the second slice begins where the first ends.
        let slices = [0xAC, 2, 0, 100, 5, 0, 7, 0, 3, 0, 0x80, 1];
        let rest = [0, 10, 1, 2, 3, 0, 0, 0x80, 0x3F];
        assert_eq!(plain, [&slices[..], &rest].concat());
        assert_eq!((counts.cpus[0].slices, counts.cpus[0].khz, counts.cpus[0].watts.count), (2, 2, 1));
    }
}
