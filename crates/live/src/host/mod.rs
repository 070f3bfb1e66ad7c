// SPDX-License-Identifier: MIT OR Apache-2.0
//! What there is: facts about a kernel and a machine, gathered before anything is decided ([`crate::plan`]).
//!
//! `kernel`: whether a scheduler can be loaded. `missing`: what it lacks, in words. `config`: what the kernel was built with.
//! `policy`: clocks and who chooses them. `groups`: who may not have all CPU time. [`crate::machine`] has the CPUs.

mod config;
mod groups;
mod kernel;
mod missing;
mod policy;
#[cfg(test)]
mod tests;

use std::path::Path;

pub use config::Config;
pub use groups::limited_groups;
pub use kernel::{Capability, KernelSupport};
pub use missing::Missing;
pub use policy::{Policy, SCHEDUTIL};

use crate::error::LiveError;
use crate::machine::{Capacities, Machine};
use crate::tree::Tree;

/// The facts of a machine and its kernel.
#[derive(Debug, Clone)]
pub struct Host {
    /// The kernel.
    pub kernel: KernelSupport,
    /// The CPUs.
    pub machine: Machine,
    /// Where their capacities come from.
    pub capacities: Capacities,
    /// Who chooses clocks, in the order of their names' numbers; none without cpufreq.
    pub policies: Vec<Policy>,
    /// Whether CPUs have performance counters of their own, beside those of the kernel.
    pub counters: bool,
    /// Control groups whose CPU time is limited (`cpu.max`), sorted.
    pub limited_groups: Vec<String>,
}

impl Host {
    /// Gathers the facts below `root`, `/` for the running kernel: from its folders `sys`, `proc`, `boot` and `lib/modules`.
    ///
    /// # Errors
    /// [`LiveError::Machine`]: nothing says which CPUs there are. What else is missing is a fact.
    pub fn probe(root: &Path) -> Result<Self, LiveError> {
        let tree = Tree::new(root);
        let (machine, capacities) = Machine::read_with_capacities(root)?;
        Ok(Self {
            kernel: KernelSupport::probe(&tree),
            policies: policy::policies(&tree, machine.cpus.len()),
            counters: has_counters(&tree),
            limited_groups: limited_groups(root),
            machine,
            capacities,
        })
    }
}

/// Whether an event source counts what CPUs do: Intel's and AMD's are `cpu`, those of hybrids `cpu_core` and `cpu_atom`,
/// others begin with `armv8_`, `apple_` or `riscv`. The rest counts what buses do,
/// or the kernel.
fn has_counters(tree: &Tree) -> bool {
    let is_of_cpus = |name: &String| {
        name == "cpu" || ["cpu_", "armv", "apple_", "riscv"].iter().any(|prefix| name.starts_with(prefix))
    };
    // A source without events is one whose driver found nothing to count with.
    let has_events = |name: &String| tree.has_sys(&format!("bus/event_source/devices/{name}/events"));
    tree.names("bus/event_source/devices").iter().any(|name| is_of_cpus(name) && has_events(name))
}
