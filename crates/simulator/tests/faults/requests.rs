// SPDX-License-Identifier: MIT OR Apache-2.0
//! Schedulers that exit on their own request (`scx_bpf_error`, `scx_bpf_exit`).

use super::support::{assert_place, assert_recorded, exit, run, says};

#[test]
fn a_scheduler_reports_an_error_that_it_found() {
    let report = run("FAULT_ERROR");
    let exit = exit(&report);
    assert_eq!(says(exit), ("SCX_EXIT_ERROR_BPF", Some("enqueue"), "worker-0[2] is unwanted"));
    assert_eq!((exit.code, exit.reason.as_str()), (0, "scx_bpf_error"));
    assert_place(exit, "FAULT_ERROR", &[]);
    assert!(exit.dump.starts_with("worker-"), "{}", exit.dump);
    assert_recorded(exit);
}

#[test]
fn a_scheduler_ends_by_itself_with_a_code_and_without_a_dump() {
    let report = run("FAULT_EXIT");
    let exit = exit(&report);
    assert_eq!(says(exit), ("SCX_EXIT_UNREG_BPF", Some("enqueue"), "enough after 10 tasks"));
    assert_eq!((exit.code, exit.reason.as_str()), (42, "unregistered from BPF"));
    assert_place(exit, "FAULT_EXIT", &[]);
    assert_eq!(exit.dump, "");
    assert_recorded(exit);
}

#[test]
fn a_scheduler_may_ask_to_be_loaded_again() {
    let report = run("FAULT_RESTART");
    let exit = exit(&report);
    assert_eq!(says(exit), ("SCX_EXIT_UNREG_BPF", Some("enqueue"), "once more"));
    // The exit code has SCX_ECODE_ACT_RESTART and the scheduler's own 7.
    assert_eq!(exit.code, (1 << 48) | 7);
    assert_place(exit, "FAULT_RESTART", &[]);
    assert_recorded(exit);
}
