// SPDX-License-Identifier: MIT OR Apache-2.0
//! Iterating over a dispatch queue, and moving tasks out of it meanwhile.
//!
//! An iterator's state is in the program's memory, 48 bytes, which only these functions understand: a handle of the
//! simulator, and what the next move shall set. A program that writes into it gets tasks of a wrong queue or none.

use tandem_bpf_vm::fault::Fault;
use tandem_bpf_vm::host::Args;
use tandem_bpf_vm::memory::Memory;

use super::context::{Context, DISPATCH};
use super::{Handler, errno};
use crate::scx::Ctx;
use crate::scx::abi::profile::{SCX_DSQ_FLAG_BUILTIN, SCX_ENQ_DSQ_PRIQ};
use crate::scx::dsq::iter::DsqIter;
use crate::scx::errno::EPERM;

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

/// An iterator's state, at this address in the program's memory.
#[derive(Clone, Copy)]
struct Iter(u64);

impl Iter {
    fn get(self, memory: &Memory, place: u64) -> Result<u64, Fault> {
        Ok(memory.load::<8>(self.0.wrapping_add(place))?)
    }

    fn set(self, memory: &mut Memory, place: u64, value: u64) -> Result<(), Fault> {
        Ok(memory.store::<8>(self.0.wrapping_add(place), value)?)
    }

    /// The cursor that it stands for; `None`: it walks no queue.
    fn handle(self, memory: &Memory) -> Result<Option<DsqIter>, Fault> {
        let handle = self.get(memory, HANDLE)?;
        Ok(u32::try_from(handle).ok().and_then(|handle| handle.checked_sub(1)).map(DsqIter))
    }

    /// The next move shall set the value at `place` to `value`.
    fn set_pending(self, memory: &mut Memory, bit: u64, place: u64, value: u64) -> Result<u64, Fault> {
        let pending = self.get(memory, PENDING)?;
        self.set(memory, place, value)?;
        self.set(memory, PENDING, pending | bit)?;
        Ok(0)
    }

    /// What the next move shall set at `place`, if anything.
    fn pending(self, memory: &Memory, bit: u64, place: u64) -> Result<Option<u64>, Fault> {
        let is_set = self.get(memory, PENDING)? & bit != 0;
        if is_set { self.get(memory, place).map(Some) } else { Ok(None) }
    }
}

/// `bpf_iter_scx_dsq_new(it, dsq_id, flags)`: 0 or a negative errno. The program goes on either way.
pub fn iter_new(ctx: &mut Ctx<'_>, [it, dsq_id, flags, ..]: Args) -> Result<u64, Fault> {
    for at in [HANDLE, PENDING, SLICE, VTIME] {
        Iter(it).set(&mut ctx.vm.memory, at, 0)?;
    }
    match ctx.scx.dsqs.iter_new(dsq_id, flags) {
        Ok(DsqIter(handle)) => {
            Iter(it).set(&mut ctx.vm.memory, HANDLE, u64::from(handle) + 1)?;
            Ok(0)
        }
        Err(error) => Ok(error as u64),
    }
}

/// `bpf_iter_scx_dsq_next(it)`: the next task, or 0.
pub fn iter_next(ctx: &mut Ctx<'_>, [it, ..]: Args) -> Result<u64, Fault> {
    let Some(handle) = Iter(it).handle(&ctx.vm.memory)? else { return Ok(0) };
    let task = ctx.scx.dsqs.iter_next(handle);
    Ok(task.map_or(0, |task| ctx.scx.guest.task(task)))
}

/// `bpf_iter_scx_dsq_destroy(it)`.
pub fn iter_destroy(ctx: &mut Ctx<'_>, [it, ..]: Args) -> Result<u64, Fault> {
    if let Some(handle) = Iter(it).handle(&ctx.vm.memory)? {
        ctx.scx.dsqs.iter_destroy(handle);
        Iter(it).set(&mut ctx.vm.memory, HANDLE, 0)?;
    }
    Ok(0)
}

/// `scx_bpf_dispatch_from_dsq_set_slice(it, slice)`, `scx_bpf_dsq_move_set_slice`: for the next move.
pub const SET_SLICE: Handler = |ctx, [it, slice, ..]| Iter(it).set_pending(&mut ctx.vm.memory, HAS_SLICE, SLICE, slice);

/// `scx_bpf_dispatch_from_dsq_set_vtime(it, vtime)`, `scx_bpf_dsq_move_set_vtime`: for the next move.
pub const SET_VTIME: Handler = |ctx, [it, vtime, ..]| Iter(it).set_pending(&mut ctx.vm.memory, HAS_VTIME, VTIME, vtime);

/// `scx_bpf_dispatch_from_dsq(it, p, dsq_id, enq_flags)`, `scx_bpf_dsq_move`: whether the task was moved.
pub const MOVE: Handler = |ctx, [it, task, dsq_id, enq_flags, _]| move_task(ctx, Iter(it), task, dsq_id, enq_flags);

/// `scx_bpf_dispatch_vtime_from_dsq(it, p, dsq_id, enq_flags)`, `scx_bpf_dsq_move_vtime`: by virtual time; whether the task
/// was moved.
pub const MOVE_VTIME: Handler =
    |ctx, [it, task, dsq_id, enq_flags, _]| move_task(ctx, Iter(it), task, dsq_id, enq_flags | SCX_ENQ_DSQ_PRIQ);

/// `scx_dispatch_from_dsq`: what was to be set is forgotten afterwards, unless the call was refused.
fn move_task(ctx: &mut Ctx<'_>, it: Iter, task: u64, dsq_id: u64, enq_flags: u64) -> Result<u64, Fault> {
    let Some(handle) = it.handle(&ctx.vm.memory)? else { return Ok(0) };
    if !ctx.permits(CONTEXT, None) {
        return Ok(0);
    }
    let task = ctx.scx.guest.expect_task(&ctx.vm.memory, task)?;
    let slice = it.pending(&ctx.vm.memory, HAS_SLICE, SLICE)?;
    let vtime = it.pending(&ctx.vm.memory, HAS_VTIME, VTIME)?;
    let moved = ctx.dispatch_from_dsq(handle, task, dsq_id, enq_flags, (slice, vtime));
    it.set(&mut ctx.vm.memory, PENDING, 0)?;
    Ok(u64::from(moved))
}

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
    Ok(ctx.queues().create(dsq_id, node as i32) as u64)
}

/// `scx_bpf_destroy_dsq(dsq_id)`.
pub const DESTROY_DSQ: Handler = |ctx, [dsq_id, ..]| {
    let destroyed = ctx.queues().destroy(dsq_id);
    ctx.accept(destroyed);
    Ok(0)
};

/// `scx_bpf_dsq_nr_queued(dsq_id)`: the number of its tasks, or a negative errno.
pub const NR_QUEUED: Handler = |ctx, [dsq_id, ..]| Ok(ctx.dsq_nr_queued(dsq_id) as u64);
