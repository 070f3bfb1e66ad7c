// SPDX-License-Identifier: GPL-2.0-only
//! Threads that may run on one CPU only, kernel threads among them.

use proptest::prelude::*;
use tandem_simulator::workload::{Policy, TaskSpec};

use super::run::{for_ms, hog, longest_wakeup_us, periodic, run, share, threads, time, within};
use crate::equal;
use crate::long::combinations::support::any_options::cases;
use crate::long::combinations::support::workload::TaskExt;

/// One CPU is a hog's that outweighs all others, so that the free thread shares the pinned one's.
#[test]
fn a_pinned_thread_and_a_free_one_share_by_weight() {
    for (nice, percent) in [(0, 50.0), (5, 100.0 * 335.0 / 1359.0), (-5, 100.0 * 3121.0 / 4145.0)] {
        let tasks = [hog("pinned").on(&[0]).nice(nice), hog("free").on(&[0, 2]), hog("first").on(&[2]).nice(-20)];
        let report = run(&equal::machine(3), &for_ms(4000, tasks));
        let (pinned, free) = (time(&report, "pinned"), time(&report, "free"));
        within(100.0 * pinned / (pinned + free), percent, 1.5);
    }
}

#[test]
fn two_pinned_threads_share_by_weight() {
    for (nice, percent) in [(0, 50.0), (5, 100.0 * 335.0 / 1359.0), (-20, 100.0 * 88761.0 / 89785.0)] {
        let tasks = [hog("one").on(&[1]).nice(nice), hog("other").on(&[1])];
        within(share(&run(&equal::machine(2), &for_ms(4000, tasks)), "one"), percent, 0.5);
    }
}

#[test]
fn a_pinned_thread_of_the_idle_class_has_its_share() {
    let tasks = [hog("idle").on(&[1]).policy(Policy::Idle), hog("other").on(&[1])];
    within(share(&run(&equal::machine(2), &for_ms(8000, tasks)), "idle"), 100.0 * 3.0 / 1027.0, 0.1);
}

/// It was alone for four seconds, and has its share from then on, give or take three turns: it neither pays for these nor goes on as
/// before.
#[test]
fn a_pinned_thread_of_the_idle_class_does_not_pay_for_what_nobody_wanted() {
    let tasks = [hog("idle").on(&[1]).policy(Policy::Idle), hog("other").on(&[1]).after(4000)];
    let idle = time(&run(&equal::machine(2), &for_ms(12_000, tasks)), "idle") - 4000.0;
    within(idle, 8000.0 * 3.0 / 1027.0, 12.0);
}

#[test]
fn a_pinned_thread_and_two_free_ones_share_two_cpus() {
    let tasks = [hog("pinned").on(&[0]), hog("free").times(2)];
    let report = run(&equal::machine(2), &for_ms(3000, tasks));
    within(time(&report, "pinned"), 2000.0, 60.0);
    for thread in threads(&report, "free") {
        within(thread.cpu_time_s * 1e3, 2000.0, 60.0);
    }
}

#[test]
fn pinned_threads_of_one_cpu_share_it() {
    let tasks = [hog("plain").on(&[1]).times(2), hog("nice").on(&[1]).nice(5)];
    let report = run(&equal::machine(2), &for_ms(4000, tasks));
    within(share(&report, "nice"), 100.0 * 335.0 / 2383.0, 0.7);
}

#[test]
fn a_pinned_thread_that_wakes_takes_its_busy_cpu() {
    let tasks = [hog("hog").times(4), periodic("pinned", 1, 20).on(&[1])];
    let report = run(&equal::machine(2), &for_ms(1000, tasks));
    let longest = longest_wakeup_us(&report, "pinned");
    assert!(longest < 10.0, "{longest} us");
}

#[test]
fn a_kernel_thread_of_a_busy_cpu_runs_at_once() {
    let kernel = |cpu: u32| TaskSpec { kernel_thread: true, ..periodic(&format!("k{cpu}"), 1, 25).on(&[cpu]).system() };
    let tasks = [hog("hog").times(6), kernel(0), kernel(1)];
    let report = run(&equal::machine(2), &for_ms(1000, tasks));
    for name in ["k0", "k1"] {
        let longest = longest_wakeup_us(&report, name);
        assert!(longest < 10.0, "{name}: {longest} us");
    }
}

/// A thread that may use two of four CPUs, beside four that may use all: nothing is lost.
#[test]
fn some_cpus_only() {
    let tasks = [hog("some").on(&[2, 3]), hog("free").times(4)];
    let report = run(&equal::machine(4), &for_ms(2000, tasks));
    within(time(&report, "some") + time(&report, "free"), 8000.0, 1.0);
    within(time(&report, "some"), 1600.0, 80.0);
}

