// SPDX-License-Identifier: MIT OR Apache-2.0
//! The seam between experiments and the simulation: tests put a simulator behind it whose results can be checked by hand.

use tandem_simulator::machine::Machine;
use tandem_simulator::metrics::Report;
use tandem_simulator::observer::Observer;
use tandem_simulator::simulation::{Budget, Options, SimulationError, simulate};
use tandem_simulator::workload::Workload;

/// Runs simulations, several at once if asked from several threads.
pub trait Simulator: Sync {
    /// Runs `workload` on `machine` and shows what happens to `observer`.
    fn simulate(
        &self,
        machine: &Machine,
        workload: &Workload,
        options: &Options,
        observer: &mut dyn Observer,
    ) -> Result<Report, SimulationError>;
}

/// Linux as the library models it.
#[derive(Debug)]
pub struct Linux;

impl Simulator for Linux {
    fn simulate(
        &self,
        machine: &Machine,
        workload: &Workload,
        options: &Options,
        observer: &mut dyn Observer,
    ) -> Result<Report, SimulationError> {
        simulate(machine, workload, options, observer)
    }
}

/// The same, all simulations within one budget of memory.
#[derive(Debug)]
pub struct LinuxWithin(pub Budget);

impl Simulator for LinuxWithin {
    fn simulate(
        &self,
        machine: &Machine,
        workload: &Workload,
        options: &Options,
        observer: &mut dyn Observer,
    ) -> Result<Report, SimulationError> {
        let options = Options { memory: self.0.clone(), ..options.clone() };
        simulate(machine, workload, &options, observer)
    }
}
