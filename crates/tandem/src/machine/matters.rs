// SPDX-License-Identifier: GPL-2.0-only
//! `tandem machine show --for`: which of the machine's values matter for a workload.

use std::path::PathBuf;

use clap::Args;
use clap::builder::RangedI64ValueParser;
use tandem_experiments::{Scenario, SensitivityRuns, Stored, Which};
use tandem_simulator::machine::description::Description;
use tandem_simulator::units::Nanos;

use crate::arguments::{Choice, QuietOption, choice, duration, reads, tell_own_governors};
use crate::context::Context;
use crate::failure::Failure;
use crate::sensitivity;
use crate::store::StoreOption;
use crate::workload;

/// The options of the question which values matter.
#[derive(Debug, Args)]
#[command(next_help_heading = "Which values matter?")]
pub struct Matters {
    /// Say which of the values that nobody measured matter most for this workload (an rt-app JSON file or a bundled name): each is
    /// moved by 20 % down and up, and the workload runs again
    #[arg(long = "for", id = "workload", value_name = "WORKLOAD")]
    workload: Option<PathBuf>,

    /// With --for: scheduler and governor of the runs, as in `tandem+schedutil`
    #[arg(short, long, value_name = "S+G", default_value = "fair", value_parser = choice, requires = "workload")]
    scheduler: Choice,

    /// With --for: move all values, not only the assumed ones
    #[arg(long, requires = "workload")]
    all_values: bool,

    /// With --for: runs of each, with a seed of its own
    #[arg(
        long,
        value_name = "N",
        default_value_t = 5,
        value_parser = RangedI64ValueParser::<u32>::new().range(1..=100_000),
        requires = "workload"
    )]
    runs: u32,

    /// With --for: end each run after this much simulated time, for example `10s`
    #[arg(long, value_name = "TIME", value_parser = duration, requires = "workload")]
    duration: Option<Nanos>,

    #[command(flatten)]
    quiet: QuietOption,

    #[command(flatten)]
    store: StoreOption,
}

impl Matters {
    /// The table of values that matter; empty unless a workload was named.
    ///
    /// # Errors
    /// A mistake in the machine or the workload; what the simulator says.
    pub fn text(&self, context: &Context<'_>, spec: &str) -> Result<String, Failure> {
        let Some(path) = &self.workload else { return Ok(String::new()) };
        let description = Description::load(spec)?;
        let machine = description.machine()?;
        let workload = workload::load_with_text(path)?.0;
        for warning in &workload.warnings {
            context.warn(warning);
        }
        let pair = self.scheduler.pair();
        let scenario = self.quiet.unless(Scenario { time_limit: self.duration, ..Scenario::default() });
        scenario.check([&pair.scheduler])?;
        scenario.check_on(&machine, &pair, 0)?;
        tell_own_governors(context, &machine, [&pair.governor]);
        reads(context, spec, Some(path), [&pair.scheduler]);
        let pairs = [pair.on(&machine).map_err(|error| Failure::Options(error.to_string()))?];
        let seeds: Vec<u64> = (0..u64::from(self.runs)).collect();
        let which = if self.all_values { Which::All } else { Which::Assumed };
        let runs = SensitivityRuns {
            description: &description,
            workload: &workload,
            scenario: &scenario,
            pairs: &pairs,
            seeds: &seeds,
            which,
        };
        let store = context.store()?;
        let simulator = Stored::new(context.simulator, store.as_ref(), self.store.fresh);
        let found = runs.run(&simulator, &context.bar().keeping(store.as_ref()))?;
        context.tell_store(&simulator);
        Ok(sensitivity::render(&found, context.width))
    }
}
