// SPDX-License-Identifier: MIT OR Apache-2.0
//! Machines.

use std::path::Path;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use tandem_experiments::with_values;
use tandem_simulator::machine::description::Description;
use tandem_simulator::machine::{self as simulated, catalogue};

use crate::errors::{OrRaise, mistake};
use crate::json;
use crate::table::{Columns, Table};

/// Text, name and configuration of a description.
type Parts = (String, String, Option<String>);

/// A machine that has been read; the manual is the package's `__init__.pyi`.
#[pyclass(frozen, module = "tandem", from_py_object)]
#[derive(Debug, Clone)]
pub struct Machine {
    /// What it was read from.
    pub description: Description,
    /// The machine.
    pub machine: Arc<simulated::Machine>,
}

impl Machine {
    /// Reads a bundled machine or a file.
    pub fn load(py: Python<'_>, spec: &str) -> PyResult<Self> {
        py.detach(|| Self::of(Description::load(spec).or_raise()?))
    }

    fn of(description: Description) -> PyResult<Self> {
        let machine = Arc::new(description.machine().or_raise()?);
        Ok(Self { description, machine })
    }
}

/// Reads a machine: a bundled name or a TOML file, with `:CONFIGURATION` behind it if wanted.
#[pyfunction]
pub fn machine(py: Python<'_>, spec: std::path::PathBuf) -> PyResult<Machine> {
    Machine::load(py, &spec.to_string_lossy())
}

/// The names of the bundled machines.
#[pyfunction]
pub fn machines() -> Vec<&'static str> {
    catalogue::names().collect()
}

#[pymethods]
impl Machine {
    /// Reads the text of a machine's description, as of a file called NAME.toml.
    #[staticmethod]
    #[pyo3(signature = (text, name="machine"))]
    fn parse(text: String, name: &str) -> PyResult<Self> {
        let path = Path::new(&format!("{name}.toml")).to_owned();
        Self::of(Description { name: name.to_owned(), path, text, configuration: None })
    }

    /// What the machine is called, with its configuration.
    #[getter]
    fn name(&self) -> &str {
        &self.machine.name
    }

    /// The text of the description (TOML).
    #[getter]
    fn text(&self) -> &str {
        &self.description.text
    }

    /// The CPUs: a row for each.
    #[getter]
    fn cpus(&self) -> PyResult<Table> {
        let ids = || (0..self.machine.cpus.len()).map(tandem_simulator::units::CpuId::at);
        let cpus = &self.machine.cpus;
        Columns::default()
            .count("cpu", ids().map(|cpu| Some(u64::from(cpu.0))))
            .text("cluster", ids().map(|cpu| Some(self.machine.cluster(cpu).name.as_str())))
            .text("core_type", ids().map(|cpu| Some(self.machine.core_type(cpu).name.as_str())))
            .count("capacity", cpus.iter().map(|cpu| Some(u64::from(cpu.capacity))))
            .count("node", cpus.iter().map(|cpu| Some(u64::from(cpu.node))))
            .table()
    }

    /// The same machine with other values at the ways of `values`, and another name if wanted.
    #[pyo3(signature = (values, *, name=None))]
    fn with_(&self, values: &Bound<'_, PyDict>, name: Option<String>) -> PyResult<Self> {
        let pairs: Vec<(String, serde_json::Value)> = values
            .iter()
            .map(|(path, value)| Ok((path.extract()?, json::value_of(&value)?)))
            .collect::<PyResult<_>>()?;
        let text = with_values(&self.description.text, &pairs).map_err(mistake)?;
        let written = || pairs.iter().map(|(path, value)| format!("{path}={value}")).collect::<Vec<_>>().join(",");
        let name = name.unwrap_or_else(|| format!("{},{}", self.description.name, written()));
        let path = Path::new(&format!("{name}.toml")).to_owned();
        Self::of(Description { name, path, text, ..self.description.clone() })
    }

    fn __repr__(&self) -> String {
        format!("<tandem.Machine {}, {} CPUs>", self.machine.name, self.machine.cpus.len())
    }

    fn __reduce__(slf: &Bound<'_, Self>) -> PyResult<(Py<PyAny>, Parts)> {
        let Description { name, text, configuration, .. } = slf.get().description.clone();
        let again = slf.get_type().getattr("_again")?.unbind();
        Ok((again, (text, name, configuration)))
    }

    /// What `pickle` makes a machine again by.
    #[staticmethod]
    fn _again(text: String, name: String, configuration: Option<String>) -> PyResult<Self> {
        let path = Path::new(&format!("{name}.toml")).to_owned();
        Self::of(Description { name, path, text, configuration })
    }
}
