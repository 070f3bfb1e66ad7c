// SPDX-License-Identifier: MIT OR Apache-2.0
//! Constructed faults, and whether the right one is named. A scheduler's callbacks are told by
//! name.
//!
//! [`cpu`]: waits for a CPU. [`locks`]: waits for a mutex. [`rounds`]: rounds that end too late. [`watching`]: watching
//! changes nothing, and what is told adds up.

mod cpu;
mod locks;
mod rounds;
mod watching;

use tandem_simulator::machine::Machine;
use tandem_simulator::simulation::Options;
use tandem_simulator::units::{MSEC, Nanos};
use tandem_simulator::why::report::WaitReport;
use tandem_simulator::why::{Recorder, Report};

use crate::common;
use crate::engine::support::{self as small, workload};

/// Why threads waited in a run of the workload with this text.
#[track_caller]
fn why(machine: &Machine, text: &str, options: &Options) -> Report {
    let workload = workload(text);
    let mut recorder = Recorder::new(machine, &workload, 5);
    let report = common::watch(machine, &workload, options, &mut recorder);
    recorder.finish(report.time_s)
}

/// Options with this limit in milliseconds.
fn within(limit_ms: Nanos) -> Options {
    Options { time_limit: Some(limit_ms * MSEC), ..small::options() }
}

/// The thread that ran most meanwhile.
#[track_caller]
fn runner(wait: &WaitReport) -> &str {
    &wait.main_runner().expect("some thread ran").task
}
