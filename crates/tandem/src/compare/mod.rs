// SPDX-License-Identifier: GPL-2.0-only
//! `tandem compare`: several schedulers and governors on the same workload, over several seeds.
//!
//! The runs and their metrics are [`tandem_experiments`]'. [`plan`]: what is run. [`formats`]: what is written. [`columns`]: which metrics are shown. [`layout`] and
//! [`sentences`] show one comparison, [`grid`] many. [`sensitive`]: which values of machines they hang on. [`gate`]: whether they are worse than earlier ones.

mod columns;
mod formats;
mod gate;
mod grid;
mod layout;
mod means;
mod plan;
mod sensitive;
mod sentences;

use std::io;
use std::path::PathBuf;

use clap::Args;
use clap::builder::RangedI64ValueParser;
use tandem_experiments::{
    Compared, Comparison, Decided, ExperimentError, Gate, Matrix, MatrixRuns, Rows, Scenario, Sensitivity, Stored,
    VariedSetting, spanned, tell_apart,
};

use crate::arguments::{Choice, Pair, RunOptions, choice, reads, tell_own_governors, varied};
use crate::context::{Bar, Context};
use crate::failure::Failure;
use crate::files::MARKDOWN_MARK;
use crate::produced::{ProducedBy, Rests, lines_of_rests};
use crate::sensitivity;
use crate::store::StoreOption;
use crate::table::paragraph;

use columns::Columns;
use formats::{Format, Formats};
use gate::{GateOptions, OpenGate};
use plan::Plan;
use sensitive::SensitiveOption;

const EXAMPLES: &str = "\
Examples:
  tandem compare app.json --machine hikey960 -s fair+schedutil -s fair+performance
  tandem compare mix.json -m rk3399 -s fair+schedutil -s fair+ondemand --runs 30 --seed 100
  tandem compare mix.json -m rk3399 -s fair -s ./scx_simple.bpf.o -s ./scx_simple.bpf.o,fifo_sched=true
  tandem compare mix.json -m rk3399 -s fair -s tandem -s tandem,longest=true
  tandem compare mix.json -m rk3399 -s fair -s fair+powersave --json | jq '.pairs[].metrics'
  tandem compare forkjoin pipeline -m hikey960 -m rk3399 -s fair -s tandem --csv=runs.csv
  tandem compare forkjoin -m rk3399 -s fair -s tandem --parameter base_slice_us=1000,2000,4000
  tandem compare mix.json -m rk3399 -s fair -s tandem --metric time,p99-latency,p99-response
  tandem compare mix.json -m rk3399 -s fair -s tandem --sensitivity
  tandem compare mix.json -m rk3399 -s old/scx_simple.bpf.o -s new/scx_simple.bpf.o --fail-if 'energy > 1.02' --decide 80
  tandem compare mix.json -m rk3399 -s ./scx_simple.bpf.o --save base.json
  tandem compare mix.json -m rk3399 -s ./scx_simple.bpf.o --baseline base.json --fail-if 'energy > 1.02'
  tandem compare mix.json -m rk3399 -s ./scx_simple.bpf.o --baseline base.json --fail-if 'p99(response:viewer) > 1.05'

Fairness compares what each application loses by sharing the machine: the smallest speedup
against running alone over the largest, 1 being fair. Jitter is the relative deviation of an
application's time from run to run. Ratios are against the first pair. Governors are
performance, powersave, userspace=CLOCK, ondemand, conservative, schedutil, intel_pstate and
amd-pstate; unless one is named, what the machine's own Linux runs with. The fields of the JSON are described in docs/reports.md, the job of a repository in
docs/ci.md.";

/// Compare schedulers and governors: means with 95 % confidence intervals over several seeds
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Compare {
    /// Workloads: rt-app JSON files, bundled names (see `tandem workload list`), or `-` for standard input
    #[arg(value_name = "WORKLOAD", required = true)]
    workloads: Vec<PathBuf>,

    /// Machine: a bundled name (see `tandem machine list`) or a TOML file, with `:CONFIGURATION` behind it if wanted; repeat
    /// for each
    #[arg(short, long = "machine", value_name = "M", required = true)]
    machines: Vec<String>,

    /// Scheduler and governor as in `fair+schedutil`, `tandem,sorted=true+schedutil` or `./scx_simple.bpf.o`; repeat for each to compare, the
    /// first is the reference
    #[arg(short, long = "scheduler", value_name = "S+G", required = true, value_parser = choice)]
    schedulers: Vec<Choice>,

    /// Run each scheduler that has the setting, or all with a kernel parameter, once with each value, as in
    /// `--parameter hz=250,1000`; repeat for all combinations
    #[arg(long = "parameter", value_name = "NAME=VALUE,...", value_parser = varied)]
    parameters: Vec<VariedSetting>,

    #[command(flatten)]
    pub options: RunOptions,

    /// Runs per pair, each with a seed of its own
    #[arg(
        long,
        value_name = "N",
        default_value_t = 10,
        value_parser = RangedI64ValueParser::<u32>::new().range(1..=100_000),
        allow_negative_numbers = true
    )]
    runs: u32,

    /// Seed of the first run; every pair gets the same seeds
    #[arg(long, value_name = "FIRST", default_value_t = 0, allow_negative_numbers = true)]
    seed: u64,

    /// Do not run each application alone; fairness is then not measured
    #[arg(long)]
    no_alone: bool,

    #[command(flatten)]
    columns: Columns,

    #[command(flatten)]
    sensitive: SensitiveOption,

    #[command(flatten)]
    store: StoreOption,

    #[command(flatten)]
    formats: Formats,

    #[command(flatten)]
    gate: GateOptions,
}

