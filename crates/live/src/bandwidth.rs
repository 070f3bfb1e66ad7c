// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the memory of a node can move: measured, as no file of a kernel says it.
//!
//! A thread on each CPU of the node reads through memory of its own, all at the same time, for [`WINDOW`]; of [`WINDOWS`] such
//! times the best counts. Then one thread does it alone. Threads only read: each line of a cache crosses the bus once, and nothing
//! is written back. Their memory is several times as large as all caches of the node. What else runs meanwhile takes its share and
//! makes the result too small, so that use of the memory looks greater than it is: measure while the machine is idle.
//!
//! This loads all CPUs of a node, so nobody does it without being told to.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::io;
use std::panic::resume_unwind;
use std::path::Path;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};

use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;
use tandem_loader::reading::{ReadError, Reading};

/// How long threads read at a time.
pub const WINDOW: Duration = Duration::from_millis(100);
/// How often.
pub const WINDOWS: usize = 3;
/// Times that all memory is read is larger than the caches.
const BEYOND_CACHES: u64 = 4;
/// The least that a thread reads through, bytes.
const LEAST: u64 = 32 << 20;
/// Bytes of each half that are read between two looks at the time.
const CHUNK: usize = 128 << 10;

/// What was measured of a node's memory.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bandwidth {
    /// Bytes per second that all CPUs of the node read together.
    pub bytes_per_s: f64,
    /// Bytes per second that one of them reads alone.
    pub thread_bytes_per_s: f64,
    /// How many threads read together.
    pub threads: usize,
}

/// Why nothing was measured.
#[derive(Debug, thiserror::Error)]
pub enum BandwidthError {
    /// What shares the memory is not known.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// There is not enough free memory to read more than caches hold.
    #[error(
        "measuring node {node} takes {needed} MiB of memory, and {free} MiB are available: half of that may be used"
    )]
    NoRoom {
        /// The node.
        node: u32,
        /// MiB that threads would read through.
        needed: u64,
        /// MiB that are available.
        free: u64,
    },
    /// A thread may not run on a CPU of the node.
    #[error("a thread cannot run on CPU {cpu}: {why}; bandwidth is measured by all CPUs of a node")]
    Affinity {
        /// The CPU.
        cpu: u32,
        /// What the system answered.
        why: io::Error,
    },
    /// A thread could not be started.
    #[error("a thread cannot be started: {0}")]
    Thread(io::Error),
}

/// Measures each node of the machine whose files are below `root`, which must be the one that this runs on; by the kernel's
/// numbers of nodes.
///
/// # Errors
/// [`BandwidthError`].
pub fn measure(root: &Path) -> Result<BTreeMap<u32, Bandwidth>, BandwidthError> {
    let (reading, _) = Reading::of(root)?;
    let free = available(root);
    nodes(&reading).into_iter().map(|node| Ok((node.number, node.measured(free)?))).collect()
}

/// A node: what reads, and what must not be enough to hold all that is read.
#[derive(Debug, PartialEq, Eq)]
struct Node {
    number: u32,
    /// Online CPUs.
    cpus: Vec<u32>,
    /// Bytes of the last-level caches of these together.
    caches: u64,
}

/// The nodes that have an online CPU; a machine without nodes is one.
fn nodes(reading: &Reading) -> Vec<Node> {
    let online: Vec<u32> = reading.cpus.iter().filter(|cpu| cpu.online).map(|cpu| cpu.number).collect();
    let of = |number, cpus: &[u32]| {
        let cpus: Vec<u32> = online.iter().copied().filter(|cpu| cpus.contains(cpu)).collect();
        Node { number, caches: caches(reading, &cpus), cpus }
    };
    let mut nodes: Vec<Node> = reading.nodes.iter().map(|node| of(node.number, &node.cpus)).collect();
    if nodes.is_empty() {
        nodes.push(of(0, &online));
    }
    nodes.retain(|node| !node.cpus.is_empty());
    nodes
}

