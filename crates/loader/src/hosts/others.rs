// SPDX-License-Identifier: MIT OR Apache-2.0
//! Processors of AMD and Arm, and machines that say little.

use super::files::{CAPACITY, CLOCK, LEVEL};
use super::{Files, Host, only};
use crate::machine::Source;

pub(super) fn hosts() -> Vec<Host> {
    vec![
        ryzen_ai_9_hx_370(),
        preferred_cores_of_a_ryzen(),
        two_epyc_9745(),
        two_sockets_of_chiplets(),
        vera(),
        phone(),
        big_little(),
        capacity_that_was_never_filled_in(),
        sources_that_differ_by_much(),
        silent_on_a_cpu(),
        a_cpu_offline(),
        parts_without_capacities(),
        more_work_per_clock_but_slower(),
        nothing_but_cpus(),
    ]
}

/// Dense cores differ in nothing but their clocks, the same for all of a kind; CPPC ranks within them, and across.
fn ryzen_ai_9_hx_370() -> Host {
    let (classic, dense) = ([0, 1, 2, 3, 12, 13, 14, 15], [4, 5, 6, 7, 8, 9, 10, 11, 16, 17, 18, 19, 20, 21, 22, 23]);
    let files = Files::with_cpus("0-23").cpuinfo("AuthenticAMD", 26, 36);
    let files = files.each(classic, CLOCK, 5_150_000).each(dense, CLOCK, 3_300_000);
    let files = files.each(0..24, LEVEL, 180).each(0..4, LEVEL, 208).each(dense, LEVEL, 140);
    let doubt = "acpi_cppc/highest_perf differs by up to 33 % between CPUs of one kind: it ranks favoured ones, and is no capacity";
    let kinds = [only(1024, 8, 5_150_000), only(656, 16, 3_300_000)];
    Host::new("Ryzen AI 9 HX 370, two kinds by its clocks", files, Source::HighestClock, &kinds).doubting(&[doubt])
}

/// Ranks of preferred cores as amd-pstate shows them, from 166 to 236 on one kind of core.
fn preferred_cores_of_a_ryzen() -> Host {
    let files = Files::with_cpus("0-15").cpuinfo("AuthenticAMD", 25, 97).each(0..16, CLOCK, 5_400_000);
    let ranks = [236, 231, 226, 221, 216, 211, 206, 201, 196, 191, 186, 181, 176, 171, 166, 166];
    let files = ranks.into_iter().enumerate().fold(files, |files, (cpu, rank)| files.each([cpu], LEVEL, rank));
    let doubt = "acpi_cppc/highest_perf differs by up to 30 % between CPUs of one kind: it ranks favoured ones, and is no capacity";
    Host::new("Ryzen with preferred cores", files, Source::Equal, &[only(1024, 16, 5_400_000)]).doubting(&[doubt])
}

fn two_epyc_9745() -> Host {
    let files = Files::with_cpus("0-511").cpuinfo("AuthenticAMD", 26, 17);
    let files = files.each(0..512, CLOCK, 3_700_000).each(0..512, LEVEL, 196);
    Host::new("two EPYC 9745", files, Source::Equal, &[only(1024, 512, 3_700_000)])
}

/// Two packages of two caches of two SMT cores each; siblings are 8 CPUs apart; a policy per CPU.
fn two_sockets_of_chiplets() -> Host {
    let mut files = Files::with_cpus("0-15").cpuinfo("AuthenticAMD", 25, 1);
    for cpu in 0..16 {
        let core = cpu % 8;
        let (first, second) = (core / 2 * 2, core / 2 * 2 + 8);
        let shared = format!("{first}-{},{second}-{}", first + 1, second + 1);
        files = files.each([cpu], "topology/physical_package_id", core / 4).cache([cpu], 3, "32M", &shared);
        files = files.each([cpu], "topology/core_cpus_list", format!("{core},{}", core + 8));
        files = files.each([cpu], CLOCK, 3_700_000).each([cpu], LEVEL, 166 + core);
    }
    let files = files.file("sys/devices/system/node/node0/cpulist", "0-3,8-11");
    let files = files.file("sys/devices/system/node/node1/cpulist", "4-7,12-15");
    let doubt = "acpi_cppc/highest_perf differs by up to 4 % between CPUs of one kind: it ranks favoured ones, and is no capacity";
    Host::new("two sockets of chiplets", files, Source::Equal, &[only(1024, 16, 3_700_000)]).doubting(&[doubt])
}

/// On Arm servers the kernel's capacity comes from CPPC and may differ from CPU to CPU by a few percent: kinds are a twentieth
/// apart.
fn vera() -> Host {
    let mut files = Files::with_cpus("0-7");
    for (core, capacity) in [1024, 1010, 990, 900].into_iter().enumerate() {
        files = files.each([core, core + 4], CAPACITY, capacity).each([core, core + 4], LEVEL, capacity / 2);
    }
    let doubt = "cpu_capacity is up to 3 % lower on CPUs 2,6 than on others of their kind: they count as equal";
    let kinds = [only(1024, 6, 0), only(900, 2, 0)];
    Host::new("Vera, whose capacities differ per CPU", files, Source::CpuCapacity, &kinds).doubting(&[doubt])
}

