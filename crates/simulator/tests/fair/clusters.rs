// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cores that share an L2 below the last-level cache: CPUs 16 to 19 and 20 to 23 of an i9-12900K.

use super::support::{Places, options, spinning};
use tandem_simulator::machine::Machine;
use tandem_simulator::units::{CpuId, MSEC, SEC};

/// A thread that was on CPU 19 and may use all E-cores wakes while CPU 19 is busy.
const WAKING: &str = r#""t" : { "loop" : 1, "phases" : {
        "there" : { "loop" : 1, "cpus" : [19], "run" : 1000 },
        "then" : { "loop" : 1, "cpus" : [16, 17, 18, 19, 20, 21, 22, 23], "sleep" : 10000, "run" : 5000 } } }"#;

#[test]
fn a_thread_that_wakes_looks_for_an_idle_cpu_of_its_cluster_first() {
    let machine = Machine::load("i9-12900k").unwrap();
    let busy = spinning("busy", 1, r#", "cpus" : [19], "delay" : 5000"#);
    let places = Places::of(&machine, &[WAKING.to_owned(), busy], &options(1, SEC / 10));
    // The search begins behind CPU 19 and goes round: without clusters CPU 20 is next.
    assert_eq!(places.at("t", 14 * MSEC), [CpuId(16)]);
}

#[test]
fn a_thread_leaves_its_cluster_where_that_is_full() {
    let machine = Machine::load("i9-12900k").unwrap();
    let busy =
        (16..20).map(|cpu| spinning(&format!("busy{cpu}"), 1, &format!(r#", "cpus" : [{cpu}], "delay" : 5000"#)));
    let tasks: Vec<String> = std::iter::once(WAKING.to_owned()).chain(busy).collect();
    let places = Places::of(&machine, &tasks, &options(1, SEC / 10));
    assert_eq!(places.at("t", 14 * MSEC), [CpuId(20)]);
}
