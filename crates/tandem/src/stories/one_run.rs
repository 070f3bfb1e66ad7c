// SPDX-License-Identifier: GPL-2.0-only
//! `tandem simulate`.

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;

use super::{Story, report};

#[test]
fn a_person_reads_what_a_run_took() {
    let text = Story::on_terminal(80).tandem("simulate @two.json -m hikey960 --reproducible --seed 1").unwrap();
    insta::assert_snapshot!(text, @r"
    two on hikey960 under fair+schedutil, seed 1, disturbed

    time          1.250 s
    energy        7.500 J
      cores       5.625 J  75.0 %
      memory      1.875 J  25.0 %
    power         6.000 W
    EDP         9.375 J·s
    work            0.800  seconds on the fastest CPU per second
    idle           25.0 %  of the CPUs' time
    switches        1 234  987 per second
    migrations         12
    events          5 678

    application     time     work  speed  CPU time  threads
    fast         1.250 s  3.000 s  0.400   3.500 s        2
    slow         1.250 s  3.000 s  0.320   3.500 s        2

    CPU    busy  mean clock   energy    power
      0  80.0 %   1.250 GHz  4.000 J  3.200 W

    waited longest  application      wait  CPU time  p99 wakeup  migrations
    hungry          app          750.0 ms   1.750 s    300.0 µs           6

    28 of 66 values of this machine are assumed; 25.0 % of the energy rests on them,
      most on memory.dram static_watts (`tandem compare --sensitivity` says which
      matter).
    ");
}

#[test]
fn a_person_reads_how_late_threads_were() {
    let text = Story::on_terminal(100).tandem("simulate @frames.json -m hikey960 --reproducible").unwrap();
    let row = |title: &str| {
        let (_, table) = text.split_once(&format!("\n{title} ")).unwrap_or_else(|| panic!("no {title} in {text}"));
        let row = table.lines().nth(1).unwrap();
        row.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).map(str::to_owned).collect::<Vec<_>>()
    };
    let response = ["frames", "2.000 ms", "20.00 ms", "30.00 ms", "31.00 ms", "60.00 /s", "2.5 %", "14.33 ms"];
    assert_eq!(row("response"), response);
    assert_eq!(row("wakeup latency"), ["frames", "20.00 µs", "200.0 µs", "300.0 µs", "1.000 ms"]);
    assert_eq!(row("frames  count"), ["frames", "120", "60.00 /s", "3", "2.5 %"]);
    let without = Story::on_terminal(100).tandem("simulate @one.json -m hikey960").unwrap();
    assert!(!without.contains("\nresponse ") && !without.contains("\nframes "), "{without}");
}

#[test]
fn a_narrow_terminal_goes_without_the_last_columns() {
    let text = Story::on_terminal(60).tandem("simulate @two.json -m hikey960 --reproducible").unwrap();
    assert!(text.lines().all(|line| console::measure_text_width(line) <= 60), "{text}");
    assert!(text.contains("p99 wakeup\n"), "{text}");
}

#[test]
fn a_program_reads_the_same_as_json() {
    let story = Story::new();
    let text = story.tandem("simulate @two.json -m hikey960 --scheduler fair+powersave --seed 1 --json").unwrap();
    let json: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json["schema"], 1);
    assert_eq!(json["governor"], "powersave");
    assert_eq!(json["time_s"], 2.0);
    assert_eq!(json["energy_j"]["total"], 8.0);
    assert!(json["wall_s"].is_number());
}

#[test]
fn what_is_reproducible_has_no_wall_time_and_the_same_bytes() {
    let story = Story::new();
    let run = || story.tandem("simulate @two.json -m hikey960 --json --reproducible").unwrap();
    assert_eq!(run(), run());
    assert!(run().contains("\"wall_s\": null"));
}

#[test]
fn the_governor_may_stand_alone_but_not_twice() {
    let story = Story::new();
    let text = story.tandem("simulate @one.json -m hikey960 --governor performance").unwrap();
    assert!(text.contains("fair+performance"), "{text}");
    let error = story.tandem("simulate @one.json -m hikey960 -s fair+schedutil -g performance").unwrap_err();
    assert_eq!(error, "the governor is given twice: schedutil in --scheduler and performance in --governor");
}

