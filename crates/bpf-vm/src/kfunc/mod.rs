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
use std::sync::Arc;

use crate::btf::TypeId;
use crate::fault::{Fault, FaultKind};
use crate::host::Builtin;
use crate::instance::Instance;
use crate::map::{DroppedKptr, Field};
use crate::memory::{Kept, Special};

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
    most_objects: Kept,
    /// Special fields of the objects' types.
    types: BTreeMap<TypeId, Arc<[Field]>>,
    /// References to each cpumask of `bpf_cpumask_create`, by address.
    cpumasks: BTreeMap<u64, u32>,
    most_cpumasks: Kept,
    /// Trees and lists.
    collections: Collections,
    most_queued: Kept,
    /// Pointers of dropped objects to what only the host can release.
    foreign: Vec<DroppedKptr>,
    most_foreign: Kept,
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

/// Bytes that a node takes in the lists of nodes, at most.
const PER_NODE: u64 = 96;

impl Instance {
    /// Checks that a tree's root or a list's head is where a program says, as its types say.
    fn check_root(&self, function: &str, root: u64, size: u64) -> Result<(), Fault> {
        self.memory.read(root, size)?;
        if self.memory.is_apart(root, size, Special::Graph) {
            return Ok(());
        }
        Err(misuse(format!("{function}: no tree or list begins at {root:#x}")).into())
    }

    /// Reserves the node of an object for a tree or list; whether the node was free.
    fn claim(&mut self, function: &str, root: u64, (node, size): (u64, u64)) -> Result<bool, Fault> {
        self.memory.read(node, size)?;
        if !self.memory.is_apart(node, size, Special::Graph) || !self.in_object(node) {
            return Err(misuse(format!("{function}: {node:#x} is no node of an object of bpf_obj_new")).into());
        }
        let KfuncState { collections, most_queued, .. } = &mut self.kfuncs;
        most_queued.one_more(&mut self.memory, collections.queued(), PER_NODE)?;
        Ok(collections.claim(root, node))
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
