// SPDX-License-Identifier: MIT OR Apache-2.0
//! Affinity: threads stay where they may be, and others use the time that is left.

use super::support::{Places, assert_near, options, run, spinning};
use tandem_simulator::machine::Machine;
use tandem_simulator::units::{CpuId, SEC};

/// Four threads pinned to two CPUs get half of a CPU each; six others have the other six CPUs to themselves.
#[test]
fn pinned_threads_crowd_only_their_own_cpus() {
    let tasks = [spinning("few", 4, r#", "cpus" : [0, 1]"#), spinning("free", 6, "")];
    let report = run("smp-8", &tasks, 1, 20);
    for task in &report.tasks {
        let expected = if task.name.starts_with("few") { 10.0 } else { 20.0 };
        assert_near(task.cpu_time_s, expected, 0.03);
    }
}

/// Ten threads may use CPUs 0 to 3 only, two may use any CPU: these two do not stay on the crowded CPUs. The ten get a
/// third or a half of a CPU each and, as on Linux, keep this share: a CPU with two tasks is above the mean load of the
/// eight already (12 tasks, 1.5 each), so it does not pull from a CPU with three.
#[test]
fn threads_that_may_leave_crowded_cpus_do() {
    let tasks = [spinning("crowd", 10, r#", "cpus" : [0, 1, 2, 3]"#), spinning("free", 2, "")];
    let report = run("smp-8", &tasks, 1, 20);
    for task in report.tasks.iter().filter(|task| task.name.starts_with("free")) {
        assert_near(task.cpu_time_s, 20.0, 0.03);
    }
    for task in report.tasks.iter().filter(|task| task.name.starts_with("crowd")) {
        assert!((6.6..=10.1).contains(&task.cpu_time_s), "{}", task.cpu_time_s);
    }
}

/// Threads that pin themselves to a set while they run are sent to the CPUs of the set in turn.
#[test]
fn threads_that_pin_themselves_spread_over_the_set() {
    let task = r#""t" : { "instance" : 4, "phases" : {
        "start" : { "loop" : 1, "run" : 10000, "cpus" : [0, 1, 2, 3] },
        "go" : { "loop" : 1, "run" : 500000, "cpus" : [4, 5, 6, 7] } } }"#;
    let places = Places::of(&Machine::load("smp-8").unwrap(), &[task.to_owned()], &options(1, SEC));
    let mut cpus = places.at("t", 100_000_000);
    cpus.sort_unstable();
    assert_eq!(cpus, [4, 5, 6, 7].map(CpuId));
}
