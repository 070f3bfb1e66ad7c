// SPDX-License-Identifier: MIT OR Apache-2.0
//! Processors of Intel, most of them hybrids.

use super::files::{CAPACITY, CLOCK, LEVEL};
use super::{Expected, Files, Host, only};
use crate::machine::{CoreType, Source};

const P: CoreType = CoreType::Performance;
const E: CoreType = CoreType::Efficient;
const LOW_POWER: CoreType = CoreType::LowPower;

pub(super) fn hosts() -> Vec<Host> {
    vec![
        i9_12900k(),
        i7_13650hx(),
        nameless_hybrid(),
        core_ultra_200(),
        core_ultra_9_275hx(),
        core_ultra_7_258v(),
        core_5_320(),
        favoured_cores_of_a_core_i9(),
        capacity_before_levels(),
        low_power_cores_by_name(),
    ]
}

const fn kind(capacity: u64, cpus: usize, core_type: CoreType, khz: u64) -> Expected {
    Expected { capacity, cpus, core_type, khz }
}

/// Siblings side by side, as the kernel lists them.
fn siblings(files: Files, cores: std::ops::Range<usize>) -> Files {
    cores.fold(files, |files, core| {
        let pair = format!("{}-{}", 2 * core, 2 * core + 1);
        files.each(2 * core..2 * core + 2, "topology/core_cpus_list", pair)
    })
}

/// Levels of performance are clocks over 78.741 MHz and 100 MHz: 5.2 GHz are 66, 3.9 GHz 39.
fn i9_12900k() -> Host {
    let files = Files::with_cpus("0-23").intel(0x97).types(&[("cpu_core", "0-15"), ("cpu_atom", "16-23")]);
    let files = files.each(0..16, LEVEL, 66).each(16..24, LEVEL, 39);
    let files = siblings(files.each(0..16, CLOCK, 5_200_000).each(16..24, CLOCK, 3_900_000), 0..8);
    let kinds = [kind(1024, 16, P, 5_200_000), kind(605, 8, E, 3_900_000)];
    Host::new("i9-12900K, two kinds by its levels of performance", files, Source::Cppc, &kinds)
}

/// Seen: 2.6 GHz and one level of performance on all CPUs.
fn i7_13650hx() -> Host {
    let files = Files::with_cpus("0-19").intel(0xb7).types(&[("cpu_core", "0-11"), ("cpu_atom", "12-19")]);
    let files = siblings(files.each(0..20, LEVEL, 33).each(0..20, CLOCK, 2_600_000), 0..6);
    let equal = |source| {
        format!(
            "{source} is equal on all CPUs, though they are P-cores (0-11) and E-cores (12-19): it is not believed, but \
             types of core and highest clocks"
        )
    };
    // 0.78741 of 1024.
    let kinds = [kind(1024, 12, P, 2_600_000), kind(806, 8, E, 2_600_000)];
    Host::new("i7-13650HX, whose clocks and levels are all equal", files, Source::CoreTypes, &kinds)
        .doubting(&[&equal(LEVEL), &equal(CLOCK)])
}

/// The same processor behind a firmware that does not even name its types: nothing is left to tell, but base clocks.
fn nameless_hybrid() -> Host {
    let files = Files::with_cpus("0-3").each(0..4, CLOCK, 2_600_000);
    let files = files.each(0..2, "cpufreq/base_frequency", 2_600_000).each(2..4, "cpufreq/base_frequency", 1_900_000);
    let doubt =
        "cpufreq/base_frequency differs by 27 % between CPUs that nothing else tells apart: they count as equal";
    Host::new("a hybrid with base clocks only", files, Source::Equal, &[only(1024, 4, 2_600_000)]).doubting(&[doubt])
}

/// 4.6 GHz at 100 MHz a level are 46; 5.1 GHz at 80 are 63.75. Half of the P-cores reach 5.0 only: 2 % are not
/// worth a word.
fn core_ultra_200() -> Host {
    let (performance, efficient) = ([0, 1, 6, 7, 8, 9, 18, 19], [2, 3, 4, 5, 10, 11, 12, 13, 14, 15, 16, 17]);
    let files = Files::with_cpus("0-19").intel(0xc6).types(&[("cpu_core", "0-1,6-9,18-19"), ("cpu_atom", "2-5,10-17")]);
    let files = files.each(performance, CLOCK, 5_000_000).each([0, 1, 18, 19], CLOCK, 5_100_000);
    let files = files.each(efficient, CLOCK, 4_600_000);
    let kinds = [kind(1024, 8, P, 5_100_000), kind(739, 12, E, 4_600_000)];
    Host::new("Core Ultra 200, whose numbers interleave", files, Source::CoreTypes, &kinds)
}

