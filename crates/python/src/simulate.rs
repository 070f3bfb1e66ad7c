// SPDX-License-Identifier: MIT OR Apache-2.0
//! One run.

use std::time::Instant;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use tandem_experiments::Simulator;

use crate::carried::linux;
use crate::errors::OrRaise;
use crate::given::{Duration, GivenMachine, GivenWorkload, Shared, pair};
use crate::interruptible::{Stoppable, interruptible};
use crate::report::Report;
use crate::trace::Recorder;

/// Runs a workload on a machine; the manual is the package's `__init__.pyi`.
#[pyfunction]
#[pyo3(signature = (machine, workload, *, scheduler="fair", governor=None, seed=0, duration=None, kernel=None,
    hotplug=Vec::new(), quiet=false, trace=false, **settings))]
#[expect(clippy::too_many_arguments, reason = "Python's keyword arguments")]
pub fn simulate(
    py: Python<'_>,
    machine: GivenMachine,
    workload: GivenWorkload,
    scheduler: &str,
    governor: Option<&str>,
    seed: u64,
    duration: Option<Duration>,
    kernel: Option<String>,
    hotplug: Vec<String>,
    quiet: bool,
    trace: bool,
    settings: Option<&Bound<'_, PyDict>>,
) -> PyResult<Report> {
    let pair = pair(scheduler, governor)?;
    let scenario = Shared::new(duration, kernel, hotplug, quiet).scenario(settings)?;
    let machine = machine.read(py)?.machine;
    let workload = workload.read()?.get()?;
    let linux = linux()?;
    let (result, recorder, wall_s) = interruptible(py, |flag| {
        let options = scenario.options_on(&machine, &pair, seed);
        let start = Instant::now();
        let mut recorder = trace.then(|| Recorder::new(&machine, &workload, flag));
        let result = options.or_raise().and_then(|options| {
            let simulator = Stoppable { simulator: linux, flag };
            let report = match &mut recorder {
                Some(recorder) => simulator.simulate(&machine, &workload, &options, recorder),
                None => {
                    let mut quiet = tandem_simulator::NoObserver;
                    simulator.simulate(&machine, &workload, &options, &mut quiet)
                }
            };
            report.or_raise()
        });
        let trace = recorder.map(Recorder::finish);
        (result, trace, start.elapsed().as_secs_f64())
    })?;
    let mut report = result?;
    report.wall_s = Some(wall_s);
    Ok(Report::new(report, recorder.transpose()?))
}
