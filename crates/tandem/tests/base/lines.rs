// SPDX-License-Identifier: GPL-2.0-only
//! Machines of several last-level caches: each has a queue, and no CPU is idle while something waits in another one.

use tandem_simulator::workload::Op;

use super::run::{alone, for_ms, forever, hog, of, pairs, periodic, run, share, threads, time, within};
use crate::long::combinations::scheduler::machine;
use crate::long::combinations::support::workload::{TaskExt, sleep, thread, work};

#[test]
fn a_pair_shares_a_cache() {
    let machine = pairs(4);
    let cache = |cpu: usize| machine.cpus[cpu].llc;
    assert!(cache(0).is_some() && cache(0) == cache(1) && cache(2) == cache(3) && cache(0) != cache(2));
}

/// Four threads begin on the CPUs of one cache, 10 ms each, and may use all from then on: 20 ms, then 100 ms.
#[test]
fn what_waits_in_one_cache_goes_to_the_other() {
    let free = Op::SetAffinity(None);
    let tasks = [thread("crowd", [Op::SetAffinity(Some(vec![0, 1])), work(10), free, work(100)]).on(&[0, 1]).times(4)];
    let report = run(&pairs(4), &of(tasks));
    within(report.time_s * 1e3, 120.0, 12.0);
}

/// Work that ends on one cache's CPUs leaves them idle; what waits in the other cache's queue comes.
#[test]
fn a_cpu_with_nothing_to_do_takes_what_waits_elsewhere() {
    let short = thread("short", [work(50)]).on(&[2, 3]).times(2);
    let long = thread("long", [work(200)]).times(4);
    let report = run(&pairs(4), &of([short, long]));
    // 900 ms on four CPUs; at the end up to two slices are alone.
    within(report.time_s * 1e3, 225.0, 15.0);
}

#[test]
fn a_thread_whose_cpus_are_one_caches_stays_there() {
    let report = run(&pairs(4), &for_ms(1000, [hog("bound").on(&[0, 1]).times(3), hog("free")]));
    for thread in threads(&report, "bound") {
        within(thread.cpu_time_s * 1e3, 2000.0 / 3.0, 20.0);
    }
    within(time(&report, "free"), 1000.0, 8.0);
}

/// Threads that may run on one CPU only, as the kernel has them on each, need 1 ms in each 20. What gives way to them goes to the other
/// CPU of its cache or goes on: the first idle CPU would be another cache's, and in time both threads would be there.
#[test]
fn what_gives_way_stays_by_its_cache() {
    let upkeep = |cpu: u32| periodic(&format!("upkeep-of-{cpu}"), 1, 20).on(&[cpu]).after(10 + 3 * u64::from(cpu));
    let tasks: Vec<_> = [hog("hog").times(2)].into_iter().chain((0..4).map(upkeep)).collect();
    let report = run(&pairs(4), &for_ms(2000, tasks));
    for pair in [0..2, 2..4] {
        within(report.cpus[pair].iter().map(|cpu| cpu.busy_s * 1e3).sum(), 2200.0, 60.0);
    }
}

#[test]
fn threads_share_all_caches_cpus() {
    let report = run(&pairs(4), &for_ms(2000, [hog("hog").times(8)]));
    for thread in threads(&report, "hog") {
        within(thread.cpu_time_s * 1e3, 1000.0, 50.0);
    }
}

/// Eight of twelve threads begin on the CPUs of one cache. Seven to five are near enough: a thread less for each CPU.
#[test]
fn queues_of_unequal_length_become_nearly_equal() {
    let tasks =
        [hog("hog").times(4), thread("crowd", [work(5), Op::SetAffinity(None), work(10_000)]).on(&[0, 1]).times(8)];
    let report = run(&pairs(4), &for_ms(3000, tasks));
    for thread in threads(&report, "hog").into_iter().chain(threads(&report, "crowd")) {
        within(thread.cpu_time_s * 1e3, 1000.0, 250.0);
    }
}

/// Threads that may use half of a cache's CPUs wake behind others that compute: the other half leaves them where they wait. The kernel
/// ejects a scheduler that sends a thread where it may not run.
#[test]
fn what_wakes_behind_others_stays_off_cpus_that_it_may_not_use() {
    let bound = thread("bound", forever([work(1), sleep(1)])).on(&[0]).times(3);
    let other = thread("other", forever([work(1), sleep(1)])).on(&[0, 2]).times(6);
    let report = run(&pairs(4), &for_ms(500, [bound, other, hog("hog").times(8)]));
    within(report.tasks.iter().map(|task| task.cpu_time_s * 1e3).sum(), 4.0 * 500.0, 10.0);
}

/// Twelve threads of little weight are no load beside four that are to have a CPU each, wherever these began.
#[test]
fn threads_that_weigh_much_have_a_cpu_each_in_whatever_caches_they_began() {
    let heavy = thread("heavy", [work(5), Op::SetAffinity(None), work(10_000)]).on(&[0, 1]).nice(-20).times(4);
    let report = run(&pairs(4), &for_ms(2000, [heavy, hog("light").nice(10).times(12)]));
    for thread in threads(&report, "heavy") {
        within(thread.cpu_time_s * 1e3, 2000.0, 60.0);
    }
}

/// Two threads of each weight for each CPU: shares are those of the weights, though caches have lines of their own.
#[test]
fn shares_over_several_caches_are_those_of_weights() {
    let tasks = [hog("nice0").times(4), hog("nice5").nice(5).times(4), hog("nice10").nice(10).times(4)];
    let report = run(&pairs(4), &for_ms(8000, tasks));
    for (name, weight) in [("nice0", 1024.0), ("nice5", 335.0), ("nice10", 110.0)] {
        within(share(&report, name), 100.0 * weight / 1469.0, 1.0);
    }
}

/// 24 threads on two packages of eight caches each: a third of the caches have two of them, half of these in each package.
#[test]
fn new_threads_are_spread_over_packages_evenly() {
    let report = run(&machine("epyc-9554-2s"), &for_ms(200, [hog("hog").times(24)]));
    let on = |cpus: std::ops::Range<usize>| report.cpus[cpus].iter().map(|cpu| cpu.busy_s).sum::<f64>();
    for first in [0, 64] {
        within(on(first..first + 64) + on(first + 128..first + 192), 12.0 * 0.2, 0.1);
    }
}

/// A hog has its CPU to itself for a second, as seven others idle, each with a cache of its own. Then eight threads of 400 ms come: nine
/// threads share eight CPUs, so that each of the eight waits for 50 ms, whatever the caches' clocks did meanwhile.
#[test]
fn a_cache_that_has_been_idle_gives_turns_to_others() {
    let tasks = [hog("hog"), thread("worker", [sleep(1000), work(400)]).times(8)];
    let report = run(&alone(8), &for_ms(2000, tasks));
    for worker in threads(&report, "worker") {
        within(worker.wait_time_s * 1e3, 50.0, 30.0);
    }
}
