// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether a machine has the clock that the governor `userspace` is asked for.

use tandem_simulator::machine::Machine;
use tandem_simulator::simulation::Governor;

/// A clock that no CPU of the machine has. A kernel would take the nearest without a word, and the run would be another
/// one than was asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "governor `userspace`: {} is outside the clocks of {machine}, {} to {}{}",
    megahertz(*.khz), megahertz(*.lowest), megahertz(*.highest), self.hint()
)]
pub struct ClockOutside {
    /// The machine's name.
    pub machine: String,
    /// The clock that was asked for.
    pub khz: u32,
    /// The lowest clock of any CPU.
    pub lowest: u32,
    /// The highest clock of any CPU.
    pub highest: u32,
}

impl ClockOutside {
    /// Where the number would do in MHz, that is what was meant.
    fn hint(&self) -> String {
        let meant = self.khz.saturating_mul(1_000);
        if (self.lowest..=self.highest).contains(&meant) {
            format!("; without a unit a number is in kHz: {} is `userspace={}MHz`", megahertz(meant), self.khz)
        } else {
            String::new()
        }
    }
}

/// `1.4 MHz`.
fn megahertz(khz: u32) -> String {
    format!("{} MHz", f64::from(khz) / 1_000.0)
}

/// Whether the clock of `governor`, if it names one, lies between the lowest and the highest of `machine`. One between two
/// operating points is rounded, as a kernel does it; so is one that only some CPUs have on the others.
pub(super) fn check(machine: &Machine, governor: &Governor) -> Result<(), ClockOutside> {
    let Governor::Userspace { khz: Some(khz) } = *governor else { return Ok(()) };
    let clocks = || machine.performance_domains.iter().flat_map(|domain| &domain.opps).map(|opp| opp.khz);
    let (Some(lowest), Some(highest)) = (clocks().min(), clocks().max()) else { return Ok(()) };
    match (lowest..=highest).contains(&khz) {
        true => Ok(()),
        false => Err(ClockOutside { machine: machine.name.clone(), khz, lowest, highest }),
    }
}
