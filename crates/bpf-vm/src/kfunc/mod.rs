// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernel functions that BPF itself brings: objects, trees, lists, cpumasks, iterators, RCU, pages of an arena.
//!
//! A kernel's types say which of these functions it has (see [`Environment`](crate::link::Environment)); here is what
//! each function does. The kernel's verifier proves some rules before a program runs: a node is dropped only when it is
//! in no tree, a cpumask is released only by its owner. Here these rules are checked at run time, and breaking one is a
//! fault.

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
const ENOMEM: i64 = 12;

/// State that these functions keep between calls.
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

/// The kernel function `name`, if this crate has it.
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
    /// `distribute_cpu_mask_prev` of CPU `cpu`: the CPU that `cpumask_any_distribute` or `cpumask_any_and_distribute`
    /// found last when `cpu` executed it; 0 at first. A host that models these functions uses the same cursor.
    pub fn distribute_cursor(&mut self, cpu: u32) -> &mut u32 {
        let at = cpu as usize;
        if self.kfuncs.distribute.len() <= at {
            self.kfuncs.distribute.resize(at + 1, 0);
        }
        &mut self.kfuncs.distribute[at]
    }
}

/// The value of a function that failed with `errno`.
fn failed(errno: i64) -> Result<u64, Fault> {
    Ok((-errno) as u64)
}

/// A fault for what the verifier would not let a program do.
fn misuse(text: impl Into<String>) -> FaultKind {
    FaultKind::Misuse(text.into())
}
