// SPDX-License-Identifier: GPL-2.0-only
//! A thread that wakes takes the CPU of one that is due later, or an idle one.

use tandem_simulator::metrics::Report;
use tandem_simulator::units::USEC;
use tandem_simulator::workload::{BehaviourId, Op, Policy, Span};

use super::run::{counted, for_ms, forever, hog, longest_wakeup_us, periodic, run, threads, time, unequal, within};
use crate::equal;
use crate::long::combinations::support::workload::{TaskExt, thread};

#[test]
fn what_needs_little_has_the_cpu_at_once() {
    for hogs in [1, 4] {
        let report =
            run(&equal::machine(1), &for_ms(1000, [hog("hog").times(hogs), periodic("light", 1, 20).after(30)]));
        let longest = longest_wakeup_us(&report, "light");
        assert!(longest < 10.0, "{longest} us beside {hogs}");
        within(time(&report, "light"), 49.0, 1.0);
    }
}

#[test]
fn what_has_had_more_than_its_share_waits() {
    let report = run(&equal::machine(1), &for_ms(2000, [hog("hog"), periodic("heavy", 9, 10)]));
    within(time(&report, "heavy"), 1000.0, 50.0);
}

/// It waits for the end of a slice, at a tick.
#[test]
fn batch_threads_wait_for_the_end_of_a_slice() {
    let batch = periodic("batch", 1, 23).policy(Policy::Batch { nice: 0 });
    let report = run(&equal::machine(1), &for_ms(1000, [hog("hog"), batch]));
    let longest = longest_wakeup_us(&report, "batch");
    assert!((1000.0..=8000.0).contains(&longest), "{longest} us");
}

/// On four CPUs, all busy, without the luck of a free one: each thread takes some CPU.
#[test]
fn light_threads_find_a_busy_cpu_to_take() {
    let report = run(&equal::machine(4), &for_ms(1000, [hog("hog").times(8), periodic("light", 1, 20).times(4)]));
    let light = super::run::threads(&report, "light");
    for thread in light {
        let p95 = thread.timing.wakeup_latency_ns.unwrap().p95;
        assert!(p95 <= 1_000_000, "{p95} ns");
    }
}

/// No fast CPU is idle, and the slow ones are alike: the one where the thread was sleeps least deeply.
#[test]
fn what_wakes_stays_on_its_slow_cpu_while_no_faster_one_is_idle() {
    let tasks = [hog("hog").times(2), periodic("light", 1, 10).after(100)];
    let report = run(&unequal(2, 4), &for_ms(2000, tasks));
    let light = threads(&report, "light")[0];
    assert!(light.migrations <= 2, "{} migrations", light.migrations);
}

/// Some forty wakeups in each millisecond and CPU: one in a quarter of it takes the CPU, and those that wait by then have theirs after it.
#[test]
fn many_that_wake_take_a_cpu_four_times_a_millisecond() {
    let us = |us: u64| Span::fixed(us * USEC);
    let light = |number: u64| {
        let body = [Op::Run { work: us(10), behaviour: BehaviourId(0) }, Op::Sleep(us(400 + 13 * number))];
        thread(&format!("light-{number}"), forever(body))
    };
    let on = |cpus: u32| {
        let lights = (0..20).map(|number| light(number).times(cpus));
        let tasks: Vec<_> = lights.chain([hog("hog").times(cpus)]).collect();
        run(&equal::machine(cpus as usize), &for_ms(1000, tasks))
    };
    let rounds = |report: &Report| (time(report, "light") / 0.010) as u64;

    let two = on(2);
    let taken = counted(&two, "base_preempted");
    assert!((2000..=8006).contains(&taken), "{taken} times");
    assert!(rounds(&two) >= 60 * 1000, "{}", rounds(&two));

    // With one CPU each round is a switch, and so is what goes on after each taking, or after a tick.
    let one = on(1);
    assert!(one.switches <= rounds(&one) + 4003 + 250, "{} for {} rounds", one.switches, rounds(&one));
    assert!(rounds(&one) >= 25 * 1000, "{}", rounds(&one));
}
