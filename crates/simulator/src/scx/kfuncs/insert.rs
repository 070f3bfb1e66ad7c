// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tasks go into dispatch queues: `scx_bpf_dispatch`, `scx_bpf_dispatch_vtime`; later `scx_bpf_dsq_insert` and its kin.

use tandem_bpf_vm::fault::Fault;
use tandem_bpf_vm::host::Args;

use super::Handler;
use super::context::{Context, DISPATCH, ENQUEUE};
use crate::scx::Ctx;
use crate::scx::abi::profile::{SCX_ENQ_DSQ_PRIQ, SCX_ENQ_INTERNAL_MASK};
use crate::units::TaskId;

/// From where tasks are inserted.
pub const CONTEXT: Context = Context::Mask(ENQUEUE | DISPATCH);

/// `scx_bpf_dispatch(p, dsq_id, slice, enq_flags)`, `scx_bpf_dsq_insert`. A slice of 0 keeps what the task has left, but
/// at least 1 ns.
pub const INSERT: Handler =
    |ctx, [task, dsq_id, slice, enq_flags, _]| insert(ctx, task, Insertion { dsq_id, slice, vtime: None, enq_flags });

/// `scx_bpf_dispatch_vtime(p, dsq_id, slice, vtime, enq_flags)`, `scx_bpf_dsq_insert_vtime`: by virtual time.
pub const INSERT_VTIME: Handler = |ctx, [task, dsq_id, slice, vtime, enq_flags]| {
    insert(ctx, task, Insertion { dsq_id, slice, vtime: Some(vtime), enq_flags })
};

/// `__scx_bpf_dsq_insert_vtime(p, args)`: the same with `struct scx_bpf_dsq_insert_vtime_args`, whose members are
/// `dsq_id`, `slice`, `vtime`, `enq_flags`, 8 bytes each.
pub fn insert_vtime_args(ctx: &mut Ctx<'_>, [task, args, ..]: Args) -> Result<u64, Fault> {
    let member = |at: u64| ctx.vm.memory.load::<8>(args.wrapping_add(at));
    let (dsq_id, slice, vtime, enq_flags) = (member(0)?, member(8)?, member(16)?, member(24)?);
    insert(ctx, task, Insertion { dsq_id, slice, vtime: Some(vtime), enq_flags })
}

/// How a task is to be inserted.
struct Insertion {
    dsq_id: u64,
    slice: u64,
    vtime: Option<u64>,
    enq_flags: u64,
}

/// Whether the task was inserted, or will be once the callback returns.
fn insert(ctx: &mut Ctx<'_>, task: u64, how: Insertion) -> Result<u64, Fault> {
    let Some((task, mut enq_flags)) = dispatch_preamble(ctx, task, &how)? else { return Ok(0) };
    let memory = &mut ctx.vm.memory;
    let slice = if how.slice == 0 { ctx.scx.guest.slice(memory, task).max(1) } else { how.slice };
    ctx.scx.guest.set_slice(memory, task, slice);
    if let Some(vtime) = how.vtime {
        ctx.scx.guest.set_dsq_vtime(memory, task, vtime);
        enq_flags |= SCX_ENQ_DSQ_PRIQ;
    }
    ctx.scx_dispatch_commit(task, how.dsq_id, enq_flags);
    Ok(1)
}

/// `scx_dispatch_preamble`, later `scx_dsq_insert_preamble`: the task, if it may be inserted now, and the flags; an error
/// if not.
fn dispatch_preamble(ctx: &mut Ctx<'_>, task: u64, how: &Insertion) -> Result<Option<(TaskId, u64)>, Fault> {
    if !ctx.permits(CONTEXT, None) {
        return Ok(None);
    }
    if task == 0 {
        ctx.ops_error("called with NULL task".into());
        return Ok(None);
    }
    if how.enq_flags & SCX_ENQ_INTERNAL_MASK != 0 {
        ctx.ops_error(format!("invalid enq_flags 0x{:x}", how.enq_flags));
        return Ok(None);
    }
    let Some(enq_flags) = ctx.accept(ctx.scx.vet_enq_flags(how.dsq_id, how.enq_flags)) else { return Ok(None) };
    Ok(Some((ctx.scx.guest.expect_task(&ctx.vm.memory, task)?, enq_flags)))
}
