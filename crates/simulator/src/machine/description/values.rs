// SPDX-License-Identifier: MIT OR Apache-2.0
//! The values of a description one by one: where each stands, where it comes from, and the description with one of them larger or
//! smaller.
//!
//! A value is a number or a word under one key. The numbers of a key in an array of tables (watts by clock) are one value, as they
//! have one source. Names, what refers to them and the numbers of CPUs are no values.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::reader::File;
use super::{Description, parse_toml};
use crate::input::{InputError, Position};
use crate::machine::Trust;

/// Keys whose texts and numbers say what is what, not how it is.
const NAMES: [&str; 14] = [
    "name",
    "package",
    "core_type",
    "opp_table",
    "idle_table",
    "memory",
    "parent",
    "leader",
    "core_state",
    "cpus",
    "online",
    "title",
    "source",
    "sources",
];
/// Keys whose numbers count.
const COUNTS: [&str; 6] = ["cores", "smt", "node", "level", "active_cores", "distances"];
/// Keys whose numbers are whole, but could as well be others.
const WHOLE: [&str; 2] = ["kib", "itmt_priority"];

/// A value of a description.
#[derive(Debug, Clone, PartialEq)]
pub struct Value {
    /// The table: `opp_table.a53`, `cluster.big`, `scheduling`.
    pub table: String,
    /// The key in the table, with the names of tables and arrays of tables in between: `opps.watts`, `thermal.limit_celsius`.
    pub key: String,
    /// The line of the file in which the value, or the first number of it, stands, from 1.
    pub line: usize,
    /// Where the value comes from, in words.
    pub source: String,
    /// How far the source can be relied upon.
    pub trust: Trust,
    /// What the value is.
    pub kind: Kind,
}

/// What a value is.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    /// Numbers that could be larger or smaller.
    Numbers(Vec<Number>),
    /// Numbers that count cores, threads or levels.
    Counts,
    /// A word, or `true` and `false`.
    Word,
}

/// A number of a description.
#[derive(Debug, Clone, PartialEq)]
pub struct Number {
    /// The bytes of the text.
    at: Range<usize>,
    /// What they say.
    pub value: f64,
    whole: bool,
}

/// The tables that a cluster refers to, by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterTables {
    /// Name of the cluster.
    pub cluster: String,
    /// Name of the table of clocks.
    pub opp_table: String,
    /// Name of the table of idle states.
    pub idle_table: String,
}

/// What a description says.
#[derive(Debug, Clone, PartialEq)]
pub struct Values {
    /// All values of the machine and of the configuration that is asked for, in the order of the file.
    pub all: Vec<Value>,
    /// The clusters, in the order of the file.
    pub clusters: Vec<ClusterTables>,
    /// Names of the packages, in the order of the file.
    pub packages: Vec<String>,
}

impl Values {
    /// How many values nobody measured.
    pub fn assumed(&self) -> usize {
        self.all.iter().filter(|value| value.trust == Trust::Assumed).count()
    }
}

impl Description {
    /// What the description says.
    ///
    /// # Errors
    /// The first mistake, as [`Description::machine`] has it.
    pub fn values(&self) -> Result<Values, InputError> {
        self.machine()?;
        let entries = parse_toml(File { path: &self.path, text: &self.text })?;
        let mut values = Values { all: Vec::new(), clusters: Vec::new(), packages: Vec::new() };
        for (kind, value) in in_order(&entries) {
            match value.get_ref() {
                DeValue::Array(rows) => {
                    for table in rows.iter().filter_map(|row| row.get_ref().as_table()) {
                        values.clusters.push(cluster_tables(table));
                        let name = text_of(table, "name");
                        self.read_table(&format!("{kind}.{name}"), table, &mut values.all);
                    }
                }
                DeValue::Table(table) if table.contains_key("source") => self.read_table(kind, table, &mut values.all),
                DeValue::Table(tables) => self.read_named(kind, tables, &mut values),
                _ => {}
            }
        }
        values.all.sort_by_key(|value| value.line);
        Ok(values)
    }

    /// Tables with names, of which other configurations than the one asked for are left out.
    fn read_named(&self, kind: &str, tables: &DeTable<'_>, values: &mut Values) {
        for (name, value) in in_order(tables) {
            let Some(table) = value.get_ref().as_table() else { continue };
            if kind == "package" {
                values.packages.push(name.to_owned());
            }
            if kind != "configuration" || self.configuration.as_deref() == Some(name) {
                self.read_table(&format!("{kind}.{name}"), table, &mut values.all);
            }
        }
    }

