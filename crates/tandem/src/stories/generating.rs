// SPDX-License-Identifier: GPL-2.0-only
//! `tandem workload`: generators.

use std::fs;

use super::Story;

#[test]
fn a_person_finds_the_generators_beside_the_other_commands() {
    let help = Story::new().tandem("workload --help").unwrap_err();
    for name in ["list", "show", "phases", "global-sum", "parallel-for", "compile"] {
        assert!(help.contains(&format!("\n  {name} ")), "{help}");
    }
}

#[test]
fn help_has_source_range_unit_and_default() {
    let help = Story::new().tandem("workload matmul --help").unwrap_err();
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(help.contains("Source: Lakshminarayana & Kim, section VI-A"), "{help}");
    assert!(help.contains("--row <TIME> Work of a row: 2400 x 2400 steps of 1 ns."), "{help}");
    assert!(help.contains("[a time from 1us to 1s; default: 5760us]"), "{help}");
    assert!(help.contains("--rows <X-Y>"), "{help}");
}

#[test]
fn a_list_may_be_given_at_once_or_piece_by_piece() {
    let story = Story::new();
    let file = story.tandem("workload phases --label 1:4 --label inf:1").unwrap();
    assert!(file.contains("\"application\" : \"b-inf:1\""), "{file}");
    assert_eq!(story.tandem("workload phases --label 1:4,inf:1").unwrap(), file);
}

#[test]
fn a_flag_has_no_value() {
    let story = Story::new();
    let with = story.tandem("workload iterations --hints").unwrap();
    assert!(with.starts_with("// tandem workload iterations --shares 7,7,7,7,6,6,5,5 --work 100ms --rounds 1 --hints"));
    assert!(with.contains("\"relative_length\" : 7"));
    assert!(!story.tandem("workload iterations").unwrap().contains("relative_length"));
}

#[test]
fn a_generated_file_is_a_workload_like_any_other() {
    let story = Story::new();
    assert_eq!(story.tandem("workload mixes --aluadd 1 --stream 2 -o @mix.json").unwrap(), "");
    let file = fs::read_to_string(story.path("mix.json")).unwrap();
    assert_eq!(story.tandem("workload show @mix.json --source").unwrap(), file);
    let shown = story.tandem("workload show @mix.json").unwrap();
    assert!(shown.starts_with("Microbenchmarks side by side: 1 aluadd, 2 stream"), "{shown}");
    let report = story.tandem("simulate @mix.json -m hikey960").unwrap();
    assert!(report.contains("stream-1"), "{report}");
}

#[test]
fn options_that_do_not_fit_leave_no_file_behind() {
    let story = Story::new();
    let before = story.files();
    let error = story.tandem("workload global-sum --frequency f10000 -o @sum.json").unwrap_err();
    assert!(error.contains("--mips 200 or less"), "{error}");
    assert_eq!(story.files(), before);
}
