// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whatever the files of a machine say, its description is valid.

use crate::detect_tree::{Tree, describe};
use crate::simulation::support::cases;
use proptest::prelude::*;

/// Files that describing a machine reads, `{}` being a number from 0 to 5.
const FILES: [&str; 37] = [
    "sys/devices/system/cpu/present",
    "sys/devices/system/cpu/smt/control",
    "sys/devices/system/cpu/cpu{}/topology/core_cpus_list",
    "sys/devices/system/cpu/cpu{}/topology/core_cpus_list",
    "sys/devices/system/cpu/cpu{}/topology/cluster_cpus_list",
    "sys/devices/system/cpu/cpu{}/topology/physical_package_id",
    "sys/devices/system/cpu/cpu{}/cpu_capacity",
    "sys/devices/system/cpu/cpu{}/cpu_capacity",
    "sys/devices/system/cpu/cpu{}/acpi_cppc/highest_perf",
    "sys/devices/system/cpu/cpu{}/acpi_cppc/nominal_freq",
    "sys/devices/system/cpu/cpu{}/cache/index2/level",
    "sys/devices/system/cpu/cpu{}/cache/index2/type",
    "sys/devices/system/cpu/cpu{}/cache/index2/size",
    "sys/devices/system/cpu/cpu{}/cache/index2/shared_cpu_list",
    "sys/devices/system/cpu/cpu{}/cpuidle/state0/name",
    "sys/devices/system/cpu/cpu{}/cpuidle/state0/latency",
    "sys/devices/system/cpu/cpu{}/cpuidle/state1/name",
    "sys/devices/system/cpu/cpu{}/cpuidle/state1/latency",
    "sys/devices/system/cpu/cpu{}/cpuidle/state1/residency",
    "sys/devices/system/cpu/cpufreq/policy{}/related_cpus",
    "sys/devices/system/cpu/cpufreq/policy{}/cpuinfo_max_freq",
    "sys/devices/system/cpu/cpufreq/policy{}/cpuinfo_max_freq",
    "sys/devices/system/cpu/cpufreq/policy{}/cpuinfo_min_freq",
    "sys/devices/system/cpu/cpufreq/policy{}/scaling_available_frequencies",
    "sys/devices/system/cpu/cpufreq/policy{}/cpuinfo_transition_latency",
    "sys/kernel/debug/energy_model/cpu{}/cpus",
    "sys/kernel/debug/energy_model/cpu{}/ps:1/frequency",
    "sys/kernel/debug/energy_model/cpu{}/ps:1/power",
    "sys/kernel/debug/energy_model/cpu{}/ps:2/frequency",
    "sys/kernel/debug/energy_model/cpu{}/ps:2/power",
    "sys/kernel/debug/energy_model/cpu{}/flags",
    "sys/devices/cpu_core/cpus",
    "sys/devices/cpu_atom/cpus",
    "sys/devices/system/node/node{}/cpulist",
    "sys/devices/system/node/node{}/meminfo",
    "sys/devices/system/node/node{}/distance",
    "proc/meminfo",
];

/// Contents, sound and unsound alike.
const CONTENTS: [&str; 30] = [
    "0",
    "1",
    "2",
    "3",
    "5",
    "0-5",
    "0-1",
    "2-3",
    "4-5",
    "0,3",
    "512",
    "1024",
    "100",
    "70000",
    "500000",
    "1000000",
    "3000000",
    "800000 1600000",
    "4294967295",
    "18446744073709551615",
    "-1",
    "512K",
    "32M",
    "Unified",
    "C1",
    "POLL",
    "cluster-sleep",
    "off",
    "MemTotal: 1048576 kB",
    "",
];

proptest! {
    #![proptest_config(cases(40, 256))]

    #[test]
    fn a_description_is_valid_whatever_the_files_say(
        online in prop::sample::select(vec!["0", "0-5", "0,2,4", "1-3", "5"]),
        files in prop::collection::vec((prop::sample::select(&FILES[..]), 0u32..6, prop::sample::select(&CONTENTS[..])), 0..160),
    ) {
        let tree = files.into_iter().fold(Tree::with_online(online), |tree, (path, number, content)| {
            tree.file(&path.replace("{}", &number.to_string()), content)
        });
        // `describe` panics unless the text is the same twice and reads as a machine.
        describe(&tree);
    }
}
