// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads that wait for each other or for a time; and runs in which no thread ends the wait.

use tandem_simulator::simulation::SimulationError;
use tandem_simulator::workload::{Behaviour, Op};

use super::support::machine::Spec;
use super::support::workload::{TaskExt, WorkloadExt, of, repeat, sleep, thread, timer, work};
use super::support::{fail, run, same, task};

#[test]
fn a_barrier_waits_for_the_slowest() {
    let a = thread("a", [work(10), Op::Barrier(0), work(5)]);
    let b = thread("b", [work(30), Op::Barrier(0), work(5)]);
    let report = run(&Spec::cores(2).build(), &of([a, b]));
    same(report.time_s, 0.035);
    same(task(&report, "a").cpu_time_s, 0.015);
}

#[test]
fn a_lock_is_handed_over_when_it_is_released() {
    let user = |name| thread(name, [Op::Lock(0), work(10), Op::Unlock(0)]);
    let report = run(&Spec::cores(3).build(), &of([user("a"), user("b"), user("c")]));
    same(report.time_s, 0.030);
    assert_eq!(report.cpus.iter().map(|cpu| cpu.busy_s).sum::<f64>(), 0.030);
}

#[test]
fn a_lock_that_nobody_else_wants_costs_nothing() {
    let user = |mutex| thread("a", [Op::Lock(mutex), work(10), Op::Unlock(mutex)]);
    same(run(&Spec::cores(2).build(), &of([user(0), user(1)])).time_s, 0.010);
}

#[test]
fn a_spinner_burns_cpu_time_until_it_blocks() {
    // b spins for 4 of the 10 ms for which a has the lock, or for all of them.
    let burnt = |spin_ms: u64| {
        let behaviour = Behaviour { spin: spin_ms * 1_000_000, ..Behaviour::default() };
        let a = thread("a", [Op::Lock(0), work(10), Op::Unlock(0)]);
        let b = thread("b", [Op::Lock(0), work(1), Op::Unlock(0)]);
        let report = run(&Spec::cores(2).build(), &of([a, b]).behaving(behaviour));
        same(report.time_s, 0.011);
        task(&report, "b").cpu_time_s
    };
    same(burnt(0), 0.001);
    same(burnt(4), 0.005);
    same(burnt(20), 0.011);
}

#[test]
fn a_semaphore_counts_posts() {
    let poster = thread("a", [work(10), Op::SemPost(0), work(10), Op::SemPost(0)]);
    let waiter = thread("b", [Op::SemWait(0), work(5), Op::SemWait(0), work(5)]);
    let report = run(&Spec::cores(2).build(), &of([poster, waiter]));
    same(report.time_s, 0.025);
    // The semaphore is posted beforehand, so no thread waits.
    let poster = thread("a", [Op::SemPost(0), Op::SemPost(0)]);
    let waiter = thread("b", [work(5), Op::SemWait(0), work(5), Op::SemWait(0)]);
    same(run(&Spec::cores(2).build(), &of([poster, waiter])).time_s, 0.010);
}

#[test]
fn a_condition_wakes_who_waits_for_it() {
    let waiter = thread("a", [Op::Lock(0), Op::Wait { condition: 0, mutex: 0 }, work(5), Op::Unlock(0)]);
    let signaller = thread("b", [work(10), Op::Lock(0), Op::Signal(0), work(2), Op::Unlock(0)]);
    // Signalled at 10 ms, a has the mutex from 12 ms on.
    same(run(&Spec::cores(2).build(), &of([waiter, signaller])).time_s, 0.017);
}

#[test]
fn a_broadcast_wakes_all() {
    let waiter = thread("a", [Op::Lock(0), Op::Wait { condition: 0, mutex: 0 }, Op::Unlock(0), work(5)]).times(3);
    let caller = thread("b", [work(10), Op::Broadcast(0)]);
    same(run(&Spec::cores(4).build(), &of([waiter, caller])).time_s, 0.015);
}

#[test]
fn a_suspended_thread_waits_for_a_resume() {
    let report = run(
        &Spec::cores(2).build(),
        &of([thread("a", [Op::Suspend, work(5)]), thread("b", [work(10), Op::Resume(0)])]),
    );
    same(report.time_s, 0.015);
}

