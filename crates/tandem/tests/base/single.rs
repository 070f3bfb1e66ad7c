// SPDX-License-Identifier: GPL-2.0-only
//! `base=single`: one queue for all CPUs, and none of the callbacks that the base of several queues needs.

use std::collections::BTreeSet;

use super::run::{for_ms, hog, options, periodic, with, within};
use crate::equal;
use crate::long::combinations::scheduler::audited_run;
use crate::long::combinations::support::workload::TaskExt;

/// The callbacks and programs that were called with settings, and the CPU time of all threads, in milliseconds.
fn called(settings: &[(&str, &str)]) -> (BTreeSet<String>, f64) {
    let tasks = [hog("hog").times(3), hog("nice").nice(5), periodic("light", 1, 10)];
    let report = audited_run(&equal::machine(2), &for_ms(500, tasks), &options(with(settings)));
    let time = report.tasks.iter().map(|task| task.cpu_time_s * 1e3).sum();
    (report.sched_ext.unwrap().callbacks.into_keys().collect(), time)
}

#[test]
fn it_loads_and_has_none_of_the_new_callbacks() {
    let (single, time) = called(&[("base", "single")]);
    within(time, 1000.0, 1.0);
    let (queues, _) = called(&[]);
    for callback in ["tick", "runnable", "quiescent", "set_weight", "cgroup_init"] {
        assert!(!single.contains(callback), "{callback} among {single:?}");
        assert!(queues.contains(callback), "{callback} not among {queues:?}");
    }
    for callback in ["enqueue", "dispatch", "running", "stopping"] {
        assert!(single.contains(callback) && queues.contains(callback), "{callback}");
    }
}
