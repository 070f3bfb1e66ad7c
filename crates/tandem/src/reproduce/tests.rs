// SPDX-License-Identifier: GPL-2.0-only
//! The papers that the command carries are sound: every key, every expression, every machine, workload, scheduler and
//! parameter. Nothing is simulated.

use super::paper::{Experiment, Run};
use super::runs::{Request, Simulation, check_parameter, label};
use super::*;

/// All papers, read.
fn papers(library: &Library) -> Vec<Rc<Paper>> {
    let names = library.names(&[]).unwrap();
    names
        .into_iter()
        .map(|name| Rc::new(paper::paper(library, name).unwrap_or_else(|error| panic!("{error}"))))
        .collect()
}

mod long {
    use super::*;

    #[test]
    fn whatever_a_number_needs_can_be_run() {
        let library = Library::bundled();
        for paper in papers(&library) {
            let book = Rc::new(RefCell::new(Book::new(Some(1)).unwrap()));
            let study = Study::new(paper, &book, None).unwrap_or_else(|error| panic!("{error}"));
            let wanted = study.wanted().unwrap_or_else(|failure| panic!("{failure}"));
            assert!(!wanted.is_empty());
            Book::check(&library, &wanted).unwrap_or_else(|failure| panic!("{failure}"));
        }
    }
}

#[test]
fn every_parameter_of_the_sensitivity_table_is_there() {
    let library = Library::bundled();
    for paper in papers(&library) {
        for parameter in &paper.parameters {
            check_parameter(&library, &paper.name, parameter).unwrap_or_else(|error| panic!("{error}"));
        }
    }
}

#[test]
fn every_run_can_be_run_even_if_no_number_asks_for_it() {
    let library = Library::bundled();
    for paper in papers(&library) {
        let first = |experiment: &Experiment, run: &Run| {
            let place = experiment.axes.combinations(&run.axes).swap_remove(0);
            let simulation = Simulation::of(&paper.name, experiment, run, &place).unwrap();
            let label = label(&paper, experiment, run, &place);
            (simulation, Request { label, origin: run.origin.clone(), seeds: 1 })
        };
        let wanted = paper.experiments.iter().flat_map(|of| of.runs.iter().map(move |run| first(of, run))).collect();
        Book::check(&library, &wanted).unwrap_or_else(|failure| panic!("{failure}"));
    }
}

#[test]
fn every_paper_says_what_was_read_how() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../papers");
    for name in Library::bundled().names(&[]).unwrap() {
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
fn the_written_results_are_those_of_these_papers() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let text = std::fs::read_to_string(folder.join("results.json")).unwrap();
    let written: serde_json::Value = serde_json::from_str(&text).unwrap();
    let written = written["papers"].as_array().unwrap();
    let papers = papers(&Library::bundled());
    assert_eq!(written.len(), papers.len());
    for (paper, written) in papers.iter().zip(written) {
        assert_eq!(written["name"], paper.name);
        assert!(said_by_files(paper) == said_by_results(written), "{} has changed: run `make reproduce`", paper.name);
    }
}
