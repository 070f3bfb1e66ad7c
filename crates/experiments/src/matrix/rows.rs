// SPDX-License-Identifier: MIT OR Apache-2.0
//! One row per run, for programs that read tables: CSV and JSON lines.

use serde_json::Value;

use super::Matrix;
use crate::comparison::{Comparison, Metric, Outcome, measure};
use crate::scenario::pair::Pair;

/// Names of the columns before the parameters.
const NAMES: [&str; 4] = ["machine", "workload", "scheduler", "governor"];
/// What runs count besides their metrics.
const COUNTS: [&str; 7] = ["idle_share", "switches", "migrations", "events", "time_limited", "ejected", "ignored"];

/// A table of all runs in long form: what was run, the parameters, the seed, the metrics with their units in the names. What
/// was not measured is null.
#[derive(Debug, Clone, PartialEq)]
pub struct Rows {
    /// The columns' names, each once.
    pub columns: Vec<String>,
    /// Values by column, in the order of comparisons, pairs and seeds.
    pub rows: Vec<Vec<Value>>,
}

impl Rows {
    /// The runs of a matrix.
    pub fn of(matrix: &Matrix) -> Self {
        Self::of_comparisons(&matrix.comparisons)
    }

    /// The runs of these comparisons.
    pub fn of_comparisons(comparisons: &[Comparison]) -> Self {
        let parameters = parameters(comparisons.iter().flat_map(|comparison| &comparison.pairs).map(|pair| &pair.pair));
        let mut rows = Vec::new();
        for comparison in comparisons {
            for pair in &comparison.pairs {
                let begin = |seed| beginning(&comparison.machine, &comparison.workload, &pair.pair, &parameters, seed);
                rows.extend(pair.outcomes.iter().map(|run| [begin(run.report.seed), numbers(run)].concat()));
            }
        }
        Self { columns: columns(&parameters), rows }
    }

    /// Comma-separated values as in RFC 4180, but with lines that end as Unix's do. The first line has the columns' names;
    /// null is an empty field.
    pub fn csv(&self) -> String {
        let line = |fields: Vec<String>| fields.join(",") + "\n";
        let header = line(self.columns.iter().map(|name| quoted(name)).collect());
        let rows = self.rows.iter().map(|row| line(row.iter().map(field).collect()));
        [header].into_iter().chain(rows).collect()
    }

    /// One JSON object per line, its members in the order of the columns.
    pub fn jsonl(&self) -> String {
        let member = |(name, value): (&String, &Value)| format!("{}:{value}", Value::from(name.as_str()));
        let object = |row: &Vec<Value>| self.columns.iter().zip(row).map(member).collect::<Vec<_>>().join(",");
        self.rows.iter().map(|row| format!("{{{}}}\n", object(row))).collect()
    }
}

/// Metrics that one run has.
fn metrics() -> impl Iterator<Item = Metric> {
    Metric::ALL.into_iter().filter(|metric| metric.is_of_one_run())
}

/// The names of the columns of runs with these parameters.
pub(crate) fn columns(parameters: &[&str]) -> Vec<String> {
    let fixed: Vec<&str> = NAMES.into_iter().chain(["seed"]).chain(metrics().map(Metric::key)).chain(COUNTS).collect();
    // A scheduler's variable may have the name of a column.
    let title = |key: &&str| if fixed.contains(key) { format!("parameter_{key}") } else { (*key).to_owned() };
    let names = NAMES.iter().map(ToString::to_string).chain(parameters.iter().map(title));
    names.chain(fixed[NAMES.len()..].iter().map(ToString::to_string)).collect()
}

/// The names of all parameters, in the order in which pairs have them.
pub(crate) fn parameters<'a>(pairs: impl IntoIterator<Item = &'a Pair>) -> Vec<&'a str> {
    let mut names = Vec::new();
    for parameter in pairs.into_iter().flat_map(|pair| &pair.parameters) {
        if !names.contains(&parameter.key.as_str()) {
            names.push(parameter.key.as_str());
        }
    }
    names
}

