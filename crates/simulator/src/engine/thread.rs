// SPDX-License-Identifier: MIT OR Apache-2.0
//! A thread's place in its program, and what it has done so far.

use rand::Rng;
use rand_distr::{Distribution, Exp1, LogNormal};
use rand_pcg::Pcg32;

use super::latency::Latencies;
use super::program::Next;
use super::rounds::Rounds;
use crate::kernel::sync::WaitsFor;
use crate::machine::speed::{Demand, Pace};
use crate::units::{CacheId, CpuId, Nanos, TaskId};
use crate::workload::{BehaviourId, Span, Spread, TaskSpec};

/// What a thread is in the middle of, on a CPU or waiting for one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Segment {
    /// Nothing: the thread's next step is to be read.
    None,
    /// Work left, in nanoseconds on the reference CPU.
    Work(f64),
    /// CPU time left.
    Time(Nanos),
    /// CPU time left of a yield or of moving bytes, which is not the thread's own kind of work.
    Plain {
        /// How long.
        left: Nanos,
        /// The core waits for memory meanwhile.
        stalled: bool,
    },
    /// CPU time left before the thread gives up spinning.
    Spin(Nanos),
}

/// A thread.
#[derive(Debug)]
pub(super) struct Thread<'r> {
    /// Index of the thread's kind in the workload.
    pub spec: u32,
    /// The thread's kind.
    pub kind: &'r TaskSpec,
    /// Number of the thread among those of its kind; `None` if it is the only one.
    pub instance: Option<u32>,
    /// Index of the next step.
    pub pc: u32,
    /// Rounds of the thread's own loops so far.
    pub counters: Box<[u64]>,
    /// The thread's own timers: next expiry, once used.
    pub timers: Box<[Option<Nanos>]>,
    /// The thread has run a step.
    pub started: bool,
    /// What the thread is in the middle of.
    pub segment: Segment,
    /// How the thread's latest work behaved: what the thread holds in caches, and how long it spins.
    pub behaviour: BehaviourId,
    /// What the thread waits for, blocked or spinning.
    pub waiting: Option<WaitsFor>,
    /// The thread waits by spinning.
    pub spinning: bool,
    /// The thread's `wait` was answered; the thread must take the mutex again.
    pub relock: bool,
    /// The thread takes part in a parallel loop.
    pub in_loop: bool,
    /// The thread that forked this one, if any.
    pub parent: Option<TaskId>,
    /// How many threads that this one forked still live.
    pub children: u32,
    /// Random numbers for the spans of the thread's steps.
    pub rng: Pcg32,
    /// Demand of the thread's work on the CPU where the thread runs.
    pub demand: Demand,
    /// Pace of the thread there.
    pub pace: Pace,
    /// Nanoseconds per unit of work, at that pace under the contention when it was last set.
    pub unit_time: f64,
    /// Bytes of traffic per unit of work.
    pub unit_bytes: f64,
    /// Steps since `stepped_at`, to catch programs that loop without consuming time.
    pub idle_steps: u32,
    pub stepped_at: Nanos,
    /// Time to warm up caches that the thread was charged but lost its CPU before it had spent.
    pub cold: Nanos,
    /// [`super::progress::Running::footprints`] of the thread's CPU when the thread left it.
    pub footprints_seen: u64,
    /// Bytes that the thread brought into caches since it woke, of those that it does not reuse.
    pub brought: f64,
    /// The cache in which the thread last had all that it can hold there, and what had passed through by then.
    pub complete: Option<(CacheId, f64)>,
    /// Shares of the thread's memory by node, once the thread has touched it on a machine with nodes.
    pub pages: Box<[f64]>,
    /// The CPU on which the thread ran last.
    pub last_cpu: Option<CpuId>,
    /// When the thread became runnable, while it waits for a CPU.
    pub runnable_since: Nanos,
    /// When the thread was woken, until it runs.
    pub woken_at: Option<Nanos>,
    /// What activated the thread, and what became of that.
    pub rounds: Rounds,
    /// What the thread has done so far.
    pub stats: ThreadStats,
}

/// Sums for the report.
#[derive(Debug, Default)]
pub(super) struct ThreadStats {
    /// Time on a CPU.
    pub cpu_time: Nanos,
    /// Time that the thread waited for a CPU.
    pub wait_time: Nanos,
    /// Work done, in nanoseconds on the reference CPU.
    pub work: f64,
    /// Memory traffic within nodes; counted on machines with nodes.
    pub local_bytes: f64,
    /// Memory traffic between nodes.
    pub remote_bytes: f64,
    /// How often the thread got a CPU.
    pub switches: u64,
    /// How often the thread changed its CPU.
    pub migrations: u64,
    /// Times from a wake-up to the first instruction.
    pub latencies: Latencies,
    /// When the thread ended.
    pub ended: Option<Nanos>,
}

