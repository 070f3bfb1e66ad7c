// SPDX-License-Identifier: MIT OR Apache-2.0
//! What `dispatch` may do besides inserting tasks, and what `cpu_release` may.

use super::Handler;
use super::context::{CPU_RELEASE, Context, DISPATCH};

/// From where the dispatch buffer is looked at and queues are consumed.
pub const CONTEXT: Context = Context::Mask(DISPATCH);
/// From where a CPU's local queue is given back.
pub const RELEASE_CONTEXT: Context = Context::Mask(CPU_RELEASE);

/// `scx_bpf_dispatch_nr_slots()`: tasks that this round may still dispatch.
pub const NR_SLOTS: Handler =
    |ctx, _| Ok(if ctx.permits(CONTEXT, None) { u64::from(ctx.scx_bpf_dispatch_nr_slots()) } else { 0 });

/// `scx_bpf_dispatch_cancel()`: the last one dispatched is not.
pub const CANCEL: Handler = |ctx, _| {
    if ctx.permits(CONTEXT, None) {
        ctx.scx_bpf_dispatch_cancel();
    }
    Ok(0)
};

/// `scx_bpf_consume(dsq_id)`, `scx_bpf_dsq_move_to_local(dsq_id, enq_flags)`: whether a task came to the local queue.
/// What `enq_flags` of the latter asks for (`SCX_ENQ_IMMED`) is left out: the task runs next here in any case, as the
/// local queue of a CPU that asks is empty or served in order.
pub const CONSUME: Handler =
    |ctx, [dsq_id, ..]| Ok(u64::from(ctx.permits(CONTEXT, None) && ctx.scx_bpf_consume(dsq_id)));

/// `scx_bpf_reenqueue_local()`: tasks of this CPU's local queue that were given back.
pub const REENQUEUE_LOCAL: Handler =
    |ctx, _| Ok(if ctx.permits(RELEASE_CONTEXT, None) { u64::from(ctx.scx_bpf_reenqueue_local()) } else { 0 });

/// `scx_bpf_reenqueue_local___v2()`: likewise, but from anywhere, and once no run queue is locked any more.
pub const REENQUEUE_LOCAL_LATER: Handler = |ctx, _| {
    ctx.reenqueue_local_later();
    Ok(0)
};