#[test]
fn a_join_waits_for_the_last_child() {
    let parent = thread("parent", [Op::Fork(1), Op::Fork(2), Op::Join, work(1)]);
    let children = [thread("short", [work(10)]).times(0), thread("long", [work(20)]).times(0)];
    let [short, long] = children;
    let report = run(&Spec::cores(3).build(), &of([parent, short, long]));
    same(report.time_s, 0.021);
    same(task(&report, "parent").cpu_time_s, 0.001);
    assert_eq!(report.apps[0].threads, 3);
}

#[test]
fn a_timer_keeps_its_period_whatever_the_work() {
    let report = run(&Spec::cores(1).build(), &of([thread("a", repeat(5, [work(3), timer(10)]))]));
    same(report.time_s, 0.050);
    same(report.cpus[0].busy_s, 0.015);
}

#[test]
fn a_missed_expiry_starts_the_timer_anew() {
    // 14 ms of work miss the expiry at 10; the next ones are at 24 and 34.
    let program = [work(14), timer(10), work(1), timer(10), work(1), timer(10)];
    same(run(&Spec::cores(1).build(), &of([thread("a", program)])).time_s, 0.034);
}

#[test]
fn a_delay_comes_before_the_first_step() {
    same(run(&Spec::cores(1).build(), &of([thread("a", [work(5)]).after(20)])).time_s, 0.025);
}

/// The threads that wait, each with what it waits for.
fn waiters(error: SimulationError) -> Vec<(String, String)> {
    let SimulationError::Stuck { waiters, .. } = error else { panic!("{error}") };
    waiters.into_iter().map(|waiter| (waiter.thread, waiter.waits_for)).collect()
}

#[test]
fn a_deadlock_is_reported_with_who_holds_what() {
    let a = thread("a", [Op::Lock(0), sleep(1), Op::Lock(1)]);
    let b = thread("b", [Op::Lock(1), sleep(1), Op::Lock(0)]);
    let error = fail(&Spec::cores(2).build(), &of([a, b]));
    let text = error.to_string();
    assert!(text.starts_with("the simulation cannot end: at 0.001 s every thread waits"), "{text}");
    let expected = [("a", "mutex `mutex1`, held by b"), ("b", "mutex `mutex0`, held by a")];
    assert_eq!(waiters(error), expected.map(|(who, what)| (who.to_owned(), what.to_owned())));
}

#[test]
fn what_nobody_will_do_is_named() {
    let stuck = |op: Op| {
        let workload = of([thread("a", [op]), thread("b", [sleep(1)]), thread("c", [sleep(1)])]);
        let found = waiters(fail(&Spec::cores(1).build(), &workload));
        assert_eq!((found.len(), found[0].0.as_str()), (1, "a"));
        found[0].1.clone()
    };
    assert_eq!(stuck(Op::Barrier(0)), "barrier `barrier0`, where 1 of 3 threads have arrived");
    assert_eq!(stuck(Op::SemWait(2)), "semaphore `semaphore2`, which nobody posts");
    assert_eq!(stuck(Op::Suspend), "a `resume`");
    assert_eq!(stuck(Op::Wait { condition: 1, mutex: 0 }), "condition `condition1`, which nobody signals");
}

#[test]
fn a_mutex_whose_holder_has_ended_is_named_so() {
    let workload = of([thread("a", [Op::Lock(0)]), thread("b", [sleep(1), Op::Lock(0)])]);
    let found = waiters(fail(&Spec::cores(1).build(), &workload));
    assert_eq!(found, [("b".to_owned(), "mutex `mutex0`, held by a, which has ended".to_owned())]);
}

#[test]
fn noise_that_goes_on_for_ever_does_not_hide_a_deadlock() {
    let forever = vec![Op::LoopStart { counter: 0, count: None, end: 2 }, sleep(1), Op::LoopEnd { start: 0 }];
    let workload = of([thread("a", [Op::SemWait(0)]), thread("noise", forever).system()]);
    assert_eq!(waiters(fail(&Spec::cores(1).build(), &workload)).len(), 1);
}

#[test]
fn a_loop_that_consumes_no_time_is_reported() {
    let forever = vec![Op::LoopStart { counter: 0, count: None, end: 2 }, Op::SemPost(0), Op::LoopEnd { start: 0 }];
    let error = fail(&Spec::cores(1).build(), &of([thread("a", forever)]));
    assert!(matches!(&error, SimulationError::NoProgress { thread, at: 0 } if thread == "a"), "{error}");
}
