// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a page shows: all inputs together, as the page's script reads them.

use std::collections::BTreeMap;

use serde::Serialize;
use tandem_simulator::{Machine, Report};

use crate::bundle::{Bundle, NoPage};
use crate::error::ReportError;
use crate::html;
use crate::input::{self, Compared, Experiment, Kind, ProducedBy, Run, Waits};
use crate::machine::Drawing;
use crate::timeline::{Thread, Timeline, What, of_trace};

/// What was run, by name, as a trace says it: `machine`, `workload`, `scheduler`, `governor`, `seed`, `version`, `command`.
pub type Facts = BTreeMap<String, String>;

/// A page under construction. Inputs are shown in the order in which they are added.
#[derive(Debug, Clone, Default)]
pub struct Page {
    title: Option<String>,
    runs: Vec<RunInput>,
    compared: Vec<Named<Compared>>,
    experiments: Vec<Named<Experiment>>,
    waits: Vec<Named<Waits>>,
    machines: Vec<Drawing>,
}

/// An input with the name of its file.
#[derive(Debug, Clone, Serialize)]
struct Named<T> {
    file: String,
    produced_by: Option<ProducedBy>,
    #[serde(flatten)]
    content: T,
}

/// A run: its report, its timeline, or both.
#[derive(Debug, Clone, Default)]
struct RunInput {
    file: String,
    produced_by: Option<ProducedBy>,
    report: Option<Run>,
    /// What a trace says of it.
    facts: Facts,
    timeline: Option<Timeline>,
}

impl Page {
    /// The page has this title; without it, it is named after what it shows.
    pub fn set_title(&mut self, title: &str) {
        self.title = Some(title.to_owned());
    }

    /// Adds a JSON file, whatever it is. `file` is what mistakes and the page call it.
    ///
    /// # Errors
    /// What is no JSON, or JSON of something else, with its line and column.
    pub fn add_json(&mut self, file: &str, text: &str) -> Result<Kind, ReportError> {
        let kind = Kind::of(file, text)?;
        let produced_by = input::producer(file, text)?;
        let file = file.to_owned();
        match kind {
            Kind::Run => self.add_run(&file, text)?,
            Kind::Compared => {
                let content = Compared::read(&file, text)?;
                self.compared.push(Named { file, produced_by, content });
            }
            Kind::Experiment => {
                let content = input::read(&file, text)?;
                self.experiments.push(Named { file, produced_by, content });
            }
            Kind::Waits => {
                let content = input::read(&file, text)?;
                self.waits.push(Named { file, produced_by, content });
            }
        }
        Ok(kind)
    }

    /// Adds a run: what `tandem simulate --json` prints, or a [`Report`] as JSON.
    ///
    /// # Errors
    /// What is none, with its line and column.
    pub fn add_run(&mut self, file: &str, text: &str) -> Result<(), ReportError> {
        let (report, produced_by) = (Run::read(file, text)?, input::producer(file, text)?);
        let facts = facts_of(&report.report);
        match self.runs.iter_mut().find(|run| run.report.is_none() && is_same(&run.facts, &facts)) {
            Some(run) => (run.report, run.produced_by, run.file) = (Some(report), produced_by, file.to_owned()),
            None => {
                let report = Some(report);
                self.runs.push(RunInput { file: file.to_owned(), produced_by, report, facts, timeline: None });
            }
        }
        Ok(())
    }

    /// Adds the schedule of the run that was added last as `file`, or of a run without a report.
    pub fn add_timeline(&mut self, file: &str, timeline: Timeline) {
        match self.runs.iter_mut().rev().find(|run| run.file == file && run.timeline.is_none()) {
            Some(run) => run.timeline = Some(timeline),
            None => {
                self.runs.push(RunInput { file: file.to_owned(), timeline: Some(timeline), ..RunInput::default() });
            }
        }
    }

    /// Adds what `tandem simulate --trace` wrote: the schedule of the run that has the same machine, workload, scheduler, governor
    /// and seed, or else of a run without a report.
    ///
    /// # Errors
    /// What is no such trace, or is damaged, with the number of the byte.
    pub fn add_trace(&mut self, file: &str, bytes: &[u8]) -> Result<(), ReportError> {
        let traced = of_trace(file, bytes)?;
        let fits = |run: &&mut RunInput| run.timeline.is_none() && is_same(&run.facts, &traced.facts);
        match self.runs.iter_mut().find(fits) {
            Some(run) => (run.timeline, run.facts) = (Some(traced.timeline), traced.facts),
            None => self.runs.push(RunInput {
                file: file.to_owned(),
                facts: traced.facts,
                timeline: Some(traced.timeline),
                ..RunInput::default()
            }),
        }
        Ok(())
    }

    /// Adds a machine: what is said of runs on a machine of its name is drawn in it.
    pub fn add_machine(&mut self, machine: &Machine) {
        if self.machines.iter().all(|drawing| drawing.name != machine.name) {
            self.machines.push(Drawing::of(machine));
        }
    }

    /// Names of machines that runs, comparisons and waits are of, and the input that has the description of each: its kind,
    /// `machine`, its name as the command line has it, and its SHA-256.
    pub fn machines(&self) -> Vec<(String, Option<(String, String)>)> {
        let of_runs = self.runs.iter().filter_map(|run| {
            let name = run.facts.get("machine")?;
            let traced = || Some((name.clone(), run.facts.get("machine_sha256")?.clone()));
            Some((name.clone(), described(run.produced_by.as_ref(), name).or_else(traced)))
        });
        let of_comparisons = self.compared.iter().flat_map(|compared| {
            let named = |comparison: &input::Comparison| {
                let name = comparison.machine.clone();
                let described = described(compared.produced_by.as_ref(), &name);
                (name, described)
            };
            compared.content.comparisons.iter().map(named).collect::<Vec<_>>()
        });
        of_runs.chain(of_comparisons).collect()
    }

