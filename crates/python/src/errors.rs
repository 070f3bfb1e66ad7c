// SPDX-License-Identifier: MIT OR Apache-2.0
//! Exceptions: what is wrong, by kind. The classes are the package's own (`_errors.py`), so that they can be sent to other processes.

use std::ffi::CString;
use std::fmt::Display;

use pyo3::exceptions::PyRuntimeWarning;
use pyo3::import_exception;
use pyo3::prelude::*;
use tandem_experiments::memory::NoSize;
use tandem_experiments::{
    ChoiceError, ExperimentError, LineError, ParameterError, ScenarioError, SweepError, ValueError,
};
use tandem_simulator::input::InputError as Mistake;
use tandem_simulator::simulation::{OpenError, SimulationError};

import_exception!(tandem._errors, BusyError);
import_exception!(tandem._errors, EjectedError);
import_exception!(tandem._errors, InputError);
import_exception!(tandem._errors, OutOfMemoryError);
import_exception!(tandem._errors, StuckError);

/// The exception of a mistake that has no place in a file.
pub fn mistake(text: impl Display) -> PyErr {
    InputError::new_err(text.to_string())
}

/// Warns who called the package.
///
/// # Errors
/// Whoever called wants warnings to be exceptions.
pub fn warn(py: Python<'_>, text: &str) -> PyResult<()> {
    let text = CString::new(text).unwrap_or_default();
    PyErr::warn(py, &py.get_type::<PyRuntimeWarning>(), &text, 2)
}

/// The exception of a mistake in a file.
pub fn in_file(error: &Mistake) -> PyErr {
    let (line, column) = error.position.as_ref().map(|at| (at.line, at.column)).unzip();
    let file = error.path.to_string_lossy().into_owned();
    InputError::new_err((error.to_string(), file, line, column, error.help.clone()))
}

/// The exception of a run that has no report. Where a person stopped it, the exception is that of the interrupt.
pub fn of_simulation(error: &SimulationError) -> PyErr {
    let text = error.to_string();
    match error {
        SimulationError::Stuck { .. }
        | SimulationError::NoProgress { .. }
        | SimulationError::TooManyThreads { .. }
        | SimulationError::Unfinished { .. } => StuckError::new_err(text),
        SimulationError::ForkRefused { .. } => EjectedError::new_err(text),
        SimulationError::Memory(_) => OutOfMemoryError::new_err(text),
        SimulationError::Stopped { .. } => pyo3::exceptions::PyKeyboardInterrupt::new_err(text),
        SimulationError::Scheduler { .. }
        | SimulationError::Governor(_)
        | SimulationError::Hotplug { .. }
        | SimulationError::KernelMemory { .. } => InputError::new_err(text),
    }
}

/// The exception of settings that do not fit.
pub fn of_scenario(error: &ScenarioError) -> PyErr {
    match error {
        ScenarioError::Load(error) => of_simulation(error),
        ScenarioError::Variable(OpenError::Sidecar(error)) => in_file(error),
        error => mistake(error),
    }
}

/// The exception of a comparison that has no result.
pub fn of_experiment(error: &ExperimentError) -> PyErr {
    match error {
        ExperimentError::Input(error) => in_file(error),
        ExperimentError::Scenario(error) => of_scenario(error),
        ExperimentError::Simulation(error) => of_simulation(error),
        ExperimentError::Run { source: SimulationError::Stopped { .. }, .. } | ExperimentError::Interrupted => {
            pyo3::exceptions::PyKeyboardInterrupt::new_err(())
        }
        ExperimentError::Run { run, source } => {
            let of_run = of_simulation(source);
            Python::attach(|py| PyErr::from_type(of_run.get_type(py), format!("{run}: {source}")))
        }
        error => mistake(error),
    }
}

/// The exception of a task that has no rows.
pub fn of_sweep(error: &SweepError) -> PyErr {
    match error {
        SweepError::Stopped => pyo3::exceptions::PyKeyboardInterrupt::new_err(()),
        SweepError::Memory { .. } => OutOfMemoryError::new_err(error.to_string()),
    }
}

/// An error of the libraries as an exception.
pub trait OrRaise<T> {
    /// The value, or the exception.
    fn or_raise(self) -> PyResult<T>;
}

macro_rules! raised {
    ($($error:ty => $exception:expr),+ $(,)?) => {
        $(impl<T> OrRaise<T> for Result<T, $error> {
            fn or_raise(self) -> PyResult<T> {
                self.map_err(|error| $exception(&error))
            }
        })+
    };
}

raised! {
    Mistake => in_file,
    SimulationError => of_simulation,
    ScenarioError => of_scenario,
    ExperimentError => of_experiment,
    SweepError => of_sweep,
    ParameterError => mistake,
    ChoiceError => mistake,
    LineError => mistake,
    ValueError => mistake,
    NoSize => mistake,
}
