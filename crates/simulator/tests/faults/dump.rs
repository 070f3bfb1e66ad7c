// SPDX-License-Identifier: MIT OR Apache-2.0
//! The state that is written down when a scheduler errs (`scx_dump_state`).

use super::support::{exit, run};

#[test]
fn the_dump_has_the_cause_the_cpus_and_their_tasks() {
    insta::assert_snapshot!(exit(&run("FAULT_UNKNOWN_DSQ")).dump);
}
