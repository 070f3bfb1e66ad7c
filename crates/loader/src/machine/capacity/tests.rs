// SPDX-License-Identifier: MIT OR Apache-2.0
//! Machines whose sources lie, and some whose sources do not.
//!
//! What no source of these machines' descriptions says (levels of performance, clocks) is made up of what does, and said.

use std::fs;

use super::*;
use crate::machine::Machine;

/// Files below `/sys`, and `/proc/cpuinfo`.
struct Files(tempfile::TempDir);

impl Files {
    fn new(cpus: &str) -> Self {
        let files = Self(tempfile::tempdir().unwrap());
        files.write("sys/devices/system/cpu/possible", cpus);
        files
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("{text}\n")).unwrap();
    }

    /// A file of some CPUs.
    fn each(&self, cpus: impl IntoIterator<Item = usize>, file: &str, value: u64) -> &Self {
        for cpu in cpus {
            self.write(&format!("sys/devices/system/cpu/cpu{cpu}/{file}"), &value.to_string());
        }
        self
    }

    /// The event sources of a hybrid.
    fn types(&self, types: &[(&str, &str)]) -> &Self {
        for (name, cpus) in types {
            self.write(&format!("sys/devices/{name}/cpus"), cpus);
        }
        self
    }

    fn cpuinfo(&self, vendor: &str, family: u32, model: u32) -> &Self {
        let text = format!("vendor_id\t: {vendor}\ncpu family\t: {family}\nmodel\t\t: {model}\nmodel name\t: X 12\n");
        self.write("proc/cpuinfo", &text);
        self
    }

    fn intel(&self, model: u32) -> &Self {
        self.cpuinfo("GenuineIntel", 6, model)
    }

    fn read(&self) -> (Machine, Capacities) {
        Machine::read_with_capacities(self.0.path()).unwrap()
    }

    /// The source, the capacity and how many CPUs of each kind, and the doubts.
    fn summary(&self) -> (Source, Vec<(u64, usize)>, Vec<String>) {
        let (_, capacities) = self.read();
        let kinds = capacities.kinds.iter().map(|kind| (kind.capacity, kind.cpus.len())).collect();
        (capacities.source, kinds, capacities.doubts.iter().map(ToString::to_string).collect())
    }
}

const CLOCK: &str = "cpufreq/cpuinfo_max_freq";
const LEVEL: &str = "acpi_cppc/highest_perf";
const NONE: [&str; 0] = [];

fn check(files: &Files, source: Source, kinds: &[(u64, usize)], doubts: &[&str]) {
    let found = files.summary();
    assert_eq!((found.0, found.1.as_slice()), (source, kinds));
    assert_eq!(found.2, doubts);
}

/// Levels of performance are clocks over 78.741 MHz and 100 MHz: 5.2 GHz are 66, 3.9 GHz 39.
#[test]
fn i9_12900k_has_two_kinds_by_its_levels_of_performance() {
    let files = Files::new("0-23");
    files.intel(0x97).types(&[("cpu_core", "0-15"), ("cpu_atom", "16-23")]);
    files.each(0..16, LEVEL, 66).each(16..24, LEVEL, 39).each(0..16, CLOCK, 5_200_000).each(16..24, CLOCK, 3_900_000);
    check(&files, Source::Cppc, &[(1024, 16), (605, 8)], &NONE);
}

/// Seen: 2.6 GHz and one level of performance on all CPUs.
#[test]
fn i7_13650hx_whose_clocks_and_levels_are_all_equal_has_two_kinds_by_its_types_of_core() {
    let files = Files::new("0-19");
    files.intel(0xb7).types(&[("cpu_core", "0-11"), ("cpu_atom", "12-19")]);
    files.each(0..20, LEVEL, 33).each(0..20, CLOCK, 2_600_000);
    let equal = |source| {
        format!(
            "{source} is equal on all CPUs, though they are P-cores (0-11) and E-cores (12-19): it is not believed, but \
             types of core and highest clocks"
        )
    };
    let (level, clock) = (equal(LEVEL), equal(CLOCK));
    // 0.78741 of 1024.
    check(&files, Source::CoreTypes, &[(1024, 12), (806, 8)], &[&level, &clock]);
}

/// The same processor behind a firmware that does not even name its types: nothing is left to tell, but base clocks.
#[test]
fn base_clocks_alone_are_worth_a_word_and_no_kind() {
    let files = Files::new("0-3");
    files.each(0..4, CLOCK, 2_600_000).each(0..2, "cpufreq/base_frequency", 2_600_000);
    files.each(2..4, "cpufreq/base_frequency", 1_900_000);
    let doubt =
        "cpufreq/base_frequency differs by 27 % between CPUs that nothing else tells apart: they count as equal";
    check(&files, Source::Equal, &[(1024, 4)], &[doubt]);
}

