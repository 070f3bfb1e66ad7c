// SPDX-License-Identifier: MIT OR Apache-2.0
//! What every Linux system does beside its workload: interrupts, softirqs and kernel threads, a little on each CPU.
//!
//! The rates are those of the kernel's own example of what its osnoise tracer finds on eight CPUs that run nothing else
//! (Linux 6.12, `Documentation/trace/osnoise-tracer.rst`), in one second of each CPU, ticks at 1000 Hz included:
//!
//! | CPU | 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | here |
//! | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
//! | noise, µs | 190 | 656 | 5675 | 125 | 1721 | 263 | 109 | 7816 | the median, 460 |
//! | interrupts but ticks | 7 | 6 | 13 | 11 | 2 | 6 | 6 | 16 | the mean, 8.4 |
//! | softirqs | 18 | 16 | 25 | 23 | 49 | 26 | 18 | 39 | the mean, 26.8 |
//! | threads | 1 | 3 | 21 | 0 | 41 | 2 | 1 | 19 | the median, 2.5 |
//! | longest, µs | 9 | 74 | 202 | 45 | 168 | 57 | 21 | 107 | |
//!
//! An interrupt takes the 2.85 µs of the same document's example of one. How the rest of the 460 µs is shared is assumed:
//! 60 µs for a thread, about the median of the longest, and so (460 − 8.4 · 2.85 − 2.5 · 60) / 26.8 = 10.7 µs for a softirq.
//! That gaps and lengths are exponential is assumed, too.
//!
//! The tracer keeps its CPU busy, and what it saw is what busy CPUs have. An idle CPU has stopped its tick, and with it most
//! softirqs; the workers that gather statistics have deferrable timers (`vmstat_update`: `INIT_DEFERRABLE_WORK`), which wait for the
//! next tick. So an idle CPU has the interrupts only.
//!
//! It is the noise of a system that does nothing else: no network, no
//! disk, no user's daemons.

use super::{BehaviourId, InterruptSpec, Op, Span, Spread, TaskSpec, Workload};
use crate::units::{Nanos, SEC};

/// Interrupts that are no ticks, per CPU and second.
const IRQS_PER_S: f64 = 8.4;
/// What the handler of one takes.
const IRQ: Nanos = 2_848;
/// Softirqs per CPU and second, most of them after ticks.
const SOFTIRQS_PER_S: f64 = 26.8;
/// What one takes (assumed, see above).
const SOFTIRQ: Nanos = 10_700;
/// How often a CPU's kernel worker runs, per second.
const WORKER_RUNS_PER_S: f64 = 2.5;
/// CPU time of one run (assumed, see above).
const WORKER_RUN: Nanos = 60_000;
/// By when a worker runs even on a CPU that idles all the time: after every run. Its timer waits for a tick.
const DEFERRED: Nanos = 1_000_000 * SEC;

impl Workload {
    /// This workload on a system that does what all do. All CPUs have interrupts; these `cpus`, which keep house, also have
    /// softirqs and a kernel worker (`kworker/CPU`) each that is bound to it. (CPUs of `nohz_full` have none: what most
    /// softirqs follow is the tick, and the statistics that workers gather are gathered for them.)
    pub fn disturbed(&self, cpus: &[u32]) -> Self {
        let mut disturbed = self.clone();
        disturbed.tasks.extend(cpus.iter().copied().map(worker));
        let sources = [("irq", IRQS_PER_S, IRQ, 0, None), ("softirq", SOFTIRQS_PER_S, 0, SOFTIRQ, Some(cpus.to_vec()))];
        disturbed.interrupts.extend(sources.map(|(name, per_s, hard, soft, cpus)| InterruptSpec {
            name: name.to_owned(),
            gap: every(per_s),
            hard: Span::fixed(hard),
            soft: exponential(soft),
            follows_tick: cpus.is_some(),
            cpus,
        }));
        disturbed
    }
}

fn worker(cpu: u32) -> TaskSpec {
    let program = vec![
        Op::LoopStart { counter: 0, count: None, end: 3 },
        Op::Runtime { time: exponential(WORKER_RUN), behaviour: BehaviourId(0) },
        Op::Sleep(every(WORKER_RUNS_PER_S)),
        Op::LoopEnd { start: 0 },
    ];
    TaskSpec {
        system: true,
        kernel_thread: true,
        disturbance: true,
        timer_slack: Some(DEFERRED),
        affinity: Some(vec![cpu]),
        counters: 1,
        ..TaskSpec::new(format!("kworker/{cpu}"), program)
    }
}

/// Gaps of what comes so often per second, whenever it last came.
fn every(per_s: f64) -> Span {
    exponential((SEC as f64 / per_s) as Nanos)
}

fn exponential(mean: Nanos) -> Span {
    Span { mean, spread: if mean == 0 { Spread::Fixed } else { Spread::Exponential } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_of_it_is_the_noise_that_was_measured() {
        let per_second =
            IRQS_PER_S * IRQ as f64 + SOFTIRQS_PER_S * SOFTIRQ as f64 + WORKER_RUNS_PER_S * WORKER_RUN as f64;
        let medians = [190, 656, 5675, 125, 1721, 263, 109, 7816];
        let mut sorted = medians;
        sorted.sort_unstable();
        let median = f64::from(sorted[3] + sorted[4]) / 2.0;
        assert!((per_second / 1000.0 / median - 1.0).abs() < 0.01, "{per_second} ns, {median} µs");
    }
}
