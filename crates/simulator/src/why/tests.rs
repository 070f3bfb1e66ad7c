// SPDX-License-Identifier: MIT OR Apache-2.0
//! Facts and their causes, without a run.

use super::cause::Cause;
use super::classify::{cpu_wait, lock_wait, round};
use super::locks::LockWait;
use super::record::{CpuWait, Idle, Overhead, Ran, Start, Step, Steps, Urgency, add_idle, add_ran};
use super::rounds::Round;
use super::worst::Worst;
use crate::observer::detail::{Class, WaitReason};
use crate::units::{CpuId, Nanos, TaskId};

const ME: TaskId = TaskId(0);
const OTHER: TaskId = TaskId(1);
const THIRD: TaskId = TaskId(2);
const FAIR: Urgency = Urgency { class: Class::Fair, priority: 120, weight: 1024 };

/// A wait of 100 ns that began as a displacement on CPU 0.
fn wait() -> CpuWait {
    let start = Start::Displaced { by: Some(OTHER), cpu: CpuId(0) };
    CpuWait { until: 100, ended: true, ..CpuWait::new(ME, FAIR, 0, start, CpuId(0)) }
}

fn ran(task: TaskId, urgency: Urgency, time: Nanos) -> Ran {
    Ran { task, urgency, time, slowed: 0 }
}

fn idle(time: Nanos, allowed: bool) -> Idle {
    Idle { cpu: CpuId(1), time, first: 0, allowed }
}

#[test]
fn an_idle_cpu_is_to_blame_from_half_of_the_wait_on() {
    let others = vec![ran(OTHER, FAIR, 60), ran(THIRD, FAIR, 40)];
    for (time, allowed, cause) in [
        (50, true, Cause::MissedIdleCpu),
        (49, true, Cause::Crowded),
        (50, false, Cause::Affinity),
        (49, false, Cause::Crowded),
    ] {
        let wait = CpuWait { idle: vec![idle(time, allowed)], ran: others.clone(), ..wait() };
        assert_eq!(cpu_wait(&wait), cause, "{time} ns, allowed: {allowed}");
    }
}

#[test]
fn overhead_is_told_by_its_longest_part() {
    let cases = [
        (Overhead { idle_exit: 30, switch: 20, ..Overhead::default() }, false, Cause::IdleExit),
        (Overhead { switch: 10, cold: 45, ..Overhead::default() }, false, Cause::ColdCaches),
        (Overhead { switch: 10, cold: 45, ..Overhead::default() }, true, Cause::MigrationThrash),
        (Overhead { kernel: 60, cold: 10, ..Overhead::default() }, true, Cause::KernelOverhead),
    ];
    for (overhead, wanders, cause) in cases {
        assert_eq!(cpu_wait(&CpuWait { overhead, wanders, ..wait() }), cause);
    }
}

#[test]
fn those_who_ran_are_told_by_class_then_priority_then_weight_then_clock() {
    let of = |class, priority, weight| Urgency { class, priority, weight };
    let rt = |priority| of(Class::RealTime, priority, 1024);
    let cases = [
        (FAIR, rt(50), 0, Cause::HigherClass),
        (rt(50), rt(40), 0, Cause::HigherPriority),
        (rt(50), rt(50), 0, Cause::NotPreempted),
        (of(Class::Fair, 139, 15), FAIR, 0, Cause::Weight),
        (of(Class::Fair, 126, 272), FAIR, 0, Cause::NotPreempted),
        (of(Class::Ext, 139, 15), of(Class::Ext, 120, 1024), 0, Cause::Weight),
        (FAIR, FAIR, 50, Cause::LateClock),
        (FAIR, FAIR, 49, Cause::NotPreempted),
    ];
    for (mine, theirs, slowed, cause) in cases {
        let ran = vec![Ran { slowed, ..ran(OTHER, theirs, 100) }];
        let start = Start::Woken { by: None, cpu: CpuId(0), from: WaitReason::Sleep };
        let wait = CpuWait { urgency: mine, ran, start, first_runner: Some(OTHER), ..wait() };
        assert_eq!(cpu_wait(&wait), cause, "{mine:?} behind {theirs:?}");
    }
}

#[test]
fn a_thread_that_lost_its_cpu_takes_turns_and_one_that_woke_is_not_preempted_for() {
    let woken = Start::Woken { by: None, cpu: CpuId(0), from: WaitReason::Sleep };
    let behind = |start, ran| cpu_wait(&CpuWait { start, ran, first_runner: Some(OTHER), ..wait() });
    let alone = || vec![ran(OTHER, FAIR, 75), ran(THIRD, FAIR, 25)];
    assert_eq!(behind(woken, alone()), Cause::NotPreempted);
    assert_eq!(behind(wait().start, alone()), Cause::Crowded);
    assert_eq!(behind(woken, vec![ran(OTHER, FAIR, 74), ran(THIRD, FAIR, 26)]), Cause::Crowded);
}

