// SPDX-License-Identifier: GPL-2.0-only
//! `tandem schema`: what is printed, committed and written agree.

mod checker;

use std::fs;

use clap::ValueEnum;
use serde_json::Value;
use tandem_experiments::Linux;

use super::{Story, experimenting};
use crate::schema::Document;
use checker::mistakes;

/// Endings of the names of fields, and the units that their descriptions name.
const UNITS: [(&str, &str); 8] = [
    ("_s", "second"),
    ("_j", "joule"),
    ("_w", "watt"),
    ("_js", "joule-second"),
    ("_js2", "joule-seconds²"),
    ("_ns", "nanosecond"),
    ("_watts_max", "watt"),
    ("celsius_max", "°C"),
];

/// The fields in `_s` that are no times: per second, or names of sets of threads.
const NO_TIMES: [&str; 3] = ["rounds_per_s", "per_s", "bytes_per_s"];

fn committed(document: Document) -> String {
    let path = format!("{}/../../docs/schema/{}.json", env!("CARGO_MANIFEST_DIR"), document.command());
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn mistakes_in(document: Document, report: &Value) -> Vec<String> {
    let schema: Value = serde_json::from_str(&committed(document)).unwrap();
    mistakes(&schema, &schema, report, "")
}

/// What `command` prints where the mock simulates, beside a baseline of one seed.
fn of_the_mock(command: &str) -> Value {
    let story = experimenting::story("title", "title");
    story.tandem("compare @erring.json -m hikey960 -s fair --seed 2 --runs 1 --save @base.json").unwrap();
    let (text, _) = story.run(command).unwrap();
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{command}: {error}: {text}"))
}

/// What `command` prints where the simulator simulates.
fn of_the_simulator(command: &str) -> Value {
    let (bytes, result) = Story::new().run_on(&Linux, command).unwrap();
    result.unwrap();
    serde_json::from_slice(&bytes).unwrap()
}

/// All fields that a schema describes, with their descriptions; without tags, each of which has one value for one form.
fn fields(schema: &Value) -> Vec<(String, Option<&str>)> {
    let own = schema["properties"].as_object().into_iter().flatten();
    let own = own.filter(|(_, field)| field.get("const").is_none());
    let own = own.map(|(name, field)| (name.clone(), field["description"].as_str()));
    let below = match schema {
        Value::Object(members) => members.values().flat_map(fields).collect(),
        Value::Array(items) => items.iter().flat_map(fields).collect(),
        _ => Vec::new(),
    };
    own.chain(below).collect()
}

#[test]
fn the_committed_schemas_are_what_is_printed() {
    for document in Document::value_variants() {
        let name = document.command();
        let printed = Story::new().tandem(&format!("schema {name}")).unwrap();
        let help = format!("`tandem schema {name} > docs/schema/{name}.json` writes it anew");
        assert!(printed == committed(*document), "{help}:\n{printed}");
    }
}

#[test]
fn every_field_is_described_with_its_unit() {
    for document in Document::value_variants() {
        let schema: Value = serde_json::from_str(&committed(*document)).unwrap();
        for (name, description) in fields(&schema) {
            let of = format!("{}: {name}", document.command());
            let description = description.unwrap_or_else(|| panic!("{of} is not described"));
            assert!(!description.contains("None") && !description.contains("[`"), "{of}: Rust's words: {description}");
            let unit = UNITS.iter().filter(|(ending, _)| name.ends_with(ending) && !NO_TIMES.contains(&name.as_str()));
            for (_, unit) in unit {
                assert!(description.to_lowercase().contains(&unit.to_lowercase()), "{of}: no {unit}: {description}");
            }
        }
    }
}

#[test]
fn what_compare_prints_is_as_the_schema_says() {
    for command in [
        "compare @two.json -m hikey960 -s fair -s fair+powersave --runs 2 --parameter hz=100,250 --json",
        "compare @two.json -m hikey960 -s fair -s fair+powersave --runs 2 --sensitivity --json",
        "compare @erring.json -m hikey960 -s fair --runs 2 --json",
        "compare @one.json @two.json -m hikey960 -s fair -s fair+powersave --runs 1 --duration 1s --json",
        "compare @erring.json -m hikey960 -s fair --seed 1 --runs 2 --baseline @base.json --fail-if energy>1.02 --json",
    ] {
        assert_eq!(mistakes_in(Document::Compare, &of_the_mock(command)), [""; 0], "{command}");
    }
}

#[test]
fn what_simulate_prints_is_as_the_schema_says() {
    for command in [
        "simulate @two.json -m hikey960 --json",
        "simulate @frames.json -m hikey960 --json --reproducible",
        "simulate @erring.json -m hikey960 -s fair --json",
    ] {
        assert_eq!(mistakes_in(Document::Simulate, &of_the_mock(command)), [""; 0], "{command}");
    }
    for command in [
        "simulate periodic -m odroid-xu3 --duration 100ms --json",
        "simulate noise -m core-ultra-7-258v -s tandem,all=true --duration 100ms --json",
    ] {
        assert_eq!(mistakes_in(Document::Simulate, &of_the_simulator(command)), [""; 0], "{command}");
    }
}

#[test]
fn what_why_prints_is_as_the_schema_says() {
    for command in [
        "why locks -m hikey960 --duration 200ms --worst 50 --json",
        "why periodic -m smp-8 -g powersave --duration 500ms --worst 50 --json",
        "why forkjoin -m hikey960 -s tandem --duration 100ms --worst 20 --json",
    ] {
        assert_eq!(mistakes_in(Document::Why, &of_the_simulator(command)), [""; 0], "{command}");
    }
}

#[test]
fn what_explain_prints_is_as_the_schema_says() {
    for command in [
        "explain -m hikey960 --json",
        "explain noise -m hikey960 --limit 50ms --json",
        "explain pipeline -m smp-8 --limit 50ms --no-advice --json",
    ] {
        assert_eq!(mistakes_in(Document::Explain, &of_the_simulator(command)), [""; 0], "{command}");
    }
}

#[test]
fn what_tune_prints_is_as_the_schema_says() {
    let tune = "tune pipeline -m hikey960 -s tandem --parameter serial_threshold=1..4 --limit time<=1.02 --trials 3";
    let command = format!("{tune} --runs 1 --confirm 2 --duration 50ms --json");
    assert_eq!(mistakes_in(Document::Tune, &of_the_simulator(&command)), [""; 0]);
}

#[test]
fn what_experiment_prints_is_as_the_schema_says() {
    for command in ["experiment @governors.toml --json", "experiment @governors.toml --seeds 3 --sensitivity --json"] {
        assert_eq!(mistakes_in(Document::Experiment, &of_the_mock(command)), [""; 0], "{command}");
    }
}

#[test]
fn what_reproduce_wrote_is_as_the_schema_says() {
    let text = fs::read_to_string(format!("{}/../../docs/results.json", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let results: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(mistakes_in(Document::Reproduce, &results), [""; 0]);
}

#[test]
fn what_analyze_prints_is_as_the_schema_says() {
    for command in
        ["analyze --applications 4 --json", "analyze -m proliant-dl580:asymmetric --simulate 20ms --runs 2 --json"]
    {
        assert_eq!(mistakes_in(Document::Analyze, &of_the_simulator(command)), [""; 0], "{command}");
    }
}

#[test]
fn what_scheduler_show_prints_is_as_the_schema_says() {
    for command in ["scheduler show tandem --json", "scheduler show single --json", "scheduler show o1 --json"] {
        assert_eq!(mistakes_in(Document::Scheduler, &of_the_simulator(command)), [""; 0], "{command}");
    }
}

/// Checks that `report` is as the schema says, and is not any more where a value is another, or nothing in place of it.
fn damages_are_found(document: Document, report: &Value, damages: &[(&str, Option<Value>)]) {
    assert_eq!(mistakes_in(document, report), [""; 0], "{document:?}");
    for (pointer, value) in damages {
        let mut damaged = report.clone();
        let (parent, name) = pointer.rsplit_once('/').unwrap();
        let parent = damaged.pointer_mut(parent).and_then(Value::as_object_mut).expect(pointer);
        match value {
            Some(value) => drop(parent.insert(name.to_owned(), value.clone())),
            None => drop(parent.remove(name).expect(pointer)),
        }
        assert!(!mistakes_in(document, &damaged).is_empty(), "{document:?}: {pointer}: {value:?}");
    }
}

#[test]
fn a_damaged_comparison_is_refused() {
    let report = of_the_mock("compare @one.json -m hikey960 -s fair --runs 1 --json");
    let damages = [
        ("/machine", None),
        ("/machine", Some(Value::Null)),
        ("/pairs/0/runs/0/energy_j/total", Some("8 J".into())),
        ("/pairs/0/metrics/time_s/mean", Some(true.into())),
        ("/pairs/0/runs/0/new_field", Some(1.into())),
        ("/gate", Some(1.into())),
    ];
    damages_are_found(Document::Compare, &report, &damages);
}

#[test]
fn a_damaged_report_of_a_run_is_refused() {
    let report = of_the_simulator("simulate noise -m hikey960 -s tandem --duration 100ms --json");
    let damages = [
        ("/energy_j/supply", None),
        ("/produced_by/inputs/0/sha256", None),
        ("/tasks/0/wait_time_s", Some("1 s".into())),
        ("/wakeup_latency_ns/p99", Some(1.5.into())),
        ("/cpus/0/freq_residency/fast", Some(1.into())),
        ("/sched_ext/statistics", Some(Value::Array(Vec::new()))),
        ("/new_field", Some(1.into())),
    ];
    damages_are_found(Document::Simulate, &report, &damages);
}

#[test]
fn damaged_waits_are_refused() {
    let report = of_the_simulator("why locks -m hikey960 --duration 100ms --json");
    let damages = [
        ("/waits/0/overhead/cold_s", None),
        ("/waits/0/start/how", Some("asked".into())),
        ("/waits/0/cause", Some("bad luck".into())),
        ("/waits/0/priority", Some("high".into())),
        ("/rounds", Some(Value::Null)),
        ("/produced_by", Some(1.into())),
    ];
    damages_are_found(Document::Why, &report, &damages);
}

#[test]
fn a_damaged_explanation_is_refused() {
    let report = of_the_simulator("explain pipeline -m hikey960 --limit 50ms --no-advice --json");
    let damages = [
        ("/machine/cpus", None),
        ("/machine/kinds/0/performance", Some("fast".into())),
        ("/mechanisms/0/verdict", Some("may act".into())),
        ("/mechanisms/0/why", None),
        ("/advice", Some(true.into())),
    ];
    damages_are_found(Document::Explain, &report, &damages);
}

#[test]
fn damaged_settings_of_a_search_are_refused() {
    let tune = "tune pipeline -m hikey960 -s tandem --parameter serial_threshold=1..4 --trials 3 --runs 1 --confirm 2";
    let report = of_the_simulator(&format!("{tune} --duration 20ms --json"));
    let damages = [
        ("/best/time/low", None),
        ("/best/gain", Some("maybe".into())),
        ("/goal/minimise", Some("heat".into())),
        ("/tried", Some((-1.5).into())),
        ("/best/settings/serial_threshold", Some(1.into())),
    ];
    damages_are_found(Document::Tune, &report, &damages);
}

#[test]
fn damaged_numbers_of_an_experiment_are_refused() {
    let report = of_the_mock("experiment @governors.toml --json");
    let damages = [
        ("/series/0/where", None),
        ("/series/0/unit", Some(1.into())),
        ("/series/0/cells/0/ours/mean", Some("1 s".into())),
        ("/series/0/cells/0/bound", Some("about".into())),
        ("/series/0/cells/0/verdict", None),
        ("/sensitivity", Some(1.into())),
    ];
    damages_are_found(Document::Experiment, &report, &damages);
}

#[test]
fn damaged_tables_of_the_model_are_refused() {
    let report = of_the_simulator("analyze --json");
    let damages = [
        ("/alone/serial", None),
        ("/fairness/baseline/serial", Some("low".into())),
        ("/baseline", Some(Value::Array(Vec::new()))),
        ("/baseline/0/state/a", Some("idle".into())),
        ("/new_field", Some(1.into())),
    ];
    damages_are_found(Document::Analyze, &report, &damages);
}

#[test]
fn a_damaged_listing_is_refused() {
    let report = of_the_simulator("scheduler show tandem --json");
    let damages = [
        ("/variables/0/range", Some(serde_json::json!([1]))),
        ("/maps/0/key_size", None),
        ("/callbacks", Some(1.into())),
        ("/timeout_ms", Some(1.5.into())),
    ];
    damages_are_found(Document::Scheduler, &report, &damages);
}
