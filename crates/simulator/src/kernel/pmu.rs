// SPDX-License-Identifier: MIT OR Apache-2.0
//! Performance counters: one of each kind per CPU, as `perf_event_open` gives them for all that runs there.
//!
//! A counter does not follow what runs. It is told when that changes ([`Pmu::enter`]) and works out the rest when it is
//! read. Counters that no program has opened cost nothing.
//!
//! Left out: that a CPU has few counters and several events share one in turn (`time_running` below `time_enabled`), that
//! a counter stops for good when its CPU goes offline, and skid. A program that counts more than four events could
//! tell.

use super::cpumask::CpuMask;
use crate::units::{CpuId, Nanos};

/// Bytes that a cache miss brings.
const LINE: f64 = 64.0;

/// What is counted (`enum perf_hw_id`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PerfEvent {
    /// Clock cycles in which the CPU does not idle (`PERF_COUNT_HW_CPU_CYCLES`).
    Cycles,
    /// Instructions (`PERF_COUNT_HW_INSTRUCTIONS`).
    Instructions,
    /// Lines of 64 bytes moved from or to memory (`PERF_COUNT_HW_CACHE_MISSES`).
    CacheMisses,
    /// Cycles that wait for memory (`PERF_COUNT_HW_STALLED_CYCLES_BACKEND`).
    StalledCycles,
}

impl PerfEvent {
    /// All, with the words that name them.
    pub const WORDS: [(&'static str, Self); 4] = [
        ("cycles", Self::Cycles),
        ("instructions", Self::Instructions),
        ("cache_misses", Self::CacheMisses),
        ("stalled_cycles", Self::StalledCycles),
    ];

    /// The event that a word names.
    pub fn of(word: &str) -> Option<Self> {
        Self::WORDS.iter().find(|(name, _)| *name == word).map(|(_, event)| *event)
    }
}

/// A counter's value as a program reads it (`struct bpf_perf_event_value`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reading {
    /// Events since the counter was opened.
    pub counter: u64,
    /// Nanoseconds since the counter was opened.
    pub enabled: Nanos,
    /// Nanoseconds in which the counter counted: all of them.
    pub running: Nanos,
}

/// What a CPU does from a time on: kernel code, then it brings back what caches lost, then it works. Rates are per
/// nanosecond; all zero is idleness.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Stay {
    /// Until here it executes kernel code.
    pub refill_at: Nanos,
    /// Until here it waits for lost lines.
    pub work_at: Nanos,
    /// Nanoseconds that the work lasts, at most.
    pub work_ns: f64,
    /// Cycles, whatever it does.
    pub cycles: f64,
    /// Instructions of kernel code.
    pub kernel_instructions: f64,
    /// Instructions of the work.
    pub instructions: f64,
    /// Bytes that the work moves.
    pub bytes: f64,
    /// Cycles in which the work waits for memory.
    pub stalled: f64,
}

/// Sums by event, in the order of [`PerfEvent`].
type Counts = [f64; 4];

#[derive(Debug, Clone, Copy, Default)]
struct CpuPmu {
    /// It was online when the counters were opened.
    open: bool,
    counts: Counts,
    /// Counted up to here.
    since: Nanos,
    stay: Stay,
}

/// The counters of all CPUs.
#[derive(Debug, Default)]
pub struct Pmu {
    /// Counters by [`CpuId`]; empty until a program opens some.
    cpus: Vec<CpuPmu>,
    opened: Nanos,
}

impl Pmu {
    /// Opens one counter of each kind on each of the CPUs `online`, all at zero. What runs there is to be said anew.
    pub fn open(&mut self, now: Nanos, nr_cpus: usize, online: &CpuMask) {
        let cpu = |cpu| CpuPmu { open: online.test(CpuId::at(cpu)), since: now, ..CpuPmu::default() };
        self.cpus = (0..nr_cpus).map(cpu).collect();
        self.opened = now;
    }

    /// Closes them.
    pub fn close(&mut self) {
        self.cpus.clear();
    }

    /// Whether anybody counts.
    #[inline]
    pub fn is_open(&self) -> bool {
        !self.cpus.is_empty()
    }

