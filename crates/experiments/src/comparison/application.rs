// SPDX-License-Identifier: MIT OR Apache-2.0
//! Metrics of one application: its time, its work per second, and how late its threads were. Energy is the machine's, and
//! nobody's in particular.

use tandem_simulator::metrics::AppReport;

use super::PairResult;
use super::metric::{Metric, NotMeasured};
use super::runs::Outcome;

impl Metric {
    /// Whether an application has a value of its own.
    pub fn is_of_applications(self) -> bool {
        matches!(self, Self::Time | Self::Throughput) || self.of_timing(&Default::default()).is_some()
    }

    /// The value of an application in one run; `None` of a metric that [applications do not
    /// have](Self::is_of_applications).
    fn of_application(self, app: &AppReport) -> Option<Result<f64, NotMeasured>> {
        match self {
            Self::Time => Some(app.time_s.ok_or(NotMeasured::TimeLimit)),
            Self::Throughput => Some(Ok(app.performance)),
            late => late.of_timing(&app.timing),
        }
    }
}

/// The application `name` of a run.
fn application<'a>(outcome: &'a Outcome, name: &str) -> Option<&'a AppReport> {
    outcome.report.apps.iter().find(|app| app.name == name)
}

impl PairResult {
    /// The names of the applications of the first run, which are those of all.
    pub fn applications(&self) -> impl Iterator<Item = &str> {
        self.outcomes.first().into_iter().flat_map(|run| &run.report.apps).map(|app| app.name.as_str())
    }

    /// The values of `metric` of the application `name`, by seed; `None` if the metric is none of an application.
    ///
    /// # Errors
    /// A run does not have it: the first reason.
    pub fn of_application(&self, metric: Metric, name: &str) -> Option<Result<Vec<f64>, NotMeasured>> {
        let absent = || NotMeasured::Absent(name.to_owned());
        metric.is_of_applications().then(|| {
            let of_run = |run: &Outcome| match application(run, name) {
                Some(app) => metric.of_application(app).unwrap_or_else(|| Err(absent())),
                None => Err(absent()),
            };
            self.outcomes.iter().map(of_run).collect()
        })
    }
}

#[cfg(test)]
mod tests {
    use tandem_simulator::metrics::{Latency, Timing};

    use super::*;
    use crate::comparison::metric::tests::outcome;

    #[test]
    fn an_application_has_its_own_time_rate_and_responses() {
        let mut run = outcome(&[("a", 0.5, 1.0), ("b", 0.25, 1.0)]);
        let response = |p99| Some(Latency { p50: 1, p95: 2, p99, max: 9_000_000 });
        run.report.timing = Timing { response_ns: response(8_000_000), ..Timing::default() };
        run.report.apps[0].timing = Timing { response_ns: response(3_000_000), ..Timing::default() };
        run.report.apps[1].timing = Timing::default();
        let of = |metric: Metric, app: usize| metric.of_application(&run.report.apps[app]).unwrap();
        // The fixture's time is the inverse of the performance.
        assert_eq!((of(Metric::Time, 0), of(Metric::Time, 1)), (Ok(2.0), Ok(4.0)));
        assert_eq!((of(Metric::Throughput, 0), of(Metric::Throughput, 1)), (Ok(0.5), Ok(0.25)));
        assert_eq!(of(Metric::P99Response, 0), Ok(0.003));
        assert_eq!(of(Metric::P99Response, 1), Err(NotMeasured::NoRound));
        run.report.apps[0].time_s = None;
        assert_eq!(Metric::Time.of_application(&run.report.apps[0]), Some(Err(NotMeasured::TimeLimit)));
    }

    #[test]
    fn energy_and_what_is_reckoned_from_all_are_no_applications() {
        let of_run: Vec<&str> =
            Metric::ALL.into_iter().filter(|metric| !metric.is_of_applications()).map(Metric::name).collect();
        assert_eq!(of_run, ["energy", "edp", "power", "fairness", "jitter", "energy-per-work"]);
    }
}
