// SPDX-License-Identifier: MIT OR Apache-2.0
//! The metrics of a comparison. A metric that was not measured says why; it is never 0.

use super::runs::Outcome;
use crate::statistics::{Estimate, jitter, mean};

/// What is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Metric {
    /// Run time, seconds.
    Time,
    /// Energy of all parts, joules.
    Energy,
    /// Energy × time, joule seconds.
    Edp,
    /// Mean power, watts.
    Power,
    /// Work per second: seconds of work on the reference CPU.
    Throughput,
    /// Smallest over largest speedup of the applications against running alone.
    Fairness,
    /// Relative deviation of the applications' times from run to run.
    Jitter,
}

impl Metric {
    /// All metrics, in the order of columns.
    pub const ALL: [Self; 7] =
        [Self::Time, Self::Energy, Self::Edp, Self::Power, Self::Throughput, Self::Fairness, Self::Jitter];

    /// What people call it.
    pub fn title(self) -> &'static str {
        match self {
            Self::Time => "time",
            Self::Energy => "energy",
            Self::Edp => "EDP",
            Self::Power => "power",
            Self::Throughput => "work rate",
            Self::Fairness => "fairness",
            Self::Jitter => "jitter",
        }
    }

    /// The key of its values in the JSON, which names their unit.
    pub fn key(self) -> &'static str {
        match self {
            Self::Time => "time_s",
            Self::Energy => "energy_j",
            Self::Edp => "edp_js",
            Self::Power => "power_w",
            Self::Throughput => "throughput",
            Self::Fairness => "fairness",
            Self::Jitter => "jitter",
        }
    }

    /// Whether a larger value is the better one.
    pub fn more_is_better(self) -> bool {
        match self {
            Self::Throughput | Self::Fairness => true,
            Self::Time | Self::Energy | Self::Edp | Self::Power | Self::Jitter => false,
        }
    }

    /// Whether one run has a value of its own.
    pub fn is_of_one_run(self) -> bool {
        self != Self::Jitter
    }
}

/// A metric of one pair.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// The value; why it was not measured otherwise.
    pub value: Result<Estimate, NotMeasured>,
    /// Over the first pair's value; `None` where one of both was not measured or the first is 0.
    pub ratio: Option<Estimate>,
}

/// Why a metric was not measured.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotMeasured {
    /// Time, and what is computed from it.
    #[error("a time limit ended a run, whose length then says nothing")]
    TimeLimit,
    /// There are no seeds.
    #[error("no runs")]
    NoRuns,
    /// A deviation from run to run needs two runs.
    #[error("it needs more than one run")]
    OneRun,
    /// The workload has only system tasks.
    #[error("the workload has no application")]
    NoApplication,
    /// Sharing a machine takes two applications.
    #[error("the workload has one application")]
    OneApplication,
    /// The runs alone were not asked for.
    #[error("applications were not run alone (--no-alone)")]
    NotRunAlone,
    /// Fewer than two applications did any work.
    #[error("the applications do no work together")]
    NoWorkTogether,
    /// A run lacks an application that another run has.
    #[error("application `{0}` is not in every run")]
    Absent(String),
    /// An application has neither a time nor work in a run.
    #[error("application `{0}` does no work in one of the runs")]
    Idle(String),
    /// An application does nothing without the others.
    #[error("application `{0}` does no work alone")]
    IdleAlone(String),
    /// The scheduler went before the end of an application's run alone.
    #[error("application `{0}` alone lost its scheduler")]
    EjectedAlone(String),
    /// An application's run alone has no report.
    #[error("application `{name}` cannot run alone: {why}")]
    CannotRunAlone {
        /// The application.
        name: String,
        /// The first line of the simulation's error.
        why: String,
    },
}

fn time_limited(outcomes: &[Outcome]) -> bool {
    outcomes.iter().any(|outcome| outcome.report.time_limited)
}

/// The value of `metric` over the runs.
pub fn measure(metric: Metric, outcomes: &[Outcome]) -> Result<Estimate, NotMeasured> {
    let of_reports = |value: fn(&Outcome) -> f64| {
        let values: Vec<f64> = outcomes.iter().map(value).collect();
        Estimate::of_mean(&values).ok_or(NotMeasured::NoRuns)
    };
    match metric {
        Metric::Time if time_limited(outcomes) => Err(NotMeasured::TimeLimit),
        Metric::Time => of_reports(|outcome| outcome.report.time_s),
        Metric::Edp => {
            let values: Option<Vec<f64>> = outcomes.iter().map(|outcome| outcome.report.edp_js).collect();
            Estimate::of_mean(&values.ok_or(NotMeasured::TimeLimit)?).ok_or(NotMeasured::NoRuns)
        }
        Metric::Energy => of_reports(|outcome| outcome.report.energy_j.total),
        Metric::Power => of_reports(|outcome| outcome.report.power_w),
        Metric::Throughput => of_reports(|outcome| outcome.report.throughput),
        Metric::Fairness => {
            let values = outcomes.iter().map(fairness).collect::<Result<Vec<_>, _>>()?;
            Estimate::of_mean(&values).ok_or(NotMeasured::NoRuns)
        }
        Metric::Jitter => jitter_of(outcomes),
    }
}

impl Outcome {
    /// Performance of an application in the mix over its performance alone.
    pub fn speedup(&self, app: &str) -> Option<f64> {
        let (_, alone) = self.alone.as_ref().ok()?.iter().find(|(name, _)| name == app)?;
        let mixed = self.report.apps.iter().find(|report| report.name == app)?;
        Some(mixed.performance / alone)
    }
}

