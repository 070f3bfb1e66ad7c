// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rows that a folder has from other grids: a run that was done is not done again.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::Value;

use super::progress::PART;
use crate::parquet;
use crate::table::Table;

/// Where the rows of runs are, by key.
#[derive(Default)]
pub struct Known {
    files: Vec<PathBuf>,
    /// File and row.
    places: BTreeMap<String, (usize, usize)>,
    /// The file that was read last.
    open: Option<(usize, Table)>,
}

impl Known {
    /// Looks into these files; those that are damaged have nothing.
    pub fn of(files: Vec<PathBuf>) -> Self {
        let mut known = Self { files, ..Self::default() };
        for file in 0..known.files.len() {
            let Some(table) = known.read(file) else { continue };
            let Ok(key) = table.batch.schema_ref().index_of("key") else { continue };
            for (row, values) in table.rows().into_iter().enumerate() {
                if let Some(Value::String(key)) = values.get(key) {
                    known.places.insert(key.clone(), (file, row));
                }
            }
        }
        known
    }

    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    fn read(&self, file: usize) -> Option<Table> {
        let batch = parquet::decode(PART.read(&self.files[file]).ok()?).ok()?;
        Some(Table { batch })
    }

    /// The row of the run with this key, in these columns; a value that the row does not have is missing.
    pub fn row(&mut self, key: &str, columns: &[String]) -> Option<Vec<Value>> {
        let (file, row) = *self.places.get(key)?;
        if self.open.as_ref().is_none_or(|(open, _)| *open != file) {
            self.open = Some((file, self.read(file)?));
        }
        let (_, table) = self.open.as_ref()?;
        let schema = table.batch.schema();
        let values = Table { batch: table.batch.slice(row, 1) }.rows().pop()?;
        let value = |column: &String| schema.index_of(column).ok().map_or(Value::Null, |index| values[index].clone());
        Some(columns.iter().map(value).collect())
    }
}
