// SPDX-License-Identifier: GPL-2.0-only
//! Stories of `tandem experiment`. Times and powers are those of the mock: 1 s at 10 W under performance, 1.25 s at 6 W under
//! schedutil, 2 s at 4 W under powersave.

use std::fs;
use std::sync::atomic::Ordering;

use serde_json::Value;

use super::{Mock, Story};
use crate::failure::Failure;

const FILE: &str = r#"title = "Three governors"
seeds = 1

[axes]
governor = ["performance", "schedutil", "powersave"]
load = ["one", "two"]

[run.all]
machine = "hikey960"
workload = "{load}.json"
scheduler = "fair+{governor}"

[[series]]
what = "run time"
unit = "s"
ours = 'time("all")'
each = ["load", "governor"]
[[series.cell]]
at = { governor = "powersave", load = "two" }
published = 1.95
note = "measured by hand, once"

[[series]]
what = "power against performance"
unit = "%"
ours = '100 * abs(power("all") / power("all", #{governor: "performance"}) - 1)'
each = "governor"
over = "load"
"#;

/// A story whose folder has the experiment, with `from` replaced by `to`.
pub(super) fn story(from: &str, to: &str) -> Story {
    let story = Story::new();
    assert!(FILE.contains(from), "{from}");
    fs::write(story.path("governors.toml"), FILE.replace(from, to)).unwrap();
    story
}

