// SPDX-License-Identifier: MIT OR Apache-2.0
//! Values: copying around special fields (`bpf_obj_memcpy`).

use super::field::{Field, FieldKind};
use super::spec::MapSpec;
use crate::fault::{AccessError, FaultKind};
use crate::memory::{Memory, Protection, Special};

/// Makes the objects of a value, `copies` of them, all zero; returns their addresses. If one does not fit, none stays.
pub(super) fn alloc(memory: &mut Memory, spec: &MapSpec, copies: u32) -> Result<Box<[u64]>, FaultKind> {
    let mut addresses = Vec::with_capacity(copies as usize);
    for _ in 0..copies {
        match memory.alloc(u64::from(spec.value_size), Protection::ReadWrite) {
            Ok(address) => {
                addresses.push(address);
                set_apart(memory, &spec.fields, address)?;
            }
            Err(error) => {
                addresses.into_iter().try_for_each(|address| memory.free(address))?;
                return Err(error);
            }
        }
    }
    Ok(addresses.into())
}

/// Keeps programs from writing what stands for something that the host keeps, in an object with these special fields.
pub(crate) fn set_apart(memory: &mut Memory, fields: &[Field], address: u64) -> Result<(), AccessError> {
    for field in fields {
        let what = match field.kind {
            FieldKind::Kptr(_) => Special::Kptr,
            FieldKind::Graph => Special::Graph,
            FieldKind::SpinLock | FieldKind::Timer | FieldKind::UntrustedKptr => continue,
        };
        memory.set_apart(address.wrapping_add(field.offset.into()), field.size.into(), what)?;
    }
    Ok(())
}

/// Copies `value` to `address`, except for special fields, which keep what they hold.
pub(super) fn copy(memory: &mut Memory, spec: &MapSpec, address: u64, value: &[u8]) -> Result<(), AccessError> {
    let bytes = memory.host_write(address, value.len() as u64)?;
    let mut at = 0;
    for field in spec.fields.iter().filter(|field| field.kind != FieldKind::UntrustedKptr) {
        let (start, end) = (field.offset as usize, (field.offset as usize).saturating_add(field.size as usize));
        if at < start && start <= bytes.len() {
            bytes[at..start].copy_from_slice(&value[at..start]);
        }
        at = at.max(end);
    }
    if at < bytes.len() {
        bytes[at..].copy_from_slice(&value[at..]);
    }
    Ok(())
}
