// SPDX-License-Identifier: GPL-2.0-only
//! `tandem compare --save` and `--baseline`: the gate of a scheduler's repository.

use std::fs;
use std::sync::atomic::Ordering;

use serde_json::Value;

use super::Story;
use super::mock::Mock;
use crate::failure::Failure;

const RUN: &str = "compare @one.json -m hikey960 -s fair --runs 3";

/// A story whose folder has the baseline of a simulator, and whose simulator takes so much more energy.
fn later(more_energy_percent: u32) -> Story {
    let story = Story::new();
    story.tandem(&format!("{RUN} --save @base.json")).unwrap();
    Story { mock: Mock { more_energy_percent, ..Mock::default() }, ..story }
}

fn gate(conditions: &str) -> String {
    format!("{RUN} --baseline @base.json {conditions}")
}

#[test]
fn what_is_the_same_is_not_worse() {
    let story = later(0);
    let text = story.tandem(&gate("--fail-if energy>1")).unwrap();
    insta::assert_snapshot!(text.replace(&format!("{}/", story.folder.path().display()), ""), @r"
    one on hikey960, disturbed: 3 runs per pair (seeds 0 to 2), mean ± 95 % confidence interval

    pair                       time  ×           energy  ×                EDP  ×            power  ×  fairness  ×         jitter  ×
    fair+schedutil  1.250 ± 0.031 s     7.500 ± 0.186 J     9.376 ± 0.466 J·s     6.000 ± 0.000 W            —     0.82 ± 1.43 %

    — fairness was not measured: the workload has one application

    28 of 66 values of this machine are assumed; 25.0 % of the energy rests on them, most on memory.dram static_watts (`tandem compare --sensitivity` says which matter).

    Against base.json, of version 0.2.0:

    judged     workload  machine   pair            fails if    ×               interval           runs
    not worse  one       hikey960  fair+schedutil  energy > 1  ×1.000 ± 0.000  of the same seeds     3

    1 not worse.
    ");
}

#[test]
fn what_is_worse_says_by_how_much_and_fails() {
    let story = later(3);
    let (text, result) = story.run(&gate("--fail-if energy>1.02 --fail-if time>1.02 --fail-if energy>1.05")).unwrap();
    let failure = result.unwrap_err();
    assert!(matches!(failure, Failure::Worse(_)), "{failure}");
    assert_eq!(failure.to_string(), "worse than the baseline: 1 worse, 2 not worse");
    let judged: Vec<&str> = text.lines().filter(|line| line.contains("hikey960  fair+schedutil  ")).collect();
    assert_eq!(judged.len(), 3, "{text}");
    assert!(judged[0].starts_with("worse ") && judged[0].contains("energy > 1.02  ×1.030 ± 0.000"), "{text}");
    assert!(judged[1].starts_with("not worse ") && judged[1].contains("time > 1.02"), "{text}");
}

#[test]
fn what_one_run_shows_is_undecided_and_no_success() {
    let story = Story::new();
    let run = "compare @one.json -m hikey960 -s fair --runs 1";
    story.tandem(&format!("{run} --save @base.json")).unwrap();
    let gate = format!("{run} --baseline @base.json --fail-if energy>1.02");
    let (text, result) = story.run(&gate).unwrap();
    assert!(text.contains("one run has no interval"), "{text}");
    let failure = result.unwrap_err();
    assert!(matches!(failure, Failure::Undecided(_)), "{failure}");
    let said =
        "undecided by the baseline: 1 undecided\n  help: --decide RUNS adds runs until it is, as far as more runs can";
    assert_eq!(failure.to_string(), said);
    let (_, result) = story.run(&format!("{gate} --fail-if-undecided")).unwrap();
    let failure = result.unwrap_err();
    assert!(matches!(&failure, Failure::Worse(why) if why == said), "{failure}");
}

#[test]
fn runs_are_added_until_it_is_decided() {
    let story = Story::new();
    let run = "compare @one.json -m hikey960 -s fair --runs 1";
    story.tandem(&format!("{run} --save @base.json")).unwrap();
    // The baseline's one run has no interval, however many there are now.
    let (text, result) = story.run(&format!("{run} --baseline @base.json --fail-if energy>1.02 --decide 4")).unwrap();
    assert!(matches!(result, Err(Failure::Undecided(_))) && text.contains("one run has no interval     4"), "{text}");
    // The first pair gets as many runs as the one that is judged by it.
    let (text, error) = story.doubtful(&format!("{run} -s fair+powersave --fail-if energy>1.02 --decide 4"));
    assert!(text.contains("Against fair+schedutil:") && text.contains("of the same seeds     2"), "{text}");
    assert!(text.contains("2 runs per pair (seeds 0 to 1)") && text.ends_with("\n1 worse.\n"), "{text}");
    assert_eq!(error, "worse than the first pair: 1 worse");
}

#[test]
fn a_pair_of_another_name_is_judged_by_the_one_that_it_was() {
    let story = later(3);
    let run = "compare @one.json -m hikey960 -s fair+powersave --runs 3 --baseline @base.json --fail-if energy>1.02";
    let error = story.tandem(run).unwrap_err();
    assert!(error.contains("the baseline has no fair+powersave; it has fair+schedutil"), "{error}");
    assert!(error.contains("--was says what it calls a pair"), "{error}");
    let error = story.tandem(&format!("{run} --accept-changed")).unwrap_err();
    assert!(error.contains("nothing was judged\n  help: --was says what the baseline calls a pair"), "{error}");
    let (text, error) = story.doubtful(&format!("{run} --was fair+schedutil"));
    assert!(text.contains("\nworse ") && error == "worse than the baseline: 1 worse", "{error}: {text}");
    let error = story.tandem(&format!("{run} --was fair+ondemand")).unwrap_err();
    assert!(error.contains("the baseline has no fair+ondemand; it has fair+schedutil"), "{error}");
    let error = story.tandem(&format!("{run} --was fair+schedutil --was fair")).unwrap_err();
    assert!(error.contains("--was is given 2 times; the pairs are 1"), "{error}");
}

#[test]
fn a_baseline_of_something_else_is_refused_before_any_run_with_what_differs() {
    let story = later(0);
    let two = "compare @one.json @two.json -m hikey960 -m rk3399 -s fair -s fair+powersave --runs 3 --duration 1s";
    let error = story.tandem(&format!("{two} --baseline @base.json --fail-if energy>1.02")).unwrap_err();
    for line in [
        "base.json: the baseline is of something else",
        "the options are --set disturbances=true --duration 1s; the baseline's are --set disturbances=true",
        "the baseline has no machine rk3399",
        "the baseline has no workload two",
        "the baseline has no fair+powersave; it has fair+schedutil",
        "help: --save keeps a new one; --accept-changed judges",
    ] {
        assert!(error.contains(line), "{line}: {error}");
    }
    fs::write(story.path("one.json"), r#"{ "tasks": { "only": { "loop": 2, "run": 1000 } } }"#).unwrap();
    let error = story.tandem(&gate("--fail-if energy>1.02")).unwrap_err();
    assert!(error.contains("workload one is described otherwise than in the baseline"), "{error}");
    assert_eq!(story.mock.calls.load(Ordering::Relaxed), 0);
    let text = story.tandem(&gate("--fail-if energy>1.02 --accept-changed")).unwrap();
    assert!(text.contains("accepted: workload one is described otherwise"), "{text}");
}

#[test]
fn a_file_that_is_no_baseline_says_where() {
    let story = Story::new();
    for (text, expected) in [
        ("{", "no baseline as `tandem compare --save` writes it: EOF"),
        (r#"{ "schema": 1 }"#, "missing field `baseline_of` at line 1 column 15"),
        ("", "no baseline"),
    ] {
        fs::write(story.path("base.json"), text).unwrap();
        let error = story.tandem(&gate("--fail-if energy>1.02")).unwrap_err();
        assert!(error.contains(expected), "{text}: {error}");
    }
    let error = story.tandem(&format!("{RUN} --baseline @none.json --fail-if energy>1.02")).unwrap_err();
    assert!(error.contains("none.json: cannot be read"), "{error}");
}

#[test]
fn a_condition_that_is_none_shows_where() {
    let error = Story::new().tandem(&gate("--fail-if enrgy>1.02")).unwrap_err();
    assert!(error.contains("column 1: no metric `enrgy`; did you mean `energy`? valid: `time`, "), "{error}");
    assert!(error.contains("\n    enrgy>1.02\n    ^^^^^\n"), "{error}");
    let error = Story::new().tandem(&format!("{RUN} --fail-if energy>1.02")).unwrap_err();
    assert!(error.contains("--fail-if has nothing to judge by: there is one pair"), "{error}");
    let error = Story::new().tandem(&format!("{RUN} --baseline @base.json")).unwrap_err();
    assert!(error.contains("--fail-if <CONDITION>"), "{error}");
}

#[test]
fn junit_and_json_say_what_was_judged() {
    let story = later(3);
    let (json, _) = story.doubtful(&gate("--fail-if energy>1.02 --junit @gate.xml --json"));
    let json: Value = serde_json::from_str(&json).unwrap();
    let judged = &json["gate"]["judged"][0];
    assert_eq!((&judged["judgement"], &judged["paired"]), (&Value::from("worse"), &Value::from(true)));
    assert!((judged["ratio"].as_f64().unwrap() - 1.03).abs() < 1e-9);
    let xml = fs::read_to_string(story.path("gate.xml")).unwrap();
    assert!(xml.contains(r#"<testcase classname="hikey960.one" name="fair+schedutil: energy &gt; 1.02">"#), "{xml}");
    assert!(xml.contains("<failure message=\"worse: 1.0300 ± 0.0000 times the baseline\"/>"), "{xml}");
    // Both are written again without --force.
    story.doubtful(&gate("--fail-if energy>1.02 --junit @gate.xml"));
    story.tandem(&format!("{RUN} --save @base.json")).unwrap();
    let error = story.tandem(&gate("--fail-if energy>1.02 --save @base.json")).unwrap_err();
    assert!(error.contains("is read as the baseline; an output never takes its place"), "{error}");
}

#[test]
fn numbers_that_are_partly_those_of_fair_are_no_baseline_and_no_verdict() {
    let story = Story::new();
    let run = "compare @erring.json -m hikey960 -s tandem --runs 3";
    let (_, error) = story.doubtful(&format!("{run} --save @base.json"));
    assert!(error.contains("its results are partly those of fair"), "{error}");
    assert!(!story.path("base.json").exists());
    let well = "compare @erring.json -m hikey960 -s tandem --runs 1 --seed 2";
    story.tandem(&format!("{well} --save @base.json")).unwrap();
    let (text, error) = story.doubtful(&format!("{run} --baseline @base.json --fail-if energy>1.02 --junit @g.xml"));
    assert!(error.contains("partly those of fair") && text.contains("\nejected "), "{error}: {text}");
    assert!(fs::read_to_string(story.path("g.xml")).unwrap().contains("<error message=\"ejected"));
}

#[test]
fn the_gate_of_a_matrix_judges_every_cell() {
    let story = Story::new();
    let run = "compare @one.json @two.json -m hikey960 -m rk3399 -s fair -s fair+powersave --runs 3 --no-alone";
    story.tandem(&format!("{run} --save @base.json")).unwrap();
    let text = story.tandem(&format!("{run} --baseline @base.json --fail-if energy>1.01 --fail-if time>1.01")).unwrap();
    assert!(text.ends_with("\n16 not worse.\n"), "{text}");
    // What the baseline has besides is not asked for.
    let text = story.tandem(&format!("{RUN} --no-alone --baseline @base.json --fail-if energy>1.01")).unwrap();
    assert!(text.ends_with("\n1 not worse.\n"), "{text}");
}

#[test]
fn one_application_is_judged_by_its_own_numbers_and_an_unknown_one_is_refused() {
    let story = later(3);
    let text = story.tandem(&gate("--fail-if time:one>1.02 --fail-if work-rate:one<0.98"));
    let text = text.unwrap();
    assert!(text.contains("time:one > 1.02") && text.ends_with("2 not worse.\n"), "{text}");
    let error = story.tandem(&gate("--fail-if time:nobody>1.02")).unwrap_err();
    assert!(error.contains("--fail-if 'time:nobody > 1.02': no application `nobody`"), "{error}");
}

#[test]
fn a_baseline_without_applications_leaves_theirs_undecided() {
    let story = later(0);
    let path = story.folder.path().join("base.json");
    let mut baseline: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    baseline["cells"][0].as_object_mut().unwrap().remove("applications").unwrap();
    fs::write(&path, baseline.to_string()).unwrap();
    let (text, error) = story.doubtful(&gate("--fail-if time:one>1.02"));
    assert!(text.contains("the baseline has no value") && text.ends_with("1 undecided.\n"), "{text}");
    assert!(error.starts_with("undecided by the baseline"), "{error}");
}
