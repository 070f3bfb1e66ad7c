// SPDX-License-Identifier: MIT OR Apache-2.0
//! The random numbers of a run: one seed, and of it a stream for each purpose.
//!
//! A stream is drawn from by one part of the model only, so that a part that draws more or less changes no other. The
//! generators of workloads ([`crate::workload::generate`]) have seeds of their own: they draw what a file says, which is
//! settled before a run, and a run's seed does not concern them.

use rand::{RngExt, SeedableRng};
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
    /// When interrupts come, and how long they take.
    Interrupts,
    /// Lengths of the spans of a thread that disturbs (`Workload::disturbed`), in the order in which these are made.
    Disturbance(u32),
    /// Lengths of the spans of a thread; threads are numbered in the order in which they are made.
    Thread(TaskId),
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
    pub fn of(self, stream: Stream) -> Pcg32 {
        match stream {
            Stream::Kernel => self.kernel_and_rest().0,
            Stream::TickPhase => self.kernel_and_rest().1,
            Stream::Thread(task) => self.numbered(u64::from(task.0)),
            // The first number that no thread can have.
            Stream::Bpf => self.numbered(1 << 32),
            Stream::Interrupts => self.numbered((1 << 32) + 1),
            Stream::Disturbance(thread) => self.numbered((1 << 33) + u64::from(thread)),
        }
    }

    /// The kernel's stream, and what is left of the one that its seed is from.
    fn kernel_and_rest(self) -> (Pcg32, Pcg32) {
        let mut seeds = Pcg32::seed_from_u64(self.seed);
        (Pcg32::seed_from_u64(seeds.random()), seeds)
    }

    fn numbered(self, number: u64) -> Pcg32 {
        Pcg32::seed_from_u64(self.seed ^ (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use rand::Rng;

    use super::*;

    fn all(threads: u32) -> impl Iterator<Item = Stream> {
        let threads = (0..threads).flat_map(|thread| [Stream::Thread(TaskId(thread)), Stream::Disturbance(thread)]);
        [Stream::TickPhase, Stream::Kernel, Stream::Bpf, Stream::Interrupts].into_iter().chain(threads)
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
}
