// SPDX-License-Identifier: GPL-2.0-only
//! Runs under a sched_ext scheduler that errs, exits or stays.

use serde_json::Value;

use super::Story;

const SIMULATE: &str = "simulate @erring.json -m hikey960 --reproducible";

/// The text below the tables of every run.
fn scheduler_part(text: &str) -> &str {
    &text[text.find("scheduler faulty on").unwrap()..]
}

#[test]
fn a_person_reads_what_the_scheduler_did_and_why_it_was_ejected() {
    let (text, failure) = Story::on_terminal(120).doubtful(SIMULATE);
    insta::assert_snapshot!(scheduler_part(&text));
    assert_eq!(failure, "scheduler faulty did not stay to the end: its results are partly those of fair");
}

#[test]
fn a_narrow_terminal_breaks_words_but_no_paths() {
    let (text, _) = Story::on_terminal(60).doubtful(SIMULATE);
    insta::assert_snapshot!(scheduler_part(&text));
}

#[test]
fn a_scheduler_that_stays_to_the_end_is_a_success() {
    let text = Story::on_terminal(80).tandem("simulate @erring.json -m hikey960 -g performance").unwrap();
    assert!(text.contains("scheduler faulty on Linux 6.12: its programs took 750.0 µs"), "{text}");
    assert!(!text.contains("ejected"), "{text}");
}

#[test]
fn a_scheduler_that_ends_itself_is_no_error_but_no_success() {
    let (text, _) = Story::on_terminal(120).doubtful("simulate @leaving.json -m hikey960");
    let note = &text[text.find("note: ").unwrap()..];
    insta::assert_snapshot!(note, @r"
    note: scheduler faulty ended itself at 12.50 ms: unregistered from BPF: a CPU came (code 7)
      From then on the run went on under fair.
      It asked to be loaded again, but the run was over before its loader looked.

    28 of 66 values of this machine are assumed; 25.0 % of the energy rests on them, most on memory.dram static_watts
      (`tandem compare --sensitivity` says which matter).
    ");
}

#[test]
fn a_program_reads_why_the_scheduler_was_ejected() {
    let (text, _) = Story::new().doubtful(&format!("{SIMULATE} --json"));
    let json: Value = serde_json::from_str(&text).unwrap();
    let exit = &json["sched_ext"]["exit"];
    assert_eq!(exit["kind"], "SCX_EXIT_ERROR");
    assert_eq!(exit["backtrace"][0]["line"], 162);
    assert_eq!(json["sched_ext"]["output"].as_array().unwrap().len(), 12);
}

#[test]
fn a_comparison_marks_the_pairs_whose_scheduler_was_ejected() {
    let command = "compare @erring.json -m hikey960 -s fair+performance -s fair+powersave --runs 3";
    let (text, failure) = Story::on_terminal(120).doubtful(command);
    insta::assert_snapshot!(text);
    assert_eq!(failure, "in 2 runs the scheduler did not stay to the end: its results are partly those of fair");
}

#[test]
fn the_marks_are_there_on_a_narrow_terminal_too() {
    let command = "compare @erring.json -m hikey960 -s fair+performance -s fair+powersave --runs 3";
    let (text, _) = Story::on_terminal(60).doubtful(command);
    assert!(text.lines().all(|line| console::measure_text_width(line) <= 60), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn a_program_reads_which_runs_lost_their_scheduler() {
    let (text, _) = Story::new().doubtful("compare @erring.json -m hikey960 -s fair --runs 3 --json");
    let json: Value = serde_json::from_str(&text).unwrap();
    let runs = json["pairs"][0]["runs"].as_array().unwrap();
    let lost: Vec<bool> = runs.iter().map(|run| run["exit"]["kind"] == "SCX_EXIT_ERROR").collect();
    assert_eq!(lost, [true, true, false]);
    assert!(runs[2]["exit"].is_null());
}
