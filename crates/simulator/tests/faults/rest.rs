// SPDX-License-Identifier: MIT OR Apache-2.0
//! Schedulers that ask for one thing more after everything that is done for them: `tests/bpf/restless.bpf.c`. Time goes on
//! nevertheless, as they are ejected.

use tandem_simulator::simulation::{Audit, Options, Profile, Scheduler, SimulationError};

use super::support::{WORKERS, exit, options, says, sched_ext, try_run};
use crate::engine::support as small;

/// The end of a run of the four threads under the scheduler in this mode: all work is done, and the scheduler went at once.
#[track_caller]
fn ejected(options: &Options) -> String {
    let report = try_run(WORKERS, options).unwrap_or_else(|error| panic!("{error}"));
    for task in &report.tasks {
        small::assert_time(task.work_s, 0.020);
    }
    let exit = exit(&report);
    assert_eq!((exit.kind.as_str(), exit.reason.as_str()), ("SCX_EXIT_ERROR_STALL", "runnable task stall"));
    // The threads have 80 ms of work in all, on two CPUs.
    assert!(exit.at_s < 0.050, "{}", exit.at_s);
    let (_, _, message) = says(exit);
    assert!(message.starts_with("time does not go on: at one instant, CPUs rescheduled "), "{message}");
    message.to_owned()
}

#[test]
fn a_scheduler_that_kicks_its_own_cpu_for_ever_is_ejected() {
    let message = ejected(&options("restless", ",mode=MODE_KICK"));
    assert!(!message.contains(" 0 kicks"), "{message}");
}

#[test]
fn what_is_done_for_a_scheduler_counts_as_steps_of_a_run_that_checks_itself() {
    let audit = Some(Audit { most_steps: 15_000 });
    let run = try_run(WORKERS, &Options { audit, ..options("restless", ",mode=MODE_KICK") });
    assert_eq!(run, Err(SimulationError::Unfinished { most_steps: 15_000 }));
}

#[test]
fn two_cpus_that_kick_each_other_for_ever_are_ejected() {
    ejected(&options("restless", ",mode=MODE_KICK_OTHER"));
}

#[test]
fn a_timer_set_for_at_once_after_each_pass_is_ejected() {
    let message = ejected(&options("restless", ",mode=MODE_TIMER"));
    assert!(!message.contains(" 0 timers"), "{message}");
}

#[test]
fn tasks_that_take_the_cpu_from_each_other_whenever_they_wake_are_no_endless_loop() {
    let report = try_run(WORKERS, &options("restless", ",mode=MODE_PREEMPT")).unwrap();
    assert_eq!(sched_ext(&report).exit, None);
}

#[test]
fn a_queue_that_is_given_back_whenever_a_task_comes_into_it_is_ejected() {
    let mut options = options("restless", ",mode=MODE_REENQ");
    if let Scheduler::SchedExt(scheduler) = &mut options.scheduler {
        std::sync::Arc::make_mut(scheduler).profile = Some(Profile::V7);
    }
    let message = ejected(&options);
    assert!(!message.contains(" 0 queues given back"), "{message}");
}
