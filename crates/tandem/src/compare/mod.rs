// SPDX-License-Identifier: GPL-2.0-only
//! `tandem compare`: several schedulers and governors on the same workload, over several seeds.
//!
//! The runs and their metrics are [`tandem_experiments`]'; [`layout`] and [`sentences`] show them.

mod layout;
mod sentences;

use clap::Args;
use clap::builder::RangedU64ValueParser;
use tandem_experiments::{ComparisonRuns, Stored, tell_apart};
use tandem_simulator::machine::Machine;

use crate::arguments::{Choice, Pair, ScenarioOptions, choice, reads, warn_of_powersave};
use crate::context::Context;
use crate::failure::Failure;
use crate::json::JsonOption;
use crate::produced::ProducedBy;
use crate::store::StoreOption;
use crate::workload;

const EXAMPLES: &str = "\
Examples:
  tandem compare app.json --machine hikey960 -s fair+schedutil -s fair+performance
  tandem compare mix.json -m rk3399 -s fair+schedutil -s fair+ondemand --runs 30 --seed 100
  tandem compare mix.json -m rk3399 -s fair -s ./scx_simple.bpf.o -s ./scx_simple.bpf.o,fifo_sched=true
  tandem compare mix.json -m rk3399 -s fair -s tandem -s tandem,longest=true
  tandem compare mix.json -m rk3399 -s fair -s fair+powersave --json | jq '.pairs[].metrics'

Fairness compares what each application loses by sharing the machine: the smallest speedup
against running alone over the largest, 1 being fair. Jitter is the relative deviation of an
application's time from run to run. Ratios are against the first pair. Governors are
performance, powersave, userspace=CLOCK, ondemand, conservative and, unless another is named,
schedutil. The fields of the JSON are described in docs/reports.md.";

/// Compare schedulers and governors: means with 95 % confidence intervals over several seeds
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Compare {
    #[command(flatten)]
    scenario: ScenarioOptions,

    /// Scheduler and governor as in `fair+schedutil`, `tandem,sorted=true+schedutil` or `./scx_simple.bpf.o`; repeat for each to compare, the
    /// first is the reference
    #[arg(short, long = "scheduler", value_name = "S+G", required = true, value_parser = choice)]
    schedulers: Vec<Choice>,

    /// Runs per pair, each with a seed of its own
    #[arg(
        long,
        value_name = "N",
        default_value_t = 10,
        value_parser = RangedU64ValueParser::<u32>::new().range(1..=100_000),
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
    store: StoreOption,

    #[command(flatten)]
    json: JsonOption,
}

impl Compare {
    /// Runs the command.
    pub fn run(&self, context: &mut Context<'_>) -> Result<(), Failure> {
        let mut pairs: Vec<Pair> = self.schedulers.iter().map(Choice::pair).collect();
        let scenario = self.scenario.scenario();
        scenario.check(pairs.iter().map(|pair| &pair.scheduler))?;
        tell_apart(&mut pairs);
        let machine = Machine::load(&self.scenario.machine)?;
        pairs.iter().try_for_each(|pair| scenario.check_on(&machine, pair, self.seed))?;
        warn_of_powersave(context, &machine, pairs.iter().map(|pair| &pair.governor));
        let (workload, text) = workload::load_with_text(&self.scenario.workload)?;
        for warning in &workload.warnings {
            context.warn(warning);
        }
        let runs = ComparisonRuns {
            machine: &machine,
            workload: &workload,
            scenario: &scenario,
            pairs,
            seeds: (0..u64::from(self.runs)).map(|run| self.seed.wrapping_add(run)).collect(),
            alone: !self.no_alone,
        };
        reads(
            context,
            &self.scenario.machine,
            Some(&self.scenario.workload),
            runs.pairs.iter().map(|pair| &pair.scheduler),
        );
        let produced = ProducedBy::new(&context.command, self.seed)
            .scenario(&scenario)
            .machine(&self.scenario.machine, &machine)
            .workload(&self.scenario.workload, &text)
            .pairs(&scenario, &runs.pairs);
        let destination = self.json.open(context)?;
        let store = context.store()?;
        let simulator = Stored::new(context.simulator, store.as_ref(), self.store.fresh);
        let comparison = runs.run(&simulator, &context.bar())?;
        context.tell_found(simulator.found());
        let width = context.width;
        destination.write(context, &produced.of(&comparison), || {
            layout::render(&comparison, width) + sentences::render(&comparison, width).as_str()
        })?;
        match comparison.ejected() {
            0 => Ok(()),
            1 => Err(Failure::Ejected("in one run the scheduler did not stay to the end".to_owned())),
            runs => Err(Failure::Ejected(format!("in {runs} runs the scheduler did not stay to the end"))),
        }
    }
}

/// How a pair is called in tables.
fn label(pair: &Pair) -> String {
    pair.to_string()
}
