// SPDX-License-Identifier: MIT OR Apache-2.0
//! The columns of a sweep's rows: those of `tandem compare --csv`, then what was wrong, and the run's key. What kind of value a
//! column has follows from the grid alone, so that all files of a sweep agree.

use serde_json::Value;

use super::Sweep;
use crate::matrix::rows;

/// What the values of a column are. Any of them may be missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Text.
    Text,
    /// A number with a fraction.
    Float,
    /// A whole number from 0 on.
    Count,
    /// A whole number.
    Integer,
    /// Yes or no.
    Bool,
}

/// A column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// The name, with the unit of what is measured.
    pub name: String,
    /// What the values are.
    pub kind: Kind,
}

impl Kind {
    /// The kind of the columns that [`rows`] makes, by their names.
    pub(crate) fn of_title(name: &str) -> Self {
        match name {
            "machine" | "workload" | "scheduler" | "governor" | "ignored" | "error" | "key" => Self::Text,
            "seed" | "switches" | "migrations" | "events" => Self::Count,
            "time_limited" | "ejected" => Self::Bool,
            _ => Self::Float,
        }
    }

    /// The kind of a column of [`Rows`](crate::Rows) with this name and these values.
    pub fn of<'a>(name: &str, values: impl Iterator<Item = &'a Value> + Clone) -> Self {
        if rows::columns(&[]).iter().any(|fixed| fixed == name) {
            Self::of_title(name)
        } else {
            Self::of_values(values)
        }
    }

    /// The kind that all of these values have.
    pub(crate) fn of_values<'a>(values: impl Iterator<Item = &'a Value> + Clone) -> Self {
        let mut values = values.filter(|value| !value.is_null()).peekable();
        if values.peek().is_none() {
            return Self::Text;
        }
        if values.clone().all(Value::is_boolean) {
            return Self::Bool;
        }
        match (values.clone().all(Value::is_i64), values.clone().all(Value::is_number)) {
            (true, _) => Self::Integer,
            (_, true) => Self::Float,
            _ => Self::Text,
        }
    }
}

impl Sweep {
    /// The names of the columns.
    pub(super) fn titles(&self) -> Vec<String> {
        let ends = ["error", "key"].map(str::to_owned);
        rows::columns(&self.parameters()).into_iter().chain(ends).collect()
    }

    /// The columns of the rows, in their order.
    pub fn columns(&self) -> Vec<Column> {
        let parameters = self.parameters();
        let (titles, first) = (self.titles(), 4);
        let kinds = titles.iter().enumerate().map(|(index, title)| {
            let Some(parameter) = index.checked_sub(first).and_then(|index| parameters.get(index)) else {
                return Kind::of_title(title);
            };
            let pairs = self.pairs.iter().filter_map(|(_, pair)| pair.as_ref().ok());
            let set = pairs.flat_map(|pair| &pair.parameters).filter(|setting| setting.key == *parameter);
            let values: Vec<Value> = set.map(|setting| setting.typed()).collect();
            Kind::of_values(values.iter())
        });
        titles.iter().zip(kinds).map(|(name, kind)| Column { name: name.clone(), kind }).collect()
    }
}
