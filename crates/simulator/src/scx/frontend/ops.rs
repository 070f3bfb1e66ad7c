// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reads a `struct sched_ext_ops` by the names of its members, as libbpf does (`bpf_map__init_kern_struct_ops`).

use tandem_bpf_vm::btf::Type;
use tandem_bpf_vm::object::{Object, StructOps};

use crate::scx::abi::profile::Profile;
use crate::scx::abi::types::ops::{self, MemberKind};
use crate::scx::ops::{Op, Ops};

use super::SchedulerError;

/// The structure's name.
const STRUCTURE: &str = "sched_ext_ops";

/// The values of an object's `struct sched_ext_ops`, and which function each callback is.
#[derive(Debug, Clone, Default)]
pub struct ReadOps {
    /// Values; no callback is set yet.
    pub ops: Ops,
    /// Callbacks, and indexes of [`Object::functions`].
    pub callbacks: Vec<(Op, usize)>,
}

/// The scheduler that an object holds.
///
/// # Errors
/// The object holds no scheduler, or more than one.
pub fn find(object: &Object) -> Result<&StructOps, SchedulerError> {
    let named = |ops: &&StructOps| object.btf.name(object.btf.skip_modifiers(ops.type_id)) == STRUCTURE;
    let mut schedulers = object.struct_ops.iter().filter(|ops| !ops.optional).filter(named);
    match (schedulers.next(), schedulers.next()) {
        (Some(only), None) => Ok(only),
        (None, _) => Err(SchedulerError::NoScheduler),
        (Some(first), Some(second)) => {
            Err(SchedulerError::Schedulers { first: first.name.clone(), second: second.name.clone() })
        }
    }
}

/// Reads the structure for a kernel of this version.
///
/// # Errors
/// A member that the kernel does not know is not zero, or the structure is damaged.
pub fn read(object: &Object, scheduler: &StructOps, profile: Profile) -> Result<ReadOps, SchedulerError> {
    let Some(Type::Struct(structure)) = object.btf.bare(scheduler.type_id) else {
        return Err(SchedulerError::NoScheduler);
    };
    let mut read = ReadOps::default();
    for member in &structure.members {
        let (name, offset) = (member.name.as_str(), u64::from(member.bit_offset / 8));
        let size = object.btf.size_of(member.type_id).unwrap_or(0);
        let bytes = bytes_at(&scheduler.bytes, offset, size).ok_or_else(|| SchedulerError::Damaged(name.to_owned()))?;
        let callback = scheduler.callbacks.iter().find(|(at, _)| *at == offset).map(|(_, function)| *function);
        let known = ops::members(profile).find(|known| known.name == name).map(|known| known.kind);
        if callback.is_none() && bytes.iter().all(|byte| *byte == 0) {
            continue;
        }
        match (known, callback) {
            (Some(MemberKind::Callback(op)), Some(function)) => read.callbacks.push((op, function)),
            (Some(MemberKind::Number(_)), None) => set_number(&mut read.ops, name, number(bytes)),
            (Some(MemberKind::Text(_)), None) => read.ops.name = text(bytes),
            (Some(MemberKind::Private), _) => {}
            // Its loader leaves out what the kernel lacks.
            (None, Some(_)) if asks(object, name) => {}
            (Some(MemberKind::Refused), _) => return Err(SchedulerError::Unsupported(name.to_owned())),
            _ => return Err(SchedulerError::UnknownMember { member: name.to_owned(), profile }),
        }
    }
    Ok(read)
}

/// What the variables of objects begin with that have callbacks which only some kernels know; a member's name follows.
pub const OPS_HAS: &str = "ops_has_";

/// Whether an object has a variable for whether the kernel has a member.
fn asks(object: &Object, member: &str) -> bool {
    let variables = object.data.iter().flat_map(|section| &section.variables);
    variables.filter_map(|variable| variable.name.strip_prefix(OPS_HAS)).any(|asked| asked == member)
}

/// Sets a member that is a number; others are left alone.
pub fn set_number(ops: &mut Ops, member: &str, value: u64) {
    match member {
        "flags" => ops.flags = value,
        "timeout_ms" => ops.timeout_ms = value as u32,
        "dispatch_max_batch" => ops.dispatch_max_batch = value as u32,
        "exit_dump_len" => ops.exit_dump_len = value as u32,
        "hotplug_seq" => ops.hotplug_seq = value,
        _ => {}
    }
}

fn bytes_at(bytes: &[u8], offset: u64, size: u64) -> Option<&[u8]> {
    bytes.get(usize::try_from(offset).ok()?..usize::try_from(offset.checked_add(size)?).ok()?)
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().take(8).rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}
