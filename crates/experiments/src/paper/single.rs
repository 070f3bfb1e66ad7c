// SPDX-License-Identifier: MIT OR Apache-2.0
//! An experiment in a file of its own, with the machines and workloads beside it that its runs name.

use std::path::Path;

use tandem_simulator::input::InputError;

use super::read::{File, read_experiment};
use super::{Experiment, Paper, Target, Work};
use crate::axes::Axes;
use crate::library::Library;
use crate::template::Template;

/// Most names of files that one text of a run may stand for.
const MOST_FILES: usize = 10_000;

impl Paper {
    /// Reads and checks the experiment in the file at `path`, as a paper of one experiment, and the library of the files beside it
    /// that it names. What it names and is no file there is left for later: it may be bundled. Its runs have what every system does
    /// beside its workload unless it is `quiet`; those of papers, whose programs bring their own noise, unless it is not.
    ///
    /// # Errors
    /// A mistake in the file, with its place and the nearest valid name; a file that cannot be read.
    pub fn of_file(path: &Path) -> Result<(Library, Self), InputError> {
        let (mut library, name, file) = Library::of_file(path)?;
        let file = File::open(&library, &name, &file)?;
        let (experiment, parameters) = read_experiment(&file, false)?;
        for named in named(&experiment)? {
            library.add_file(&name, &named)?;
        }
        for parameter in &parameters {
            if let Target::Machine { machine, .. } = &parameter.target {
                library.add_file(&name, machine)?;
            }
        }
        let (title, source) = (experiment.title.clone(), String::new());
        let (unknown, choices) = (String::new(), Vec::new());
        let paper = Self { name, title, source, parameters, unknown, choices, experiments: vec![experiment] };
        Ok((library, paper.with_few_headlines(&file)?))
    }
}

/// What the runs name that may be a file.
fn named(experiment: &Experiment) -> Result<Vec<String>, InputError> {
    let mut names = Vec::new();
    for run in &experiment.runs {
        let wrong = |message: String| run.origin.error(format!("run `{}`: {message}", run.name));
        let machines = filled(&run.machine, &experiment.axes).map_err(wrong)?;
        names.extend(machines.iter().filter_map(|machine| machine.split(':').next()).map(str::to_owned));
        if let Work::Named(workload) = &run.workload {
            names.extend(filled(workload, &experiment.axes).map_err(wrong)?);
        }
    }
    Ok(names)
}

/// The texts that a template becomes, over all values of the axes that it names.
fn filled(template: &Template, axes: &Axes) -> Result<Vec<String>, String> {
    let mut names: Vec<String> = template.axes().map(str::to_owned).collect();
    names.sort();
    names.dedup();
    if axes.count(&names) > MOST_FILES {
        return Err(format!("a text stands for more than {MOST_FILES} files"));
    }
    let places = axes.combinations(&names);
    places.iter().map(|place| template.fill(axes, place).map_err(|error| error.to_string())).collect()
}