#[test]
fn files_appear_beside_the_summary() {
    let story = Story::new();
    let text = story.tandem("simulate @one.json -m hikey960 --json=@report.json --trace @run.perfetto").unwrap();
    assert!(text.starts_with("one on hikey960"), "{text}");
    let json: Value = serde_json::from_str(&fs::read_to_string(story.path("report.json")).unwrap()).unwrap();
    assert_eq!(json["workload"], "one");
    let trace = fs::read(story.path("run.perfetto")).unwrap();
    // What the report says of itself the trace says, too.
    let inputs = json["produced_by"]["inputs"].as_array().unwrap().iter();
    let mut told: Vec<&str> = inputs.filter_map(|input| input["sha256"].as_str()).collect();
    assert_eq!(told.len(), 2);
    told.push("tandem simulate ");
    for text in told {
        assert!(trace.windows(text.len()).any(|bytes| bytes == text.as_bytes()), "{text}");
    }
}

#[test]
fn a_run_that_fails_leaves_no_trace_behind() {
    let story = Story::new();
    let before = story.files();
    story.tandem("simulate @deadlock.json -m hikey960 --trace @run.perfetto --json=@report.json").unwrap_err();
    assert_eq!(story.files(), before);
}

#[test]
fn names_that_do_not_exist_get_the_nearest() {
    let story = Story::new();
    let error = |command| story.tandem(command).unwrap_err();
    assert!(error("simulate @one.json -m hikey960 -s fiar").contains("did you mean `fair`?"));
    assert!(error("simulate @one.json -m hikey960 -g powersafe").contains("did you mean `powersave`?"));
    assert!(error("simulate @one.json -m hikey960 --set hertz=3").contains("hz"));
    assert!(error("simulate @one.json -m hikey906").contains("hikey960"));
    assert!(error("simulate @one.json -m hikey960 --duration 10").contains("expected a time with its unit"));
}

#[test]
fn a_time_limit_reaches_the_simulation_and_is_no_measure_of_speed() {
    let text = Story::new().tandem("simulate @one.json -m hikey960 --duration 500ms").unwrap();
    assert!(text.contains("500.0 ms  the time limit, no measure of speed"), "{text}");
    assert!(text.contains("—  not measured: a limit's length is no time"), "{text}");
    assert!(!text.contains("J·s"), "{text}");
}

#[test]
fn what_follows_from_a_time_limits_length_is_null_for_programs() {
    let json = |command: &str| -> Value { serde_json::from_str(&Story::new().tandem(command).unwrap()).unwrap() };
    let limited = json("simulate @one.json -m hikey960 --duration 500ms --json");
    assert!(limited["edp_js"].is_null() && limited["ed2p_js2"].is_null(), "{limited}");
    assert_eq!(limited["energy_j"]["total"], 3.0);
    let whole = json("simulate @one.json -m hikey960 --json");
    assert!(whole["edp_js"].is_number() && whole["ed2p_js2"].is_number(), "{whole}");
    let compared = json("compare @one.json -m hikey960 -s fair --runs 1 --duration 1s --json");
    assert!(compared["pairs"][0]["runs"][0]["edp_js"].is_null(), "{compared}");
    assert!(compared["pairs"][0]["metrics"]["edp_js"]["mean"].is_null(), "{compared}");
}

#[test]
fn every_field_of_the_report_is_documented() {
    let mut story_report = report("w");
    story_report.wall_s = Some(1.0);
    let document = include_str!("../../../../docs/reports.md");
    for field in fields(&serde_json::to_value(&story_report).unwrap()) {
        assert!(document.contains(&format!("`{field}`")), "docs/reports.md does not describe `{field}`");
    }
}

#[test]
fn every_field_of_a_comparison_is_documented() {
    let (erring, _) = Story::new().doubtful("compare @erring.json -m hikey960 -s fair --runs 2 --json");
    let frames = Story::new().tandem("compare @frames.json -m hikey960 -s fair --runs 2 --json").unwrap();
    let document = include_str!("../../../../docs/reports.md");
    for text in [erring, frames] {
        for field in fields(&serde_json::from_str(&text).unwrap()) {
            assert!(document.contains(&format!("`{field}`")), "docs/reports.md does not describe `{field}`");
        }
    }
}

