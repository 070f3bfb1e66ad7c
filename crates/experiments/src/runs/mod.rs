// SPDX-License-Identifier: MIT OR Apache-2.0
//! The simulations that the papers' numbers need: each distinct one is run once for each seed, however many ask for it.
//!
//! [`Simulation`] says what to run, `prepare` makes it ready, [`Book`] runs and keeps. [`Shard`]: a share of the runs.

mod prepare;
mod shard;
mod vary;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use rayon::{ThreadPool, ThreadPoolBuilder};
use tandem_simulator::input::{InputError, valid_names};
use tandem_simulator::machine::catalogue;
use tandem_simulator::metrics::Report;
use tandem_simulator::observer::NoObserver;
use tandem_simulator::simulation::{Options, SimulationError};

use crate::axes::{AxisError, Place};
use crate::environment::Environment;
use crate::error::ExperimentError;
use crate::library::Library;
use crate::paper::{Experiment, Origin, Paper, Parameter, Run, Target, Work};
use crate::parallel::run_until_stopped;
use crate::scenario::disturbances;
use crate::simulator::Simulator;
use crate::template::Template;

use prepare::{Ready, Workshop};
pub use shard::{NoShard, Shard};
use vary::Whole;
pub use vary::with_values;

/// What to simulate, as text: two runs of whatever experiments that say the same are one simulation.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Simulation {
    /// The paper whose files count.
    paper: String,
    machine: String,
    workload: Workload,
    scheduler: String,
    options: Vec<String>,
    change: Option<Change>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Workload {
    Generated(Vec<String>),
    Named(String),
}

impl Workload {
    /// Whether the workload differs from seed to seed.
    fn has_seed(&self) -> bool {
        matches!(self, Self::Generated(arguments) if arguments.iter().any(|argument| argument.contains(SEED_MARK)))
    }

    /// The workload of the run with `seed`.
    fn with_seed(&self, seed: u64) -> Self {
        match self {
            Self::Generated(arguments) => {
                let seed = seed.to_string();
                Self::Generated(arguments.iter().map(|argument| argument.replace(SEED_MARK, &seed)).collect())
            }
            Self::Named(name) => Self::Named(name.clone()),
        }
    }
}

/// What stands for a run's seed among a generator's arguments.
const SEED_MARK: &str = "{seed}";

/// A number that is not what the files say.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Change {
    /// Which number.
    pub target: Target,
    /// What the number is multiplied with, in percent.
    pub percent: u32,
}

impl Simulation {
    /// What `run` is at `place`.
    pub fn of(paper: &str, experiment: &Experiment, run: &Run, place: &Place) -> Result<Self, AxisError> {
        let axes = &experiment.axes;
        let arguments = |templates: &[Template]| -> Result<Vec<String>, AxisError> {
            let all =
                templates.iter().map(|template| template.arguments(axes, place)).collect::<Result<Vec<_>, _>>()?;
            Ok(all.into_iter().flatten().collect())
        };
        let workload = match &run.workload {
            Work::Generate(templates) => Workload::Generated(arguments(templates)?),
            Work::Named(name) => Workload::Named(name.fill(axes, place)?),
        };
        let system = if experiment.quiet { Vec::new() } else { vec!["--set".to_owned(), disturbances().to_string()] };
        // What the run's own options say comes later, and counts.
        let options = [system, arguments(&run.options)?].concat();
        Ok(Self {
            paper: paper.to_owned(),
            machine: run.machine.fill(axes, place)?,
            workload,
            scheduler: run.scheduler.fill(axes, place)?,
            options,
            change: None,
        })
    }

    /// The same with `change`, if that changes anything.
    pub fn with(&self, change: &Change) -> Self {
        let concerns = match &change.target {
            Target::Machine { machine, .. } => self.machine.split(':').next() == Some(machine.as_str()),
            Target::Generate(option) => match &self.workload {
                Workload::Generated(arguments) => arguments.iter().any(|argument| vary::is_option(argument, option)),
                Workload::Named(_) => false,
            },
        };
        Self { change: concerns.then(|| change.clone()), ..self.clone() }
    }
}

/// What asks for a simulation, for messages, and with how many seeds.
#[derive(Debug, Clone)]
pub struct Request {
    /// What the run is called in messages.
    pub label: String,
    /// Where the file has the run.
    pub origin: Origin,
    /// How many runs, from seed 0 on.
    pub seeds: u32,
}

