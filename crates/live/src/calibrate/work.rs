// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads that keep CPUs busy, and how long what the kernel does between them takes.

use std::hint::black_box;
use std::io::{self, Read as _, Write as _};
use std::ops::ControlFlow;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use perf_event::events::{Hardware, Software};
use perf_event::{Builder, Counter};

use super::bench::{Done, Work};
use crate::pinned::Pinned;

/// How often meters are read meanwhile.
const SLICE: Duration = Duration::from_millis(100);
/// Steps between two looks at whether it is over.
const BATCH: u64 = 10_000;
/// Bytes of a line of a cache.
const LINE: usize = 64;
/// Words of the table that arithmetic loads from: 8 KiB, in every first-level cache.
const TABLE: usize = 1024;
/// Round trips, passes and moves that are timed.
const ROUNDS: usize = 20_000;
const MOVES: usize = 200;
/// Bytes of the set of data that moves along: about what first-level caches hold.
const SET: usize = 32 << 10;

/// Keeps CPUs busy, and calls `each` every now and then. See [`Bench::run`](super::Bench::run).
pub(super) fn run(
    cpus: &[u32],
    work: Work,
    time: Duration,
    each: &mut dyn FnMut() -> ControlFlow<()>,
) -> io::Result<Vec<Done>> {
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        // Whatever happens here, threads that run must come to their end.
        let ends = Ends(&is_over);
        let (ready, are_ready) = mpsc::channel();
        let mut threads = Vec::new();
        for cpu in cpus {
            let (cpu, ready, is_over) = (*cpu, ready.clone(), &is_over);
            threads.push(thread::Builder::new().spawn_scoped(scope, move || keep(cpu, work, &ready, is_over))?);
        }
        for _ in cpus {
            // Memory has been prepared by then, which can take longer than the measurement.
            are_ready.recv().unwrap_or(Ok(()))?;
        }
        let begun = Instant::now();
        while each().is_continue()
            && let Some(left) = time.checked_sub(begun.elapsed()).filter(|left| !left.is_zero())
        {
            sleep(left.min(SLICE));
        }
        drop(ends);
        threads.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
    })
}

/// Tells threads that it is over, at the latest when this goes.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn keep(cpu: u32, work: Work, ready: &mpsc::Sender<io::Result<()>>, is_over: &AtomicBool) -> io::Result<Done> {
    let _pinned = match Pinned::on(cpu) {
        Ok(pinned) => pinned,
        Err(why) => {
            let _ = ready.send(Err(why));
            return Ok(Done { per_s: 0.0, mhz: None });
        }
    };
    let mut load = Load::of(work);
    let _ = ready.send(Ok(()));
    let mut cycles = Cycles::begin();
    let (begun, mut steps) = (Instant::now(), 0);
    // Once at least: what others keep from its CPU all the time is slow, not infinitely slow.
    while steps == 0 || !is_over.load(Ordering::Relaxed) {
        steps += load.batch();
    }
    let per_s = steps as f64 / begun.elapsed().as_secs_f64();
    Ok(Done { per_s, mhz: cycles.as_mut().and_then(Cycles::mhz) })
}

/// A thread's cycles, and the time that it ran.
struct Cycles {
    cycles: Counter,
    nanoseconds: Counter,
}

impl Cycles {
    fn begin() -> Option<Self> {
        let counter = |builder: &mut Builder<'_>| {
            let mut counter = builder.include_kernel().build().ok()?;
            counter.enable().ok()?;
            Some(counter)
        };
        let cycles = counter(&mut Builder::new(Hardware::CPU_CYCLES))?;
        Some(Self { cycles, nanoseconds: counter(&mut Builder::new(Software::TASK_CLOCK))? })
    }

    fn mhz(&mut self) -> Option<f64> {
        let (cycles, nanoseconds) = (self.cycles.read().ok()?, self.nanoseconds.read().ok()?);
        (cycles > 0 && nanoseconds > 0).then(|| cycles as f64 * 1e3 / nanoseconds as f64)
    }
}