/// A favoured core is 4 % above the others: they are of one kind, and have one table of clocks.
fn core_ultra_9_275hx() -> Host {
    let files = Files::with_cpus("0-23").intel(0xc6).types(&[("cpu_core", "0-7"), ("cpu_atom", "8-23")]);
    let files = files.each(0..8, CLOCK, 5_400_000).each(8..24, CLOCK, 4_600_000).each([3], CLOCK, 5_600_000);
    let files = files.each(0..24, "cpufreq/cpuinfo_min_freq", 800_000);
    let doubt =
        "cpufreq/cpuinfo_max_freq is up to 4 % lower on CPUs 0-2,4-7 than on others of their kind: they count as equal";
    // 0.8 of the work per clock at 4.6 of 5.6 GHz.
    let kinds = [kind(1024, 8, P, 5_600_000), kind(673, 16, E, 4_600_000)];
    Host::new("Core Ultra 9 275HX with a clock for every CPU", files, Source::CoreTypes, &kinds).doubting(&[doubt])
}

/// 3.7 GHz at 100 MHz a level are 37; 4.8 GHz at 86.957 are 55.2. The E-cores are outside the P-cores' cache.
fn core_ultra_7_258v() -> Host {
    let files = Files::with_cpus("0-7").intel(0xbd).types(&[("cpu_core", "0-3"), ("cpu_atom", "4-7")]);
    let files = files.each(0..4, CLOCK, 4_800_000).each(4..8, CLOCK, 3_700_000);
    let files = files.cache(0..4, 3, "12M", "0-3").cache(4..8, 2, "4M", "4-7");
    let kinds = [kind(1024, 4, P, 4_800_000), kind(686, 4, LOW_POWER, 3_700_000)];
    Host::new("Core Ultra 7 258V, whose low-power cores do more per clock", files, Source::CoreTypes, &kinds)
}

/// A processor that is not known here, and of which no clock is: its types of core are.
fn core_5_320() -> Host {
    let files = Files::with_cpus("0-5").intel(0xd5).types(&[("cpu_core", "0-1"), ("cpu_lowpower", "2-5")]);
    let doubt = "an E-core is assumed to do 79 % of a P-core's work per clock, as on Alder Lake";
    let kinds = [kind(1024, 2, P, 0), kind(806, 4, LOW_POWER, 0)];
    Host::new("Core 5 320 without clocks", files, Source::CoreTypes, &kinds).doubting(&[doubt])
}

/// Two favoured cores reach 5.8 GHz, the others 5.5, which is 5.2 % less: as many as BPF takes for a kind of its own.
fn favoured_cores_of_a_core_i9() -> Host {
    let files = Files::with_cpus("0-15").intel(0x97).each(0..16, CLOCK, 5_500_000).each(4..8, CLOCK, 5_800_000);
    let files = files.each(0..16, LEVEL, 70).each(4..8, LEVEL, 74);
    let doubts = [
        "acpi_cppc/highest_perf differs by up to 5 % between CPUs of one kind: it ranks favoured ones, and is no capacity",
        "cpufreq/cpuinfo_max_freq is up to 5 % lower on CPUs 0-3,8-15 than on others of their kind: they count as equal",
    ];
    Host::new("Core i9 with favoured cores", files, Source::Equal, &[only(1024, 16, 5_800_000)]).doubting(&doubts)
}

/// The kernel's capacity is believed before the firmware's levels.
fn capacity_before_levels() -> Host {
    let files = Files::with_cpus("0-7").intel(0x97).types(&[("cpu_core", "0-3"), ("cpu_atom", "4-7")]);
    let files = files.each(0..4, CLOCK, 5_200_000).each(4..8, CLOCK, 3_900_000);
    let files = files.each(0..4, LEVEL, 66).each(4..8, LEVEL, 60).each(0..4, CAPACITY, 1024).each(4..8, CAPACITY, 605);
    let doubt = "acpi_cppc/highest_perf gives CPU 7 a capacity of 931, cpu_capacity one of 605: the latter is believed";
    let kinds = [kind(1024, 4, P, 5_200_000), kind(605, 4, E, 3_900_000)];
    Host::new("a hybrid whose kernel contradicts its firmware", files, Source::CpuCapacity, &kinds).doubting(&[doubt])
}

/// Two P-cores with a level 3 cache, two low-power cores with a name of their own and a level 2 cache only.
fn low_power_cores_by_name() -> Host {
    let files = Files::with_cpus("0-3").intel(0xbd).types(&[("cpu_core", "0-1"), ("cpu_lowpower", "2-3")]);
    let files = files.cache(0..2, 3, "12M", "0-1").cache(2..4, 2, "4M", "2-3").each(0..4, CLOCK, 4_800_000);
    let doubt = "cpufreq/cpuinfo_max_freq is equal on all CPUs, though they are P-cores (0-1) and low-power E-cores (2-3): it is \
                 not believed, but types of core and highest clocks";
    // 0.86957 of 1024.
    let kinds = [kind(1024, 2, P, 4_800_000), kind(890, 2, LOW_POWER, 4_800_000)];
    Host::new("low-power cores that have a name", files, Source::CoreTypes, &kinds).doubting(&[doubt])
}
