// SPDX-License-Identifier: MIT OR Apache-2.0
//! The simulations of a comparison, in parallel; what they yield does not depend on how many threads do it.

use tandem_simulator::machine::Machine;
use tandem_simulator::metrics::{AppReport, ExitReport, Report};
use tandem_simulator::observer::NoObserver;
use tandem_simulator::simulation::{Options, SimulationError};
use tandem_simulator::workload::Workload;

use super::Comparison;
use super::metric::NotMeasured;
use crate::error::ExperimentError;
use crate::parallel::run_all;
use crate::progress::Progress;
use crate::scenario::Scenario;
use crate::scenario::pair::Pair;
use crate::simulator::Simulator;

/// The runs of a comparison: each pair runs the workload on the machine once with each seed.
#[derive(Debug)]
pub struct ComparisonRuns<'a> {
    /// The machine.
    pub machine: &'a Machine,
    /// The workload.
    pub workload: &'a Workload,
    /// Kernel parameters, settings and time limit of all runs.
    pub scenario: &'a Scenario,
    /// Schedulers and governors; the first is the reference.
    pub pairs: Vec<Pair>,
    /// One run per pair and seed.
    pub seeds: Vec<u64>,
    /// Whether each application runs alone too, with every pair and seed: without that, fairness is not measured.
    pub alone: bool,
}

/// What is kept of one run of the whole workload.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The report, without threads and CPUs.
    pub report: Report,
    /// Applications and their performance alone; why it is unknown otherwise.
    pub alone: Result<Vec<(String, f64)>, NotMeasured>,
}

/// One simulation.
struct Job<'a> {
    workload: &'a Workload,
    options: Options,
    /// The application that runs alone.
    alone: Option<&'a str>,
}

/// What a job yields. An application may be unable to end alone, for want of its partners: that is a result.
enum Yield {
    Mix(Box<Report>),
    Alone(Result<(String, f64), NotMeasured>),
}

impl ComparisonRuns<'_> {
    /// Runs everything on all cores and computes the metrics.
    ///
    /// # Errors
    /// A setting that does not fit its scheduler; of several runs without a report the first, by pair, then by seed.
    pub fn run(self, simulator: &dyn Simulator, progress: &dyn Progress) -> Result<Comparison, ExperimentError> {
        let apart = self.workloads_apart();
        let jobs = self.jobs(&apart)?;
        let yields = run_all(&jobs, |job| job.run(self.machine, simulator), progress, "")?;
        if yields.len() < jobs.len() {
            return Err(ExperimentError::Interrupted);
        }
        let mut yields = yields.into_iter();
        let mut outcomes = Vec::new();
        for _ in &self.pairs {
            outcomes.push(self.seeds.iter().filter_map(|_| self.outcome(&mut yields, apart.len())).collect());
        }
        Ok(Comparison::of(&self.machine.name, &self.workload.name, self.pairs, self.seeds, outcomes))
    }

    /// Each application's own workload, where it makes sense to compare with it.
    fn workloads_apart(&self) -> Vec<(&str, Workload)> {
        let names = self.applications();
        if !self.alone || names.len() < 2 {
            return Vec::new();
        }
        names.into_iter().filter_map(|name| Some((name, self.workload.alone(name)?))).collect()
    }

    /// Applications that have threads which are not the system's.
    fn applications(&self) -> Vec<&str> {
        let has_threads =
            |index: usize| self.workload.tasks.iter().any(|task| !task.system && task.application == index);
        let names = self.workload.applications.iter().enumerate();
        names.filter(|(index, _)| has_threads(*index)).map(|(_, name)| name.as_str()).collect()
    }

    /// All simulations: by pair, by seed, the whole workload first, then each application alone.
    fn jobs<'b>(&'b self, apart: &'b [(&'b str, Workload)]) -> Result<Vec<Job<'b>>, ExperimentError> {
        let mut jobs = Vec::new();
        for pair in &self.pairs {
            for &seed in &self.seeds {
                let options = self.scenario.options(pair, seed)?;
                jobs.push(Job { workload: self.workload, options: options.clone(), alone: None });
                for (name, workload) in apart {
                    jobs.push(Job { workload, options: options.clone(), alone: Some(name) });
                }
            }
        }
        Ok(jobs)
    }

    /// Takes the yields of one pair and seed.
    fn outcome(&self, yields: &mut impl Iterator<Item = Yield>, apart: usize) -> Option<Outcome> {
        let Some(Yield::Mix(report)) = yields.next() else { return None };
        // All of them are taken before the first failure counts: the next pair's follow.
        let alone: Vec<_> = yields
            .take(apart)
            .filter_map(|alone| match alone {
                Yield::Alone(performance) => Some(performance),
                Yield::Mix(_) => None,
            })
            .collect();
        let alone = match alone.into_iter().collect() {
            Ok(_) if !self.alone => Err(NotMeasured::NotRunAlone),
            Ok(_) if report.apps.is_empty() => Err(NotMeasured::NoApplication),
            Ok(_) if apart == 0 => Err(NotMeasured::OneApplication),
            alone => alone,
        };
        Some(Outcome { report: *report, alone })
    }
}

impl Job<'_> {
    fn run(&self, machine: &Machine, simulator: &dyn Simulator) -> Result<Yield, SimulationError> {
        let result = simulator.simulate(machine, self.workload, &self.options, &mut NoObserver);
        let Some(name) = self.alone else { return Ok(Yield::Mix(Box::new(slim(result?)))) };
        Ok(Yield::Alone(match result {
            Ok(report) if exit_of(&report).is_some() => Err(NotMeasured::EjectedAlone(name.to_owned())),
            Ok(report) => performance_of(&report.apps, name),
            Err(error) => Err(cannot_run_alone(name, &error)),
        }))
    }
}

/// The report without its large tables and texts, and without the time that the simulation took: runs disturb each other's.
fn slim(report: Report) -> Report {
    let sched_ext = report.sched_ext.map(|mut scheduler| {
        scheduler.output.clear();
        if let Some(exit) = &mut scheduler.exit {
            exit.dump.clear();
        }
        scheduler
    });
    Report { tasks: Vec::new(), cpus: Vec::new(), wall_s: None, sched_ext, ..report }
}

/// Why the scheduler went before the end of the run, if it did.
fn exit_of(report: &Report) -> Option<&ExitReport> {
    report.sched_ext.as_ref()?.exit.as_ref()
}

impl Outcome {
    /// Why the scheduler went before the end of the run, if it did.
    pub fn exit(&self) -> Option<&ExitReport> {
        exit_of(&self.report)
    }
}

fn performance_of(apps: &[AppReport], name: &str) -> Result<(String, f64), NotMeasured> {
    match apps.iter().find(|app| app.name == name) {
        Some(app) if app.performance > 0.0 => Ok((app.name.clone(), app.performance)),
        _ => Err(NotMeasured::IdleAlone(name.to_owned())),
    }
}

/// The error in one line: the lines behind the first are details.
fn cannot_run_alone(name: &str, error: &SimulationError) -> NotMeasured {
    let error = error.to_string();
    let why = error.lines().next().unwrap_or_default().trim_end_matches(':').to_owned();
    NotMeasured::CannotRunAlone { name: name.to_owned(), why }
}
