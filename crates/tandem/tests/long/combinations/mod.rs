// SPDX-License-Identifier: GPL-2.0-only
//! Tandem's mechanisms in every combination: all work is done, nobody starves, nothing costs much more than fair.
//!
//! `cargo test -p tandem-sched --test all combinations:: -- --nocapture` prints the tables.

mod bundled;
mod cost;
mod machines;
mod patience;
mod random;
pub mod scheduler;
mod slowdown;

/// What the simulator's own tests have: random machines and workloads, and observers that check a run.
#[path = "../../../../simulator/tests/simulation/support"]
#[allow(dead_code, reason = "shared with the simulator's tests")]
pub mod support {
    pub mod any_hotplug;
    pub mod any_machine;
    pub mod any_options;
    pub mod any_workload;
    pub mod audit;
    pub mod machine;
    pub mod observers;
    pub mod starvation;
    pub mod workload;
}
