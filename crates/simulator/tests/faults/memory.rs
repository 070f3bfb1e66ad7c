// SPDX-License-Identifier: MIT OR Apache-2.0
//! The simulated kernel runs out of memory: a scheduler hears `ENOMEM` where a kernel's would, and where a run cannot go on
//! without, it says what to enlarge.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};

use tandem_simulator::metrics::Report;
use tandem_simulator::observer::Observer;
use tandem_simulator::simulation::{Budget, Options, SimulationError, simulate};

use super::support::{options, sched_ext, try_run};
use crate::common::workload;
use crate::engine::support as small;

/// The options of a run under the scheduler in this mode, with so many MiB.
fn with_memory(mode: &str, mib: u64) -> Options {
    let mut options = options("restless", &format!(",mode={mode}"));
    options.kernel.bpf_memory_mib = mib;
    options
}

/// A thread that soon ends, so many times.
fn threads(instances: u32) -> String {
    format!(r#"{{ "tasks": {{ "worker": {{ "instance": {instances}, "loop": 1, "run": 10 }} }} }}"#)
}

/// What the scheduler says at its end: how often memory was given and refused, and the last error.
#[track_caller]
fn numbers(report: &Report) -> (u64, u64, i64) {
    let line = sched_ext(report).output.iter().find(|line| line.contains("given")).expect("the scheduler says it");
    let words: Vec<&str> = line.split_whitespace().collect();
    let after = |word: &str| words[words.iter().position(|other| *other == word).unwrap() + 1];
    (after("given").parse().unwrap(), after("refused").parse().unwrap(), after("errno").parse().unwrap())
}

#[test]
fn threads_that_have_no_room_end_the_run_with_what_to_enlarge() {
    let error = try_run(&threads(20_000), &with_memory("MODE_STORAGE", 2)).unwrap_err();
    assert!(matches!(error, SimulationError::KernelMemory { .. }), "{error}");
    let message = error.to_string();
    assert!(
        message.starts_with("the simulated kernel ran out of memory at 0 s: no room for thread worker-"),
        "{message}"
    );
    assert!(message.ends_with("; `bpf_memory_mib` says how many MiB there are (1024 unless set)"), "{message}");
}

#[test]
fn a_task_that_gets_no_storage_is_scheduled_without() {
    // Each takes 60,000 bytes, so that 2 MiB suffice for some thirty; the tasks themselves still fit.
    let mut runs = (20..40).map(|count| (count, try_run(&threads(count), &with_memory("MODE_STORAGE", 2)).unwrap()));
    let (count, report) = runs.find(|(_, report)| numbers(report).1 > 0).expect("there is not room for 40");
    let (given, refused, _) = numbers(&report);
    assert_eq!(given + refused, u64::from(count));
    assert_eq!(sched_ext(&report).exit, None);
}

#[test]
fn queues_have_their_whole_size_and_then_there_is_no_memory() {
    let report = try_run(&threads(2), &with_memory("MODE_QUEUES", 4)).unwrap();
    let (given, _, errno) = numbers(&report);
    assert_eq!(errno, -12);
    // Each takes 256 bytes here beside its object.
    assert!(given > 1_000 && given < (4 << 20) / 256, "{given}");
}

#[test]
fn a_mask_that_cannot_be_made_is_null() {
    let report = try_run(&threads(2), &with_memory("MODE_MASKS", 4)).unwrap();
    let (given, refused, _) = numbers(&report);
    assert!(given > 1_000 && refused == 1, "{given} {refused}");
}

/// Runs threads under the fair class within this budget.
fn within(budget: &Budget, instances: u32) -> Result<Report, SimulationError> {
    try_run(&threads(instances), &Options { memory: budget.clone(), ..small::options() })
}

#[test]
fn a_budget_is_asked_before_threads_are_made() {
    let error = within(&Budget::new(1 << 20), 1000).unwrap_err();
    let SimulationError::Memory(over) = &error else { panic!("{error}") };
    assert_eq!((over.wanted, over.used, over.others, over.limit), (1000 * 2048, 0, 0, 1 << 20));
    let message =
        "2 MiB are wanted beside 0 MiB in use, over a budget of 1 MiB; TANDEM_MEMORY=SIZE, such as 8G, sets the";
    assert!(error.to_string().contains(message), "{error}");
    assert!(within(&Budget::new(1 << 20), 100).is_ok(), "what was taken is given back");
}

#[test]
fn a_scheduler_does_not_hear_of_a_budget_that_is_spent() {
    let options = Options { memory: Budget::new(1 << 20), ..with_memory("MODE_MASKS", 4) };
    let error = try_run(&threads(2), &options).unwrap_err();
    assert!(matches!(error, SimulationError::Memory(_)), "{error}");
}

/// Lets a run begin again, and says by which thread it is simulated when it asks for that.
struct Patient(Sender<PathBuf>);

impl Observer for Patient {
    fn may_begin_again(&self) -> bool {
        self.0.send(fs::read_link("/proc/thread-self").unwrap()).unwrap();
        true
    }
}

/// Whether a thread of this process sleeps until somebody wakes it.
fn sleeps(thread: &Path) -> bool {
    let stat = fs::read_to_string(Path::new("/proc").join(thread).join("stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, state)| state.starts_with('S'))
}

#[test]
fn a_run_that_does_not_fit_beside_another_follows_it() {
    let budget = Budget::new(300 * 2048);
    let (beside, other) = (budget.beside(), budget.open());
    other.take(200 * 2048).unwrap();
    let (sender, asked) = channel();
    let report = std::thread::scope(|scope| {
        let run = scope.spawn(|| {
            let options = Options { memory: budget.clone(), ..small::options() };
            simulate(&small::machine(2), &workload(&threads(200)), &options, &mut Patient(sender))
        });
        // It has found that there is too little, and waits for its turn to begin again.
        let thread = asked.recv().unwrap();
        while !sleeps(&thread) && !run.is_finished() {
            std::thread::yield_now();
        }
        assert!(!run.is_finished(), "it has not waited");
        // As a run does: what it had is free before its turn ends.
        drop(other);
        drop(beside);
        run.join().unwrap()
    });
    assert_eq!(report.unwrap().tasks.len(), 200);
    assert_eq!(asked.try_iter().count(), 0, "once was enough");
}

#[test]
fn a_run_that_does_not_fit_beside_another_and_cannot_begin_again_says_so() {
    struct Watcher;
    impl Observer for Watcher {}

    let budget = Budget::new(300 * 2048);
    let other = budget.open();
    other.take(200 * 2048).unwrap();
    let options = Options { memory: budget.clone(), ..small::options() };
    let error = simulate(&small::machine(2), &workload(&threads(200)), &options, &mut Watcher).unwrap_err();
    assert!(error.to_string().contains(" of other simulations, over a budget of 1 MiB"), "{error}");
}
