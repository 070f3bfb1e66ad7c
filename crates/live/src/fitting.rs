// SPDX-License-Identifier: MIT OR Apache-2.0
//! Fits a scheduler to the kernel that it is loaded into: what an older or a newer kernel lacks and the scheduler can do without is
//! left out, as loaders of the scx project do (`SCX_OPS_OPEN` and `SCX_OPS_FLAG` of `compat.h`). libbpf refuses a member that the
//! kernel lacks, the kernel a flag.

use std::collections::BTreeSet;

use tandem_bpf_vm::object::{Object, StructOps};

use crate::load::{number_at, write};
use crate::ops_types::OpsTypes;

/// Members that came after Linux 6.12 and that schedulers have beside others, with the first kernel that has each. They say what
/// becomes of groups, whose tasks are scheduled all the same.
const OPTIONAL: [&str; 5] = [
    "cgroup_set_bandwidth", // 6.17
    "cgroup_set_idle",      // 6.19
    "sub_attach",           // 7.1
    "sub_detach",
    "sub_cgroup_id",
];

/// Flags that some kernel since 6.12 lacks, by their bit.
const FLAGS: [(u32, &str); 5] = [
    (4, "SCX_OPS_ENQ_MIGRATION_DISABLED"),
    (5, "SCX_OPS_ALLOW_QUEUED_WAKEUP"),
    (6, "SCX_OPS_BUILTIN_IDLE_PER_NODE"),
    (7, "SCX_OPS_ALWAYS_ENQ_IMMED"),
    (16, "SCX_OPS_HAS_CGROUP_WEIGHT"),
];

/// A part of a scheduler that was left out, as the kernel does not have it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LeftOut {
    /// A member of `struct sched_ext_ops`.
    #[error("ops.{member} of the scheduler is left out, as this kernel has no such member")]
    Member {
        /// The member.
        member: String,
    },
    /// A flag of `ops.flags`.
    #[error("{flag} of the scheduler is left out, as this kernel has no such flag")]
    Flag {
        /// The flag, or its number if it has no name here.
        flag: String,
    },
}

/// A member that the kernel does not have, and without which the scheduler would be another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Lacking(pub(crate) String);

/// What fitting a scheduler took away.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Fitted {
    /// What people should know.
    pub(crate) left_out: Vec<LeftOut>,
    /// Programs that nothing calls any more.
    pub(crate) programs: BTreeSet<String>,
}

/// Takes out of a scheduler's value what the kernel does not have.
///
/// # Errors
/// The kernel lacks a member that is not optional.
pub(crate) fn fit(value: &mut [u8], object: &Object, ops: &StructOps, kernel: &OpsTypes) -> Result<Fitted, Lacking> {
    let mut fitted = Fitted::default();
    let members = object.btf.bare(ops.type_id).and_then(|ops| ops.composite()).map(|ops| ops.members.as_slice());
    for member in members.unwrap_or_default().iter().filter(|member| !kernel.has(member.name.as_str())) {
        let (name, offset) = (member.name.as_str(), u64::from(member.bit_offset / 8));
        let size = object.btf.size_of(member.type_id).unwrap_or(0);
        if !is_set(value, offset, size) {
            continue;
        }
        if !OPTIONAL.contains(&name) {
            return Err(Lacking(name.to_owned()));
        }
        write(value, offset, &vec![0; size as usize]);
        fitted.left_out.push(LeftOut::Member { member: name.to_owned() });
        let function = ops.callbacks.iter().find(|(at, _)| *at == offset).map(|(_, function)| *function);
        let program = function.and_then(|function| object.functions.get(function));
        fitted.programs.extend(program.map(|program| program.name.clone()));
    }
    fitted.left_out.extend(clear_flags(value, object, ops, kernel));
    Ok(fitted)
}

/// Whether any of so many bytes is not zero.
fn is_set(value: &[u8], offset: u64, size: u64) -> bool {
    (0..size).any(|at| number_at(value, offset + at, 1) != 0)
}

/// Clears flags that the kernel does not have.
fn clear_flags(value: &mut [u8], object: &Object, ops: &StructOps, kernel: &OpsTypes) -> Vec<LeftOut> {
    let place = object.btf.member(ops.type_id, "flags").filter(|place| place.size() == size_of::<u64>() as u64);
    let (Some(place), Some(known)) = (place, kernel.all_flags()) else { return Vec::new() };
    let flags = number_at(value, place.offset(), size_of::<u64>());
    write(value, place.offset(), &(flags & known).to_le_bytes());
    let unknown = (0..u64::BITS).filter(|bit| (flags & !known) >> bit & 1 == 1);
    unknown.map(|bit| LeftOut::Flag { flag: flag(bit) }).collect()
}