/// Bytes of the last-level caches of some CPUs: each counts once.
fn caches(reading: &Reading, cpus: &[u32]) -> u64 {
    let mut last: BTreeMap<Vec<u32>, u64> = BTreeMap::new();
    for cpu in reading.cpus.iter().filter(|cpu| cpus.contains(&cpu.number)) {
        if let Some(cache) = cpu.caches.iter().max_by_key(|cache| cache.level) {
            last.insert(cache.cpus.clone(), cache.kib.unwrap_or(0) << 10);
        }
    }
    last.values().sum()
}

/// Bytes of memory that may be had without swapping (`MemAvailable` of /proc/meminfo); 0: unknown.
fn available(root: &Path) -> u64 {
    let text = std::fs::read_to_string(root.join("proc/meminfo")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib = line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) << 10
}

impl Node {
    /// Bytes that each of the CPUs reads through.
    fn bytes_each(&self) -> u64 {
        (BEYOND_CACHES * self.caches / self.cpus.len() as u64).max(LEAST)
    }

    fn measured(&self, free: u64) -> Result<Bandwidth, BandwidthError> {
        let needed = self.bytes_each() * self.cpus.len() as u64;
        // One thread alone must not find its memory in a cache that it shares with nobody now.
        let alone = (BEYOND_CACHES * self.caches).max(LEAST);
        if needed.max(alone) > free / 2 {
            return Err(BandwidthError::NoRoom { node: self.number, needed: needed >> 20, free: free >> 20 });
        }
        let together = best_of(&self.cpus, self.bytes_each(), &Instant::now)?;
        let one = best_of(&self.cpus[..1], alone, &Instant::now)?;
        Ok(Bandwidth { bytes_per_s: together.max(one), thread_bytes_per_s: one, threads: self.cpus.len() })
    }
}

/// What says what time it is.
type Clock = dyn Fn() -> Instant + Sync;

/// The most that threads on these CPUs read together in one of the windows, bytes per second.
fn best_of(cpus: &[u32], bytes_each: u64, clock: &Clock) -> Result<f64, BandwidthError> {
    let (ready, are_ready) = mpsc::channel();
    let counts = thread::scope(|scope| {
        // Where one thread fails, `begin` goes, and those that wait for it end.
        let mut begin = Vec::new();
        let mut threads = Vec::new();
        for cpu in cpus {
            let (sender, told) = mpsc::channel();
            let (cpu, ready) = (*cpu, ready.clone());
            let read = move || reads_on(cpu, bytes_each, clock, &ready, &told);
            threads.push(thread::Builder::new().spawn_scoped(scope, read).map_err(BandwidthError::Thread)?);
            begin.push(sender);
        }
        for _ in cpus {
            are_ready.recv().unwrap_or(Ok(()))?;
        }
        let now = clock();
        for begin in &begin {
            // A thread that has gone is joined below, whatever it has to say.
            let _ = begin.send(now);
        }
        let counts = threads.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
        Ok::<Vec<[u64; WINDOWS]>, BandwidthError>(counts.collect())
    })?;
    let bytes = (0..WINDOWS).map(|window| counts.iter().map(|count| count[window]).sum::<u64>());
    Ok(bytes.max().unwrap_or(0) as f64 / WINDOW.as_secs_f64())
}

/// A thread: says that it is ready on its CPU, and counts the bytes that it reads in each window from the time on that it is told.
fn reads_on(
    cpu: u32,
    bytes: u64,
    clock: &Clock,
    ready: &Sender<Result<(), BandwidthError>>,
    begin: &Receiver<Instant>,
) -> [u64; WINDOWS] {
    let pinned = pin(cpu);
    let is_pinned = pinned.is_ok();
    // Written by this thread, so that it is of the CPU's node.
    let memory = vec![1_u8; if is_pinned { bytes as usize } else { 0 }];
    // Without anybody who hears it nobody begins, either.
    let _ = ready.send(pinned);
    match begin.recv() {
        Ok(begin) if is_pinned => reads(&memory, begin, clock),
        _ => [0; WINDOWS],
    }
}

fn pin(cpu: u32) -> Result<(), BandwidthError> {
    let mut set = CpuSet::new();
    let only = set.set(cpu as usize).and_then(|()| sched_setaffinity(Pid::from_raw(0), &set));
    only.map_err(|why| BandwidthError::Affinity { cpu, why: why.into() })
}

