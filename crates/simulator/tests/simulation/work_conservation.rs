// SPDX-License-Identifier: MIT OR Apache-2.0
//! No CPU idles for long while a fair thread that may use it waits in a queue and no CPU takes over any waiting thread.
//!
//! How long is long follows from the kernel's balancing. At its ticks, a CPU that has too much looks for idle CPUs to
//! help, but not before `nohz.next_balance`, which the interval of some idle CPU has set. The idle CPU that is to pull
//! tries at each of its levels only every `balance_interval`. Each of the two intervals is at most twice the level's
//! `min_interval` (`weight` milliseconds); after a failure the interval is `min_interval` again. An attempt may fail:
//! cache-hot threads stay for `cache_nice_tries` attempts. A thread of high utilisation moves to another cache only
//! when failures have halved its utilisation below what is free there (`shr_bound` in `detach_tasks`): ten times at
//! most, as utilisation ends at 1024. So each level takes at most `2 + 2 + 10 + cache_nice_tries` times its least
//! interval.
//!
//! Besides, balancing must first see that two threads are too much for the CPU that they share. Until then a CPU that
//! one thread fills counts as busier (`group_fully_busy` above `group_has_spare`), and the shared CPU has nothing to
//! give. Two runnable threads pass 117 % of the capacity when load tracking has reached 58.5 % of its final value: 40.6
//! ms at a half-life of 32 ms, and longer on a slower CPU.
//!
//! Left out, as Linux itself lets threads wait longer there: energy-aware placement (which packs on purpose), affinity
//! (the interval of pinned threads grows to half a second), fair threads behind real-time ones (`migrate_util` ignores
//! CPUs with one fair thread), and NUMA (`adjust_numa_imbalance` leaves a pair of threads where it is).

use proptest::prelude::*;
use tandem_simulator::machine::{Cpu, Machine};
use tandem_simulator::simulation::{KernelParameters, Options, simulate};
use tandem_simulator::units::{CpuId, MSEC, Nanos, SEC};
use tandem_simulator::workload::{Op, Policy, Scheduling, Workload};

use super::support::any_machine::any_machine;
use super::support::any_workload::any_workload;
use super::support::machine::{Cache, Cluster, Spec};
use super::support::starvation::Starvation;
use super::support::workload::{TaskExt, of, runtime, thread, work};
use super::support::{any_options, cases, governed, run, run_with, task};

/// Attempts until a failed balance moves even the busiest thread.
const HALVINGS: u64 = 10;

/// Longest time that balancing may leave a thread waiting beside an idle CPU.
fn longest_wait(machine: &Machine, kernel: &KernelParameters) -> Nanos {
    let level = |(cpus, cache_nice_tries): (u64, u64)| {
        let min_interval = cpus * MSEC;
        (2 + 2 + HALVINGS + cache_nice_tries) * min_interval.max(kernel.tick())
    };
    let of_cpu = machine.online().map(|cpu| levels(machine, cpu).into_iter().map(level).sum::<Nanos>());
    let seen = 40.6 * MSEC as f64 / slowest(machine);
    of_cpu.max().unwrap_or(0) + 2 * kernel.tick() + seen as Nanos
}

/// For each level that `cpu` belongs to, the number of CPUs that balance together there, and its `cache_nice_tries`.
fn levels(machine: &Machine, cpu: CpuId) -> Vec<(u64, u64)> {
    let (core, package) = (machine.cpus[cpu.index()].core, machine.cluster(cpu).package);
    let cache = |cpu: CpuId| {
        let llc = machine.cpus[cpu.index()].llc;
        (llc, llc.is_none().then(|| machine.cores[machine.cpus[cpu.index()].core.index()].cluster))
    };
    let count = |together: &dyn Fn(CpuId) -> bool| machine.online().filter(|cpu| together(*cpu)).count() as u64;
    let mut levels = vec![
        (count(&|other| machine.cpus[other.index()].core == core), 0),
        (count(&|other| cache(other) == cache(cpu)), 1),
        (count(&|other| machine.cluster(other).package == package), 1),
        (count(&|_| true), 2),
    ];
    // A level that adds no CPU to the level below does not exist.
    levels.dedup_by_key(|(cpus, _)| *cpus);
    levels.retain(|(cpus, _)| *cpus > 1);
    levels
}

/// Speed of the slowest CPU at its lowest clock, relative to the fastest CPU.
fn slowest(machine: &Machine) -> f64 {
    let speed = |cpu: &Cpu| {
        let opps = &machine.performance_domains[cpu.performance_domain.index()].opps;
        f64::from(cpu.capacity) / 1024.0 * f64::from(opps[0].khz) / f64::from(opps[opps.len() - 1].khz)
    };
    machine.cpus.iter().map(speed).fold(1.0, f64::min)
}

