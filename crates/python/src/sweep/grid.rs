// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a sweep runs.

use std::path::PathBuf;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tandem_experiments::{Digest, Keys, Sweep, Task};
use tandem_simulator::machine::description::Description;

use super::source::{Read, Source};
use crate::carried::{linux, program};
use crate::errors::{OrRaise, mistake};
use crate::given::{Duration, GivenMachine, GivenWorkload, OneOrMore, Shared, varied};
use crate::interruptible::{Flag, Stoppable};
use crate::parquet;
use crate::table::Table;
use crate::workload::Workload;

/// Runs of a part, unless a person says otherwise: seconds, beside which handing the part over costs nothing.
const BATCH: u32 = 500;

/// A grid of runs; the manual is the package's `__init__.pyi`.
#[pyclass(frozen, module = "tandem")]
pub struct Grid {
    source: Source,
    /// The grid as it runs.
    pub sweep: Sweep,
    /// The keys of its runs.
    pub keys: Keys,
    program: Digest,
}

/// What ends parts that run in this process.
#[pyclass(frozen, module = "tandem._tandem")]
#[derive(Default)]
pub struct Stop(Flag);

#[pymethods]
impl Stop {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// No part goes on.
    fn set(&self) {
        self.0.set();
    }
}

/// A part as it is handed to who runs it: the runs that are wanted of a task.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Order {
    /// The task.
    pub task: Task,
    /// Cells and repeats that are not known from before; `None`: all.
    pub wanted: Option<Vec<(u32, u32)>>,
}

impl Grid {
    fn of(source: Source) -> PyResult<Self> {
        let program = program()?;
        let sweep = source.sweep().map_err(mistake)?;
        Ok(Self { sweep, source, keys: Keys::new(program), program })
    }

    /// The rows of a part as the bytes of a file.
    pub fn encoded(&self, rows: &[Vec<Value>]) -> PyResult<Vec<u8>> {
        let table = Table::of_rows(&self.sweep.columns(), rows)?;
        parquet::encode(&table.batch, &[("tandem", self.provenance())])
    }

    /// What the files say of themselves.
    pub fn provenance(&self) -> String {
        self.source.provenance(&self.program).to_string()
    }
}

fn read_machine(py: Python<'_>, given: GivenMachine) -> Read {
    match given {
        GivenMachine::Machine(machine) => {
            let Description { name, path, text, configuration } = machine.get().description.clone();
            Read { name, path, text: Ok(text), configuration }
        }
        GivenMachine::Spec(spec) => {
            let spec = spec.to_string_lossy().into_owned();
            match py.detach(|| Description::load(&spec)) {
                Ok(Description { name, path, text, configuration }) => {
                    Read { name, path, text: Ok(text), configuration }
                }
                Err(error) => {
                    Read { path: PathBuf::from(&spec), name: spec, text: Err(error.to_string()), configuration: None }
                }
            }
        }
    }
}

fn read_workload(given: GivenWorkload) -> Read {
    let of = |workload: &Workload| {
        let name = workload.path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Read { name, path: workload.path.clone(), text: Ok(workload.text()), configuration: None }
    };
    match given {
        GivenWorkload::Workload(workload) => of(workload.get()),
        GivenWorkload::Spec(spec) => match Workload::load(&spec) {
            Ok(workload) => of(&workload),
            Err(error) => {
                let name = spec.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                let why = Python::attach(|py| error.value(py).to_string());
                Read { name, path: spec, text: Err(why), configuration: None }
            }
        },
    }
}

#[pymethods]
impl Grid {
    #[new]
    #[pyo3(signature = (workloads, machines, schedulers, *, runs=10, seed=0, until=None, least_runs=5, parameters=None,
        duration=None, kernel=None, hotplug=Vec::new(), quiet=false, batch=BATCH, **settings))]
    #[expect(clippy::too_many_arguments, reason = "Python's keyword arguments")]
    fn new(
        py: Python<'_>,
        workloads: OneOrMore<GivenWorkload>,
        machines: OneOrMore<GivenMachine>,
        schedulers: OneOrMore<String>,
        runs: u32,
        seed: u64,
        until: Option<std::collections::BTreeMap<String, f64>>,
        least_runs: u32,
        parameters: Option<&Bound<'_, PyDict>>,
        duration: Option<Duration>,
        kernel: Option<String>,
        hotplug: Vec<String>,
        quiet: bool,
        batch: u32,
        settings: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let scenario = Shared::new(duration, kernel.clone(), hotplug.clone(), quiet).scenario(settings)?;
        Self::of(
            Source {
                machines: Vec::from(machines).into_iter().map(|machine| read_machine(py, machine)).collect(),
                workloads: Vec::from(workloads).into_iter().map(read_workload).collect(),
                schedulers: schedulers.into(),
                objects: std::collections::BTreeMap::new(),
                parameters: varied(parameters)?.iter().map(ToString::to_string).collect(),
                settings: scenario.settings.into_iter().map(|setting| (setting.key, setting.value)).collect(),
                kernel,
                duration: scenario.time_limit,
                hotplug,
                seed,
                runs,
                least_runs,
                until: until.unwrap_or_default(),
                batch,
            }
            .with_objects(),
        )
    }

    /// Makes a grid again of what [`Grid::to_bytes`] gave, on any computer with the same package.
    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        Self::of(serde_json::from_slice(bytes).map_err(mistake)?)
    }

    /// The grid as data, with the files that it names.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &serde_json::to_vec(&self.source).map_err(mistake)?))
    }

    /// Combinations of machine, workload, scheduler and parameters.
    #[getter]
    fn cells(&self) -> u32 {
        self.sweep.cells()
    }

    /// The most runs that there can be.
    #[getter]
    fn most_runs(&self) -> u64 {
        self.sweep.most_runs()
    }

    /// The names of the columns of the rows.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.sweep.columns().into_iter().map(|column| column.name).collect()
    }

    /// Does what `order` says, and gives the rows as the bytes of a Parquet file.
    #[pyo3(signature = (order, stop=None))]
    fn run<'py>(&self, py: Python<'py>, order: &str, stop: Option<&Stop>) -> PyResult<Bound<'py, PyBytes>> {
        let Order { task, wanted } =
            serde_json::from_str(order).map_err(|error| PyValueError::new_err(error.to_string()))?;
        let linux = linux()?;
        let none = Flag::default();
        let flag = stop.map_or(&none, |stop| &stop.0);
        let bytes = py.detach(|| {
            let simulator = Stoppable { simulator: linux, flag };
            let runs = wanted.unwrap_or_else(|| task.runs().collect());
            let run = |run| self.sweep.run_one(run, &simulator, &self.keys);
            let rows = runs.into_iter().map(run).collect::<Result<Vec<_>, _>>().or_raise()?;
            self.encoded(&rows)
        })?;
        Ok(PyBytes::new(py, &bytes))
    }

    fn __repr__(&self) -> String {
        format!("<tandem.Grid of {} cells, {} runs at most>", self.sweep.cells(), self.sweep.most_runs())
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        Ok((slf.get_type().getattr("from_bytes")?, (slf.get().to_bytes(slf.py())?,)))
    }
}
