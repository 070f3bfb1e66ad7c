// SPDX-License-Identifier: GPL-2.0-only
//! Threads whose migration the kernel has disabled: the kernel ejects a scheduler that sends one elsewhere.

use tandem_simulator::machine::Machine;
use tandem_simulator::workload::Op;

use super::run::{for_ms, forever, hog, pairs, run, threads, unequal, within};
use crate::equal;
use crate::long::combinations::support::workload::{TaskExt, sleep, thread, work};

/// Threads that stay where they are for 3 ms again and again, beside others that compute.
fn stay(machine: &Machine) {
    let held = forever([Op::MigrateDisable, work(1), sleep(1), work(2), Op::MigrateEnable, work(1)]);
    let tasks = [thread("held", held).times(6), hog("hog").times(4)];
    let report = run(machine, &for_ms(500, tasks));
    for task in threads(&report, "held") {
        assert!(task.cpu_time_s > 0.02, "{} has run for {} s", task.name, task.cpu_time_s);
    }
    let all: f64 = report.tasks.iter().map(|task| task.cpu_time_s).sum();
    within(all, 0.5 * machine.cpus.len() as f64, 0.01);
}

#[test]
fn they_stay_below_one_cache() {
    stay(&equal::machine(4));
}

#[test]
fn they_stay_where_there_are_several_caches() {
    stay(&pairs(4));
}

#[test]
fn they_stay_where_cpus_differ() {
    stay(&unequal(2, 2));
}
