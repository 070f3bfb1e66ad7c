// SPDX-License-Identifier: GPL-2.0-only
//! What the results of experiments were produced by: their files, and what their runs name that is bundled.

use std::path::Path;

use tandem_experiments::{Library, Used};
use tandem_simulator::machine::Machine;
use tandem_simulator::simulation::Scheduler;
use tandem_simulator::workload::bundled::BUNDLED;

use super::{BUNDLED_PAPER, Input, InputKind, ProducedBy};
use crate::arguments::choice;

impl ProducedBy {
    /// What the results of `papers` were produced by, whose runs use `used`; `carried` are papers that the command carries.
    pub fn study(command: &[String], library: &Library, papers: &[&str], used: &Used, carried: bool) -> Self {
        let mut produced = Self::new(command, 0);
        for paper in papers {
            for (file, text) in library.texts(paper) {
                let name = match carried {
                    true => format!("{BUNDLED_PAPER}{paper}/{file}"),
                    false => library.path(paper, file).to_string_lossy().into_owned(),
                };
                produced.input(Some(Input::of(InputKind::Experiment, &name, text.as_bytes())));
            }
        }
        for (paper, spec) in &used.machines {
            produced = produced.machine_of(library, paper, spec);
        }
        for (_, name) in used.workloads.iter().filter(|(paper, name)| library.text(paper, name).is_none()) {
            if let Some((_, text)) = BUNDLED.iter().find(|(bundled, _)| bundled == name) {
                produced = produced.workload(Path::new(name), text);
            }
        }
        for name in &used.schedulers {
            if let Ok(choice) = choice(name)
                && let Scheduler::SchedExt(object) = &choice.pair().scheduler
            {
                Input::scheduler(object).into_iter().for_each(|input| produced.input(Some(input)));
            }
        }
        produced
    }

    /// With a machine that a run names: a file of the library, which is among the inputs already, or a bundled one.
    fn machine_of(self, library: &Library, paper: &str, spec: &str) -> Self {
        let (name, configuration) = spec.split_once(':').map_or((spec, None), |(name, rest)| (name, Some(rest)));
        let Some(text) = library.text(paper, name) else {
            return match Machine::load(spec) {
                Ok(machine) => self.machine(spec, &machine),
                Err(_) => self,
            };
        };
        let stem = Path::new(name).file_stem().unwrap_or_default().to_string_lossy();
        match Machine::parse(&stem, &library.path(paper, name), text, configuration) {
            Ok(machine) => self.assumed(&machine),
            Err(_) => self,
        }
    }
}
