// SPDX-License-Identifier: MIT OR Apache-2.0
//! Numbers of a report, as expressions name them.

use serde_json::Value;
use tandem_simulator::input::{nearest, valid_names};
use tandem_simulator::metrics::{AppReport, Latency, Report, Timing};

use crate::statistics::{jitter, mean};

/// Reads a number of a report, or of an application in it.
pub type OfReport = fn(&Report, Option<&str>) -> Result<f64, String>;

/// What expressions call by name with a run, and an application if wanted.
pub const METRICS: [(&str, OfReport); 26] = [
    ("time", time),
    ("energy", |report, app| whole("energy", app, report.energy_j.total)),
    ("power", |report, app| whole("power", app, report.power_w)),
    ("edp", |report, app| whole("edp", app, of_ended(report.edp_js)?)),
    ("ed2p", |report, app| whole("ed2p", app, of_ended(report.ed2p_js2)?)),
    ("throughput", |report, app| whole("throughput", app, report.throughput)),
    ("performance", |report, app| of_apps(report, app, |app| Ok(app.performance))),
    ("work", |report, app| of_apps(report, app, |app| Ok(app.work_s))),
    ("cpu_time", |report, app| of_apps(report, app, |app| Ok(app.cpu_time_s))),
    ("busy", |report, app| whole("busy", app, 1.0 - report.idle_share)),
    ("idle", |report, app| whole("idle", app, report.idle_share)),
    ("migrations", |report, app| whole("migrations", app, report.migrations as f64)),
    ("energy_per_work", |report, app| whole("energy_per_work", app, energy_per_work(report)?)),
    ("latency_p50", |report, app| latency(report, app, |it| it.p50)),
    ("latency_p95", |report, app| latency(report, app, |it| it.p95)),
    ("latency_p99", |report, app| latency(report, app, |it| it.p99)),
    ("latency_max", |report, app| latency(report, app, |it| it.max)),
    ("response_p50", |report, app| response(report, app, |it| it.p50)),
    ("response_p95", |report, app| response(report, app, |it| it.p95)),
    ("response_p99", |report, app| response(report, app, |it| it.p99)),
    ("response_max", |report, app| response(report, app, |it| it.max)),
    ("rounds_per_s", |report, app| timing(report, app, "round", |it| (it.rounds > 0).then_some(it.rounds_per_s))),
    ("missed", |report, app| timing(report, app, "deadline", |it| Some(it.deadlines?.missed_share))),
    ("worst_miss", |report, app| timing(report, app, "deadline", |it| Some(it.deadlines?.worst_miss_ns as f64 / 1e9))),
    ("frames_per_s", |report, app| timing(report, app, "frame", |it| Some(it.frames?.per_s))),
    ("late_frames", |report, app| timing(report, app, "frame", |it| Some(it.frames?.late_share()))),
];

/// Seconds until the run was done, or until an application was.
fn time(report: &Report, app: Option<&str>) -> Result<f64, String> {
    match app {
        None => of_ended((!report.time_limited).then_some(report.time_s)),
        Some(_) => of_apps(report, app, |app| {
            app.time_s.ok_or_else(|| format!("a time limit ended application `{}`: it has no time", app.name))
        }),
    }
}

/// Joules per second of work on the reference CPU.
fn energy_per_work(report: &Report) -> Result<f64, String> {
    match report.apps.iter().map(|app| app.work_s).sum::<f64>() {
        work if work > 0.0 => Ok(report.energy_j.total / work),
        _ => Err("the applications do no work".to_owned()),
    }
}

/// Wakeup latency in seconds.
fn latency(report: &Report, app: Option<&str>, of: fn(Latency) -> u64) -> Result<f64, String> {
    timing(report, app, "wakeup", |it| it.wakeup_latency_ns.map(|it| of(it) as f64 / 1e9))
}

/// Response in seconds.
fn response(report: &Report, app: Option<&str>, of: fn(Latency) -> u64) -> Result<f64, String> {
    timing(report, app, "round", |it| it.response_ns.map(|it| of(it) as f64 / 1e9))
}

/// How late the threads of the run were, or those of an application: the mean, where a name means several. `what` is what
/// they lack if there is no value.
fn timing(
    report: &Report,
    app: Option<&str>,
    what: &str,
    value: impl Fn(&Timing) -> Option<f64>,
) -> Result<f64, String> {
    match app {
        None => value(&report.timing).ok_or_else(|| format!("no application of the run has a {what}")),
        Some(_) => of_apps(report, app, |app| {
            value(&app.timing).ok_or_else(|| format!("application `{}` has no {what}", app.name))
        }),
    }
}

/// A time, or what is computed from one: there is none unless the run ended by itself.
fn of_ended(value: Option<f64>) -> Result<f64, String> {
    value.ok_or_else(|| "a time limit ended the run: it has no time of its own".to_owned())
}

