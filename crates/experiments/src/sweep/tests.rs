// SPDX-License-Identifier: MIT OR Apache-2.0

use std::path::Path;

use super::*;
use crate::{Choice, FairOrObject, Linux, Metric};

fn sweep(repeats: Repeats, batch: u32) -> Sweep {
    let machine = |name: &str| (name.to_owned(), Machine::load(name).map_err(|error| error.to_string()));
    let pair = |text: &str| {
        (text.to_owned(), Choice::parse(text, &FairOrObject).map(|it| it.pair()).map_err(|error| error.to_string()))
    };
    let text = r#"{ "tasks": { "a": { "loop": 3, "run": 500, "sleep": 100 } } }"#;
    let workload = Workload::parse(Path::new("short.json"), text).map_err(|error| error.to_string());
    let workloads = vec![("short".to_owned(), workload)];
    let pairs = vec![pair("fair"), pair("fair+powersave"), pair("fiar")];
    let machines = vec![machine("hikey960"), machine("smp-8"), machine("smp-9")];
    Sweep::new(machines, workloads, pairs, Scenario::default().disturbed(), (7, repeats, batch))
}

fn keys() -> Keys {
    Keys::new(Digest::of(b"a program"))
}

fn until(least: u32, most: u32, relative: f64) -> Repeats {
    Repeats::Until { least, most, enough: vec![Enough { metric: Metric::Time, relative }] }
}

#[test]
fn every_run_is_in_one_task() {
    for (runs, batch) in [(1, 1), (1, 100), (5, 10), (5, 2), (7, 3)] {
        let sweep = sweep(Repeats::Fixed(runs), batch);
        let mut all: Vec<(u32, u32)> = sweep.tasks().iter().flat_map(|task| task.runs().collect::<Vec<_>>()).collect();
        all.sort_unstable();
        let expected: Vec<(u32, u32)> = (0..9).flat_map(|cell| (0..runs).map(move |repeat| (cell, repeat))).collect();
        assert_eq!(all, expected, "{runs} runs in batches of {batch}");
        assert_eq!(sweep.most_runs(), u64::from(9 * runs));
    }
}

#[test]
fn a_bad_cell_says_what_is_wrong_with_it_and_the_others_run() {
    let sweep = sweep(Repeats::Fixed(1), 100);
    let [task] = &sweep.tasks()[..] else { panic!("one task") };
    let rows = sweep.run(task, &Linux, &keys()).unwrap();
    let columns = sweep.columns();
    assert!(rows.iter().all(|row| row.len() == columns.len()));
    let at = |name: &str| columns.iter().position(|column| column.name == name).unwrap();
    let failed: Vec<(&str, &str)> = rows
        .iter()
        .filter(|row| !row[at("error")].is_null())
        .map(|row| (row[at("machine")].as_str().unwrap(), row[at("scheduler")].as_str().unwrap()))
        .collect();
    assert_eq!(
        failed,
        [("hikey960", "fiar"), ("smp-8", "fiar"), ("smp-9", "fair"), ("smp-9", "fair"), ("smp-9", "fiar")]
    );
    assert!(rows[2][at("error")].as_str().unwrap().contains("did you mean `fair`?"), "{}", rows[2][at("error")]);
    assert!(rows[6][at("error")].as_str().unwrap().contains("smp-9"), "{}", rows[6][at("error")]);
    assert!(rows[0][at("time_s")].as_f64().unwrap() > 0.0015);
    assert_eq!(rows[0][at("seed")], 7);
    let different: std::collections::BTreeSet<&str> = rows.iter().map(|row| row[at("key")].as_str().unwrap()).collect();
    assert_eq!(different.len(), 9);
}

#[test]
fn a_cell_stops_when_its_interval_is_narrow_or_after_the_most_runs() {
    let total = |relative| {
        let sweep = sweep(until(2, 9, relative), 6);
        let (mut tracker, mut open, mut runs) = (Tracker::default(), sweep.tasks(), Vec::new());
        while let Some(task) = open.pop() {
            runs.push(task.repeats.clone());
            open.extend(tracker.finished(&sweep, &task, &sweep.run(&task, &Linux, &keys()).unwrap()));
        }
        runs.sort_by_key(|range| (range.start, range.end));
        runs
    };
    assert_eq!(total(1e9), vec![0..2; 3], "two runs of each of the three blocks");
    // A block whose cells all fail ends, too.
    assert_eq!(total(0.0), [vec![0..2; 3], vec![2..4; 2], vec![4..8; 2], vec![8..9; 2]].concat());
}

#[test]
fn a_part_is_known_by_all_that_it_follows_from() {
    let part = |sweep: &Sweep| sweep.part(&sweep.tasks()[0], &keys());
    let one = sweep(Repeats::Fixed(2), 100);
    assert_eq!(part(&one), part(&sweep(Repeats::Fixed(2), 100)));
    assert_ne!(part(&one), part(&sweep(Repeats::Fixed(3), 100)));
    let other = Keys::new(Digest::of(b"another program"));
    assert_ne!(part(&one), one.part(&one.tasks()[0], &other));
}
