// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is done of a sweep: a folder with a Parquet file for each part. A part's name follows from all that its rows follow from, so
//! that what is there is not done again, whoever did it.

use std::collections::{BTreeSet, VecDeque};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use arrow_select::concat::concat_batches;
use pyo3::exceptions::{PyOSError, PyRuntimeError};
use pyo3::prelude::*;
use serde_json::Value;
use tandem_experiments::{Task, Tracker};
use tandem_simulator::bounded::Limit;

use super::grid::{Grid, Order};
use super::known::Known;
use super::lock::Lock;
use crate::errors::{mistake, warn};
use crate::parquet;
use crate::table::Table;

/// What is said of the data set as a whole.
const ABOUT: &str = "tandem.json";
/// The folder of files that belong to earlier grids.
const EARLIER: &str = "earlier";
/// How much is read of a part.
pub const PART: Limit = Limit::new(2 << 30, "a part of a sweep", "give the grid smaller ones (batch)");
/// What a killed process left is older.
const LEFT_OVER: Duration = Duration::from_secs(3600);

/// A part of a sweep that is to be done.
#[pyclass(frozen, module = "tandem._tandem")]
#[derive(Debug, Clone)]
pub struct Part {
    order: Order,
    name: String,
}

#[pymethods]
impl Part {
    /// What is to be done, for [`Grid::run`].
    #[getter]
    fn order(&self) -> PyResult<String> {
        serde_json::to_string(&self.order).map_err(mistake)
    }

    /// How many runs that is.
    #[getter]
    fn runs(&self) -> usize {
        self.order.wanted.as_ref().map_or(self.order.task.cells.len() * self.order.task.repeats.len(), Vec::len)
    }

    /// The file of the part.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }
}

/// What is done of a sweep.
#[pyclass(module = "tandem._tandem")]
pub struct Progress {
    grid: Py<Grid>,
    folder: PathBuf,
    /// No other sweep writes into the folder until this is let go.
    lock: Option<Lock>,
    tracker: Tracker,
    open: VecDeque<Task>,
    known: Option<Known>,
    /// The files of this grid's parts that are done.
    files: BTreeSet<String>,
    /// Files of parts that were damaged, as far as nobody was told of them.
    damaged: Vec<String>,
    done: usize,
    found: usize,
    failed: Vec<Vec<Value>>,
}

impl Progress {
    fn name(grid: &Grid, task: &Task) -> String {
        let digest = grid.sweep.part(task, &grid.keys).to_string();
        format!("part-{:07}-{:02}-{}.parquet", task.block, task.stage, &digest[..16])
    }

    /// Counts the rows of a part that is done, and opens the tasks that come of it.
    fn take(&mut self, grid: &Grid, task: &Task, name: String, rows: &[Vec<Value>]) {
        self.done += rows.len();
        let error = grid.sweep.columns().len() - 2;
        self.failed.extend(rows.iter().filter(|row| !row[error].is_null()).cloned());
        // The next task of a block comes first: its cells' machines and workloads are known.
        self.open.extend(self.tracker.finished(&grid.sweep, task, rows));
        self.files.insert(name);
    }

    /// The rows of the part's file, if there is a sound one. Of one that is not, it is noted that a person is to be told.
    fn rows_of(&mut self, grid: &Grid, task: &Task, name: &str) -> Option<Vec<Vec<Value>>> {
        let read = PART.read(&self.folder.join(name));
        if read.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
            return None;
        }
        let batch = read.ok().and_then(|bytes| parquet::decode(bytes).ok());
        let rows = batch.map(|batch| Table { batch }.rows()).filter(|rows| is_of(grid, task, rows));
        if rows.is_none() {
            self.damaged.push(name.to_owned());
        }
        rows
    }

    /// The rows that other files have of a task's runs, by run.
    fn known_of(&mut self, grid: &Grid, task: &Task) -> Vec<Option<Vec<Value>>> {
        let Some(known) = self.known.as_mut().filter(|known| !known.is_empty()) else { return Vec::new() };
        let columns: Vec<String> = grid.sweep.columns().into_iter().map(|column| column.name).collect();
        let row = |(cell, repeat)| known.row(&grid.sweep.key(cell, repeat, &grid.keys).to_string(), &columns);
        task.runs().map(row).collect()
    }
}

