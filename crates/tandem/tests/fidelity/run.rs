// SPDX-License-Identifier: GPL-2.0-only
//! What is compared of a run, in the kernel or here.

use std::collections::BTreeMap;

use serde::Deserialize;

/// Threads are called by their task.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub struct Run {
    /// As the scenario says.
    pub scheduler: String,
    /// Percent of one CPU's time in the window.
    #[serde(default)]
    pub shares: BTreeMap<String, f64>,
    /// What the guest's host took of that time, in percent of the rest.
    #[serde(default)]
    pub stolen: f64,
    /// Time for which CPUs of each limited group waited, in percent of that of the run.
    #[serde(default)]
    pub throttled: BTreeMap<String, f64>,
    /// Who ended, in order.
    #[serde(default)]
    pub order: Vec<String>,
    /// The CPU, the callback, its arguments.
    #[serde(default)]
    pub callbacks: BTreeMap<String, Vec<String>>,
}
