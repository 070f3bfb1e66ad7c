// SPDX-License-Identifier: MIT OR Apache-2.0
//! Machines whose CPUs differ: misfit migration, energy-aware placement, clamps.

use super::support::{Places, counts, options, spinning};
use crate::common;
use tandem_simulator::machine::Machine;
use tandem_simulator::simulation::{KernelParameters, Linux, Options};
use tandem_simulator::units::{CAPACITY_SCALE, CpuId, MSEC, Nanos, SEC};

fn schedutil(limit: Nanos) -> Options {
    Options { time_limit: Some(limit), ..Options::default() }
}

fn capacity(machine: &Machine, cpu: CpuId) -> u64 {
    u64::from(machine.cpus[cpu.index()].capacity)
}

fn periodic(name: &str, count: u32, run: u32, period: u32, more: &str) -> String {
    format!(
        r#""{name}" : {{ "instance" : {count}, "loop" : -1, "run" : {run},
            "timer" : {{ "ref" : "unique", "period" : {period} }} {more} }}"#
    )
}

/// A thread runs on a little CPU for 20 ms, then may use any CPU and never stops: the next balance finds that it does
/// not fit.
#[test]
fn a_heavy_thread_leaves_a_little_cpu() {
    for name in ["hikey960", "pixel6", "rk3399"] {
        let machine = Machine::load(name).unwrap();
        let little = machine.online().find(|cpu| capacity(&machine, *cpu) < CAPACITY_SCALE).unwrap();
        let task = format!(
            r#""heavy" : {{ "phases" : {{
                "little" : {{ "loop" : 1, "run" : 20000, "cpus" : [{}] }},
                "free" : {{ "loop" : -1, "run" : 1000000, "cpus" : {:?} }} }} }}"#,
            little.0,
            machine.online().map(|cpu| cpu.0).collect::<Vec<_>>()
        );
        let places = Places::of(&machine, &[task], &schedutil(SEC));
        let last = places.at("heavy", SEC)[0];
        assert_eq!(capacity(&machine, last), CAPACITY_SCALE, "{name}: {last:?}");
        let soon = places.at("heavy", 500 * MSEC)[0];
        assert_eq!(capacity(&machine, soon), CAPACITY_SCALE, "{name}: {soon:?}");
    }
}

/// Two light threads, 5 % of the largest CPU each, go where the lowest sufficient clock costs least per work.
///
/// HiKey960: at 533 MHz the little CPUs give 134 of 1024 for 29 mW (0.21 mW per unit of capacity). At 903 MHz the big
/// ones give 391 for 243 mW (0.62). Pixel 6: the little CPUs need 738 MHz for 64 (46 mW: 0.70). The middle ones give 88
/// at 400 MHz for 29 mW (0.32): they are cheaper although they are bigger.
#[test]
fn light_threads_go_where_work_is_cheapest() {
    for (name, cheapest) in [("hikey960", 462), ("pixel6", 498)] {
        let machine = Machine::load(name).unwrap();
        let places = Places::of(&machine, &[periodic("light", 2, 800, 16_000, "")], &schedutil(3 * SEC));
        for thread in 0..2 {
            for cpu in places.since(&format!("light-{thread}"), SEC) {
                assert_eq!(capacity(&machine, cpu), cheapest, "{name}: thread {thread} on {cpu:?}");
            }
        }
    }
}

/// A thread that needs 60 % of the largest CPU (750 of 1024 with the margin of a fifth) fits only there.
#[test]
fn a_thread_runs_where_it_fits() {
    for name in ["hikey960", "pixel6"] {
        let machine = Machine::load(name).unwrap();
        let places = Places::of(&machine, &[periodic("half", 1, 9600, 16_000, "")], &schedutil(3 * SEC));
        for cpu in places.since("half", SEC) {
            assert_eq!(capacity(&machine, cpu), CAPACITY_SCALE, "{name}: {cpu:?}");
        }
    }
}

/// If there are as many never-ending threads as big CPUs, they run on the big CPUs, without energy-awareness too.
#[test]
fn the_big_cpus_are_used_first() {
    let machine = Machine::load("hikey960").unwrap();
    let big: Vec<CpuId> = machine.online().filter(|cpu| capacity(&machine, *cpu) == CAPACITY_SCALE).collect();
    let places = Places::of(&machine, &[spinning("t", big.len() as u32, "")], &options(1, 2 * SEC));
    let mut used = places.at("t", SEC);
    used.sort_unstable();
    assert_eq!(used, big);
}

