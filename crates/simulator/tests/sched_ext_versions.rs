// SPDX-License-Identifier: MIT OR Apache-2.0
//! Differences of sched_ext between 6.12, 6.18 and 7.1, seen by one small scheduler on all (`tests/bpf/newer.bpf.c`).
//!
//! The machine has CPUs of equal capacity at one clock; callbacks cost nothing, so that times can be worked out by hand.

use std::sync::Arc;

use tandem_simulator::machine::Machine;
use tandem_simulator::metrics::{Report, SchedExtReport};
use tandem_simulator::simulation::{KernelParameters, Options, Profile, SchedExt, Scheduler};

use crate::common::{run_with, task, workload};
use crate::objects::object_path;

/// Two CPU-bound threads on one CPU: 30 ms each, in slices of 20 ms.
const TWO: &str = r#"{ "tasks": { "busy": { "instance": 2, "cpus": [0], "loop": 1, "run": 30000 } } }"#;

/// A scheduler's report, and the counters that it printed.
struct Run {
    report: Report,
}

impl Run {
    fn sched_ext(&self) -> &SchedExtReport {
        self.report.sched_ext.as_ref().expect("a scheduler was loaded")
    }

    /// A counter that the scheduler printed when it was unloaded.
    #[track_caller]
    fn count(&self, name: &str) -> u64 {
        let lines = &self.sched_ext().output;
        let value = lines.iter().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok());
        value.unwrap_or_else(|| panic!("no counter {name} in {lines:?}"))
    }

    #[track_caller]
    fn counts<const N: usize>(&self, names: [&str; N]) -> [u64; N] {
        names.map(|name| self.count(name))
    }

    fn error(&self) -> Option<&str> {
        self.sched_ext().exit.as_ref().map(|exit| exit.message.as_str())
    }
}

/// The scheduler `name` with settings and with this loader file.
fn scheduler(name: &str, profile: Profile, settings: &str, sidecar: &str) -> Scheduler {
    let folder = tempfile::tempdir().unwrap();
    let object = folder.path().join("copy.bpf.o");
    std::fs::copy(object_path(name), &object).unwrap();
    std::fs::write(folder.path().join("copy.toml"), sidecar).unwrap();
    let mut opened = SchedExt::open(&format!("{}{settings}", object.display())).unwrap();
    opened.profile = Some(profile);
    Scheduler::SchedExt(Arc::new(opened))
}

fn run(scheduler: Scheduler, machine: &str, text: &str, seconds: u64) -> Run {
    let mut kernel = KernelParameters::default();
    kernel.set("bpf_insn_ps", "0").unwrap();
    let options = Options { scheduler, kernel, time_limit: Some(seconds * 1_000_000_000), ..Options::default() };
    let machine = Machine::load(machine).unwrap_or_else(|error| panic!("{error}"));
    Run { report: run_with(&machine, &workload(text), &options) }
}

fn newer(profile: Profile, mode: &str, text: &str) -> Run {
    run(scheduler("newer", profile, &format!(",mode={mode}"), ""), "smp-8", text, 2)
}

const DEQUEUES: [&str; 4] = ["dequeued", "dequeued to sleep", "dequeued for a change", "dequeued by a pick"];

/// 6.12 only reports tasks that it takes out of the scheduler's hands for its own reasons: here there are none. 7.1
/// reports each task that leaves the scheduler's queues.
#[test]
fn a_dispatched_task_leaves_the_schedulers_custody_in_7_1() {
    let old = newer(Profile::V6_12, "MODE_SHARED", TWO);
    let middle = newer(Profile::V6_18, "MODE_SHARED", TWO);
    assert_eq!((old.counts(DEQUEUES), middle.counts(DEQUEUES)), ([0; 4], [0; 4]));
    assert_eq!((middle.count("enqueued"), middle.error()), (4, None));
    let new = newer(Profile::V7, "MODE_SHARED", TWO);
    // Each task is enqueued when it starts and when its slice ends.
    assert_eq!(new.count("enqueued"), 4);
    assert_eq!(new.counts(DEQUEUES), [4, 0, 0, 0]);
    assert_eq!((old.error(), new.error()), (None, None));
}

