// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs that fail by themselves, which a kernel's verifier would not have loaded: they are stopped, and the
//! scheduler is ejected.

use tandem_simulator::simulation::{KernelParameters, Options};

use super::support::{WORKERS, assert_place, assert_recorded, exit, options, run, says, sched_ext, try_run};

#[test]
fn a_write_behind_a_table_is_stopped_at_its_line() {
    let report = run("FAULT_OUT_OF_BOUNDS");
    let exit = exit(&report);
    assert_eq!((exit.kind.as_str(), exit.callback.as_deref()), ("SCX_EXIT_ERROR", Some("enqueue")));
    assert!(exit.message.starts_with("out of bounds: write of 8 bytes at 0x"), "{}", exit.message);
    assert_place(exit, "FAULT_OUT_OF_BOUNDS", &[]);
    assert_recorded(exit);
}

#[test]
fn a_null_pointer_is_stopped_at_its_line() {
    let report = run("FAULT_NULL");
    let exit = exit(&report);
    let message = "null pointer: read of 8 bytes at 0x0";
    assert_eq!(says(exit), ("SCX_EXIT_ERROR", Some("enqueue"), message));
    assert_place(exit, "FAULT_NULL", &[]);
    assert_recorded(exit);
}

#[test]
fn an_endless_loop_is_stopped_after_the_budget() {
    let options = options("faulty", ",fault=FAULT_ENDLESS_LOOP");
    let kernel = KernelParameters { bpf_budget: 200_000, ..options.kernel.clone() };
    let report = try_run(WORKERS, &Options { kernel, ..options }).unwrap();
    let exit = exit(&report);
    let message = "the program executed more than 200000 instructions: an endless loop?";
    assert_eq!(says(exit), ("SCX_EXIT_ERROR", Some("enqueue"), message));
    assert_place(exit, "FAULT_ENDLESS_LOOP", &[]);
    assert_recorded(exit);
    // The loop itself took CPU time: 200,000 instructions of 1 ns are 0.2 ms.
    let enqueue = sched_ext(&report).callbacks["enqueue"];
    assert!(enqueue.instructions > 200_000 && enqueue.instructions < 210_000, "{enqueue:?}");
    assert!(sched_ext(&report).overhead_s > 0.000_2, "{}", sched_ext(&report).overhead_s);
    assert_eq!(report.tasks.iter().map(|task| task.work_s).sum::<f64>(), 0.080);
}

#[test]
fn a_budget_of_its_default_ends_a_loop_too() {
    let report = run("FAULT_ENDLESS_LOOP");
    assert!(exit(&report).message.contains("100000000 instructions"), "{}", exit(&report).message);
}