    /// `cpu` does this from `now` on.
    pub fn enter(&mut self, now: Nanos, cpu: CpuId, stay: Stay) {
        if let Some(pmu) = self.cpus.get_mut(cpu.index()) {
            pmu.counts = pmu.counts_at(now);
            (pmu.since, pmu.stay) = (now, stay);
        }
    }

    /// `cpu` moves `bytes` beside what its work moves.
    pub fn add_bytes(&mut self, cpu: CpuId, bytes: f64) {
        if let Some(pmu) = self.cpus.get_mut(cpu.index()) {
            pmu.counts[PerfEvent::CacheMisses as usize] += bytes / LINE;
        }
    }

    /// The counter of `event` on `cpu`; `None` if it is not open.
    pub fn read(&self, now: Nanos, cpu: CpuId, event: PerfEvent) -> Option<Reading> {
        let pmu = self.cpus.get(cpu.index()).filter(|pmu| pmu.open)?;
        let enabled = now - self.opened;
        Some(Reading { counter: pmu.counts_at(now)[event as usize] as u64, enabled, running: enabled })
    }
}

impl CpuPmu {
    fn counts_at(&self, now: Nanos) -> Counts {
        let Stay { refill_at, work_at, .. } = self.stay;
        let between = |from: Nanos, to: Nanos| to.min(now).saturating_sub(from.max(self.since)) as f64;
        let (kernel, refill, work) = (between(0, refill_at), between(refill_at, work_at), between(work_at, Nanos::MAX));
        // A segment ends at a whole nanosecond, its work a little before.
        let worked = work.min(self.stay.work_ns);
        let stay = &self.stay;
        let [cycles, instructions, misses, stalled] = self.counts;
        [
            cycles + stay.cycles * (now - self.since) as f64,
            instructions + stay.kernel_instructions * kernel + stay.instructions * worked,
            misses + stay.bytes * worked / LINE,
            stalled + stay.cycles * refill + stay.stalled * work,
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CPU: CpuId = CpuId(0);

    fn open() -> Pmu {
        let mut pmu = Pmu::default();
        pmu.open(1000, 2, &CpuMask::of(2, [CPU]));
        pmu
    }

    /// 2 GHz: 100 ns of kernel code, 50 ns of refill, then work that lasts 400 ns and waits half the time.
    fn stay() -> Stay {
        Stay {
            refill_at: 1100,
            work_at: 1150,
            work_ns: 400.0,
            cycles: 2.0,
            kernel_instructions: 2.0,
            instructions: 1.0,
            bytes: 6.4,
            stalled: 1.0,
        }
    }

    fn read(pmu: &Pmu, now: Nanos) -> [u64; 4] {
        PerfEvent::WORDS.map(|(_, event)| pmu.read(now, CPU, event).unwrap().counter)
    }

    #[test]
    fn each_part_of_a_stay_counts_what_it_does() {
        let mut pmu = open();
        pmu.enter(1000, CPU, stay());
        assert_eq!(read(&pmu, 1100), [200, 200, 0, 0], "kernel code");
        assert_eq!(read(&pmu, 1150), [300, 200, 0, 100], "refill");
        assert_eq!(read(&pmu, 1250), [500, 300, 10, 200], "work");
        assert_eq!(read(&pmu, 1650), [1300, 600, 40, 600], "no more work than there is");
    }

    #[test]
    fn what_a_cpu_did_before_is_kept_when_it_does_something_else() {
        let mut pmu = open();
        pmu.enter(1000, CPU, stay());
        pmu.enter(1250, CPU, Stay::default());
        assert_eq!(read(&pmu, 9000), [500, 300, 10, 200], "an idle CPU counts nothing");
        pmu.add_bytes(CPU, 640.0);
        assert_eq!(read(&pmu, 9000)[2], 20);
    }

    #[test]
    fn only_cpus_that_were_online_have_counters_and_only_while_they_are_open() {
        let mut pmu = open();
        assert_eq!(pmu.read(1500, CpuId(1), PerfEvent::Cycles), None);
        assert_eq!(pmu.read(1500, CPU, PerfEvent::Cycles), Some(Reading { counter: 0, enabled: 500, running: 500 }));
        pmu.close();
        assert_eq!(pmu.read(1500, CPU, PerfEvent::Cycles), None);
    }
}
