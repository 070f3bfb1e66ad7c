// SPDX-License-Identifier: MIT OR Apache-2.0
//! How fast work goes: a clock-bound part, a part that waits for memory, and caches in between.
//!
//! One unit of work (a nanosecond on the reference CPU, alone) takes
//! `(1−m)·(f_ref·ipc_ref)/(f·ipc·s) + m·(q·λ + (1−q)·κ)/μ` nanoseconds, divided by the same expression for the reference
//! CPU alone, so that work keeps its meaning when a footprint fits the cache. Its bytes take at least their time at one
//! thread's bandwidth, and under contention the part that λ stretches at least theirs at the domain's. `m` is the memory-bound share, `q` the
//! share of accesses that miss the last-level cache, `κ` the cost of a hit, `λ ≥ 1` the contention of the memory domain,
//! `μ` the core type's memory speed, `s` the slowdown by a busy SMT sibling. docs/models.md says what is left out.

use super::{Machine, Reference};
use crate::units::{CpuId, Nanos};

/// How work uses memory, as described for the reference CPU.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct MemoryUse {
    /// Share of the time on the reference CPU, alone, that waits for memory if nothing of the footprint is cached, 0..=1.
    pub memory_bound: f64,
    /// Memory traffic if nothing of the footprint is cached: bytes per nanosecond of work.
    pub bytes_per_work: f64,
    /// Bytes that the work reuses; 0: a stream that no cache holds.
    pub footprint: u64,
}

/// What one unit of work of a thread needs on a certain CPU: nanoseconds and bytes.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Demand {
    /// Reference-clock time of the clock-bound part.
    pub clock: f64,
    /// Time of cache hits, on this core type.
    pub hit: f64,
    /// Time of cache misses without contention, on this core type.
    pub miss: f64,
    /// Memory traffic, bytes.
    pub bytes: f64,
}

/// The demand of work that uses memory like this on `cpu` while `share` bytes of its last-level cache are the thread's
/// (`None`: no cache).
#[inline]
pub fn demand(machine: &Machine, memory: MemoryUse, cpu: CpuId, share: Option<f64>) -> Demand {
    if memory.memory_bound == 0.0 && memory.bytes_per_work == 0.0 {
        return Demand { clock: 1.0, ..Demand::default() };
    }
    demand_of_memory(machine, memory, cpu, share)
}

fn demand_of_memory(machine: &Machine, memory: MemoryUse, cpu: CpuId, share: Option<f64>) -> Demand {
    let m = memory.memory_bound;
    let memory_speed = machine.core_type(cpu).memory_speed;
    let hit_cost = machine.cpus[cpu.index()].llc.map_or(1.0, |llc| machine.caches[llc.index()].hit_cost);
    let q = miss_share(memory.footprint, share);
    let scale = 1.0 / alone_on_reference(&machine.reference, memory);
    Demand {
        clock: (1.0 - m) * scale,
        hit: m * (1.0 - q) * hit_cost / memory_speed * scale,
        miss: m * q / memory_speed * scale,
        bytes: memory.bytes_per_work * q * scale,
    }
}

/// Share of accesses that miss: what of the footprint the share of the cache cannot hold. A stream always misses.
fn miss_share(footprint: u64, share: Option<f64>) -> f64 {
    if footprint == 0 {
        return 1.0;
    }
    (1.0 - share.unwrap_or(0.0) / footprint as f64).clamp(0.0, 1.0)
}

/// Time per unit of the uncached description on the reference CPU, alone: 1 unless part of the footprint fits there.
fn alone_on_reference(reference: &Reference, memory: MemoryUse) -> f64 {
    let m = memory.memory_bound;
    let q = miss_share(memory.footprint, (reference.llc_bytes > 0).then_some(reference.llc_bytes as f64));
    (1.0 - m) + m * (q + (1.0 - q) * reference.hit_cost)
}

/// A thread's pace on a CPU at its present clock: how its time per unit of work depends on contention.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Pace {
    /// Nanoseconds per unit of work without contention.
    pub base: f64,
    /// Of these, the clock-bound part.
    pub clock: f64,
    /// Nanoseconds that each unit of `λ − 1` adds.
    pub stretch: f64,
    /// Bytes per unit of work.
    pub bytes: f64,
}

