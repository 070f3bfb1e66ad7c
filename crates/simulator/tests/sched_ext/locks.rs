// SPDX-License-Identifier: MIT OR Apache-2.0
//! A dispatch queue that all CPUs share has one lock, whose turns are what the machine can switch at most.

use std::path::Path;

use tandem_simulator::machine::Machine;
use tandem_simulator::units::MSEC;

use super::support::{open, options, survived};
use crate::common::{run_with, workload};
use crate::equal::description;

/// Switches per second of a machine with so many CPUs, where two threads for each CPU work for a microsecond and give it up, again
/// and again, all through the one queue of `scx_simple`. A cache line takes 100 ns to come from another core.
fn served(cpus: u32) -> f64 {
    let costs = "context_switch_us = 1\nline_transfer_us = 0.1";
    let description = description(cpus as usize).replace("context_switch_us = 0", costs);
    let machine = Machine::parse("equal", Path::new("equal.toml"), &description, None).unwrap();
    let program = r#""loop" : -1, "run" : 1, "yield" : """#;
    let threads = workload(&format!(r#"{{ "tasks" : {{ "t" : {{ "instance" : {}, {program} }} }} }}"#, 2 * cpus));
    let report = run_with(&machine, &threads, &options(&open("scx_simple", "fifo_sched=true"), 10 * MSEC));
    survived(&report);
    report.switches as f64 / 0.010
}

/// The lock is passed on: three lines and 48 instructions at 0.5 ns to put a thread in, three lines and 108 to take one out.
#[test]
fn a_queue_that_all_cpus_share_serves_no_more_than_its_lock_lets_through() {
    // With 0.5 ns for an instruction, to put a thread in takes at least 48 of them and three cache lines of 100 ns, to take one out
    // 108 and as many lines. So 678 ns are the least for a switch, whatever the number of CPUs: 1.47 million in a second.
    let (few, many, most) = (served(2), served(16), served(64));
    let limit = 1e9 / 678.0;
    assert!(few < 0.6 * limit, "two CPUs: {few} switches a second");
    for served in [many, most] {
        assert!((0.95..1.01).contains(&(served / limit)), "{served} of {limit} switches a second");
    }
}
