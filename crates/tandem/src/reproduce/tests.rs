// SPDX-License-Identifier: GPL-2.0-only
//! The papers that the command carries are sound: every key, every expression, every machine, workload, scheduler and
//! parameter. Nothing is simulated.

use std::collections::BTreeMap;
use std::error::Error;
use std::rc::Rc;
use std::sync::Mutex;

use tandem_experiments::{Book, Environment, Linux, Schedulers, Silent, Study};
use tandem_simulator::simulation::Scheduler;

use super::*;
use crate::arguments::Carried;

/// Studies of all papers; of each simulation there are so many runs, `None`: as many as its experiment says.
fn studies(library: &Library, seeds: Option<u32>) -> Vec<Study> {
    let book = Rc::new(Book::new(Some(1)).unwrap());
    let read = |name: &str| Study::new(Paper::read(library, name)?, &book, seeds);
    let names = library.names(&[]).unwrap();
    names.into_iter().map(|name| read(name).unwrap_or_else(|error| panic!("{error}"))).collect()
}

/// The schedulers that the command carries, each opened once for all that ask for the same: reading an object takes longer than
/// all else that is checked of a run.
#[derive(Default)]
struct OpenedOnce(Mutex<BTreeMap<String, Scheduler>>);

impl Schedulers for OpenedOnce {
    fn named(&self, text: &str) -> Result<Scheduler, Box<dyn Error + Send + Sync>> {
        let mut opened = self.0.lock().unwrap();
        if let Some(scheduler) = opened.get(text) {
            return Ok(scheduler.clone());
        }
        let scheduler = Carried.named(text)?;
        opened.insert(text.to_owned(), scheduler.clone());
        Ok(scheduler)
    }
}

/// Calls `check` with each study.
fn check_all<E: std::fmt::Display>(check: impl Fn(&Study, Environment<'_>) -> Result<(), E>) {
    let (library, schedulers) = (library::bundled(), OpenedOnce::default());
    let environment = Environment { library: &library, schedulers: &schedulers, simulator: &Linux, progress: &Silent };
    // A generator that takes its arguments takes them with any seed; what differs from run to run wants two.
    for study in studies(&library, Some(2)) {
        check(&study, environment).unwrap_or_else(|error| panic!("{error}"));
    }
}

mod long {
    use super::*;

    #[test]
    fn whatever_a_number_needs_can_be_run() {
        check_all(|study, environment| study.check_numbers(environment).map(|simulations| assert!(simulations > 0)));
    }
}

#[test]
fn every_parameter_of_the_sensitivity_table_is_there() {
    check_all(Study::check_parameters);
}

#[test]
fn every_run_can_be_run_even_if_no_number_asks_for_it() {
    check_all(Study::check_runs);
}

#[test]
fn every_paper_says_what_was_read_how() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../papers");
    for name in library::bundled().names(&[]).unwrap() {
        assert!(folder.join(name).join("README.md").is_file(), "papers/{name} has no README.md");
    }
}

/// What the files say of a number: where it is, what it is, which, and the published value.
type Said = (String, String, String, String, Option<f64>);

fn said_by_files(paper: &Paper) -> Vec<Said> {
    let mut said = Vec::new();
    for experiment in &paper.experiments {
        for series in &experiment.series {
            for cell in &series.cells {
                let at = serde_json::to_string(&cell.at).unwrap();
                said.push((experiment.name.clone(), series.place.clone(), series.what.clone(), at, cell.published));
            }
        }
    }
    said
}

fn said_by_results(paper: &serde_json::Value) -> Vec<Said> {
    let list = |value: &serde_json::Value, key: &str| value[key].as_array().unwrap().clone();
    let text = |value: &serde_json::Value, key: &str| value[key].as_str().unwrap().to_owned();
    let mut said = Vec::new();
    for experiment in list(paper, "experiments") {
        for series in list(&experiment, "series") {
            for cell in list(&series, "cells") {
                let at = cell["at"].to_string();
                let (place, what) = (text(&series, "where"), text(&series, "what"));
                said.push((text(&experiment, "name"), place, what, at, cell["published"].as_f64()));
            }
        }
    }
    said
}

#[test]
fn the_written_results_are_judged_as_these_papers_say() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/results.json");
    let text = std::fs::read_to_string(&path).unwrap();
    let recorded = tandem_experiments::Recorded::parse(&path, &text).unwrap();
    let written: serde_json::Value = serde_json::from_str(&text).unwrap();
    for (study, written) in studies(&library::bundled(), None).iter().zip(written["papers"].as_array().unwrap()) {
        let judged = serde_json::to_value(study.judged_anew(&recorded).unwrap()).unwrap();
        let name = &study.paper().name;
        assert!(
            judged == *written,
            "{name}: run `tandem reproduce --papers papers --from docs/results.json --write docs`"
        );
    }
}

#[test]
fn the_written_results_are_those_of_these_papers() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let text = std::fs::read_to_string(folder.join("results.json")).unwrap();
    let written: serde_json::Value = serde_json::from_str(&text).unwrap();
    let written = written["papers"].as_array().unwrap();
    let studies = studies(&library::bundled(), None);
    assert_eq!(written.len(), studies.len());
    for (paper, written) in studies.iter().map(Study::paper).zip(written) {
        assert_eq!(written["name"], paper.name);
        assert!(said_by_files(paper) == said_by_results(written), "{} has changed: run `make reproduce`", paper.name);
    }
}