    fn read_table(&self, label: &str, table: &DeTable<'_>, values: &mut Vec<Value>) {
        let sources = table.get("sources").and_then(|sources| sources.get_ref().as_table());
        let source = |path: &[&str]| {
            let own = path.iter().rev().find_map(|key| sources?.get(*key)?.get_ref().as_str());
            own.map_or_else(|| text_of(table, "source"), str::to_owned)
        };
        let mut found: Vec<(Vec<&str>, usize, Kind)> = Vec::new();
        collect(table, &mut Vec::new(), &mut found);
        for (path, at, mut kind) in found {
            let source = source(&path);
            if let (Kind::Numbers(numbers), "nodes", ["latency"]) = (&mut kind, label, path.as_slice()) {
                leave_own_nodes_out(numbers);
            }
            values.push(Value {
                table: label.to_owned(),
                key: path.join("."),
                line: Position::of_offset(&self.text, at).line,
                trust: Trust::of(&source),
                source,
                kind,
            });
        }
    }

    /// The description with the numbers of `value` multiplied by `factor`, and the factor that is left of it where they must be
    /// whole; `None` where `value` has no numbers, or none that a factor would change.
    pub fn with(&self, value: &Value, factor: f64) -> Option<(Self, f64)> {
        let Kind::Numbers(numbers) = &value.kind else { return None };
        let moved = |number: &Number| {
            let moved = number.value * factor;
            if number.whole { moved.round() } else { moved }
        };
        let (before, after) = numbers
            .iter()
            .fold((0.0, 0.0), |(before, after), number| (before + number.value.abs(), after + moved(number).abs()));
        if before == after {
            return None;
        }
        let mut text = self.text.clone();
        let mut last_first: Vec<&Number> = numbers.iter().collect();
        last_first.sort_by_key(|number| std::cmp::Reverse(number.at.start));
        for number in last_first {
            text.replace_range(number.at.clone(), &moved(number).to_string());
        }
        Some((Self { text, ..self.clone() }, after / before))
    }
}

/// Leaves the numbers on the diagonal of a square out. What a node's own memory takes is the unit of what others' take: moved
/// together, as one value, they would change nothing.
fn leave_own_nodes_out(square: &mut Vec<Number>) {
    let nodes = square.len().isqrt();
    let mut at = 0..;
    square.retain(|_| at.next().is_some_and(|at: usize| !at.is_multiple_of(nodes + 1)));
}

/// The values within `table`, whose own place is `path`.
fn collect<'a>(table: &'a DeTable<'_>, path: &mut Vec<&'a str>, found: &mut Vec<(Vec<&'a str>, usize, Kind)>) {
    for (key, value) in in_order(table) {
        if NAMES.contains(&key) {
            continue;
        }
        path.push(key);
        collect_value(value, path, found);
        path.pop();
    }
}

fn collect_value<'a>(
    value: &'a Spanned<DeValue<'_>>,
    path: &mut Vec<&'a str>,
    found: &mut Vec<(Vec<&'a str>, usize, Kind)>,
) {
    let key = path.last().copied().unwrap_or_default();
    match value.get_ref() {
        DeValue::Table(table) => collect(table, path, found),
        DeValue::Array(array) => array.iter().for_each(|value| collect_value(value, path, found)),
        DeValue::Integer(_) | DeValue::Float(_) if COUNTS.contains(&key) => add(found, path, value, Kind::Counts),
        DeValue::Integer(_) | DeValue::Float(_) => {
            let Some(number) = number(value) else { return };
            let number = Number { at: value.span(), value: number, whole: WHOLE.contains(&key) };
            add(found, path, value, Kind::Numbers(vec![number]));
        }
        DeValue::String(_) | DeValue::Boolean(_) | DeValue::Datetime(_) => add(found, path, value, Kind::Word),
    }
}

/// Adds what stands at `path`, to what the same key of another row has if there is such.
fn add<'a>(found: &mut Vec<(Vec<&'a str>, usize, Kind)>, path: &[&'a str], value: &Spanned<DeValue<'_>>, kind: Kind) {
    match (found.iter_mut().find(|(known, ..)| known == path), kind) {
        (Some((_, _, Kind::Numbers(known))), Kind::Numbers(more)) => known.extend(more),
        (Some(_), Kind::Numbers(_) | Kind::Counts | Kind::Word) => {}
        (None, kind) => found.push((path.to_vec(), value.span().start, kind)),
    }
}

fn number(value: &Spanned<DeValue<'_>>) -> Option<f64> {
    match value.get_ref() {
        DeValue::Integer(integer) => i64::from_str_radix(integer.as_str(), integer.radix()).ok().map(|n| n as f64),
        DeValue::Float(float) => float.as_str().parse().ok(),
        _ => None,
    }
}

fn cluster_tables(table: &DeTable<'_>) -> ClusterTables {
    let text = |key| text_of(table, key);
    ClusterTables { cluster: text("name"), opp_table: text("opp_table"), idle_table: text("idle_table") }
}

fn text_of(table: &DeTable<'_>, key: &str) -> String {
    table.get(key).and_then(|value| value.get_ref().as_str()).unwrap_or_default().to_owned()
}

