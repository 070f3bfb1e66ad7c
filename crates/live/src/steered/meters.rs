// SPDX-License-Identifier: MIT OR Apache-2.0
//! How busy CPUs are, from `/proc/stat`, and whether threads wait, from `/proc/pressure/cpu`.
//!
//! Two files a look, whatever the machine: times of idle states are exact to a microsecond, but some files for each CPU. What
//! `/proc/stat` counts in hundredths of a second is good enough for shares of a quarter of one.

use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use nix::unistd::{SysconfVar, sysconf};
use tandem_loader::steering::{Meters, Reading};

/// Ticks of `/proc/stat` in a second where the system does not say (`USER_HZ`).
const USER_HZ: u64 = 100;
const NANOS: u64 = 1_000_000_000;

/// The files of a system below a root.
#[derive(Debug)]
pub(super) struct ProcMeters {
    root: PathBuf,
    begun: Instant,
    /// Nanoseconds of a tick.
    tick: u64,
    /// The time of the reading that is asked for.
    pub now: Instant,
}

impl ProcMeters {
    pub fn new(root: PathBuf, now: Instant) -> Self {
        let hz = sysconf(SysconfVar::CLK_TCK).ok().flatten().and_then(|hz| u64::try_from(hz).ok());
        let tick = NANOS / hz.filter(|hz| *hz > 0).unwrap_or(USER_HZ);
        Self { root, begun: now, tick, now }
    }

    /// Nanoseconds since the meters were made.
    pub fn nanos(&self, now: Instant) -> u64 {
        u64::try_from(now.saturating_duration_since(self.begun).as_nanos()).unwrap_or(u64::MAX)
    }
}

impl Meters for ProcMeters {
    fn reading(&mut self) -> Option<Reading> {
        let stat = fs::read_to_string(self.root.join("proc/stat")).ok()?;
        let pressure = fs::read_to_string(self.root.join("proc/pressure/cpu")).ok();
        let waiting = pressure.as_deref().and_then(waiting);
        Some(Reading { now: self.nanos(self.now), busy: busy(&stat, self.tick), waiting })
    }
}

/// By CPU: how long it was not idle, in ns. Of a CPU that is offline there is no line.
fn busy(stat: &str, tick: u64) -> Vec<u64> {
    let mut all = Vec::new();
    for line in stat.lines().take_while(|line| line.starts_with("cpu")) {
        let mut words = line.split_whitespace();
        let number = words.next().and_then(|word| word.strip_prefix("cpu")?.parse::<usize>().ok());
        // More CPUs than any kernel has room for are nobody's.
        let Some(cpu) = number.filter(|cpu| *cpu < 1 << 16) else { continue };
        // user nice system idle iowait irq softirq steal; guests' time is in user's.
        let times: Vec<u64> = words.take(8).map(|word| word.parse().unwrap_or(0)).collect();
        let ticks: u64 = times.iter().enumerate().filter(|(at, _)| !(3..=4).contains(at)).map(|(_, time)| time).sum();
        if all.len() <= cpu {
            all.resize(cpu + 1, 0);
        }
        all[cpu] = ticks.saturating_mul(tick);
    }
    all
}

/// How long some thread waited for a CPU, in ns.
fn waiting(pressure: &str) -> Option<u64> {
    let some = pressure.lines().find_map(|line| line.strip_prefix("some "))?;
    let total = some.split_whitespace().find_map(|word| word.strip_prefix("total="))?;
    total.parse::<u64>().ok()?.checked_mul(1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cpu_is_busy_while_it_is_neither_idle_nor_waits_for_a_device() {
        let stat = "cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 1 2 3 100 50 4 5 6 1 0\ncpu2 7 0 0 1 1 0 0 0 0 0\nintr 5\ncpu3 1\n";
        assert_eq!(busy(stat, 10), [210, 0, 70]);
    }

    #[test]
    fn waiting_is_the_total_of_pressure() {
        let text =
            "some avg10=0.00 avg60=0.12 avg300=0.00 total=1234\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=7\n";
        assert_eq!(waiting(text), Some(1_234_000));
        assert_eq!(waiting("full total=3"), None);
    }
}
