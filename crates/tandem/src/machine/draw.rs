// SPDX-License-Identifier: GPL-2.0-only
//! What a machine draws with nothing to do and with all to do, to check a description by eye.

use std::path::Path;

use tandem_experiments::Simulator;
use tandem_simulator::machine::Machine;
use tandem_simulator::metrics::{Energy, Report};
use tandem_simulator::observer::NoObserver;
use tandem_simulator::simulation::Options;
use tandem_simulator::units::SEC;
use tandem_simulator::workload::Workload;

use crate::failure::Failure;
use crate::table::paragraph;

/// How long both are simulated, seconds: the machine's governor is at its highest clock after a hundredth of it.
const SECONDS: u64 = 10;

/// Mean watts of the machine as its Linux runs it: idle, and with a thread on each online CPU that computes.
///
/// The full load begins as a long one leaves the machine (`hot_start`), so that limits on power and heat hold from the start.
pub struct Draw {
    idle: Energy,
    full: Energy,
}

impl Draw {
    /// Simulates both.
    ///
    /// # Errors
    /// What the simulator says.
    pub fn of(machine: &Machine, simulator: &dyn Simulator) -> Result<Self, Failure> {
        let threads = machine.online().count();
        let idle = r#"{ "tasks": { "nothing": { "sleep": 2000000000 } } }"#;
        let full = format!(r#"{{ "tasks": {{ "all": {{ "instance": {threads}, "run": 2000000000 }} }} }}"#);
        Ok(Self { idle: watts(machine, simulator, idle)?, full: watts(machine, simulator, &full)? })
    }

    /// Lines that say so; what the packages draw, and all of it where a board or a power supply adds to that.
    pub fn text(&self, width: usize) -> String {
        let line = |label: &str, watts: &Energy| {
            let parts = [("cores", watts.cores), ("uncore", watts.uncore), ("memory", watts.memory)];
            let outside = watts.platform + watts.supply;
            let outside = (outside > 0.0).then_some(("board and supply", outside));
            let parts = parts.into_iter().chain(outside).map(|(name, watts)| format!("{name} {}", rounded(watts)));
            let parts = parts.collect::<Vec<_>>().join(", ");
            let line =
                paragraph(&format!("{label:<8}{} W: {parts}", rounded(watts.total)), Some(width.saturating_sub(2)));
            line.lines().map(|line| format!("  {line}\n")).collect::<String>()
        };
        let title = "draws, simulated as its Linux runs it, with nothing to do and with all CPUs computing";
        [paragraph(title, Some(width)), line("idle", &self.idle), line("full", &self.full)].concat()
    }
}

/// Mean watts of a run.
fn watts(machine: &Machine, simulator: &dyn Simulator, text: &str) -> Result<Energy, Failure> {
    let workload = Workload::parse(Path::new("power.json"), text)?;
    let mut options = Options { time_limit: Some(SECONDS * SEC), ..Options::default() };
    options.kernel.hot_start = true;
    let Report { energy_j, time_s, .. } = simulator.simulate(machine, &workload, &options, &mut NoObserver)?;
    let mean = |joules: f64| joules / time_s;
    Ok(Energy {
        total: mean(energy_j.total),
        cores: mean(energy_j.cores),
        uncore: mean(energy_j.uncore),
        memory: mean(energy_j.memory),
        platform: mean(energy_j.platform),
        supply: mean(energy_j.supply),
    })
}

/// Three digits.
fn rounded(watts: f64) -> String {
    let decimals = if watts > 0.0 { (2 - watts.log10().floor() as i32).clamp(0, 4) as usize } else { 0 };
    let text = format!("{watts:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tandem_experiments::Linux;

    /// `hikey960`, by hand from its description.
    #[test]
    fn an_idle_machine_draws_what_its_description_adds_up_to() {
        let machine = Machine::load("hikey960").unwrap();
        let draw = Draw::of(&machine, &Linux).unwrap();
        // Clusters and cores are off: the uncore's 0.01 W and the memory's 0.1 W.
        assert!((draw.idle.total - 0.11).abs() < 0.003, "{}", draw.idle.total);
        // Four A53 of 0.245 W, their cluster's 0.047 W, four A73 of 1.57 W or less as heat allows, uncore, memory.
        assert!(draw.full.total > 4.0 && draw.full.total < 7.58, "{}", draw.full.total);
        let text = draw.text(100);
        assert!(text.contains("idle    0.11"), "{text}");
    }

    #[test]
    fn numbers_have_three_digits() {
        assert_eq!([0.0, 0.1234, 1.0, 12.34, 943.6, 0.05].map(rounded), ["0", "0.123", "1", "12.3", "944", "0.05"]);
    }
}
