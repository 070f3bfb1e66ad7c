// SPDX-License-Identifier: GPL-2.0-only
//! How far main results move with parameters: a row for each parameter, a column for each result.

use tandem_experiments::{Moved, ParameterResult, Unit};

use super::numbers::{short, signed};
use super::text::indented;
use crate::quantity::NOTHING;
use crate::table::{Align::Left, Align::Right, Table};

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
        text += &format!("| {} (`{}`) | {} |\n", row.what, row.target, cells.join(" | "));
    }
    let limits: Vec<String> = rows.iter().filter_map(limit).map(|limit| format!("- {limit}\n")).collect();
    if !limits.is_empty() {
        text += &format!("\nNot moved both ways (—):\n\n{}", limits.concat());
    }
    text
}

/// The table for a terminal: the results have letters, as their names are long.
pub fn text(rows: &[ParameterResult], width: Option<usize>) -> String {
    let Some(first) = rows.first() else { return String::new() };
    let mut text = String::from("  if a parameter is a fifth smaller / larger, these move by\n");
    let letters: Vec<String> =
        (b'A'..=b'Z').take(first.headlines.len()).map(|letter| char::from(letter).to_string()).collect();
    for (letter, moved) in letters.iter().zip(&first.headlines) {
        text += &indented(&format!("{letter} {}: {}", moved.what, value(moved)), 4, width);
    }
    let columns = letters.iter().map(|letter| (letter.clone(), Right));
    let mut table = Table::with_columns([("    parameter".to_owned(), Left)].into_iter().chain(columns));
    for row in rows {
        table.row([format!("    {}", row.what)].into_iter().chain(row.headlines.iter().map(both)));
    }
    if width.is_some_and(|width| table.width() > width) {
        rows.iter().for_each(|row| text += &block(row, &letters, width));
    } else {
        text += &table.render();
    }
    for limit in rows.iter().filter_map(limit) {
        text += &indented(&format!("— {limit}"), 4, width);
    }
    text
}

/// A parameter where a table has no room: its name, and below it the results by their letters.
fn block(row: &ParameterResult, letters: &[String], width: Option<usize>) -> String {
    let moved = letters.iter().zip(&row.headlines).map(|(letter, moved)| format!("{letter} {}", both(moved)));
    // A result stays on one line.
    let moved: Vec<String> = moved.map(|moved| moved.replace(' ', "\u{a0}")).collect();
    let moved = indented(&moved.join("; "), 6, width).replace('\u{a0}', " ");
    indented(&row.what, 4, width) + moved.as_str()
}

fn value(moved: &Moved) -> String {
    match &moved.unit {
        Unit::Ratio => short(moved.unchanged),
        unit => format!("{} {}", short(moved.unchanged), unit.name()),
    }
}

/// Which parameter lacks a side, and why.
fn limit(row: &ParameterResult) -> Option<String> {
    row.not_valid.as_ref().map(|why| format!("{}: {why}", row.what))
}

/// `-3.1 / +2.9 %`.
fn both(moved: &Moved) -> String {
    let points = matches!(moved.unit, Unit::Points(_));
    let change = |value: Option<f64>| {
        let Some(value) = value else { return NOTHING.to_owned() };
        let difference = value - moved.unchanged;
        match (points, moved.unchanged == 0.0) {
            (false, true) => NOTHING.to_owned(),
            (false, false) => signed(100.0 * difference / moved.unchanged.abs()),
            (true, _) => signed(difference),
        }
    };
    if [moved.smaller, moved.larger] == [Some(moved.unchanged); 2] {
        return "0".to_owned();
    }
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
        let still = Moved { smaller: Some(50.0), larger: Some(50.0), ..moved("W") };
        assert_eq!(both(&still), "0");
    }

    fn rows() -> Vec<ParameterResult> {
        let moved = |what: &str, unit: &str, smaller| Moved {
            what: what.to_owned(),
            unit: Unit::of(unit),
            unchanged: 50.0,
            smaller: Some(smaller),
            larger: None,
        };
        let row = |what: &str, not_valid: Option<&str>| ParameterResult {
            what: what.to_owned(),
            target: "--load".to_owned(),
            not_valid: not_valid.map(str::to_owned),
            headlines: vec![moved("Table 1: time", "s", 45.0), moved("Table 2: saving", "%", 40.0)],
        };
        vec![row("load of the machine", None), row("share of waiting", Some("1.08: expected 0 to 1"))]
    }

    #[test]
    fn a_narrow_terminal_has_all_results_and_the_reasons() {
        insta::assert_snapshot!(text(&rows(), Some(44)), @r"
          if a parameter is a fifth smaller / larger, these move by
            A Table 1: time: 50.00 s
            B Table 2: saving: 50.00 %
            load of the machine
              A -10.0 / — %; B -10.0 / — pp
            share of waiting
              A -10.0 / — %; B -10.0 / — pp
            — share of waiting: 1.08: expected 0 to
              1
        ");
        insta::assert_snapshot!(text(&rows(), None), @r"
          if a parameter is a fifth smaller / larger, these move by
            A Table 1: time: 50.00 s
            B Table 2: saving: 50.00 %
            parameter                      A             B
            load of the machine  -10.0 / — %  -10.0 / — pp
            share of waiting     -10.0 / — %  -10.0 / — pp
            — share of waiting: 1.08: expected 0 to 1
        ");
    }

    #[test]
    fn a_page_says_below_the_table_what_cannot_move() {
        let page = markdown(&rows());
        assert!(page.contains("| share of waiting (`--load`) | -10.0 / — % |"), "{page}");
        assert!(page.ends_with("\nNot moved both ways (—):\n\n- share of waiting: 1.08: expected 0 to 1\n"), "{page}");
    }
}