fn whole(name: &str, app: Option<&str>, value: f64) -> Result<f64, String> {
    match app {
        Some(_) => Err(format!("`{name}` is the whole run's: it takes no application")),
        None => Ok(value),
    }
}

/// The mean of `value` over the applications that `name` means; over all of them if it names none.
fn of_apps(
    report: &Report,
    name: Option<&str>,
    value: impl Fn(&AppReport) -> Result<f64, String>,
) -> Result<f64, String> {
    let values = apps(report, name)?.into_iter().map(value).collect::<Result<Vec<_>, _>>()?;
    mean(&values).ok_or_else(|| "the run has no application".to_owned())
}

/// The application `name`, else all whose names are `name` with a number behind it: `stream` is `stream-0` and `stream-1`.
fn apps<'a>(report: &'a Report, name: Option<&str>) -> Result<Vec<&'a AppReport>, String> {
    let Some(name) = name else { return Ok(report.apps.iter().collect()) };
    if let Some(app) = report.apps.iter().find(|app| app.name == name) {
        return Ok(vec![app]);
    }
    let instance = |app: &&AppReport| {
        let number = app.name.strip_prefix(name).and_then(|rest| rest.strip_prefix('-'));
        number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let instances: Vec<&AppReport> = report.apps.iter().filter(instance).collect();
    if instances.is_empty() {
        let names: Vec<&str> = report.apps.iter().map(|app| app.name.as_str()).collect();
        return Err(format!("the run has no application `{name}`; {}", valid_names(name, &names)));
    }
    Ok(instances)
}

/// A counter of the sched_ext scheduler.
pub fn counter(report: &Report, name: &str) -> Result<f64, String> {
    let Some(scheduler) = &report.sched_ext else {
        return Err(format!("no counter `{name}`: the run has no sched_ext scheduler"));
    };
    let found = scheduler.statistics.iter().find(|(known, _)| known == name);
    let unknown = || {
        let near = nearest(name, scheduler.statistics.iter().map(|(name, _)| name.as_str()));
        let near = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
        format!("{} has no counter `{name}`{near}", scheduler.name)
    };
    found.map(|(_, count)| *count as f64).ok_or_else(unknown)
}

/// Any number of the report, by the JSON pointer to it, as in `/energy_j/memory`.
pub fn pointed(report: &Report, pointer: &str) -> Result<f64, String> {
    let report = serde_json::to_value(report).map_err(|error| error.to_string())?;
    let value = report.pointer(pointer).ok_or_else(|| format!("the report has nothing at `{pointer}`"))?;
    value.as_f64().ok_or_else(|| match value {
        Value::Null => format!("`{pointer}` was not measured in this run"),
        _ => format!("what the report has at `{pointer}` is no number"),
    })
}

/// Smallest over largest speedup of the applications: performance in the mix over that in the runs in which they are alone.
/// An application is in the run that has its name, else in the one of its place in the mix.
pub fn fairness(mix: &Report, alone: &[&Report]) -> Result<f64, String> {
    let mut speedups = Vec::new();
    for (index, app) in mix.apps.iter().enumerate() {
        let apart = alone.iter().flat_map(|report| &report.apps).find(|other| other.name == app.name);
        let apart = apart.or_else(|| match &alone.get(index)?.apps[..] {
            [only] => Some(only),
            _ => None,
        });
        let apart = apart.ok_or_else(|| format!("application `{}` is in none of the runs alone", app.name))?;
        if apart.performance <= 0.0 {
            return Err(format!("application `{}` does no work alone", app.name));
        }
        speedups.push(app.performance / apart.performance);
    }
    let (least, most) =
        (speedups.iter().copied().fold(f64::INFINITY, f64::min), speedups.iter().copied().fold(0.0, f64::max));
    if speedups.len() < 2 || most <= 0.0 {
        Err("fairness is that of two applications or more that do work".to_owned())
    } else {
        Ok(least / most)
    }
}

