// SPDX-License-Identifier: MIT OR Apache-2.0
//! Values from Python and to Python, by way of JSON: `json.dumps` keeps the order of a dictionary.

use pyo3::prelude::*;
use serde::Serialize;
use serde_json::Value;

use crate::errors::mistake;

/// The JSON of a Python value.
pub fn text_of(value: &Bound<'_, PyAny>) -> PyResult<String> {
    let json = value.py().import("json")?;
    json.call_method1("dumps", (value,)).map_err(mistake)?.extract()
}

/// A Python value.
pub fn value_of(value: &Bound<'_, PyAny>) -> PyResult<Value> {
    serde_json::from_str(&text_of(value)?).map_err(mistake)
}

/// What `value` is as JSON, as Python's lists, dictionaries, numbers and texts.
pub fn to_python<'py>(py: Python<'py>, value: &impl Serialize) -> PyResult<Bound<'py, PyAny>> {
    let text = serde_json::to_string(value).map_err(mistake)?;
    py.import("json")?.call_method1("loads", (text,))
}
