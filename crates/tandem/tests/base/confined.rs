// SPDX-License-Identifier: GPL-2.0-only
//! Threads that may run on some CPUs only: several, but not all.

use std::ops::Range;

use proptest::prelude::*;
use tandem_simulator::metrics::Report;
use tandem_simulator::workload::{CgroupSpec, CgroupWrite, TaskSpec, Workload};

use super::fluid::{self, Hog};
use super::run::{for_ms, hog, pairs, periodic, run, threads, time, within};
use crate::equal;
use crate::long::combinations::support::any_options::cases;
use crate::long::combinations::support::workload::TaskExt;

/// Weights of the fair class by nice value: -20, -15 and so on.
const WEIGHTS: [f64; 8] = [88761.0, 29154.0, 9548.0, 3121.0, 1024.0, 335.0, 110.0, 36.0];

/// How far a thread is from the fluid model at most, in a set that shares no CPU with others: a turn of each other thread of the set
/// whenever the price of work doubles, up to a dozen times after somebody came. Of 2,000 random cases one was 756 ms away, a late thread of
/// nice -20; of 200 others nine of ten were within 70 ms.
const DISJOINT_MS: f64 = 1000.0;

/// The CPU time of two heavy threads beside two plain ones on two CPUs, of 8 s each.
const HEAVY_MS: f64 = 16_000.0 * 9548.0 / 10572.0;

fn heavy_and_plain(cpus: &[u32]) -> [TaskSpec; 2] {
    [hog("heavy").on(cpus).nice(-10).times(2), hog("plain").on(cpus).times(2)]
}

/// What runs elsewhere takes the line's clock ahead of all that share two CPUs.
#[test]
fn confined_threads_share_by_weight_whatever_runs_elsewhere() {
    for elsewhere in [-10, 0, 15] {
        let [heavy, plain] = heavy_and_plain(&[0, 1]);
        let report = run(&equal::machine(3), &for_ms(8000, [heavy, plain, hog("alone").nice(elsewhere)]));
        within(time(&report, "heavy"), HEAVY_MS, 80.0);
    }
}

/// The same where caches have lines of their own, and the two CPUs are of different ones.
#[test]
fn confined_threads_of_two_lines_share_by_weight() {
    let [heavy, plain] = heavy_and_plain(&[1, 2]);
    let report = run(&pairs(4), &for_ms(8000, [heavy, plain, hog("alone").times(2).on(&[0, 3])]));
    within(time(&report, "heavy"), HEAVY_MS, 400.0);
}

fn cpuset(path: &str, weight: u32, cpus: Range<u32>) -> CgroupSpec {
    let writes = vec![(0, CgroupWrite::Weight(weight)), (0, CgroupWrite::Cpus(cpus.collect()))];
    CgroupSpec { path: path.into(), made: 0, removed: None, writes, util_min: None, util_max: None }
}

/// Groups of weight 1000 and 100 in each of two cpusets, one of which has a third of the work.
#[test]
fn groups_share_a_cpuset_by_weight() {
    let sets = [("a", 0..2, 3), ("b", 2..4, 1)];
    let names = || {
        sets.iter().flat_map(|(set, cpus, threads)| [1000, 100].map(|weight| (*set, weight, cpus.clone(), *threads)))
    };
    let groups: Vec<_> =
        names().map(|(set, weight, cpus, _)| cpuset(&format!("/{set}{weight}"), weight, cpus)).collect();
    let tasks = names().map(|(set, weight, _, threads)| TaskSpec {
        task_group: Some(format!("/{set}{weight}")),
        ..hog(&format!("{set}{weight}")).times(threads)
    });
    let tasks: Vec<_> = tasks.collect();
    let report = run(&equal::machine(4), &Workload { cgroups: groups, ..for_ms(8000, tasks) });
    within(time(&report, "a1000"), 16_000.0 * 1000.0 / 1100.0, 80.0);
    within(time(&report, "b1000"), 8000.0, 20.0);
}

/// Thirty that wait for other CPUs are due before all of them.
#[test]
fn weights_count_whoever_waits_for_other_cpus() {
    let [heavy, plain] = heavy_and_plain(&[2, 3]);
    let report = run(&equal::machine(4), &for_ms(8000, [hog("crowd").on(&[0, 1]).times(30), heavy, plain]));
    within(time(&report, "heavy"), HEAVY_MS, 80.0);
    assert!(report.migrations < 500, "{}", report.migrations);
}

