// SPDX-License-Identifier: MIT OR Apache-2.0
//! `docs/machines.md` describes the reader: it names every key, and the reader reads each key of its example.

use std::path::Path;

use super::{DOC, example};
use tandem_simulator::input::InputError;
use tandem_simulator::machine::Machine;
use tandem_simulator::machine::description::schema::{self, Shape};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

fn parse(text: &str) -> Result<Machine, InputError> {
    Machine::parse("example", Path::new("example.toml"), text, Some("quiet"))
}

/// The rows of the table of `shape`'s keys: under its heading, or for a table within another, after its name.
fn rows(shape: &Shape) -> Vec<&'static str> {
    let title = shape.title;
    let starts = [
        format!("\n## `[{title}]`\n"),
        format!("\n## `[[{title}]]`\n"),
        format!("\n## {}\n", title.replace("top", "Top")),
        format!("\nEach entry of `{title}`"),
        format!("\n`{title}`"),
    ];
    let after = starts.iter().find_map(|start| DOC.split_once(start.as_str()));
    let (_, body) = after.unwrap_or_else(|| panic!("{title} is not documented"));
    let lines = body.lines().skip_while(|line| !line.starts_with('|'));
    lines.take_while(|line| line.starts_with('|')).skip(2).collect()
}

/// The keys in the first column of a row.
fn keys(row: &'static str) -> impl Iterator<Item = &'static str> {
    let column = row.split('|').nth(1).unwrap_or_default();
    column.split('`').skip(1).step_by(2)
}

#[test]
fn the_tables_list_exactly_the_keys_of_the_schema() {
    for shape in schema::ALL {
        let mut documented: Vec<&str> = rows(shape).into_iter().flat_map(keys).collect();
        let mut known = shape.keys.to_vec();
        documented.sort_unstable();
        known.sort_unstable();
        assert_eq!(documented, known, "{}", shape.title);
    }
}

#[test]
fn the_example_is_the_machine_that_the_text_says() {
    let machine = parse(example()).unwrap_or_else(|mistake| panic!("{mistake}"));
    let opps = &machine.performance_domains[machine.cpus[0].performance_domain.index()].opps;
    let watts: Vec<_> = opps.iter().map(|opp| (opp.khz, opp.dynamic_watts, opp.leakage_watts)).collect();
    assert_eq!((watts[0], watts[2]), ((500_000, 0.2, 0.5), (2_000_000, 0.8, 0.5)));
    assert_eq!((machine.cpus[2].speed, machine.cpus[2].capacity), (307, 1024));
    let ranks: Vec<u32> = machine.cpus.iter().map(|cpu| cpu.itmt_priority).collect();
    assert_eq!(ranks, [90, 100, 40, 40, 90, 100, 40, 40, 20]);
}

/// Every value of the example: its key, and its place.
fn values(table: &DeTable<'_>) -> Vec<(String, std::ops::Range<usize>)> {
    let mut found = Vec::new();
    for (key, value) in table {
        let key: &str = key.get_ref().as_ref();
        let mut inner = |value: &Spanned<DeValue<'_>>| match value.get_ref() {
            DeValue::Table(table) => found.extend(values(table)),
            _ => found.push((key.to_owned(), value.span())),
        };
        match value.get_ref() {
            DeValue::Array(array) if array.iter().any(|value| value.get_ref().is_table()) => {
                array.iter().for_each(inner)
            }
            _ => inner(value),
        }
    }
    found
}

#[test]
fn every_value_of_the_example_is_read() {
    let text = example();
    let table = DeTable::parse(text).expect("the example is TOML");
    let values = values(table.get_ref());
    for (key, span) in &values {
        // No key takes a date, so the reader of this key complains in this place.
        let edited = format!("{}1979-05-27{}", &text[..span.start], &text[span.end..]);
        let mistake = parse(&edited).expect_err(&format!("a date as `{key}` goes unnoticed"));
        let line = text[..span.start].lines().count();
        let position = mistake.position.expect("a wrong type has a place");
        assert_eq!((position.line, mistake.message.contains("is a date")), (line, true), "{key}: {}", mistake.message);
    }
    for shape in schema::ALL {
        for key in shape.keys.iter().filter(|key| !matches!(**key, "sources")) {
            let used = values.iter().any(|(used, _)| used == key) || text.contains(key);
            assert!(used, "the example does not use `{key}`");
        }
    }
}
