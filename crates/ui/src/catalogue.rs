// SPDX-License-Identifier: MIT OR Apache-2.0
//! What there is to choose from.

use serde::Serialize;
use tandem_simulator::Machine;
use tandem_simulator::machine::catalogue;
use tandem_simulator::machine::description::configurations;
use tandem_simulator::simulation::KernelParameters;
use tandem_simulator::workload::bundled::BUNDLED;

/// What the command carries beside machines and workloads.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Carried {
    /// The version of the command.
    pub version: String,
    /// Names of schedulers, Linux's own first.
    pub schedulers: Vec<String>,
    /// Names of governors, as they stand behind a scheduler.
    pub governors: Vec<String>,
    /// Versions of Linux whose rules may hold.
    pub kernels: Vec<String>,
    /// Settings of a scheduler and what they mean, by the scheduler's name.
    pub settings: Vec<(String, Vec<(String, String)>)>,
}

/// All of it.
#[derive(Serialize)]
pub struct Catalogue<'a> {
    #[serde(flatten)]
    carried: &'a Carried,
    machines: Vec<Entry>,
    workloads: Vec<Entry>,
    /// Kernel parameters and what they mean.
    parameters: Vec<(&'static str, &'static str)>,
}

/// A machine or a workload.
#[derive(Serialize)]
struct Entry {
    name: &'static str,
    title: String,
    /// Of a machine: what stands behind the colon, and titles.
    configurations: Vec<(String, String)>,
}

impl<'a> Catalogue<'a> {
    /// What is bundled, and what is `carried`.
    pub fn new(carried: &'a Carried) -> Self {
        let machine = |name| Entry {
            name,
            title: Machine::load(name).map(|machine| machine.title).unwrap_or_default(),
            configurations: text("machine", name)
                .and_then(|text| configurations(name.as_ref(), text).ok())
                .unwrap_or_default(),
        };
        let workload =
            |(name, _): &(&'static str, &str)| Entry { name, title: String::new(), configurations: Vec::new() };
        Self {
            carried,
            machines: catalogue::names().map(machine).collect(),
            workloads: BUNDLED.iter().map(workload).collect(),
            parameters: KernelParameters::KEYS.to_vec(),
        }
    }
}

/// The text of a bundled machine or workload.
pub fn text(what: &str, name: &str) -> Option<&'static str> {
    match what {
        "machine" => catalogue::text(name),
        "workload" => BUNDLED.iter().find(|(bundled, _)| *bundled == name).map(|(_, text)| *text),
        _ => None,
    }
}
