// SPDX-License-Identifier: MIT OR Apache-2.0
//! Values that have left their maps, and when they are freed.
//!
//! The kernel frees a removed element after a grace period of RCU, so a program may still use a pointer that it has.
//! Here removed values stay until the outermost program has ended. A use after that is a fault; RCU would not protect
//! it either. What is left out: a preallocated hash of the kernel may give the element to another key at once, so a
//! program that still uses a deleted element may see another key's value there.

use std::sync::Arc;

use super::Maps;
use super::field::{Field, FieldKind};
use super::spec::MapSpec;
use crate::fault::FaultKind;
use crate::memory::{Kept, Memory};

/// Bytes that a pointer takes in the list of those to drop, beside its type's name, and a root in the list of those that are gone.
const PER_POINTER: u64 = 64;
const PER_GRAPH: u64 = 32;

/// A pointer that a map owned and whose value is gone: the target's reference is to be released.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DroppedKptr {
    /// Address of the target.
    pub address: u64,
    /// Name of the target's type.
    pub type_name: String,
}

/// Values, timers and pointers that left their maps.
#[derive(Debug, Default)]
pub(super) struct Retired {
    /// Values to free: address, and the value's special fields.
    values: Vec<(u64, Arc<[Field]>)>,
    /// Timers that must not fire any more.
    timers: Vec<u64>,
    dropped: Vec<DroppedKptr>,
    /// Trees and lists that are gone: address and size of their roots and heads.
    graphs: Vec<(u64, u64)>,
    most_dropped: Kept,
    most_graphs: Kept,
}

impl Retired {
    /// Retires a value that left its map.
    pub(super) fn value(&mut self, spec: &MapSpec, address: u64) {
        for field in &*spec.fields {
            match &field.kind {
                FieldKind::Timer => self.timers.push(address + u64::from(field.offset)),
                FieldKind::Graph => self.graphs.push((address + u64::from(field.offset), u64::from(field.size))),
                FieldKind::Kptr(_) | FieldKind::SpinLock | FieldKind::UntrustedKptr => {}
            }
        }
        self.values.push((address, Arc::clone(&spec.fields)));
    }

    /// Retires the timers and pointers of a value that stays but was overwritten (`bpf_obj_free_fields`).
    pub(super) fn fields(&mut self, memory: &mut Memory, spec: &MapSpec, address: u64) -> Result<(), FaultKind> {
        for field in &*spec.fields {
            match &field.kind {
                FieldKind::Timer => self.timers.push(address + u64::from(field.offset)),
                FieldKind::Kptr(name) => self.pointer(memory, address + u64::from(field.offset), name)?,
                FieldKind::Graph => {
                    self.most_graphs.one_more(memory, self.graphs.len(), PER_GRAPH)?;
                    self.graphs.push((address + u64::from(field.offset), u64::from(field.size)));
                }
                FieldKind::SpinLock | FieldKind::UntrustedKptr => {}
            }
        }
        Ok(())
    }

    fn pointer(&mut self, memory: &mut Memory, slot: u64, type_name: &str) -> Result<(), FaultKind> {
        let address = memory.load::<8>(slot)?;
        if address != 0 {
            self.most_dropped.one_more(memory, self.dropped.len(), PER_POINTER + type_name.len() as u64)?;
            memory.host_store::<8>(slot, 0)?;
            self.dropped.push(DroppedKptr { address, type_name: type_name.to_owned() });
        }
        Ok(())
    }
}

impl Maps {
    /// Whether values that were removed or overwritten still wait to be cleaned up.
    #[inline]
    pub(crate) fn has_retired(&self) -> bool {
        let Retired { values, timers, dropped, graphs, .. } = &self.retired;
        !(values.is_empty() && timers.is_empty() && dropped.is_empty() && graphs.is_empty())
    }

    /// Frees the values that were removed; called when the outermost program has ended.
    pub(crate) fn free_retired(&mut self, memory: &mut Memory) -> Result<(), FaultKind> {
        for (address, fields) in std::mem::take(&mut self.retired.values) {
            for field in &*fields {
                if let FieldKind::Kptr(name) = &field.kind {
                    self.retired.pointer(memory, address + u64::from(field.offset), name)?;
                }
            }
            memory.free(address)?;
        }
        Ok(())
    }

    /// Addresses of the timers whose values are gone.
    pub(crate) fn take_retired_timers(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.retired.timers)
    }

    /// Roots of trees and heads of lists that left their maps, or were overwritten: address and size.
    pub(crate) fn take_retired_graphs(&mut self) -> Vec<(u64, u64)> {
        std::mem::take(&mut self.retired.graphs)
    }

    /// Pointers that maps owned; the host must now release their targets.
    pub(crate) fn take_dropped(&mut self) -> Vec<DroppedKptr> {
        std::mem::take(&mut self.retired.dropped)
    }
}
