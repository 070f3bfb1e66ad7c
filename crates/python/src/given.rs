// SPDX-License-Identifier: MIT OR Apache-2.0
//! What callers give: machines, workloads, schedulers, and the options that all runs share.

use std::path::PathBuf;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyString};
use tandem_experiments::{Choice, Pair, Scenario, Setting, VariedSetting, parse_duration, parse_hotplug};
use tandem_simulator::units::{Nanos, SEC};

use crate::carried::OfPackage;
use crate::errors::{OrRaise, mistake};
use crate::machine::Machine;
use crate::workload::Workload;

/// A machine, or the name or file of one.
#[derive(FromPyObject)]
pub enum GivenMachine {
    /// One that has been read.
    Machine(Py<Machine>),
    /// What names one.
    Spec(PathBuf),
}

impl GivenMachine {
    /// The machine, read if need be.
    pub fn read(self, py: Python<'_>) -> PyResult<Machine> {
        match self {
            Self::Machine(machine) => Ok(machine.get().clone()),
            Self::Spec(spec) => Machine::load(py, &spec.to_string_lossy()),
        }
    }
}

/// A workload, or the name or file of one.
#[derive(FromPyObject)]
pub enum GivenWorkload {
    /// One that has been read, or made.
    Workload(Py<Workload>),
    /// What names one.
    Spec(PathBuf),
}

impl GivenWorkload {
    /// The workload, read if need be.
    pub fn read(self) -> PyResult<Workload> {
        match self {
            Self::Workload(workload) => Ok(workload.get().clone()),
            Self::Spec(spec) => Workload::load(&spec),
        }
    }
}

/// One of a kind, or several.
#[derive(FromPyObject)]
pub enum OneOrMore<T> {
    /// A single one of the kind.
    One(T),
    /// Several.
    More(Vec<T>),
}

impl<T> From<OneOrMore<T>> for Vec<T> {
    fn from(given: OneOrMore<T>) -> Self {
        match given {
            OneOrMore::One(one) => vec![one],
            OneOrMore::More(more) => more,
        }
    }
}

/// A simulated time: seconds, or a text with a unit such as `"500ms"`.
#[derive(FromPyObject)]
pub enum Duration {
    /// Seconds.
    Seconds(f64),
    /// With a unit.
    Text(String),
}

impl Duration {
    fn nanos(&self) -> PyResult<Nanos> {
        match self {
            Self::Text(text) => parse_duration(text).or_raise(),
            Self::Seconds(seconds) if *seconds > 0.0 && *seconds < 1e9 => Ok((seconds * SEC as f64).round() as Nanos),
            Self::Seconds(seconds) => Err(mistake(format!("duration: {seconds} s is no time above 0"))),
        }
    }
}

/// The options that all runs of a call share.
pub struct Shared {
    duration: Option<Duration>,
    kernel: Option<String>,
    hotplug: Vec<String>,
    quiet: bool,
}

impl Shared {
    /// These options.
    pub fn new(duration: Option<Duration>, kernel: Option<String>, hotplug: Vec<String>, quiet: bool) -> Self {
        Self { duration, kernel, hotplug, quiet }
    }

    /// The scenario of the runs, with kernel parameters and settings of schedulers by name.
    pub fn scenario(&self, settings: Option<&Bound<'_, PyDict>>) -> PyResult<Scenario> {
        let scenario = Scenario {
            settings: settings.map_or(Ok(Vec::new()), settings_of)?,
            profile: self
                .kernel
                .as_deref()
                .map(|kernel| kernel.parse().map_err(|error| mistake(&error)))
                .transpose()?,
            time_limit: self.duration.as_ref().map(Duration::nanos).transpose()?,
            hotplug: self.hotplug.iter().map(|text| parse_hotplug(text).or_raise()).collect::<PyResult<_>>()?,
        };
        Ok(if self.quiet { scenario } else { scenario.disturbed() })
    }
}

/// A setting's value as it is written on a command line.
fn written(value: &Bound<'_, PyAny>) -> PyResult<String> {
    if let Ok(truth) = value.cast::<PyBool>() {
        return Ok(truth.is_true().to_string());
    }
    if value.is_instance_of::<PyString>() || value.extract::<f64>().is_ok() {
        return Ok(value.str()?.to_string());
    }
    Err(PyTypeError::new_err(format!(
        "a setting is a text, a number or a truth value, not {}",
        value.get_type().name()?
    )))
}

/// Settings by name, in the order of the dictionary.
fn settings_of(settings: &Bound<'_, PyDict>) -> PyResult<Vec<Setting>> {
    settings.iter().map(|(key, value)| Ok(Setting { key: key.extract()?, value: written(&value)? })).collect()
}

/// Settings with the values that they take in turn.
pub fn varied(parameters: Option<&Bound<'_, PyDict>>) -> PyResult<Vec<VariedSetting>> {
    let Some(parameters) = parameters else { return Ok(Vec::new()) };
    let one = |(key, values): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
        let values = values.try_iter()?.map(|value| written(&value?)).collect::<PyResult<Vec<_>>>()?;
        format!("{}={}", key.extract::<String>()?, values.join(",")).parse::<VariedSetting>().or_raise()
    };
    parameters.iter().map(one).collect()
}

/// The pair that `scheduler` and an option beside it name.
pub fn pair(scheduler: &str, governor: Option<&str>) -> PyResult<Pair> {
    let governor =
        governor.map(|text| text.parse().map_err(|error: tandem_simulator::simulation::GovernorError| mistake(&error)));
    let choice = Choice::parse(scheduler, &OfPackage).or_raise()?;
    choice.with_governor(governor.transpose()?).or_raise()
}
