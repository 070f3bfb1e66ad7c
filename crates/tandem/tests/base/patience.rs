// SPDX-License-Identifier: GPL-2.0-only
//! Nothing waits for long, however little its weight: the kernel ejects a scheduler after thirty seconds.

use std::collections::BTreeMap;

use tandem_simulator::observer::{Observer, PrevState, TaskInfo};
use tandem_simulator::simulation::simulate;
use tandem_simulator::units::{CpuId, Nanos, SEC, TaskId, seconds};
use tandem_simulator::workload::{Policy, TaskSpec};

use super::run::{for_ms, hog, options, periodic, with};
use crate::equal;
use crate::long::combinations::scheduler::assert_lived;
use crate::long::combinations::support::workload::TaskExt;

/// The longest time for which a thread called `patient` was not on a CPU.
#[derive(Default)]
struct Longest {
    /// The threads of that name, and since when each waits.
    waiting: BTreeMap<TaskId, Nanos>,
    longest: Nanos,
}

impl Observer for Longest {
    fn task_new(&mut self, now: Nanos, task: &TaskInfo) {
        if task.name.starts_with("patient") {
            self.waiting.insert(task.id, now);
        }
    }

    fn sched_switch(&mut self, now: Nanos, _cpu: CpuId, prev: Option<(TaskId, PrevState)>, next: Option<TaskId>) {
        if let Some(since) = next.and_then(|next| self.waiting.get(&next)) {
            self.longest = self.longest.max(now - since);
        }
        if let Some(since) = prev.and_then(|(prev, _)| self.waiting.get_mut(&prev)) {
            *since = now;
        }
    }
}

/// How long such a thread waits at most beside others, in seconds; all run for 25.
fn longest_wait(cpus: usize, tasks: impl Into<Vec<TaskSpec>>) -> f64 {
    let mut longest = Longest::default();
    let workload = for_ms(25_000, tasks);
    let report = simulate(&equal::machine(cpus), &workload, &options(with(&[])), &mut longest).unwrap();
    assert_lived(&report);
    let still = longest.waiting.values().map(|since| 25 * SEC - since).max().unwrap();
    seconds(longest.longest.max(still))
}

/// A thread on one CPU, on one of two, and on both, beside so many `hogs` for each. It waits for the five seconds that it takes to
/// grow old, until a CPU looks for such threads, and for those that are as old.
#[track_caller]
fn assert_patience(patient: &TaskSpec, hogs: &TaskSpec, number: u32) {
    let hogs = |times| hogs.clone().times(times);
    let cases = [
        (1, hogs(number), patient.clone()),
        (2, hogs(number).on(&[1]), patient.clone().on(&[1])),
        (2, hogs(2 * number), patient.clone()),
    ];
    for (number, (cpus, hogs, patient)) in cases.into_iter().enumerate() {
        let waited = longest_wait(cpus, [hogs, patient]);
        assert!(waited < 6.5, "case {number}: {waited} s");
    }
}

/// By weight it would have 4 ms in 16 s.
#[test]
fn nice_19_beside_sixty_threads_has_its_turn() {
    assert_patience(&hog("patient").nice(19), &hog("hog"), 60);
}

/// By weight it would have 4 ms in 47 s.
#[test]
fn nice_19_beside_two_of_nice_minus_20_has_its_turn() {
    assert_patience(&hog("patient").nice(19), &hog("hog").nice(-20), 2);
}

/// By weight 4 ms in 82 s.
#[test]
fn the_idle_class_beside_sixty_threads_has_its_turn() {
    assert_patience(&hog("patient").policy(Policy::Idle), &hog("hog"), 60);
}

/// What it has run beside few is not charged so that it waits for long beside many.
#[test]
fn the_idle_class_has_its_turn_when_many_come() {
    let patient = hog("patient").policy(Policy::Idle);
    let waited = longest_wait(3, [patient, periodic("first", 3, 4).times(4), hog("hog").times(90).after(6000)]);
    assert!(waited < 6.5, "{waited} s");
}

/// A deadline that was near when few waited is far when many do.
#[test]
fn what_waits_has_its_turn_when_many_come() {
    let crowd = hog("crowd").nice(-10).times(200).after(1003);
    let waited = longest_wait(1, [hog("patient").nice(19), hog("first"), crowd]);
    assert!(waited < 6.5, "{waited} s");
}
