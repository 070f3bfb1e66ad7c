// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tables, as other libraries take them: the Arrow PyCapsule interface hands over the columns themselves, not copies.
//!
//! Source: the Arrow PyCapsule interface, <https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html>.

use std::sync::Arc;

use arrow_array::builder::StringDictionaryBuilder;
use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{Float64Type, Int32Type, Int64Type, UInt64Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, RecordBatchIterator, StringArray, UInt64Array,
};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{DataType, Field, Schema};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList};
use serde_json::Value;
use tandem_experiments::{Column, Kind};
use tandem_simulator::input::valid_names;

use crate::errors::mistake;

/// Rows that are shown of a table.
const SHOWN: usize = 20;

/// A table; the manual is the package's `__init__.pyi`.
#[pyclass(frozen, module = "tandem")]
#[derive(Debug, Clone)]
pub struct Table {
    /// The columns.
    pub batch: RecordBatch,
}

/// The columns of a table, one after the other, all of the same length.
#[derive(Default)]
pub struct Columns {
    fields: Vec<Field>,
    arrays: Vec<ArrayRef>,
}

impl Columns {
    fn column(mut self, name: &str, array: ArrayRef) -> Self {
        self.fields.push(Field::new(name, array.data_type().clone(), true));
        self.arrays.push(array);
        self
    }

    /// A column of texts.
    pub fn text<'a>(self, name: &str, values: impl Iterator<Item = Option<&'a str>>) -> Self {
        self.column(name, Arc::new(values.collect::<StringArray>()))
    }

    /// A column of texts that occur often: each is there once.
    pub fn words<'a>(self, name: &str, values: impl Iterator<Item = Option<&'a str>>) -> Self {
        let mut builder = StringDictionaryBuilder::<Int32Type>::new();
        values.for_each(|value| builder.append_option(value));
        self.column(name, Arc::new(builder.finish()))
    }

    /// A column of numbers with fractions.
    pub fn float(self, name: &str, values: impl Iterator<Item = Option<f64>>) -> Self {
        self.column(name, Arc::new(values.collect::<Float64Array>()))
    }

    /// A column of numbers with fractions, none of which is missing, as they are.
    pub fn floats(self, name: &str, values: Vec<f64>) -> Self {
        self.column(name, Arc::new(Float64Array::from(values)))
    }

    /// A column of whole numbers from 0 on.
    pub fn count(self, name: &str, values: impl Iterator<Item = Option<u64>>) -> Self {
        self.column(name, Arc::new(values.collect::<UInt64Array>()))
    }

    /// A column of whole numbers from 0 on, none of which is missing, as they are.
    pub fn counts(self, name: &str, values: Vec<u64>) -> Self {
        self.column(name, Arc::new(UInt64Array::from(values)))
    }

    /// A column of whole numbers.
    pub fn integer(self, name: &str, values: impl Iterator<Item = Option<i64>>) -> Self {
        self.column(name, Arc::new(values.collect::<Int64Array>()))
    }

    /// A column of truth values.
    pub fn truth(self, name: &str, values: impl Iterator<Item = Option<bool>>) -> Self {
        self.column(name, Arc::new(values.collect::<BooleanArray>()))
    }

    /// The table.
    pub fn table(self) -> PyResult<Table> {
        let batch = RecordBatch::try_new(Arc::new(Schema::new(self.fields)), self.arrays).map_err(mistake)?;
        Ok(Table { batch })
    }
}

impl Table {
    /// The rows with these columns.
    pub fn of_rows(columns: &[Column], rows: &[Vec<Value>]) -> PyResult<Self> {
        let mut made = Columns::default();
        for (index, Column { name, kind }) in columns.iter().enumerate() {
            let values = || rows.iter().map(|row| &row[index]);
            made = match kind {
                // A value of another kind than most (a setting that is a name or a number) is as it is written.
                Kind::Text => {
                    let texts: Vec<Option<String>> = values().map(text_of).collect();
                    made.text(name, texts.iter().map(Option::as_deref))
                }
                Kind::Float => made.float(name, values().map(Value::as_f64)),
                Kind::Count => made.count(name, values().map(Value::as_u64)),
                Kind::Integer => made.integer(name, values().map(Value::as_i64)),
                Kind::Bool => made.truth(name, values().map(Value::as_bool)),
            };
        }
        made.table()
    }

    /// The rows, as [`Table::of_rows`] takes them.
    pub fn rows(&self) -> Vec<Vec<Value>> {
        (0..self.batch.num_rows())
            .map(|row| self.batch.columns().iter().map(|column| value(column, row)).collect())
            .collect()
    }

