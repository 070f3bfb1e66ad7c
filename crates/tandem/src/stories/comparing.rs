// SPDX-License-Identifier: GPL-2.0-only
//! `tandem compare`.

use std::sync::atomic::Ordering;

use serde_json::Value;

use super::Story;

const THREE_PAIRS: &str =
    "compare @two.json -m hikey960 -s fair+schedutil -s fair+performance -s fair+powersave --runs 3";

#[test]
fn a_wide_terminal_has_two_lines_per_pair() {
    insta::assert_snapshot!(Story::on_terminal(120).tandem(THREE_PAIRS).unwrap(), @r"
    two on hikey960, disturbed: 3 runs per pair (seeds 0 to 2), mean ± 95 % confidence interval; × is the ratio to
      fair+schedutil

    pair                         time           energy                EDP            power        fairness          jitter
    fair+schedutil    1.250 ± 0.031 s  7.500 ± 0.186 J  9.376 ± 0.466 J·s  6.000 ± 0.000 W   0.800 ± 0.000   0.82 ± 1.43 %
    fair+performance  1.000 ± 0.025 s   10.00 ± 0.25 J   10.00 ± 0.50 J·s   10.00 ± 0.00 W   0.800 ± 0.000   0.82 ± 1.43 %
                       ×0.800 ± 0.000   ×1.333 ± 0.000     ×1.067 ± 0.000   ×1.667 ± 0.000  ×1.000 ± 0.000  ×1.000 ± 2.484
    fair+powersave    2.000 ± 0.050 s  8.000 ± 0.199 J   16.00 ± 0.79 J·s  4.000 ± 0.000 W   0.800 ± 0.000   0.82 ± 1.43 %
                       ×1.600 ± 0.000   ×1.067 ± 0.000     ×1.707 ± 0.000   ×0.667 ± 0.000  ×1.000 ± 0.000  ×1.000 ± 2.484

    The intervals of × are those of pairs of runs with the same seed; for jitter those of independent runs.

    fair+performance was 25.0 ± 0.0 % faster than fair+schedutil and 2.000 ± 0.000 times faster than fair+powersave.
    fair+schedutil used 25.0 ± 0.0 % less energy than fair+performance and 6.2 ± 0.0 % less energy than fair+powersave.
    fair+schedutil had 6.3 ± 0.0 % less EDP than fair+performance and 41.4 ± 0.0 % less EDP than fair+powersave.

    28 of 66 values of this machine are assumed; 25.0 % of the energy rests on them, most on memory.dram static_watts
      (`tandem compare --sensitivity` says which matter).
    ");
}

#[test]
fn a_terminal_of_80_columns_has_a_block_per_pair() {
    insta::assert_snapshot!(Story::on_terminal(80).tandem(THREE_PAIRS).unwrap(), @r"
    two on hikey960, disturbed: 3 runs per pair (seeds 0 to 2), mean ± 95 %
      confidence interval; × is the ratio to fair+schedutil

    fair+schedutil
      time        1.250 ± 0.031 s
      energy      7.500 ± 0.186 J
      EDP       9.376 ± 0.466 J·s
      power       6.000 ± 0.000 W
      fairness      0.800 ± 0.000
      jitter        0.82 ± 1.43 %

    fair+performance
      time       1.000 ± 0.025 s  ×0.800 ± 0.000
      energy      10.00 ± 0.25 J  ×1.333 ± 0.000
      EDP       10.00 ± 0.50 J·s  ×1.067 ± 0.000
      power       10.00 ± 0.00 W  ×1.667 ± 0.000
      fairness     0.800 ± 0.000  ×1.000 ± 0.000
      jitter       0.82 ± 1.43 %  ×1.000 ± 2.484

    fair+powersave
      time       2.000 ± 0.050 s  ×1.600 ± 0.000
      energy     8.000 ± 0.199 J  ×1.067 ± 0.000
      EDP       16.00 ± 0.79 J·s  ×1.707 ± 0.000
      power      4.000 ± 0.000 W  ×0.667 ± 0.000
      fairness     0.800 ± 0.000  ×1.000 ± 0.000
      jitter       0.82 ± 1.43 %  ×1.000 ± 2.484

    The intervals of × are those of pairs of runs with the same seed; for jitter
      those of independent runs.

    fair+performance was 25.0 ± 0.0 % faster than fair+schedutil and 2.000 ± 0.000
      times faster than fair+powersave.
    fair+schedutil used 25.0 ± 0.0 % less energy than fair+performance and
      6.2 ± 0.0 % less energy than fair+powersave.
    fair+schedutil had 6.3 ± 0.0 % less EDP than fair+performance and 41.4 ± 0.0 %
      less EDP than fair+powersave.

    28 of 66 values of this machine are assumed; 25.0 % of the energy rests on them,
      most on memory.dram static_watts (`tandem compare --sensitivity` says which
      matter).
    ");
}

#[test]
fn a_narrow_terminal_wraps_the_words_too() {
    insta::assert_snapshot!(Story::on_terminal(60).tandem(THREE_PAIRS).unwrap(), @r"
    two on hikey960, disturbed: 3 runs per pair (seeds 0 to 2),
      mean ± 95 % confidence interval; × is the ratio to
      fair+schedutil

    fair+schedutil
      time        1.250 ± 0.031 s
      energy      7.500 ± 0.186 J
      EDP       9.376 ± 0.466 J·s
      power       6.000 ± 0.000 W
      fairness      0.800 ± 0.000
      jitter        0.82 ± 1.43 %

    fair+performance
      time       1.000 ± 0.025 s  ×0.800 ± 0.000
      energy      10.00 ± 0.25 J  ×1.333 ± 0.000
      EDP       10.00 ± 0.50 J·s  ×1.067 ± 0.000
      power       10.00 ± 0.00 W  ×1.667 ± 0.000
      fairness     0.800 ± 0.000  ×1.000 ± 0.000
      jitter       0.82 ± 1.43 %  ×1.000 ± 2.484

    fair+powersave
      time       2.000 ± 0.050 s  ×1.600 ± 0.000
      energy     8.000 ± 0.199 J  ×1.067 ± 0.000
      EDP       16.00 ± 0.79 J·s  ×1.707 ± 0.000
      power      4.000 ± 0.000 W  ×0.667 ± 0.000
      fairness     0.800 ± 0.000  ×1.000 ± 0.000
      jitter       0.82 ± 1.43 %  ×1.000 ± 2.484

    The intervals of × are those of pairs of runs with the same
      seed; for jitter those of independent runs.

    fair+performance was 25.0 ± 0.0 % faster than fair+schedutil
      and 2.000 ± 0.000 times faster than fair+powersave.
    fair+schedutil used 25.0 ± 0.0 % less energy than
      fair+performance and 6.2 ± 0.0 % less energy than
      fair+powersave.
    fair+schedutil had 6.3 ± 0.0 % less EDP than
      fair+performance and 41.4 ± 0.0 % less EDP than
      fair+powersave.

    28 of 66 values of this machine are assumed; 25.0 % of the
      energy rests on them, most on memory.dram static_watts
      (`tandem compare --sensitivity` says which matter).
    ");
}

#[test]
fn a_pipe_has_one_line_per_pair() {
    insta::assert_snapshot!(Story::new().tandem(THREE_PAIRS).unwrap(), @r"
    two on hikey960, disturbed: 3 runs per pair (seeds 0 to 2), mean ± 95 % confidence interval; × is the ratio to fair+schedutil

    pair                         time  ×                        energy  ×                             EDP  ×                         power  ×                    fairness  ×                      jitter  ×
    fair+schedutil    1.250 ± 0.031 s                  7.500 ± 0.186 J                  9.376 ± 0.466 J·s                  6.000 ± 0.000 W                  0.800 ± 0.000                  0.82 ± 1.43 %
    fair+performance  1.000 ± 0.025 s  ×0.800 ± 0.000   10.00 ± 0.25 J  ×1.333 ± 0.000   10.00 ± 0.50 J·s  ×1.067 ± 0.000   10.00 ± 0.00 W  ×1.667 ± 0.000  0.800 ± 0.000  ×1.000 ± 0.000  0.82 ± 1.43 %  ×1.000 ± 2.484
    fair+powersave    2.000 ± 0.050 s  ×1.600 ± 0.000  8.000 ± 0.199 J  ×1.067 ± 0.000   16.00 ± 0.79 J·s  ×1.707 ± 0.000  4.000 ± 0.000 W  ×0.667 ± 0.000  0.800 ± 0.000  ×1.000 ± 0.000  0.82 ± 1.43 %  ×1.000 ± 2.484

    The intervals of × are those of pairs of runs with the same seed; for jitter those of independent runs.

    fair+performance was 25.0 ± 0.0 % faster than fair+schedutil and 2.000 ± 0.000 times faster than fair+powersave.
    fair+schedutil used 25.0 ± 0.0 % less energy than fair+performance and 6.2 ± 0.0 % less energy than fair+powersave.
    fair+schedutil had 6.3 ± 0.0 % less EDP than fair+performance and 41.4 ± 0.0 % less EDP than fair+powersave.

    28 of 66 values of this machine are assumed; 25.0 % of the energy rests on them, most on memory.dram static_watts (`tandem compare --sensitivity` says which matter).
    ");
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    for width in [30, 40, 60, 80, 100, 120, 160, 200] {
        let text = Story::on_terminal(width).tandem(THREE_PAIRS).unwrap();
        for line in text.lines() {
            assert!(console::measure_text_width(line) <= width, "{width}: {line}");
        }
    }
}

#[test]
fn one_application_in_one_run_has_neither_fairness_nor_jitter_nor_intervals() {
    let text = Story::on_terminal(80).tandem("compare @one.json -m hikey960 -s fair -s fair+powersave --runs 1");
    insta::assert_snapshot!(text.unwrap(), @r"
    one on hikey960, disturbed: one run per pair (seed 0); × is the ratio to
      fair+schedutil

    pair               time   energy        EDP    power  fairness  jitter
    fair+schedutil  1.238 s  7.425 J  9.188 J·s  6.000 W         —       —
    fair+powersave  1.980 s  7.920 J  15.68 J·s  4.000 W         —       —
                     ×1.600   ×1.067     ×1.707   ×0.667         —       —

    — fairness was not measured: the workload has one application
    — jitter was not measured: it needs more than one run
    One run has no confidence interval; ask for more with --runs.

    fair+schedutil was 60.0 % faster than fair+powersave.
    fair+schedutil used 6.2 % less energy than fair+powersave.
    fair+schedutil had 41.4 % less EDP than fair+powersave.

    28 of 66 values of this machine are assumed; 25.0 % of the energy rests on them,
      most on memory.dram static_watts (`tandem compare --sensitivity` says which
      matter).
    ");
}

#[test]
fn a_time_limit_replaces_the_time_by_the_rate_of_work() {
    let text = Story::on_terminal(120)
        .tandem("compare @two.json -m hikey960 -s fair -s fair+powersave --runs 2 --duration 1s");
    insta::assert_snapshot!(text.unwrap(), @r"
    two on hikey960, disturbed: 2 runs per pair (seeds 0 to 1), mean ± 95 % confidence interval; × is the ratio to
      fair+schedutil

    pair                     energy  EDP            power       work rate        fairness  jitter
    fair+schedutil  6.000 ± 0.000 J    —  6.000 ± 0.000 W   0.800 ± 0.000   0.800 ± 0.000     0 %
    fair+powersave  4.000 ± 0.000 J    —  4.000 ± 0.000 W   0.500 ± 0.000   0.800 ± 0.000     0 %
                     ×0.667 ± 0.000    —   ×0.667 ± 0.000  ×0.625 ± 0.000  ×1.000 ± 0.000       —

    — time was not measured: a time limit ended a run, whose length then says nothing
    — EDP was not measured: a time limit ended a run, whose length then says nothing
    The intervals of × are those of pairs of runs with the same seed.

    fair+schedutil did 60.0 ± 0.0 % more work than fair+powersave.
    fair+powersave used 33.3 ± 0.0 % less energy in the same time than fair+schedutil.

    28 of 66 values of this machine are assumed; 25.0 % of the energy rests on them, most on memory.dram static_watts
      (`tandem compare --sensitivity` says which matter).
    ");
}

#[test]
fn applications_run_alone_once_per_pair_and_seed() {
    let calls = |options: &str| {
        let story = Story::new();
        story.tandem(&format!("{THREE_PAIRS} {options}")).unwrap();
        story.mock.calls.load(Ordering::Relaxed)
    };
    assert_eq!(calls(""), 3 * 3 * 3);
    assert_eq!(calls("--no-alone"), 3 * 3);
}

#[test]
fn fairness_is_a_dash_and_a_reason_without_runs_alone() {
    let text = Story::on_terminal(80).tandem(&format!("{THREE_PAIRS} --no-alone")).unwrap();
    assert!(text.contains("— fairness was not measured: applications were not run alone (--no-alone)"), "{text}");
    let fairness: Vec<&str> = text.lines().filter(|line| line.starts_with("  fairness")).collect();
    assert_eq!(fairness.len(), 3);
    assert!(fairness.iter().all(|line| line.ends_with('—') && !line.contains('0')), "{text}");
}

#[test]
fn an_application_that_cannot_run_alone_leaves_fairness_unmeasured_and_all_else_measured() {
    let text = Story::on_terminal(120).tandem("compare @partners.json -m hikey960 -s fair --runs 2").unwrap();
    assert!(text.contains("— fairness was not measured: application `bound` cannot run alone: "), "{text}");
    assert!(text.contains("7.463 ± 0.476 J"), "{text}");
}

#[test]
fn a_file_that_cannot_be_written_is_found_out_before_the_runs() {
    let story = Story::new();
    story.tandem(&format!("{THREE_PAIRS} --json=/nonexistent/c.json")).unwrap_err();
    assert_eq!(story.mock.calls.load(Ordering::Relaxed), 0);
}

#[test]
fn the_json_has_null_and_a_reason_where_nothing_was_measured() {
    let text = Story::new().tandem("compare @one.json -m hikey960 -s fair --runs 1 --json").unwrap();
    let json: Value = serde_json::from_str(&text).unwrap();
    let metrics = &json["pairs"][0]["metrics"];
    assert!(metrics["fairness"]["mean"].is_null());
    assert_eq!(metrics["fairness"]["not_measured"], "the workload has one application");
    assert!(metrics["jitter"]["mean"].is_null());
    assert!(metrics["time_s"]["half_width"].is_null());
    assert!(metrics["time_s"]["not_measured"].is_null());
}

#[test]
fn the_json_has_the_runs_and_their_speedups() {
    let text = Story::new().tandem(&format!("{THREE_PAIRS} --seed 5 --json")).unwrap();
    let json: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json["seeds"], serde_json::json!([5, 6, 7]));
    let run = &json["pairs"][1]["runs"][2];
    assert_eq!(run["seed"], 7);
    assert_eq!(run["apps"][1]["speedup"], 0.4);
    assert_eq!(run["fairness"], 0.8);
    let energy = &json["pairs"][2]["metrics"]["energy_j"];
    // 8 J over 7.5 J.
    assert!((energy["ratio"].as_f64().unwrap() - 8.0 / 7.5).abs() < 1e-9);
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let story = Story::new();
    let with_threads = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| story.tandem(&format!("{THREE_PAIRS} --runs 20 --json").replacen("--runs 3", "", 1)))
    };
    assert_eq!(with_threads(1).unwrap(), with_threads(7).unwrap());
}

#[test]
fn a_simulation_that_cannot_end_ends_the_comparison() {
    let error = Story::new().tandem("compare @deadlock.json -m hikey960 -s fair -s fair+powersave").unwrap_err();
    assert!(error.contains("a (step 1) waits for mutex `m`, held by b"), "{error}");
}

#[test]
fn a_workload_of_frames_has_columns_for_how_late_they_were() {
    let compare = "compare @frames.json -m hikey960 -s fair -s fair+powersave --runs 2";
    let text = Story::new().tandem(compare).unwrap();
    let header = text.lines().find(|line| line.starts_with("pair")).unwrap();
    let shown: Vec<&str> = header.split("  ").map(str::trim).filter(|title| !["", "×"].contains(title)).collect();
    let expected =
        ["pair", "time", "energy", "EDP", "power", "p99 response", "missed", "late frames", "fairness", "jitter"];
    assert_eq!(shown, expected);
    assert!(text.contains("30.00 ± 0.00 ms") && text.contains("2.50 ± 0.00 %"), "{text}");
    let text = Story::new().tandem(&format!("{compare} --json")).unwrap();
    let json: Value = serde_json::from_str(&text).unwrap();
    let metrics = &json["pairs"][1]["metrics"];
    assert!((metrics["max_response_s"]["mean"].as_f64().unwrap() - 0.031).abs() < 1e-12);
    assert_eq!(metrics["missed_share"]["ratio"], 1.0);
    assert_eq!(metrics["max_response_s"]["ratio_paired"], true);
    assert_eq!(json["pairs"][0]["runs"][1]["frames"]["late"], 3);
    let without = Story::new().tandem("compare @one.json -m hikey960 -s fair --runs 1 --json").unwrap();
    let json: Value = serde_json::from_str(&without).unwrap();
    let missed = &json["pairs"][0]["metrics"]["missed_share"];
    assert_eq!(missed["not_measured"], "the workload has neither timers nor deadlines");
}

#[test]
fn the_metrics_that_were_asked_for_are_the_columns() {
    let text =
        Story::new().tandem(&format!("{THREE_PAIRS} --metric p99(response),energy --metric power,energy")).unwrap();
    let header = text.lines().find(|line| line.starts_with("pair")).unwrap();
    let shown: Vec<&str> = header.split("  ").map(str::trim).filter(|title| !["", "×"].contains(title)).collect();
    assert_eq!(shown, ["pair", "p99 response", "energy", "power"]);
    // What has no column has no sentence; what has one that is empty has a reason.
    assert!(text.contains("6.2 ± 0.0 % less energy than fair+powersave.") && !text.contains("faster than"), "{text}");
    assert!(text.contains("p99 response was not measured: no thread of an application waits and then works"), "{text}");
    assert!(!text.contains("fairness"), "{text}");
    let matrix = Story::new().tandem("compare @one.json @two.json -m hikey960 -s fair -s fair+powersave --metric edp");
    let matrix = matrix.unwrap();
    let header = matrix.lines().find(|line| line.starts_with("machine")).unwrap();
    assert_eq!(header.split_whitespace().collect::<Vec<_>>(), ["machine", "workload", "pair", "EDP", "×"]);
}

#[test]
fn a_metric_that_there_is_not_or_that_nothing_shows_is_a_mistake() {
    let error = Story::new().tandem("compare @one.json -m hikey960 -s fair --metric p99-respons").unwrap_err();
    assert!(error.contains("no such metric; did you mean `p99-response`?"), "{error}");
    let error = Story::new().tandem("compare @one.json -m hikey960 -s fair --metric time --csv").unwrap_err();
    assert!(error.contains("--csv prints no table, and has all metrics"), "{error}");
}