#[test]
fn every_field_of_an_analysis_is_documented() {
    let command = "analyze -m proliant-dl580:asymmetric --applications 3 --simulate 1s --runs 1 --json";
    let text = Story::new().tandem(command).unwrap();
    let (_, document) = include_str!("../../../../docs/reports.md").split_once("## An analysis").unwrap();
    for path in fields(&serde_json::from_str(&text).unwrap()) {
        // Rows and bounds are described once, for all tables.
        for field in path.split('.').map(|field| field.trim_end_matches("[]")) {
            assert!(document.contains(field), "docs/reports.md does not describe `{field}` of `{path}`");
        }
    }
}

#[test]
fn the_bundled_workloads_are_listed_and_shown() {
    let story = Story::on_terminal(80);
    let list = story.tandem("workload list").unwrap();
    let first = list.lines().next().unwrap().split_whitespace().next().unwrap();
    assert!(list.lines().all(|line| console::measure_text_width(line) <= 80), "{list}");
    let shown = story.tandem(&format!("workload show {first}")).unwrap();
    assert!(shown.contains(&format!("workload {first}")), "{shown}");
    assert!(shown.contains("run "), "{shown}");
    let source = story.tandem(&format!("workload show {first} --source")).unwrap();
    assert!(source.trim_start().starts_with('{'), "{source}");
    assert!(story.tandem("workload show pipelin").unwrap_err().contains("did you mean `pipeline`?"));
}

#[test]
fn machines_are_shown_with_their_sources_if_asked() {
    let story = Story::new();
    let plain = story.tandem("machine show hikey960").unwrap();
    let sources = story.tandem("machine show hikey960 --sources").unwrap();
    assert!(sources.starts_with(plain.trim_end()), "{sources}");
    assert!(sources.contains("hi3660-hikey960.dts"), "{sources}");
}

/// Paths of all fields, as the document writes them: `apps[].name`. Maps from clocks and idle states to seconds are
/// left out: the machine, not the schema, gives their keys.
fn fields(value: &Value) -> BTreeSet<String> {
    let mut paths = BTreeSet::new();
    collect(value, String::new(), &mut paths);
    paths
}

fn collect(value: &Value, path: String, paths: &mut BTreeSet<String>) {
    match value {
        Value::Object(_) if path.ends_with("_residency") => {
            paths.insert(path);
        }
        // The keys are names of the scheduler's callbacks, counters and variables.
        Value::Object(object)
            if ["callbacks", "statistics", "states", "values"].iter().any(|end| path.ends_with(end)) =>
        {
            object.values().take(1).for_each(|value| collect(value, format!("{path}.*"), paths));
        }
        Value::Object(object) => {
            let prefix = if path.is_empty() { String::new() } else { format!("{path}.") };
            object.iter().for_each(|(key, value)| collect(value, format!("{prefix}{key}"), paths));
        }
        Value::Array(array) => match array.first() {
            Some(first @ Value::Object(_)) => collect(first, format!("{path}[]"), paths),
            _ => drop(paths.insert(path)),
        },
        _ => drop(paths.insert(path)),
    }
}

mod long {
    use super::*;

    #[test]
    fn a_bench_runs_as_many_simulations_at_once_as_asked_and_adds_them_up() {
        // Each run of the mock has 5678 events.
        let one = Story::new().tandem("bench --quick --cpus 8 --scheduler fair+performance").unwrap();
        assert!(one.contains(" MiB of the process, 5 678 events in "), "{one}");
        let three = Story::new().tandem("bench --quick --cpus 8 --scheduler fair+performance --threads 3").unwrap();
        assert!(three.contains("100 000 tasks on 256 CPUs in each of 3 runs: peak memory "), "{three}");
        assert!(three.contains(" MiB of the process, 17 034 events in "), "{three}");
    }

    #[test]
    fn a_bench_has_a_row_per_size_and_the_memory_below() {
        let text = Story::new().tandem("bench --quick --cpus 8,16").unwrap();
        let rows: Vec<&str> = text.lines().collect();
        assert!(rows[1].trim_start().starts_with("8     16"), "{text}");
        assert!(rows[2].trim_start().starts_with("16     32"), "{text}");
        assert!(rows[4].starts_with("100 000 tasks on 256 CPUs: peak memory "), "{text}");
        // 7 workloads with 4 schedulers are 28 runs on each machine, and 56 more of applications alone.
        let matrix =
            rows.iter().find(|row| row.starts_with("matrix of 5 machines × 7 workloads × 4 schedulers × 1 seed: ×"));
        assert!(matrix.is_some_and(|row| row.contains(" of 420 one after another")), "{text}");
    }
}
