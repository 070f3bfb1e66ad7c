// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernel objects in the programs' memory: tasks, masks, cgroups, run queues, and the task or cgroup that each stands for.
//!
//! `slice`, `dsq_vtime` and `disallow` of a task live only here, as programs write them; all else is a copy that the
//! kernel keeps up for programs to read. A program cannot write it.
//!
//! - [`tasks`]: `task_struct`s. [`affinity`]: which CPUs they may use. [`cpus`]: masks, run queues, per-CPU variables.
//! - [`cgroups`]: cgroups. [`dsqs`]: dispatch queues. [`args`]: arguments of callbacks.

mod access;
mod affinity;
pub mod args;
mod cgroups;
mod cpus;
mod dsqs;
mod tasks;

use tandem_bpf_vm::fault::FaultKind;
use tandem_bpf_vm::memory::Memory;

use crate::kernel::Kernel;
use crate::machine::Machine;
use affinity::Affinities;
use args::ArgObjects;
use cgroups::CgroupObject;
use cpus::CpuObjects;
pub use cpus::Mask;
pub use tasks::GuestTaskInfo;
use tasks::ThreadGroups;

/// Kernel objects in the programs' memory.
#[derive(Debug)]
pub struct Guest {
    /// `task_struct`s by [`TaskId`](crate::units::TaskId); 0 where there is none.
    tasks: Vec<u64>,
    groups: ThreadGroups,
    affinities: Affinities,
    cpus: CpuObjects,
    cgroups: Vec<CgroupObject>,
    args: ArgObjects,
}

impl Guest {
    /// The objects that are there before any task: masks, run queues, idle tasks, init.
    ///
    /// # Errors
    /// [`FaultKind::Exhausted`] if they do not fit into the memory.
    pub fn new(memory: &mut Memory, kernel: &Kernel, machine: &Machine) -> Result<Self, FaultKind> {
        let mut affinities = Affinities::new(kernel.topology.nr_cpus);
        let cpus = CpuObjects::new(memory, kernel, machine, &mut affinities)?;
        Ok(Self {
            tasks: Vec::new(),
            groups: ThreadGroups::default(),
            affinities,
            cpus,
            cgroups: Vec::new(),
            args: ArgObjects::new(memory)?,
        })
    }
}

#[cfg(test)]
mod tests;
