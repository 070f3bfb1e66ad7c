// SPDX-License-Identifier: MIT OR Apache-2.0
//! Scheduling classes and weights: which thread gets the CPU, and how much of it.

use tandem_simulator::metrics::Report;
use tandem_simulator::simulation::{KernelParameters, Options, simulate};
use tandem_simulator::units::{MSEC, SEC};
use tandem_simulator::workload::{Op, Policy, Scheduling, TaskSpec, Workload};

use super::support::audit::Audit;
use super::support::machine::Spec;
use super::support::workload::{TaskExt, of, repeat, thread, work};
use super::support::{about, governed, run, run_with, same, task};

/// Ten seconds of these two threads on one CPU.
fn ten_seconds(a: TaskSpec, b: TaskSpec) -> Report {
    let options = Options { time_limit: Some(10 * SEC), ..governed("performance") };
    run_with(&Spec::cores(1).build(), &of([a, b]), &options)
}

fn hog(name: &str) -> TaskSpec {
    thread(name, [work(100_000)])
}

#[test]
fn fifo_runs_at_once_and_to_its_end() {
    let fifo = thread("fifo", [work(30)]).policy(Policy::Fifo { priority: 1 }).after(20);
    let report = run(&Spec::cores(1).build(), &of([thread("fair", [work(100)]), fifo]));
    same(task(&report, "fifo").wait_time_s, 0.0);
    same(task(&report, "fair").wait_time_s, 0.030);
    same(report.time_s, 0.130);
}

#[test]
fn the_higher_priority_goes_first() {
    let fifo = |name, priority| thread(name, [work(10)]).policy(Policy::Fifo { priority });
    let report = run(&Spec::cores(1).build(), &of([fifo("low", 1), fifo("high", 50), fifo("middle", 20)]));
    same(task(&report, "high").wait_time_s, 0.0);
    same(task(&report, "middle").wait_time_s, 0.010);
    same(task(&report, "low").wait_time_s, 0.020);
}

#[test]
fn round_robin_takes_turns_of_100_ms_and_fifo_does_not() {
    let pair = |policy| {
        let report = run(
            &Spec::cores(1).build(),
            &of([thread("a", [work(250)]).policy(policy), thread("b", [work(250)]).policy(policy)]),
        );
        task(&report, "a").wait_time_s
    };
    same(pair(Policy::Fifo { priority: 5 }), 0.0);
    // a 100, b 100, a 100, b 100, a 50, b 50: a waited twice. Slices end on ticks of 4 ms.
    about(pair(Policy::RoundRobin { priority: 5 }), 0.2, 0.05);
}

#[test]
fn throttling_leaves_fair_tasks_a_twentieth() {
    let report = ten_seconds(hog("rt").policy(Policy::Fifo { priority: 50 }), hog("fair"));
    about(task(&report, "fair").cpu_time_s, 0.5, 0.1);
    same(task(&report, "fair").cpu_time_s + task(&report, "rt").cpu_time_s, 10.0);
}

#[test]
fn throttling_ends_when_no_fair_task_is_left() {
    // The fair thread gets its 10 ms once the real-time one has used up its share; then the CPU is not kept idle.
    let workload = of([thread("rt", [work(3000)]).policy(Policy::Fifo { priority: 50 }), thread("fair", [work(10)])]);
    let report = run(&Spec::cores(1).build(), &workload);
    same(report.time_s, 3.010);
    about(task(&report, "fair").wait_time_s, 0.950, 0.01);
}

#[test]
fn without_throttling_fair_tasks_starve() {
    let kernel = KernelParameters { rt_runtime: None, ..KernelParameters::default() };
    let options = Options { time_limit: Some(3 * SEC), kernel, ..governed("performance") };
    let workload = of([hog("rt").policy(Policy::Fifo { priority: 50 }), hog("fair")]);
    let report = run_with(&Spec::cores(1).build(), &workload, &options);
    same(task(&report, "fair").cpu_time_s, 0.0);
}

#[test]
fn nice_values_share_by_weight() {
    // sched_prio_to_weight: nice 0 has 1024, nice 5 has 335, nice 19 has 15.
    let share = |nice| task(&ten_seconds(hog("a"), hog("b").nice(nice)), "b").cpu_time_s / 10.0;
    about(share(0), 0.5, 0.01);
    about(share(5), 335.0 / (1024.0 + 335.0), 0.02);
    about(share(19), 15.0 / (1024.0 + 15.0), 0.1);
    about(share(-5), 3121.0 / (1024.0 + 3121.0), 0.01);
}

#[test]
fn idle_policy_gets_what_weight_3_gets() {
    let report = ten_seconds(hog("a"), hog("b").policy(Policy::Idle));
    about(task(&report, "b").cpu_time_s, 10.0 * 3.0 / (1024.0 + 3.0), 0.25);
}

