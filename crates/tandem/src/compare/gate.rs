// SPDX-License-Identifier: GPL-2.0-only
//! `--save`, `--baseline` and `--fail-if`: whether the numbers are worse than earlier ones, or than those of the first pair.

use std::fmt;
use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::RangedI64ValueParser;
use tandem_experiments::{
    Baseline, Condition, Decided, ExperimentError, Gate, Judge, Judged, Judgement, Matrix, MatrixRuns, Progress,
    Reference, Simulator, Subject, decide, looks,
};
use tandem_simulator::bounded::Limit;
use tandem_simulator::input::{InputError, valid_names};
use tandem_simulator::metrics::SCHEMA;
use tandem_simulator::workload::Workload;

use crate::context::Context;
use crate::failure::Failure;
use crate::files::{Kind, Output, Staged};
use crate::quantity::{NOTHING, ratio};
use crate::table::{Align, Table, paragraph};

/// The options of the gate.
#[derive(Debug, Args)]
#[command(next_help_heading = "Worse than before?")]
pub struct GateOptions {
    /// Keep the numbers in FILE, for --baseline of later runs
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,

    /// Judge the numbers by those in FILE, which --save has kept
    #[arg(long, value_name = "FILE", requires = "fail_if")]
    baseline: Option<PathBuf>,

    /// Fail (exit status 5) where the ratio of a metric to the baseline, or without one to the first pair, is beyond a limit
    /// with its whole interval, as in `energy > 1.02`, `throughput < 0.98`, `p99(response) > 1.05`, or of the application
    /// APP `p99(response:APP) > 1.05`; where the limit is within the interval, the exit status is 6. May be repeated
    #[arg(long = "fail-if", id = "fail_if", value_name = "CONDITION", value_parser = condition)]
    conditions: Vec<Condition>,

    /// Where a limit is within the interval, double the runs until it is decided, or each pair has RUNS
    #[arg(
        long,
        value_name = "RUNS",
        requires = "fail_if",
        value_parser = RangedI64ValueParser::<u32>::new().range(2..=100_000),
        allow_negative_numbers = true
    )]
    decide: Option<u32>,

    /// Fail (exit status 5) also where it is undecided
    #[arg(long, requires = "fail_if")]
    fail_if_undecided: bool,

    /// Judge also if machine, workload, options or simulator are not the baseline's, and say what differs
    #[arg(long, requires = "baseline")]
    accept_changed: bool,

    /// What the baseline calls a pair that has another name now, as in its tables; repeat for each -s, in their order
    #[arg(long, value_name = "PAIR", requires = "baseline")]
    was: Vec<String>,

    /// Write what was judged to FILE, as JUnit has it
    #[arg(long, value_name = "FILE", requires = "fail_if")]
    junit: Option<PathBuf>,
}

fn condition(text: &str) -> Result<Condition, String> {
    text.parse().map_err(|error: tandem_experiments::ConditionError| error.to_string())
}

/// The gate with its files open.
#[derive(Debug)]
pub struct OpenGate<'a> {
    options: &'a GateOptions,
    subject: Option<Subject>,
    baseline: Option<Baseline>,
    changes: Vec<String>,
    save: Option<Staged>,
    junit: Option<Staged>,
}

impl GateOptions {
    /// Whether anything has to be told apart from other runs: numbers to keep, or numbers that were kept.
    pub fn wanted(&self) -> bool {
        self.save.is_some() || self.baseline.is_some()
    }

    /// Whether each application that a condition names is one of a workload, and there is something to judge so many pairs by.
    ///
    /// # Errors
    /// The first mistake.
    pub fn check(&self, workloads: &[Workload], pairs: usize) -> Result<(), Failure> {
        let judges = !self.conditions.is_empty();
        if judges && self.baseline.is_none() && pairs == 1 {
            return Err(Failure::Options(
                "--fail-if has nothing to judge by: there is one pair\n  help: name a second -s, which is judged by the first, \
                 or a --baseline"
                    .to_owned(),
            ));
        }
        if self.was.len() > pairs {
            let given = self.was.len();
            return Err(Failure::Options(format!("--was is given {given} times; the pairs are {pairs}")));
        }
        let all: Vec<&str> = workloads.iter().flat_map(|it| &it.applications).map(String::as_str).collect();
        for condition in &self.conditions {
            let Some(name) = condition.application.as_deref().filter(|name| !all.contains(name)) else { continue };
            let valid = valid_names(name, &all);
            return Err(Failure::Options(format!("--fail-if '{condition}': no application `{name}`; {valid}")));
        }
        Ok(())
    }

