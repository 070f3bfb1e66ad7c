// SPDX-License-Identifier: MIT OR Apache-2.0
//! Series and their cells, read and checked.

use std::collections::BTreeMap;
use std::ops::Range;

use tandem_simulator::input::InputError;
use toml::{Spanned, Value};

use super::neutral::Declared;
use super::read::File;
use super::{Cell, Formula, Ours, Series, Unit, raw};
use crate::axes::{Axes, Place};

/// Most cells that `each` makes: more is a slip, and would take days.
const MOST_CELLS: usize = 10_000;

/// A series with its cells: those that are listed, and those that `each` asks for; and what the file says of "no effect".
pub fn read_series(file: &File, axes: &Axes, series: Spanned<raw::Series>) -> Result<(Series, Declared), InputError> {
    let span = series.span();
    let raw = series.into_inner();
    let ours = match (raw.ours, raw.not_modelled) {
        (Some(text), None) => {
            let origin = file.origin(text.span());
            Ours::Computed(Formula { text: text.into_inner(), origin })
        }
        (None, Some(why)) => Ours::NotModelled(why),
        _ => {
            let found = file.error(&span, format!("series `{}` is not computed, or is and is not modelled", raw.what));
            return Err(found.help("expected either `ours`, an expression, or `not_modelled`, the reason"));
        }
    };
    if raw.unit.get_ref().trim().is_empty() {
        return Err(file.error(&raw.unit.span(), "`unit` is empty").help("expected `%`, `ratio`, `W`, `s`, `count` …"));
    }
    let unit = Unit::of(raw.unit.get_ref());
    let over = raw.over.map_or(Ok(Vec::new()), |over| read_axes_named(file, axes, &over, "over"))?;
    let beside = raw.beside.map_or(Ok(Place::new()), |beside| read_place(file, axes, beside))?;
    let mut series =
        Series { place: raw.place, what: raw.what, unit, ours, over, fold: raw.fold, beside, cells: Vec::new() };
    let mut declared = Declared { series: raw.neutral, cells: Vec::new() };
    let derived_from = raw.derived_from.map(|of| said(file, of, "derived_from")).transpose()?;
    for cell in raw.cell {
        let (cell, neutral) = read_cell(file, axes, &series, cell)?;
        declared.cells.extend(neutral.map(|neutral| (cell.at.clone(), neutral)));
        // A prediction is counted as one, whatever the published numbers are.
        let derived = cell.published.and(cell.derived.or_else(|| raw.derived.clone()));
        let derived_from = cell.published.and(cell.derived_from.or_else(|| derived_from.clone()));
        series.cells.push(Cell { headline: cell.headline || raw.headline, derived, derived_from, ..cell });
    }
    if let Some(each) = raw.each {
        add_each(file, axes, &mut series, &each, raw.headline)?;
    }
    check_series(file, &span, &series)?;
    Ok((series, declared))
}

/// Adds a cell for each combination of the axes that `each` names, unless one is listed there. The cells stand in the order of
/// the combinations, others that are listed behind them.
fn add_each(
    file: &File,
    axes: &Axes,
    series: &mut Series,
    each: &Spanned<Value>,
    headline: bool,
) -> Result<(), InputError> {
    let names = read_axes_named(file, axes, each, "each")?;
    let wrong = |message: String| file.error(&each.span(), message);
    if let Some(axis) = names.iter().find(|axis| series.over.contains(axis)) {
        return Err(wrong(format!("`each` names axis `{axis}`, which `over` folds")));
    }
    if series.ours.formula().is_none() {
        return Err(wrong("`each` asks for numbers, and none is computed".to_owned()));
    }
    let count = axes.count(&names);
    if count > MOST_CELLS {
        return Err(wrong(format!("{count} numbers are too many")).help(format!("expected at most {MOST_CELLS}")));
    }
    let mut listed = std::mem::take(&mut series.cells);
    for at in axes.combinations(&names) {
        let own = listed.iter().position(|cell| cell.at == at).map(|index| listed.remove(index));
        series.cells.push(own.unwrap_or_else(|| Cell { headline, ..Cell::computed(at) }));
    }
    series.cells.append(&mut listed);
    Ok(())
}

