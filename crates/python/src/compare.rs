// SPDX-License-Identifier: MIT OR Apache-2.0
//! Schedulers and governors compared over several seeds.

use std::path::PathBuf;

use pyo3::exceptions::{PyOSError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};
use rayon::ThreadPoolBuilder;
use tandem_experiments::{
    Choice, Column, Compared, Comparison as Compare, Kind, Matrix, MatrixRuns, Metric, Pair, PairResult, Progress,
    Ratio, Rows, Scenario, Store, Stored, VariedSetting, spanned, tell_apart,
};
use tandem_simulator::machine::Machine as Described;
use tandem_simulator::workload::Workload as Read;

use crate::carried::{OfPackage, linux, program};
use crate::errors::{OrRaise, mistake, warn};
use crate::given::{Duration, GivenMachine, GivenWorkload, OneOrMore, Shared, varied};
use crate::interruptible::{Flag, Stoppable, interruptible};
use crate::table::{Columns, Table};

/// Bytes of a store of finished runs: 1 GiB, as the command's.
const STORE_BYTES: u64 = 1 << 30;

/// What a comparison gave; the manual is the package's `__init__.pyi`.
#[pyclass(frozen, module = "tandem")]
pub struct Comparison {
    matrix: Matrix,
    table: Table,
}

/// Hears whether runs shall end.
struct Listens<'a>(&'a Flag);

impl Progress for Listens<'_> {
    fn stopped(&self) -> bool {
        self.0.is_set()
    }
}

/// What is compared.
struct Plan {
    machines: Vec<Described>,
    workloads: Vec<Read>,
    pairs: Vec<Pair>,
    scenario: Scenario,
}

impl Plan {
    fn new(
        (machines, workloads): (Vec<Described>, Vec<Read>),
        schedulers: &[String],
        parameters: &[VariedSetting],
        scenario: Scenario,
    ) -> PyResult<Self> {
        once("machines", machines.iter().map(|machine| &machine.name))?;
        once("workloads", workloads.iter().map(|workload| &workload.name))?;
        let pair = |text: &String| Ok(Choice::parse(text, &OfPackage).or_raise()?.pair());
        let mut pairs = schedulers.iter().map(pair).collect::<PyResult<Vec<_>>>()?;
        if machines.is_empty() || workloads.is_empty() || pairs.is_empty() {
            return Err(mistake("a comparison needs a workload, a machine and a scheduler"));
        }
        scenario.check(pairs.iter().map(|pair| &pair.scheduler)).or_raise()?;
        tell_apart(&mut pairs);
        let pairs = spanned(pairs, parameters, &scenario).or_raise()?;
        Ok(Self { machines, workloads, pairs, scenario })
    }

    /// Whether everything can be run: nothing that could be told before is found out after runs.
    fn check(&self, seed: u64) -> PyResult<()> {
        let on = |machine: &Described| {
            self.pairs.iter().try_for_each(|pair| self.scenario.check_on(machine, pair, seed).or_raise())
        };
        self.machines.iter().try_for_each(on)
    }
}

/// Rows are told apart by names.
fn once<'a>(what: &str, names: impl Iterator<Item = &'a String>) -> PyResult<()> {
    let mut known = std::collections::BTreeSet::new();
    for name in names {
        if !known.insert(name) {
            return Err(mistake(format!("two of the {what} are called `{name}`: rows are told apart by names")));
        }
    }
    Ok(())
}

/// Compares schedulers and governors; the manual is the package's `__init__.pyi`.
#[pyfunction]
#[pyo3(signature = (workloads, machines, schedulers, *, runs=10, seed=0, parameters=None, alone=true, duration=None,
    kernel=None, hotplug=Vec::new(), quiet=false, jobs=None, store=None, **settings))]