/// util_min moves a light thread to a CPU that can give that performance; util_max keeps a heavy thread on a small CPU.
#[test]
fn clamps_move_threads_between_clusters() {
    let machine = Machine::load("hikey960").unwrap();
    let boosted = periodic("boosted", 1, 800, 16_000, r#", "util_min" : 800"#);
    let places = Places::of(&machine, &[boosted], &schedutil(3 * SEC));
    for cpu in places.since("boosted", SEC) {
        assert_eq!(capacity(&machine, cpu), CAPACITY_SCALE, "{cpu:?}");
    }
    let capped = periodic("capped", 1, 9600, 16_000, r#", "util_max" : 200"#);
    let places = Places::of(&machine, &[capped], &schedutil(3 * SEC));
    for cpu in places.since("capped", SEC) {
        assert!(capacity(&machine, cpu) < CAPACITY_SCALE, "{cpu:?}");
    }
}

/// The same by the clamps of a group: one that the threads are born into, and one that they enter in a phase of their own.
#[test]
fn clamps_of_groups_move_threads_between_clusters() {
    let machine = Machine::load("hikey960").unwrap();
    let places = |cgroups: &str, task: &str| {
        let file = format!(r#"{{ "tasks" : {{ {task} }}, "tandem" : {{ "cgroups" : {{ {cgroups} }} }} }}"#);
        Places::of_workload(&machine, &common::workload(&file), &schedutil(3 * SEC))
    };
    let boosted = periodic("boosted", 1, 800, 16_000, r#", "taskgroup" : "/top/app""#);
    let top = r#""/top" : { "util_min" : 800 }, "/top/app" : { "util_min" : 1024 }"#;
    for cpu in places(top, &boosted).since("boosted", SEC) {
        assert_eq!(capacity(&machine, cpu), CAPACITY_SCALE, "{cpu:?}");
    }
    // Protection is not inherited: without a wish of its own the inner group has none.
    for cpu in places(r#""/top" : { "util_min" : 800 }"#, &boosted).since("boosted", SEC) {
        assert!(capacity(&machine, cpu) < CAPACITY_SCALE, "{cpu:?}");
    }
    // A limit is, and counts more than what the thread itself asks for.
    let phases = r#""capped" : { "util_min" : 800, "phases" : {
        "free" : { "loop" : 5, "run" : 9600, "timer" : { "ref" : "unique", "period" : 16000 } },
        "held" : { "loop" : -1, "taskgroup" : "/back/app", "run" : 9600,
                   "timer" : { "ref" : "unique", "period" : 16000 } } } }"#;
    let back = places(r#""/back" : { "util_max" : 200 }"#, phases);
    assert_eq!(capacity(&machine, back.at("capped", 80 * MSEC)[0]), CAPACITY_SCALE);
    for cpu in back.since("capped", SEC) {
        assert!(capacity(&machine, cpu) < CAPACITY_SCALE, "{cpu:?}");
    }
}

/// Sixteen never-ending threads on eight P cores of two hardware threads and eight E cores: one on each core.
#[test]
fn hybrid_cores_get_one_thread_each() {
    let machine = Machine::load("i9-12900k").unwrap();
    let places = Places::of(&machine, &[spinning("t", 16, "")], &options(1, 3 * SEC));
    let used = counts(&places.at("t", 2 * SEC), |cpu| machine.cpus[cpu.index()].core);
    assert_eq!(used.len(), 16, "{used:?}");
}

/// Eight never-ending threads: one on each P core.
#[test]
fn hybrid_fast_cores_come_first() {
    let machine = Machine::load("i9-12900k").unwrap();
    let places = Places::of(&machine, &[spinning("t", 8, "")], &options(1, 3 * SEC));
    let cpus = places.at("t", 2 * SEC);
    let used = counts(&cpus, |cpu| machine.cpus[cpu.index()].core);
    assert_eq!(used.len(), 8, "{used:?}");
    for cpu in cpus {
        assert_eq!(machine.cores[machine.cpus[cpu.index()].core.index()].cpus.len(), 2, "{cpu:?} is no P core");
    }
}

/// The cores with more than one of these threads, and the E cores with none: (shared, idle).
fn shared_and_idle(machine: &Machine, cpus: &[CpuId]) -> (usize, usize) {
    let used = counts(cpus, |cpu| machine.cpus[cpu.index()].core);
    let small = machine.cores.iter().filter(|core| core.cpus.len() == 1).count();
    let small_used = used.keys().filter(|core| machine.cores[core.index()].cpus.len() == 1).count();
    (used.values().filter(|threads| **threads > 1).count(), small - small_used)
}

/// Nine never-ending threads: eight P cores and an E core. None shares a core while an E core idles, whatever the seed, from
/// 100 ms on; also when all nine begin on the same two P cores, which only active balance can part.
#[test]
fn no_hybrid_core_is_shared_while_another_idles() {
    let machine = Machine::load("i9-12900k").unwrap();
    let crowded = r#""t" : { "instance" : 9, "phases" : {
        "together" : { "loop" : 1, "run" : 2000, "cpus" : [0, 1, 2, 3] },
        "free" : { "loop" : -1, "run" : 1000000, "cpus" : [0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23] } } }"#;
    for (task, settled) in [(spinning("t", 9, ""), 100 * MSEC), (crowded.to_owned(), SEC)] {
        for seed in 1..4 {
            let places = Places::of(&machine, std::slice::from_ref(&task), &options(seed, 3 * SEC));
            for at in [settled, 2 * SEC, 3 * SEC - MSEC] {
                let (shared, idle) = shared_and_idle(&machine, &places.at("t", at));
                assert_eq!((shared, idle), (0, 7), "seed {seed}, at {at} ns");
            }
        }
    }
}

/// x86 says of no CPU how fast it is, but ranks them; of a device tree's machine it is the other way round.
#[test]
fn hybrids_with_smt_are_ranked_and_have_equal_capacities() {
    let i9 = Machine::load("i9-12900k").unwrap();
    assert!(i9.cpus.iter().all(|cpu| cpu.capacity == 1024));
    // 100 x 3900 / (127 x 5200) of 1024.
    assert_eq!((i9.cpus[0].speed, i9.cpus[16].speed), (1024, 604));
    assert_eq!((i9.cpus[0].itmt_priority, i9.cpus[8].itmt_priority, i9.cpus[16].itmt_priority), (65, 66, 39));
    let hikey = Machine::load("hikey960").unwrap();
    assert!(hikey.cpus.iter().all(|cpu| cpu.capacity == cpu.speed && cpu.itmt_priority == 0));
}

/// One never-ending thread moves to the best core and stays there; a second one to the second best.
#[test]
fn work_is_packed_on_the_cpus_that_rank_highest() {
    let machine = Machine::load("i9-12900k").unwrap();
    let places = Places::of(&machine, &[spinning("t", 2, "")], &options(1, 3 * SEC));
    let mut cores: Vec<u32> = places.at("t", 2 * SEC).iter().map(|cpu| machine.cpus[cpu.index()].core.0).collect();
    cores.sort_unstable();
    assert_eq!(cores, [4, 5], "the two cores of priority 66");
}

/// The order that was seen on an i9-14900K: the two best cores, the other P cores, the E cores, second threads of P cores
/// (jia.je, "Linux 大小核的调度算法探究", 2024-10-23).
#[test]
fn threads_fill_hybrid_cores_in_the_published_order() {
    let machine = Machine::load("i9-12900k").unwrap();
    for threads in [1, 2, 3, 5, 8, 9, 12, 16, 17, 20, 24] {
        let places = Places::of(&machine, &[spinning("t", threads, "")], &options(1, 2 * SEC));
        let used = counts(&places.at("t", 2 * SEC - MSEC), |cpu| machine.cpus[cpu.index()].core);
        let kinds = used.keys().map(|core| machine.cpus[machine.cores[core.index()].cpus[0].index()].itmt_priority);
        let (mut best, mut good, mut small) = (0, 0, 0);
        for rank in kinds {
            match rank {
                66 => best += 1,
                65 => good += 1,
                _ => small += 1,
            }
        }
        let expected = (threads.min(2), threads.min(8).saturating_sub(2), threads.min(16).saturating_sub(8));
        assert_eq!((best, good, small), expected, "{threads} threads: {used:?}");
    }
}

/// Hybrids without SMT have capacities. Energy-aware placement keeps light threads on E-cores, but needs an energy model, which
/// 7.1's intel_pstate has, and schedutil, which it has in passive mode only.
#[test]
fn light_threads_stay_on_e_cores_where_the_kernel_has_an_energy_model() {
    let machine = Machine::load("core-ultra-7-258v").unwrap();
    let capacities: Vec<u32> = machine.cpus.iter().map(|cpu| cpu.capacity).collect();
    // 1024 · 37 / 55.
    assert_eq!(capacities, [1024, 1024, 1024, 1024, 688, 688, 688, 688]);
    let on_e_cores = |linux: Linux, governor: &str| {
        let kernel = KernelParameters { linux, ..KernelParameters::default() };
        let options = Options { governor: governor.parse().unwrap(), kernel, ..schedutil(3 * SEC) };
        let places = Places::of(&machine, &[periodic("light", 3, 800, 16_000, "")], &options);
        let used = (0..3).flat_map(|thread| places.since(&format!("light-{thread}"), SEC));
        used.collect::<Vec<_>>().iter().all(|cpu| capacity(&machine, *cpu) == 688)
    };
    assert!(on_e_cores(Linux::V7_1, "schedutil"));
    assert!(!on_e_cores(Linux::V6_12, "schedutil"));
    assert!(!on_e_cores(Linux::V7_1, "powersave"));
}

/// A thread that needs more than an E-core can give goes to a P-core by capacity alone, under 6.12 and any governor.
#[test]
fn heavy_threads_leave_e_cores_by_capacity() {
    let machine = Machine::load("core-ultra-7-258v").unwrap();
    let task = r#""heavy" : { "phases" : {
        "small" : { "loop" : 1, "run" : 20000, "cpus" : [5] },
        "free" : { "loop" : -1, "run" : 1000000, "cpus" : [0,1,2,3,4,5,6,7] } } }"#;
    for governor in ["default", "schedutil"] {
        let options = Options { governor: governor.parse().unwrap(), ..schedutil(SEC) };
        let places = Places::of(&machine, &[task.to_owned()], &options);
        assert_eq!(capacity(&machine, places.at("heavy", 500 * MSEC)[0]), CAPACITY_SCALE, "{governor}");
    }
}
