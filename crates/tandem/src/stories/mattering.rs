// SPDX-License-Identifier: GPL-2.0-only
//! Which values of a machine matter: `compare --sensitivity`, `machine show --for`, and the last line of reports. Linux is simulated
//! here, as the mock knows no values.

use serde_json::Value;
use tandem_experiments::Linux;

use super::Story;

/// Runs `command` with the real simulator.
fn tandem(story: &Story, command: &str) -> Result<String, String> {
    let (bytes, result) = story.run_on(&Linux, command)?;
    result.map_err(|failure| failure.to_string())?;
    Ok(String::from_utf8(bytes).unwrap())
}

fn fits(text: &str, width: usize) {
    assert!(text.lines().all(|line| console::measure_text_width(line) <= width), "{text}");
}

#[test]
fn a_machine_shows_which_values_matter_for_a_workload() {
    let story = Story::on_terminal(80);
    let text = tandem(&story, "machine show hikey960 --for @one.json --runs 2").unwrap();
    let (_, found) = text.split_once("\nWhich of").unwrap();
    fits(found, 80);
    let title = found.split_whitespace().take(16).collect::<Vec<_>>().join(" ");
    assert_eq!(title, "the 28 assumed values (of 66) of hikey960 matter for one under fair+schedutil: each is moved");
    assert!(found.contains("\nvalue ") && found.contains("? package.soc uncore_watts "), "{found}");
    assert!(found.contains("Not moved (a word, not a number): cluster.little"), "{found}");
    assert!(!found.contains("who wins"), "one pair wins alone");
    let alone = story.tandem("machine show hikey960 --all-values").unwrap_err();
    assert!(alone.contains("--for <WORKLOAD>"), "{alone}");
}

#[test]
fn all_values_are_moved_if_asked() {
    let story = Story::on_terminal(80);
    let text = tandem(&story, "machine show smp-8 --for @one.json --all-values --runs 1").unwrap();
    let (_, found) = text.split_once("\nWhich of").unwrap();
    fits(found, 80);
    assert!(found.contains("opp_table.") && found.contains(" assumed) of smp-8"), "{found}");
}

#[test]
fn a_comparison_says_which_values_matter() {
    let story = Story::on_terminal(80);
    let command =
        "compare @two.json -m hikey960 -s fair+performance -s fair+powersave --runs 2 --no-alone --sensitivity";
    let text = tandem(&story, &format!("{command} --json=@r.json --csv=@r.csv --markdown=@r.md")).unwrap();
    fits(&text, 80);
    assert!(text.contains("\nWhich of the 28 assumed values (of 66)"), "{text}");
    assert!(text.ends_with("\n") && text.contains("\n28 of 66 values of this machine are assumed; "), "{text}");
    assert!(!text.contains("says which matter"), "it is said already");
    let markdown = std::fs::read_to_string(story.path("r.md")).unwrap();
    assert!(markdown.contains("| value | line | time | energy |"), "{markdown}");

    let json: Value = serde_json::from_str(&std::fs::read_to_string(story.path("r.json")).unwrap()).unwrap();
    let share = json["produced_by"]["assumed"][0]["energy"].as_f64().unwrap();
    assert!(share > 0.0 && share < 1.0, "{share}");
    let found = &json["sensitivity"][0];
    assert_eq!((&found["values"], &found["assumed"]), (&66.into(), &28.into()));
    let count = |list: &str| found[list].as_array().unwrap().len();
    assert_eq!(count("moved") + count("not_moved"), 28);
    assert_eq!(found["moved"][0]["pairs"].as_array().unwrap().len(), 2);
    let document = include_str!("../../../../docs/reports.md");
    let (_, document) = document.split_once("### Which values matter").unwrap();
    for list in ["moved", "not_moved"] {
        for field in found[list][0].as_object().unwrap().keys() {
            assert!(document.contains(field.as_str()), "docs/reports.md does not describe `{field}`");
        }
    }
}

#[test]
fn rows_of_runs_have_no_place_for_it() {
    let story = Story::new();
    let refused = story.tandem("compare @one.json -m hikey960 -s fair --sensitivity --csv").unwrap_err();
    assert!(refused.contains("--csv=FILE writes them beside the text"), "{refused}");
    let csv = story.tandem("compare @one.json -m hikey960 -s fair --runs 1 --csv").unwrap();
    assert!(!csv.contains("assumed"), "{csv}");
}

#[test]
fn reports_end_with_what_they_rest_on() {
    // A quarter of the mock's energy is the memory's, and its watts are assumed.
    let line = "28 of 66 values of this machine are assumed; 25.0 % of the energy rests on them, most on memory.dram static_watts \
                (`tandem compare --sensitivity` says which matter).\n";
    let story = Story::new();
    for command in ["simulate @one.json -m hikey960", "compare @one.json -m hikey960 -s fair --runs 2"] {
        let text = story.tandem(command).unwrap();
        assert!(text.ends_with(&format!("\n\n{line}")), "{text}");
        let json: Value = serde_json::from_str(&story.tandem(&format!("{command} --json")).unwrap()).unwrap();
        assert_eq!(json["produced_by"]["assumed"][0]["energy"], 0.25, "{command}");
    }
    let matrix = story.tandem("compare @one.json -m hikey960 -m rk3399 -s fair --runs 1").unwrap();
    assert!(matrix.contains("\n28 of 66 values of hikey960 are assumed; 25.0 %"), "{matrix}");
    assert!(matrix.contains(" values of rk3399 are assumed"), "{matrix}");
}