/// A task that goes directly to the queue of a CPU was never in the scheduler's custody.
#[test]
fn a_directly_dispatched_task_is_not_dequeued() {
    let new = newer(Profile::V7, "MODE_LOCAL", TWO);
    assert_eq!((new.count("enqueued"), new.count("dequeued")), (4, 0));
}

/// At 20 ms the holder of a mutex goes back to the scheduler. At 25 ms the holder inherits the priority of a real-time
/// thread that wants the mutex, and so leaves the scheduler.
#[test]
fn a_change_of_a_waiting_task_is_told_as_such_in_7_1() {
    let text = r#"{ "global": { "pi_enabled": true }, "tasks": {
        "holder": { "cpus": [0], "loop": 1, "lock": "mutex", "run": 30000, "unlock": "mutex" },
        "other": { "cpus": [0], "loop": 1, "delay": 1000, "run": 30000 },
        "urgent": { "policy": "SCHED_FIFO", "priority": 10, "cpus": [1], "loop": 1, "delay": 25000, "lock": "mutex",
            "run": 1000, "unlock": "mutex" } } }"#;
    let old = newer(Profile::V6_12, "MODE_SHARED", text);
    // In 6.12 a task that waits in a queue is out of the scheduler's hands.
    assert_eq!(old.counts(DEQUEUES), [0; 4]);
    let new = newer(Profile::V7, "MODE_SHARED", text);
    let [all, rest @ ..] = new.counts(DEQUEUES);
    assert_eq!(rest, [0, 1, 0]);
    assert_eq!(all, new.count("enqueued"), "each left its custody once");
    assert_eq!((old.error(), new.error()), (None, None));
}

/// At 0 ms the second task finds the CPU taken. At 20 and 40 ms the task whose slice is used up finds the CPU taken by
/// the other. Each time the task is given back and waits in the scheduler's queue.
#[test]
fn a_task_that_shall_run_at_once_and_cannot_is_given_back() {
    let new = newer(Profile::V7, "MODE_IMMED", TWO);
    assert_eq!(new.error(), None);
    let counts = new.counts(["enqueued", "reenqueued", "because late", "because asked", "because preempted"]);
    assert_eq!(counts, [4 + 3, 3, 3, 0, 0]);
}

/// A loop that the kernel ends after 256 rounds.
#[test]
fn a_task_that_insists_is_an_error() {
    let new = newer(Profile::V7, "MODE_IMMED_FOREVER", TWO);
    assert_eq!(new.error(), Some("SCX_ENQ_REENQ on SCX_DSQ_LOCAL repeated 257 times"));
}

#[test]
fn only_local_queues_can_be_asked_to_run_a_task_at_once() {
    let new = newer(Profile::V7, "MODE_IMMED_SHARED", TWO);
    assert_eq!(new.error(), Some("SCX_ENQ_IMMED on a non-local DSQ 0x0"));
}

/// With `SCX_OPS_ALWAYS_ENQ_IMMED` every task that goes to a local queue shall run at once.
#[test]
fn a_flag_of_the_scheduler_asks_for_it_always() {
    let sidecar = "[ops]\nflags = [\"SCX_OPS_ALWAYS_ENQ_IMMED\"]\n";
    let with = scheduler("newer", Profile::V7, ",mode=MODE_LOCAL", sidecar);
    let message = "SCX_ENQ_REENQ on SCX_DSQ_LOCAL repeated 257 times";
    assert_eq!(run(with, "smp-8", TWO, 2).error(), Some(message));
    // 6.12 does not know the flag, so it is left out.
    let without = scheduler("newer", Profile::V6_12, ",mode=MODE_LOCAL", sidecar);
    assert_eq!(run(without, "smp-8", TWO, 2).error(), None);
}

