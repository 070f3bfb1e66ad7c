// SPDX-License-Identifier: MIT OR Apache-2.0
//! The table of hosts, and what holds whatever sources say.

use std::collections::BTreeSet;

use super::*;
use crate::hosts::{Expected, Files, Host};
use crate::machine::Machine;

fn read(files: &Files) -> (Machine, Capacities) {
    let root = tempfile::tempdir().unwrap();
    files.write(root.path()).unwrap();
    Machine::read_with_capacities(root.path()).unwrap()
}

#[test]
fn hosts_have_names_of_their_own() {
    let hosts = Host::all();
    let names: BTreeSet<&str> = hosts.iter().map(|host| host.name).collect();
    assert_eq!(names.len(), hosts.len());
}

#[test]
fn a_cpu_that_is_offline_has_the_capacity_of_one_that_is_like_it() {
    // CPU 1 shares CPU 2's clock; CPU 3 shares nothing that is known, so that it is like the one below.
    let files = Files::with_cpus("0-3").file("sys/devices/system/cpu/online", "0,2");
    let files = files.each([0], "cpufreq/cpuinfo_max_freq", 1_000_000).each([2], "cpufreq/cpuinfo_max_freq", 2_000_000);
    let (machine, capacities) = read(&files.each([2], "cpufreq/related_cpus", "1-2"));
    assert_eq!(machine.cpus.iter().map(|cpu| cpu.capacity).collect::<Vec<_>>(), [512, 1024, 1024, 1024]);
    assert_eq!(capacities.kinds.iter().map(|kind| kind.cpus.clone()).collect::<Vec<_>>(), [[2], [0]]);
}

#[test]
fn every_claim_is_kept_in_its_own_unit() {
    let files = Files::with_cpus("0-1").each(0..2, "cpufreq/cpuinfo_max_freq", 3_000_000);
    let claims = read(&files.each(0..2, "acpi_cppc/highest_perf", 40)).1.claims;
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
        fn every_cpu_is_of_one_kind_and_one_is_the_best(claims in claims()) {
            let capacities = Capacities::of_claims(&claims);
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

mod long {
    use super::*;

    #[test]
    fn hosts_have_the_kinds_and_doubts_of_the_table() {
        for host in Host::all() {
            let (machine, capacities) = read(&host.files);
            let kinds: Vec<(u64, usize, CoreType)> =
                capacities.kinds.iter().map(|kind| (kind.capacity, kind.cpus.len(), kind.core_type)).collect();
            let expected = |kind: &Expected| (kind.capacity, kind.cpus, kind.core_type);
            assert_eq!(kinds, host.kinds.iter().map(expected).collect::<Vec<_>>(), "{}", host.name);
            assert_eq!(capacities.source, host.source, "{}", host.name);
            let doubts: Vec<String> = capacities.doubts.iter().map(ToString::to_string).collect();
            assert_eq!(doubts, host.doubts, "{}", host.name);
            for (kind, expected) in capacities.kinds.iter().zip(&host.kinds) {
                let top = |cpu: &usize| {
                    let table = &machine.opp_tables[machine.cpus[*cpu].opp_table as usize];
                    table.frequency.last().copied().unwrap_or(0)
                };
                assert_eq!(kind.cpus.iter().map(top).max(), Some(expected.khz), "{}", host.name);
                assert!(kind.cpus.iter().all(|cpu| machine.cpus[*cpu].capacity == kind.capacity), "{}", host.name);
            }
        }
    }
}
