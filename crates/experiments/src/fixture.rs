// SPDX-License-Identifier: MIT OR Apache-2.0
//! What unit tests need: a report whose numbers are easy to reckon with, and a simulator that counts.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use tandem_simulator::machine::Machine;
use tandem_simulator::metrics::{Energy, Report};
use tandem_simulator::observer::{NoObserver, Observer};
use tandem_simulator::simulation::{Options, SimulationError};
use tandem_simulator::workload::Workload;

use crate::simulator::{Linux, Simulator};

/// A run of 2 s at 4 W, 1 J of its 8 J in memory, with one application.
pub fn report() -> Report {
    let machine = Machine::load("hikey960").unwrap();
    let workload =
        Workload::parse(Path::new("w.json"), r#"{ "tasks": { "app": { "loop": 1, "run": 1000 } } }"#).unwrap();
    let options = Default::default();
    let report = Linux.simulate(&machine, &workload, &options, &mut NoObserver).unwrap();
    let energy_j = Energy { total: 8.0, cores: 7.0, memory: 1.0, ..Energy::default() };
    Report { time_s: 2.0, energy_j, power_w: 4.0, edp_js: Some(16.0), ed2p_js2: Some(32.0), ..report }
}

/// Linux, and how many runs it was asked for.
#[derive(Default)]
pub struct Counted(pub AtomicUsize);

impl Simulator for Counted {
    fn simulate(
        &self,
        machine: &Machine,
        workload: &Workload,
        options: &Options,
        observer: &mut dyn Observer,
    ) -> Result<Report, SimulationError> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Linux.simulate(machine, workload, options, observer)
    }
}
