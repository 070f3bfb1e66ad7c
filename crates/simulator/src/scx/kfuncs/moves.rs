// SPDX-License-Identifier: MIT OR Apache-2.0
//! Iterating over a dispatch queue, and moving tasks out of it meanwhile.
//!
//! An iterator's state is in the program's memory, 48 bytes, which only these functions understand: a handle of the
//! simulator, and what the next move shall set. A program that writes into it gets tasks of a wrong queue or none.

use tandem_bpf_vm::fault::Fault;
use tandem_bpf_vm::host::Args;

use super::context::{Context, DISPATCH};
use super::{Handler, errno};
use crate::scx::Ctx;
use crate::scx::abi::profile::{SCX_DSQ_FLAG_BUILTIN, SCX_ENQ_DSQ_PRIQ};

/// From where tasks are moved.
pub const CONTEXT: Context = Context::MaskOrUnlocked(DISPATCH);

/// Offset of the handle and 1; 0 if there is no queue.
const HANDLE: u64 = 0;
/// Offset of what the next move shall set: bits [`HAS_SLICE`] and [`HAS_VTIME`].
const PENDING: u64 = 8;
/// Offset of the slice that it shall set.
const SLICE: u64 = 16;
/// Offset of the virtual time that it shall set.
const VTIME: u64 = 24;

const HAS_SLICE: u64 = 1;
const HAS_VTIME: u64 = 2;

/// `bpf_iter_scx_dsq_new(it, dsq_id, flags)`: 0 or a negative errno. The program goes on either way.
pub fn iter_new(ctx: &mut Ctx<'_>, [it, dsq_id, flags, ..]: Args) -> Result<u64, Fault> {
    for at in [HANDLE, PENDING, SLICE, VTIME] {
        ctx.vm.memory.store::<8>(it.wrapping_add(at), 0)?;
    }
    match ctx.dsq_iter_new(dsq_id, flags) {
        Ok(handle) => {
            ctx.vm.memory.store::<8>(it.wrapping_add(HANDLE), u64::from(handle) + 1)?;
            Ok(0)
        }
        Err(error) => Ok(error as u64),
    }
}

/// `bpf_iter_scx_dsq_next(it)`: the next task, or 0.
pub fn iter_next(ctx: &mut Ctx<'_>, [it, ..]: Args) -> Result<u64, Fault> {
    let Some(handle) = ctx.handle(it)? else { return Ok(0) };
    let task = ctx.dsq_iter_next(handle);
    Ok(task.map_or(0, |task| ctx.scx.guest.task(task)))
}

/// `bpf_iter_scx_dsq_destroy(it)`.
pub fn iter_destroy(ctx: &mut Ctx<'_>, [it, ..]: Args) -> Result<u64, Fault> {
    if let Some(handle) = ctx.handle(it)? {
        ctx.dsq_iter_destroy(handle);
        ctx.vm.memory.store::<8>(it.wrapping_add(HANDLE), 0)?;
    }
    Ok(0)
}

/// `scx_bpf_dispatch_from_dsq_set_slice(it, slice)`, `scx_bpf_dsq_move_set_slice`: for the next move.
pub const SET_SLICE: Handler = |ctx, [it, slice, ..]| ctx.set_pending(it, HAS_SLICE, SLICE, slice);

/// `scx_bpf_dispatch_from_dsq_set_vtime(it, vtime)`, `scx_bpf_dsq_move_set_vtime`: for the next move.
pub const SET_VTIME: Handler = |ctx, [it, vtime, ..]| ctx.set_pending(it, HAS_VTIME, VTIME, vtime);

/// `scx_bpf_dispatch_from_dsq(it, p, dsq_id, enq_flags)`, `scx_bpf_dsq_move`: whether the task was moved.
pub const MOVE: Handler =
    |ctx, [it, task, dsq_id, enq_flags, _]| ctx.scx_dispatch_from_dsq(it, task, dsq_id, enq_flags);