/// What a thread goes through.
enum Load {
    Compute { chains: [u64; 4], table: Vec<u64> },
    Chase { next: Vec<u32>, at: usize },
    Read { memory: Vec<u8>, at: usize },
}

impl Load {
    fn of(work: Work) -> Self {
        match work {
            Work::Compute => Self::Compute { chains: [1, 2, 3, 4], table: (0..TABLE as u64).collect() },
            Work::Chase { bytes } => Self::Chase { next: circle(bytes as usize / LINE), at: 0 },
            Work::Read { bytes } => Self::Read { memory: vec![1; bytes as usize], at: 0 },
        }
    }

    /// A few microseconds to milliseconds of it; how many steps that were.
    fn batch(&mut self) -> u64 {
        match self {
            Self::Compute { chains, table } => {
                for _ in 0..BATCH {
                    for chain in chains.iter_mut() {
                        // Marsaglia's xorshift, which takes a load along.
                        *chain ^= *chain << 13;
                        *chain ^= *chain >> 7;
                        *chain ^= *chain << 17;
                        *chain = chain.wrapping_add(table[*chain as usize % TABLE]) | 1;
                    }
                }
                black_box(chains);
                BATCH
            }
            Self::Chase { next, at } => {
                for _ in 0..BATCH {
                    *at = next[*at * (LINE / size_of::<u32>())] as usize;
                }
                black_box(at);
                BATCH
            }
            Self::Read { memory, at } => {
                const PIECE: usize = 128 << 10;
                let half = memory.len() / 2;
                let end = (*at + PIECE).min(half);
                let (one, other) = memory.split_at(half);
                // The C library compares as fast as the processor reads.
                black_box(black_box(&one[*at..end]) == black_box(&other[*at..end]));
                let read = 2 * (end - *at) as u64;
                *at = if end == half { 0 } else { end };
                read
            }
        }
    }
}

/// Lines in one circle of random order (Sattolo's shuffle), so that no prefetcher knows the next: the first word of a line is the
/// number of the next one.
fn circle(lines: usize) -> Vec<u32> {
    let lines = lines.max(2);
    let mut order: Vec<u32> = (0..lines as u32).collect();
    let mut random = 0x9E37_79B9_7F4A_7C15_u64;
    for last in (1..lines).rev() {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        order.swap(last, (random % last as u64) as usize);
    }
    let words = LINE / size_of::<u32>();
    let mut next = vec![0; lines * words];
    for (line, to) in order.into_iter().enumerate() {
        next[line * words] = to;
    }
    next
}

/// Two threads on a CPU pass a byte to and fro, as `perf bench sched pipe` and lmbench's `lat_ctx` do; what one thread takes
/// to pass it to itself is taken off.
pub(super) fn switch(cpu: u32) -> io::Result<f64> {
    switch_by(cpu, ROUNDS, &mut Instant::now)
}

/// The same with so many rounds, by a clock.
fn switch_by(cpu: u32, rounds: usize, clock: &mut dyn FnMut() -> Instant) -> io::Result<f64> {
    let _pinned = Pinned::on(cpu)?;
    let ((mut here, mut to_there), (mut there, mut to_here)) = (io::pipe()?, io::pipe()?);
    let mut byte = [0];
    let begun = clock();
    for _ in 0..rounds {
        to_there.write_all(&byte)?;
        here.read_exact(&mut byte)?;
    }
    let alone = clock() - begun;
    // It inherits the CPU.
    let echo = thread::Builder::new().spawn(move || {
        let mut byte = [0];
        while here.read_exact(&mut byte).is_ok() && to_here.write_all(&byte).is_ok() {}
    })?;
    let begun = clock();
    for _ in 0..rounds {
        to_there.write_all(&byte)?;
        there.read_exact(&mut byte)?;
    }
    let together = clock() - begun;
    drop((to_there, there));
    echo.join().unwrap_or_else(|panic| resume_unwind(panic));
    // A round has two passes and two switches.
    let a_switch = together.as_secs_f64() / 2.0 - alone.as_secs_f64();
    Ok(a_switch.max(0.0) / rounds as f64)
}