/// The entries of a table in the order of the file.
fn in_order<'a>(table: &'a DeTable<'_>) -> Vec<(&'a str, &'a Spanned<DeValue<'a>>)> {
    let mut entries: Vec<_> = table.iter().map(|(key, value)| (key.span().start, &**key.get_ref(), value)).collect();
    entries.sort_by_key(|(at, ..)| *at);
    entries.into_iter().map(|(_, key, value)| (key, value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::{Machine, catalogue};

    fn description(name: &str) -> Description {
        Description::load(name).unwrap()
    }

    fn value<'v>(values: &'v Values, table: &str, key: &str) -> &'v Value {
        values.all.iter().find(|value| (value.table.as_str(), value.key.as_str()) == (table, key)).unwrap()
    }

    #[test]
    fn a_column_is_one_value_with_the_source_of_its_key() {
        let values = description("hikey960").values().unwrap();
        let watts = value(&values, "opp_table.a53", "opps.watts");
        let Kind::Numbers(numbers) = &watts.kind else { panic!("{watts:?}") };
        assert_eq!(
            numbers.iter().map(|number| number.value).collect::<Vec<_>>(),
            [0.0356, 0.0672, 0.1086, 0.1589, 0.2056]
        );
        assert_eq!(watts.trust, Trust::Computed);
        // The clocks have the source of the table.
        assert_eq!(value(&values, "opp_table.a53", "opps.mhz").trust, Trust::Documented);
        assert_eq!(value(&values, "cluster.big", "cores").kind, Kind::Counts);
        assert_eq!(value(&values, "cluster.big", "performance_domain").kind, Kind::Word);
        assert!(values.all.iter().all(|value| value.key != "name" && value.key != "opp_table"));
        assert_eq!(values.packages, ["soc"]);
        let big = ClusterTables { cluster: "big".into(), opp_table: "a73".into(), idle_table: "a73".into() };
        assert_eq!(values.clusters[1], big);
    }

    #[test]
    fn the_innermost_source_counts() {
        let values = description("hikey960").values().unwrap();
        let trust = |key| value(&values, "package.soc", key).trust;
        assert_eq!(trust("thermal.kelvin_per_watt"), Trust::Computed);
        assert_eq!(trust("thermal.ambient_celsius"), Trust::Assumed);
        assert_eq!(trust("uncore_watts"), Trust::Assumed);
    }

    #[test]
    fn a_value_is_moved_where_it_stands() {
        let own = description("hikey960");
        let values = own.values().unwrap();
        let (moved, factor) = own.with(value(&values, "memory.dram", "static_watts"), 1.2).unwrap();
        assert_eq!(factor, 1.2);
        let differ: Vec<(&str, &str)> = own.text.lines().zip(moved.text.lines()).filter(|(a, b)| a != b).collect();
        assert_eq!(differ, [("static_watts = 0.1", "static_watts = 0.12")]);
        assert_eq!(moved.machine().unwrap().memory_domains[0].static_watts, 0.12);
        // 512 KiB: 614.4 are 614.
        let (moved, factor) = own.with(value(&values, "cluster.little", "cache.kib"), 1.2).unwrap();
        assert!(moved.text.contains("kib = 614,") && factor == 614.0 / 512.0);
        // What is nothing stays nothing, and a word is no number.
        assert_eq!(own.with(value(&values, "cluster.little", "static_watts"), 1.2), None);
        assert_eq!(own.with(value(&values, "cluster.little", "performance_domain"), 1.2), None);
    }

    #[test]
    fn the_latency_of_other_nodes_is_moved_against_that_of_the_own_one() {
        let own = description("epyc-9554-2s");
        let values = own.values().unwrap();
        let (moved, factor) = own.with(value(&values, "nodes", "latency"), 1.2).unwrap();
        assert_eq!(factor, 1.2);
        assert!(own.text.contains("\nlatency = [[1, 2], [2, 1]]"));
        assert!(moved.text.contains("\nlatency = [[1, 2.4], [2.4, 1]]"));
    }

    #[test]
    fn each_source_of_each_machine_is_that_of_a_value_or_of_a_name() {
        for name in catalogue::names() {
            let (values, machine) = (description(name).values().unwrap(), Machine::load(name).unwrap());
            assert!(!values.all.is_empty() && values.assumed() <= values.all.len());
            for entry in machine.provenance.iter().filter(|entry| entry.key != "*" && entry.trust() == Trust::Assumed) {
                let found = values
                    .all
                    .iter()
                    .any(|value| value.table == entry.table && value.key.split('.').any(|key| key == entry.key));
                assert!(found || NAMES.contains(&entry.key.as_str()), "{name}: {} {}", entry.table, entry.key);
            }
        }
    }

    #[test]
    fn a_configuration_brings_its_own() {
        let tables = |spec: &str| {
            let values = description(spec).values().unwrap().all;
            values.iter().filter(|value| value.table.starts_with("configuration")).count()
        };
        assert_eq!(tables("opteron-8350"), 0);
        assert!(tables("opteron-8350:half-half") > 0);
    }
}
