// SPDX-License-Identifier: GPL-2.0-only
//! The simulations of a comparison, in parallel; what they yield does not depend on how many threads do it.

use tandem_experiments::{Scenario, Simulator, run_all};
use tandem_simulator::machine::Machine;
use tandem_simulator::metrics::{AppReport, ExitReport, Report};
use tandem_simulator::observer::NoObserver;
use tandem_simulator::simulation::{Options, SimulationError};
use tandem_simulator::workload::Workload;

use crate::arguments::Pair;
use crate::context::Context;
use crate::failure::Failure;

/// What to simulate.
pub struct Plan<'a> {
    /// On which machine.
    pub machine: &'a Machine,
    /// Which workload.
    pub workload: &'a Workload,
    /// Kernel parameters and time limit.
    pub scenario: &'a Scenario,
    /// Schedulers and governors; the first is the reference.
    pub pairs: Vec<Pair>,
    /// One run per pair and seed.
    pub seeds: Vec<u64>,
    /// Whether each application runs alone too, with every pair and seed.
    pub alone: bool,
}

/// What is kept of one run of the whole workload.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The report, without threads and CPUs.
    pub report: Report,
    /// Applications and their performance alone; why it is unknown otherwise.
    pub alone: Result<Vec<(String, f64)>, String>,
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
    Alone(Result<(String, f64), String>),
}

impl Plan<'_> {
    /// Runs everything; outcomes by pair, then by seed. The first failure in that order ends it.
    pub fn run(&self, context: &Context<'_>) -> Result<Vec<Vec<Outcome>>, Failure> {
        let apart = self.workloads_apart();
        let jobs = self.jobs(&apart)?;
        let simulator = context.simulator;
        let yields = run_all(&jobs, |job| job.run(self.machine, simulator), (&context.bar(), ""))?;
        let mut yields = yields.into_iter();
        let mut outcomes = Vec::new();
        for _ in &self.pairs {
            outcomes.push(self.seeds.iter().filter_map(|_| self.outcome(&mut yields, apart.len())).collect());
        }
        Ok(outcomes)
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
    fn jobs<'b>(&'b self, apart: &'b [(&'b str, Workload)]) -> Result<Vec<Job<'b>>, Failure> {
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
        let alone = yields.take(apart).map(|alone| match alone {
            Yield::Alone(performance) => performance,
            Yield::Mix(_) => Err("not run alone".to_owned()),
        });
        // All of them are taken before the first failure counts: the next pair's follow.
        let alone: Result<Vec<_>, String> = alone.collect::<Vec<_>>().into_iter().collect();
        let alone = match alone {
            Ok(_) if !self.alone => Err("applications were not run alone (--no-alone)".to_owned()),
            Ok(_) if report.apps.is_empty() => Err("the workload has no application".to_owned()),
            Ok(_) if apart == 0 => Err("the workload has one application".to_owned()),
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
            Ok(report) if exit_of(&report).is_some() => Err(format!("application `{name}` alone lost its scheduler")),
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

fn performance_of(apps: &[AppReport], name: &str) -> Result<(String, f64), String> {
    match apps.iter().find(|app| app.name == name) {
        Some(app) if app.performance > 0.0 => Ok((app.name.clone(), app.performance)),
        _ => Err(format!("application `{name}` does no work alone")),
    }
}

/// In one line: the lines behind the first are details.
fn cannot_run_alone(name: &str, error: &SimulationError) -> String {
    let error = error.to_string();
    let what = error.lines().next().unwrap_or_default().trim_end_matches(':');
    format!("application `{name}` cannot run alone: {what}")
}
