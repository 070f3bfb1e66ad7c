// SPDX-License-Identifier: MIT OR Apache-2.0
//! Small machines and workloads, and checks of their runs.

use std::path::Path;

use tandem_simulator::machine::Machine;
use tandem_simulator::metrics::Report;
use tandem_simulator::observer::{NoObserver, Observer};
use tandem_simulator::simulation::{Governor, Options, SimulationError, simulate};
use tandem_simulator::units::Nanos;

use crate::common;
pub use crate::common::{run_with, task, workload};

/// A machine of `cores` equal cores at 1 GHz that draw 1 W each when busy; scheduling takes no time, and idling no
/// power.
pub fn machine(cores: usize) -> Machine {
    machine_from(&text(cores))
}

/// The description of [`machine`], for tests that change some of it.
pub fn text(cores: usize) -> String {
    TEXT.replace("cores = 1\n", &format!("cores = {cores}\n"))
}

pub fn machine_from(text: &str) -> Machine {
    match Machine::parse("small", Path::new("small.toml"), text, None) {
        Ok(machine) => machine,
        Err(error) => panic!("{error}"),
    }
}

pub fn options() -> Options {
    Options { governor: "performance".parse::<Governor>().unwrap(), ..Options::default() }
}

/// Runs a workload at the highest clock.
pub fn try_run(machine: &Machine, text: &str) -> Result<Report, SimulationError> {
    simulate(machine, &workload(text), &options(), &mut NoObserver)
}

pub fn run(machine: &Machine, text: &str) -> Report {
    run_with(machine, &workload(text), &options())
}

pub fn run_until(machine: &Machine, text: &str, limit: Nanos) -> Report {
    watch(machine, text, limit, &mut NoObserver)
}

pub fn watch(machine: &Machine, text: &str, limit: Nanos, observer: &mut dyn Observer) -> Report {
    common::watch(machine, &workload(text), &Options { time_limit: Some(limit), ..options() }, observer)
}

/// Asserts that two times in seconds are equal, to the microsecond.
#[track_caller]
pub fn assert_time(actual: f64, expected: f64) {
    assert!((actual - expected).abs() < 1e-6, "{actual} s instead of {expected} s");
}

const TEXT: &str = r#"
schema = 1
title = "Small"

[core_type.core]
ipc = 1
memory_speed = 1.0
stall_activity = 0.5
source = "assumed: round"

[opp_table.core]
transition_latency_us = 0
opps = [{ mhz = 500, watts = 0.4 }, { mhz = 1000, watts = 1 }]
source = "assumed: round"

[idle_table.core]
states = [{ name = "C1", entry_us = 0, exit_us = 0, residency_us = 0, watts = 0 }]
source = "assumed: round"

[memory.memory]
gb_per_s = 10
thread_gb_per_s = 10
contention = 0
static_watts = 0
nj_per_byte = 0
source = "assumed: round"

[package.package]
uncore_watts = 0
uncore_idle_watts = 0
source = "assumed: round"

[[cluster]]
name = "cores"
package = "package"
core_type = "core"
cores = 1
opp_table = "core"
idle_table = "core"
performance_domain = "cpu"
memory = "memory"
static_watts = 0
cache = { level = 3, kib = 8192, per = "package", hit_cost = 0.1 }
source = "assumed: round"

[platform]
watts = 0
supply_efficiency = 1.0
source = "assumed: round"

[scheduling]
context_switch_us = 0
migration_us = 0
migration_llc_us = 0
tick_us = 0
source = "assumed: free"
"#;
