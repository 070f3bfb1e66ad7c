// SPDX-License-Identifier: GPL-2.0-only
//! Stories of `tandem reproduce`, with a paper of one table. Times and powers are those of the mock: 1 s at 10 W under
//! performance, 1.25 s at 6 W under schedutil, 2 s at 4 W under powersave, times 0.99, 1 and 1.01 with the seeds 0, 1 and 2.

use std::fs;

use super::Story;
use crate::failure::Failure;

const PAPER: &str = r#"title = "On governors"
source = "A. Author, a venue"

[[parameter]]
machine = "hikey960"
path = "memory.*.gb_per_s"
what = "bandwidth"

[[choice]]
what = "the clock of powersave"
chosen = "the lowest"
why = "the kernel has it so"
after_verdicts = true
[[choice.alternative]]
what = "the second lowest"
gives = "run time 1.4 | 1.5"
[[choice.alternative]]
what = "none"
gives = "not run"
"#;

const TABLE: &str = r#"title = "Table 1: three governors"
about = "All at once, without | anything left out."
seeds = 3

[axes]
governor = ["performance", "schedutil", "powersave"]

[run.both]
machine = "hikey960"
workload = "both.json"
scheduler = "fair+{governor}"

[[series]]
where = "Table 1"
what = "run time"
unit = "ratio"
ours = 'time("both") / time("both", #{governor: "performance"})'
[[series.cell]]
at = { governor = "schedutil" }
published = 1.3
headline = true
[[series.cell]]
at = { governor = "powersave" }
published = 1.5
note = "about"

[[series]]
where = "Table 1"
what = "energy saving"
unit = "%"
ours = '100 * (1 - energy("both") / energy("both", #{governor: "performance"}))'
headline = true
[[series.cell]]
at = { governor = "schedutil" }
published = -4
[[series.cell]]
at = { governor = "powersave" }

[[series]]
where = "Table 2"
what = "power"
unit = "W"
ours = 'power("both")'
beside = { governor = "performance" }
[[series.cell]]
at = { governor = "performance" }
published = 12
bound = "at most"
[[series.cell]]
at = { governor = "schedutil" }
published = 8
derived_from = "energy over time"
neutral = { what = "run time", at = { governor = "powersave" } }
[[series.cell]]
at = { governor = "powersave" }
published = 4.1
calibrated = "machines/hikey960.toml: something"

[[series]]
where = "section 3"
what = "performance, the mean of all governors"
unit = "s/s"
ours = 'performance("both", "fast")'
over = "governor"
[[series.cell]]
published = 0.4

[[series]]
where = "section 3"
what = "jitter"
unit = "1e-3"
ours = '1000 * jitter("both")'
[[series.cell]]
at = { governor = "performance" }
published = 8

[[series]]
where = "section 4"
what = "opinions"
unit = "count"
not_modelled = "machines have none"
[[series.cell]]
published = 12345
"#;

/// A story whose folder has the paper `tiny`, with `from` replaced by `to` in its table.
fn with_paper(width: Option<usize>, from: &str, to: &str) -> Story {
    let story = Story { width, ..Story::new() };
    let folder = story.path("papers/tiny");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("paper.toml"), PAPER).unwrap();
    assert!(TABLE.contains(from), "{from}");
    fs::write(folder.join("table1.toml"), TABLE.replace(from, to)).unwrap();
    fs::write(folder.join("both.json"), super::TWO_APPLICATIONS).unwrap();
    story
}

fn mistake(from: &str, to: &str) -> String {
    let story = with_paper(None, from, to);
    let message = story.tandem("reproduce --papers @papers").unwrap_err();
    message.replace(story.folder.path().to_str().unwrap(), "")
}

#[test]
fn each_published_number_stands_beside_ours() {
    let story = with_paper(Some(100), "seeds", "seeds");
    insta::assert_snapshot!(story.tandem("reproduce --papers @papers").unwrap());
    // Three governors with three seeds, whatever the number of expressions.
    assert_eq!(story.mock.calls.load(std::sync::atomic::Ordering::Relaxed), 9);
}