impl Pace {
    /// The pace of `demand` at `khz` on a core with `ipc`, `smt` (0..=1] being the speed that a busy sibling leaves.
    ///
    /// `thread_bandwidth` and `bandwidth` are what one thread and all together can move, in bytes per nanosecond.
    pub fn new(demand: &Demand, reference: &Reference, khz_ipc: f64, smt: f64, bandwidth: (f64, f64)) -> Self {
        let (thread_bandwidth, domain_bandwidth) = bandwidth;
        let clock = demand.clock * reference.khz_ipc / (khz_ipc * smt);
        let base = (clock + demand.hit + demand.miss).max(demand.bytes / thread_bandwidth);
        Self { base, clock, stretch: demand.miss.max(demand.bytes / domain_bandwidth), bytes: demand.bytes }
    }

    /// Nanoseconds per unit of work under contention `lambda`.
    #[inline]
    pub fn time(&self, lambda: f64) -> f64 {
        self.base + self.stretch * (lambda - 1.0)
    }

    /// Whether the pace depends on memory, or memory on the thread.
    #[inline]
    pub fn uses_memory(&self) -> bool {
        self.bytes > 0.0 || self.stretch > 0.0
    }

    /// Share of the time in which the core computes rather than waits for memory.
    #[inline]
    pub fn computing(&self, lambda: f64) -> f64 {
        self.clock / self.time(lambda)
    }
}

/// A wait for memory that is not the thread's own kind of work: the core does nothing meanwhile.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stall {
    /// How long.
    pub time: Nanos,
    /// Memory traffic, bytes.
    pub bytes: f64,
}

/// Time of a dependent load from memory: 80 ns, between the 60 of a desktop and the 140 of the papers' machines. A
/// machine description has no latency, only bandwidth; a pointer chase on a certain machine could tell the difference.
const CHASE_LATENCY: Nanos = 80;

impl Stall {
    /// Moving bytes from `cpu` at one thread's bandwidth, whatever else uses memory.
    pub fn of_copy(machine: &Machine, cpu: CpuId, bytes: u64) -> Self {
        let domain = &machine.memory_domains[machine.cpus[cpu.index()].memory_domain.index()];
        let time = bytes as f64 / (domain.thread_bytes_per_s * 1e-9);
        Self { time: time.ceil() as Nanos, bytes: bytes as f64 }
    }

    /// So many dependent loads from a buffer of `buffer` bytes: each waits for a cache line, one after the other.
    pub fn of_chase(machine: &Machine, cpu: CpuId, count: u64, buffer: u64) -> Self {
        const LINE: f64 = 64.0;
        let cache = machine.cpus[cpu.index()].llc.map(|cache| &machine.caches[cache.index()]);
        let missing = cache.is_none_or(|cache| buffer > cache.bytes);
        let hit_cost = cache.map_or(1.0, |cache| cache.hit_cost);
        let latency = CHASE_LATENCY as f64 * if missing { 1.0 } else { hit_cost };
        let bytes = if missing { count as f64 * LINE } else { 0.0 };
        Self { time: (count as f64 * latency).ceil() as Nanos, bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REFERENCE: Reference = Reference { cpu: CpuId(0), khz_ipc: 2e6, llc_bytes: 0, hit_cost: 1.0 };
    const WIDE: (f64, f64) = (1e9, 1e9);

    fn pace(m: f64, khz: f64) -> Pace {
        let demand = Demand { clock: 1.0 - m, miss: m, ..Demand::default() };
        Pace::new(&demand, &REFERENCE, khz, 1.0, WIDE)
    }

    #[test]
    fn half_the_clock_takes_twice_as_long_unless_memory_bound() {
        assert_eq!(pace(0.0, 2e6).time(1.0), 1.0);
        assert_eq!(pace(0.0, 1e6).time(1.0), 2.0);
        assert_eq!(pace(1.0, 1e6).time(1.0), 1.0);
        assert_eq!(pace(0.5, 1e6).time(1.0), 1.5);
    }

    #[test]
    fn contention_slows_the_memory_part_only() {
        assert_eq!(pace(0.25, 2e6).time(3.0), 1.5);
        assert_eq!(pace(0.0, 2e6).time(3.0), 1.0);
    }

    #[test]
    fn a_footprint_that_fits_misses_nothing() {
        assert_eq!(miss_share(4096, Some(4096.0)), 0.0);
        assert_eq!(miss_share(4096, Some(1024.0)), 0.75);
        assert_eq!((miss_share(0, Some(1e9)), miss_share(4096, None)), (1.0, 1.0));
    }
}