#[test]
fn a_thread_that_never_ran_is_forgotten_only_where_a_cpu_was_idle_or_the_program_had_it() {
    let ext = Urgency { class: Class::Ext, ..FAIR };
    let stalled = CpuWait { urgency: ext, ended: false, ..wait() };
    assert_eq!(cpu_wait(&CpuWait { held: 100, ..stalled.clone() }), Cause::Stall);
    assert_eq!(cpu_wait(&CpuWait { idle: vec![idle(100, true)], ..stalled.clone() }), Cause::Stall);
    assert_eq!(cpu_wait(&CpuWait { ran: vec![ran(OTHER, ext, 100)], ..stalled.clone() }), Cause::Crowded);
    // What runs in the end was not forgotten, unless the scheduler was ejected for it.
    assert_eq!(cpu_wait(&CpuWait { held: 100, ended: true, ejected: true, ..stalled.clone() }), Cause::Stall);
    assert_eq!(cpu_wait(&CpuWait { held: 100, ended: true, ..stalled }), Cause::Crowded);
}

fn lock() -> LockWait {
    LockWait {
        task: ME,
        urgency: FAIR,
        mutex: 0,
        since: 0,
        until: 100,
        ended: true,
        before: 0,
        holders: Vec::new(),
        holder_waited: 0,
        instead: Vec::new(),
    }
}

#[test]
fn a_lock_is_inverted_held_or_handed_around() {
    let urgent = Urgency { priority: 100, weight: 89_000, ..FAIR };
    let instead = vec![ran(THIRD, FAIR, 80)];
    let waited = LockWait { holder_waited: 80, instead, ..lock() };
    assert_eq!(lock_wait(&LockWait { urgency: urgent, ..waited.clone() }), Cause::PriorityInversion);
    assert_eq!(lock_wait(&waited), Cause::HolderPreempted);

    let mut convoy = lock();
    for task in 1..=5 {
        convoy.add_holder(TaskId(task), FAIR, 20);
    }
    assert_eq!((lock_wait(&convoy), convoy.turns()), (Cause::LockConvoy, 5));
    let mut held = lock();
    held.add_holder(OTHER, FAIR, 90);
    held.add_holder(THIRD, FAIR, 10);
    assert_eq!(lock_wait(&held), Cause::LockHeld);
}

#[test]
fn a_late_round_is_blamed_on_its_greatest_loss() {
    let late = Round { due: 100, period: 100, until: 150, ended: true, running: 90, ..Round::default() };
    assert_eq!(round(&Round { lost_to_clock: 50, waited: 40, ..late.clone() }), Cause::LateClock);
    assert_eq!(round(&Round { lost_to_cpu: 50, ..late.clone() }), Cause::SlowCpu);
    let longest_wait = Some(Box::new(CpuWait { idle: vec![idle(100, true)], ..wait() }));
    assert_eq!(round(&Round { lost_to_clock: 30, waited: 60, longest_wait, ..late.clone() }), Cause::MissedIdleCpu);
    assert_eq!(round(&Round { running: 120, waited: 60, ..late.clone() }), Cause::TooMuchWork);
    let backlog = Round { backlog: 60, inherited: Some(Cause::Affinity), waited: 10, ..late };
    assert_eq!(round(&backlog), Cause::Affinity);
}

#[test]
fn the_worst_are_kept_in_order_and_the_earlier_of_equals_first() {
    let mut worst = Worst::new(3);
    for (length, what) in [(5, 'a'), (0, 'b'), (7, 'c'), (5, 'd'), (6, 'e'), (6, 'f')] {
        worst.offer(length, what);
    }
    assert_eq!(worst.into_vec(), ['c', 'e', 'f']);
}

#[test]
fn what_is_kept_of_a_wait_is_bounded() {
    let mut steps = Steps::default();
    for now in 0..1000 {
        steps.add(now, Step::Enqueue);
    }
    let times: Vec<Nanos> = steps.iter().map(|(at, _)| *at).collect();
    assert_eq!((times.len(), times[11], times[12], steps.missing), (24, 11, 988, 976));

    let (mut runners, mut idles) = (Vec::new(), Vec::new());
    for index in 0..1000 {
        add_ran(&mut runners, ran(TaskId(index), FAIR, 1));
        add_idle(&mut idles, Idle { cpu: CpuId(index), time: u64::from(index), first: 0, allowed: true });
    }
    assert_eq!((runners.len(), runners.iter().map(|ran| ran.time).sum::<Nanos>()), (16, 1000));
    assert_eq!((idles.len(), idles.iter().map(|idle| idle.time).min()), (16, Some(984)));
}