    fn texts(&self, rows: usize) -> Vec<Vec<String>> {
        let cell = |column: &ArrayRef, row| match value(column, row) {
            Value::Null => String::new(),
            Value::String(text) => text,
            Value::Number(number) if number.is_f64() => format!("{:.6}", number.as_f64().unwrap_or_default()),
            other => other.to_string(),
        };
        (0..rows).map(|row| self.batch.columns().iter().map(|column| cell(column, row)).collect()).collect()
    }

    fn names(&self) -> Vec<String> {
        self.batch.schema_ref().fields().iter().map(|field| field.name().clone()).collect()
    }
}

fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

/// One value of a column.
fn value(column: &ArrayRef, row: usize) -> Value {
    if column.is_null(row) {
        return Value::Null;
    }
    match column.data_type() {
        DataType::Utf8 => column.as_string::<i32>().value(row).into(),
        DataType::Dictionary(_, _) => {
            let words = column.as_dictionary::<Int32Type>();
            let key = words.keys().value(row) as usize;
            words.values().as_string::<i32>().value(key).into()
        }
        DataType::Float64 => column.as_primitive::<Float64Type>().value(row).into(),
        DataType::UInt64 => column.as_primitive::<UInt64Type>().value(row).into(),
        DataType::Int64 => column.as_primitive::<Int64Type>().value(row).into(),
        DataType::Boolean => column.as_boolean().value(row).into(),
        _ => Value::Null,
    }
}

fn python<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::String(text) => text.into_pyobject(py)?.into_any(),
        Value::Bool(truth) => truth.into_pyobject(py)?.to_owned().into_any(),
        Value::Number(number) => match (number.as_u64(), number.as_i64()) {
            (Some(number), _) => number.into_pyobject(py)?.into_any(),
            (_, Some(number)) => number.into_pyobject(py)?.into_any(),
            _ => number.as_f64().into_pyobject(py)?.into_any(),
        },
        _ => py.None().into_bound(py),
    })
}

#[pymethods]
impl Table {
    /// The columns for a library that takes Arrow: a stream of one batch, which shares the table's memory.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface lets a producer leave a request aside.
        let _ = requested_schema;
        let batches = RecordBatchIterator::new([Ok(self.batch.clone())], self.batch.schema());
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(batches)), c"arrow_array_stream")
    }

    /// The names and types of the columns for a library that takes Arrow.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.batch.schema_ref().as_ref()).map_err(mistake)?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    /// The names of the columns.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.names()
    }

    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    fn __getitem__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyList>> {
        let Some(column) = self.batch.column_by_name(name) else {
            let names = self.names();
            let valid = valid_names(name, &names.iter().map(String::as_str).collect::<Vec<_>>());
            return Err(PyKeyError::new_err(format!("no column `{name}`; {valid}")));
        };
        let values = (0..column.len()).map(|row| python(py, &value(column, row))).collect::<PyResult<Vec<_>>>()?;
        PyList::new(py, values)
    }

    /// The rows as dictionaries.
    fn to_dicts<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let row = |row: usize| {
            let dict = PyDict::new(py);
            for (field, column) in self.batch.schema_ref().fields().iter().zip(self.batch.columns()) {
                dict.set_item(field.name(), python(py, &value(column, row))?)?;
            }
            Ok(dict)
        };
        (0..self.batch.num_rows()).map(row).collect()
    }

    /// Writes the table as a Parquet file, whole or not at all.
    fn write_parquet(&self, py: Python<'_>, path: std::path::PathBuf) -> PyResult<()> {
        py.detach(|| crate::parquet::write(&path, &crate::parquet::encode(&self.batch, &[])?))
    }

    fn __repr__(&self) -> String {
        let (names, all) = (self.names(), self.batch.num_rows());
        let rows = self.texts(all.min(SHOWN));
        let widths: Vec<usize> = (0..names.len())
            .map(|column| rows.iter().chain([&names]).map(|row| row[column].chars().count()).max().unwrap_or(0))
            .collect();
        let line = |row: &Vec<String>| {
            let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:>width$}"));
            cells.collect::<Vec<_>>().join("  ")
        };
        let mut text = [line(&names)].into_iter().chain(rows.iter().map(line)).collect::<Vec<_>>().join("\n");
        if all > SHOWN {
            text += &format!("\n… {} more rows", all - SHOWN);
        }
        text
    }

    fn _repr_html_(&self) -> String {
        let escaped = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let line = |row: &Vec<String>, tag: &str| {
            let cells: String = row.iter().map(|cell| format!("<{tag}>{}</{tag}>", escaped(cell))).collect();
            format!("<tr>{cells}</tr>")
        };
        let all = self.batch.num_rows();
        let rows: String = self.texts(all.min(SHOWN)).iter().map(|row| line(row, "td")).collect();
        let more = if all > SHOWN { format!("<p>{} more rows</p>", all - SHOWN) } else { String::new() };
        format!("<table>{}{rows}</table>{more}", line(&self.names(), "th"))
    }
}
