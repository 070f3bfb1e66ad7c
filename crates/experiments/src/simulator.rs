// SPDX-License-Identifier: MIT OR Apache-2.0
//! The seam between experiments and the simulation: tests put a simulator behind it whose results can be checked by hand.

use tandem_simulator::machine::Machine;
use tandem_simulator::metrics::Report;
use tandem_simulator::observer::Observer;
use tandem_simulator::simulation::{Bpf, Budget, Options, SimulationError, simulate};
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

/// The same as a process has it for all its simulations.
#[derive(Debug)]
pub struct LinuxWithin {
    /// The memory that all together may spend.
    pub memory: Budget,
    /// How programs of loaded schedulers run.
    pub bpf: Bpf,
}

impl Simulator for LinuxWithin {
    fn simulate(
        &self,
        machine: &Machine,
        workload: &Workload,
        options: &Options,
        observer: &mut dyn Observer,
    ) -> Result<Report, SimulationError> {
        // A profile is asked of one run; how fast all of them run is not.
        let bpf = if options.bpf == Bpf::Profiled { options.bpf } else { self.bpf };
        let options = Options { memory: self.memory.clone(), bpf, ..options.clone() };
        simulate(machine, workload, &options, observer)
    }
}