    /// What is going to be run, with its pairs called as the baseline calls them.
    fn then(&self, subject: &Subject) -> Subject {
        let mut subject = subject.clone();
        subject.pairs.iter_mut().zip(&self.was).for_each(|(pair, was)| pair.clone_from(was));
        subject
    }

    /// Reads the baseline and opens the outputs before the work. `subject` is what is going to be run, where that is
    /// [`wanted`](Self::wanted).
    ///
    /// # Errors
    /// The baseline cannot be read, or is that of something else; a file cannot be written.
    pub fn open(&self, context: &Context<'_>, force: bool, subject: Option<Subject>) -> Result<OpenGate<'_>, Failure> {
        let (mut baseline, mut changes) = (None, Vec::new());
        if let (Some(path), Some(subject)) = (&self.baseline, &subject) {
            context.files.reads(path, "the baseline");
            let read = read(path)?;
            changes = read.baseline_of.changes(&self.then(subject));
            if !changes.is_empty() && !self.accept_changed {
                return Err(refused(path, &changes));
            }
            baseline = Some(read);
        }
        let open = |path: &Option<PathBuf>, kind| {
            path.as_deref().map(|path| context.files.create(Output { path, kind, force })).transpose()
        };
        let (save, junit) = (open(&self.save, Kind::Baseline)?, open(&self.junit, Kind::JUnit)?);
        Ok(OpenGate { options: self, subject, baseline, changes, save, junit })
    }
}

/// The baseline in a file.
fn read(path: &Path) -> Result<Baseline, Failure> {
    let wrong = |what: String| Failure::Input(InputError::whole(path, what));
    let text = Limit::REPORT.read_text(path).map_err(|error| wrong(format!("cannot be read: {error}")))?;
    let baseline: Baseline = serde_json::from_str(&text)
        .map_err(|error| wrong(format!("no baseline as `tandem compare --save` writes it: {error}")))?;
    match baseline.schema {
        SCHEMA => Ok(baseline),
        other => Err(wrong(format!("a baseline of schema {other}; this version reads {SCHEMA}"))),
    }
}

fn refused(path: &Path, changes: &[String]) -> Failure {
    let list: String = changes.iter().map(|change| format!("\n  - {change}")).collect();
    Failure::Options(format!(
        "{}: the baseline is of something else{list}\n  help: --save keeps a new one; --accept-changed judges by this one all \
         the same, --was says what it calls a pair",
        path.display()
    ))
}

impl OpenGate<'_> {
    /// What the matrix that `runs` gave is by the baseline, or by its first pair, with more runs where that was asked for; `None`
    /// without a condition.
    ///
    /// # Errors
    /// As [`decide`].
    pub fn judge(
        &self,
        matrix: &mut Matrix,
        runs: &MatrixRuns<'_>,
        simulator: &dyn Simulator,
        progress: &dyn Progress,
    ) -> Result<Option<Decided>, ExperimentError> {
        let GateOptions { conditions, was, decide: most, .. } = self.options;
        if conditions.is_empty() {
            return Ok(None);
        }
        let reference = match &self.baseline {
            Some(baseline) => Reference::Baseline { baseline, was },
            None => Reference::FirstPair,
        };
        let first = runs.seeds.len();
        let most = most.map_or(first, |most| first.max(most as usize));
        let judge = Judge { reference, conditions, looks: looks(first, most) };
        decide(matrix, (&judge, &self.changes), (runs, most), simulator, progress).map(Some)
    }

    /// Writes the files. Numbers that are partly those of fair are no baseline: that file is left as it was.
    pub fn write(self, matrix: &Matrix, gate: Option<&Gate>) -> Result<(), Failure> {
        if let (Some(mut file), Some(gate)) = (self.junit, gate) {
            file.write_text(&gate.junit(self.options.fail_if_undecided))?;
            file.finish()?;
        }
        if let (Some(mut file), Some(subject), 0) = (self.save, self.subject, matrix.ejected()) {
            let baseline = Baseline::of(matrix, subject);
            let json = serde_json::to_string_pretty(&baseline).map_err(std::io::Error::from)?;
            file.write_text(&(json + "\n"))?;
            file.finish()?;
        }
        Ok(())
    }