#[test]
fn cells_are_computed_from_the_axes_and_stand_in_tables() {
    let story = story("title", "title");
    // Files beside the experiment are found from any folder.
    insta::assert_snapshot!(story.tandem("experiment @governors.toml").unwrap(), @r"
    Three governors (1 seed, disturbed)

    run time
    governor     load       s  published  deviation  verdict  note
    performance  one   0.9900          —
    schedutil    one    1.238          —
    powersave    one    1.980          —
    performance  two   0.9900          —
    schedutil    two    1.238          —
    powersave    two    1.980       1.95     +1.5 %  agrees   measured by hand, once

    power against performance
    governor         %
    performance  0.000
    schedutil    40.00
    powersave    60.00
    ");
    // Three governors and two workloads, however many numbers.
    assert_eq!(story.mock.calls.load(Ordering::Relaxed), 6);
}

#[test]
fn a_row_for_each_number_is_csv() {
    let story = story("title", "title");
    insta::assert_snapshot!(story.tandem("experiment @governors.toml --csv").unwrap(), @r"
    experiment,series,where,unit,governor,load,mean,half_width,seeds,published,bound,deviation,verdict
    governors,run time,,s,performance,one,0.99,,1,,,,
    governors,run time,,s,schedutil,one,1.2375,,1,,,,
    governors,run time,,s,powersave,one,1.98,,1,,,,
    governors,run time,,s,performance,two,0.99,,1,,,,
    governors,run time,,s,schedutil,two,1.2375,,1,,,,
    governors,run time,,s,powersave,two,1.98,,1,1.95,,1.5384615384615399,agrees
    governors,power against performance,,%,performance,,0,,1,,,,
    governors,power against performance,,%,schedutil,,40,,1,,,,
    governors,power against performance,,%,powersave,,60,,1,,,,
    ");
}

#[test]
fn a_page_is_markdown() {
    let story = story("seeds = 1", "about = \"With a mock.\"\nseeds = 2");
    insta::assert_snapshot!(story.tandem("experiment @governors.toml --markdown").unwrap(), @r"
    ## Three governors (2 seeds, disturbed)

    With a mock.

    run time:

    | governor | load | s | published | deviation | verdict | note |
    | --- | --- | ---: | ---: | ---: | --- | --- |
    | performance | one | 0.9950 ± 0.0635 | — |  |  |  |
    | schedutil | one | 1.244 ± 0.079 | — |  |  |  |
    | powersave | one | 1.990 ± 0.127 | — |  |  |  |
    | performance | two | 0.9950 ± 0.0635 | — |  |  |  |
    | schedutil | two | 1.244 ± 0.079 | — |  |  |  |
    | powersave | two | 1.990 ± 0.127 | 1.95 | +2.1 % | agrees | measured by hand, once |

    power against performance:

    | governor | % |
    | --- | ---: |
    | performance | 0.000 ± 0.000 |
    | schedutil | 40.00 ± 0.00 |
    | powersave | 60.00 ± 0.00 |
    ");
}

#[test]
fn programs_get_json_and_people_a_figure() {
    let story = story("title", "title");
    let text = story.tandem("experiment @governors.toml --json --seeds 3 --figure @out.svg").unwrap();
    let json: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&json["name"], &json["seeds"]), (&"governors".into(), &3.into()));
    let cell = &json["series"][0]["cells"][5];
    assert_eq!((&cell["at"]["governor"], &cell["published"]), (&"powersave".into(), &1.95.into()));
    // 1.98 s, 2 s and 2.02 s.
    assert!((cell["ours"]["mean"].as_f64().unwrap() - 2.0).abs() < 1e-12, "{cell}");
    assert_eq!(json["series"][1]["cells"].as_array().unwrap().len(), 3);
    assert!(fs::read_to_string(story.path("out.svg")).unwrap().starts_with("<svg"));
}

#[test]
fn a_paper_gets_a_file_for_each_panel_in_both_formats() {
    let story = story("title", "title");
    let names = |folder: &str| {
        let mut names: Vec<String> = fs::read_dir(story.path(folder))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    };
    let command = "experiment @governors.toml --seeds 3 --figures @drawn --figure @all.pdf";
    story.tandem(command).unwrap();
    let first = names("drawn");
    assert_eq!(
        first,
        [
            "governors-power-against-performance.pdf",
            "governors-power-against-performance.svg",
            "governors-run-time.pdf",
            "governors-run-time.svg"
        ]
    );
    let read = |name: &str| fs::read(story.path(name)).unwrap();
    assert!(read("all.pdf").starts_with(b"%PDF-") && read("drawn/governors-run-time.pdf").starts_with(b"%PDF-"));
    let svg = String::from_utf8(read("drawn/governors-run-time.svg")).unwrap();
    assert!(svg.contains(">run time [s]<") && svg.contains(">published<"), "{svg}");
    // What it drew itself it draws again; what somebody else did, stays.
    let before = first.iter().map(|name| read(&format!("drawn/{name}"))).collect::<Vec<_>>();
    story.tandem(command).unwrap();
    assert!(first.iter().map(|name| read(&format!("drawn/{name}"))).eq(before));
    fs::write(story.path("drawn/governors-run-time.pdf"), "%PDF-1.4 a thesis").unwrap();
    let refused = story.tandem(command).unwrap_err();
    assert!(
        refused.contains("governors-run-time.pdf: there is a file that is no figure of tandem in PDF"),
        "{refused}"
    );
    assert_eq!(read("drawn/governors-run-time.pdf"), b"%PDF-1.4 a thesis");
}

#[test]
fn a_slip_is_told_with_its_place_before_anything_runs() {
    for (from, to, expected) in [
        ("each = \"governor\"", "each = \"governer\"", "did you mean `governor`?"),
        ("each = \"governor\"", "each = [\"governor\", \"governor\"]", "names axis `governor` twice"),
        ("each = \"governor\"", "each = \"load\"", "`each` names axis `load`, which `over` folds"),
        ("each = \"governor\"\n", "", "expected `each`, the axes that have a number for each"),
        ("'time(\"all\")'", "'tine(\"all\")'", "did you mean `time`?"),
        ("{load}.json", "{load}.jsn", "no such file, and no bundled workload of that name"),
        ("seeds = 1", "seed = 1", "did you mean `seeds`?"),
    ] {
        let story = story(from, to);
        let message = story.tandem("experiment @governors.toml").unwrap_err();
        assert!(message.contains(expected), "{message}");
        assert!(message.contains("governors.toml:") || message.contains(".jsn"), "{message}");
        assert_eq!(story.mock.calls.load(Ordering::Relaxed), 0, "{message}");
    }
    let message = story("title", "title").tandem("experiment @none.toml").unwrap_err();
    assert!(message.contains("none.toml") && message.contains("cannot be read"), "{message}");
}

#[test]
fn no_output_takes_the_place_of_a_file_that_the_experiment_reads() {
    let story = story("title", "title");
    for file in ["governors.toml", "one.json"] {
        let message = story.tandem(&format!("experiment @governors.toml --force --json=@{file}")).unwrap_err();
        assert!(message.contains("is read as a file of the experiment"), "{message}");
    }
}

#[test]
fn an_interrupt_leaves_what_is_finished() {
    let mock = Mock { interrupted_in: 5, ..Mock::default() };
    let story = Story { mock, ..story("title", "title") };
    let (text, result) = story.run("experiment @governors.toml --jobs 1").unwrap();
    let Err(Failure::Interrupted(missing)) = result else { panic!("{result:?}") };
    assert_eq!(missing, "missing are governors: 2 of 9 simulated numbers");
    // The fifth simulation is the last one: of schedutil only the first workload is there.
    assert!(text.contains("schedutil    one") && !text.contains("schedutil    two"), "{text}");
    assert!(text.ends_with("performance  0.000\npowersave    60.00\n"), "{text}");
}