/// Those that may run on the other CPUs only are due first for as long as they wait, and are none of its CPU's business.
#[test]
fn a_pinned_thread_shares_with_a_free_one_whoever_waits_for_other_cpus() {
    let tasks = [hog("others").on(&[0, 1]).times(8), hog("pinned").on(&[2]), hog("free")];
    let report = run(&equal::machine(3), &for_ms(4000, tasks));
    within(time(&report, "pinned"), 2000.0, 150.0);
    within(time(&report, "free"), 2000.0, 150.0);
}

/// What ran alone beside others that may not run there owes these nothing when they come.
#[test]
fn what_ran_alone_owes_nothing_to_those_that_could_not_run() {
    let tasks = [hog("others").on(&[0]).times(3), hog("alone"), hog("late").after(6000)];
    let report = run(&equal::machine(2), &for_ms(8000, tasks));
    within(time(&report, "late"), 1000.0, 100.0);
}

/// Weights of the fair class by nice value: -20, -15 and so on.
const WEIGHTS: [f64; 8] = [88761.0, 29154.0, 9548.0, 3121.0, 1024.0, 335.0, 110.0, 36.0];

fn nice(step: usize) -> i8 {
    5 * step as i8 - 20
}

/// What runs elsewhere takes its line's clock ahead of all that share CPU 0.
#[test]
fn pinned_threads_share_by_weight_whatever_runs_elsewhere() {
    for elsewhere in [-10, 0, 15] {
        let tasks = [hog("strong").on(&[0]).nice(-10), hog("plain").on(&[0]), hog("alone").on(&[1]).nice(elsewhere)];
        let report = run(&equal::machine(2), &for_ms(8000, tasks));
        within(time(&report, "strong"), 8000.0 * 9548.0 / 10572.0, 40.0);
    }
}

/// One that comes late neither waits for what another one had alone nor is paid for it.
#[test]
fn a_pinned_thread_that_comes_late_has_its_share_from_then_on() {
    let tasks = [hog("first").on(&[0]), hog("late").on(&[0]).nice(-10).after(4000), hog("alone").on(&[1]).nice(15)];
    let report = run(&equal::machine(2), &for_ms(8000, tasks));
    within(time(&report, "late"), 4000.0 * 9548.0 / 10572.0, 60.0);
}

/// Sleep saves up a little for each, and weights count all the same.
#[test]
fn pinned_threads_that_sleep_between_have_no_more_than_their_weight() {
    let sleepers = TaskSpec { instances: 3, ..periodic("sleeper", 3, 5).on(&[0]) };
    let tasks = [hog("strong").on(&[0]).nice(-10), sleepers, hog("weak").on(&[0]).nice(10), hog("free").times(6)];
    let report = run(&equal::machine(4), &for_ms(8000, tasks));
    let all = 9548.0 + 3.0 * 1024.0 + 110.0;
    within(time(&report, "strong"), 8000.0 * 9548.0 / all, 80.0);
    within(time(&report, "sleeper"), 8000.0 * 3.0 * 1024.0 / all, 80.0);
}

proptest! {
    #![proptest_config(cases(24, 2000))]

    /// Hogs of any weights that share a CPU, beside hogs of any weights on each of the others: each has its share of its CPU.
    #[test]
    fn any_pinned_hogs_share_each_cpu_by_weight(
        shares in prop::collection::vec(prop::collection::vec(0_usize..WEIGHTS.len(), 1..5), 2..4),
        free in 0_u32..3,
    ) {
        let cpus = shares.len() as u32 + free;
        let hogs = shares.iter().enumerate().flat_map(|(cpu, steps)| {
            let one = move |(at, step): (usize, &usize)| hog(&format!("{cpu}.{at}")).on(&[cpu as u32]).nice(nice(*step));
            steps.iter().enumerate().map(one)
        });
        let tasks: Vec<TaskSpec> = hogs.collect();
        let report = run(&equal::machine(cpus as usize), &for_ms(8000, tasks));
        for (cpu, steps) in shares.iter().enumerate() {
            let all: f64 = steps.iter().map(|step| WEIGHTS[*step]).sum();
            for (at, step) in steps.iter().enumerate() {
                let (time, due) = (time(&report, &format!("{cpu}.{at}")), 8000.0 * WEIGHTS[*step] / all);
                // A turn of each other thread whenever the price of work doubles; what has waited for 5 s has one whatever its weight.
                prop_assert!((time - due).abs() < 250.0, "CPU {cpu}, nice {}: {time} ms of {due}", nice(*step));
            }
        }
    }
}