/// The smallest speedup over the largest.
pub fn fairness(outcome: &Outcome) -> Result<f64, NotMeasured> {
    let apps = outcome.alone.as_ref().map_err(Clone::clone)?;
    let speedups: Vec<f64> = apps.iter().filter_map(|(name, _)| outcome.speedup(name)).collect();
    let largest = speedups.iter().copied().fold(0.0, f64::max);
    if speedups.len() < 2 || largest == 0.0 {
        return Err(NotMeasured::NoWorkTogether);
    }
    Ok(speedups.iter().copied().fold(f64::INFINITY, f64::min) / largest)
}

/// Jitter of each application over the runs, averaged over the applications.
fn jitter_of(outcomes: &[Outcome]) -> Result<Estimate, NotMeasured> {
    if outcomes.len() < 2 {
        return Err(NotMeasured::OneRun);
    }
    let names = outcomes[0].report.apps.iter().filter(|app| app.threads > 0).map(|app| app.name.as_str());
    let times = names.map(|name| times(outcomes, name)).collect::<Result<Vec<_>, _>>()?;
    if times.is_empty() {
        return Err(NotMeasured::NoApplication);
    }
    Ok(Estimate::by_jackknife(outcomes.len(), |runs| {
        let of_app = |times: &Vec<f64>| jitter(&runs.iter().map(|run| times[*run]).collect::<Vec<_>>());
        mean(&times.iter().map(of_app).collect::<Vec<_>>()).unwrap_or_default()
    }))
}

/// An application's time in each run; where a limit ended one of them, its time per unit of work.
fn times(outcomes: &[Outcome], name: &str) -> Result<Vec<f64>, NotMeasured> {
    let app = |outcome: &Outcome| outcome.report.apps.iter().find(|app| app.name == name).cloned();
    let apps: Option<Vec<_>> = outcomes.iter().map(app).collect();
    let apps = apps.ok_or_else(|| NotMeasured::Absent(name.to_owned()))?;
    match apps.iter().map(|app| app.time_s).collect::<Option<Vec<f64>>>() {
        Some(times) if times.iter().all(|time| *time > 0.0) => return Ok(times),
        _ => {}
    }
    if apps.iter().any(|app| app.performance <= 0.0) {
        return Err(NotMeasured::Idle(name.to_owned()));
    }
    Ok(apps.iter().map(|app| 1.0 / app.performance).collect())
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::fixture::report;

    pub fn outcome(apps: &[(&str, f64, f64)]) -> Outcome {
        let mut outcome = Outcome { report: report(), alone: Ok(Vec::new()) };
        outcome.report.apps.clear();
        let mut alone = Vec::new();
        for (name, mixed, by_itself) in apps {
            let mut app = report().apps.remove(0);
            (app.name, app.performance, app.time_s) = (name.to_string(), *mixed, Some(1.0 / mixed));
            outcome.report.apps.push(app);
            alone.push((name.to_string(), *by_itself));
        }
        outcome.alone = Ok(alone);
        outcome
    }

    #[test]
    fn metrics_are_indexed_by_their_place_among_all() {
        for (index, metric) in Metric::ALL.into_iter().enumerate() {
            assert_eq!(metric as usize, index);
        }
    }

    #[test]
    fn fairness_is_the_smallest_speedup_over_the_largest() {
        // Speedups 0.5, 0.8 and 0.4.
        let outcome = outcome(&[("a", 1.0, 2.0), ("b", 0.8, 1.0), ("c", 2.0, 5.0)]);
        assert!((fairness(&outcome).unwrap() - 0.5).abs() < 1e-12);
    }

    #[test]
    fn a_starved_application_makes_a_run_unfair_not_unmeasured() {
        assert_eq!(fairness(&outcome(&[("a", 1.0, 2.0), ("b", 0.0, 1.0)])), Ok(0.0));
    }

    #[test]
    fn jitter_is_averaged_over_applications() {
        // a: 0.9 s and 1.1 s, jitter 0.1; b: never differs.
        let runs =
            [outcome(&[("a", 1.0 / 0.9, 1.0), ("b", 0.5, 1.0)]), outcome(&[("a", 1.0 / 1.1, 1.0), ("b", 0.5, 1.0)])];
        let jitter = measure(Metric::Jitter, &runs).unwrap();
        assert!((jitter.mean - 0.05).abs() < 1e-12);
        assert_eq!(jitter.half_width, None, "two runs leave one out of which nothing deviates");
    }

    #[test]
    fn an_application_that_a_limit_ended_jitters_in_its_time_per_work() {
        let mut runs = [outcome(&[("a", 1.0 / 0.9, 1.0)]), outcome(&[("a", 1.0 / 1.1, 1.0)])];
        runs.iter_mut().for_each(|run| run.report.apps[0].time_s = None);
        assert!((measure(Metric::Jitter, &runs).unwrap().mean - 0.1).abs() < 1e-12);
    }

    #[test]
    fn one_run_has_no_jitter() {
        assert!(measure(Metric::Jitter, &[outcome(&[("a", 1.0, 1.0)])]).unwrap_err() == NotMeasured::OneRun);
    }

    #[test]
    fn the_length_of_a_limited_run_is_no_time() {
        let mut run = outcome(&[("a", 1.0, 1.0)]);
        (run.report.time_limited, run.report.edp_js) = (true, None);
        let runs = [run];
        assert!(measure(Metric::Time, &runs).is_err());
        assert!(measure(Metric::Edp, &runs).is_err());
        assert!(measure(Metric::Energy, &runs).is_ok());
    }
}
