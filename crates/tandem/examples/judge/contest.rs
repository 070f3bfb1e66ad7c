// SPDX-License-Identifier: GPL-2.0-only
//! The schedulers that are compared, and their runs.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use tandem_experiments::{Choice, FairOrObject, Pair, Scenario, Schedulers, Simulator};
use tandem_simulator::machine::Machine;
use tandem_simulator::metrics::Report;
use tandem_simulator::observer::NoObserver;
use tandem_simulator::simulation::{Governor, Scheduler};
use tandem_simulator::units::Nanos;
use tandem_simulator::workload::Workload;

use crate::bundled;

/// What goes wrong ends the measurement.
pub type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// Which cells and seeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Half {
    /// The half by which the scheduler is developed.
    Choosing,
    /// The half that is looked at to judge.
    Judging,
}

impl Half {
    /// The half's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Choosing => "choosing",
            Self::Judging => "judging",
        }
    }

    /// Whether a cell belongs to the half, by the places of what it is made of in their lists: neighbours are in different halves.
    pub fn has(self, places: &[usize]) -> bool {
        places.iter().sum::<usize>() % 2 == self as usize
    }
}

/// The schedulers, and how they run.
pub struct Contest<'a> {
    /// Runs the simulations, or knows them.
    pub simulator: &'a dyn Simulator,
    /// The scheduler that is judged.
    pub judged: Pair,
    /// Linux's own.
    pub fair: Pair,
    /// scx_bpfland, if there is an object of it.
    pub bpfland: Option<Pair>,
    /// Others whose costs stand beside: names and schedulers.
    pub others: Vec<(String, Pair)>,
    /// Whether there are fewer cells and seeds.
    pub quick: bool,
    /// The half of a run.
    pub half: Half,
    /// The first seed of the half.
    pub seed: u64,
}

/// The schedulers that the simulator knows, and those that the command carries.
struct Carried;

impl Schedulers for Carried {
    fn named(&self, text: &str) -> Result<Scheduler, Box<dyn Error + Send + Sync>> {
        match bundled::open(text) {
            Some(opened) => Ok(Scheduler::SchedExt(Arc::new(opened?))),
            None => FairOrObject.named(text),
        }
    }
}

/// The scheduler that `text` names, with its governor or the machine's own.
pub fn named(text: &str) -> Outcome<Pair> {
    Ok(Choice::parse(text, &Carried)?.pair())
}

/// The scheduler of an object in `folder`, if there is one, beside `governor`. Settings may follow its name: `scx_lavd,verbose=1`.
pub fn in_folder(folder: &Path, text: &str, governor: Governor) -> Outcome<Option<Pair>> {
    let (name, settings) = text.split_at(text.find(',').unwrap_or(text.len()));
    let path = folder.join(format!("{name}.bpf.o"));
    match path.is_file() {
        true => Ok(Some(Pair { governor, ..named(&format!("{}{settings}", path.display()))? })),
        false => Ok(None),
    }
}

/// Whether a loaded scheduler went before the end of a run.
pub fn ejected(report: &Report) -> bool {
    report.sched_ext.as_ref().is_some_and(|scheduler| scheduler.exit.is_some())
}

impl Contest<'_> {
    /// The report of a run with the half's seed of this number, which a time limit may end.
    pub fn run(
        &self,
        (machine, workload): (&Machine, &Workload),
        pair: &Pair,
        number: usize,
        limit: Option<Nanos>,
    ) -> Outcome<Report> {
        let scenario = Scenario { time_limit: limit, ..Scenario::default() }.disturbed();
        let seed = self.seed + number as u64;
        let options = scenario.options(pair, seed)?;
        let report = self.simulator.simulate(machine, workload, &options, &mut NoObserver);
        report
            .map_err(|error| format!("{} on {} under {pair}, seed {seed}: {error}", workload.name, machine.name).into())
    }

    /// scx_bpfland, if it can be loaded on `machine`.
    pub fn bpfland_on(&self, machine: &Machine) -> Option<&Pair> {
        self.bpfland.as_ref().filter(|pair| Scenario::default().check_on(machine, pair, 0).is_ok())
    }

    /// How many CPUs of `machine` are in use.
    pub fn cpus(machine: &Machine) -> u32 {
        machine.online().count() as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_a_chessboard() {
        for half in [Half::Choosing, Half::Judging] {
            assert_ne!(half.has(&[0, 0]), half.has(&[0, 1]));
            assert_eq!(half.has(&[0, 1]), half.has(&[1, 0]));
        }
        assert!(Half::Choosing.has(&[2, 0]) && !Half::Judging.has(&[2, 0]));
        assert!(Half::Judging.has(&[2, 1]) && !Half::Choosing.has(&[2, 1]));
    }

    #[test]
    fn the_judged_scheduler_is_one_of_the_command_or_an_object() {
        assert_eq!(named("tandem").unwrap().to_string(), "tandem");
        assert_eq!(named("fair+performance").unwrap().governor, Governor::Performance);
        assert!(named("tandm").is_err());
        assert!(in_folder(Path::new("/nowhere"), "scx_bpfland", Governor::Default).unwrap().is_none());
    }
}
