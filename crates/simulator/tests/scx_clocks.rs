// SPDX-License-Identifier: MIT OR Apache-2.0
//! Clocks of the run queues, as programs of a loaded scheduler read them.

use std::path::Path;

use tandem_simulator::machine::Machine;
use tandem_simulator::simulation::{Options, Scheduler};
use tandem_simulator::workload::Workload;

use crate::{common, objects};

#[test]
fn a_run_queues_clocks_advance_with_the_task_that_runs() {
    let machine = Machine::load("hikey960").unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let workload = Workload::load(&root.join("workloads/forkjoin.json")).unwrap();
    let path = objects::object_path("clocks");
    let scheduler: Scheduler = path.to_str().unwrap().parse().unwrap();
    let report = common::run_with(&machine, &workload, &Options { scheduler, ..Options::default() });
    let scheduler = report.sched_ext.unwrap();
    assert_eq!(scheduler.exit, None);
    assert!(scheduler.callbacks["stopping"].calls > 1000, "{:?}", scheduler.callbacks);
}

#[test]
fn a_tracing_program_hears_all_that_a_task_ran_before_it_stops() {
    let machine = Machine::load("hikey960").unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let workload = Workload::load(&root.join("workloads/forkjoin.json")).unwrap();
    let path = objects::object_path("runtimes");
    let scheduler: Scheduler = path.to_str().unwrap().parse().unwrap();
    let report = common::run_with(&machine, &workload, &Options { scheduler, ..Options::default() });
    let scheduler = report.sched_ext.unwrap();
    assert_eq!(scheduler.exit, None);
    let (told, stops) = (scheduler.callbacks["tp_btf/sched_stat_runtime"].calls, scheduler.callbacks["stopping"].calls);
    // At every stop of a task that has run, and at ticks in between.
    assert!(told > stops, "{told} {stops}");
}