impl<'r> Thread<'r> {
    /// A thread of `kind`, which has number `spec`, at its first step; `rng` draws its spans.
    pub fn new(spec: u32, kind: &'r TaskSpec, instance: Option<u32>, rng: Pcg32) -> Self {
        Self {
            spec,
            kind,
            instance,
            pc: 0,
            counters: vec![0; kind.counters as usize].into(),
            timers: vec![None; kind.unique_timers as usize].into(),
            started: false,
            segment: Segment::None,
            behaviour: BehaviourId(0),
            waiting: None,
            spinning: false,
            relock: false,
            in_loop: false,
            parent: None,
            children: 0,
            rng,
            demand: Demand::default(),
            pace: Pace::default(),
            unit_time: 1.0,
            unit_bytes: 0.0,
            idle_steps: 0,
            stepped_at: 0,
            cold: 0,
            footprints_seen: 0,
            brought: 0.0,
            complete: None,
            pages: Box::default(),
            last_cpu: None,
            runnable_since: 0,
            woken_at: None,
            rounds: Rounds::default(),
            stats: ThreadStats::default(),
        }
    }

    /// The thread does work from now on.
    pub fn run_work(&mut self, work: Span, behaviour: BehaviourId) -> Next {
        self.behaviour = behaviour;
        let work = sample(work, &mut self.rng);
        self.rounds.work(work);
        self.segment = Segment::Work(work as f64);
        Next::Run
    }

    /// The thread uses CPU time from now on.
    pub fn run_time(&mut self, time: Span, behaviour: BehaviourId) -> Next {
        self.behaviour = behaviour;
        let time = sample(time, &mut self.rng);
        self.rounds.work(time);
        self.segment = Segment::Time(time);
        Next::Run
    }

    /// Head of a loop of the thread's own: another round, or on behind its foot.
    pub fn enter_loop(&mut self, counter: u32, count: Option<u64>, end: u32) {
        let done = &mut self.counters[counter as usize];
        if count.is_some_and(|count| *done >= count) {
            *done = 0;
            self.pc = end + 1;
        } else {
            *done += 1;
        }
    }

    /// The thread's name, with its instance where there are several.
    pub fn name(&self) -> String {
        match self.instance {
            Some(instance) => format!("{}-{instance}", self.kind.name),
            None => self.kind.name.clone(),
        }
    }
}

/// Draws a span.
pub(super) fn sample(span: Span, rng: &mut Pcg32) -> Nanos {
    let mean = span.mean as f64;
    let drawn = match span.spread {
        Spread::Fixed => return span.mean,
        Spread::Uniform(width) => {
            // 53 random bits make a uniform number in 0..1.
            let unit = (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
            mean * (1.0 + width * (2.0 * unit - 1.0))
        }
        Spread::Exponential => {
            let unit: f64 = Exp1.sample(rng);
            mean * unit
        }
        // The mean of a log-normal is exp(mu + sigma²/2); mu is chosen so that it comes out as asked.
        Spread::LogNormal(sigma) => match LogNormal::new(mean.ln() - sigma * sigma / 2.0, sigma) {
            Ok(distribution) => distribution.sample(rng),
            Err(_) => mean,
        },
    };
    drawn.max(0.0) as Nanos
}

/// Draws the sum of `count` spans; from a thousand on, their mean says it.
pub(super) fn sample_sum(span: Span, count: u64, rng: &mut Pcg32) -> Nanos {
    const EXACT: u64 = 1000;
    if span.spread == Spread::Fixed || count > EXACT {
        return span.mean.saturating_mul(count);
    }
    (0..count).map(|_| sample(span, rng)).fold(0, Nanos::saturating_add)
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    /// Of a million threads each may take 1 KiB, the scheduler's part and the report included (docs/performance.md).
    #[test]
    fn a_thread_takes_no_more_than_half_of_what_it_may() {
        assert!(size_of::<Thread<'_>>() <= 528, "{}", size_of::<Thread<'_>>());
    }

    #[test]
    fn every_spread_keeps_its_mean() {
        let mut rng = Pcg32::seed_from_u64(7);
        for spread in [Spread::Fixed, Spread::Uniform(0.5), Spread::Exponential, Spread::LogNormal(0.8)] {
            let span = Span { mean: 10_000, spread };
            let mean = (0..40_000).map(|_| sample(span, &mut rng)).sum::<Nanos>() as f64 / 40_000.0;
            assert!((mean / 10_000.0 - 1.0).abs() < 0.03, "{spread:?}: {mean}");
        }
    }
}
