// SPDX-License-Identifier: MIT OR Apache-2.0
//! Iterating over a dispatch queue, and moving tasks out of it meanwhile.
//!
//! An iterator's bytes are in the program's memory and say nothing. What it stands for, a cursor and what the next move shall set, the
//! instance keeps ([`tandem_bpf_vm::handle`]).

use tandem_bpf_vm::fault::Fault;
use tandem_bpf_vm::handle::{HandleKind, HandleState};
use tandem_bpf_vm::host::Args;

use super::context::{Context, DISPATCH};
use super::{Handler, errno};
use crate::scx::Ctx;
use crate::scx::abi::profile::{SCX_DSQ_FLAG_BUILTIN, SCX_ENQ_DSQ_PRIQ};
use crate::scx::dsq::Dsqs;
use crate::scx::dsq::iter::DsqIter;
use crate::scx::errno::EPERM;

/// From where tasks are moved.
pub const CONTEXT: Context = Context::MaskOrUnlocked(DISPATCH);

/// The kernel's name of an iterator.
pub const ITERATOR: &str = "bpf_iter_scx_dsq";
const KIND: HandleKind = HandleKind::Host(ITERATOR);
/// Bytes of an iterator that are zeroed when it is made, of 48.
const SIZE: u64 = 32;

// What is kept of an iterator: the cursor's number and 1, 0 if there is no queue; what the next move shall set, bits `HAS_SLICE` and
// `HAS_VTIME`; the slice; the virtual time.
const CURSOR: usize = 0;
const PENDING: usize = 1;
const SLICE: usize = 2;
const VTIME: usize = 3;

const HAS_SLICE: u64 = 1;
const HAS_VTIME: u64 = 2;

/// The cursor of an iterator; `None`: it walks no queue.
fn cursor(state: &HandleState) -> Option<DsqIter> {
    u32::try_from(state[CURSOR]).ok().and_then(|cursor| cursor.checked_sub(1)).map(DsqIter)
}

/// What the next move of an iterator shall set, if anything.
fn pending(state: &HandleState, bit: u64, place: usize) -> Option<u64> {
    (state[PENDING] & bit != 0).then_some(state[place])
}

/// The next move of the iterator `it` shall set the value at `place` to `value`.
fn set_pending(ctx: &mut Ctx<'_>, it: u64, (bit, place): (u64, usize), value: u64) -> Result<u64, Fault> {
    let state = ctx.vm.handle(it, KIND)?;
    state[PENDING] |= bit;
    state[place] = value;
    Ok(0)
}

/// A program has ended without destroying an iterator.
pub fn dropped(dsqs: &mut Dsqs, state: HandleState) {
    if let Some(cursor) = cursor(&state) {
        dsqs.iter_destroy(cursor);
    }
}

/// `bpf_iter_scx_dsq_new(it, dsq_id, flags)`: 0 or a negative errno. The program goes on either way.
pub fn iter_new(ctx: &mut Ctx<'_>, [it, dsq_id, flags, ..]: Args) -> Result<u64, Fault> {
    ctx.vm.memory.write(it, SIZE)?.fill(0);
    ctx.vm.open_handle(it, KIND, [0; 4])?;
    match ctx.scx.dsqs.iter_new(dsq_id, flags) {
        Ok(DsqIter(cursor)) => {
            ctx.vm.handle(it, KIND)?[CURSOR] = u64::from(cursor) + 1;
            Ok(0)
        }
        Err(error) => Ok(error as u64),
    }
}

/// `bpf_iter_scx_dsq_next(it)`: the next task, or 0.
pub fn iter_next(ctx: &mut Ctx<'_>, [it, ..]: Args) -> Result<u64, Fault> {
    let Some(cursor) = cursor(ctx.vm.handle(it, KIND)?) else { return Ok(0) };
    let (task, passed) = ctx.scx.dsqs.iter_next(cursor);
    ctx.vm.spend(passed)?;
    Ok(task.map_or(0, |task| ctx.scx.guest.task(task)))
}

/// `bpf_iter_scx_dsq_destroy(it)`.
pub fn iter_destroy(ctx: &mut Ctx<'_>, [it, ..]: Args) -> Result<u64, Fault> {
    let state = ctx.vm.close_handle(it, KIND)?;
    dropped(&mut ctx.scx.dsqs, state);
    Ok(0)
}

/// `scx_bpf_dispatch_from_dsq_set_slice(it, slice)`, `scx_bpf_dsq_move_set_slice`: for the next move.
pub const SET_SLICE: Handler = |ctx, [it, slice, ..]| set_pending(ctx, it, (HAS_SLICE, SLICE), slice);

/// `scx_bpf_dispatch_from_dsq_set_vtime(it, vtime)`, `scx_bpf_dsq_move_set_vtime`: for the next move.
pub const SET_VTIME: Handler = |ctx, [it, vtime, ..]| set_pending(ctx, it, (HAS_VTIME, VTIME), vtime);

/// `scx_bpf_dispatch_from_dsq(it, p, dsq_id, enq_flags)`, `scx_bpf_dsq_move`: whether the task was moved.
pub const MOVE: Handler = |ctx, [it, task, dsq_id, enq_flags, _]| move_task(ctx, it, task, dsq_id, enq_flags);

/// `scx_bpf_dispatch_vtime_from_dsq(it, p, dsq_id, enq_flags)`, `scx_bpf_dsq_move_vtime`: by virtual time; whether the task
/// was moved.
pub const MOVE_VTIME: Handler =
    |ctx, [it, task, dsq_id, enq_flags, _]| move_task(ctx, it, task, dsq_id, enq_flags | SCX_ENQ_DSQ_PRIQ);

/// `scx_dispatch_from_dsq`: what was to be set is forgotten afterwards, unless the call was refused.
fn move_task(ctx: &mut Ctx<'_>, it: u64, task: u64, dsq_id: u64, enq_flags: u64) -> Result<u64, Fault> {
    let state = *ctx.vm.handle(it, KIND)?;
    let Some(cursor) = cursor(&state) else { return Ok(0) };
    if !ctx.permits(CONTEXT, None) {
        return Ok(0);
    }
    let task = ctx.scx.guest.expect_task(&ctx.vm.memory, task)?;
    let set = (pending(&state, HAS_SLICE, SLICE), pending(&state, HAS_VTIME, VTIME));
    let moved = ctx.dispatch_from_dsq(cursor, task, dsq_id, enq_flags, set);
    ctx.vm.handle(it, KIND)?[PENDING] = 0;
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
    // Those with higher ids move on.
    ctx.vm.spend(ctx.scx.dsqs.behind(dsq_id) / 8)?;
    Ok(ctx.queues().create(dsq_id, node as i32) as u64)
}

/// `scx_bpf_destroy_dsq(dsq_id)`.
pub const DESTROY_DSQ: Handler = |ctx, [dsq_id, ..]| {
    ctx.vm.spend(ctx.scx.dsqs.behind(dsq_id) / 8)?;
    let destroyed = ctx.queues().destroy(dsq_id);
    ctx.accept(destroyed);
    Ok(0)
};

/// `scx_bpf_dsq_nr_queued(dsq_id)`: the number of its tasks, or a negative errno.
pub const NR_QUEUED: Handler = |ctx, [dsq_id, ..]| Ok(ctx.dsq_nr_queued(dsq_id) as u64);
