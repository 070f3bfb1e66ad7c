// SPDX-License-Identifier: GPL-2.0-only
//! What real-time threads, interrupts and heat take of CPUs counts when a place is chosen.

use tandem_simulator::machine::Machine;
use tandem_simulator::metrics::Report;
use tandem_simulator::simulation::{Options, Profile, SchedExt, Scheduler};
use tandem_simulator::units::USEC;
use tandem_simulator::workload::{BehaviourId, InterruptSpec, Op, Policy, Span, TaskSpec, Workload};

use super::run::{for_ms, forever, hog, longest_wakeup_us, options, periodic, run, threads, unequal, with, within};
use crate::equal;
use crate::long::combinations::scheduler::audited_run;
use crate::long::combinations::support::machine::{Cluster, Package, Spec};
use crate::long::combinations::support::workload::{TaskExt, sleep, thread, work};

/// A real-time thread that has six of ten milliseconds of CPU 0.
fn real_time() -> TaskSpec {
    periodic("real-time", 6, 10).on(&[0]).policy(Policy::Fifo { priority: 1 })
}

/// These threads beside interrupts that take so many microseconds of each millisecond of these CPUs.
fn interrupted(cpus: &[u32], us: u64, workload: Workload) -> Workload {
    let source = InterruptSpec {
        name: "device".into(),
        gap: Span::fixed(1000 * USEC),
        hard: Span::fixed(us * USEC),
        soft: Span::fixed(0),
        cpus: Some(cpus.to_vec()),
        follows_tick: false,
    };
    Workload { interrupts: vec![source], ..workload }
}

/// Work of all threads of a name, in milliseconds of the fastest CPU.
fn done(report: &Report, name: &str) -> f64 {
    threads(report, name).iter().map(|thread| thread.work_s * 1e3).sum()
}

/// The same run under the kernel's own scheduler.
fn under_fair(machine: &Machine, workload: &Workload) -> Report {
    audited_run(machine, workload, &Options { scheduler: Scheduler::Fair, ..options(with(&[])) })
}

/// What ran on CPU 0 as the real-time thread came is due later than a light thread that wakes: that must not take it for what runs there, and
/// wait for up to 6 ms. It has another CPU at once, most often.
#[test]
fn what_wakes_takes_no_cpu_from_a_real_time_thread() {
    let light = |number: u64| thread(&format!("light-{number}"), forever([work(1), sleep(20 + number)])).after(50);
    let tasks: Vec<_> = (0..8).map(light).chain([real_time(), hog("hog").times(8)]).collect();
    for kernel in [Profile::V6_12, Profile::V7] {
        let scheduler = SchedExt { profile: Some(kernel), ..with(&[]) };
        let report = audited_run(&equal::machine(4), &for_ms(4000, tasks.clone()), &options(scheduler));
        for thread in threads(&report, "light") {
            let latency = thread.timing.wakeup_latency_ns.unwrap();
            assert!(latency.p95 < 2_000_000, "{latency:?} on {kernel:?}");
        }
    }
}

/// Half of CPU 0 is taken, and one of four CPUs is free: three threads do three CPUs' work, but for what CPU 0 took until that was seen.
#[test]
fn what_computes_leaves_a_cpu_that_interrupts_take_half_of() {
    let machine = equal::machine(4);
    let workload = interrupted(&[0], 500, for_ms(2000, [hog("hog").times(3)]));
    let report = run(&machine, &workload);
    within(done(&report, "hog"), 3.0 * 2000.0, 120.0);
    assert!(done(&report, "hog") >= done(&under_fair(&machine, &workload), "hog"));
}

/// Where all CPUs are busy nothing is better than to stay: three and a half CPUs' work.
#[test]
fn where_no_cpu_is_idle_what_computes_stays() {
    let workload = interrupted(&[0], 500, for_ms(2000, [hog("hog").times(4)]));
    let report = run(&equal::machine(4), &workload);
    within(done(&report, "hog"), 3.5 * 2000.0, 20.0);
    let moved: u64 = threads(&report, "hog").iter().map(|thread| thread.migrations).sum();
    assert!(moved <= 8, "{moved} migrations");
}