#[expect(clippy::too_many_arguments, reason = "Python's keyword arguments")]
pub fn compare(
    py: Python<'_>,
    workloads: OneOrMore<GivenWorkload>,
    machines: OneOrMore<GivenMachine>,
    schedulers: OneOrMore<String>,
    runs: u32,
    seed: u64,
    parameters: Option<&Bound<'_, PyDict>>,
    alone: bool,
    duration: Option<Duration>,
    kernel: Option<String>,
    hotplug: Vec<String>,
    quiet: bool,
    jobs: Option<usize>,
    store: Option<PathBuf>,
    settings: Option<&Bound<'_, PyDict>>,
) -> PyResult<Comparison> {
    let scenario = Shared::new(duration, kernel, hotplug, quiet).scenario(settings)?;
    let machines = Vec::from(machines).into_iter().map(|machine| Ok((*machine.read(py)?.machine).clone()));
    let workloads = Vec::from(workloads).into_iter().map(|workload| Ok((*workload.read()?.get()?).clone()));
    let read = (machines.collect::<PyResult<Vec<_>>>()?, workloads.collect::<PyResult<Vec<_>>>()?);
    let plan = Plan::new(read, &Vec::from(schedulers), &varied(parameters)?, scenario)?;
    let store = store.map(open).transpose()?;
    let linux = linux()?;
    let threads = ThreadPoolBuilder::new().num_threads(jobs.unwrap_or(0)).build();
    let threads = threads.map_err(|error| PyRuntimeError::new_err(format!("cannot start threads: {error}")))?;
    let (matrix, unsound) = interruptible(py, |flag| {
        plan.check(seed)?;
        let runs = MatrixRuns {
            machines: &plan.machines,
            workloads: &plan.workloads,
            scenario: &plan.scenario,
            pairs: plan.pairs.clone(),
            seeds: (0..u64::from(runs)).map(|run| seed.wrapping_add(run)).collect(),
            alone,
        };
        let simulator = Stoppable { simulator: linux, flag };
        let stored = Stored::new(&simulator, store.as_ref(), false);
        let matrix = threads.install(|| runs.run(&stored, &Listens(flag))).or_raise()?;
        Ok::<_, PyErr>((matrix, stored.unsound()))
    })??;
    for entry in unsound {
        warn(
            py,
            &format!("{}: damaged, or of another run than its name says; that run was made again", entry.display()),
        )?;
    }
    let table = of_matrix(&matrix)?;
    Ok(Comparison { matrix, table })
}

fn open(folder: PathBuf) -> PyResult<Store> {
    let opened = Store::open(&folder, STORE_BYTES, program()?);
    opened.map_err(|error| PyOSError::new_err(format!("{}: cannot be made: {error}", folder.display())))
}

/// A row for each cell, pair and metric that was measured.
fn of_matrix(matrix: &Matrix) -> PyResult<Table> {
    let mut rows: Vec<(&Compare, &PairResult, Metric)> = Vec::new();
    for of_cell in &matrix.comparisons {
        for pair in &of_cell.pairs {
            let measured = |metric: &Metric| pair.metric(*metric).value.is_ok();
            rows.extend(Metric::ALL.into_iter().filter(measured).map(|metric| (of_cell, pair, metric)));
        }
    }
    let value = |(_, pair, metric): &(&Compare, &PairResult, Metric)| pair.metric(*metric).value.clone().ok();
    let ratio = |(_, pair, metric): &(&Compare, &PairResult, Metric)| pair.metric(*metric).ratio;
    let of_ratio = |get: fn(&Ratio) -> Option<f64>| rows.iter().map(move |row| ratio(row).as_ref().and_then(get));
    let schedulers: Vec<String> = rows.iter().map(|(_, pair, _)| pair.pair.scheduler.to_string()).collect();
    let governors: Vec<String> = rows.iter().map(|(_, pair, _)| pair.pair.governor.to_string()).collect();
    let set = |pair: &Pair| pair.parameters.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    let parameters: Vec<String> = rows.iter().map(|(_, pair, _)| set(&pair.pair)).collect();
    Columns::default()
        .text("workload", rows.iter().map(|(cell, ..)| Some(cell.workload.as_str())))
        .text("machine", rows.iter().map(|(cell, ..)| Some(cell.machine.as_str())))
        .text("scheduler", schedulers.iter().map(|name| Some(name.as_str())))
        .text("governor", governors.iter().map(|name| Some(name.as_str())))
        .text("parameters", parameters.iter().map(|set| Some(set.as_str()).filter(|set| !set.is_empty())))
        .text("metric", rows.iter().map(|(.., metric)| Some(metric.key())))
        .float("mean", rows.iter().map(|row| value(row).map(|it| it.mean)))
        .float("half_width", rows.iter().map(|row| value(row).and_then(|it| it.half_width)))
        .float("ratio", of_ratio(|ratio| Some(ratio.estimate.mean)))
        .float("ratio_half_width", of_ratio(|ratio| ratio.estimate.half_width))
        .truth("paired", rows.iter().map(|row| ratio(row).map(|ratio| ratio.paired)))
        .table()
}