/// Whether the rows are those of the task: a sound file may stand under another one's name.
fn is_of(grid: &Grid, task: &Task, rows: &[Vec<Value>]) -> bool {
    let has_key = |(row, (cell, repeat)): (&Vec<Value>, (u32, u32))| {
        let key = grid.sweep.key(cell, repeat, &grid.keys).to_string();
        row.len() == grid.sweep.columns().len() && row.last().and_then(Value::as_str) == Some(&*key)
    };
    let ends = rows.first().zip(task.runs().next()).into_iter().chain(rows.last().zip(task.runs().last()));
    rows.len() == task.cells.len() * task.repeats.len() && ends.into_iter().all(has_key)
}

/// The parts in a folder.
fn parts(folder: &Path) -> PyResult<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.starts_with("part-") && name.ends_with(".parquet") {
            paths.push(path);
        } else if name.starts_with(".tandem-") && is_left_over(&path) {
            let _ = fs::remove_file(&path);
        }
    }
    paths.sort();
    Ok(paths)
}

fn is_left_over(path: &Path) -> bool {
    let modified = fs::metadata(path).and_then(|metadata| metadata.modified()).unwrap_or_else(|_| SystemTime::now());
    modified.elapsed().is_ok_and(|age| age > LEFT_OVER)
}

#[pymethods]
impl Progress {
    /// What is done of `grid` in `folder`, which is made if it is not there, and which is this sweep's until `release`.
    #[new]
    fn new(py: Python<'_>, grid: Py<Grid>, folder: PathBuf) -> PyResult<Self> {
        let wrong =
            |error: std::io::Error| PyOSError::new_err(format!("{}: cannot be made: {error}", folder.display()));
        fs::create_dir_all(&folder).map_err(wrong)?;
        let lock = Lock::of(py, &folder)?;
        let it = grid.get();
        let open: VecDeque<Task> = py.detach(|| it.sweep.tasks().into());
        let about = serde_json::from_str::<Value>(&it.provenance()).and_then(|it| serde_json::to_string_pretty(&it));
        parquet::write(&folder.join(ABOUT), about.map_err(mistake)?.as_bytes())?;
        let mut progress = Self {
            grid: grid.clone_ref(py),
            folder,
            lock,
            tracker: Tracker::default(),
            open,
            known: None,
            files: BTreeSet::new(),
            damaged: Vec::new(),
            done: 0,
            found: 0,
            failed: Vec::new(),
        };
        py.detach(|| progress.look())?;
        Ok(progress)
    }

    /// The next part to do; `None` if there is none now. Parts whose rows are known need nobody to do them.
    fn next(&mut self, py: Python<'_>) -> PyResult<Option<Part>> {
        let grid = self.grid.clone_ref(py);
        let next = py.detach(|| self.next_of(grid.get()))?;
        for name in self.damaged.drain(..) {
            let file = self.folder.join(name);
            warn(py, &format!("{}: damaged since it was written; its runs are made again", file.display()))?;
        }
        Ok(next)
    }

    /// Takes the bytes that came of a part, and writes its file.
    fn finished(&mut self, py: Python<'_>, part: &Part, bytes: Vec<u8>) -> PyResult<()> {
        let grid = self.grid.clone_ref(py);
        py.detach(|| self.finished_of(grid.get(), part, bytes))
    }

    /// Runs that are done, those known from before among them.
    #[getter]
    fn done(&self) -> usize {
        self.done
    }

    /// Runs that were known from before.
    #[getter]
    fn found(&self) -> usize {
        self.found
    }

    /// The rows of runs that failed.
    #[getter]
    fn failed(&self, py: Python<'_>) -> PyResult<Table> {
        Table::of_rows(&self.grid.get().sweep.columns(), &self.failed).inspect(|_| {
            let _ = py;
        })
    }

    /// Puts the files of other grids aside, once all that they know is in files of this one.
    fn end(&mut self) -> PyResult<()> {
        for path in parts(&self.folder)? {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if !self.files.contains(&name) {
                fs::rename(&path, self.earlier()?.join(name))?;
            }
        }
        Ok(())
    }

    /// Lets other sweeps write into the folder.
    fn release(&mut self) {
        self.lock = None;
    }

