// SPDX-License-Identifier: MIT OR Apache-2.0
//! Schedulers that fail while they are loaded, or when a thread is forked.

use tandem_simulator::simulation::SimulationError;

use super::support::{WORKERS, assert_line, assert_recorded, exit, options, run, says, sched_ext, try_run};

#[test]
fn an_init_that_fails_leaves_everything_to_fair() {
    let report = run("FAULT_INIT");
    let exit = exit(&report);
    assert_eq!(says(exit), ("SCX_EXIT_ERROR", Some("init"), "ops.init() failed (-12)"));
    assert_eq!(exit.at_s, 0.0);
    assert_line(&exit.backtrace[0], "BPF_STRUCT_OPS_SLEEPABLE(faulty_init)");
    assert_recorded(exit);
    let called: Vec<&str> = sched_ext(&report).callbacks.keys().map(String::as_str).collect();
    assert_eq!(called, ["exit", "init"]);
}

#[test]
fn threads_are_forked_after_loading_so_no_thread_is_refused_at_load() {
    // `init_task` refuses only tasks that exist when the scheduler is loaded; in this run there are none.
    assert_eq!(sched_ext(&run("FAULT_INIT_TASK")).exit, None);
}

#[test]
fn a_refused_fork_ends_the_run() {
    let error = try_run(WORKERS, &options("faulty", ",fault=FAULT_FORK")).unwrap_err();
    assert_eq!(error, SimulationError::ForkRefused { thread: "worker-0".to_owned(), errno: -11 });
    let message = "the scheduler refused thread worker-0: ops.init_task() returned -11, so it could not be forked";
    assert_eq!(error.to_string(), message);
}