impl Compare {
    /// Runs the command.
    pub fn run(&self, context: &mut Context<'_>) -> Result<(), Failure> {
        let scenario = self.options.scenario();
        let (plan, pairs) = self.checked(context, &scenario)?;
        self.claim_inputs(context, &pairs);
        let subject = self.gate.wanted().then(|| plan.subject(&scenario, &pairs));
        let gate = self.gate.open(context, self.formats.force(), subject)?;
        let destinations = self.formats.open(context)?;
        let runs = MatrixRuns {
            machines: &plan.machines,
            workloads: &plan.workloads,
            scenario: &scenario,
            pairs,
            seeds: (0..u64::from(self.runs)).map(|run| self.seed.wrapping_add(run)).collect(),
            alone: !self.no_alone,
        };
        if plan.is_matrix() {
            context.interrupt.awaited();
        }
        let mut produced = plan.produced(ProducedBy::new(&context.command, self.seed), &scenario, &runs.pairs);
        let store = context.store()?;
        let simulator = Stored::new(context.simulator, store.as_ref(), self.store.fresh);
        let bar = context.bar().keeping(store.as_ref());
        let mut matrix = runs.clone().run(&simulator, &bar)?;
        context.tell_store(&simulator);
        if matrix.comparisons.is_empty() {
            return Err(interrupted(&matrix, &bar));
        }
        let judged = if matrix.missing > 0 { None } else { gate.judge(&mut matrix, &runs, &simulator, &bar)? };
        let rests = plan.rests(&matrix)?;
        produced.resting_on(&rests);
        let (width, many, columns) = (context.width, plan.is_matrix(), &self.columns);
        let results = Results {
            matrix: &matrix,
            columns,
            many,
            gate: None,
            sensitivity: &[],
            rests: &rests,
            produced: &produced,
        };
        if matrix.missing > 0 {
            destinations.without_files().write(context, |format| results.render(format, width))?;
            return Err(interrupted(&matrix, &bar));
        }
        let of_seeds = (&scenario, &runs.pairs[..], &runs.seeds[..]);
        let sensitivity = match self.sensitive.run(&plan, of_seeds, (&simulator, &bar)) {
            // The comparison is whole, and took its time.
            Err(Failure::Experiment(ExperimentError::Interrupted)) => {
                destinations.without_files().write(context, |format| results.render(format, width))?;
                return Err(Failure::Interrupted(with(MISSING_VALUES, bar.how_far())));
            }
            found => found?,
        };
        let shown = judged.as_ref().map(|decided| (&gate, &decided.gate));
        let results = Results { gate: shown, sensitivity: &sensitivity, ..results };
        destinations.write(context, |format| results.render(format, width))?;
        gate.write(&matrix, judged.as_ref().map(|decided| &decided.gate))?;
        self.verdict(&matrix, judged.as_ref())
    }

    /// What is to run, on which machines: nothing that could be told before is found out after runs.
    fn checked(&self, context: &Context<'_>, scenario: &Scenario) -> Result<(Plan, Vec<Pair>), Failure> {
        let pairs = self.pairs(scenario)?;
        let plan = Plan::read(context, &self.machines, &self.workloads).map_err(|failure| self.advised(failure))?;
        for machine in &plan.machines {
            pairs.iter().try_for_each(|pair| scenario.check_on(machine, pair, self.seed))?;
            tell_own_governors(context, machine, pairs.iter().map(|pair| &pair.governor));
        }
        self.gate.check(&plan.workloads, pairs.len())?;
        self.sensitive.check(self.formats.prints())?;
        self.columns.check(self.formats.prints(), self.formats.writes_markdown())?;
        let pairs = pairs.iter().map(|pair| pair.on_all(&plan.machines)).collect();
        Ok((plan, pairs))
    }