    /// What is judged, for people.
    pub fn text(&self, gate: &Gate, first: &str, width: Option<usize>) -> String {
        let baseline = self.baseline.as_ref().zip(self.options.baseline.as_ref());
        let title = match baseline {
            Some((baseline, path)) => {
                format!("Against {}, of version {}:", path.display(), baseline.baseline_of.version)
            }
            None => format!("Against {first}:"),
        };
        let mut text = format!("\n{}\n{}", paragraph(&title, width), table(gate).whole_rows(width));
        for change in &gate.accepted_changes {
            text += &paragraph(&format!("accepted: {change}"), width);
        }
        text + "\n" + paragraph(&format!("{}.", Counts(gate)), width).as_str()
    }
}

fn table(gate: &Gate) -> Table {
    let mut table = Table::new([
        ("judged", Align::Left),
        ("workload", Align::Left),
        ("machine", Align::Left),
        ("pair", Align::Left),
        ("fails if", Align::Left),
        ("×", Align::Left),
        ("interval", Align::Left),
        ("runs", Align::Right),
    ]);
    for judged in &gate.judged {
        let Judged { workload, machine, pair, condition, ratio: of_baseline, why, runs, .. } = judged;
        let estimate = of_baseline.estimate();
        let interval = match estimate.map(|estimate| estimate.half_width) {
            _ if judged.is_unlike() => why.as_deref().unwrap_or(NOTHING),
            Some(Some(_)) if of_baseline.paired => "of the same seeds",
            Some(Some(_)) => "of independent runs",
            _ => why.as_deref().unwrap_or(NOTHING),
        };
        let ratio = estimate.map_or(NOTHING.to_owned(), |estimate| format!("×{}", ratio(&estimate)));
        let judged = word(judged.judgement).to_owned();
        table.row([
            judged,
            workload.clone(),
            machine.clone(),
            pair.clone(),
            condition.clone(),
            ratio,
            interval.to_owned(),
            runs.to_string(),
        ]);
    }
    table
}

fn word(judgement: Judgement) -> &'static str {
    match judgement {
        Judgement::Worse => "worse",
        Judgement::NotWorse => "not worse",
        Judgement::Undecided => "undecided",
        Judgement::Ejected => "ejected",
    }
}

/// How many are worse, and how many are not.
struct Counts<'a>(&'a Gate);

impl fmt::Display for Counts<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kinds = [Judgement::Worse, Judgement::Undecided, Judgement::Ejected, Judgement::NotWorse];
        let counts = kinds.map(|kind| (self.0.count(kind), word(kind)));
        let some: Vec<String> =
            counts.iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}")).collect();
        f.write_str(&if some.is_empty() { "nothing was judged".to_owned() } else { some.join(", ") })
    }
}

/// How the command ends by what was judged.
///
/// # Errors
/// [`Failure::Worse`], [`Failure::Undecided`], [`Failure::Interrupted`].
pub fn verdict(options: &GateOptions, Decided { gate, interrupted }: &Decided) -> Result<(), Failure> {
    let (worse, undecided) = (gate.count(Judgement::Worse), gate.count(Judgement::Undecided));
    let by = if options.baseline.is_some() { "the baseline" } else { "the first pair" };
    if *interrupted {
        return Err(Failure::Interrupted(format!("not all runs of --decide were done: {}", Counts(gate))));
    }
    if worse > 0 {
        return Err(Failure::Worse(format!("worse than {by}: {}", Counts(gate))));
    }
    if undecided > 0 {
        let help = if options.decide.is_some() { "more --decide" } else { "--decide RUNS adds runs until it is" };
        let said = format!("undecided by {by}: {}\n  help: {help}, as far as more runs can", Counts(gate));
        return Err(if options.fail_if_undecided { Failure::Worse(said) } else { Failure::Undecided(said) });
    }
    if gate.judged.is_empty() {
        let unknown = "--was says what the baseline calls a pair";
        return Err(Failure::Options(format!("{by} has none of these cells: nothing was judged\n  help: {unknown}")));
    }
    Ok(())
}
