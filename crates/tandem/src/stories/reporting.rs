// SPDX-License-Identifier: GPL-2.0-only
//! Stories of `tandem report` and `simulate --report`. A build without the page says how it is made, and the stories end there.

use std::fs;

use serde_json::Value;
use tandem_report::Page;

use super::{Story, experimenting};

const RUN: &str = "simulate @one.json -m hikey960";

/// Whether this build has the page.
fn has_page() -> bool {
    Page::default().html().is_ok()
}

/// What the page at `name` has for its script.
fn document(story: &Story, name: &str) -> Value {
    let html = fs::read_to_string(story.path(name)).unwrap();
    let (_, rest) = html.split_once(r#"<script type="application/json" id="document">"#).unwrap();
    serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
}

#[test]
fn a_build_without_the_page_says_how_it_is_made_before_it_simulates() {
    if has_page() {
        return;
    }
    let story = Story::new();
    let error = story.tandem(&format!("{RUN} --report @r.html")).unwrap_err();
    assert!(error.contains("run `make page`"), "{error}");
    assert!(!story.path("r.html").exists());
}

#[test]
fn a_run_is_written_as_a_page_beside_its_other_results() {
    if !has_page() {
        return;
    }
    let story = Story::new();
    let plain = story.tandem(&format!("{RUN} --reproducible --json")).unwrap();
    let both = story.tandem(&format!("{RUN} --reproducible --json --report @r.html --trace @r.pftrace")).unwrap();
    assert_eq!(both, plain, "the report is no part of what a run is produced by");
    let document = document(&story, "r.html");
    assert_eq!(document["runs"][0]["report"]["workload"], "one");
    assert_eq!(document["machines"][0]["name"], "hikey960");
    assert!(document["runs"][0]["timeline"]["end"].as_u64() > Some(0));
    assert_eq!(document["runs"][0]["produced_by"]["command"][1], "simulate");
    let printed = story.tandem(&format!("{RUN} --reproducible --report -")).unwrap();
    assert!(printed.starts_with("<!doctype html>") && printed.trim_end().ends_with("</html>"));
    let error = story.tandem(&format!("{RUN} --json --report -")).unwrap_err();
    assert_eq!(error, "--json and --report both print on standard output");
}

#[test]
fn files_of_all_kinds_become_one_page_and_a_trace_joins_its_run() {
    if !has_page() {
        return;
    }
    let story = experimenting::story("seeds = 1", "seeds = 2");
    for command in [
        "simulate @one.json -m hikey960 --json=@run.json --trace @run.pftrace",
        "why @one.json -m hikey960 --json=@why.json",
        "compare @one.json @two.json -m hikey960 -s fair+schedutil -s fair+powersave --runs 3 --json=@matrix.json",
        "compare @one.json -m hikey960 -s fair+schedutil -s fair+powersave --runs 3 --json=@compare.json",
        "experiment @governors.toml --json=@experiment.json",
    ] {
        story.tandem(command).unwrap_or_else(|error| panic!("{command}: {error}"));
    }
    let files = "@run.json @run.pftrace @why.json @matrix.json @compare.json @experiment.json";
    story.tandem(&format!("report {files} -o @all.html")).unwrap();
    let document = document(&story, "all.html");
    let count = |field: &str| document[field].as_array().unwrap().len();
    assert_eq!(["runs", "compared", "experiments", "waits", "machines"].map(count), [1, 2, 1, 1, 1]);
    assert!(document["runs"][0]["report"].is_object() && document["runs"][0]["timeline"].is_object());
    assert_eq!(document["compared"][0]["comparisons"].as_array().unwrap().len(), 2);
    // The command knows its own pages, and replaces them.
    story.tandem("report @run.json -o @all.html").unwrap();
}

#[test]
fn what_is_damaged_or_foreign_is_told_with_its_place_and_nothing_is_written() {
    let story = Story::new();
    story.tandem(&format!("{RUN} --json=@run.json --trace @run.pftrace")).unwrap();
    let whole = fs::read_to_string(story.path("run.json")).unwrap();
    let wrong = whole.replacen(r#""time_s": "#, r#""time_s": "long", "was": "#, 1);
    let line = 1 + whole.split_once(r#""time_s""#).unwrap().0.matches('\n').count();
    fs::write(story.path("half.json"), &whole[..whole.len() / 2]).unwrap();
    fs::write(story.path("wrong.json"), wrong).unwrap();
    fs::write(story.path("bytes"), [0xFF, 0xFE, 0]).unwrap();
    let trace = fs::read(story.path("run.pftrace")).unwrap();
    fs::write(story.path("half.pftrace"), &trace[..trace.len() - 3]).unwrap();
    fs::create_dir(story.path("empty")).unwrap();
    for (input, said) in [
        ("@half.json", "half.json:".to_owned()),
        ("@half.json", "EOF while parsing".to_owned()),
        ("@wrong.json", format!("wrong.json:{line}:")),
        ("@wrong.json", "invalid type: string \"long\", expected f64".to_owned()),
        ("@one.json", "one.json: is no report: is it a workload?".to_owned()),
        ("@bytes", "is neither JSON nor a trace".to_owned()),
        ("@half.pftrace", "half.pftrace: byte ".to_owned()),
        ("@empty", "has no file that ends in .json or .pftrace".to_owned()),
        ("@nowhere.json", "nowhere.json: cannot be read".to_owned()),
    ] {
        let error = story.tandem(&format!("report {input} -o @r.html")).unwrap_err();
        assert!(error.contains(&said), "{input}: {error}");
        assert!(!story.path("r.html").exists());
    }
}

#[test]
fn a_page_never_takes_the_place_of_an_input_or_of_a_file_of_another_kind() {
    if !has_page() {
        return;
    }
    let story = Story::new();
    story.tandem(&format!("{RUN} --json=@run.json")).unwrap();
    let error = story.tandem("report @run.json -o @run.json --force").unwrap_err();
    assert!(error.contains("is read as an input of the report"), "{error}");
    fs::write(story.path("mine.html"), "<!doctype html><title>mine</title>").unwrap();
    let error = story.tandem("report @run.json -o @mine.html").unwrap_err();
    assert!(error.contains("there is a file that is no page of tandem report"), "{error}");
    story.tandem("report @run.json -o @mine.html --force").unwrap();
    assert!(fs::read_to_string(story.path("mine.html")).unwrap().contains("content=\"tandem "));
}

#[test]
fn names_that_are_code_stay_text() {
    if !has_page() {
        return;
    }
    let story = Story::new();
    story.tandem(&format!("{RUN} --json=@run.json")).unwrap();
    let hostile = "</script><script>alert(1)</script><!--";
    let mut report: Value = serde_json::from_str(&fs::read_to_string(story.path("run.json")).unwrap()).unwrap();
    report["workload"] = hostile.into();
    fs::write(story.path("hostile.json"), report.to_string()).unwrap();
    story.tandem("report @hostile.json -o @r.html").unwrap();
    let html = fs::read_to_string(story.path("r.html")).unwrap();
    assert!(!html.contains(hostile) && !html.contains("<!--"));
    assert_eq!(document(&story, "r.html")["runs"][0]["report"]["workload"], hostile);
}