/// The median of many moves: the first pass through a set of data on the new CPU less one that finds it in the cache.
pub(super) fn moved(from: u32, to: u32) -> io::Result<f64> {
    let mut set = vec![1_u64; SET / size_of::<u64>()];
    let mut pass = || {
        let begun = Instant::now();
        // Written, so that the lines belong to the CPU it is on.
        set.iter_mut().step_by(LINE / size_of::<u64>()).for_each(|word| *word = word.wrapping_add(1));
        black_box(&mut set);
        begun.elapsed().as_secs_f64()
    };
    let mut longer = Vec::with_capacity(MOVES);
    for _ in 0..MOVES {
        let there = Pinned::on(from)?;
        pass();
        pass();
        let here = Pinned::on(to)?;
        let (first, second) = (pass(), pass());
        longer.push(first - second);
        drop((here, there));
    }
    longer.sort_by(f64::total_cmp);
    Ok(longer[MOVES / 2].max(0.0))
}

#[cfg(test)]
mod tests {
    use nix::sys::resource::{UsageWho, getrusage};

    use super::*;

    #[test]
    fn each_line_is_visited_once_in_a_circle() {
        let next = circle(1000);
        let (mut at, mut seen) = (0, vec![false; 1000]);
        for _ in 0..1000 {
            assert!(!seen[at]);
            seen[at] = true;
            at = next[at * 16] as usize;
        }
        assert_eq!(at, 0);
    }

    #[test]
    fn threads_do_something_and_meters_are_read_meanwhile() {
        for work in [Work::Compute, Work::Chase { bytes: 1 << 20 }, Work::Read { bytes: 1 << 20 }] {
            let mut looks = 0;
            let look = &mut || {
                looks += 1;
                if looks < 2 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            };
            let done = run(&[0], work, Duration::MAX, look).unwrap();
            assert!(done.len() == 1 && done[0].per_s > 0.0 && done[0].per_s.is_finite(), "{work:?}: {done:?}");
        }
        let go_on = &mut || ControlFlow::Continue(());
        assert_eq!(run(&[], Work::Compute, Duration::from_millis(1), go_on).unwrap(), []);
        run(&[100_000], Work::Compute, Duration::from_secs(60), go_on).expect_err("there is no such CPU");
    }

    #[test]
    fn a_break_ends_it_before_its_time() {
        let mut looks = 0;
        let look = &mut || {
            looks += 1;
            assert_eq!(looks, 1, "it goes on");
            ControlFlow::Break(())
        };
        assert_eq!(run(&[0], Work::Compute, Duration::MAX, look).unwrap().len(), 1);
    }

    /// How often this thread has left its CPU.
    fn switches() -> i64 {
        let usage = getrusage(UsageWho::RUSAGE_THREAD).unwrap();
        usage.voluntary_context_switches() + usage.involuntary_context_switches()
    }

    /// 200 round trips with two switches each take 90 ms, of which 50 ms are for 400 passes: 40 ms for 400 switches.
    #[test]
    fn a_switch_takes_half_of_a_round_trip_without_its_passes() {
        let begun = Instant::now();
        let mut times = [0, 25, 30, 120].map(|ms| begun + Duration::from_millis(ms)).into_iter();
        let before = switches();
        let seconds = switch_by(0, 200, &mut || times.next().unwrap()).unwrap();
        assert!((seconds - 1e-4).abs() < 1e-9, "{seconds}");
        assert!(
            switches() - before >= 200,
            "the other thread has the same CPU, so that this one leaves it in each round"
        );
    }
}
