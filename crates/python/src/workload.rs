// SPDX-License-Identifier: MIT OR Apache-2.0
//! Workloads: read, generated, or made task by task.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyList, PyTuple};
use tandem_experiments::generated_workload;
use tandem_simulator::bounded::Limit;
use tandem_simulator::input::InputError;
use tandem_simulator::workload as simulated;
use tandem_simulator::workload::bundled::BUNDLED;

use crate::errors::OrRaise;
use crate::json;

/// A workload; the manual is the package's `__init__.pyi`.
#[pyclass(frozen, module = "tandem", from_py_object)]
#[derive(Debug, Clone)]
pub struct Workload {
    /// The file, for messages; its stem is the workload's name.
    pub path: PathBuf,
    source: Source,
    read: OnceLock<Arc<simulated::Workload>>,
}

/// Names, each with its JSON, in their order.
type Members = Vec<(String, String)>;

#[derive(Debug, Clone)]
enum Source {
    /// An rt-app file.
    Text(String),
    /// Tasks and what is said of all, each with its JSON, in their order.
    Made { global: Members, tasks: Members },
}

impl Workload {
    fn of_text(path: PathBuf, text: String) -> PyResult<Self> {
        let workload = Self { path, source: Source::Text(text), read: OnceLock::new() };
        workload.get()?;
        Ok(workload)
    }

    /// Reads a bundled workload or an rt-app file.
    pub fn load(path: &Path) -> PyResult<Self> {
        let bundled = BUNDLED.iter().find(|(name, _)| Path::new(name) == path && !path.exists());
        if let Some((name, text)) = bundled {
            return Self::of_text(format!("{name}.json").into(), (*text).to_owned());
        }
        // What is wrong with a file, the reader says.
        let read = simulated::Workload::load(path).or_raise()?;
        let bytes =
            Limit::DESCRIPTION.read(path).map_err(|error| InputError::whole(path, error.to_string())).or_raise()?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        Ok(Self { path: path.to_owned(), source: Source::Text(text), read: Arc::new(read).into() })
    }

    /// The rt-app file.
    pub fn text(&self) -> String {
        let members = |of: &[(String, String)]| {
            let one =
                |(name, json): &(String, String)| format!("    {}: {json}", serde_json::Value::from(name.as_str()));
            of.iter().map(one).collect::<Vec<_>>().join(",\n")
        };
        match &self.source {
            Source::Text(text) => text.clone(),
            Source::Made { global, tasks } if global.is_empty() => {
                format!("{{\n  \"tasks\": {{\n{}\n  }}\n}}\n", members(tasks))
            }
            Source::Made { global, tasks } => {
                format!(
                    "{{\n  \"tasks\": {{\n{}\n  }},\n  \"global\": {{\n{}\n  }}\n}}\n",
                    members(tasks),
                    members(global)
                )
            }
        }
    }

    /// The workload as it is simulated.
    ///
    /// # Errors
    /// A mistake in what was made.
    pub fn get(&self) -> PyResult<Arc<simulated::Workload>> {
        if let Some(read) = self.read.get() {
            return Ok(Arc::clone(read));
        }
        let read = Arc::new(simulated::Workload::parse(&self.path, &self.text()).or_raise()?);
        Ok(Arc::clone(self.read.get_or_init(|| read)))
    }

    fn made(&self) -> PyResult<(Members, Members)> {
        match &self.source {
            Source::Made { global, tasks } => Ok((global.clone(), tasks.clone())),
            Source::Text(_) => Err(PyTypeError::new_err(
                "this workload was read: only one that begins with tandem.Workload() takes more tasks",
            )),
        }
    }

    fn with(&self, global: Members, tasks: Members) -> Self {
        Self { path: self.path.clone(), source: Source::Made { global, tasks }, read: OnceLock::new() }
    }
}

/// Reads a workload: a bundled name, or an rt-app JSON file.
#[pyfunction]
pub fn workload(py: Python<'_>, spec: PathBuf) -> PyResult<Workload> {
    py.detach(|| Workload::load(&spec))
}

/// The names of the bundled workloads.
#[pyfunction]
pub fn workloads() -> Vec<&'static str> {
    BUNDLED.iter().map(|(name, _)| *name).collect()
}

/// A workload of a generator, as `tandem workload GENERATOR` prints it.
#[pyfunction]
#[pyo3(signature = (generator, **options))]
pub fn generate(generator: &str, options: Option<&Bound<'_, PyDict>>) -> PyResult<Workload> {
    let mut line = vec![generator.to_owned()];
    for (key, value) in options.into_iter().flat_map(|options| options.iter()) {
        let option = key.extract::<String>()?.replace('_', "-");
        match value.cast::<PyBool>() {
            Ok(flag) if flag.is_true() => line.push(format!("--{option}")),
            Ok(_) => {}
            Err(_) => line.push(format!("--{option}={}", listed(&value)?)),
        }
    }
    Workload::of_text(format!("{generator}.json").into(), generated_workload(&line).or_raise()?)
}

/// A value of an option; those of a list with commas between them.
fn listed(value: &Bound<'_, PyAny>) -> PyResult<String> {
    if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        let parts = value.try_iter()?.map(|part| Ok(part?.str()?.to_string())).collect::<PyResult<Vec<_>>>()?;
        return Ok(parts.join(","));
    }
    Ok(value.str()?.to_string())
}

#[pymethods]
impl Workload {
    #[new]
    #[pyo3(signature = (name="workload"))]
    fn new(name: &str) -> Self {
        let source = Source::Made { global: Vec::new(), tasks: Vec::new() };
        Self { path: format!("{name}.json").into(), source, read: OnceLock::new() }
    }

    /// Reads the text of an rt-app file, as of one called NAME.json.
    #[staticmethod]
    #[pyo3(signature = (text, name="workload"))]
    fn parse(text: String, name: &str) -> PyResult<Self> {
        Self::of_text(format!("{name}.json").into(), text)
    }

    /// The same workload with one more task, whose keys are those of rt-app, in their order.
    #[pyo3(signature = (name, /, **keys))]
    fn task(&self, name: String, keys: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let (global, mut tasks) = self.made()?;
        let json = keys.map_or(Ok("{}".to_owned()), |keys| json::text_of(keys))?;
        tasks.push((name, json));
        Ok(self.with(global, tasks))
    }

    /// The same workload with these keys of rt-app's `global`.
    #[pyo3(signature = (**keys))]
    fn set(&self, keys: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let (mut global, tasks) = self.made()?;
        for (key, value) in keys.into_iter().flat_map(|keys| keys.iter()) {
            global.push((key.extract()?, json::text_of(&value)?));
        }
        Ok(self.with(global, tasks))
    }

    /// What the workload is called.
    #[getter]
    fn name(&self) -> String {
        self.path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// The rt-app file.
    #[getter(text)]
    fn text_of_file(&self) -> String {
        self.text()
    }

    /// What the reader warns about.
    #[getter]
    fn warnings(&self) -> PyResult<Vec<String>> {
        Ok(self.get()?.warnings.clone())
    }

    fn __repr__(&self) -> String {
        format!("<tandem.Workload {}>", self.name())
    }

    fn __reduce__(slf: &Bound<'_, Self>) -> PyResult<(Py<PyAny>, (String, String))> {
        let again = slf.get_type().getattr("parse")?.unbind();
        Ok((again, (slf.get().text(), slf.get().name())))
    }
}