/// What was run: the columns up to the seed.
pub(crate) fn beginning(machine: &str, workload: &str, pair: &Pair, parameters: &[&str], seed: u64) -> Vec<Value> {
    let mut row: Vec<Value> = vec![machine.into(), workload.into()];
    row.extend([pair.scheduler.to_string().into(), pair.governor.to_string().into()]);
    let parameter = |key: &&str| pair.parameters.iter().find(|set| set.key == **key).map(|set| set.typed());
    row.extend(parameters.iter().map(|key| parameter(key).unwrap_or_default()));
    row.push(seed.into());
    row
}

/// What came of a run: the columns behind the seed.
pub(crate) fn numbers(run: &Outcome) -> Vec<Value> {
    let report = &run.report;
    let counts: [Value; COUNTS.len()] = [
        report.idle_share.into(),
        report.switches.into(),
        report.migrations.into(),
        report.events.into(),
        report.time_limited.into(),
        run.exit().is_some().into(),
        ignored(run),
    ];
    metrics().map(|metric| of_run(metric, run)).chain(counts).collect()
}

/// What the scheduler did not heed, with semicolons between; null if nothing is known.
fn ignored(run: &Outcome) -> Value {
    let names: Vec<&str> = run.ignored().map(|it| it.what.as_str()).collect();
    if names.is_empty() { Value::Null } else { names.join(";").into() }
}

fn of_run(metric: Metric, run: &Outcome) -> Value {
    measure(metric, std::slice::from_ref(run)).map_or(Value::Null, |value| value.mean.into())
}

fn field(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => quoted(text),
        other => other.to_string(),
    }
}

/// A text as a field: between quotes where it would end a field or a line.
fn quoted(text: &str) -> String {
    if !text.contains([',', '"', '\n', '\r']) {
        return text.to_owned();
    }
    format!("\"{}\"", text.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::tests::comparison;
    use crate::scenario::settings::Setting;

    fn varied() -> Comparison {
        let mut comparison = comparison("rk3399", "a,b", &[2.0, 4.0]);
        let set = |key: &str, value: &str| Setting { key: key.to_owned(), value: value.to_owned() };
        comparison.pairs[1].pair.parameters = vec![set("hz", "1000"), set("seed", "x\"y")];
        comparison
    }

    #[test]
    fn a_row_names_what_was_run_and_its_numbers() {
        let rows = Rows::of_comparisons(&[varied()]);
        assert_eq!(
            rows.columns[..8],
            ["machine", "workload", "scheduler", "governor", "hz", "parameter_seed", "seed", "time_s"]
        );
        let csv = rows.csv();
        let lines: Vec<&str> = csv.lines().collect();
        assert_eq!(lines.len(), 3);
        assert!(lines[1].starts_with("rk3399,\"a,b\",fair,performance,,,1,2.0,8.0,16.0,"), "{}", lines[1]);
        assert!(lines[2].starts_with("rk3399,\"a,b\",fair,powersave,1000,\"x\"\"y\",1,4.0,"), "{}", lines[2]);
        let fields = |line: &str| line.matches(',').count();
        assert_eq!(fields(lines[0]) + 1, fields(lines[1]), "one comma more, that in the workload's name");
    }

    #[test]
    fn each_line_is_an_object_with_nulls_where_nothing_was_measured() {
        let rows = Rows::of_comparisons(&[varied()]);
        let jsonl = rows.jsonl();
        let objects: Vec<Value> = jsonl.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!((&objects[0]["hz"], &objects[1]["hz"]), (&Value::Null, &Value::from(1000)));
        assert_eq!(objects[0]["fairness"], Value::Null);
        assert_eq!(objects[1]["ejected"], Value::from(false));
        assert_eq!(objects[1].as_object().unwrap().len(), rows.columns.len());
        assert!(jsonl.starts_with(r#"{"machine":"rk3399","workload":"a,b","scheduler":"fair","#), "{jsonl}");
    }
}
