// SPDX-License-Identifier: GPL-2.0-only
//! `tandem compare` on several machines and workloads, with settings that are varied, in each format.

use std::fs;
use std::sync::atomic::Ordering;

use serde_json::Value;
use tandem_simulator::simulation::Bpf;

use super::Story;
use super::mock::Mock;
use crate::store::Place;

const FOUR_CELLS: &str =
    "compare @two.json @one.json -m hikey960 -m rk3399 -s fair -s fair+powersave --runs 3 --no-alone";

#[test]
fn each_cell_has_a_row_per_pair_and_each_pair_a_mean_with_its_worst_cell() {
    insta::assert_snapshot!(Story::new().tandem(FOUR_CELLS).unwrap(), @r"
    2 workloads on 2 machines, disturbed, 2 pairs: 3 runs per pair (seeds 0 to 2), mean ± 95 % confidence interval; × is the ratio to fair+schedutil

    machine   workload  pair                       time  ×                        energy  ×                             EDP  ×                         power  ×                      jitter  ×
    hikey960  two       fair+schedutil  1.250 ± 0.031 s                  7.500 ± 0.186 J                  9.376 ± 0.466 J·s                  6.000 ± 0.000 W                  0.82 ± 1.43 %
    hikey960  two       fair+powersave  2.000 ± 0.050 s  ×1.600 ± 0.000  8.000 ± 0.199 J  ×1.067 ± 0.000   16.00 ± 0.79 J·s  ×1.707 ± 0.000  4.000 ± 0.000 W  ×0.667 ± 0.000  0.82 ± 1.43 %  ×1.000 ± 2.484
    hikey960  one       fair+schedutil  1.250 ± 0.031 s                  7.500 ± 0.186 J                  9.376 ± 0.466 J·s                  6.000 ± 0.000 W                  0.82 ± 1.43 %
    hikey960  one       fair+powersave  2.000 ± 0.050 s  ×1.600 ± 0.000  8.000 ± 0.199 J  ×1.067 ± 0.000   16.00 ± 0.79 J·s  ×1.707 ± 0.000  4.000 ± 0.000 W  ×0.667 ± 0.000  0.82 ± 1.43 %  ×1.000 ± 2.484
    rk3399    two       fair+schedutil  1.250 ± 0.031 s                  7.500 ± 0.186 J                  9.376 ± 0.466 J·s                  6.000 ± 0.000 W                  0.82 ± 1.43 %
    rk3399    two       fair+powersave  2.000 ± 0.050 s  ×1.600 ± 0.000  8.000 ± 0.199 J  ×1.067 ± 0.000   16.00 ± 0.79 J·s  ×1.707 ± 0.000  4.000 ± 0.000 W  ×0.667 ± 0.000  0.82 ± 1.43 %  ×1.000 ± 2.484
    rk3399    one       fair+schedutil  1.250 ± 0.031 s                  7.500 ± 0.186 J                  9.376 ± 0.466 J·s                  6.000 ± 0.000 W                  0.82 ± 1.43 %
    rk3399    one       fair+powersave  2.000 ± 0.050 s  ×1.600 ± 0.000  8.000 ± 0.199 J  ×1.067 ± 0.000   16.00 ± 0.79 J·s  ×1.707 ± 0.000  4.000 ± 0.000 W  ×0.667 ± 0.000  0.82 ± 1.43 %  ×1.000 ± 2.484

    Geometric means of the ratios over the cells in which both were measured, and the worst cell:

    pair            metric  mean ×          cells  worst ×         worst cell
    fair+powersave  time    ×1.600 ± 0.000      4  ×1.600 ± 0.000  two on hikey960
    fair+powersave  energy  ×1.067 ± 0.000      4  ×1.067 ± 0.000  two on hikey960
    fair+powersave  EDP     ×1.707 ± 0.000      4  ×1.707 ± 0.000  two on hikey960
    fair+powersave  power   ×0.667 ± 0.000      4  ×0.667 ± 0.000  two on hikey960
    fair+powersave  jitter  ×1.000 ± 1.242      4  ×1.000 ± 2.484  two on hikey960

    The intervals of × are those of pairs of runs with the same seed where that makes them narrower; --json says where.

    28 of 66 values of hikey960 are assumed; 25.0 % of the energy rests on them, most on memory.dram static_watts.
    32 of 62 values of rk3399 are assumed; 100.0 % of the energy rests on them, most on opp_table.cortex-a53 opps.watts (`tandem compare --sensitivity` says which matter).
    ");
}

#[test]
fn no_line_of_a_matrix_is_wider_than_the_terminal() {
    for width in [60, 80, 120, 200] {
        let text = Story::on_terminal(width).tandem(FOUR_CELLS).unwrap();
        for line in text.lines() {
            assert!(console::measure_text_width(line) <= width, "{width}: {line}");
        }
    }
}

/// The means of a terminal of `width` columns.
fn means(width: usize) -> String {
    let text = Story::on_terminal(width).tandem(FOUR_CELLS).unwrap();
    let (_, means) = text.split_once("Geometric means").unwrap();
    let (_, means) = means.split_once(":\n\n").unwrap();
    let (means, _) = means.split_once("\n\nThe intervals").unwrap();
    means.to_owned()
}

#[test]
fn a_mean_is_one_line_where_there_is_room_for_its_numbers() {
    insta::assert_snapshot!(means(70), @r"
    fair+powersave, over 4 cells
    metric  mean ×          worst ×         worst cell
    time    ×1.600 ± 0.000  ×1.600 ± 0.000  two on hikey960
    energy  ×1.067 ± 0.000  ×1.067 ± 0.000  two on hikey960
    EDP     ×1.707 ± 0.000  ×1.707 ± 0.000  two on hikey960
    power   ×0.667 ± 0.000  ×0.667 ± 0.000  two on hikey960
    jitter  ×1.000 ± 1.242  ×1.000 ± 2.484  two on hikey960
    ");
    insta::assert_snapshot!(means(50), @r"
    fair+powersave, over 4 cells
    metric  mean ×          worst ×
    time    ×1.600 ± 0.000  ×1.600 ± 0.000
      two on hikey960
    energy  ×1.067 ± 0.000  ×1.067 ± 0.000
      two on hikey960
    EDP     ×1.707 ± 0.000  ×1.707 ± 0.000
      two on hikey960
    power   ×0.667 ± 0.000  ×0.667 ± 0.000
      two on hikey960
    jitter  ×1.000 ± 1.242  ×1.000 ± 2.484
      two on hikey960
    ");
    assert_eq!(means(80), means(100));
}

#[test]
fn a_narrow_terminal_has_a_table_per_cell_so_that_each_row_says_what_it_is_of() {
    let text = Story::on_terminal(80).tandem(FOUR_CELLS).unwrap();
    for cell in ["two on hikey960", "one on hikey960", "two on rk3399", "one on rk3399"] {
        assert!(text.contains(&format!("\n{cell}\nfair+schedutil\n  time ")), "{cell}: {text}");
    }
}

#[test]
fn a_matrix_runs_each_simulation_once() {
    let calls = |command: &str| {
        let story = Story::new();
        story.tandem(command).unwrap();
        story.mock.calls.load(Ordering::Relaxed)
    };
    // Two machines, two workloads, two pairs, three seeds.
    assert_eq!(calls(FOUR_CELLS), 24);
    // The workload of two applications also runs each of them alone.
    assert_eq!(calls(&FOUR_CELLS.replace(" --no-alone", "")), 24 + 2 * 2 * 3 * 2);
    assert_eq!(calls(&format!("{FOUR_CELLS} --parameter hz=100,250,1000")), 72);
}

#[test]
fn the_json_has_the_comparisons_as_each_alone_has_them() {
    let json: Value = serde_json::from_str(&Story::new().tandem(&format!("{FOUR_CELLS} --json")).unwrap()).unwrap();
    let alone = "compare @one.json -m hikey960 -s fair -s fair+powersave --runs 3 --no-alone --json";
    let mut alone: Value = serde_json::from_str(&Story::new().tandem(alone).unwrap()).unwrap();
    alone.as_object_mut().unwrap().remove("produced_by");
    assert_eq!(json["comparisons"][1], alone);
    assert_eq!((&json["missing"], &json["seeds"]), (&Value::from(0), &serde_json::json!([0, 1, 2])));
    let mean = &json["geometric_means"][0];
    assert_eq!(mean["governor"], "powersave");
    // 8 J over 7.5 J in every cell.
    assert!((mean["metrics"]["energy_j"]["ratio"].as_f64().unwrap() - 8.0 / 7.5).abs() < 1e-9);
    assert_eq!(mean["metrics"]["energy_j"]["cells"], 4);
    assert_eq!(mean["metrics"]["energy_j"]["worst"]["machine"], "hikey960");
}

#[test]
fn values_of_a_varied_setting_are_pairs_of_their_own_and_columns() {
    let command = "compare @one.json -m hikey960 -s fair -s fair+powersave --runs 1 --parameter hz=100,1000";
    let text = Story::new().tandem(command).unwrap();
    for pair in
        ["fair+schedutil hz=100 ", "fair+schedutil hz=1000 ", "fair+powersave hz=100 ", "fair+powersave hz=1000 "]
    {
        assert!(text.lines().any(|line| line.starts_with(pair)), "{pair}: {text}");
    }
    let json: Value = serde_json::from_str(&Story::new().tandem(&format!("{command} --json")).unwrap()).unwrap();
    assert_eq!(json["pairs"][1]["parameters"], serde_json::json!({ "hz": 1000 }));
    let csv = Story::new().tandem(&format!("{command} --csv")).unwrap();
    assert!(csv.starts_with("machine,workload,scheduler,governor,hz,seed,time_s,energy_j,"), "{csv}");
    assert!(csv.contains("\nhikey960,one,fair,powersave,1000,0,"), "{csv}");
}

#[test]
fn a_setting_of_one_scheduler_leaves_the_others_alone() {
    let story = Story::new();
    let command = "compare @one.json -m hikey960 -s fair -s single --runs 1 --parameter slice_us=1000,2000 --json";
    let json: Value = serde_json::from_str(&story.tandem(command).unwrap()).unwrap();
    let pairs: Vec<String> = json["pairs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|pair| format!("{}{}", pair["scheduler"], pair["parameters"]))
        .collect();
    assert_eq!(pairs, [r#""fair"{}"#, r#""single"{"slice_us":1000}"#, r#""single"{"slice_us":2000}"#]);
    assert_eq!(json["pairs"][1]["runs"][0]["seed"], 0);
}

#[test]
fn a_varied_setting_that_spans_nothing_is_a_mistake_before_any_run() {
    let story = Story::new();
    for (parameter, expected) in [
        ("hzz=1,2", "--parameter: unknown setting `hzz`; did you mean `hz`?"),
        (
            "longest=true,false",
            "--parameter: `longest` is a setting of the scheduler tandem, which is not simulated here",
        ),
        ("hz=100,fast", "--parameter: "),
        ("hz=100,100", "`hz` has the value 100 twice"),
        ("hz", "expected NAME=VALUE,VALUE..."),
        ("hz=100,1000 --set hz=250", "--parameter: `hz` is varied, and is also set for all runs"),
    ] {
        let command = format!("compare @one.json -m hikey960 -s fair --parameter {parameter}");
        let error = story.tandem(&command).unwrap_err();
        assert!(error.contains(expected), "{parameter}: {error}");
    }
    let error = story
        .tandem("compare @one.json -m hikey960 -s single,slice_us=1000 --parameter slice_us=500,1000")
        .unwrap_err();
    assert!(error.contains("also set behind the name of single,slice_us=1000"), "{error}");
    assert_eq!(story.mock.calls.load(Ordering::Relaxed), 0);
}

#[test]
fn every_format_is_printed_or_written_beside_the_text() {
    let story = Story::new();
    let text = story.tandem(FOUR_CELLS).unwrap();
    for (option, beginning) in [
        ("--json", "{\n  \"schema\": 1,\n  \"seeds\": ["),
        (
            "--jsonl",
            "{\"machine\":\"hikey960\",\"workload\":\"two\",\"scheduler\":\"fair\",\"governor\":\"schedutil\",\"seed\":0,",
        ),
        ("--csv", "machine,workload,scheduler,governor,seed,time_s,energy_j,edp_js,"),
        (
            "--markdown",
            "<!-- tandem compare -->\n2 workloads on 2 machines, disturbed, 2 pairs: 3 runs per pair (seeds 0 to 2)",
        ),
    ] {
        let printed = story.tandem(&format!("{FOUR_CELLS} {option}")).unwrap();
        assert!(printed.starts_with(beginning), "{option}: {printed}");
        for _ in ["new", "replaced"] {
            assert_eq!(story.tandem(&format!("{FOUR_CELLS} {option}=@out")).unwrap(), text);
            assert_eq!(fs::read_to_string(story.path("out")).unwrap(), printed);
        }
        fs::remove_file(story.path("out")).unwrap();
    }
    let all = "--json=@a --jsonl=@b --csv=@c --markdown=@d";
    assert_eq!(story.tandem(&format!("{FOUR_CELLS} {all}")).unwrap(), text);
    let error = story.tandem(&format!("{FOUR_CELLS} --csv --json")).unwrap_err();
    assert!(error.starts_with("--json and --csv both print on standard output"), "{error}");
    let error = story.tandem(&format!("{FOUR_CELLS} --csv=@b")).unwrap_err();
    assert!(error.contains("b: there is a file that is no table of runs in CSV"), "{error}");
}

#[test]
fn each_run_is_a_line_and_rows_agree_in_both_formats() {
    let csv = Story::new().tandem(&format!("{FOUR_CELLS} --csv")).unwrap();
    let jsonl = Story::new().tandem(&format!("{FOUR_CELLS} --jsonl")).unwrap();
    let (header, rows) = csv.split_once('\n').unwrap();
    assert_eq!((rows.lines().count(), jsonl.lines().count()), (24, 24));
    let columns: Vec<&str> = header.split(',').collect();
    for (row, object) in rows.lines().zip(jsonl.lines()) {
        let object: Value = serde_json::from_str(object).unwrap();
        for (column, field) in columns.iter().zip(row.split(',')) {
            let value = match &object[column] {
                Value::Null => String::new(),
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            assert_eq!(value, field, "{column} of {row}");
        }
    }
}

#[test]
fn two_of_one_name_are_a_mistake_and_so_is_standard_input_twice() {
    let story = Story::new();
    fs::create_dir(story.path("other")).unwrap();
    fs::copy(story.path("one.json"), story.path("other/one.json")).unwrap();
    let error = story.tandem("compare @one.json @other/one.json -m hikey960 -s fair").unwrap_err();
    assert!(error.starts_with("two of the workloads are called `one`"), "{error}");
    let error = story.tandem("compare @one.json -m hikey960 -m hikey960 -s fair").unwrap_err();
    assert!(error.starts_with("two of the machines are called `hikey960`"), "{error}");
    assert!(story.tandem("compare - - -m hikey960 -s fair").unwrap_err().contains("`-` is given twice"));
    let error = story.tandem("compare @one.json -m hikey960 -s fair --csv @runs.csv").unwrap_err();
    assert!(error.contains("a file to write stands behind a sign: --csv=FILE"), "{error}");
}

#[test]
fn an_interrupt_prints_what_is_finished_and_leaves_files_alone() {
    let mock = Mock { interrupted_in: 14, ..Mock::default() };
    let story = Story { mock, ..Story::new() };
    let one_thread = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let (text, error) = one_thread.install(|| story.doubtful(&format!("{FOUR_CELLS} --csv=@runs.csv")));
    let missing = "interrupted: 2 of 4 combinations of machine and workload were not finished";
    assert_eq!(error, format!("{missing}; 14 of 24 runs were done"));
    assert!(text.contains("\nhikey960  one       fair+powersave"), "{text}");
    assert!(!text.contains("rk3399"), "{text}");
    assert!(!story.path("runs.csv").exists());
}

#[test]
fn an_interrupt_before_the_first_cell_says_how_much_is_missing_and_what_is_kept() {
    for (kept, more) in [(false, ""), (true, "; they are kept, and the same command goes on")] {
        let story = Story { mock: Mock { interrupted_in: 4, ..Mock::default() }, ..Story::new() };
        let place = Place { folder: story.path("store"), limit: 1 << 20, named: true, bpf: Bpf::default() };
        let story = Story { store: kept.then_some(place), ..story };
        let one_thread = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        let (text, error) = one_thread.install(|| story.doubtful(FOUR_CELLS));
        let missing = "interrupted: 4 of 4 combinations of machine and workload were not finished";
        assert_eq!((text.as_str(), error), ("", format!("{missing}; 4 of 24 runs were done{more}")));
    }
}

#[test]
fn an_interrupt_of_the_values_prints_the_comparison_all_the_same() {
    let story = Story { mock: Mock { interrupted_in: 26, ..Mock::default() }, ..Story::new() };
    let one_thread = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let (text, error) = one_thread.install(|| story.doubtful(&format!("{FOUR_CELLS} --sensitivity")));
    assert!(text.contains("\nrk3399    one       fair+powersave"), "{text}");
    assert!(error.starts_with("interrupted: which values matter was not found out; 2 of "), "{error}");
}