/// 4.6 GHz at 100 MHz a level are 46; 5.1 GHz at 80 are 63.75. Half of the P-cores reach 5.0 only.
#[test]
fn core_ultra_200_whose_numbers_interleave_has_two_kinds_by_types_and_clocks() {
    let files = Files::new("0-19");
    let (performance, efficient) = ([0, 1, 6, 7, 8, 9, 18, 19], [2, 3, 4, 5, 10, 11, 12, 13, 14, 15, 16, 17]);
    files.intel(0xc6).types(&[("cpu_core", "0-1,6-9,18-19"), ("cpu_atom", "2-5,10-17")]);
    files.each(performance, CLOCK, 5_000_000).each([0, 1, 18, 19], CLOCK, 5_100_000).each(efficient, CLOCK, 4_600_000);
    // Of 2 % nobody needs to know.
    check(&files, Source::CoreTypes, &[(1024, 8), (739, 12)], &NONE);
    let machine = files.read().0;
    assert_eq!([0, 6, 2].map(|cpu| machine.cpus[cpu].capacity), [1024, 1024, 739]);
}

#[test]
fn core_ultra_9_275hx_with_a_clock_for_every_cpu_has_two_tables_of_clocks() {
    let files = Files::new("0-23");
    files.intel(0xc6).types(&[("cpu_core", "0-7"), ("cpu_atom", "8-23")]);
    files.each(0..8, CLOCK, 5_400_000).each(8..24, CLOCK, 4_600_000).each(0..24, "cpufreq/cpuinfo_min_freq", 800_000);
    // A favoured core, 4 % above the others: they are of one kind, and have one table.
    files.each([3], CLOCK, 5_600_000);
    let (machine, capacities) = files.read();
    assert_eq!(capacities.kinds.iter().map(|kind| kind.cpus.len()).collect::<Vec<_>>(), [8, 16]);
    assert_eq!(machine.opp_tables.len(), 2);
    assert_eq!(
        (machine.opp_tables[0].frequency.as_slice(), machine.cpus[0].performance),
        (&[800_000, 5_600_000][..], 1024)
    );
    let domains: Vec<u64> = machine.cpus.iter().map(|cpu| cpu.performance_domain).collect();
    assert_eq!(domains, (0..24).collect::<Vec<_>>());
    let doubt =
        "cpufreq/cpuinfo_max_freq is up to 4 % lower on CPUs 0-2,4-7 than on others of their kind: they count as equal";
    assert_eq!(capacities.doubts.iter().map(ToString::to_string).collect::<Vec<_>>(), [doubt]);
}

/// 3.7 GHz at 100 MHz a level are 37; 4.8 GHz at 86.957 are 55.2. Its E-cores are outside the P-cores' cache.
#[test]
fn core_ultra_7_258v_has_low_power_cores_that_do_more_per_clock() {
    let files = Files::new("0-7");
    files.intel(0xbd).types(&[("cpu_core", "0-3"), ("cpu_atom", "4-7")]);
    files.each(0..4, CLOCK, 4_800_000).each(4..8, CLOCK, 3_700_000).each(0..4, "cache/index3/level", 3);
    check(&files, Source::CoreTypes, &[(1024, 4), (686, 4)], &NONE);
    assert_eq!(files.read().1.kinds[1].core_type, CoreType::LowPower);
}

/// A processor that is not known here, and of which no clock is: its types of core are.
#[test]
fn core_5_320_without_clocks_has_two_kinds_by_assumption() {
    let files = Files::new("0-5");
    files.intel(0xd5).types(&[("cpu_core", "0-1"), ("cpu_lowpower", "2-5")]);
    let doubt = "an E-core is assumed to do 79 % of a P-core's work per clock, as on Alder Lake";
    check(&files, Source::CoreTypes, &[(1024, 2), (806, 4)], &[doubt]);
    assert_eq!(files.read().1.kinds[1].core_type, CoreType::LowPower);
}

/// Dense cores differ in nothing but their clocks, the same for all of a kind; CPPC ranks within them, and across.
#[test]
fn ryzen_ai_9_hx_370_has_two_kinds_by_its_clocks_whatever_cppc_ranks() {
    let files = Files::new("0-23");
    files.cpuinfo("AuthenticAMD", 26, 36);
    let (classic, dense) = ([0, 1, 2, 3, 12, 13, 14, 15], [4, 5, 6, 7, 8, 9, 10, 11, 16, 17, 18, 19, 20, 21, 22, 23]);
    files.each(classic, CLOCK, 5_150_000).each(dense, CLOCK, 3_300_000);
    files.each(0..24, LEVEL, 180).each(0..4, LEVEL, 208).each(dense, LEVEL, 140);
    let doubt = "acpi_cppc/highest_perf differs by up to 33 % between CPUs of one kind: it ranks favoured ones, and is no capacity";
    check(&files, Source::HighestClock, &[(1024, 8), (656, 16)], &[doubt]);
}

