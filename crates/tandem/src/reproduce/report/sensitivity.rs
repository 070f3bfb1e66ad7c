// SPDX-License-Identifier: GPL-2.0-only
//! How far main results move with parameters: a row for each parameter, a column for each result.

use super::super::paper::Unit;
use super::super::result::{Moved, ParameterResult};
use super::numbers::short;
use crate::quantity::NOTHING;
use crate::table::{Align::Left, Align::Right, Table, paragraph, printable};

/// The table as markdown.
pub fn markdown(rows: &[ParameterResult]) -> String {
    let Some(first) = rows.first() else { return String::new() };
    let mut text = String::from(
        "\n### Sensitivity\n\nHow far the main results move when a parameter is a fifth smaller / larger, in percent of the \
         result or in percentage points (pp).\n\n",
    );
    let titles: Vec<String> =
        first.headlines.iter().map(|moved| format!("{}: {}", moved.what, value(moved)).replace('|', "\\|")).collect();
    text += &format!("| parameter | {} |\n| --- {}|\n", titles.join(" | "), "| ---: ".repeat(titles.len()));
    for row in rows {
        let cells: Vec<String> = row.headlines.iter().map(both).collect();
        text += &format!("| {} (`{}`){} | {} |\n", row.what, row.target, limit(row), cells.join(" | "));
    }
    text
}

/// Likewise for a terminal: the results have letters, as their names are long.
pub fn text(rows: &[ParameterResult], width: Option<usize>) -> String {
    let Some(first) = rows.first() else { return String::new() };
    let mut text = String::from("  if a parameter is a fifth smaller / larger, these move by\n");
    let letters: Vec<String> = (b'A'..=b'Z').take(first.headlines.len()).map(|letter| char::from(letter).to_string()).collect();
    for (letter, moved) in letters.iter().zip(&first.headlines) {
        text += &paragraph(&printable(&format!("    {letter} {}: {}", moved.what, value(moved))), width);
    }
    let columns = letters.iter().map(|letter| (letter.clone(), Right));
    let mut table = Table::with_columns([("    parameter".to_owned(), Left)].into_iter().chain(columns));
    for row in rows {
        let name = format!("    {}{}", row.what, limit(row));
        table.row([name].into_iter().chain(row.headlines.iter().map(both)));
    }
    text + table.fitting(width).render().as_str()
}

fn value(moved: &Moved) -> String {
    match &moved.unit {
        Unit::Ratio => short(moved.unchanged),
        unit => format!("{} {}", short(moved.unchanged), unit.name()),
    }
}

/// Why a side is missing.
fn limit(row: &ParameterResult) -> String {
    row.not_valid.as_ref().map_or(String::new(), |why| format!("; cannot move both ways: {why}"))
}

/// `-3.1 / +2.9 %`.
fn both(moved: &Moved) -> String {
    let points = matches!(moved.unit, Unit::Points(_));
    let change = |value: Option<f64>| {
        let Some(value) = value else { return NOTHING.to_owned() };
        let difference = value - moved.unchanged;
        match (points, moved.unchanged == 0.0) {
            (false, true) => NOTHING.to_owned(),
            (false, false) => format!("{:+.1}", 100.0 * difference / moved.unchanged.abs()),
            (true, _) => format!("{difference:+.1}"),
        }
    };
    format!("{} / {} {}", change(moved.smaller), change(moved.larger), if points { "pp" } else { "%" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_percent_or_points() {
        let moved = |unit: &str| Moved {
            what: String::new(),
            unit: Unit::of(unit),
            unchanged: 50.0,
            smaller: Some(45.0),
            larger: None,
        };
        assert_eq!(both(&moved("W")), "-10.0 / — %");
        assert_eq!(both(&moved("%")), "-5.0 / — pp");
    }
}
