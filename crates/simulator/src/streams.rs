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
        let mut seeds = Pcg32::seed_from_u64(self.seed);
        match stream {
            Stream::Kernel => Pcg32::seed_from_u64(seeds.random()),
            Stream::TickPhase => {
                let _: u64 = seeds.random();
                seeds
            }
            Stream::Bpf => seeds,
            Stream::Thread(task) => {
                Pcg32::seed_from_u64(self.seed ^ (u64::from(task.0) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::Rng;

    use super::*;

    fn beginning(seed: u64, stream: Stream) -> [u32; 4] {
        let mut rng = Streams::new(seed).of(stream);
        std::array::from_fn(|_| rng.next_u32())
    }

    #[test]
    fn the_same_seed_gives_the_same_numbers_and_another_gives_others() {
        for stream in [Stream::TickPhase, Stream::Kernel, Stream::Bpf, Stream::Thread(TaskId(3))] {
            assert_eq!(beginning(7, stream), beginning(7, stream), "{stream:?}");
            assert_ne!(beginning(7, stream), beginning(8, stream), "{stream:?}");
        }
    }
}