/// Ranks of preferred cores as amd-pstate shows them, from 166 to 236 on one kind of core.
#[test]
fn preferred_cores_of_a_ryzen_are_of_one_kind() {
    let files = Files::new("0-15");
    files.cpuinfo("AuthenticAMD", 25, 97).each(0..16, CLOCK, 5_400_000);
    for (cpu, rank) in (0..16).zip([236, 231, 226, 221, 216, 211, 206, 201, 196, 191, 186, 181, 176, 171, 166, 166]) {
        files.each([cpu], LEVEL, rank);
    }
    let doubt = "acpi_cppc/highest_perf differs by up to 30 % between CPUs of one kind: it ranks favoured ones, and is no capacity";
    check(&files, Source::Equal, &[(1024, 16)], &[doubt]);
}

/// Two favoured cores reach 5.8 GHz, the others 5.5, which is 5.2 % less: as many as BPF takes for a kind of its own.
#[test]
fn favoured_cores_of_a_core_i9_are_of_one_kind() {
    let files = Files::new("0-15");
    files.intel(0x97).each(0..16, CLOCK, 5_500_000).each(4..8, CLOCK, 5_800_000).each(0..16, LEVEL, 70).each(
        4..8,
        LEVEL,
        74,
    );
    let doubts = [
        "acpi_cppc/highest_perf differs by up to 5 % between CPUs of one kind: it ranks favoured ones, and is no capacity",
        "cpufreq/cpuinfo_max_freq is up to 5 % lower on CPUs 0-3,8-15 than on others of their kind: they count as equal",
    ];
    check(&files, Source::Equal, &[(1024, 16)], &doubts);
}

#[test]
fn two_epyc_9745_are_512_equal_cpus() {
    let files = Files::new("0-511");
    files.cpuinfo("AuthenticAMD", 26, 17).each(0..512, CLOCK, 3_700_000).each(0..512, LEVEL, 196);
    check(&files, Source::Equal, &[(1024, 512)], &NONE);
}

/// On Arm servers the kernel's capacity comes from CPPC and may differ from CPU to CPU by a few percent.
#[test]
fn a_vera_whose_capacities_differ_per_cpu_has_kinds_a_twentieth_apart() {
    let files = Files::new("0-7");
    for (core, capacity) in [1024, 1010, 990, 900].into_iter().enumerate() {
        files.each([core, core + 4], "cpu_capacity", capacity).each([core, core + 4], LEVEL, capacity / 2);
    }
    let doubt = "cpu_capacity is up to 3 % lower on CPUs 2,6 than on others of their kind: they count as equal";
    check(&files, Source::CpuCapacity, &[(1024, 6), (900, 2)], &[doubt]);
}

#[test]
fn a_phones_capacities_are_the_kernels_whatever_its_clocks_are() {
    let files = Files::new("0-7");
    for (cpus, capacity, khz) in [(0..4, 160, 1_800_000), (4..6, 498, 2_250_000), (6..8, 1024, 2_800_000)] {
        files.each(cpus.clone(), "cpu_capacity", capacity).each(cpus, CLOCK, khz);
    }
    check(&files, Source::CpuCapacity, &[(1024, 2), (498, 2), (160, 4)], &NONE);
}

/// A device tree without `capacity-dmips-mhz` has all CPUs at 1024.
#[test]
fn a_capacity_that_nobody_filled_in_does_not_hide_clocks() {
    let files = Files::new("0-3");
    files.each(0..4, "cpu_capacity", 1024).each(0..2, CLOCK, 2_000_000).each(2..4, CLOCK, 1_200_000);
    let doubt = "cpu_capacity is equal on all CPUs, but cpufreq/cpuinfo_max_freq is not: the latter is believed";
    check(&files, Source::HighestClock, &[(1024, 2), (614, 2)], &[doubt]);
}

#[test]
fn sources_that_differ_by_much_are_named_with_the_cpu_and_both_values() {
    let files = Files::new("0-3");
    files.each(0..2, "cpu_capacity", 1024).each(2..4, "cpu_capacity", 512).each(0..2, LEVEL, 100).each(2..4, LEVEL, 75);
    let doubt = "acpi_cppc/highest_perf gives CPU 3 a capacity of 768, cpu_capacity one of 512: the latter is believed";
    check(&files, Source::CpuCapacity, &[(1024, 2), (512, 2)], &[doubt]);
}

