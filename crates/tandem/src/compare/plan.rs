// SPDX-License-Identifier: GPL-2.0-only
//! What is compared: machines and workloads, each read once, under names that tell them apart.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use tandem_experiments::{Digest, Matrix, Pair, Scenario, Subject, scenario_options};
use tandem_simulator::input::InputError;
use tandem_simulator::machine::Machine;
use tandem_simulator::machine::description::Description;
use tandem_simulator::workload::Workload;

use crate::context::Context;
use crate::failure::Failure;
use crate::files::DASH;
use crate::produced::{Input, ProducedBy, Rests};
use crate::workload;

/// Machines and workloads, and what tells their descriptions from others.
#[derive(Debug)]
pub struct Plan {
    /// In the order given.
    pub machines: Vec<Machine>,
    /// What the machines were read from.
    pub descriptions: Vec<Description>,
    /// In the order given.
    pub workloads: Vec<Workload>,
    /// What the command line calls them, and the texts of the workloads.
    machine_specs: Vec<String>,
    workload_files: Vec<(PathBuf, String)>,
    /// The SHA-256 of their texts, by name.
    machine_texts: BTreeMap<String, String>,
    workload_texts: BTreeMap<String, String>,
}

impl Plan {
    /// Reads what the command line names. What the workloads' readers warn about is told.
    ///
    /// # Errors
    /// A mistake in a file, or two of one name.
    pub fn read(context: &Context<'_>, machines: &[String], workloads: &[PathBuf]) -> Result<Self, Failure> {
        if workloads.iter().filter(|path| **path == Path::new(DASH)).count() > 1 {
            return Err(Failure::Options("standard input is one workload: `-` is given twice".to_owned()));
        }
        let mut plan = Self {
            machines: Vec::new(),
            descriptions: Vec::new(),
            workloads: Vec::new(),
            machine_specs: machines.to_vec(),
            workload_files: Vec::new(),
            machine_texts: BTreeMap::new(),
            workload_texts: BTreeMap::new(),
        };
        for spec in machines {
            let description = Description::load(spec)?;
            let machine = description.machine()?;
            let gone = || InputError::whole(Path::new(spec), "went while it was read".to_owned());
            let text = Input::machine(spec).ok_or_else(gone)?.sha256;
            let twice = plan.machine_texts.insert(machine.name.clone(), text).is_some();
            once("machines", &machine.name, twice)?;
            plan.machines.push(machine);
            plan.descriptions.push(description);
        }
        for path in workloads {
            let (workload, text) = workload::load_with_text(path)?;
            for warning in &workload.warnings {
                context.warn(warning);
            }
            let twice = plan.workload_texts.insert(workload.name.clone(), digest(&text)).is_some();
            once("workloads", &workload.name, twice)?;
            plan.workloads.push(workload);
            plan.workload_files.push((path.clone(), text));
        }
        Ok(plan)
    }

    /// Whether there is more than one cell.
    pub fn is_matrix(&self) -> bool {
        self.machines.len() * self.workloads.len() > 1
    }

    /// What the report of these runs is produced by; `begun` has the command.
    pub fn produced(&self, begun: ProducedBy, scenario: &Scenario, pairs: &[Pair]) -> ProducedBy {
        let machines = self.machine_specs.iter().zip(&self.machines);
        let produced = machines.fold(begun.scenario(scenario), |it, (spec, machine)| it.machine(spec, machine));
        let files = self.workload_files.iter();
        files.fold(produced, |it, (path, text)| it.workload(path, text)).pairs(scenario, pairs)
    }

    /// What the results rest on, machine by machine, without those that an interrupt left no results of.
    ///
    /// # Errors
    /// A mistake in a description, which was read without one.
    pub fn rests(&self, matrix: &Matrix) -> Result<Vec<Rests>, Failure> {
        let of = |(machine, description): (&Machine, &Description)| {
            let mut cells = matrix.comparisons.iter().filter(|cell| cell.machine == machine.name).peekable();
            cells.peek()?;
            let runs = cells.flat_map(|cell| &cell.pairs).flat_map(|pair| &pair.outcomes);
            Some(Rests::of(&machine.name, description, runs.map(|run| &run.report)))
        };
        Ok(self.machines.iter().zip(&self.descriptions).filter_map(of).collect::<Result<_, _>>()?)
    }

    /// What numbers of these runs belong to.
    pub fn subject(&self, scenario: &Scenario, pairs: &[Pair]) -> Subject {
        Subject {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            model: env!("TANDEM_MODEL").to_owned(),
            options: scenario_options(scenario),
            machines: self.machine_texts.clone(),
            workloads: self.workload_texts.clone(),
            pairs: pairs.iter().map(ToString::to_string).collect(),
        }
    }
}

fn digest(text: &str) -> String {
    Digest::of(text.as_bytes()).to_string()
}

fn once(what: &str, name: &str, twice: bool) -> Result<(), Failure> {
    if !twice {
        return Ok(());
    }
    Err(Failure::Options(format!(
        "two of the {what} are called `{name}`\n  help: rows are told apart by names; rename a file"
    )))
}
