// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernels as files.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use tempfile::TempDir;

use super::*;

/// CAP_SYS_ADMIN, CAP_PERFMON and CAP_BPF.
const ROOT: &str = "CapEff:\t000000c000200000";

fn write(root: &TempDir, path: &str, text: &str) {
    let path = root.path().join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, format!("{text}\n")).unwrap();
}

/// A kernel that has everything, on two CPUs.
fn able() -> TempDir {
    let root = tempfile::tempdir().unwrap();
    for (path, text) in [
        ("proc/sys/kernel/osrelease", "6.12.9-test"),
        ("proc/sys/net/core/bpf_jit_enable", "1"),
        ("proc/self/status", ROOT),
        ("proc/self/uid_map", "         0          0 4294967295"),
        ("sys/devices/system/cpu/possible", "0-1"),
        ("sys/kernel/sched_ext/state", "disabled"),
        ("sys/kernel/btf/vmlinux", "types"),
    ] {
        write(&root, path, text);
    }
    root
}

fn without(path: &str) -> TempDir {
    let root = able();
    let path = root.path().join(path);
    if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }.unwrap();
    root
}

fn probe(root: &TempDir) -> Host {
    Host::probe(root.path()).unwrap()
}

/// What is missing, as people read it.
fn missing(root: &TempDir) -> Vec<String> {
    probe(root).kernel.missing().iter().map(ToString::to_string).collect()
}

#[test]
fn a_kernel_that_has_everything_lacks_nothing() {
    let kernel = probe(&able()).kernel;
    assert_eq!((kernel.version(), kernel.privileged(), kernel.is_busy()), (Some((6, 12)), true, false));
    assert_eq!(kernel.missing(), []);
}

#[test]
fn without_a_list_of_cpus_nothing_can_be_said() {
    let root = without("sys/devices/system/cpu/possible");
    assert!(matches!(Host::probe(root.path()), Err(LiveError::Machine(_))));
}

#[test]
fn of_a_kernel_before_6_12_its_age_is_what_is_missing() {
    let root = without("sys/kernel/sched_ext");
    write(&root, "proc/sys/kernel/osrelease", "6.9.1");
    assert_eq!(missing(&root), ["Linux 6.9.1 has no sched_ext, which came with 6.12: boot a newer kernel"]);
    write(&root, "boot/config-6.9.1", "CONFIG_SMP=y\n# CONFIG_BPF is not set");
    assert!(missing(&root)[0].starts_with("Linux 6.9.1 has no sched_ext"), "{:?}", missing(&root));
}

/// Distributions have given sched_ext to older kernels.
#[test]
fn an_older_kernel_that_has_it_lacks_nothing() {
    let root = able();
    write(&root, "proc/sys/kernel/osrelease", "6.11.0-ubuntu");
    assert_eq!(missing(&root), [""; 0]);
}

#[test]
fn a_kernel_that_was_built_without_is_told_from_one_of_which_nobody_knows() {
    let root = without("sys/kernel/sched_ext");
    assert_eq!(
        missing(&root),
        [
            "/sys/kernel/sched_ext is not there; why is not known, as neither /proc/config.gz nor /boot/config-6.12.9-test \
          nor /lib/modules/6.12.9-test/config can be read: boot a kernel with CONFIG_SCHED_CLASS_EXT"
        ]
    );
    write(&root, "lib/modules/6.12.9-test/config", "# CONFIG_SCHED_CLASS_EXT is not set\nCONFIG_BPF_JIT=y");
    let config = probe(&root).kernel.config;
    assert_eq!((config.has("SCHED_CLASS_EXT"), config.has("BPF_JIT")), (Some(false), Some(true)));
    assert_eq!(
        missing(&root),
        [
            "Linux 6.12.9-test is built without sched_ext (no CONFIG_SCHED_CLASS_EXT in /lib/modules/6.12.9-test/config): \
          boot a kernel that has it"
        ]
    );
    write(&root, "boot/config-6.12.9-test", "CONFIG_SCHED_CLASS_EXT=y");
    assert_eq!(
        missing(&root),
        ["/sys/kernel/sched_ext is not there, though Linux 6.12.9-test is built with sched_ext: mount sysfs on /sys"]
    );
}

#[test]
fn what_the_kernel_says_of_itself_comes_before_what_its_package_left() {
    let root = without("sys/kernel/sched_ext");
    write(&root, "boot/config-6.12.9-test", "CONFIG_SCHED_CLASS_EXT=y");
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(b"CONFIG_CPU_FREQ_GOV_SCHEDUTIL=m\n").unwrap();
    fs::write(root.path().join("proc/config.gz"), packed.finish().unwrap()).unwrap();
    let config = probe(&root).kernel.config;
    assert_eq!(config.path.as_deref(), Some(Path::new("/proc/config.gz")));
    assert_eq!([config.has("CPU_FREQ_GOV_SCHEDUTIL"), config.has("SCHED_CLASS_EXT")], [Some(true), Some(false)]);
    // One that is damaged is none.
    fs::write(root.path().join("proc/config.gz"), b"not packed").unwrap();
    assert_eq!(probe(&root).kernel.config.has("SCHED_CLASS_EXT"), Some(true));
}

