// SPDX-License-Identifier: MIT OR Apache-2.0
//! The random numbers of a run: one seed, and of it a stream for each purpose.
//!
//! A stream is drawn from by one part of the model only, so that a part that draws more or less changes no other. The
//! generators of workloads ([`crate::workload::generate`]) have seeds of their own: they draw what a file says, which is
//! settled before a run, and a run's seed does not concern them.

use rand::SeedableRng;
use rand_pcg::Pcg32;

use crate::units::TaskId;

/// What the numbers of a stream are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stream {
    /// When the first tick is due.
    TickPhase,
    /// The kernel's own choices (`sched_rng`): the new-idle lottery, and the order in which CPUs that tick together balance.
    Kernel,
    /// What BPF programs draw (`bpf_get_prandom_u32`).
    Bpf,
    /// Lengths of the spans of a thread; threads are numbered in the order in which they are made.
    Thread(TaskId),
}

impl Stream {
    /// The stream's number, which never changes: another stream gets a number that none has.
    fn number(self) -> u64 {
        match self {
            Self::TickPhase => 0,
            Self::Kernel => 1,
            Self::Bpf => 2,
            Self::Thread(task) => 1 << 32 | u64::from(task.0),
        }
    }
}

/// All random streams of a run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Streams {
    seed: u64,
}

impl Streams {
    /// The streams of a run with this seed.
    pub fn new(seed: u64) -> Self {
        Self { seed }
    }

    /// A stream from its beginning.
    ///
    /// The streams of a run have seeds that all differ, for [`mix`] maps no two numbers to one.
    pub fn of(self, stream: Stream) -> Pcg32 {
        Pcg32::seed_from_u64(mix(self.seed ^ mix(stream.number())))
    }
}

/// The finaliser of SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014): a
/// one-to-one map of 64-bit numbers that spreads each bit over all others.
fn mix(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ number >> 31
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use rand::Rng;

    use super::*;

    fn all(threads: u32) -> impl Iterator<Item = Stream> {
        let threads = (0..threads).map(|thread| Stream::Thread(TaskId(thread)));
        [Stream::TickPhase, Stream::Kernel, Stream::Bpf].into_iter().chain(threads)
    }

    fn beginning<const N: usize>(seed: u64, stream: Stream) -> [u32; N] {
        let mut rng = Streams::new(seed).of(stream);
        std::array::from_fn(|_| rng.next_u32())
    }

    #[test]
    fn the_same_seed_gives_the_same_numbers_and_another_gives_others() {
        for stream in all(4) {
            assert_eq!(beginning::<4>(7, stream), beginning(7, stream), "{stream:?}");
            assert_ne!(beginning::<4>(7, stream), beginning(8, stream), "{stream:?}");
        }
    }

    #[test]
    fn no_stream_of_a_run_repeats_what_another_begins_with() {
        for seed in [0, 1, 42, u64::MAX] {
            let mut seen = BTreeMap::new();
            for stream in all(500) {
                for pair in beginning::<64>(seed, stream).windows(2) {
                    let before = seen.insert([pair[0], pair[1]], stream);
                    assert_eq!(before, None, "seed {seed}: {stream:?} draws {pair:?}, too");
                }
            }
        }
    }

    #[test]
    fn neighbouring_streams_and_seeds_agree_in_half_of_the_bits() {
        let differing = |a: [u32; 1], b: [u32; 1]| f64::from((a[0] ^ b[0]).count_ones());
        let thread = |thread| Stream::Thread(TaskId(thread));
        let threads = (0..4000).map(|at| differing(beginning(0, thread(at)), beginning(0, thread(at + 1))));
        let seeds = (0..4000).map(|seed| differing(beginning(seed, Stream::Bpf), beginning(seed + 1, Stream::Bpf)));
        for mean in [threads.sum::<f64>() / 4000.0, seeds.sum::<f64>() / 4000.0] {
            // The deviation of the mean is √8 / √4000 = 0.045.
            assert!((mean - 16.0).abs() < 0.2, "{mean} of 32 bits differ");
        }
    }

    #[test]
    fn a_stream_keeps_its_numbers_whatever_streams_there_are_beside_it() {
        let numbers = all(2).map(|stream| beginning(1, stream));
        let pinned = [
            [3_219_267_009, 1_969_986_063],
            [542_180_362, 3_635_851_282],
            [1_429_966_914, 978_483_553],
            [2_748_722_894, 3_197_603_980],
            [3_165_485_884, 1_179_321_896],
        ];
        assert_eq!(numbers.collect::<Vec<[u32; 2]>>(), pinned);
    }
}
