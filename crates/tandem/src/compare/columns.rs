// SPDX-License-Identifier: GPL-2.0-only
//! Which metrics the tables have: those that were asked for with `--metric`, else those that the workload has.

use clap::Args;
use tandem_experiments::{Comparison, Limits, Metric};
use tandem_simulator::input::valid_names;

use super::formats::Format;
use crate::failure::Failure;

/// The option.
#[derive(Debug, Clone, Default, Args)]
pub struct Columns {
    /// Show these metrics in the tables, in this order, such as `--metric time,p99-response`; may be repeated. Unless given,
    /// those that the workload has; --json, --jsonl and --csv have all
    #[arg(long = "metric", value_name = "NAME,...", value_delimiter = ',', value_parser = metric)]
    asked: Vec<Metric>,
}

/// Reads the name of a metric as `--fail-if` and the JSON know it: `p99-response`, `p99(response)`, `work-rate`.
fn metric(text: &str) -> Result<Metric, String> {
    let names = Metric::ALL.map(Metric::name);
    Metric::in_words(text).ok_or_else(|| format!("no such metric; {}", valid_names(text, &names)))
}

impl Columns {
    /// Whether something with tables is printed or written.
    ///
    /// # Errors
    /// Metrics were asked for where all are printed.
    pub fn check(&self, printed: Option<Format>, writes_tables: bool) -> Result<(), Failure> {
        match printed {
            Some(format @ (Format::Json | Format::Lines | Format::Csv)) if self.are_asked() && !writes_tables => {
                Err(Failure::Options(format!(
                    "{format} prints no table, and has all metrics: --metric chooses nothing there\n  help: {format}=FILE \
                     writes a file beside the text"
                )))
            }
            _ => Ok(()),
        }
    }

    /// Whether metrics were asked for.
    pub fn are_asked(&self) -> bool {
        !self.asked.is_empty()
    }

    /// The columns of a comparison's table, each once.
    pub fn of(&self, comparison: &Comparison) -> Vec<Metric> {
        let mut columns: Vec<Metric> = Vec::new();
        for metric in if self.are_asked() { self.asked.clone() } else { usual(comparison) } {
            if !columns.contains(&metric) {
                columns.push(metric);
            }
        }
        columns
    }

    /// Metrics of which it is said why they were not measured: what was asked for; else what every workload has, unless other
    /// words say that it does not.
    pub fn expected(&self) -> Vec<Metric> {
        if self.are_asked() {
            return self.asked.clone();
        }
        vec![
            Metric::Time,
            Metric::Energy,
            Metric::Edp,
            Metric::Power,
            Metric::Throughput,
            Metric::Fairness,
            Metric::Jitter,
        ]
    }

    /// Whether a sentence may be about a metric.
    pub fn tells(&self, metric: Metric) -> bool {
        !self.are_asked() || self.asked.contains(&metric)
    }
}

/// Work per second takes the place of a time that says nothing; energy per work stands beside an energy that pairs used for
/// different work. Of what says how late a run was the table has what the workload has, one column each, but responses only
/// where somebody waits for them, or where there is no time; the JSON has all.
fn usual(comparison: &Comparison) -> Vec<Metric> {
    let limited = comparison.limits() != Limits::None;
    let everywhere = |metric: Metric| comparison.pairs.iter().all(|pair| pair.metric(metric).value.is_ok());
    let has_deadlines = everywhere(Metric::Missed) || everywhere(Metric::LateFrames);
    let columns = [
        (Metric::Time, !limited),
        (Metric::Energy, true),
        (Metric::EnergyPerWork, comparison.work_differs() && everywhere(Metric::EnergyPerWork)),
        (Metric::Edp, true),
        (Metric::Power, true),
        (Metric::Throughput, limited),
        (Metric::P99Response, everywhere(Metric::P99Response) && (limited || has_deadlines)),
        (Metric::Missed, everywhere(Metric::Missed)),
        (Metric::LateFrames, everywhere(Metric::LateFrames)),
        (Metric::Fairness, true),
        (Metric::Jitter, true),
    ];
    columns.into_iter().filter_map(|(metric, shown)| shown.then_some(metric)).collect()
}