/// Sleep saves up a little for each, and weights count all the same.
#[test]
fn confined_threads_that_sleep_between_have_no_more_than_their_weight() {
    let sleepers = periodic("sleeper", 3, 5).on(&[0, 1]).times(6);
    let tasks = [hog("heavy").on(&[0, 1]).nice(-5), sleepers, hog("weak").on(&[0, 1]).nice(10), hog("free").times(6)];
    let report = run(&equal::machine(4), &for_ms(8000, tasks));
    let all = 3121.0 + 6.0 * 1024.0 + 110.0;
    within(time(&report, "heavy"), 16_000.0 * 3121.0 / all, 80.0);
    within(time(&report, "weak"), 16_000.0 * 110.0 / all, 40.0);
}

/// A thread was alone on its CPU for four seconds while a lighter one took the clock ahead: it neither owes that nor is owed anything.
#[test]
fn what_was_alone_shares_with_what_comes_late() {
    let tasks = [hog("first").nice(4), hog("light").nice(17), hog("late").times(2).nice(-10).after(4000)];
    let report = run(&equal::machine(2), &for_ms(8000, tasks));
    within(time(&report, "late"), 8000.0 * 2.0 * 9548.0 / (2.0 * 9548.0 + 423.0 + 23.0), 60.0);
}

/// Hogs and their run for 8 s.
struct Ran {
    hogs: Vec<Hog>,
    report: Report,
    due: Vec<f64>,
}

fn ran(cpus: u32, hogs: Vec<Hog>) -> Ran {
    let spec = |(at, hog_of): (usize, &Hog)| {
        let step = WEIGHTS.iter().position(|weight| *weight == hog_of.weight).unwrap();
        let on: Vec<u32> = (0..cpus).filter(|cpu| hog_of.cpus >> cpu & 1 == 1).collect();
        hog(&format!("t{at}")).on(&on).nice(5 * step as i8 - 20).after(hog_of.since_ms)
    };
    let tasks: Vec<TaskSpec> = hogs.iter().enumerate().map(spec).collect();
    let report = run(&equal::machine(cpus as usize), &for_ms(8000, tasks));
    let due = fluid::times(&hogs, cpus, 8000);
    Ran { hogs, report, due }
}

impl Ran {
    fn time(&self, at: usize) -> f64 {
        threads(&self.report, &format!("t{at}"))[0].cpu_time_s * 1e3
    }

    /// How far a thread is from the fluid model at most, in milliseconds, and a story of it.
    fn lag(&self) -> (f64, String) {
        let lag = |at: usize| (self.time(at) - self.due[at]).abs();
        let worst = (0..self.hogs.len()).max_by(|one, other| lag(*one).total_cmp(&lag(*other))).unwrap();
        let story = format!("{:?}: {} ms of {}", self.hogs[worst], self.time(worst), self.due[worst]);
        (lag(worst), story)
    }
}

fn weight() -> impl Strategy<Value = f64> {
    (0..WEIGHTS.len()).prop_map(|step| WEIGHTS[step])
}

/// Threads on one to three CPUs that no others may use: their weights, and since when.
fn own_set() -> impl Strategy<Value = (u32, Vec<(f64, u64)>)> {
    let since = prop_oneof![2 => Just(0_u64), 1 => 1..4000_u64];
    (1_u32..4, prop::collection::vec((weight(), since), 1..7))
}

proptest! {
    #![proptest_config(cases(24, 2000))]

    /// Sets that have no CPU in common: each is as a machine of its own.
    #[test]
    fn disjoint_sets_are_near_the_fluid_model(sets in prop::collection::vec(own_set(), 1..4)) {
        let mut hogs = Vec::new();
        let mut first = 0;
        for (size, threads) in sets {
            let cpus = ((1 << size) - 1) << first;
            first += size;
            hogs.extend(threads.into_iter().map(|(weight, since_ms)| Hog { weight, cpus, since_ms }));
        }
        let (lag, story) = ran(first, hogs).lag();
        prop_assert!(lag < DISJOINT_MS, "{story}");
    }

    /// Sets of any kind: of two threads of a set the heavier has no less than the lighter.
    #[test]
    fn weights_are_never_turned_around(
        cpus in 2_u32..6,
        hogs in prop::collection::vec((weight(), any::<u32>()), 2..12),
    ) {
        let all = (1 << cpus) - 1;
        let any = hogs.into_iter().map(|(weight, bits)| Hog { weight, cpus: Some(bits & all).filter(|set| *set > 0).unwrap_or(all), since_ms: 0 });
        let ran = ran(cpus, any.collect());
        for (at, one) in ran.hogs.iter().enumerate() {
            for (with, other) in ran.hogs.iter().enumerate() {
                let turned = one.cpus == other.cpus && one.weight > other.weight && ran.time(at) < ran.time(with) - DISJOINT_MS;
                prop_assert!(!turned, "{one:?} has {} ms, {other:?} {}", ran.time(at), ran.time(with));
            }
        }
    }
}