#[test]
fn a_source_that_is_silent_on_a_cpu_is_not_used() {
    let files = Files::new("0-1");
    files.each([0], CLOCK, 1_000_000);
    check(&files, Source::Equal, &[(1024, 2)], &["cpufreq/cpuinfo_max_freq is missing for CPU 1: it is not used"]);
}

#[test]
fn a_cpu_that_is_offline_has_the_capacity_of_the_one_below() {
    let files = Files::new("0-3");
    files.write("sys/devices/system/cpu/online", "0,2");
    files.each([0], CLOCK, 1_000_000).each([2], CLOCK, 2_000_000);
    let (machine, capacities) = files.read();
    assert_eq!(machine.cpus.iter().map(|cpu| cpu.capacity).collect::<Vec<_>>(), [512, 512, 1024, 1024]);
    assert_eq!(capacities.kinds.iter().map(|kind| kind.cpus.clone()).collect::<Vec<_>>(), [[2], [0]]);
}

#[test]
fn every_claim_is_kept_in_its_own_unit() {
    let files = Files::new("0-1");
    files.each(0..2, CLOCK, 3_000_000).each(0..2, LEVEL, 40);
    let claims = files.read().1.claims;
    assert_eq!(claims[0], Claim { source: Source::Cppc, values: vec![40, 40] });
    assert_eq!(claims[1], Claim { source: Source::HighestClock, values: vec![3_000_000, 3_000_000] });
}

mod laws {
    //! Whatever sources say.

    use proptest::prelude::*;

    use super::super::vendor::Vendor;
    use super::*;

    fn claim(source: Source, cpus: usize, values: std::ops::Range<u64>) -> impl Strategy<Value = Option<Claim>> {
        let values = proptest::collection::vec(values, cpus);
        proptest::option::of(values.prop_map(move |values| Claim { source, values }))
    }

    fn claims() -> impl Strategy<Value = Claims> {
        let types = [CoreType::Only, CoreType::Performance, CoreType::Efficient, CoreType::LowPower];
        (1..40_usize).prop_flat_map(move |cpus| {
            let sources = (
                claim(Source::CpuCapacity, cpus, 1..1025),
                claim(Source::Cppc, cpus, 1..256),
                claim(Source::HighestClock, cpus, 1..6_000_000),
                claim(Source::BaseClock, cpus, 1..6_000_000),
            );
            let types = proptest::collection::vec(proptest::sample::select(types.to_vec()), cpus);
            let vendor = (any::<bool>(), any::<bool>());
            (sources, types, vendor).prop_map(move |(sources, types, (ranks, ipc_is_known))| Claims {
                cpus: (0..cpus).collect(),
                cpu_capacity: sources.0,
                cppc: sources.1,
                highest_clock: sources.2,
                base_clock: sources.3,
                types,
                vendor: Vendor { ranks, efficient_ipc: 0.8, ipc_is_known },
                incomplete: Vec::new(),
            })
        })
    }

    proptest! {
        #[test]
        fn every_cpu_is_of_one_kind_and_somebody_is_the_best(claims in claims()) {
            let capacities = Capacities::of(&claims);
            let mut cpus: Vec<usize> = capacities.kinds.iter().flat_map(|kind| kind.cpus.clone()).collect();
            cpus.sort_unstable();
            prop_assert_eq!(&cpus, &claims.cpus);
            prop_assert_eq!(capacities.kinds[0].capacity, 1024);
            prop_assert!(capacities.kinds.iter().all(|kind| (1..=1024).contains(&kind.capacity)));
            prop_assert!(cpus.iter().all(|cpu| capacities.kind_of(*cpu).is_some_and(|kind| kind.cpus.contains(cpu))));
        }

        /// So that favoured cores and rounding never fill up the eight kinds that a scheduler has room for.
        #[test]
        fn kinds_of_one_type_are_further_apart_than_the_tolerance(claims in claims()) {
            let choice = Choice::of(&claims);
            let tolerance =
                if choice.source == Source::CpuCapacity { choice::SAME_CAPACITY } else { choice::FAVOURED };
            let levels = choice.levels(&claims);
            for (one, other) in levels.iter().flat_map(|one| levels.iter().map(move |other| (one, other))) {
                let apart = one.1 == other.1 || one.1.min(other.1) < one.1.max(other.1) * (1.0 - tolerance);
                prop_assert!(one.0 != other.0 || apart, "{:?} {:?}", one, other);
            }
        }
    }
}
