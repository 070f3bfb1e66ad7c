// SPDX-License-Identifier: MIT OR Apache-2.0
//! How far a paper's main results move when a parameter is a fifth smaller or larger.

use super::result::{Moved, ParameterResult};
use super::{Number, Study};
use crate::environment::Environment;
use crate::error::ExperimentError;
use crate::paper::{Parameter, Target};
use crate::runs::{self, Change};

/// A fifth less and a fifth more.
const SMALLER: u32 = 80;
const LARGER: u32 = 120;
/// Seeds of each value: what is looked for is larger than noise.
const SEEDS: u32 = 3;

/// A row for each parameter of the paper; the results with all as the files say have been run.
pub fn of_paper(study: &Study, environment: Environment<'_>) -> Result<Vec<ParameterResult>, ExperimentError> {
    let headlines: Vec<Number<'_>> = study.numbers().filter(|number| number.cell.headline).collect();
    let mut rows = Vec::new();
    study.check_parameters(environment)?;
    for (index, parameter) in study.paper.parameters.iter().enumerate() {
        let parts = study.paper.parameters.len();
        let progress = format!("{}, parameter {} of {parts}", study.paper.name, index + 1);
        rows.push(of_parameter(study, parameter, &headlines, (environment, &progress))?);
    }
    Ok(rows)
}

fn of_parameter(
    study: &Study,
    parameter: &Parameter,
    headlines: &[Number<'_>],
    means: (Environment<'_>, &str),
) -> Result<ParameterResult, ExperimentError> {
    let changed = |percent| Change { target: parameter.target.clone(), percent };
    let smaller = values(study, &changed(SMALLER), headlines, means)?;
    let larger = values(study, &changed(LARGER), headlines, means)?;
    let mut moved = Vec::new();
    for (index, number) in headlines.iter().enumerate() {
        let seeds = study.seeds(number.experiment).min(SEEDS);
        moved.push(Moved {
            what: title(number),
            unit: number.series.unit.clone(),
            unchanged: study.estimate(*number, None, seeds)?.mean,
            smaller: smaller.as_ref().ok().map(|values| values[index]),
            larger: larger.as_ref().ok().map(|values| values[index]),
        });
    }
    let target = match &parameter.target {
        Target::Machine { machine, path } => format!("{machine}: {path}"),
        Target::Generate(option) => option.clone(),
    };
    let not_valid = smaller.err().or(larger.err());
    Ok(ParameterResult { what: parameter.what.clone(), target, not_valid, headlines: moved })
}

/// The headlines with `change`; why there are none if no machine or workload is that way.
fn values(
    study: &Study,
    change: &Change,
    headlines: &[Number<'_>],
    (environment, what): (Environment<'_>, &str),
) -> Result<Result<Vec<f64>, String>, ExperimentError> {
    let ask = || {
        let mut values = Vec::new();
        for number in headlines {
            let seeds = study.seeds(number.experiment).min(SEEDS);
            values.push(study.estimate(*number, Some(change), seeds)?.mean);
        }
        Ok(values)
    };
    let wanted = ask().map(|_: Vec<f64>| study.take_wanted())?;
    // The path was found: what is wrong now is the value.
    if let Err(ExperimentError::Input(error)) = runs::check(environment, &wanted) {
        return Ok(Err(error.message));
    }
    study.settle(environment, what, || ask().map(|_| study.take_wanted()))?;
    let values = ask()?;
    study.forget_changed();
    Ok(Ok(values))
}

/// What a number is called where it stands among others of the paper.
fn title(number: &Number<'_>) -> String {
    let values: Vec<&str> = number.cell.at.values().map(String::as_str).collect();
    let at = if values.is_empty() { String::new() } else { format!(" ({})", values.join(", ")) };
    format!("{}: {}{at}", number.series.place, number.series.what)
}
