// SPDX-License-Identifier: GPL-2.0-only
//! A search for settings with the simulator itself.

use serde_json::Value;

use crate::command::{mistake, shown};

/// A search of a few settings, small enough for a test.
const SEARCH: [&str; 19] = [
    "tune",
    "--quiet",
    "mixed-memory",
    "-m",
    "hikey960",
    "-s",
    "tandem",
    "--parameter",
    "speed",
    "--parameter",
    "longest",
    "--parameter",
    "edp_slowdown_pct=0..100",
    "--trials",
    "9",
    "--runs",
    "2",
    "--confirm",
    "3",
];

fn searched(more: &[&str]) -> String {
    shown(std::path::Path::new("."), &[&SEARCH[..], more].concat())
}

#[test]
fn a_search_is_a_function_of_its_seed_and_says_how_sure_it_is() {
    let text = searched(&["--limit", "time<=1.1", "--json"]);
    assert_eq!(searched(&["--limit", "time<=1.1", "--json"]), text);
    let found: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(found["parameters"], serde_json::json!(["speed", "longest", "edp_slowdown_pct"]));
    assert!((3..=9).contains(&found["tried"].as_u64().unwrap()), "{found}");
    let front = found["front"].as_array().unwrap();
    assert!(!front.is_empty() && front.len() <= 8);
    for point in front.iter().chain([&found["best"]]) {
        for ratio in [&point["time"], &point["energy"], &point["minimised"]] {
            let [low, mean, high] = ["low", "mean", "high"].map(|key| ratio[key].as_f64().unwrap());
            assert!(0.0 < low && low <= mean && mean <= high, "{point}");
        }
        assert_eq!(point["energy"], point["minimised"]);
    }
    // From the fastest to the thriftiest, as the search saw them.
    let seen: Vec<f64> = front.iter().map(|point| point["searched"].as_f64().unwrap()).collect();
    assert!(seen.windows(2).all(|pair| pair[0] > pair[1]), "{seen:?}");
    // What the confirmation says is what a comparison says.
    let settings: Vec<String> = found["best"]["settings"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(name, value)| format!("{name}={}", value.as_str().unwrap()))
        .collect();
    assert!(!settings.is_empty(), "nothing was found: {found}");
    let best = format!("tandem,{}", settings.join(","));
    let compare =
        ["compare", "mixed-memory", "-m", "hikey960", "-s", "tandem", "-s", &best, "--runs", "3", "--seed", "2"];
    let compared = shown(std::path::Path::new("."), &[&compare[..], &["--no-alone", "--quiet", "--json"]].concat());
    let compared: Value = serde_json::from_str(&compared).unwrap();
    let energy = |pair: usize, run: usize| compared["pairs"][pair]["runs"][run]["energy_j"]["total"].as_f64().unwrap();
    let logarithms: f64 = (0..3).map(|run| (energy(1, run) / energy(0, run)).ln()).sum();
    let mean = found["best"]["energy"]["mean"].as_f64().unwrap();
    assert!(((logarithms / 3.0).exp() - mean).abs() < 1e-12, "{mean} {compared}");
}

#[test]
fn a_person_reads_the_best_settings_and_the_front() {
    let text = searched(&["--minimise", "edp"]);
    assert!(text.starts_with("tandem+schedutil: least edp over 3 settings, "), "{text}");
    assert!(
        text.contains("What can be had for what") && text.contains("3 seeds that the search did not see"),
        "{text}"
    );
}

#[test]
fn what_cannot_be_searched_is_told() {
    let of = |arguments: &[&str]| {
        mistake(std::path::Path::new("."), &[&["tune", "pipeline", "-m", "hikey960"][..], arguments].concat())
    };
    assert!(of(&["-s", "fair"]).contains("has no settings to search"));
    assert!(of(&["-s", "tandem", "--limit", "tine<=1"]).contains("did you mean `time`?"));
    assert!(of(&["-s", "tandem", "--minimise", "watts"]).contains("valid: `time`, `energy`, `edp`, `ed2p`"));
    assert!(of(&["-s", "single", "--parameter", "slice_uss"]).contains("did you mean `slice_us`?"));
}