/// The workload with fair threads only, which may use all CPUs at all times.
fn fair_and_free(mut workload: Workload) -> Workload {
    let is_fair = |scheduling: &Scheduling| {
        matches!(scheduling.policy, Policy::Other { .. } | Policy::Batch { .. } | Policy::Idle)
    };
    for task in &mut workload.tasks {
        task.affinity = None;
        if !is_fair(&task.scheduling) {
            task.scheduling = Scheduling::default();
        }
        for op in &mut task.program {
            match op {
                Op::SetAffinity(cpus) => *cpus = None,
                // Enabling what is not disabled does nothing.
                Op::MigrateDisable => *op = Op::MigrateEnable,
                Op::SetScheduling(scheduling) if !is_fair(scheduling) => *scheduling = Scheduling::default(),
                _ => {}
            }
        }
    }
    workload
}

/// As many hogs as CPUs start on one CPU and are bound to it for their first millisecond: how much later the last one
/// ends than a hog alone, in milliseconds.
fn spreading_takes_ms(cores: u32, per: &str) -> f64 {
    let cache = Some(Cache { kib: 1024, per: per.into(), hit_cost: 0.1, link: None });
    let machine = Spec::clusters([Cluster { cores, cache, ..Cluster::default() }]).build();
    let hog = thread("hog", [runtime(1), Op::SetAffinity(None), work(1000)]).times(cores).on(&[0]);
    (run(&machine, &of([hog])).time_s - 1.001) * 1e3
}

#[test]
fn hogs_that_start_on_one_cpu_spread() {
    // Each hog runs for a tick of 4 ms at most on the first CPU before the next one gets its turn there. Then it is
    // free to go and waits for an idle CPU to look, which each does every `cores` milliseconds, or twice that after a
    // look in vain.
    for per in ["cluster", "core"] {
        for cores in [2, 4, 8, 16] {
            let late = spreading_takes_ms(cores, per);
            assert!(late <= (4.0 + 2.0) * f64::from(cores), "{cores} CPUs, a cache per {per}: {late} ms");
        }
    }
}

#[test]
fn a_cpu_that_was_busy_asks_for_work_as_soon_as_one_that_idled() {
    // Eight CPUs without a common cache: seven have a hog each for a second, CPU 1 idles from 190 ms on. At 195 ms a
    // second thread comes to CPU 0. The longest interval of an idle CPU is twice 8 ms, that of a busy one 128 ms.
    let cache = Some(Cache { kib: 1024, per: "core".into(), hit_cost: 0.1, link: None });
    let machine = Spec::clusters([Cluster { cores: 8, cache, ..Cluster::default() }]).build();
    let hog = |cpu: u32| thread(&format!("hog{cpu}"), [work(1000)]).on(&[cpu]);
    let busy_once = thread("once", [work(190)]).on(&[1]);
    let free = thread("free", [Op::SetAffinity(None), work(1000)]).on(&[0]);
    let late = thread("late", [runtime(1), Op::SetAffinity(None), work(100)]).on(&[0]).after(195);
    let workload = of([free, busy_once, late, hog(2), hog(3), hog(4), hog(5), hog(6), hog(7)]);
    for seed in 0..20 {
        let report = run_with(&machine, &workload, &Options { seed, ..governed("performance") });
        let waited = task(&report, "free").wait_time_s + task(&report, "late").wait_time_s;
        assert!(waited < 0.030, "seed {seed}: {waited} s");
    }
}

proptest! {
    #![proptest_config(cases(200, 1000))]

    #[test]
    fn no_cpu_idles_for_long_while_a_thread_waits(
        mut spec in any_machine(), workload in any_workload(), options in any_options(),
    ) {
        for cluster in &mut spec.clusters {
            cluster.node = 0;
        }
        spec.more.clear();
        let (machine, workload) = (spec.build(), fair_and_free(workload));
        // Who keeps house has ticks, and no bound threads.
        let (disturbances, nohz_full) = (false, Vec::new());
        let kernel =
            KernelParameters { load_balance: true, energy_aware: false, disturbances, nohz_full, ..options.kernel };
        let bound = longest_wait(&machine, &kernel);
        let options = Options { time_limit: Some(2 * SEC), kernel, ..options };
        let mut starvation = Starvation::new(&machine, &workload);
        simulate(&machine, &workload, &options, &mut starvation).unwrap_or_else(|error| panic!("{error}"));
        let (still, until) = starvation.worst;
        prop_assert!(still <= bound, "a standstill of {still} ns until {until}; bound {bound} ns");
    }
}