#[pymethods]
impl Comparison {
    /// The means with their intervals: a row for each workload, machine, pair and metric.
    #[getter]
    fn table(&self) -> Table {
        self.table.clone()
    }

    /// A row for each run.
    #[getter]
    fn runs(&self) -> PyResult<Table> {
        let Rows { columns, rows } = Rows::of(&self.matrix);
        let column = |(index, name): (usize, &String)| Column {
            name: name.clone(),
            kind: Kind::of(name, rows.iter().map(|row| &row[index])),
        };
        Table::of_rows(&columns.iter().enumerate().map(column).collect::<Vec<_>>(), &rows)
    }

    /// The geometric mean of each pair's ratios over all cells, with the worst cell: a row for each pair and metric.
    #[getter]
    fn means(&self) -> PyResult<Table> {
        let mut rows = Vec::new();
        for (index, pair) in self.matrix.pairs.iter().enumerate() {
            for metric in Metric::ALL {
                rows.extend(self.matrix.geometric_mean(index, metric).map(|mean| (pair.to_string(), metric, mean)));
            }
        }
        Columns::default()
            .text("pair", rows.iter().map(|(pair, ..)| Some(pair.as_str())))
            .text("metric", rows.iter().map(|(_, metric, _)| Some(metric.key())))
            .float("ratio", rows.iter().map(|(.., mean)| Some(mean.ratio.mean)))
            .float("ratio_half_width", rows.iter().map(|(.., mean)| mean.ratio.half_width))
            .count("cells", rows.iter().map(|(.., mean)| Some(mean.cells as u64)))
            .text("worst_workload", rows.iter().map(|(.., mean)| Some(mean.worst.workload.as_str())))
            .text("worst_machine", rows.iter().map(|(.., mean)| Some(mean.worst.machine.as_str())))
            .float("worst_ratio", rows.iter().map(|(.., mean)| Some(mean.worst_ratio.mean)))
            .table()
    }

    /// How many of the runs a sched_ext scheduler did not see the end of; fair finished them.
    #[getter]
    fn ejected(&self) -> usize {
        self.matrix.ejected()
    }

    /// The comparison as `tandem compare --json` prints it, without what it was produced by.
    fn to_json(&self) -> PyResult<String> {
        let document = match &self.matrix.comparisons[..] {
            [one] => Compared::one(one, None),
            _ => Compared::many(&self.matrix, None),
        };
        serde_json::to_string_pretty(&document).map_err(mistake)
    }

    /// The columns of [`Comparison::table`] for a library that takes Arrow.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        slf: Bound<'py, Self>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let table = Bound::new(slf.py(), slf.get().table.clone())?;
        let capsule = table.call_method1("__arrow_c_stream__", (requested_schema,))?;
        Ok(capsule.cast_into::<PyCapsule>()?)
    }

    fn __len__(&self) -> usize {
        self.table.batch.num_rows()
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        Ok(Bound::new(slf.py(), slf.get().table.clone())?.repr()?.to_string())
    }

    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Bound::new(slf.py(), slf.get().table.clone())?.call_method0("_repr_html_")
    }
}
