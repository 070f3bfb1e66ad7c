// SPDX-License-Identifier: GPL-2.0-only
//! The papers that the command carries are sound: every key, every expression, every machine, workload, scheduler and
//! parameter. Nothing is simulated.

use super::paper::{Experiment, Run};
use super::runs::{Request, Simulation, check_parameter, label};
use super::*;

/// All papers, read.
fn papers(library: &Library) -> Vec<Rc<Paper>> {
    let names = library.names(&[]).unwrap();
    names.into_iter().map(|name| Rc::new(paper::paper(library, name).unwrap_or_else(|error| panic!("{error}")))).collect()
}

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