/// Threads that need 3 ms of 8, on four CPUs: with three of them undisturbed one round in a hundred at most begins on the fourth.
#[test]
fn what_wakes_keeps_off_a_cpu_that_interrupts_take_half_of() {
    let machine = equal::machine(4);
    let tasks = (0..3).map(|number| thread(&format!("wakes-{number}"), forever([work(3), sleep(5 + number)])));
    let workload = interrupted(&[0], 500, for_ms(10_000, tasks.collect::<Vec<_>>()));
    let report = run(&machine, &workload);
    for thread in threads(&report, "wakes") {
        let response = thread.timing.response_ns.unwrap();
        assert!(response.p95 < 3_100_000, "{response:?}");
    }
}

/// A quarter of the fast CPU is left, and a slow one does twice as much: that is where the thread goes.
#[test]
fn a_fast_cpu_that_interrupts_slow_down_is_a_slow_one() {
    let machine = unequal(1, 1);
    let workload = interrupted(&[0], 750, for_ms(4000, [hog("hog")]));
    let report = run(&machine, &workload);
    within(done(&report, "hog"), 0.5 * 4000.0, 100.0);
    assert!(done(&report, "hog") >= done(&under_fair(&machine, &workload), "hog"));
}

/// Three quarters of it are left: that is still more than a slow one.
#[test]
fn a_fast_cpu_that_is_still_faster_is_used() {
    let report = run(&unequal(1, 1), &interrupted(&[0], 250, for_ms(2000, [hog("hog")])));
    within(done(&report, "hog"), 0.75 * 2000.0, 20.0);
}

/// A real-time thread has six tenths of the fast CPU. While it sleeps that is twice as fast as the slow one, and to go to and fro is
/// better than to stay: 0.4 + 0.6 / 2. Capacity alone, as fair has it, would leave the thread on the slow CPU with a half.
#[test]
fn a_fast_cpu_is_used_while_a_real_time_thread_sleeps() {
    let machine = unequal(1, 1);
    let workload = for_ms(2000, [real_time(), hog("hog")]);
    let report = run(&machine, &workload);
    within(done(&report, "hog"), 0.7 * 2000.0, 30.0);
    assert!(done(&report, "hog") >= 1.3 * done(&under_fair(&machine, &workload), "hog"));
}

/// A real-time thread has 60 ms of each 100. It may come while a thread is on its way to its CPU, which is idle and takes 75 us to wake: the
/// kernel tells nobody of that, and the thread waits for it to sleep. So it is better not to go there: one run in six, in which it comes so
/// for the first time, may have it.
#[test]
fn what_wakes_keeps_off_a_cpu_that_a_real_time_thread_has_half_of() {
    let machine = Machine::load("core2-q6600").unwrap();
    let real_time = periodic("real-time", 60, 100).on(&[0]).policy(Policy::Fifo { priority: 1 });
    let us = |us: u64| Span::fixed(us * USEC);
    let body = [Op::Run { work: us(200), behaviour: BehaviourId(0) }, Op::Sleep(us(300))];
    let workload = for_ms(2000, [thread("wakes", forever(body)).times(5).after(65), real_time]);
    let late = (1..=6).filter(|seed| {
        let mut options = Options { seed: *seed, ..options(with(&[])) };
        options.kernel.disturbances = true;
        longest_wakeup_us(&audited_run(&machine, &workload, &options), "wakes") > 10_000.0
    });
    let late = late.count();
    assert!(late <= 1, "{late} runs of 6");
}

/// Two packages of two cores that draw 1 W idle, 5 W at 1 GHz and 10 W at 2 GHz each. The first may draw 6 W: with one busy core that is its
/// lowest clock.
fn hot() -> Machine {
    let limit =
        "power_limit = { long_watts = 5, long_tau_s = 1, short_watts = 6 }\nthrottle_seen_as = \"cpufreq_pressure\"\n";
    let packages = vec![Package { more: limit.into(), ..Package::default() }, Package::default()];
    let cores = |package| Cluster { cores: 2, package, domain: "cluster", ..Cluster::default() };
    Spec { packages, ..Spec::clusters([cores(0), cores(1)]) }.build()
}

/// Two threads begin on a core of each package. One leaves its core at half the speed, and both have what they want.
#[test]
fn what_computes_leaves_a_cluster_that_is_too_hot() {
    let workload = for_ms(4000, [hog("hog").times(2)]);
    let mut options = options(with(&[]));
    options.kernel.hot_start = true;
    let report = audited_run(&hot(), &workload, &options);
    let fair = audited_run(&hot(), &workload, &Options { scheduler: Scheduler::Fair, ..options.clone() });
    within(done(&report, "hog"), 2.0 * 4000.0, 100.0);
    assert!(done(&report, "hog") >= 1.3 * done(&fair, "hog"));
}