/// The reports of all simulations so far, and the threads that make them. Several studies share a book: what one has run
/// the others need not run again.
#[derive(Debug)]
pub struct Book {
    threads: ThreadPool,
    shard: Option<Shard>,
    /// Runs of the share that were done, and all that were asked for.
    shared: Cell<(usize, usize)>,
    reports: RefCell<BTreeMap<Simulation, Vec<Rc<Report>>>>,
}

/// What runs name, whether files of a paper have it or it is bundled.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Used {
    /// Papers and their machines, with a configuration behind `:` where one is asked for.
    pub machines: BTreeSet<(String, String)>,
    /// Papers and their workloads, but for those that generators write.
    pub workloads: BTreeSet<(String, String)>,
    /// Schedulers with their settings and governors.
    pub schedulers: BTreeSet<String>,
}

/// One simulation with one seed.
struct Job<'a> {
    ready: &'a Ready,
    seed: u64,
    options: Options,
    label: &'a str,
}

impl Book {
    /// An empty book, for so many simulations at a time; `None`: as many as there are cores.
    ///
    /// # Errors
    /// [`ExperimentError::Threads`].
    pub fn new(jobs: Option<usize>) -> Result<Self, ExperimentError> {
        let threads = ThreadPoolBuilder::new().num_threads(jobs.unwrap_or(0)).build();
        let threads = threads.map_err(|error| ExperimentError::Threads(error.into()))?;
        Ok(Self { threads, shard: None, shared: Cell::default(), reports: RefCell::default() })
    }

    /// The same, which runs only this share of what is asked for. Studies then end as interrupted ones do, unless the share is
    /// all.
    #[must_use]
    pub fn only(self, shard: Shard) -> Self {
        Self { shard: Some(shard), ..self }
    }

    /// Of a book that runs a share: how many runs of it were done, and of how many in all.
    pub fn shared(&self) -> (usize, usize) {
        self.shared.get()
    }

    /// The reports of `simulation`, by seed; fewer than asked for where they are still to be run.
    pub(crate) fn reports(&self, simulation: &Simulation) -> Vec<Rc<Report>> {
        self.reports.borrow().get(simulation).cloned().unwrap_or_default()
    }

    fn known(&self, simulation: &Simulation) -> usize {
        self.reports.borrow().get(simulation).map_or(0, Vec::len)
    }

    /// Forgets the runs in which a number was changed: nothing asks for them again.
    pub(crate) fn forget_changed(&self) {
        self.reports.borrow_mut().retain(|simulation, _| simulation.change.is_none());
    }

    /// How many of the runs in the book a sched_ext scheduler did not see the end of.
    pub fn ejected(&self) -> usize {
        let ejected =
            |report: &&Rc<Report>| report.sched_ext.as_ref().is_some_and(|scheduler| scheduler.exit.is_some());
        self.reports.borrow().values().flatten().filter(ejected).count()
    }

    /// What the runs in the book name.
    pub fn used(&self) -> Used {
        let mut used = Used::default();
        for Simulation { paper, machine, workload, scheduler, .. } in self.reports.borrow().keys() {
            used.machines.insert((paper.clone(), machine.clone()));
            if let Workload::Named(name) = workload {
                used.workloads.insert((paper.clone(), name.clone()));
            }
            used.schedulers.insert(scheduler.clone());
        }
        used
    }

    /// Runs what is wanted and not there yet; `what` says what for. What was done before a person stopped it is kept.
    pub(crate) fn run(
        &self,
        environment: Environment<'_>,
        what: &str,
        wanted: &BTreeMap<Simulation, Request>,
    ) -> Result<(), ExperimentError> {
        let Environment { simulator, progress, .. } = environment;
        let ready = self.made_ready(environment, what, wanted)?;
        let mut jobs = Vec::new();
        for (simulation, request, ready) in &ready {
            for seed in self.known(simulation) as u64..u64::from(request.seeds) {
                jobs.push(Job { ready, seed, options: ready.options(seed)?, label: &request.label });
            }
        }
        let mine = |place: usize| self.shard.is_none_or(|shard| shard.has(place));
        let all_jobs = jobs.len();
        let mut place = 0;
        jobs.retain(|_| {
            place += 1;
            mine(place - 1)
        });
        let run = || run_until_stopped(&jobs, |job| job.run(simulator), progress, what);
        let mut own = self.threads.install(run)?.into_iter();
        let mut reports = (0..all_jobs).map(|place| if mine(place) { own.next().flatten() } else { None });
        let (mut all, mut done) = (true, 0);
        let mut book = self.reports.borrow_mut();
        for (simulation, request, _) in &ready {
            let known = book.entry((*simulation).clone()).or_default();
            let missing = request.seeds as usize - known.len();
            let new: Vec<Option<Report>> = reports.by_ref().take(missing).collect();
            done += new.iter().flatten().count();
            // The reports are by seed: those behind one that is missing have no place.
            known.extend(new.into_iter().map_while(|report| report.map(Rc::new)));
            all &= known.len() == request.seeds as usize;
        }
        let (before, of) = self.shared.get();
        self.shared.set((before + done, of + all_jobs));
        if all { Ok(()) } else { Err(ExperimentError::Interrupted) }
    }

