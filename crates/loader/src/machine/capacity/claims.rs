// SPDX-License-Identifier: MIT OR Apache-2.0
//! What each source says of the CPUs that are online.

use std::fmt;

use super::core_type::{CoreType, core_types};
use super::vendor::Vendor;
use crate::reading::{Cpu, Reading};

/// Where a machine's capacities can come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// `cpu_capacity`: what the kernel's own scheduler goes by.
    CpuCapacity,
    /// `acpi_cppc/highest_perf`: the firmware's scale of performance.
    Cppc,
    /// The types of core that Intel's event sources name, and the highest clock of each.
    CoreTypes,
    /// `cpuinfo_max_freq`.
    HighestClock,
    /// `base_frequency` of intel_pstate: the highest clock without turbo. Never believed, only compared.
    BaseClock,
    /// Nothing tells CPUs apart: all are equal.
    Equal,
}

impl fmt::Display for Source {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::CpuCapacity => "cpu_capacity",
            Self::Cppc => "acpi_cppc/highest_perf",
            Self::CoreTypes => "types of core and highest clocks",
            Self::HighestClock => "cpufreq/cpuinfo_max_freq",
            Self::BaseClock => "cpufreq/base_frequency",
            Self::Equal => "no source",
        })
    }
}

/// What a source says, in its own unit: of every CPU that is online, in their order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// The source.
    pub source: Source,
    /// What the source says: capacities, levels of performance, or kHz.
    pub values: Vec<u64>,
}

impl Claim {
    /// Values as shares of the best, above 0 and at most 1.
    pub(super) fn shares(&self) -> Vec<f64> {
        let best = self.values.iter().copied().max().unwrap_or(1).max(1) as f64;
        self.values.iter().map(|value| *value as f64 / best).collect()
    }

    /// How far the worst is below the best: 0 for equal ones, below 1.
    pub(super) fn spread(&self) -> f64 {
        1.0 - self.shares().into_iter().fold(1.0, f64::min)
    }
}

/// All that is said.
#[derive(Debug)]
pub(super) struct Claims {
    /// The CPUs that it is said of, ascending.
    pub cpus: Vec<usize>,
    pub cpu_capacity: Option<Claim>,
    pub cppc: Option<Claim>,
    pub highest_clock: Option<Claim>,
    pub base_clock: Option<Claim>,
    pub types: Vec<CoreType>,
    pub vendor: Vendor,
    /// Sources that speak of some CPUs only, and the first that each is silent on.
    pub incomplete: Vec<(Source, usize)>,
}

impl Claims {
    /// What the files of a machine claim of its CPUs that are online.
    pub fn of(reading: &Reading) -> Self {
        let online: Vec<&Cpu> = reading.cpus.iter().filter(|cpu| cpu.online).collect();
        let mut incomplete = Vec::new();
        let mut claim = |source, value: &dyn Fn(&Cpu) -> Option<u32>| {
            let values: Vec<Option<u64>> = online.iter().map(|cpu| value(cpu).map(u64::from)).collect();
            let silent = values.iter().position(Option::is_none);
            match silent {
                None => Some(Claim { source, values: values.into_iter().flatten().collect() }),
                Some(at) => {
                    let partly = values.iter().any(Option::is_some);
                    incomplete.extend(partly.then_some((source, online[at].number as usize)));
                    None
                }
            }
        };
        Self {
            cpu_capacity: claim(Source::CpuCapacity, &|cpu| cpu.capacity),
            cppc: claim(Source::Cppc, &|cpu| cpu.highest_perf),
            highest_clock: claim(Source::HighestClock, &|cpu| reading.policy_of(cpu.number)?.max_khz),
            base_clock: claim(Source::BaseClock, &|cpu| reading.policy_of(cpu.number)?.base_khz),
            types: core_types(reading, &online),
            vendor: Vendor::of(reading),
            incomplete,
            cpus: online.iter().map(|cpu| cpu.number as usize).collect(),
        }
    }

    /// The claims that are complete.
    pub fn all(&self) -> impl Iterator<Item = &Claim> {
        [&self.cpu_capacity, &self.cppc, &self.highest_clock, &self.base_clock].into_iter().flatten()
    }

    /// Whether cores are of several types.
    pub fn is_hybrid(&self) -> bool {
        self.types.windows(2).any(|pair| pair[0] != pair[1])
    }
}