#[test]
fn types_compilation_and_lockdown_are_missed_one_by_one() {
    let root = without("sys/kernel/btf");
    write(&root, "proc/sys/net/core/bpf_jit_enable", "0");
    write(&root, "sys/kernel/security/lockdown", "none integrity [confidentiality]");
    assert_eq!(
        missing(&root),
        [
            "/sys/kernel/btf/vmlinux is not there: boot a kernel with CONFIG_DEBUG_INFO_BTF",
            "the kernel does not compile BPF programs: `sysctl net.core.bpf_jit_enable=1`",
            "the kernel is locked down for confidentiality: boot without `lockdown=confidentiality`",
        ]
    );
}

/// Which a machine with secure boot mostly is.
#[test]
fn a_kernel_that_is_locked_down_for_integrity_lets_programs_read() {
    let root = able();
    write(&root, "sys/kernel/security/lockdown", "none [integrity] confidentiality");
    assert_eq!((missing(&root), probe(&root).kernel.lockdown.as_deref()), (Vec::new(), Some("integrity")));
}

#[test]
fn rights_are_those_of_root_or_two_of_them_and_in_the_first_namespace() {
    let root = able();
    write(&root, "proc/self/status", "Name:\tx\nCapEff:\t0000000000000000");
    assert_eq!(missing(&root), ["this process lacks CAP_BPF and CAP_PERFMON: run it as root"]);
    write(&root, "proc/self/status", "CapEff:\t0000008000000000");
    assert_eq!(missing(&root), ["this process lacks CAP_PERFMON: run it as root"]);
    write(&root, "proc/self/status", "CapEff:\t000000c000000000");
    assert_eq!(missing(&root), [""; 0]);
    write(&root, "proc/self/uid_map", "0 1000 1\n1 100000 65536");
    let outside = "this process is root of a container's user namespace only: run it outside the container, as root";
    assert_eq!(missing(&root), [outside]);
}

#[test]
fn another_scheduler_is_named_and_one_that_comes_or_goes_is_waited_for() {
    let root = able();
    write(&root, "sys/kernel/sched_ext/state", "enabled");
    write(&root, "sys/kernel/sched_ext/root/ops", "lavd_1.0.9");
    assert_eq!(missing(&root), ["the scheduler lavd_1.0.9 is loaded already: stop it first"]);
    write(&root, "sys/kernel/sched_ext/state", "disabling");
    assert_eq!(
        missing(&root),
        ["sched_ext is disabling: wait until it is disabled, or stop the scheduler that is loaded"]
    );
}

#[test]
fn counters_are_those_of_cpus_not_of_buses_nor_the_kernels_own() {
    let root = able();
    for name in ["software", "msr", "uncore_imc", "arm_cmn_0", "power"] {
        write(&root, &format!("sys/bus/event_source/devices/{name}/events/x"), "event=0x1");
    }
    assert!(!probe(&root).counters);
    for name in ["cpu", "cpu_atom", "armv8_pmuv3_0", "apple_icestorm_pmu"] {
        let folder = root.path().join(format!("sys/bus/event_source/devices/{name}"));
        fs::create_dir_all(folder.join("events")).unwrap();
        assert!(probe(&root).counters, "{name}");
        fs::remove_dir_all(folder).unwrap();
    }
}

/// A policy of CPUs 0 and 1, one of CPU 10, and one whose CPU is offline.
#[test]
fn policies_come_in_the_order_of_their_numbers_and_without_those_that_sleep() {
    let root = able();
    let file = |policy: &str, file: &str, text: &str| {
        write(&root, &format!("sys/devices/system/cpu/cpufreq/{policy}/{file}"), text);
    };
    for (policy, cpus) in [("policy0", "0 1"), ("policy10", "10"), ("policy2", "2")] {
        file(policy, "affected_cpus", cpus);
        file(policy, "scaling_driver", "cpufreq-dt");
        file(policy, "scaling_governor", "ondemand");
        file(policy, "scaling_available_governors", "ondemand schedutil");
        for (name, khz) in [
            ("scaling_min_freq", "500000"),
            ("scaling_max_freq", "900000"),
            ("cpuinfo_min_freq", "400000"),
            ("cpuinfo_max_freq", "1000000"),
        ] {
            file(policy, name, khz);
        }
    }
    fs::create_dir_all(root.path().join("sys/devices/system/cpu/cpufreq/policy4")).unwrap();
    let policies = probe(&root).policies;
    assert_eq!(
        policies.iter().map(|policy| policy.name.as_str()).collect::<Vec<_>>(),
        ["policy0", "policy2", "policy10"]
    );
    let first = &policies[0];
    assert_eq!((&first.cpus, first.governor.as_str(), first.driver.as_str()), (&vec![0, 1], "ondemand", "cpufreq-dt"));
    assert_eq!(
        [first.min_khz, first.max_khz, first.lowest_khz, first.highest_khz],
        [500_000, 900_000, 400_000, 1_000_000]
    );
    assert_eq!((first.follows_schedulers(), first.has_schedutil(), first.governs_itself()), (false, true, false));
}

#[test]
fn an_active_intel_pstate_is_known_to_govern_itself_and_where_that_is_changed() {
    let root = able();
    for (file, text) in [
        ("cpufreq/policy0/affected_cpus", "0"),
        ("cpufreq/policy0/scaling_driver", "intel_pstate"),
        ("cpufreq/policy0/scaling_available_governors", "performance powersave"),
        ("intel_pstate/status", "active"),
    ] {
        write(&root, &format!("sys/devices/system/cpu/{file}"), text);
    }
    let policy = &probe(&root).policies[0];
    assert_eq!((policy.governs_itself(), policy.has_schedutil()), (true, false));
    assert_eq!(policy.mode_file, Some("/sys/devices/system/cpu/intel_pstate/status"));
}