    /// The pairs that were asked for, with each value of their parameters.
    fn pairs(&self, scenario: &Scenario) -> Result<Vec<Pair>, Failure> {
        let mut pairs: Vec<Pair> = self.schedulers.iter().map(Choice::pair).collect();
        scenario.check(pairs.iter().map(|pair| &pair.scheduler))?;
        tell_apart(&mut pairs);
        Ok(spanned(pairs, &self.parameters, scenario)?)
    }

    /// Says which files the runs read, so that no output takes the place of one.
    fn claim_inputs(&self, context: &Context<'_>, pairs: &[Pair]) {
        for machine in &self.machines {
            for workload in &self.workloads {
                reads(context, machine, Some(workload), pairs.iter().map(|pair| &pair.scheduler));
            }
        }
    }

    /// The failure of reading a workload that may have been meant as an output's file.
    fn advised(&self, failure: Failure) -> Failure {
        match (failure, self.formats.prints()) {
            (Failure::Input(error), Some(format)) if self.workloads.len() > 1 => {
                Failure::Input(error.help(format!("a file to write stands behind a sign: {format}=FILE")))
            }
            (failure, _) => failure,
        }
    }

    fn verdict(&self, matrix: &Matrix, judged: Option<&Decided>) -> Result<(), Failure> {
        match matrix.ejected() {
            0 => judged.map_or(Ok(()), |judged| gate::verdict(&self.gate, judged)),
            1 => Err(Failure::Ejected("in one run the scheduler did not stay to the end".to_owned())),
            runs => Err(Failure::Ejected(format!("in {runs} runs the scheduler did not stay to the end"))),
        }
    }
}

/// What an interrupt left out where all of a matrix was done.
const MISSING_VALUES: &str = "which values matter was not found out";

/// What an interrupt left out of a matrix.
fn interrupted(matrix: &Matrix, bar: &Bar) -> Failure {
    Failure::Interrupted(with(&grid::missing(matrix), bar.how_far()))
}

fn with(missing: &str, how_far: Option<String>) -> String {
    how_far.map_or_else(|| missing.to_owned(), |how_far| format!("{missing}; {how_far}"))
}

/// What came of it, to be shown in any format.
struct Results<'a> {
    matrix: &'a Matrix,
    columns: &'a Columns,
    /// Whether more than one machine or workload was asked for.
    many: bool,
    gate: Option<(&'a OpenGate<'a>, &'a Gate)>,
    sensitivity: &'a [Sensitivity],
    rests: &'a [Rests],
    produced: &'a ProducedBy,
}

impl Results<'_> {
    /// The comparison, if only one was asked for.
    fn only(&self) -> Option<&Comparison> {
        self.matrix.comparisons.first().filter(|_| !self.many)
    }

    fn render(&self, format: Format, width: Option<usize>) -> Result<String, Failure> {
        Ok(match format {
            Format::Text => self.text(width),
            Format::Json => {
                let judged = self.gate.map(|(_, judged)| judged);
                let many = || Compared::many(self.matrix, judged);
                let document = self.only().map_or_else(many, |comparison| Compared::one(comparison, judged));
                let document = document.sensitive_to(self.sensitivity);
                serde_json::to_string_pretty(&self.produced.of(&document)).map_err(io::Error::from)? + "\n"
            }
            Format::Lines => Rows::of(self.matrix).jsonl(),
            Format::Csv => Rows::of(self.matrix).csv(),
            Format::Markdown => {
                let sensitivity: String = self.sensitivity.iter().map(sensitivity::markdown).collect();
                [MARKDOWN_MARK, &grid::markdown(self.matrix, self.columns), &sensitivity].concat()
            }
        })
    }

    fn text(&self, width: Option<usize>) -> String {
        let text = match self.only() {
            Some(comparison) => {
                let sentences = sentences::render(comparison, self.columns, width);
                layout::render(comparison, self.columns, width) + sentences.as_str()
            }
            None => grid::render(self.matrix, self.columns, width),
        };
        let sensitivity: String = self.sensitivity.iter().map(|it| sensitivity::render(it, width)).collect();
        let first = self.matrix.pairs.first().map_or(String::new(), label);
        let gate = self.gate.map_or(String::new(), |(gate, judged)| gate.text(judged, &first, width));
        let rests: String = lines_of_rests(self.rests, !self.sensitivity.is_empty())
            .iter()
            .map(|line| paragraph(line, width))
            .collect();
        let gap = if rests.is_empty() { "" } else { "\n" };
        [text, sensitivity, gap.to_owned(), rests, gate].concat()
    }
}

/// How a pair is called in tables.
fn label(pair: &Pair) -> String {
    pair.to_string()
}
