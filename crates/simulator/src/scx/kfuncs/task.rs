// SPDX-License-Identifier: MIT OR Apache-2.0
//! References to tasks (`kernel/bpf/helpers.c`).
//!
//! A program that acquires must release, which the kernel's verifier proves and nothing checks here: a task's object
//! stays as long as the task itself, whether a program holds a reference or not. A program that keeps a task beyond its
//! end is stopped with a use after free; a kernel would let it read the dead task.

use tandem_bpf_vm::fault::Fault;
use tandem_bpf_vm::host::Args;

use super::Handler;
use crate::scx::Ctx;

/// `bpf_task_from_pid(pid)`, `bpf_task_from_vpid(vpid)`: the task with this number, or 0. All tasks are in one namespace.
/// A number of more than 32 bits does not occur.
pub const FROM_PID: Handler =
    |ctx, [pid, ..]| Ok(ctx.scx.guest.task_by_pid(pid as i32).map_or(0, |task| ctx.scx.guest.task(task)));

/// `bpf_task_acquire(p)`.
pub const ACQUIRE: Handler = |_, [task, ..]| Ok(task);

/// `bpf_task_release(p)`.
pub const RELEASE: Handler = |_, _| Ok(0);

/// `bpf_task_under_cgroup(p, ancestor)`: whether its cgroup is `ancestor` or below.
pub fn under_cgroup(ctx: &mut Ctx<'_>, [task, ancestor, ..]: Args) -> Result<u64, Fault> {
    let task = ctx.scx.guest.expect_task(&ctx.vm.memory, task)?;
    let (cgroup, ancestor) = (ctx.kernel.task(task).cgroup, ctx.scx.guest.expect_cgroup(&ctx.vm.memory, ancestor)?);
    Ok(u64::from(ctx.kernel.cgroups.ancestors(cgroup).any(|id| id == ancestor)))
}
