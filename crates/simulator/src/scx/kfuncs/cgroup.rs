// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cgroups (`kernel/bpf/helpers.c`, `kernel/bpf/cgroup_iter.c`), and that of a task (`scx_bpf_task_cgroup`).
//!
//! A cgroup's object is its `cgroup_subsys_state` too, which is its first member. References are not counted: cgroups
//! last as long as the run.

use tandem_bpf_vm::fault::Fault;
use tandem_bpf_vm::handle::HandleKind;
use tandem_bpf_vm::host::Args;

use super::context::Context;
use super::{Handler, errno};
use crate::kernel::cgroup::CgroupTree;
use crate::scx::Ctx;
use crate::scx::errno::EINVAL;
use crate::units::CgroupId;

/// `scx_bpf_task_cgroup(p)`: the cgroup of a task that the callback is about; an error and the root for others.
pub fn task_cgroup(ctx: &mut Ctx<'_>, [task, ..]: Args) -> Result<u64, Fault> {
    let id = ctx.scx.guest.task_at(&ctx.vm.memory, task);
    let permitted = ctx.permits(Context::ArgTask, id);
    let cgroup = id.filter(|_| permitted).map_or(CgroupTree::ROOT, |task| ctx.kernel.task(task).cgroup);
    Ok(ctx.scx.guest.cgroup(cgroup))
}

/// `bpf_cgroup_from_id(id)`: the cgroup with this number in its file system, or 0.
pub const FROM_ID: Handler = |ctx, [id, ..]| {
    ctx.vm.spend(ctx.kernel.cgroups.len() as u64)?;
    let found = (0..ctx.kernel.cgroups.len())
        .map(CgroupId::at)
        .find(|cgroup| CgroupTree::kernfs_id(*cgroup) == id && ctx.kernel.cgroups.get(*cgroup).online);
    Ok(found.map_or(0, |cgroup| ctx.scx.guest.cgroup(cgroup)))
};

/// `bpf_cgroup_ancestor(cgrp, level)`: the one above it with this distance from the root, itself included, or 0.
pub fn ancestor(ctx: &mut Ctx<'_>, [cgroup, level, ..]: Args) -> Result<u64, Fault> {
    let cgroup = ctx.scx.guest.expect_cgroup(&ctx.vm.memory, cgroup)?;
    let level = u32::try_from(level as i32).ok();
    let found = ctx.kernel.cgroups.ancestors(cgroup).find(|id| Some(ctx.kernel.cgroups.get(*id).level) == level);
    Ok(found.map_or(0, |cgroup| ctx.scx.guest.cgroup(cgroup)))
}

/// `bpf_cgroup_acquire(cgrp)`.
pub const ACQUIRE: Handler = |_, [cgroup, ..]| Ok(cgroup);

/// `bpf_cgroup_release(cgrp)`.
pub const RELEASE: Handler = |_, _| Ok(0);

/// Work that a cgroup is in a walk.
const PER_CGROUP: u64 = 8;

/// `BPF_CGROUP_ITER_DESCENDANTS_PRE`.
const DESCENDANTS_PRE: u64 = 2;
/// `BPF_CGROUP_ITER_DESCENDANTS_POST`.
const DESCENDANTS_POST: u64 = 3;
/// `BPF_CGROUP_ITER_ANCESTORS_UP`.
const ANCESTORS_UP: u64 = 4;

/// `struct bpf_iter_css`, and its bytes.
const ITERATOR: HandleKind = HandleKind::Host("bpf_iter_css");
const SIZE: u64 = 24;

// What is kept of an iterator: the cgroup that it begins with and 1, 0 if it finds none; the order; how many it has given.
const START: usize = 0;
const ORDER: usize = 1;
const GIVEN: usize = 2;

/// `bpf_iter_css_new(it, start, flags)`: walks up or down from `start`, itself included.
pub fn css_new(ctx: &mut Ctx<'_>, [it, start, flags, ..]: Args) -> Result<u64, Fault> {
    let order = flags & 0xffff_ffff;
    ctx.vm.memory.write(it, SIZE)?.fill(0);
    ctx.vm.open_handle(it, ITERATOR, [0; 4])?;
    if !(DESCENDANTS_PRE..=ANCESTORS_UP).contains(&order) {
        return errno(EINVAL);
    }
    if start != 0 {
        let start = ctx.scx.guest.expect_cgroup(&ctx.vm.memory, start)?;
        *ctx.vm.handle(it, ITERATOR)? = [u64::from(start.0) + 1, order, 0, 0];
    }
    Ok(0)
}

/// `bpf_iter_css_next(it)`: the next, or 0.
pub fn css_next(ctx: &mut Ctx<'_>, [it, ..]: Args) -> Result<u64, Fault> {
    let state = *ctx.vm.handle(it, ITERATOR)?;
    let start = u32::try_from(state[START]).ok().and_then(|start| start.checked_sub(1)).map(CgroupId);
    let Some(start) = start else { return Ok(0) };
    let tree = &ctx.kernel.cgroups;
    // The whole tree is looked at each time.
    ctx.vm.spend(PER_CGROUP * tree.len() as u64)?;
    let below = |id: &CgroupId| tree.ancestors(*id).any(|above| above == start);
    let nth = usize::try_from(state[GIVEN]).unwrap_or(usize::MAX);
    let found = match state[ORDER] {
        DESCENDANTS_PRE => tree.pre_order().into_iter().filter(below).nth(nth),
        DESCENDANTS_POST => tree.post_order().into_iter().filter(below).nth(nth),
        _ => tree.ancestors(start).nth(nth),
    };
    ctx.vm.handle(it, ITERATOR)?[GIVEN] += 1;
    Ok(found.map_or(0, |cgroup| ctx.scx.guest.cgroup(cgroup)))
}

/// `bpf_iter_css_destroy(it)`.
pub const CSS_DESTROY: Handler = |ctx, [it, ..]| {
    ctx.vm.close_handle(it, ITERATOR)?;
    Ok(0)
};