#[test]
fn a_star_is_the_mean_over_an_axis() {
    let of_performance = "ours = 'performance(\"both\", \"fast\")'\nover = \"governor\"";
    let story = with_paper(None, of_performance, "ours = 'time(\"both\", #{governor: \"*\"})'");
    // (1 + 1.25 + 2) / 3.
    let text = story.tandem("reproduce --papers @papers").unwrap();
    assert!(text.contains("1.417 ±"), "{text}");
    let wrong = mistake(of_performance, "ours = 'time(\"both\", #{governer: \"*\"})'");
    assert!(wrong.contains("did you mean `governor`?"), "{wrong}");
}

#[test]
fn a_narrow_terminal_has_sentences() {
    let story = with_paper(Some(44), "seeds", "seeds");
    let text = story.tandem("reproduce --papers @papers").unwrap();
    assert!(text.lines().all(|line| console::measure_text_width(line) <= 44), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn written_results_are_a_page_a_figure_and_numbers() {
    let story = with_paper(None, "seeds", "seeds");
    story.tandem("reproduce tiny --papers @papers --sensitivity --write @").unwrap();
    let read = |name: &str| fs::read_to_string(story.path(name)).unwrap();
    insta::assert_snapshot!("page", read("results.md"));
    insta::assert_snapshot!("paper", read("results/tiny.md"));
    let json = read("results.json");
    // The last member; it names the story's folder.
    let (numbers, produced) = json.split_once(",\n  \"produced_by\": ").unwrap();
    insta::assert_snapshot!("numbers", format!("{numbers}\n}}\n"));
    assert!(produced.contains("papers/tiny/table1.toml") && produced.contains("\"kind\": \"machine\""), "{produced}");
    let figure = read("results/tiny-table1-run-time.svg");
    assert!(figure.starts_with("<svg") && figure.trim_end().ends_with("</svg>"), "{figure}");
    for text in ["Table 1: three governors", "run time [ratio]", "powersave", ">published<", ">agrees<"] {
        assert!(figure.contains(text), "{text}: {figure}");
    }
    assert!(!figure.contains("opinions"), "{figure}");
    assert!(fs::read(story.path("results/tiny-table1-run-time.pdf")).unwrap().starts_with(b"%PDF-"));
}

#[test]
fn the_same_seeds_give_the_same_bytes_on_any_number_of_threads() {
    let story = with_paper(None, "seeds", "seeds");
    let written = |jobs: u32| {
        story.tandem(&format!("reproduce --papers @papers --jobs {jobs} --write @")).unwrap();
        [
            "results.md",
            "results/tiny.md",
            "results.json",
            "results/tiny-table1-run-time.svg",
            "results/tiny-table1-run-time.pdf",
        ]
        .map(|name| fs::read(story.path(name)).unwrap())
    };
    assert_eq!(written(1), written(4));
}

#[test]
fn numbers_of_an_earlier_run_are_judged_anew_without_a_run() {
    let story = with_paper(None, "seeds", "seeds");
    let read = |name: &str| fs::read_to_string(story.path(name)).unwrap();
    let calls = || story.mock.calls.load(std::sync::atomic::Ordering::Relaxed);
    story.tandem("reproduce --papers @papers --sensitivity --write @").unwrap();
    let written = ["results.md", "results/tiny.md", "results.json"];
    let (before, runs) = (written.map(read), calls());
    story.tandem("reproduce --papers @papers --from @results.json --write @").unwrap();
    assert_eq!((written.map(read), calls()), (before, runs), "the same files judge the same");
    // 1.25 of 1.3 agrees; with 1.6 it has the same direction, and is off by more than a quarter of 0.6.
    let table = story.path("papers/tiny/table1.toml");
    fs::write(&table, TABLE.replace("published = 1.3", "published = 1.6")).unwrap();
    story.tandem("reproduce --papers @papers --from @results.json --write @").unwrap();
    assert_eq!(calls(), runs);
    let json: serde_json::Value = serde_json::from_str(&read("results.json")).unwrap();
    let cell = &json["papers"][0]["experiments"][0]["series"][0]["cells"][0];
    assert_eq!((&cell["verdict"], &cell["strict"]), (&"same_direction".into(), &false.into()), "{cell}");
    // What another expression gave is no number of this one, nor is what is missing there.
    fs::write(&table, TABLE.replace("performance(\"both\", \"fast\")", "performance(\"both\", \"slow\")")).unwrap();
    let other = story.tandem("reproduce --papers @papers --from @results.json").unwrap_err();
    assert!(other.contains("by the expression of today") && other.contains("without --from computes it"), "{other}");
    fs::write(story.path("wrong.json"), "{\n  \"schema\": 1,\n  \"papers\": 3\n}").unwrap();
    let wrong = story.tandem("reproduce --papers @papers --from @wrong.json").unwrap_err();
    assert!(wrong.contains("wrong.json:3:"), "{wrong}");
}

#[test]
fn more_seeds_may_be_asked_for() {
    let story = with_paper(None, "seeds", "seeds");
    assert!(story.tandem("reproduce --papers @papers --seeds 6").unwrap().contains("(6 seeds)"));
    assert_eq!(story.mock.calls.load(std::sync::atomic::Ordering::Relaxed), 18);
    let one = story.tandem("reproduce --papers @papers --seeds 1").unwrap_err();
    assert!(one.contains("it needs two seeds or more"), "{one}");
}

/// A story in which Ctrl-C is pressed while the simulation with this number goes on, one at a time.
fn interrupted_in(simulation: usize, options: &str) -> (Story, String, Failure) {
    let mut story = with_paper(Some(80), "seeds", "seeds");
    story.mock.interrupted_in = simulation;
    let (text, result) = story.run(&format!("reproduce --papers @papers --jobs 1 {options}")).unwrap();
    let failure = result.unwrap_err();
    assert_eq!(format!("{:?}", failure.report()), format!("{:?}", std::process::ExitCode::from(130)));
    (story, text, failure)
}

#[test]
fn an_interrupt_prints_what_is_finished_and_says_what_is_missing() {
    // Runs are in the order of their schedulers' names: three of performance, three of powersave, three of schedutil.
    let (story, text, failure) = interrupted_in(7, "");
    assert_eq!(story.mock.calls.load(std::sync::atomic::Ordering::Relaxed), 7);
    assert!(text.contains("powersave        1.5  2.000 ± 0.000  same direction"), "{text}");
    assert!(!text.contains("schedutil "), "{text}");
    let missing = "missing are tiny: 4 of 9 simulated numbers";
    assert!(text.ends_with(&format!("Interrupted: {missing}.\n")), "{text}");
    assert_eq!(failure.to_string(), format!("interrupted: {missing}"));
}

#[test]
fn an_interrupt_before_anything_is_finished_says_that_all_is_missing() {
    let (_, text, _) = interrupted_in(1, "--sensitivity");
    let said = "Interrupted: missing are tiny: all 9 simulated numbers and the sensitivity\n  table.";
    assert_eq!(text.trim(), said);
}

#[test]
fn an_interrupt_of_the_sensitivity_table_leaves_all_numbers() {
    let (_, text, failure) = interrupted_in(10, "--sensitivity");
    assert!(text.contains("schedutil "), "{text}");
    assert_eq!(failure.to_string(), "interrupted: missing are tiny: the sensitivity table");
}

#[test]
fn an_interrupt_leaves_files_as_they_were() {
    let (story, text, _) = interrupted_in(7, "--write @ --json=@out.json");
    assert!(text.contains("Interrupted: "), "{text}");
    let files = story.files();
    assert!(!files.iter().any(|name| name.starts_with("results") || name.starts_with('.')), "{files:?}");
    assert!(!files.contains(&"out.json".to_owned()), "{files:?}");
    let (_, json, _) = interrupted_in(7, "--json");
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let missing = serde_json::json!([{ "paper": "tiny", "numbers": 4, "of": 9, "sensitivity": false }]);
    assert_eq!(json["missing"], missing);
}

#[test]
fn a_list_runs_nothing() {
    let story = with_paper(None, "seeds", "seeds");
    insta::assert_snapshot!(story.tandem("reproduce --papers @papers --list").unwrap(), @r"
    tiny: A. Author, a venue, On governors
      table1  Table 1: three governors (10 numbers)
    ");
    assert_eq!(story.mock.calls.load(std::sync::atomic::Ordering::Relaxed), 0);
    let unknown = story.tandem("reproduce tinny --papers @papers").unwrap_err();
    assert!(unknown.contains("did you mean `tiny`?"), "{unknown}");
}

#[test]
fn a_mistake_is_told_with_its_place_and_what_was_meant() {
    let slips = [
        ("scheduler =", "schedular ="),
        ("at = { governor = \"schedutil\" }\npublished = 1.3", "at = { governor = \"shedutil\" }"),
        ("{governor}", "{govenor}"),
        ("power(\"both\")", "power(\"bot\")"),
        ("power(\"both\")", "pover(\"both\")"),
        ("power(\"both\")", "power(\"both\""),
        ("over = \"governor\"\n", ""),
        ("not_modelled = \"machines have none\"\n", ""),
        ("both.json", "bothe.json"),
        ("machine = \"hikey960\"", "machine = \"hikey961\""),
        ("fair+{governor}", "far+{governor}"),
        ("what = \"run time\", at", "what = \"run tine\", at"),
        ("at = { governor = \"powersave\" } }", "at = { governor = \"performance\" } }"),
        ("neutral = { what = \"run time\", at", "neutral = { what = \"run time\", it"),
        ("neutral = { what = \"run time\", at = { governor = \"powersave\" } }", "neutral = {}"),
        ("neutral = { what = \"run time\", at = { governor = \"powersave\" } }", "neutral = \"none\""),
        ("derived_from = \"energy over time\"", "derived_from = \" \""),
    ];
    let messages = slips.map(|(from, to)| mistake(from, to));
    insta::assert_snapshot!(messages.join("\n\n"));
}

#[test]
fn a_choice_has_an_alternative() {
    let story = with_paper(None, "seeds", "seeds");
    let path = story.path("papers/tiny/paper.toml");
    let slip = |from: &str, to: &str| {
        let text = PAPER.split_once(from).map(|(before, rest)| format!("{before}{to}{rest}")).unwrap();
        fs::write(&path, text).unwrap();
        story.tandem("reproduce --papers @papers --list").unwrap_err()
    };
    let (choice, _) = PAPER.split_once("[[choice.alternative]]").unwrap();
    fs::write(&path, choice).unwrap();
    let none = story.tandem("reproduce --papers @papers --list").unwrap_err();
    assert!(none.contains("paper.toml:9:1: a choice without an alternative is none"), "{none}");
    let empty = slip("gives = \"not run\"", "gives = \"\"");
    assert!(empty.contains("paper.toml:19:9: `gives` is empty"), "{empty}");
    let unsaid = slip("after_verdicts = true\n", "");
    assert!(unsaid.contains("missing field `after_verdicts`"), "{unsaid}");
}

#[test]
fn every_field_of_the_numbers_is_documented() {
    fn fields(value: &serde_json::Value, known: &mut Vec<String>) {
        match value {
            serde_json::Value::Object(members) => members.iter().for_each(|(name, value)| {
                known.push(name.clone());
                // Files choose the names of the members.
                if !["at", "counts", "produced_by"].contains(&name.as_str()) {
                    fields(value, known);
                }
            }),
            serde_json::Value::Array(items) => items.iter().for_each(|item| fields(item, known)),
            _ => {}
        }
    }
    let story = with_paper(None, "seeds", "seeds");
    let text = story.tandem("reproduce --papers @papers --sensitivity --json").unwrap();
    let (_, document) = include_str!("../../../../docs/reports.md").split_once("## Published numbers").unwrap();
    let mut known = Vec::new();
    fields(&serde_json::from_str(&text).unwrap(), &mut known);
    for field in known {
        let said = ["`", "."].iter().any(|before| document.contains(&format!("{before}{field}`")));
        let inner = document.contains(&format!("{field}[]")) || document.contains(&format!("`{field}`"));
        assert!(said || inner, "docs/reports.md does not describe `{field}`");
    }
}
