// SPDX-License-Identifier: MIT OR Apache-2.0
//! How fast work goes: a clock-bound part, a part that waits for memory, and caches in between.
//!
//! One unit of work (a nanosecond on the reference CPU, alone) takes
//! `(1−m)·(f_ref·ipc_ref)/(f·ipc·s) + m·(q·λ + (1−q)·κ)/μ` nanoseconds, divided by the same expression for the reference
//! CPU alone, so that work keeps its meaning when a footprint fits the cache. Its bytes take at least their time at one
//! thread's bandwidth, and under contention the part that λ stretches at least theirs at the domain's. `m` is the memory-bound share, `q` the
//! share of accesses that miss the last-level cache, `κ` the cost of a hit, `λ ≥ 1` the contention of the memory domain,
//! `μ` the core type's memory speed, `s` the slowdown by a busy SMT sibling.
//!
//! Where the path to memory is clocked with the core (`memory_knee_khz`), each miss also takes `knee/f` of its time in the
//! core's clock domain, and a hit all of its time; where the core works on while it waits (`memory_overlap` `p` > 1), what is in
//! that domain and what is behind it take `(a^p + b^p)^(1/p)` instead of their sum. docs/models.md says what is left out.

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
    /// Time of cache hits, on this core type, where they do not depend on its clock.
    pub hit: f64,
    /// What the path to memory takes in the core's clock domain: nanoseconds times kHz, so in millionths of a cycle.
    pub path: f64,
    /// Time of cache misses without contention, on this core type.
    pub miss: f64,
    /// Memory traffic, bytes.
    pub bytes: f64,
}

impl MemoryUse {
    /// Whether it neither waits for memory nor moves bytes, whatever is cached.
    #[inline]
    pub fn is_none(&self) -> bool {
        self.memory_bound == 0.0 && self.bytes_per_work == 0.0
    }
}

impl Demand {
    /// That of work that does nothing but compute.
    pub const COMPUTING: Self = Self { clock: 1.0, hit: 0.0, path: 0.0, miss: 0.0, bytes: 0.0 };

    /// Whether it is all computing: it neither waits for memory nor moves bytes.
    #[inline]
    pub fn is_clock_bound(&self) -> bool {
        self.hit == 0.0 && self.path == 0.0 && self.miss == 0.0 && self.bytes == 0.0
    }
}

/// The demand of work that uses memory like this on `cpu` while `share` bytes of its last-level cache are the thread's
/// (`None`: no cache).
#[inline]
pub fn demand(machine: &Machine, memory: MemoryUse, cpu: CpuId, share: Option<f64>) -> Demand {
    if memory.is_none() {
        return Demand::COMPUTING;
    }
    demand_of_memory(machine, memory, cpu, share)
}

fn demand_of_memory(machine: &Machine, memory: MemoryUse, cpu: CpuId, share: Option<f64>) -> Demand {
    let m = memory.memory_bound;
    let core_type = machine.core_type(cpu);
    let hit_cost = machine.cpus[cpu.index()].llc.map_or(1.0, |llc| machine.caches[llc.index()].hit_cost);
    let q = miss_share(memory.footprint, share);
    let scale = 1.0 / alone_on_reference(&machine.reference, memory);
    let hit = m * (1.0 - q) * hit_cost / core_type.memory_speed * scale;
    let miss = m * q / core_type.memory_speed * scale;
    let of_all = Demand { clock: (1.0 - m) * scale, hit, path: 0.0, miss, bytes: memory.bytes_per_work * q * scale };
    if core_type.memory_knee_khz == 0.0 {
        return of_all;
    }
    // The cache is in the core's clock domain, too: what a hit costs is said for its highest clock.
    let domain = &machine.performance_domains[machine.cpus[cpu.index()].performance_domain.index()];
    let highest = domain.opps.last().map_or(0.0, |opp| f64::from(opp.khz));
    Demand { hit: 0.0, path: miss * core_type.memory_knee_khz + hit * highest, ..of_all }
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
    let core = (1.0 - m) + m * (1.0 - q) * reference.hit_cost + m * q * reference.memory_knee;
    joined(core, m * q, reference.memory_overlap)
}

/// The time of what takes `core` in the core's clock domain and `behind` behind it: the norm with this exponent, which is their
/// sum at 1 and the longer of both at infinity.
#[inline]
fn joined(core: f64, behind: f64, overlap: f64) -> f64 {
    if overlap <= 1.0 || core == 0.0 || behind == 0.0 {
        return core + behind;
    }
    let longer = core.max(behind);
    longer * ((core / longer).powf(overlap) + (behind / longer).powf(overlap)).powf(1.0 / overlap)
}

/// A core as far as its pace is concerned.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Core {
    /// The clock of the core.
    pub khz: f64,
    /// Work per cycle.
    pub ipc: f64,
    /// Speed that a busy SMT sibling leaves, 0..=1; 1 without one.
    pub smt: f64,
    /// `CoreType::memory_overlap`.
    pub overlap: f64,
}

/// A thread's pace on a CPU at its present clock: how its time per unit of work depends on contention.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Pace {
    /// Nanoseconds per unit of work without contention.
    pub base: f64,
    /// The clock-bound part: what the thread computes.
    pub clock: f64,
    /// That and the path to memory as far as it is clocked with the core: what the core switches for.
    pub core: f64,
    /// What is behind the core's clock domain, without contention: misses.
    pub miss: f64,
    /// Nanoseconds that each unit of `λ − 1` adds.
    pub stretch: f64,
    /// Bytes per unit of work.
    pub bytes: f64,
    /// How far `core` and what is behind it pass at the same time; 1 or less: one after the other.
    pub overlap: f64,
}

