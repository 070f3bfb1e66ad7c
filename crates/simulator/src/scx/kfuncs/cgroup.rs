// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cgroups (`kernel/bpf/helpers.c`, `kernel/bpf/cgroup_iter.c`), and that of a task (`scx_bpf_task_cgroup`).
//!
//! A cgroup's object is its `cgroup_subsys_state` too, which is its first member. References are not counted: cgroups
//! last as long as the run.

use tandem_bpf_vm::fault::Fault;
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

/// `BPF_CGROUP_ITER_DESCENDANTS_PRE`.
const DESCENDANTS_PRE: u64 = 2;
/// `BPF_CGROUP_ITER_DESCENDANTS_POST`.
const DESCENDANTS_POST: u64 = 3;
/// `BPF_CGROUP_ITER_ANCESTORS_UP`.
const ANCESTORS_UP: u64 = 4;

/// `bpf_iter_css_new(it, start, flags)`: walks up or down from `start`, itself included. The iterator has 24 bytes: the
/// beginning, the order and how many have been given.
pub fn css_new(ctx: &mut Ctx<'_>, [it, start, flags, ..]: Args) -> Result<u64, Fault> {
    let order = flags & 0xffff_ffff;
    let valid = (DESCENDANTS_PRE..=ANCESTORS_UP).contains(&order);
    for (at, value) in [(0, if valid { start } else { 0 }), (8, order), (16, 0)] {
        ctx.vm.memory.store::<8>(it.wrapping_add(at), value)?;
    }
    if valid { Ok(0) } else { errno(EINVAL) }
}

/// `bpf_iter_css_next(it)`: the next, or 0.
pub fn css_next(ctx: &mut Ctx<'_>, [it, ..]: Args) -> Result<u64, Fault> {
    let [start, order, given] = [0, 8, 16].map(|at| ctx.vm.memory.load::<8>(it.wrapping_add(at)));
    let (start, order, given) = (start?, order?, given?);
    if start == 0 {
        return Ok(0);
    }
    let start = ctx.scx.guest.expect_cgroup(&ctx.vm.memory, start)?;
    let below = |id: &CgroupId| ctx.kernel.cgroups.ancestors(*id).any(|above| above == start);
    let tree = &ctx.kernel.cgroups;
    let nth = usize::try_from(given).unwrap_or(usize::MAX);
    let found = match order {
        DESCENDANTS_PRE => tree.pre_order().into_iter().filter(below).nth(nth),
        DESCENDANTS_POST => tree.post_order().into_iter().filter(below).nth(nth),
        _ => ctx.kernel.cgroups.ancestors(start).nth(nth),
    };
    ctx.vm.memory.store::<8>(it.wrapping_add(16), given.saturating_add(1))?;
    Ok(found.map_or(0, |cgroup| ctx.scx.guest.cgroup(cgroup)))
}

/// `bpf_iter_css_destroy(it)`.
pub const CSS_DESTROY: Handler = |_, _| Ok(0);
