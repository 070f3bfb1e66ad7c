// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the sampling governors share: how busy each CPU was since the last sample
//! (`drivers/cpufreq/cpufreq_governor.c`).

use crate::units::{Nanos, USEC};

/// How long a CPU has been idle and so on since the start of the simulation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CpuTimes {
    /// Idle with no task waiting for I/O.
    pub idle: Nanos,
    /// Idle with one waiting.
    pub iowait: Nanos,
    /// Running tasks of nice values above 0.
    pub nice: Nanos,
}

/// A CPU's last sample (`struct cpu_dbs_info`), in whole microseconds like the kernel's idle times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct CpuDbs {
    prev_idle_us: u64,
    prev_update_us: u64,
    prev_nice: Nanos,
    prev_load: u32,
}

/// The samples of one policy (`struct policy_dbs_info`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dbs {
    cpus: Box<[CpuDbs]>,
    sampling_us: u64,
    ignore_nice: bool,
    io_is_busy: bool,
    last_sample_time: Nanos,
    /// From one sample to the next.
    pub(super) sample_delay: Nanos,
    /// Multiplies the sampling period, 1 or the sampling down factor.
    pub(super) rate_mult: u32,
    /// Sampling periods that the least idle of the long-idle CPUs slept through; `None` if no CPU was idle for long.
    pub(super) idle_periods: Option<u32>,
    /// The highest load of a CPU in percent, loads carried over from before a long sleep not counted.
    pub(super) max_sample_load: u32,
}

impl Dbs {
    /// Begins sampling at `now`: the first scheduler update takes the first sample, as `cpufreq_dbs_governor_limits` sees
    /// to when a governor starts.
    pub(super) fn new(
        sampling_period: Nanos,
        ignore_nice: bool,
        io_is_busy: bool,
        times: &[CpuTimes],
        now: Nanos,
    ) -> Self {
        let begin = |times: &CpuTimes| CpuDbs {
            prev_idle_us: idle_us(times, io_is_busy),
            prev_update_us: now / USEC,
            prev_nice: times.nice,
            prev_load: 0,
        };
        Self {
            cpus: times.iter().map(begin).collect(),
            sampling_us: (sampling_period / USEC).max(1),
            ignore_nice,
            io_is_busy,
            last_sample_time: now,
            sample_delay: 0,
            rate_mult: 1,
            idle_periods: None,
            max_sample_load: 0,
        }
    }

    /// Whether a scheduler update at `now` takes a sample (`dbs_update_util_handler`).
    #[inline]
    pub fn due(&self, now: Nanos) -> bool {
        now >= self.next_sample()
    }

    /// The earliest time of the next sample.
    #[inline]
    pub fn next_sample(&self) -> Nanos {
        self.last_sample_time + self.sample_delay
    }

    /// The sampling period in ns.
    pub fn sampling_period(&self) -> Nanos {
        self.sampling_us * USEC
    }

    pub(super) fn sampled_at(&mut self, now: Nanos) {
        self.last_sample_time = now;
    }

    /// The load of the busiest CPU since the last sample, 0..=100 (`dbs_update`). `times` gives the times of the
    /// policy's n-th CPU.
    pub(super) fn update(&mut self, now: Nanos, times: impl Fn(usize) -> CpuTimes) -> u32 {
        let period_us = self.sampling_us * u64::from(self.rate_mult);
        let mut max_load = 0;
        self.max_sample_load = 0;
        self.idle_periods = None;
        for index in 0..self.cpus.len() {
            let (elapsed, idle) = self.elapsed_and_idle(index, now, &times(index));
            let cpu = &mut self.cpus[index];
            let sample_load = match elapsed {
                0 => cpu.prev_load,
                _ => (100 * elapsed.saturating_sub(idle) / elapsed) as u32,
            };
            let long_idle = idle > 2 * period_us;
            let load = cpu.load(sample_load, elapsed > 0 && long_idle);
            if long_idle {
                let periods = u32::try_from(idle / period_us).unwrap_or(u32::MAX);
                self.idle_periods = Some(self.idle_periods.unwrap_or(u32::MAX).min(periods));
            }
            max_load = max_load.max(load);
            self.max_sample_load = self.max_sample_load.max(sample_load);
        }
        max_load
    }

    /// Microseconds since the last sample, and how many of them count as idle.
    fn elapsed_and_idle(&mut self, index: usize, now: Nanos, times: &CpuTimes) -> (u64, u64) {
        let cpu = &mut self.cpus[index];
        let (now_us, idle_us) = (now / USEC, idle_us(times, self.io_is_busy));
        let elapsed = now_us.saturating_sub(cpu.prev_update_us);
        let mut idle = idle_us.saturating_sub(cpu.prev_idle_us);
        (cpu.prev_update_us, cpu.prev_idle_us) = (now_us, idle_us);
        if self.ignore_nice {
            idle += times.nice.saturating_sub(cpu.prev_nice) / USEC;
            cpu.prev_nice = times.nice;
        }
        (elapsed, idle)
    }
}

impl CpuDbs {
    /// The load to act upon: after a long sleep that of before, once, because a window full of sleep says nothing
    /// about the task that has just woken.
    fn load(&mut self, sample_load: u32, long_idle: bool) -> u32 {
        if long_idle && self.prev_load > 0 {
            return std::mem::take(&mut self.prev_load);
        }
        self.prev_load = sample_load;
        sample_load
    }
}

fn idle_us(times: &CpuTimes, io_is_busy: bool) -> u64 {
    let idle = if io_is_busy { times.idle } else { times.idle + times.iowait };
    idle / USEC
}
