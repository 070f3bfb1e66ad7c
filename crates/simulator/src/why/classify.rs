// SPDX-License-Identifier: MIT OR Apache-2.0
//! From the facts of a wait to its cause. Pure functions: no run, no machine.
//!
//! A cause is named where it accounts for half of the wait or more. Where several do, the first in the order of the code is
//! named: what alone would have ended the wait stands before what merely made it longer.

use super::cause::Cause;
use super::locks::LockWait;
use super::record::{CpuWait, Overhead, Ran, Start, main_runner};
use super::rounds::Round;
use crate::observer::detail::Class;
use crate::units::Nanos;

/// From so many times the thread's own weight on, the weight of another is to blame: six steps of nice.
const HEAVY: u32 = 4;

/// Why a thread waited for a CPU.
pub fn cpu_wait(wait: &CpuWait) -> Cause {
    let length = wait.length();
    let most = |time: Nanos| 2 * time >= length;
    let idle = |allowed| wait.best_idle(allowed).is_some_and(|idle| most(idle.time));
    let given_up = !wait.ended || wait.ejected;
    if given_up && (most(wait.held) || wait.urgency.class == Class::Ext && idle(true)) {
        return Cause::Stall;
    }
    if most(wait.throttled) {
        return Cause::Throttled;
    }
    if most(wait.overhead.total()) {
        return overhead(&wait.overhead, wait.wanders);
    }
    if idle(true) {
        return Cause::MissedIdleCpu;
    }
    if idle(false) {
        return Cause::Affinity;
    }
    others_ran(wait)
}

/// What took longest between a switch and the first instruction.
fn overhead(overhead: &Overhead, wanders: bool) -> Cause {
    let caches = overhead.cold + overhead.switch;
    if overhead.idle_exit >= caches.max(overhead.kernel) {
        return Cause::IdleExit;
    }
    match overhead.kernel > caches {
        true => Cause::KernelOverhead,
        false if wanders => Cause::MigrationThrash,
        false => Cause::ColdCaches,
    }
}

/// Why others ran instead.
fn others_ran(wait: &CpuWait) -> Cause {
    let all: Nanos = wait.ran.iter().map(|ran| ran.time).sum();
    let mine = &wait.urgency;
    let most_of = |which: &dyn Fn(&Ran) -> bool| {
        let time: Nanos = wait.ran.iter().filter(|ran| which(ran)).map(|ran| ran.time).sum();
        all > 0 && 2 * time >= all
    };
    if most_of(&|ran| ran.urgency.class < mine.class.min(Class::Fair)) {
        return Cause::HigherClass;
    }
    if mine.class <= Class::RealTime && most_of(&|ran| ran.urgency.priority < mine.priority) {
        return Cause::HigherPriority;
    }
    if mine.class >= Class::Fair && most_of(&|ran| ran.urgency.weight >= HEAVY * mine.weight) {
        return Cause::Weight;
    }
    let slowed: Nanos = wait.ran.iter().map(|ran| ran.slowed).sum();
    if all > 0 && 2 * slowed >= all {
        return Cause::LateClock;
    }
    let woke = !matches!(wait.start, Start::Displaced { .. });
    let ran_on = |main: &Ran| Some(main.task) == wait.first_runner && 4 * main.time >= 3 * all;
    if woke && main_runner(&wait.ran).is_some_and(ran_on) { Cause::NotPreempted } else { Cause::Crowded }
}

/// Why a thread waited for a mutex.
pub fn lock_wait(wait: &LockWait) -> Cause {
    let length = wait.length();
    if 2 * wait.holder_waited >= length {
        let inverted = main_runner(&wait.instead).is_some_and(|main| wait.urgency.above(&main.urgency));
        return if inverted { Cause::PriorityInversion } else { Cause::HolderPreempted };
    }
    let longest = wait.holders.iter().map(|holder| holder.time / u64::from(holder.turns.max(1))).max().unwrap_or(0);
    if wait.turns() > 1 && 2 * longest < length { Cause::LockConvoy } else { Cause::LockHeld }
}

/// Why a round was done too late: where most of the time was lost. The work itself is to blame only where it alone takes
/// longer than there is time, or where nothing was lost.
pub fn round(round: &Round) -> Cause {
    if round.work() >= round.period {
        return Cause::TooMuchWork;
    }
    let caches = round.overhead.cold + round.overhead.switch;
    let waits = round.longest_wait.as_deref().map_or(Cause::Crowded, cpu_wait);
    let locks = round.longest_lock.as_deref().map_or(Cause::LockHeld, lock_wait);
    let lost = [
        (round.waited, waits),
        (round.locked, locks),
        (round.for_others, Cause::OtherThreads),
        (round.overhead.idle_exit, Cause::IdleExit),
        (caches, if round.migrations > 1 { Cause::MigrationThrash } else { Cause::ColdCaches }),
        (round.overhead.kernel, Cause::KernelOverhead),
        (round.lost_to_clock, Cause::LateClock),
        (round.lost_to_cpu, Cause::SlowCpu),
        (round.backlog, round.inherited.unwrap_or(Cause::TooMuchWork)),
    ];
    // Of equals the first, as `max_by_key` takes the last.
    let worst = lost.into_iter().rev().filter(|(time, _)| *time > 0).max_by_key(|(time, _)| *time);
    worst.map_or(Cause::TooMuchWork, |(_, cause)| cause)
}
