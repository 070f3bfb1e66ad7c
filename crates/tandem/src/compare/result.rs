// SPDX-License-Identifier: GPL-2.0-only
//! The metrics of a comparison. One that was not measured says why; it is never 0.

use crate::arguments::Pair;
use crate::compare::runs::Outcome;
use crate::quantity::{JOULE_SECONDS, JOULES, NUMBER, PERCENT, SECONDS, Unit, WATTS};
use tandem_experiments::{Estimate, jitter, mean};

/// What is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Metric {
    /// Run time.
    Time,
    /// Energy of all parts.
    Energy,
    /// Energy × time.
    Edp,
    /// Mean power.
    Power,
    /// Work per second.
    Throughput,
    /// Smallest over largest speedup of the applications against running alone.
    Fairness,
    /// Relative deviation of the applications' times from run to run.
    Jitter,
}

impl Metric {
    /// All of them, in order of columns.
    pub const ALL: [Self; 7] =
        [Self::Time, Self::Energy, Self::Edp, Self::Power, Self::Throughput, Self::Fairness, Self::Jitter];

    /// For people.
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

    /// Unit of its values.
    pub fn unit(self) -> Unit {
        match self {
            Self::Time => SECONDS,
            Self::Energy => JOULES,
            Self::Edp => JOULE_SECONDS,
            Self::Power => WATTS,
            Self::Throughput | Self::Fairness => NUMBER,
            Self::Jitter => PERCENT,
        }
    }

    /// Its key in the JSON.
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
}

/// A metric of one pair.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// The value; why it was not measured otherwise.
    pub value: Result<Estimate, String>,
    /// Over the first pair's value; `None` where one of both was not measured or the first is 0.
    pub ratio: Option<Estimate>,
}

/// A pair and what its runs gave.
#[derive(Debug)]
pub struct PairResult {
    /// Scheduler and governor.
    pub pair: Pair,
    /// By seed.
    pub outcomes: Vec<Outcome>,
    /// In the order of [`Metric::ALL`].
    metrics: Vec<Measured>,
}

impl PairResult {
    /// One metric.
    pub fn metric(&self, metric: Metric) -> &Measured {
        &self.metrics[metric as usize]
    }
}

/// Which runs a time limit ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limits {
    /// None: all did all their work.
    None,
    /// Some: neither their times nor their work can be compared.
    Some,
    /// All: they took the same time.
    All,
}

/// A comparison.
#[derive(Debug)]
pub struct Comparison {
    /// The machine's name.
    pub machine: String,
    /// The workload's name.
    pub workload: String,
    /// Seeds of the runs.
    pub seeds: Vec<u64>,
    /// In the order given; the first is the reference.
    pub pairs: Vec<PairResult>,
}

impl Comparison {
    /// Computes the metrics of `outcomes`, which are by pair, then by seed.
    pub fn of(machine: &str, workload: &str, pairs: Vec<Pair>, seeds: Vec<u64>, outcomes: Vec<Vec<Outcome>>) -> Self {
        let values = |outcomes: &[Outcome]| Metric::ALL.map(|metric| measure(metric, outcomes));
        let reference = outcomes.first().map(|first| values(first));
        let pair_results = pairs.into_iter().zip(outcomes).map(|(pair, outcomes)| {
            let metrics = values(&outcomes).into_iter().enumerate().map(|(index, value)| {
                let reference = reference.as_ref().and_then(|values| values[index].as_ref().ok());
                let ratio = reference.zip(value.as_ref().ok()).and_then(|(base, value)| value.ratio_to(base));
                Measured { value, ratio }
            });
            PairResult { metrics: metrics.collect(), pair, outcomes }
        });
        Self { machine: machine.to_owned(), workload: workload.to_owned(), seeds, pairs: pair_results.collect() }
    }

    /// Which of the runs a time limit ended.
    pub fn limits(&self) -> Limits {
        let runs = || self.pairs.iter().flat_map(|pair| &pair.outcomes);
        match runs().filter(|outcome| outcome.report.time_limited).count() {
            0 => Limits::None,
            limited if limited == runs().count() => Limits::All,
            _ => Limits::Some,
        }
    }
}

fn time_limited(outcomes: &[Outcome]) -> bool {
    outcomes.iter().any(|outcome| outcome.report.time_limited)
}

/// Why time and what is computed from it were not measured.
const LIMITED: &str = "a time limit ended a run, whose length then says nothing";