fn phone() -> Host {
    let mut files = Files::with_cpus("0-7");
    for (cpus, capacity, khz) in [(0..4, 160, 1_800_000), (4..6, 498, 2_250_000), (6..8, 1024, 2_800_000)] {
        files = files.each(cpus.clone(), CAPACITY, capacity).each(cpus, CLOCK, khz);
    }
    let kinds = [only(1024, 2, 2_800_000), only(498, 2, 2_250_000), only(160, 4, 1_800_000)];
    Host::new("a phone with three kinds", files, Source::CpuCapacity, &kinds)
}

/// Four Cortex-A53 and four Cortex-A73, as a HiKey960 shows itself.
fn big_little() -> Host {
    let files = Files::with_cpus("0-7").arm([0xd03, 0xd03, 0xd03, 0xd03, 0xd09, 0xd09, 0xd09, 0xd09]);
    let files = files.each(0..4, CAPACITY, 462).each(4..8, CAPACITY, 1024);
    let files = files.cache(0..4, 2, "512K", "0-3").cache(4..8, 2, "512K", "4-7");
    let mut files = files.each(0..4, CLOCK, 1_844_000).each(4..8, CLOCK, 2_362_000);
    for (cpus, list, clocks) in [(0..4, "0 1 2 3", "533000 1844000"), (4..8, "4 5 6 7", "903000 2362000")] {
        files = files.each(cpus.clone(), "cpufreq/related_cpus", list);
        files = files.each(cpus, "cpufreq/scaling_available_frequencies", clocks);
    }
    let kinds = [only(1024, 4, 2_362_000), only(462, 4, 1_844_000)];
    Host::new("HiKey960, four big and four little", files, Source::CpuCapacity, &kinds)
}

/// A device tree without `capacity-dmips-mhz` has all CPUs at 1024, which does not hide clocks.
fn capacity_that_was_never_filled_in() -> Host {
    let files = Files::with_cpus("0-3").each(0..4, CAPACITY, 1024);
    let files = files.each(0..2, CLOCK, 2_000_000).each(2..4, CLOCK, 1_200_000);
    let doubt = "cpu_capacity is equal on all CPUs, but cpufreq/cpuinfo_max_freq is not: the latter is believed";
    let kinds = [only(1024, 2, 2_000_000), only(614, 2, 1_200_000)];
    Host::new("a capacity that was never filled in", files, Source::HighestClock, &kinds).doubting(&[doubt])
}

fn sources_that_differ_by_much() -> Host {
    let files = Files::with_cpus("0-3").each(0..2, CAPACITY, 1024).each(2..4, CAPACITY, 512);
    let files = files.each(0..2, LEVEL, 100).each(2..4, LEVEL, 75);
    let doubt = "acpi_cppc/highest_perf gives CPU 3 a capacity of 768, cpu_capacity one of 512: the latter is believed";
    let kinds = [only(1024, 2, 0), only(512, 2, 0)];
    Host::new("sources that differ by much", files, Source::CpuCapacity, &kinds).doubting(&[doubt])
}

fn silent_on_a_cpu() -> Host {
    let files = Files::with_cpus("0-1").each([0], CLOCK, 1_000_000);
    let doubt = "cpufreq/cpuinfo_max_freq is missing for CPU 1: it is not used";
    Host::new("a source that is silent on a CPU", files, Source::Equal, &[only(1024, 2, 1_000_000)]).doubting(&[doubt])
}

/// CPU 1 is offline and like CPU 0, as the one below; CPU 3 is like CPU 2, whose clock it shares.
fn a_cpu_offline() -> Host {
    let files = Files::with_cpus("0-3").file("sys/devices/system/cpu/online", "0,2");
    let files = files.each([0], CLOCK, 1_000_000).each([2], CLOCK, 2_000_000).each([2], "cpufreq/related_cpus", "2-3");
    let kinds = [only(1024, 1, 2_000_000), only(512, 1, 1_000_000)];
    Host::new("CPUs that are offline", files, Source::HighestClock, &kinds)
}

fn parts_without_capacities() -> Host {
    let files = Files::with_cpus("0-1").arm([0xd03, 0xd09]);
    Host::new("Arm cores of two kinds without capacities", files, Source::Equal, &[only(1024, 2, 0)])
}

/// Capacity 1024 at 2.4 GHz, and 900 at 1.5 GHz.
fn more_work_per_clock_but_slower() -> Host {
    let files = Files::with_cpus("0-1").arm([0xd09, 0xd0b]).each([0], CAPACITY, 1024).each([1], CAPACITY, 900);
    let files = files.each([0], CLOCK, 2_400_000).each([1], CLOCK, 1_500_000);
    let kinds = [only(1024, 1, 2_400_000), only(900, 1, 1_500_000)];
    Host::new("a slower core that does more per clock", files, Source::CpuCapacity, &kinds)
}

fn nothing_but_cpus() -> Host {
    Host::new("nothing but a list of CPUs", Files::with_cpus("0-1"), Source::Equal, &[only(1024, 2, 0)])
}
