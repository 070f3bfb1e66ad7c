// SPDX-License-Identifier: MIT OR Apache-2.0
//! What "no effect" is of each published number: a value, or another number of the same experiment.

use std::ops::Range;

use tandem_simulator::input::{InputError, valid_names};
use toml::{Spanned, Value};

use super::read::File;
use super::{Cell, Neutral, Series};
use crate::axes::{Axes, Place};

/// What a file says of "no effect" for one series, before the other series are known.
#[derive(Default)]
pub struct Declared {
    /// For all cells with a published value.
    pub series: Option<Spanned<Value>>,
    /// For single cells, by their places.
    pub cells: Vec<(Place, Spanned<Value>)>,
}

/// A value that a file has for `neutral`.
enum Wanted {
    Value(f64),
    /// A number of this series (by default the cell's own), at the cell's place with these axes changed.
    Number {
        what: Option<String>,
        at: Place,
    },
}

/// Gives each cell with a published value what the file says of it; `declared` belongs to `series`, one each.
pub fn resolve(
    file: &File,
    axes: &Axes,
    declared: Vec<Declared>,
    mut series: Vec<Series>,
) -> Result<Vec<Series>, InputError> {
    let mut found = Vec::new();
    for (index, Declared { series: of_all, cells: of_cells }) in declared.into_iter().enumerate() {
        let of_all = of_all.map(|value| Ok((wanted(file, axes, &value)?, value.span()))).transpose()?;
        let mut of_one = Vec::new();
        for (place, value) in of_cells {
            of_one.push((place, wanted(file, axes, &value)?, value.span()));
        }
        for (number, cell) in series[index].cells.iter().enumerate().filter(|(_, cell)| cell.published.is_some()) {
            let own = of_one.iter().find(|(place, ..)| *place == cell.at).map(|(_, wanted, span)| (wanted, span));
            let listed = own.is_some();
            let Some((wanted, span)) = own.or(of_all.as_ref().map(|(wanted, span)| (wanted, span))) else { continue };
            match neutral(file, &series, index, cell, wanted, span)? {
                // What is said of a whole series leaves out the number that the others are compared with.
                Neutral::Number { series, cell } if (series, cell) == (index, number) => {
                    if listed {
                        return Err(file.error(span, "`neutral` is the number itself"));
                    }
                }
                neutral => found.push((index, number, neutral)),
            }
        }
    }
    for (index, number, neutral) in found {
        series[index].cells[number].neutral = Some(neutral);
    }
    Ok(series)
}

fn wanted(file: &File, axes: &Axes, value: &Spanned<Value>) -> Result<Wanted, InputError> {
    let wrong = |message: String| file.error(&value.span(), message);
    let table = match value.get_ref() {
        Value::Integer(number) => return Ok(Wanted::Value(*number as f64)),
        Value::Float(number) if number.is_finite() => return Ok(Wanted::Value(*number)),
        Value::Table(table) => table,
        _ => {
            return Err(wrong("`neutral` is neither a number nor a place".to_owned()).help(
                "expected a number, or `{ what = \"power, idle\", at = { clocks = \"all-slow\" } }`: a series of the \
                 experiment and where it differs from the cell's place",
            ));
        }
    };
    let (mut what, mut at) = (None, Place::new());
    for (key, value) in table {
        match (key.as_str(), value) {
            ("what", Value::String(text)) => what = Some(text.clone()),
            ("at", Value::Table(place)) => {
                for (axis, value) in place {
                    let Value::String(text) = value else {
                        return Err(wrong(format!("the value of axis `{axis}` in `neutral` is no text")));
                    };
                    at.insert(axis.clone(), text.clone());
                }
            }
            ("what" | "at", _) => return Err(wrong(format!("`{key}` of `neutral` has a wrong type"))),
            _ => {
                let help = valid_names(key, &["what", "at"]);
                return Err(wrong(format!("`neutral` has no key `{key}`")).help(help));
            }
        }
    }
    axes.check(&at).map_err(|error| wrong(error.to_string()))?;
    Ok(Wanted::Number { what, at })
}

/// What `wanted` is for `cell` of the series `own`.
fn neutral(
    file: &File,
    series: &[Series],
    own: usize,
    cell: &Cell,
    wanted: &Wanted,
    span: &Range<usize>,
) -> Result<Neutral, InputError> {
    let (what, at) = match wanted {
        Wanted::Value(value) => return Ok(Neutral::Value(*value)),
        Wanted::Number { what, at } => (what, at),
    };
    let index = match what {
        None => own,
        Some(what) => series.iter().position(|other| other.what == *what).ok_or_else(|| {
            let names: Vec<&str> = series.iter().map(|other| other.what.as_str()).collect();
            file.error(span, format!("no series `{what}` in this experiment")).help(valid_names(what, &names))
        })?,
    };
    let mut place = cell.at.clone();
    place.extend(at.clone());
    let fits = |other: &Cell| other.at.iter().all(|(axis, value)| place.get(axis) == Some(value));
    let mut fitting = series[index].cells.iter().enumerate().filter(|(_, other)| fits(other));
    let wrong = |message: String| Err(file.error(span, message));
    match (fitting.next(), fitting.next()) {
        (Some((number, other)), None) if other.published.is_some() || series[index].ours.formula().is_some() => {
            Ok(Neutral::Number { series: index, cell: number })
        }
        (Some(_), None) => wrong(format!("the number at {place:?} has no value that could be `neutral`")),
        (None, _) => wrong(format!("series `{}` has no number at {place:?}", series[index].what)),
        (Some(_), Some(_)) => wrong(format!("series `{}` has several numbers at {place:?}", series[index].what)),
    }
}