fn measure(metric: Metric, outcomes: &[Outcome]) -> Result<Estimate, String> {
    let of_reports = |value: fn(&Outcome) -> f64| {
        let values: Vec<f64> = outcomes.iter().map(value).collect();
        Estimate::of_mean(&values).ok_or_else(|| "no runs".to_owned())
    };
    match metric {
        Metric::Time | Metric::Edp if time_limited(outcomes) => Err(LIMITED.to_owned()),
        Metric::Time => of_reports(|outcome| outcome.report.time_s),
        Metric::Edp => of_reports(|outcome| outcome.report.edp_js),
        Metric::Energy => of_reports(|outcome| outcome.report.energy_j.total),
        Metric::Power => of_reports(|outcome| outcome.report.power_w),
        Metric::Throughput => of_reports(|outcome| outcome.report.throughput),
        Metric::Fairness => {
            let values = outcomes.iter().map(fairness).collect::<Result<Vec<_>, _>>()?;
            Estimate::of_mean(&values).ok_or_else(|| "no runs".to_owned())
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
pub fn fairness(outcome: &Outcome) -> Result<f64, String> {
    let apps = outcome.alone.as_ref().map_err(Clone::clone)?;
    let speedups: Vec<f64> = apps.iter().filter_map(|(name, _)| outcome.speedup(name)).collect();
    let largest = speedups.iter().copied().fold(0.0, f64::max);
    if speedups.len() < 2 || largest == 0.0 {
        return Err("the applications do no work together".to_owned());
    }
    Ok(speedups.iter().copied().fold(f64::INFINITY, f64::min) / largest)
}

/// Jitter of each application over the runs, averaged over the applications.
fn jitter_of(outcomes: &[Outcome]) -> Result<Estimate, String> {
    if outcomes.len() < 2 {
        return Err("it needs more than one run".to_owned());
    }
    let names = outcomes[0].report.apps.iter().filter(|app| app.threads > 0).map(|app| app.name.as_str());
    let times = names.map(|name| times(outcomes, name)).collect::<Result<Vec<_>, _>>()?;
    if times.is_empty() {
        return Err("the workload has no application".to_owned());
    }
    Ok(Estimate::by_jackknife(outcomes.len(), |runs| {
        let of_app = |times: &Vec<f64>| jitter(&runs.iter().map(|run| times[*run]).collect::<Vec<_>>());
        mean(&times.iter().map(of_app).collect::<Vec<_>>()).unwrap_or_default()
    }))
}

/// An application's time in each run; where a limit ended one of them, its time per unit of work.
fn times(outcomes: &[Outcome], name: &str) -> Result<Vec<f64>, String> {
    let app = |outcome: &Outcome| outcome.report.apps.iter().find(|app| app.name == name).cloned();
    let apps: Option<Vec<_>> = outcomes.iter().map(app).collect();
    let apps = apps.ok_or_else(|| format!("application `{name}` is not in every run"))?;
    match apps.iter().map(|app| app.time_s).collect::<Option<Vec<f64>>>() {
        Some(times) if times.iter().all(|time| *time > 0.0) => return Ok(times),
        _ => {}
    }
    if apps.iter().any(|app| app.performance <= 0.0) {
        return Err(format!("application `{name}` does no work in one of the runs"));
    }
    Ok(apps.iter().map(|app| 1.0 / app.performance).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stories::report;

    fn outcome(apps: &[(&str, f64, f64)]) -> Outcome {
        let mut outcome = Outcome { report: report("w"), alone: Ok(Vec::new()) };
        outcome.report.apps.clear();
        let mut alone = Vec::new();
        for (name, mixed, by_itself) in apps {
            let mut app = report("w").apps.remove(0);
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
    fn limits_are_all_some_or_none() {
        let comparison = |limited: [bool; 2]| {
            let mut runs = [outcome(&[("a", 1.0, 1.0)]), outcome(&[("a", 1.0, 1.0)])];
            runs.iter_mut().zip(limited).for_each(|(run, limited)| run.report.time_limited = limited);
            let pair = crate::arguments::choice("fair").unwrap().pair();
            Comparison::of("m", "w", vec![pair], vec![0, 1], vec![runs.to_vec()])
        };
        assert_eq!(comparison([false, false]).limits(), Limits::None);
        assert_eq!(comparison([true, false]).limits(), Limits::Some);
        assert_eq!(comparison([true, true]).limits(), Limits::All);
    }

    #[test]
    fn one_run_has_no_jitter() {
        assert!(measure(Metric::Jitter, &[outcome(&[("a", 1.0, 1.0)])]).unwrap_err().contains("more than one run"));
    }

    #[test]
    fn the_length_of_a_limited_run_is_no_time() {
        let mut run = outcome(&[("a", 1.0, 1.0)]);
        run.report.time_limited = true;
        let runs = [run];
        assert!(measure(Metric::Time, &runs).is_err());
        assert!(measure(Metric::Edp, &runs).is_err());
        assert!(measure(Metric::Energy, &runs).is_ok());
    }
}