/// The bytes that are read in each window since `begin`. Two halves that are the same are compared: the C library does that, as
/// fast as the processor reads, however this program was compiled.
fn reads(memory: &[u8], begin: Instant, clock: &Clock) -> [u64; WINDOWS] {
    let mut counts = [0; WINDOWS];
    let (one, other) = memory.split_at(memory.len() / 2);
    for (one, other) in one.chunks(CHUNK).zip(other.chunks(CHUNK)).cycle() {
        // Else nobody would have to read anything.
        black_box(black_box(one) == black_box(other));
        let window = (clock().duration_since(begin).as_nanos() / WINDOW.as_nanos()) as usize;
        match counts.get_mut(window) {
            Some(count) => *count += (one.len() + other.len()) as u64,
            None => break,
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;
    use tandem_loader::reading::{CacheLevel, Cpu, Node as Known};

    fn cpu(number: u32, online: bool, cache: &[u32]) -> Cpu {
        let level = |level, kib| CacheLevel { level, kib: Some(kib), cpus: cache.to_vec() };
        Cpu { number, online, caches: vec![level(2, 512), level(3, 8192)], ..Cpu::default() }
    }

    #[test]
    fn a_node_is_read_by_its_online_cpus_through_more_than_its_caches() {
        let cpus = vec![cpu(0, true, &[0, 1]), cpu(1, true, &[0, 1]), cpu(2, true, &[2]), cpu(3, false, &[3])];
        let node =
            |number, cpus: &[u32]| Known { number, cpus: cpus.to_vec(), memory_kib: None, distances: Vec::new() };
        let mut reading = Reading { cpus, ..Reading::default() };
        let all = Node { number: 0, cpus: vec![0, 1, 2], caches: 16384 << 10 };
        assert_eq!(nodes(&reading), [all]);
        reading.nodes = vec![node(0, &[0, 1]), node(2, &[2, 3]), node(5, &[3])];
        let one = Node { number: 0, cpus: vec![0, 1], caches: 8192 << 10 };
        let other = Node { number: 2, cpus: vec![2], caches: 8192 << 10 };
        assert_eq!((one.bytes_each(), other.bytes_each()), (LEAST, 32 << 20));
        assert_eq!(nodes(&reading), [one, other]);
        let large = Node { number: 0, cpus: vec![0, 1], caches: 1 << 30 };
        assert_eq!(large.bytes_each(), 2 << 30);
        let refused = large.measured(4 << 30).unwrap_err().to_string();
        assert_eq!(
            refused,
            "measuring node 0 takes 4096 MiB of memory, and 4096 MiB are available: half of that may be used"
        );
    }

    #[test]
    fn what_is_read_in_a_window_is_counted_there() {
        let (memory, begin) = (vec![1; 4 * CHUNK], Instant::now());
        // The 9 looks after 10 ms to 90 ms are in the first window, that after 100 ms is in the second one.
        let two = 2 * CHUNK as u64;
        assert_eq!(reads(&memory, begin, &looks_10_ms_apart(begin)), [9 * two, 10 * two, 10 * two]);
        assert_eq!(reads(&memory, begin, &looks_10_ms_apart(begin + WINDOW * WINDOWS as u32)), [0; WINDOWS]);
    }

    /// A clock that is 10 ms later at each look, whoever looks.
    fn looks_10_ms_apart(begin: Instant) -> impl Fn() -> Instant + Sync {
        let looks = AtomicU32::new(0);
        move || begin + Duration::from_millis(10) * (1 + looks.fetch_add(1, Ordering::Relaxed))
    }

    #[test]
    fn threads_read_together_or_all_end() {
        let clock = looks_10_ms_apart(Instant::now());
        // 256 KiB at each look.
        assert_eq!(best_of(&[0], LEAST, &clock).unwrap(), f64::from(256 << 10) / 0.01);
        let refused = best_of(&[0, 1023], LEAST, &clock).unwrap_err().to_string();
        assert!(refused.contains("a thread cannot run on CPU 1023"), "{refused}");
    }
}