/// A real-time thread takes the CPU for 1 ms, every 10 ms, from a thread that shall run at once.
#[test]
fn a_preempted_task_that_shall_run_at_once_is_given_back() {
    let text = r#"{ "tasks": {
        "busy": { "cpus": [0], "loop": 1, "run": 15000 },
        "urgent": { "policy": "SCHED_FIFO", "priority": 10, "cpus": [0], "loop": 1, "delay": 5000, "run": 1000 } } }"#;
    let new = newer(Profile::V7, "MODE_IMMED", text);
    assert_eq!(new.error(), None);
    assert_eq!(new.counts(["reenqueued", "because preempted"]), [1, 1]);
    let old = newer(Profile::V6_12, "MODE_LOCAL", text);
    assert_eq!(old.count("reenqueued"), 0);
}

/// Whenever one task begins to run, the other is enqueued again if it waits: at 0, 20 and 40 ms.
#[test]
fn a_queue_of_the_scheduler_can_be_given_back() {
    let new = newer(Profile::V7, "MODE_REENQ", TWO);
    assert_eq!(new.error(), None);
    let [asked, late] = new.counts(["because asked", "because late"]);
    assert_eq!((asked, late), (3, 0));
}

/// Two threads wake each other, each on a CPU of its own: the waker's CPU enqueues or, with
/// `SCX_OPS_ALLOW_QUEUED_WAKEUP`, the idle CPU of the woken thread does.
#[test]
fn a_wakeup_may_be_left_to_the_cpu_of_who_wakes() {
    let text = r#"{ "tasks": {
        "ping": { "cpus": [0], "loop": 10, "run": 1000, "resume": "pong", "suspend": "ping" },
        "pong": { "cpus": [1], "loop": 10, "suspend": "pong", "run": 1000, "resume": "ping" } } }"#;
    let elsewhere = |profile, sidecar: &str| {
        let run = run(scheduler("newer", profile, ",mode=MODE_SHARED", sidecar), "smp-8", text, 2);
        assert_eq!(run.error(), None);
        run.count("enqueued elsewhere")
    };
    let flag = "[ops]\nflags = [\"SCX_OPS_ALLOW_QUEUED_WAKEUP\"]\n";
    for later in [Profile::V6_18, Profile::V7] {
        let (plain, queued) = (elsewhere(later, ""), elsewhere(later, flag));
        assert!(plain >= 19, "{plain}");
        // The two starts are no wakeups.
        assert!(queued <= 2, "{queued}");
        assert_eq!(elsewhere(Profile::V6_12, flag), plain);
    }
}

/// A real-time thread wakes ten times on an idle CPU. 6.12 asks the scheduler for work before each pick after the idle
/// thread. 7.1 asks only if no higher class has a task.
#[test]
fn a_scheduler_is_asked_for_work_only_when_it_is_its_turn_in_7_1() {
    let text = r#"{ "tasks": { "urgent": { "policy": "SCHED_FIFO", "priority": 10, "cpus": [0], "loop": 10,
        "run": 1000, "sleep": 9000 } } }"#;
    let asked = |profile| newer(profile, "MODE_SHARED", text).count("dispatched");
    let [old, middle, new] = Profile::ALL.map(asked);
    assert!(old >= new + 9 && middle == old, "{old}, {middle} and {new}");
}

/// A real-time thread never sleeps: 7.1 keeps 5 % of the CPU for tasks of the scheduler, 6.12 nothing.
#[test]
fn tasks_of_the_scheduler_do_not_starve_in_7_1() {
    let text = r#"{ "global": { "duration": 4 }, "tasks": {
        "greedy": { "policy": "SCHED_FIFO", "priority": 10, "cpus": [0], "loop": -1, "run": 100000 },
        "meek": { "cpus": [0], "delay": 1000, "loop": -1, "run": 1000 } } }"#;
    let share = |profile| {
        let run = run(scheduler("newer", profile, ",mode=MODE_SHARED", ""), "smp-8", text, 4);
        assert_eq!(run.error(), None);
        task(&run.report, "meek").cpu_time_s / 4.0
    };
    assert_eq!((share(Profile::V6_12), share(Profile::V6_18)), (0.0, 0.0));
    let new = share(Profile::V7);
    assert!((0.03..0.06).contains(&new), "{new}");
}
