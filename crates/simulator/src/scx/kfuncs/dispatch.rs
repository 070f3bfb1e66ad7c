// SPDX-License-Identifier: MIT OR Apache-2.0
//! What `dispatch` may do besides inserting tasks, and what `cpu_release` may.

use tandem_bpf_vm::fault::Fault;

use super::Handler;
use super::context::{CPU_RELEASE, Context, DISPATCH};
use crate::scx::Ctx;
use crate::scx::abi::profile::{SCX_DSQ_LOCAL, SCX_REENQ_ANY};

/// From where the dispatch buffer is looked at and queues are consumed.
pub const CONTEXT: Context = Context::Mask(DISPATCH);
/// From where a CPU's local queue is given back.
pub const RELEASE_CONTEXT: Context = Context::Mask(CPU_RELEASE);

/// `scx_bpf_dispatch_nr_slots()`: tasks that this round may still dispatch.
pub const NR_SLOTS: Handler = |ctx, _| {
    Ok(if ctx.permits(CONTEXT, None) {
        u64::from(ctx.scx.buffers.nr_slots(ctx.scx.calls.this_cpu(), &ctx.scx.ops))
    } else {
        0
    })
};

/// `scx_bpf_dispatch_cancel()`: forgets the latest dispatch.
pub const CANCEL: Handler = |ctx, _| {
    if ctx.permits(CONTEXT, None) {
        let cancelled = ctx.scx.buffers.cancel(ctx.scx.calls.this_cpu());
        ctx.accept(cancelled);
    }
    Ok(0)
};

/// `scx_bpf_consume(dsq_id)`, and `scx_bpf_dsq_move_to_local(dsq_id)` of before 7.1: whether a task came to the local queue.
pub const CONSUME: Handler = |ctx, [dsq_id, ..]| consume(ctx, dsq_id, 0);

/// `scx_bpf_dsq_move_to_local(dsq_id, enq_flags)`: whether a task came to the local queue, with these flags.
pub const MOVE_TO_LOCAL: Handler = |ctx, [dsq_id, enq_flags, ..]| consume(ctx, dsq_id, enq_flags);

fn consume(ctx: &mut Ctx<'_>, dsq_id: u64, enq_flags: u64) -> Result<u64, Fault> {
    // All tasks are looked at that may not run here.
    let queued = ctx.scx.dsqs.find_user_dsq(dsq_id).map_or(0, |dsq| ctx.scx.dsqs.nr(dsq));
    ctx.vm.spend(queued.into())?;
    Ok(u64::from(ctx.permits(CONTEXT, None) && ctx.scx_bpf_consume(dsq_id, enq_flags)))
}

/// `scx_bpf_reenqueue_local()` of `ops.cpu_release`: gives all tasks in the local queue of the executing CPU to the
/// scheduler again; how many.
pub const REENQUEUE_LOCAL: Handler = |ctx, _| {
    Ok(if ctx.permits(RELEASE_CONTEXT, None) {
        u64::from(ctx.reenq_local(ctx.scx.calls.this_cpu(), SCX_REENQ_ANY))
    } else {
        0
    })
};

/// `scx_bpf_reenqueue_local___v2()`, from anywhere: all tasks in the local queue of the executing CPU go back to the
/// scheduler once no run queue is locked any more.
pub const REENQUEUE_LOCAL_LATER: Handler = |ctx, _| {
    ctx.scx_bpf_dsq_reenq(SCX_DSQ_LOCAL, 0);
    Ok(0)
};

/// `scx_bpf_dsq_reenq(dsq_id, reenq_flags)`: all tasks in a queue that is local or the scheduler's own go back to the
/// scheduler once no run queue is locked any more.
pub const DSQ_REENQ: Handler = |ctx, [dsq_id, reenq_flags, ..]| {
    ctx.scx_bpf_dsq_reenq(dsq_id, reenq_flags);
    Ok(0)
};
