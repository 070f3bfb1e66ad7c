// SPDX-License-Identifier: MIT OR Apache-2.0
//! `struct bpf_list_head`: lists of objects that programs own (`kernel/bpf/helpers.c`).

use crate::fault::Fault;
use crate::host::{Args, Builtin};
use crate::instance::Instance;

use super::{EINVAL, failed};

/// Sizes of `struct bpf_list_head` and `struct bpf_list_node`.
const HEAD_SIZE: u64 = 16;
const NODE_SIZE: u64 = 24;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Front,
    Back,
}

pub(super) fn find(name: &str) -> Option<Builtin> {
    Some(match name {
        "bpf_list_push_front_impl" => |vm, _, args| push(vm, args, End::Front),
        "bpf_list_push_back_impl" => |vm, _, args| push(vm, args, End::Back),
        "bpf_list_pop_front" => |vm, _, args| pop(vm, args[0], End::Front),
        "bpf_list_pop_back" => |vm, _, args| pop(vm, args[0], End::Back),
        "bpf_list_front" => |vm, _, args| peek(vm, args[0], End::Front),
        "bpf_list_back" => |vm, _, args| peek(vm, args[0], End::Back),
        _ => return None,
    })
}

/// `bpf_list_push_*_impl(head, node, meta, off)`, `__bpf_list_add`. If the node is queued somewhere the answer is
/// -EINVAL, and the caller's reference to the node's object is dropped.
fn push(vm: &mut Instance, args: Args, end: End) -> Result<u64, Fault> {
    let [head, node, ..] = args;
    vm.check_root("bpf_list_push", head, HEAD_SIZE)?;
    if !vm.claim("bpf_list_push", head, (node, NODE_SIZE))? {
        vm.drop_container(node)?;
        return failed(EINVAL);
    }
    let at = if end == End::Front { 0 } else { vm.kfuncs.collections.len(head) };
    vm.kfuncs.collections.insert(head, at, node);
    Ok(0)
}

/// Number of the node at an end; in an empty list no node has this number.
fn number(vm: &Instance, head: u64, end: End) -> usize {
    if end == End::Front { 0 } else { vm.kfuncs.collections.len(head).saturating_sub(1) }
}

/// `bpf_list_pop_*(head)`, `__bpf_list_del`: returns 0 if the list is empty.
fn pop(vm: &mut Instance, head: u64, end: End) -> Result<u64, Fault> {
    vm.check_root("bpf_list_pop", head, HEAD_SIZE)?;
    let at = number(vm, head, end);
    Ok(vm.kfuncs.collections.remove(head, at).unwrap_or(0))
}

/// `bpf_list_front(head)` and `bpf_list_back(head)` (Linux 6.16): return 0 if the list is empty.
fn peek(vm: &mut Instance, head: u64, end: End) -> Result<u64, Fault> {
    vm.check_root("bpf_list", head, HEAD_SIZE)?;
    let at = number(vm, head, end);
    Ok(vm.kfuncs.collections.get(head, at).unwrap_or(0))
}
