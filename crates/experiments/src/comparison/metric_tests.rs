// SPDX-License-Identifier: MIT OR Apache-2.0
//! Metrics of runs whose numbers are easy to reckon with.

use tandem_simulator::metrics::Timing;

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
fn a_metric_is_found_by_its_name_and_keys_differ() {
    let mut keys = std::collections::BTreeSet::new();
    for metric in Metric::ALL {
        assert_eq!(Metric::by_name(metric.name()), Some(metric));
        assert!(keys.insert(metric.key()), "{}", metric.key());
    }
    assert_eq!(Metric::by_name("p98-response"), None);
}

#[test]
fn what_a_workload_lacks_is_not_measured_and_not_zero() {
    let mut run = outcome(&[("a", 1.0, 1.0)]);
    run.report.timing = Timing::default();
    let why = |metric: Metric, run: &Outcome| measure(metric, std::slice::from_ref(run)).unwrap_err();
    assert_eq!(why(Metric::P99Latency, &run), NotMeasured::NoWakeup);
    assert_eq!(why(Metric::RoundsPerSecond, &run), NotMeasured::NoRound);
    assert_eq!(why(Metric::MaxResponse, &run), NotMeasured::NoRound);
    assert_eq!(why(Metric::WorstMiss, &run), NotMeasured::NoDeadline);
    assert_eq!(why(Metric::LateFrames, &run), NotMeasured::NoFrame);
    run.report.apps[0].work_s = 0.0;
    assert_eq!(why(Metric::EnergyPerWork, &run), NotMeasured::NoWork);
}

#[test]
fn how_late_a_run_was_is_told_in_seconds_and_shares() {
    let mut run = outcome(&[("a", 1.0, 1.0)]);
    let response = Latency { p50: 1_000_000, p95: 2_000_000, p99: 3_000_000, max: 4_000_000 };
    let deadlines = Deadlines {
        rounds: 8,
        missed: 2,
        missed_share: 0.25,
        worst_miss_ns: 500_000,
        least_slack_ns: -500_000,
        mean_slack_ns: 1e6,
    };
    run.report.timing = Timing {
        response_ns: Some(response),
        rounds: 10,
        rounds_per_s: 5.0,
        deadlines: Some(deadlines),
        frames: Some(Frames { count: 4, per_s: 2.0, late: 1 }),
        ..Timing::default()
    };
    // 8 J for 2 s of work.
    run.report.apps[0].work_s = 2.0;
    let value = |metric: Metric| (metric.of_run(&run).unwrap() * 1e6).round() / 1e6;
    assert_eq!((value(Metric::P50Response), value(Metric::P95Response)), (0.001, 0.002));
    assert_eq!((value(Metric::P99Response), value(Metric::MaxResponse)), (0.003, 0.004));
    assert_eq!((value(Metric::Missed), value(Metric::WorstMiss)), (0.25, 0.0005));
    assert_eq!((value(Metric::RoundsPerSecond), value(Metric::FramesPerSecond)), (5.0, 2.0));
    assert_eq!((value(Metric::LateFrames), value(Metric::EnergyPerWork)), (0.25, 4.0));
}

/// 1, 2, 3 s against 2, 4, 6.2 s: the ratio hardly varies by seed, although the times do.
#[test]
fn runs_of_the_same_seed_are_paired_where_that_is_narrower() {
    let runs = |times: [f64; 3]| {
        times.map(|time| {
            let mut run = outcome(&[("a", 1.0, 1.0)]);
            run.report.time_s = time;
            run
        })
    };
    let alike = ratio(Metric::Time, &runs([2.0, 4.0, 6.2]), &runs([1.0, 2.0, 3.0])).unwrap();
    assert!(alike.paired && (alike.estimate.mean - 12.2 / 6.0).abs() < 1e-12, "{alike:?}");
    // −1/30, −2/30 and 3/30 s deviate by 0.0882 s: 4.303 · 0.0882 / (√3 · 2).
    assert!((alike.estimate.half_width.unwrap() - 0.1095).abs() < 1e-4, "{alike:?}");
    // Against each other the errors add.
    let opposite = ratio(Metric::Time, &runs([6.0, 4.0, 2.0]), &runs([1.0, 2.0, 3.0])).unwrap();
    assert!(!opposite.paired && opposite.estimate.mean == 2.0, "{opposite:?}");
    let one = ratio(Metric::Time, &runs([2.0; 3])[..1], &runs([1.0; 3])[..1]).unwrap();
    assert_eq!(one, Ratio { estimate: Estimate { mean: 2.0, half_width: None }, paired: false });
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
    let runs = [outcome(&[("a", 1.0 / 0.9, 1.0), ("b", 0.5, 1.0)]), outcome(&[("a", 1.0 / 1.1, 1.0), ("b", 0.5, 1.0)])];
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