impl Pace {
    /// [`Self::new`] of work that is all computing, `clock` nanoseconds of it on the reference CPU.
    #[inline]
    pub fn of_computing(clock: f64, reference: &Reference, core: Core) -> Self {
        let clock = clock * reference.khz_ipc / (core.khz * core.ipc * core.smt);
        Self { base: clock, clock, core: clock, overlap: core.overlap, ..Self::default() }
    }

    /// The pace of `demand` on `core`.
    ///
    /// `bandwidth` is what one thread and what all together can move, in bytes per nanosecond.
    pub fn new(demand: &Demand, reference: &Reference, core: Core, bandwidth: (f64, f64)) -> Self {
        let (thread_bandwidth, domain_bandwidth) = bandwidth;
        let clock = demand.clock * reference.khz_ipc / (core.khz * core.ipc * core.smt);
        let pace = Self {
            base: 0.0,
            clock,
            core: clock + demand.path / core.khz,
            miss: demand.miss,
            stretch: demand.miss.max(demand.bytes / domain_bandwidth),
            bytes: demand.bytes,
            overlap: core.overlap,
        };
        Self { base: (pace.joined(demand.miss) + demand.hit).max(demand.bytes / thread_bandwidth), ..pace }
    }

    /// The time of all that is clocked with the core and of what takes `behind` behind it.
    #[inline]
    pub(super) fn joined(&self, behind: f64) -> f64 {
        joined(self.core, behind, self.overlap)
    }

    /// Nanoseconds per unit of work under contention `lambda`.
    #[inline]
    pub fn time(&self, lambda: f64) -> f64 {
        let longer = self.stretch * (lambda - 1.0);
        if self.overlap <= 1.0 || longer == 0.0 {
            return self.base + longer;
        }
        self.base + self.joined(self.miss + longer) - self.joined(self.miss)
    }

    /// What a further unit of `lambda` adds to the time there.
    pub fn slope(&self, lambda: f64) -> f64 {
        let behind = self.miss + self.stretch * (lambda - 1.0);
        if self.overlap <= 1.0 || behind <= 0.0 {
            return self.stretch;
        }
        self.stretch * (behind / self.joined(behind)).powf(self.overlap - 1.0)
    }

    /// Whether the pace depends on memory, or memory on the thread.
    #[inline]
    pub fn uses_memory(&self) -> bool {
        self.bytes > 0.0 || self.stretch > 0.0
    }

    /// Share of the time in which the core switches as if it computed: it does, or its part of the path to memory works.
    #[inline]
    pub fn computing(&self, lambda: f64) -> f64 {
        self.core / self.time(lambda)
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

    const REFERENCE: Reference =
        Reference { cpu: CpuId(0), khz_ipc: 2e6, llc_bytes: 0, hit_cost: 1.0, memory_knee: 0.0, memory_overlap: 1.0 };
    const WIDE: (f64, f64) = (1e9, 1e9);

    fn pace(m: f64, khz: f64) -> Pace {
        let demand = Demand { clock: 1.0 - m, miss: m, ..Demand::default() };
        Pace::new(&demand, &REFERENCE, Core { khz, ipc: 1.0, smt: 1.0, overlap: 1.0 }, WIDE)
    }

    /// A stream of nothing but misses: 1 ns each behind the core, and as long within its domain at 500 MHz.
    fn stream(khz: f64, overlap: f64) -> Pace {
        let demand = Demand { miss: 1.0, path: 0.5e6, ..Demand::default() };
        Pace::new(&demand, &REFERENCE, Core { khz, ipc: 1.0, smt: 1.0, overlap }, WIDE)
    }

    #[test]
    fn the_path_to_memory_slows_down_with_the_clock() {
        // 1 + 500/f: at 500 MHz twice as long as behind the core, at 2 GHz a quarter more.
        assert_eq!([5e5, 2e6].map(|khz| stream(khz, 1.0).time(1.0)), [2.0, 1.25]);
        // √(1² + (500/375)²) = 5/3; a third more latency makes √(1.333² + 1.333²).
        let overlapped = stream(3.75e5, 2.0);
        assert!((overlapped.time(1.0) - 5.0 / 3.0).abs() < 1e-12);
        assert!((overlapped.time(4.0 / 3.0) - 2f64.sqrt() * 4.0 / 3.0).abs() < 1e-12);
        assert!((overlapped.computing(1.0) - 0.8).abs() < 1e-12);
        // The slope of √(a² + λ²) is λ / √(a² + λ²).
        assert!((overlapped.slope(1.0) - 0.6).abs() < 1e-12);
    }

    #[test]
    fn computing_takes_what_it_takes_beside_memory_that_it_does_not_use() {
        for (khz, smt, overlap) in [(5e5, 1.0, 1.0), (1.7e6, 0.6, 2.0), (2e6, 0.8, 1.0)] {
            let core = Core { khz, ipc: 1.3, smt, overlap };
            let demand = Demand { clock: 1.0, ..Demand::default() };
            assert_eq!(Pace::of_computing(1.0, &REFERENCE, core), Pace::new(&demand, &REFERENCE, core, (3.0, 7.0)));
        }
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