    /// The rows of all parts that are done, by cell and seed as far as blocks go.
    fn table(&self, py: Python<'_>) -> PyResult<Table> {
        py.detach(|| {
            let schema = Table::of_rows(&self.grid.get().sweep.columns(), &[])?.batch.schema();
            let read = |name: &String| {
                let bytes = PART.read(&self.folder.join(name))?;
                parquet::decode(bytes).map_err(|error| PyOSError::new_err(format!("{name}: {error}")))
            };
            let batches = self.files.iter().map(read).collect::<PyResult<Vec<_>>>()?;
            let columns = batches.into_iter().map(|batch| batch.with_schema(schema.clone()).map_err(mistake));
            let batches = columns.collect::<PyResult<Vec<_>>>()?;
            Ok(Table { batch: concat_batches(&schema, &batches).map_err(mistake)? })
        })
    }
}

/// Whether there is a folder, and no symbolic link to one.
fn is_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir())
}

impl Progress {
    /// The folder for files of earlier grids, which is made if it is not there.
    fn earlier(&self) -> PyResult<PathBuf> {
        let earlier = self.folder.join(EARLIER);
        fs::create_dir_all(&earlier)?;
        match is_folder(&earlier) {
            true => Ok(earlier),
            false => Err(PyOSError::new_err(format!(
                "{}: is a symbolic link, which is not followed; remove it",
                earlier.display()
            ))),
        }
    }

    /// Looks at what the folder has: parts of this grid are done, and what others have need not be done.
    fn look(&mut self) -> PyResult<()> {
        let grid = Python::attach(|py| self.grid.clone_ref(py));
        let own: BTreeSet<String> = self.open.iter().map(|task| Self::name(grid.get(), task)).collect();
        let is_own = |path: &PathBuf| path.file_name().is_some_and(|name| own.contains(&*name.to_string_lossy()));
        let mut others: Vec<PathBuf> = parts(&self.folder)?.into_iter().filter(|path| !is_own(path)).collect();
        let earlier = self.folder.join(EARLIER);
        if is_folder(&earlier) {
            others.extend(parts(&earlier)?);
        }
        self.known = (!others.is_empty()).then(|| Known::of(others));
        Ok(())
    }

    fn next_of(&mut self, grid: &Grid) -> PyResult<Option<Part>> {
        while let Some(task) = self.open.pop_front() {
            let name = Self::name(grid, &task);
            if let Some(rows) = self.rows_of(grid, &task, &name) {
                self.found += rows.len();
                self.take(grid, &task, name, &rows);
                continue;
            }
            let known = self.known_of(grid, &task);
            if !known.is_empty() && known.iter().all(Option::is_some) {
                let rows: Vec<Vec<Value>> = known.into_iter().flatten().collect();
                parquet::write(&self.folder.join(&name), &grid.encoded(&rows)?)?;
                self.found += rows.len();
                self.take(grid, &task, name, &rows);
                continue;
            }
            let missing = known.iter().zip(task.runs()).filter(|(known, _)| known.is_none()).map(|(_, run)| run);
            let wanted: Vec<(u32, u32)> = missing.collect();
            let wanted = known.iter().any(Option::is_some).then_some(wanted);
            return Ok(Some(Part { order: Order { task, wanted }, name }));
        }
        Ok(None)
    }

    fn finished_of(&mut self, grid: &Grid, part: &Part, bytes: Vec<u8>) -> PyResult<()> {
        let Part { order: Order { task, wanted }, name } = part;
        let batch = parquet::decode(bytes.clone()).map_err(mistake)?;
        let new = Table { batch }.rows();
        let first = wanted.as_ref().map_or_else(|| task.runs().next(), |wanted| wanted.first().copied());
        let key = first.map(|(cell, repeat)| grid.sweep.key(cell, repeat, &grid.keys).to_string());
        if new.first().and_then(|row| row.last()).and_then(Value::as_str) != key.as_deref() {
            return Err(PyRuntimeError::new_err(
                "a worker has another build of the package than this process: its runs have other keys",
            ));
        }
        let mut new = new.into_iter();
        let (rows, bytes) = if wanted.is_none() {
            (new.collect::<Vec<_>>(), bytes)
        } else {
            let known = self.known_of(grid, task);
            self.found += known.iter().flatten().count();
            let rows: Vec<Vec<Value>> = known.into_iter().filter_map(|row| row.or_else(|| new.next())).collect();
            let bytes = grid.encoded(&rows)?;
            (rows, bytes)
        };
        parquet::write(&self.folder.join(name), &bytes)?;
        self.take(grid, task, name.clone(), &rows);
        Ok(())
    }
}
