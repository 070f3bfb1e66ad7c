// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs that write what only the kernel may write, or make its functions work without end (`tests/bpf/forging.bpf.c`): they are
//! stopped, the scheduler is ejected, and what is the kernel's stays as it was.

use tandem_simulator::metrics::{ExitReport, Report};
use tandem_simulator::simulation::{Bpf, KernelParameters, Options};

use super::support::{WORKERS, exit, options, says, try_run};

/// A run of the four threads with each engine, whose reports are the same: all work is done.
#[track_caller]
fn run(fault: &str) -> Report {
    let [interpreted, compiled] = [Bpf::Interpreter, Bpf::Compiled].map(|bpf| {
        let options = Options { bpf, ..options("forging", &format!(",fault={fault}")) };
        try_run(WORKERS, &options).unwrap_or_else(|error| panic!("{error}"))
    });
    let text = |report: &Report| serde_json::to_string(report).unwrap();
    assert_eq!(text(&interpreted), text(&compiled), "{fault}");
    assert_eq!(interpreted.tasks.iter().map(|task| task.work_s).sum::<f64>(), 0.080, "{fault}");
    interpreted
}

/// Asserts that the program was stopped on the line that ends in this comment.
#[track_caller]
fn assert_line(exit: &ExitReport, comment: &str) {
    assert!(exit.backtrace[0].text.ends_with(&format!("/* {comment} */")), "{:?}", exit.backtrace);
}

#[test]
fn a_forged_iterator_frees_nothing_of_the_kernels() {
    for fault in ["FAULT_FORGED_TASK", "FAULT_FORGED_MM", "FAULT_FORGED_RQ", "FAULT_FORGED_STACK"] {
        let report = run(fault);
        let exit = exit(&report);
        assert!(exit.message.starts_with("no bpf_iter_bits was made at 0x"), "{fault}: {}", exit.message);
        assert_line(exit, "FORGED");
    }
}

#[test]
fn a_forged_iterator_walks_no_queue() {
    let report = run("FAULT_FORGED_QUEUE");
    let exit = exit(&report);
    assert!(exit.message.starts_with("no bpf_iter_scx_dsq was made at 0x"), "{}", exit.message);
    assert_line(exit, "FAULT_FORGED_QUEUE");
}

#[test]
fn an_iterator_that_is_left_is_found_at_the_end() {
    for (fault, name) in [("FAULT_LEFT_ITERATOR", "bpf_iter_bits"), ("FAULT_LEFT_QUEUE", "bpf_iter_scx_dsq")] {
        let report = run(fault);
        let message = &exit(&report).message;
        assert!(message.starts_with(&format!("the program ended without destroying the {name} at 0x")), "{message}");
    }
}

#[test]
fn an_owned_pointer_is_not_written() {
    let report = run("FAULT_WRITTEN_KPTR");
    let exit = exit(&report);
    assert!(exit.message.starts_with("read-only memory: write of 8 bytes at 0x"), "{}", exit.message);
    assert_line(exit, "FAULT_WRITTEN_KPTR");
}

#[test]
fn copying_without_end_is_stopped_after_the_budget() {
    let report = run("FAULT_LONG_COPIES");
    let message = "the functions that the program called did as much work as 100000000 instructions: what it gives them is too large";
    assert_eq!(says(exit(&report)), ("SCX_EXIT_ERROR", Some("enqueue"), message));
    assert_line(exit(&report), "FAULT_LONG_COPIES");
}

#[test]
fn all_callbacks_together_have_a_budget() {
    let options = options("forging", "");
    let kernel = KernelParameters { bpf_run_budget: 1_000, ..options.kernel.clone() };
    let report = try_run(WORKERS, &Options { kernel, ..options }).unwrap();
    let message = "the programs executed more than 1000 instructions in all, with what their helpers did; `bpf_run_budget` says how many";
    assert_eq!(exit(&report).message, message);
    assert_eq!(report.tasks.iter().map(|task| task.work_s).sum::<f64>(), 0.080);
}