/// Jitter over runs: of an application, else the mean over all of the relative deviation of its time, or of its time per
/// work where a time limit ended it in some run.
pub fn jitter_of(reports: &[&Report], app: Option<&str>) -> Result<f64, String> {
    let Some(first) = reports.first() else { return Err("no run".to_owned()) };
    let mut jitters = Vec::new();
    for app in apps(first, app)? {
        let of = |report: &&Report| report.apps.iter().find(|other| other.name == app.name).cloned();
        let apps: Option<Vec<AppReport>> = reports.iter().map(of).collect();
        let apps = apps.ok_or_else(|| format!("application `{}` is not in every run", app.name))?;
        let times: Option<Vec<f64>> = apps.iter().map(|app| app.time_s).collect();
        jitters.push(jitter(&times.unwrap_or_else(|| apps.iter().map(|app| 1.0 / app.performance).collect())));
    }
    mean(&jitters).ok_or_else(|| "the run has no application".to_owned())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use tandem_simulator::metrics::SchedExtReport;

    use super::*;
    use crate::fixture::report;

    /// A scheduler that counted.
    fn scheduler(statistics: &[(&str, u64)]) -> SchedExtReport {
        SchedExtReport {
            name: "counting".to_owned(),
            kernel: "6.12".to_owned(),
            without: None,
            ignored: Vec::new(),
            callbacks: BTreeMap::new(),
            lines: Vec::new(),
            overhead_s: 0.0,
            statistics: statistics.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect(),
            states: Vec::new(),
            values: Vec::new(),
            restarts: Vec::new(),
            exit: None,
            output: Vec::new(),
        }
    }

    fn with_apps(apps: &[(&str, f64, f64)]) -> Report {
        let app = |(name, time, performance): &(&str, f64, f64)| AppReport {
            name: (*name).to_owned(),
            time_s: Some(*time),
            performance: *performance,
            ..report().apps.remove(0)
        };
        Report { apps: apps.iter().map(app).collect(), ..report() }
    }

    #[test]
    fn a_name_without_its_number_is_the_mean_of_all() {
        let report = with_apps(&[("stream-0", 2.0, 1.0), ("stream-1", 4.0, 1.0), ("stream-fit-0", 9.0, 1.0)]);
        assert_eq!(time(&report, Some("stream")), Ok(3.0));
        assert_eq!(time(&report, Some("stream-1")), Ok(4.0));
        assert!(time(&report, Some("strem-1")).unwrap_err().contains("did you mean `stream-1`?"));
    }

    #[test]
    fn what_a_time_limit_ended_has_no_time() {
        let report = Report { time_limited: true, ..report() };
        assert!(time(&report, None).is_err());
        assert_eq!(METRICS[1].1(&report, None), Ok(8.0));
    }

    #[test]
    fn how_late_is_of_the_run_or_of_applications() {
        let response = |p99| Timing {
            response_ns: Some(Latency { p50: 1, p95: 2, p99, max: 9_000_000 }),
            rounds: 3,
            rounds_per_s: 1.5,
            ..Timing::default()
        };
        let mut report = with_apps(&[("a-0", 1.0, 1.0), ("a-1", 1.0, 1.0), ("b", 1.0, 1.0)]);
        (report.timing, report.apps[2].timing) = (response(5_000_000), Timing::default());
        (report.apps[0].timing, report.apps[1].timing) = (response(2_000_000), response(6_000_000));
        let call = |name: &str, app| METRICS.iter().find(|(known, _)| *known == name).unwrap().1(&report, app);
        assert_eq!(call("response_p99", None), Ok(0.005));
        assert!((call("response_p99", Some("a")).unwrap() - 0.004).abs() < 1e-12);
        assert_eq!(call("rounds_per_s", Some("a-1")), Ok(1.5));
        assert_eq!(call("response_max", Some("b")), Err("application `b` has no round".to_owned()));
        assert_eq!(call("missed", None), Err("no application of the run has a deadline".to_owned()));
    }

    #[test]
    fn counters_and_pointers_find_numbers() {
        let report = Report { sched_ext: Some(scheduler(&[("base_idle", 1234), ("kicks", 7)])), ..report() };
        assert_eq!(counter(&report, "base_idle"), Ok(1234.0));
        assert!(counter(&report, "base_idel").unwrap_err().contains("did you mean `base_idle`?"));
        assert_eq!(pointed(&report, "/energy_j/memory"), Ok(1.0));
        assert!(pointed(&report, "/energy_j/none").is_err() && pointed(&report, "/workload").is_err());
    }

    #[test]
    fn fairness_is_the_smallest_speedup_over_the_largest() {
        // 0.5 and 0.8 of what they do alone.
        let mix = with_apps(&[("a", 1.0, 1.0), ("b", 1.0, 4.0)]);
        let (a, b) = (with_apps(&[("a", 1.0, 2.0)]), with_apps(&[("b", 1.0, 5.0)]));
        assert_eq!(fairness(&mix, &[&a, &b]), Ok(0.625));
        assert!(fairness(&mix, &[&a]).is_err());
        // Alone it may have another name: then its place counts.
        let other = with_apps(&[("x", 1.0, 5.0)]);
        assert_eq!(fairness(&mix, &[&a, &other]), Ok(0.625));
        assert!(fairness(&mix, &[&other]).is_err());
    }

    #[test]
    fn jitter_is_that_of_times() {
        // 0.9 and 1.1 around 1 deviate by a tenth.
        let (first, second) = (with_apps(&[("a", 0.9, 1.0)]), with_apps(&[("a", 1.1, 1.0)]));
        let jitter = jitter_of(&[&first, &second], Some("a")).unwrap();
        assert!((jitter - 0.1).abs() < 1e-12, "{jitter}");
    }
}