fn flag(bit: u32) -> String {
    let name = FLAGS.iter().find(|(known, _)| *known == bit).map(|(_, name)| (*name).to_owned());
    name.unwrap_or_else(|| format!("the flag {:#x}", 1_u64 << bit))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tandem_bpf_vm::btf::Builder;
    use tandem_bpf_vm::object::Function;

    use super::*;

    /// `enqueue`, `cgroup_set_bandwidth`, `flags`, `sub_cgroup_id`, `exotic`: the callbacks are the first two.
    fn object() -> Object {
        let mut btf = Builder::new();
        let long = btf.int("unsigned long", 8, false);
        let names = ["enqueue", "cgroup_set_bandwidth", "flags", "sub_cgroup_id", "exotic"];
        let members: Vec<_> = (0..).zip(names).map(|(place, name)| (name, long, 8 * place)).collect();
        let type_id = btf.structure("sched_ext_ops", 40, &members);
        let function = |name: &str| Function { name: name.to_owned(), ..Function::default() };
        Object {
            btf: Arc::new(btf.finish()),
            functions: Arc::new(vec![function("t_enqueue"), function("t_bandwidth")]),
            struct_ops: vec![StructOps { type_id, callbacks: vec![(0, 0), (8, 1)], ..StructOps::default() }],
            ..Object::default()
        }
    }

    fn kernel(members: &[&str], flags: u64) -> OpsTypes {
        let members = members.iter().map(|name| (*name).to_owned()).collect();
        let flags = [("SCX_OPS_ALL_FLAGS".to_owned(), flags)].into();
        OpsTypes { members, flags, ..OpsTypes::default() }
    }

    /// The numbers of a scheduler after it was fitted to a kernel, what is said of that, and programs that are not loaded.
    type Outcome = ([u64; 5], Vec<String>, Vec<String>);

    fn fitted(numbers: [u64; 5], kernel: &OpsTypes) -> Result<Outcome, Lacking> {
        let object = object();
        let mut value: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        let Fitted { left_out, programs } = fit(&mut value, &object, &object.struct_ops[0], kernel)?;
        let numbers = std::array::from_fn(|place| number_at(&value, 8 * place as u64, 8));
        Ok((numbers, left_out.iter().map(ToString::to_string).collect(), programs.into_iter().collect()))
    }

    #[test]
    fn what_a_kernel_has_stays() {
        let kernel = kernel(&["enqueue", "cgroup_set_bandwidth", "flags", "sub_cgroup_id"], 0b11);
        assert_eq!(fitted([1, 2, 3, 4, 0], &kernel), Ok(([1, 2, 3, 4, 0], Vec::new(), Vec::new())));
    }

    #[test]
    fn an_optional_member_that_a_kernel_lacks_is_left_out_with_its_program() {
        let said = ["cgroup_set_bandwidth", "sub_cgroup_id"]
            .map(|member| format!("ops.{member} of the scheduler is left out, as this kernel has no such member"));
        let (numbers, left_out, programs) = fitted([1, 2, 3, 4, 0], &kernel(&["enqueue", "flags"], 0b11)).unwrap();
        assert_eq!((numbers, left_out.as_slice()), ([1, 0, 3, 0, 0], &said[..]));
        assert_eq!(programs, ["t_bandwidth"]);
    }

    #[test]
    fn any_other_member_that_a_kernel_lacks_is_refused_if_it_is_set() {
        let kernel = kernel(&["enqueue", "flags"], 0b11);
        assert_eq!(fitted([1, 0, 3, 0, 5], &kernel), Err(Lacking("exotic".to_owned())));
        assert_eq!(fitted([1, 0, 3, 0, 0], &kernel), Ok(([1, 0, 3, 0, 0], Vec::new(), Vec::new())));
    }

    /// 7.x has no `SCX_OPS_HAS_CGROUP_WEIGHT` any more; nobody has flag 40.
    #[test]
    fn flags_that_a_kernel_lacks_are_cleared() {
        let kernel = kernel(&["enqueue", "flags"], 0b1111_1111);
        let (numbers, left_out, _) = fitted([1, 0, 1 << 40 | 1 << 16 | 0b10, 0, 0], &kernel).unwrap();
        assert_eq!(numbers, [1, 0, 0b10, 0, 0]);
        let said = ["SCX_OPS_HAS_CGROUP_WEIGHT", "the flag 0x10000000000"]
            .map(|flag| format!("{flag} of the scheduler is left out, as this kernel has no such flag"));
        assert_eq!(left_out, said);
    }

    #[test]
    fn where_a_kernel_does_not_describe_its_flags_they_stay() {
        let kernel = OpsTypes { flags: [].into(), ..kernel(&["enqueue", "flags"], 0) };
        assert_eq!(fitted([1, 0, 1 << 40, 0, 0], &kernel), Ok(([1, 0, 1 << 40, 0, 0], Vec::new(), Vec::new())));
    }
}