#[test]
fn a_thread_stays_on_its_cpus() {
    let workload = of([thread("a", [work(10)]).times(3).on(&[1])]);
    let report = run(&Spec::cores(4).build(), &workload);
    same(report.cpus[1].busy_s, 0.030);
    same(report.time_s, 0.030);
}

#[test]
fn who_yields_lets_the_other_go_first() {
    let yielder = thread("a", repeat(100, [Op::Yield]));
    let report = run(&Spec::cores(1).build(), &of([yielder, thread("b", [work(10)])]));
    same(task(&report, "b").cpu_time_s, 0.010);
    // Each yield takes at least 0.25 µs.
    same(report.time_s, 0.010 + 100.0 * 0.25e-6);
}

#[test]
fn a_thread_may_change_its_policy_again_and_again() {
    let body = [set(Policy::Idle), set(Policy::Other { nice: 0, slice: None }), set(Policy::Fifo { priority: 1 })];
    let mut body: Vec<Op> = body.into();
    body.push(work(1));
    let report = run(&Spec::cores(2).build(), &of([thread("a", repeat(100, body)), thread("b", [work(50)])]));
    same(report.time_s, 0.100);
}

/// `of` milliseconds of every 100.
fn deadline(of: u64) -> Policy {
    Policy::Deadline { runtime: of * MSEC, deadline: 100 * MSEC, period: 100 * MSEC }
}

fn set(policy: Policy) -> Op {
    Op::SetScheduling(Scheduling { policy, ..Scheduling::default() })
}

/// These threads on two CPUs, audited. Owners of mutexes inherit, and budgets end on time.
fn inheriting<const N: usize>(tasks: [TaskSpec; N]) -> Report {
    let workload = Workload { priority_inheritance: true, ..of(tasks) };
    let machine = Spec::cores(2).build();
    let mut options = governed("performance");
    options.kernel.hrtick_dl = true;
    let mut audit = Audit::new(&machine, &workload);
    let report = simulate(&machine, &workload, &options, &mut audit).unwrap_or_else(|error| panic!("{error}"));
    audit.check(&report);
    assert!(report.warnings.is_empty(), "{:?}", report.warnings);
    report
}

/// A thread with 90 ms of every 100 takes a mutex, runs for 45 ms, and is fair from then on. 45 ms of its budget are left:
/// its reservation would end at 100 − 45 · 100 / 90 = 50 ms. But from 47 to 60 ms another deadline thread waits for the
/// mutex, so that the owner is queued by its deadline. Left are 45 − 13 = 32 ms: the end is at 100 − 32 · 100 / 90 = 64 ms,
/// when the owner is on another CPU. At 70 ms a third thread gets more than the 180 − 90 = 90 % that were left before.
#[test]
fn a_thread_that_gives_up_its_deadline_may_inherit_another_one() {
    let (fair, bind) = (set(Scheduling::default().policy), Op::SetAffinity(Some(vec![1])));
    let owner = [Op::Lock(0), work(45), fair, work(15), Op::Unlock(0), bind, work(5)];
    let report = inheriting([
        thread("owner", owner).policy(deadline(90)),
        thread("waiter", [Op::Lock(0), Op::Unlock(0)]).policy(deadline(50)).after(47),
        thread("third", [set(deadline(94)), work(1)]).after(70),
    ]);
    same(task(&report, "owner").cpu_time_s, 0.065);
    same(task(&report, "owner").wait_time_s, 0.0);
    same(report.time_s, 0.071);
}

/// A thread with 10 ms of every 100 has used 8 when it becomes fair. A deadline thread waits for its mutex, with a deadline
/// of 105 ms, later than its own: so it keeps its own reservation, and is out of budget from 10 ms on. The reservation
/// would have ended at 100 − 2 · 100 / 10 = 80 ms; at 100 ms the owner has new budget for the 8 ms that are left to do.
#[test]
fn a_thread_that_gives_up_its_deadline_may_have_to_keep_it() {
    let owner = [Op::Lock(0), work(8), set(Scheduling::default().policy), work(10), Op::Unlock(0)];
    let report = inheriting([
        thread("owner", owner).policy(deadline(10)),
        thread("waiter", [Op::Lock(0), Op::Unlock(0)]).policy(deadline(10)).after(5),
    ]);
    same(task(&report, "owner").cpu_time_s, 0.018);
    same(report.time_s, 0.108);
}

#[test]
fn balancing_spreads_threads_that_were_all_forked_in_one_place() {
    let parent = thread("parent", [Op::Fork(1), Op::Fork(1), Op::Fork(1), Op::Fork(1), Op::Join]);
    let report = run(&Spec::cores(4).build(), &of([parent, thread("child", [work(100)]).times(0)]));
    same(report.time_s, 0.100);
}
