// SPDX-License-Identifier: MIT OR Apache-2.0
//! Pages of a BPF arena (`kernel/bpf/arena.c`).
//!
//! Nodes of memory are not modelled: any node is accepted that a kernel could have.

use crate::errno::Errno;
use crate::fault::Fault;
use crate::host::{Args, Builtin, Host};
use crate::instance::Instance;
use crate::map::kind;
use crate::memory::ReserveError;

/// Nodes of memory that a kernel can have (`MAX_NUMNODES`).
const MAX_NODES: u32 = 1024;
/// `NUMA_NO_NODE`.
const NO_NODE: i32 = -1;
/// Work that a page is to allocate, which is zeroed, and to free or reserve.
const ALLOCATING: u64 = 64;
const MARKING: u64 = 16;

pub(super) fn find(name: &str) -> Option<Builtin> {
    Some(match name {
        "bpf_arena_alloc_pages" => bpf_arena_alloc_pages,
        "bpf_arena_free_pages" => bpf_arena_free_pages,
        "bpf_arena_reserve_pages" => bpf_arena_reserve_pages,
        _ => return None,
    })
}

/// `bpf_arena_alloc_pages(map, address, page_cnt, node_id, flags)`: returns the user address of the first page, or 0.
fn bpf_arena_alloc_pages(vm: &mut Instance, _: &mut dyn Host, args: Args) -> Result<u64, Fault> {
    let [map, address, count, node, flags] = args;
    let (count, node) = (count as u32, node as i32);
    if !is_arena(vm, map) || flags != 0 || count == 0 || node != NO_NODE && node as u32 >= MAX_NODES {
        return Ok(0);
    }
    let first = vm.memory.alloc_pages(address, count.into()).ok().flatten();
    let looked_at = vm.memory.pages_looked_at();
    vm.spend(looked_at + first.map_or(0, |_| ALLOCATING * u64::from(count)))?;
    Ok(first.unwrap_or(0))
}

/// `bpf_arena_free_pages(map, address, page_cnt)`.
fn bpf_arena_free_pages(vm: &mut Instance, _: &mut dyn Host, args: Args) -> Result<u64, Fault> {
    let [map, address, count, ..] = args;
    if is_arena(vm, map) && address != 0 {
        let count = u64::from(count as u32);
        vm.spend(MARKING * vm.memory.pages_of(count))?;
        vm.memory.free_pages(address, count);
    }
    Ok(0)
}

/// `bpf_arena_reserve_pages(map, address, page_cnt)`: returns 0 or an errno.
fn bpf_arena_reserve_pages(vm: &mut Instance, _: &mut dyn Host, args: Args) -> Result<u64, Fault> {
    let [map, address, count, ..] = args;
    if !is_arena(vm, map) {
        return Ok(Errno::EINVAL.value() as u64);
    }
    let count = u64::from(count as u32);
    vm.spend(MARKING * vm.memory.pages_of(count))?;
    let reserved = vm.memory.reserve_pages(address, count);
    vm.memory.pages_looked_at();
    Ok(match reserved {
        Ok(()) => 0,
        Err(ReserveError::Outside) => Errno::EINVAL.value() as u64,
        Err(ReserveError::Taken) => Errno::EBUSY.value() as u64,
    })
}

fn is_arena(vm: &Instance, handle: u64) -> bool {
    let spec = vm.maps.by_handle(handle).and_then(|map| vm.maps.spec(map));
    spec.is_some_and(|spec| spec.kind == kind::ARENA)
}
