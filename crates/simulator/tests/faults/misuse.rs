// SPDX-License-Identifier: MIT OR Apache-2.0
//! Misuse of what the kernel offers: `SCX_EXIT_ERROR` with the words of `kernel/sched/ext.c`.

use super::support::{assert_line, assert_place, assert_recorded, exit, run, run_on, says, sched_ext};
use crate::objects::line_of;

/// Asserts that the mistake is found, described in these words, and traced to its line in the program of `callback`.
#[track_caller]
fn assert_misuse(fault: &str, callback: &str, message: &str) {
    let report = run(fault);
    let exit = exit(&report);
    assert_eq!(says(exit), ("SCX_EXIT_ERROR", Some(callback), message));
    assert_eq!((exit.code, exit.reason.as_str()), (0, "runtime error"));
    assert_place(exit, fault, &[]);
    assert_eq!(exit.backtrace[0].function, format!("faulty_{callback}"));
    assert_recorded(exit);
}

#[test]
fn without_a_fault_the_scheduler_stays_to_the_end() {
    let report = run("FAULT_NONE");
    assert_eq!(sched_ext(&report).exit, None);
    // There are 80 turns in all, and each task is enqueued at the latest when it wakes.
    let enqueued = sched_ext(&report).callbacks["enqueue"].calls;
    assert!(enqueued >= 80, "{enqueued}");
}

#[test]
fn the_scheduler_is_asked_no_more_once_it_is_ejected() {
    let report = run("FAULT_ERROR");
    // The tenth task makes the mistake.
    assert_eq!(sched_ext(&report).callbacks["enqueue"].calls, 10);
    assert_eq!(sched_ext(&report).callbacks["exit"].calls, 1);
}

#[test]
fn a_queue_that_does_not_exist_is_found_when_the_task_goes_there() {
    assert_misuse("FAULT_UNKNOWN_DSQ", "enqueue", "non-existent DSQ 0xdead for worker-0[2]");
}

#[test]
fn a_queue_that_does_not_exist_cannot_be_consumed() {
    assert_misuse("FAULT_CONSUME_UNKNOWN_DSQ", "dispatch", "invalid DSQ ID 0x000000000000dead");
}

#[test]
fn a_cpu_to_kick_must_exist() {
    assert_misuse("FAULT_KICK_CPU", "enqueue", "invalid CPU 1048576");
}

#[test]
fn a_task_is_dispatched_once() {
    assert_misuse("FAULT_DOUBLE_DISPATCH", "select_cpu", "worker-2[4] already direct-dispatched");
}

#[test]
fn the_kernels_own_queues_have_no_virtual_time() {
    assert_misuse("FAULT_VTIME_BUILTIN", "enqueue", "cannot use vtime ordering for built-in DSQs");
}

#[test]
fn a_queue_is_ordered_by_arrival_or_by_virtual_time() {
    let message = "DSQ ID 0x0000000000000000 already had FIFO-enqueued tasks";
    assert_misuse("FAULT_VTIME_MIXED", "enqueue", message);
}

#[test]
fn a_batch_has_an_end() {
    assert_misuse("FAULT_DISPATCH_OVERFLOW", "dispatch", "dispatch buffer overflow");
}

#[test]
fn tasks_are_dispatched_only_where_that_is_allowed() {
    // Dispatching needs SCX_KF_DISPATCH (2) or SCX_KF_ENQUEUE (4); `running` has SCX_KF_REST (0x10).
    let message = "kfunc with mask 0x6 called from an operation only allowing 0x10";
    assert_misuse("FAULT_WRONG_CONTEXT", "running", message);
}

#[test]
fn flags_of_the_kernels_own_are_refused() {
    // SCX_ENQ_DSQ_PRIQ is bit 57.
    assert_misuse("FAULT_ENQ_FLAGS", "enqueue", "invalid enq_flags 0x200000000000000");
}

#[test]
fn a_queue_with_tasks_cannot_be_destroyed() {
    let message = "attempting to destroy in-use dsq 0x0000000000000000 (nr=1)";
    assert_misuse("FAULT_DESTROY_BUSY_DSQ", "enqueue", message);
}

#[test]
fn a_task_must_be_allowed_where_it_is_sent_to() {
    let text = r#"{ "tasks": { "worker": { "instance": 2, "loop": 20, "run": 1000, "sleep": 500, "cpus": [1] } } }"#;
    let report = run_on(text, "FAULT_DISALLOWED_CPU");
    let exit = exit(&report);
    let message = "SCX_DSQ_LOCAL[_ON] target CPU 0 not allowed for worker-1[3]";
    assert_eq!(says(exit), ("SCX_EXIT_ERROR", Some("enqueue"), message));
    assert_place(exit, "FAULT_DISALLOWED_CPU", &[]);
    assert_recorded(exit);
}

#[test]
fn a_task_whose_migration_is_disabled_stays_on_its_cpu() {
    let text = r#"{ "tasks": { "worker": { "instance": 2, "loop": 20, "run": 1000, "sleep": 500,
        "tandem": { "migration_disabled": true } } } }"#;
    let report = run_on(text, "FAULT_DISALLOWED_CPU");
    let exit = exit(&report);
    let message = "SCX_DSQ_LOCAL[_ON] cannot move migration disabled worker-0[2] from CPU 0 to 1";
    assert_eq!(says(exit), ("SCX_EXIT_ERROR", Some("enqueue"), message));
    assert_place(exit, "FAULT_DISALLOWED_CPU", &[]);
    assert_recorded(exit);
}

#[test]
fn what_a_callback_returns_is_the_fault_of_the_callback() {
    let report = run("FAULT_SELECT_CPU");
    let exit = exit(&report);
    let message = "invalid CPU 1048576 from ops.select_cpu()";
    assert_eq!(says(exit), ("SCX_EXIT_ERROR", Some("select_cpu"), message));
    // All ways to return end in one instruction, whose line is the one where the function begins.
    assert_eq!(exit.backtrace.len(), 1);
    assert_line(&exit.backtrace[0], "BPF_STRUCT_OPS(faulty_select_cpu");
    assert!(line_of("faulty.bpf.c", "/* FAULT_SELECT_CPU */") > exit.backtrace[0].line);
    assert_recorded(exit);
}

#[test]
fn a_task_that_asked_for_the_scheduler_cannot_be_refused_when_it_is_forked() {
    let text = r#"{ "tasks": { "asks": { "policy": "SCHED_EXT", "loop": 20, "run": 1000, "sleep": 500 } } }"#;
    let report = run_on(text, "FAULT_FORK_DISALLOW");
    let exit = exit(&report);
    let message = "ops.init_task() set task->scx.disallow for asks[2] during fork";
    assert_eq!(says(exit), ("SCX_EXIT_ERROR", Some("init_task"), message));
    assert_line(&exit.backtrace[0], "BPF_STRUCT_OPS(faulty_init_task");
    assert_recorded(exit);
}

#[test]
fn a_task_that_did_not_ask_may_be_kept_from_asking() {
    assert_eq!(sched_ext(&run("FAULT_FORK_DISALLOW")).exit, None);
}
