// SPDX-License-Identifier: MIT OR Apache-2.0
//! What somebody measured of the machine that is described, which then need not be assumed.

use std::collections::BTreeMap;

/// Measured values. What is not here is read from files or assumed.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Measured {
    /// By the kernel's numbers of the nodes.
    pub memory: BTreeMap<u32, MeasuredMemory>,
    /// Cores, those that are alike together.
    pub cores: Vec<MeasuredCores>,
    /// One package beside its cores.
    pub uncore: Option<MeasuredUncore>,
    /// The memory of all nodes together.
    pub dram: Option<MeasuredDram>,
    /// What switching costs.
    pub switching: MeasuredSwitching,
    /// How all but `memory` was measured: the source of these values.
    pub source: String,
}

/// What was measured of a node's memory.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuredMemory {
    /// Bytes per second that the memory moves.
    pub bytes_per_s: f64,
    /// Bytes per second that one thread alone can use.
    pub thread_bytes_per_s: f64,
    /// How it was measured: the source of both.
    pub source: String,
}

/// Cores that are alike.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MeasuredCores {
    /// CPUs of the group that were online.
    pub cpus: Vec<u32>,
    /// Operating points by ascending clock.
    pub clocks: Vec<MeasuredClock>,
    /// Leakage of one core, W/V.
    pub leakage_watts_per_v: Option<f64>,
    /// Names of idle states, and watts of one core in them.
    pub idle: Vec<(String, f64)>,
    /// `smt_speed`.
    pub smt_speed: Option<f64>,
    /// `smt_activity`.
    pub smt_activity: Option<f64>,
    /// `stall_activity`.
    pub stall_activity: Option<f64>,
}

/// An operating point.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct MeasuredClock {
    /// MHz that were asked for; `None` without cpufreq, where there is one point.
    pub mhz: Option<f64>,
    /// MHz that a core had.
    pub real_mhz: Option<f64>,
    /// Millivolts.
    pub mv: Option<f64>,
    /// Watts of one busy core, leakage included.
    pub watts: Option<f64>,
}

/// Watts of a package beside its cores.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeasuredUncore {
    /// While a core is busy.
    pub awake: f64,
    /// While all are idle.
    pub idle: f64,
}

/// Memory.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeasuredDram {
    /// Watts without traffic.
    pub static_watts: f64,
    /// Nanojoules per byte.
    pub nj_per_byte: f64,
}

/// Microseconds of what switching costs.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct MeasuredSwitching {
    /// `context_switch_us`.
    pub context_switch_us: Option<f64>,
    /// `migration_us`.
    pub migration_us: Option<f64>,
    /// `migration_llc_us`.
    pub migration_llc_us: Option<f64>,
}

impl Measured {
    /// What was measured of the cores that a CPU belongs to.
    pub(super) fn of_cpu(&self, cpu: u32) -> Option<&MeasuredCores> {
        self.cores.iter().find(|cores| cores.cpus.contains(&cpu))
    }

    /// Whether watts of such a core at its clocks were measured.
    pub(super) fn has_watts(&self, cpu: u32) -> bool {
        self.of_cpu(cpu).is_some_and(|cores| cores.clocks.iter().any(|clock| clock.watts.is_some()))
    }
}

impl MeasuredCores {
    /// Watts of one busy core at a clock. Between measured clocks, and beyond the last, energy per cycle is a straight line over
    /// the clock: it goes with the voltage, which grows slowly, so that watts are no straight line. `None` if no watts were
    /// measured.
    pub(super) fn watts_at(&self, mhz: f64) -> Option<f64> {
        let known: Vec<(f64, f64)> = self.clocks.iter().filter_map(|clock| Some((clock.mhz?, clock.watts?))).collect();
        let next = known.iter().position(|(at, _)| *at >= mhz).unwrap_or(known.len());
        match known.as_slice() {
            // Without cpufreq, the only one.
            [] => self.clocks.first()?.watts,
            [(at, watts)] => Some(watts / at * mhz),
            several => {
                let next = next.clamp(1, several.len() - 1);
                let ((low, low_watts), (high, high_watts)) = (several[next - 1], several[next]);
                let (low_each, high_each) = (low_watts / low, high_watts / high);
                let each = low_each + (high_each - low_each) * (mhz - low) / (high - low);
                Some((each * mhz).max(0.0))
            }
        }
    }

    /// Millivolts of each of these clocks, if all are known.
    pub(super) fn mv_of(&self, khz: &[u32]) -> Option<Vec<f64>> {
        let at = |khz: &u32| {
            let mhz = f64::from(*khz) / 1e3;
            self.clocks.iter().find(|clock| clock.mhz.is_some_and(|known| (known - mhz).abs() < 1e-3))?.mv
        };
        khz.iter().map(at).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cores(points: &[(f64, f64)]) -> MeasuredCores {
        let clock = |(mhz, watts): &(f64, f64)| MeasuredClock {
            mhz: Some(*mhz),
            watts: Some(*watts),
            ..MeasuredClock::default()
        };
        MeasuredCores { clocks: points.iter().map(clock).collect(), ..MeasuredCores::default() }
    }

    /// 1 mJ per million cycles at 1000 MHz and 2 at 2000: 1.5 at 1500 MHz, 2.25 W; 2.5 at 2500 MHz, 6.25 W; 0.5 at 500, 0.25 W.
    #[test]
    fn energy_per_cycle_is_a_line_between_clocks() {
        let cores = cores(&[(1000.0, 1.0), (2000.0, 4.0)]);
        let watts = [500.0, 1000.0, 1500.0, 2000.0, 2500.0].map(|mhz| cores.watts_at(mhz).unwrap());
        assert_eq!(watts, [0.25, 1.0, 2.25, 4.0, 6.25]);
    }

    #[test]
    fn one_point_is_known_for_all_and_none_for_none() {
        assert_eq!(cores(&[(1000.0, 2.0)]).watts_at(500.0), Some(1.0));
        assert_eq!(cores(&[]).watts_at(500.0), None);
        let fixed = MeasuredClock { watts: Some(3.0), ..MeasuredClock::default() };
        assert_eq!(MeasuredCores { clocks: vec![fixed], ..MeasuredCores::default() }.watts_at(500.0), Some(3.0));
    }
}
