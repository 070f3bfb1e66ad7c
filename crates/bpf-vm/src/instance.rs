// SPDX-License-Identifier: MIT OR Apache-2.0
//! A loaded object, ready to run.

use std::sync::Arc;

use crate::fault::{Fault, Location};
use crate::helper::HelperState;
use crate::host::{Args, Host};
use crate::interp::{Code, Execution};
use crate::kfunc::KfuncState;
use crate::map::Maps;
use crate::memory::Memory;
use crate::object::Object;
use crate::timer::Timers;

/// A program of an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ProgramId(pub u32);

/// What a program returned, and what it took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outcome {
    /// r0.
    pub value: u64,
    /// Instructions executed, those of its callbacks and of programs that its kernel functions ran included.
    pub instructions: u64,
}

/// A loaded object: its code, memory, maps, timers. Instances share nothing and may run in parallel threads.
#[derive(Debug)]
pub struct Instance {
    /// What programs see.
    pub memory: Memory,
    pub(crate) object: Arc<Object>,
    pub(crate) code: Arc<Code>,
    pub(crate) maps: Maps,
    pub(crate) timers: Timers,
    pub(crate) helpers: HelperState,
    pub(crate) kfuncs: KfuncState,
    pub(crate) execution: Execution,
    pub(crate) nr_cpus: u32,
}

#[cfg(test)]
impl Instance {
    /// An instance without code, for tests of what works on memory.
    pub(crate) fn bare(nr_cpus: u32, limit: u64) -> Self {
        Self {
            memory: Memory::new(limit),
            object: Arc::default(),
            code: Arc::default(),
            maps: Maps::default(),
            timers: Timers::default(),
            helpers: HelperState::default(),
            kfuncs: KfuncState::default(),
            execution: Execution::default(),
            nr_cpus,
        }
    }
}