/// `scx_bpf_dispatch_vtime_from_dsq(it, p, dsq_id, enq_flags)`, `scx_bpf_dsq_move_vtime`: likewise, by virtual time.
pub const MOVE_VTIME: Handler =
    |ctx, [it, task, dsq_id, enq_flags, _]| ctx.scx_dispatch_from_dsq(it, task, dsq_id, enq_flags | SCX_ENQ_DSQ_PRIQ);

/// `scx_bpf_dsq_peek(dsq_id)`: the first task of a queue that a scheduler made, or 0.
pub fn peek(ctx: &mut Ctx<'_>, [dsq_id, ..]: Args) -> Result<u64, Fault> {
    if dsq_id & SCX_DSQ_FLAG_BUILTIN != 0 {
        ctx.ops_error(format!("peek disallowed on builtin DSQ 0x{dsq_id:x}"));
        return Ok(0);
    }
    let Some(dsq) = ctx.scx.dsqs.find_user_dsq(dsq_id) else {
        ctx.ops_error(format!("peek on non-existent DSQ 0x{dsq_id:x}"));
        return Ok(0);
    };
    Ok(ctx.scx.dsqs.first(dsq).map_or(0, |task| ctx.scx.guest.task(task)))
}

/// `scx_bpf_create_dsq(dsq_id, node)`: 0 or a negative errno.
pub fn create_dsq(ctx: &mut Ctx<'_>, [dsq_id, node, ..]: Args) -> Result<u64, Fault> {
    if !ctx.permits(Context::Sleepable, None) {
        return errno(EPERM);
    }
    Ok(ctx.create_dsq(dsq_id, node as i32) as u64)
}

/// `scx_bpf_destroy_dsq(dsq_id)`.
pub const DESTROY_DSQ: Handler = |ctx, [dsq_id, ..]| {
    ctx.destroy_dsq(dsq_id);
    Ok(0)
};

/// `scx_bpf_dsq_nr_queued(dsq_id)`: the number of its tasks, or a negative errno.
pub const NR_QUEUED: Handler = |ctx, [dsq_id, ..]| Ok(ctx.dsq_nr_queued(dsq_id) as u64);

const EPERM: i64 = 1;

impl Ctx<'_> {
    fn handle(&self, it: u64) -> Result<Option<u32>, Fault> {
        let handle = self.vm.memory.load::<8>(it.wrapping_add(HANDLE))?;
        Ok(u32::try_from(handle).ok().and_then(|handle| handle.checked_sub(1)))
    }

    fn set_pending(&mut self, it: u64, bit: u64, place: u64, value: u64) -> Result<u64, Fault> {
        let pending = self.vm.memory.load::<8>(it.wrapping_add(PENDING))?;
        self.vm.memory.store::<8>(it.wrapping_add(place), value)?;
        self.vm.memory.store::<8>(it.wrapping_add(PENDING), pending | bit)?;
        Ok(0)
    }

    /// `scx_dispatch_from_dsq`: what was to be set is forgotten afterwards, unless the call was refused.
    fn scx_dispatch_from_dsq(&mut self, it: u64, task: u64, dsq_id: u64, enq_flags: u64) -> Result<u64, Fault> {
        let Some(handle) = self.handle(it)? else { return Ok(0) };
        if !self.permits(CONTEXT, None) {
            return Ok(0);
        }
        let task = self.kfunc_task(task)?;
        let pending = self.vm.memory.load::<8>(it.wrapping_add(PENDING))?;
        let slice = self.pending(it, pending & HAS_SLICE, SLICE)?;
        let vtime = self.pending(it, pending & HAS_VTIME, VTIME)?;
        let moved = self.dispatch_from_dsq(handle, task, dsq_id, enq_flags, (slice, vtime));
        self.vm.memory.store::<8>(it.wrapping_add(PENDING), 0)?;
        Ok(u64::from(moved))
    }

    fn pending(&self, it: u64, set: u64, place: u64) -> Result<Option<u64>, Fault> {
        Ok(if set == 0 { None } else { Some(self.vm.memory.load::<8>(it.wrapping_add(place))?) })
    }
}