    /// Makes ready what is wanted and not there yet; `what` says what for.
    fn made_ready<'w>(
        &self,
        environment: Environment<'_>,
        what: &str,
        wanted: &'w BTreeMap<Simulation, Request>,
    ) -> Result<Vec<(&'w Simulation, &'w Request, Ready)>, ExperimentError> {
        let progress = environment.progress;
        let mut workshop = Workshop::new(environment);
        let missing = || wanted.iter().filter(|(simulation, request)| self.known(simulation) < request.seeds as usize);
        progress.prepare(what, missing().count());
        let mut ready = Vec::new();
        for (simulation, request) in missing() {
            if progress.stopped() {
                break;
            }
            match workshop.ready(simulation, request) {
                Ok(made) => ready.push((simulation, request, made)),
                Err(error) => {
                    progress.end();
                    return Err(error);
                }
            }
            progress.prepared();
        }
        progress.end();
        workshop.warnings().iter().for_each(|warning| progress.warn(warning));
        if progress.stopped() { Err(ExperimentError::Interrupted) } else { Ok(ready) }
    }
}

/// Whether what is wanted can be run: its files are read, its schedulers loaded.
pub(crate) fn check(
    environment: Environment<'_>,
    wanted: &BTreeMap<Simulation, Request>,
) -> Result<(), ExperimentError> {
    let mut workshop = Workshop::new(environment);
    wanted.iter().try_for_each(|(simulation, request)| workshop.ready(simulation, request).map(drop))
}

impl Job<'_> {
    fn run(&self, simulator: &dyn Simulator) -> Result<Report, ExperimentError> {
        let report =
            simulator.simulate(&self.ready.machine, self.ready.workload(self.seed), &self.options, &mut NoObserver);
        let failed = |source: SimulationError| ExperimentError::Run { run: self.label.to_owned(), source };
        let mut report = report.map_err(failed)?;
        report.wall_s = None;
        // Thousands of reports are kept: their threads would be most of them.
        report.tasks.clear();
        report.tasks.shrink_to_fit();
        if let Some(scheduler) = &mut report.sched_ext {
            scheduler.output.clear();
        }
        Ok(report)
    }
}

/// Whether there is what `parameter` names, in the machine's description.
pub fn check_parameter(library: &Library, paper: &str, parameter: &Parameter) -> Result<(), InputError> {
    let Target::Machine { machine, path } = &parameter.target else { return Ok(()) };
    let names: Vec<&str> = catalogue::names().collect();
    let Some(text) = library.text(paper, machine).or_else(|| catalogue::text(machine)) else {
        let wrong = parameter.origin.error(format!("no machine `{machine}`, nor a file of the paper"));
        return Err(wrong.help(valid_names(machine, &names)));
    };
    vary::description(text, path, 100, Whole::Kept).map(drop).map_err(|message| parameter.origin.error(message))
}

/// What `run` of an experiment is called in messages.
pub fn label(paper: &Paper, experiment: &Experiment, run: &Run, place: &Place) -> String {
    let values: Vec<String> = run.axes.iter().filter_map(|axis| Some(format!("{axis} {}", place.get(axis)?))).collect();
    let at = if values.is_empty() { String::new() } else { format!(" ({})", values.join(", ")) };
    format!("{}/{}: run `{}`{at}", paper.name, experiment.name, run.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_run_fills_in_its_seed() {
        let words = |words: &[&str]| Workload::Generated(words.iter().map(|word| (*word).to_owned()).collect());
        let drawn = words(&["phases", "--seed", "{seed}"]);
        assert!(drawn.has_seed() && !words(&["phases"]).has_seed());
        assert_eq!(drawn.with_seed(3), words(&["phases", "--seed", "3"]));
    }
}