    /// Whether there is nothing to show.
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty() && self.compared.is_empty() && self.experiments.is_empty() && self.waits.is_empty()
    }

    /// The page as one HTML file.
    ///
    /// # Errors
    /// [`NoPage`] where the page's script was not there when this was compiled.
    pub fn html(&self) -> Result<String, NoPage> {
        let bundle = Bundle::embedded()?;
        let mut columns = Vec::new();
        let runs = self.runs.iter().map(|run| RunDocument::of(run, &mut columns)).collect();
        let document = Document {
            tandem: env!("CARGO_PKG_VERSION"),
            title: self.title(),
            runs,
            compared: &self.compared,
            experiments: &self.experiments,
            waits: &self.waits,
            machines: &self.machines,
        };
        Ok(html::page(&bundle, &document.title, &document, &columns))
    }

    fn title(&self) -> String {
        if let Some(title) = &self.title {
            return title.clone();
        }
        let run = self.runs.first().and_then(|run| {
            let fact = |name: &str| run.facts.get(name);
            Some(format!("{} on {}, {}", fact("workload")?, fact("machine")?, fact("scheduler")?))
        });
        let comparison = || {
            let compared = &self.compared.first()?.content;
            let first = compared.comparisons.first()?;
            let one = compared.comparisons.len() == 1;
            Some(match one {
                true => format!("{} on {}, compared", first.workload, first.machine),
                false => format!("{} comparisons", compared.comparisons.len()),
            })
        };
        let experiment = || Some(self.experiments.first()?.content.name.clone());
        let waits = || self.waits.first().map(|waits| format!("Waits of {}", waits.content.workload));
        run.or_else(comparison).or_else(experiment).or_else(waits).unwrap_or_else(|| "Nothing to show".to_owned())
    }
}

/// The machine's description among what a report was produced from: the only one, or that of this name.
fn described(produced_by: Option<&ProducedBy>, name: &str) -> Option<(String, String)> {
    let machines: Vec<_> = produced_by?.inputs.iter().filter(|input| input.kind == "machine").collect();
    let stem = |spec: &str| {
        let file = spec.rsplit('/').next().unwrap_or(spec);
        file.replace(".toml", "")
    };
    let found = machines.iter().find(|input| stem(&input.name) == name);
    let found = found.or_else(|| machines.first().filter(|_| machines.len() == 1))?;
    Some((found.name.clone(), found.sha256.clone()))
}

fn facts_of(report: &Report) -> Facts {
    let facts = [
        ("machine", report.machine.clone()),
        ("workload", report.workload.clone()),
        ("scheduler", report.scheduler.clone()),
        ("governor", report.governor.clone()),
        ("seed", report.seed.to_string()),
    ];
    facts.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Whether a trace and a report are of the same run, as far as both say what was run.
fn is_same(one: &Facts, other: &Facts) -> bool {
    ["machine", "workload", "scheduler", "governor", "seed"].iter().all(|name| {
        match (one.get(*name), other.get(*name)) {
            (Some(one), Some(other)) => one == other,
            _ => false,
        }
    })
}

/// What the page's script reads.
#[derive(Serialize)]
struct Document<'a> {
    tandem: &'static str,
    title: String,
    runs: Vec<RunDocument<'a>>,
    compared: &'a [Named<Compared>],
    experiments: &'a [Named<Experiment>],
    waits: &'a [Named<Waits>],
    machines: &'a [Drawing],
}

#[derive(Serialize)]
struct RunDocument<'a> {
    file: &'a str,
    facts: &'a Facts,
    produced_by: &'a Option<ProducedBy>,
    report: &'a Option<Run>,
    timeline: Option<TimelineDocument<'a>>,
}

/// A timeline without its columns.
#[derive(Serialize)]
struct TimelineDocument<'a> {
    end: u64,
    cut: Option<u64>,
    applications: &'a [String],
    threads: &'a [Thread],
    /// Which of the page's columns are its own.
    columns: usize,
    counts: crate::timeline::Counts,
    energy: &'a crate::timeline::Energy,
    distributions: Vec<DistributionDocument>,
}

#[derive(Serialize)]
struct DistributionDocument {
    application: Option<usize>,
    what: What,
    /// Upper ends in ns, and counts.
    times: Vec<(u64, u32)>,
}

impl<'a> RunDocument<'a> {
    fn of(run: &'a RunInput, columns: &mut Vec<Vec<u8>>) -> Self {
        let timeline = run.timeline.as_ref().map(|timeline| {
            let (counts, packed) = timeline.pack();
            columns.push(packed);
            let distribution = |of: &crate::timeline::Distribution| DistributionDocument {
                application: of.application,
                what: of.what,
                times: of.times.iter().map(|times| (times.most, times.count)).collect(),
            };
            TimelineDocument {
                end: timeline.end,
                cut: timeline.cut,
                applications: &timeline.applications,
                threads: &timeline.threads,
                columns: columns.len() - 1,
                counts,
                energy: &timeline.energy,
                distributions: timeline.distributions.iter().map(distribution).collect(),
            }
        });
        let RunInput { file, produced_by, report, facts, .. } = run;
        Self { file, facts, produced_by, report, timeline }
    }
}