/// What can be wrong with all cells together.
fn check_series(file: &File, span: &Range<usize>, series: &Series) -> Result<(), InputError> {
    if series.cells.is_empty() {
        return Err(file
            .error(span, format!("series `{}` has no cell", series.what))
            .help("expected `each`, the axes that have a number for each of their values, or `[[series.cell]]`"));
    }
    for cell in &series.cells {
        if series.cells.iter().filter(|other| other.at == cell.at).count() > 1 {
            return Err(file.error(span, format!("two cells of series `{}` are at {:?}", series.what, cell.at)));
        }
        if series.beside.is_empty() || cell.published.is_none() {
            continue;
        }
        let place = series.beside_of(cell);
        if !series.cells.iter().any(|other| other.at == place && other.published.is_some()) {
            return Err(file
                .error(
                    span,
                    format!(
                        "series `{}` has no published cell at {place:?} to stand beside {:?}",
                        series.what, cell.at
                    ),
                )
                .help("`beside` says in which axes, and to which values, the cell to compare with differs"));
        }
    }
    Ok(())
}

/// The axes that the value of `key` names.
fn read_axes_named(file: &File, axes: &Axes, value: &Spanned<Value>, key: &str) -> Result<Vec<String>, InputError> {
    let names = match value.get_ref() {
        Value::String(name) => Some(vec![name.clone()]),
        Value::Array(names) => names.iter().map(|name| name.as_str().map(str::to_owned)).collect(),
        _ => None,
    };
    let wrong = |message: String| file.error(&value.span(), message);
    let names = names.ok_or_else(|| wrong(format!("`{key}` names no axis")).help("expected a name or a list"))?;
    for (index, name) in names.iter().enumerate() {
        axes.axis(name).map_err(|error| wrong(error.to_string()))?;
        if names[..index].contains(name) {
            return Err(wrong(format!("`{key}` names axis `{name}` twice")));
        }
    }
    Ok(names)
}

fn read_place(file: &File, axes: &Axes, place: Spanned<BTreeMap<String, String>>) -> Result<Place, InputError> {
    axes.check(place.get_ref()).map_err(|error| file.error(&place.span(), error.to_string()))?;
    Ok(place.into_inner())
}

/// The text of `key`, which must say something.
pub(super) fn said(file: &File, text: Spanned<String>, key: &str) -> Result<String, InputError> {
    match text.get_ref().trim().is_empty() {
        true => Err(file.error(&text.span(), format!("`{key}` is empty"))),
        false => Ok(text.into_inner()),
    }
}

/// A cell, and what the file says of its "no effect".
fn read_cell(
    file: &File,
    axes: &Axes,
    series: &Series,
    cell: Spanned<raw::Cell>,
) -> Result<(Cell, Option<Spanned<Value>>), InputError> {
    let span = cell.span();
    let raw = cell.into_inner();
    let at = raw.at.map_or(Ok(Place::new()), |at| read_place(file, axes, at))?;
    if let Some(axis) = series.over.iter().find(|axis| at.contains_key(*axis)) {
        return Err(file.error(&span, format!("`at` fixes axis `{axis}`, which `over` folds")));
    }
    if raw.published.is_some_and(|value| !value.is_finite()) {
        return Err(file.error(&span, "`published` is no number"));
    }
    if raw.published.is_none() && (raw.bound.is_some() || raw.calibrated.is_some()) {
        return Err(file.error(&span, "a prediction has no published value to be a limit or to be fitted to"));
    }
    if raw.published.is_none() && raw.derived.is_some() {
        return Err(file.error(&span, "a prediction has no published value that others could be a part of"));
    }
    if let (None, Some(of)) = (raw.published, &raw.derived_from) {
        return Err(file.error(&of.span(), "a prediction is not judged, whatever it is derived from"));
    }
    if let (None, Some(neutral)) = (raw.published, &raw.neutral) {
        return Err(file.error(&neutral.span(), "a prediction has no published value whose effect could be told"));
    }
    if raw.published.is_none() && (series.ours.formula().is_none() || raw.not_modelled.is_some()) {
        return Err(file.error(&span, "the cell has neither a published value nor one of ours"));
    }
    if raw.calibrated.is_some() && (series.ours.formula().is_none() || raw.not_modelled.is_some()) {
        return Err(file.error(&span, "what is not modelled cannot be calibrated"));
    }
    let cell = Cell {
        at,
        published: raw.published,
        bound: raw.bound,
        note: raw.note,
        calibrated: raw.calibrated.map(Spanned::into_inner),
        not_modelled: raw.not_modelled,
        derived: raw.derived,
        derived_from: raw.derived_from.map(|of| said(file, of, "derived_from")).transpose()?,
        neutral: None,
        headline: raw.headline,
    };
    Ok((cell, raw.neutral))
}
