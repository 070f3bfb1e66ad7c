// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernel functions that BPF itself brings: objects, trees, lists, cpumasks, iterators, RCU, pages of an arena.
//!
//! Whether a kernel has one of them, its types say (see [`Environment`](crate::link::Environment)); here is what each does. What the kernel's
//! verifier proves before a program runs (a node is dropped only when it is in no tree, a cpumask is released only by
//! who owns it) is checked here when it happens, and is a fault.

mod arena;
mod collection;
mod context;
mod cpumask;
mod iter;
mod list;
mod object;
mod rbtree;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use crate::fault::{Fault, FaultKind};
use crate::host::Builtin;
use crate::instance::Instance;
use crate::map::DroppedKptr;

use collection::Collections;
use object::Allocated;

const EACCES: i64 = 13;
const EINVAL: i64 = 22;
const E2BIG: i64 = 7;

/// What these functions remember between calls.
#[derive(Debug, Default)]
pub struct KfuncState {
    /// Objects of `bpf_obj_new_impl` and `bpf_percpu_obj_new_impl`, by address.
    objects: BTreeMap<u64, Allocated>,
    /// References to each cpumask of `bpf_cpumask_create`, by address.
    cpumasks: BTreeMap<u64, u32>,
    /// Trees and lists.
    collections: Collections,
    /// Pointers of dropped objects to what only the host can release.
    foreign: Vec<DroppedKptr>,
    /// `distribute_cpu_mask_prev` of each executing CPU.
    distribute: Vec<u32>,
}

/// The kernel function `name`, if it is one of those here.
pub fn kfunc(name: &str) -> Option<Builtin> {
    object::find(name)
        .or_else(|| rbtree::find(name))
        .or_else(|| list::find(name))
        .or_else(|| iter::find(name))
        .or_else(|| context::find(name))
        .or_else(|| cpumask::find(name))
        .or_else(|| arena::find(name))
}

impl Instance {
    /// `distribute_cpu_mask_prev` of CPU `cpu`: where `cpumask_any_distribute` and `cpumask_any_and_distribute` found
    /// a CPU last when `cpu` executed them; 0 at first. A host that models these functions uses the same cursor.
    pub fn distribute_cursor(&mut self, cpu: u32) -> &mut u32 {
        let at = cpu as usize;
        if self.kfuncs.distribute.len() <= at {
            self.kfuncs.distribute.resize(at + 1, 0);
        }
        &mut self.kfuncs.distribute[at]
    }
}

/// What a function that failed with `errno` returns.
fn failed(errno: i64) -> Result<u64, Fault> {
    Ok((-errno) as u64)
}

/// A fault for what the verifier would not let a program do.
fn misuse(text: impl Into<String>) -> FaultKind {
    FaultKind::Misuse(text.into())
}
