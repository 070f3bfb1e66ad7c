// SPDX-License-Identifier: MIT OR Apache-2.0
//! The built-in choice of a CPU, asked for by a program: `scx_bpf_select_cpu_dfl`, `scx_bpf_select_cpu_and`.

use tandem_bpf_vm::fault::Fault;
use tandem_bpf_vm::host::Args;

use super::context::{Context, ENQUEUE, SELECT_CPU};
use super::errno;
use super::idle::{check_enabled, with_words};
use crate::scx::Ctx;
use crate::scx::errno::{EBUSY, EINVAL, EPERM};
use crate::units::{CpuId, TaskId};

/// From where 6.12 lets a CPU be chosen.
pub const CONTEXT: Context = Context::Mask(SELECT_CPU);
/// From where later kernels do.
pub const CONTEXT_LATER: Context = Context::MaskOrUnlocked(SELECT_CPU | ENQUEUE);

/// `scx_bpf_select_cpu_dfl(p, prev_cpu, wake_flags, is_idle)`: a CPU, and whether it was idle and is claimed now; after an
/// error, `prev_cpu`.
pub fn select_cpu_dfl(ctx: &mut Ctx<'_>, [task, prev_cpu, wake_flags, is_idle, _]: Args) -> Result<u64, Fault> {
    let (cpu, idle) = if ctx.scx.profile.rules().select_cpu_from_kfunc {
        let found = select_from_kfunc(ctx, task, prev_cpu as i32, |ctx, task, prev| {
            Ok(ctx.select_cpu_and(task, prev, wake_flags, (None, 0)))
        })?;
        (found.map_or(prev_cpu, |cpu| u64::from(cpu.0)), found.is_ok())
    } else {
        select_cpu_dfl_v6_12(ctx, task, prev_cpu, wake_flags)?
    };
    ctx.vm.memory.store::<1>(is_idle, u64::from(idle))?;
    Ok(cpu)
}

/// `scx_bpf_select_cpu_and(p, prev_cpu, wake_flags, mask, flags)`: an idle CPU of `mask`, claimed, or a negative errno.
pub fn select_cpu_and(ctx: &mut Ctx<'_>, [task, prev_cpu, wake_flags, mask, flags]: Args) -> Result<u64, Fault> {
    let found = select_from_kfunc(ctx, task, prev_cpu as i32, |ctx, task, prev| {
        with_words(ctx, mask, |ctx, words| ctx.select_cpu_and(task, prev, wake_flags, (Some(words), flags)))
    })?;
    found.map_or_else(errno, |cpu| Ok(u64::from(cpu.0)))
}

/// `__scx_bpf_select_cpu_and(p, mask, args)`: the same with `struct scx_bpf_select_cpu_and_args`, whose members are
/// `prev_cpu` (4 bytes), `wake_flags` and `flags` (8 bytes each, from 8 on).
pub fn select_cpu_and_args(ctx: &mut Ctx<'_>, [task, mask, args, ..]: Args) -> Result<u64, Fault> {
    let prev_cpu = ctx.vm.memory.load::<4>(args)?;
    let wake_flags = ctx.vm.memory.load::<8>(args.wrapping_add(8))?;
    let flags = ctx.vm.memory.load::<8>(args.wrapping_add(16))?;
    select_cpu_and(ctx, [task, prev_cpu, wake_flags, mask, flags])
}

fn select_cpu_dfl_v6_12(ctx: &mut Ctx<'_>, task: u64, prev_cpu: u64, wake_flags: u64) -> Result<(u64, bool), Fault> {
    let Some(prev) = ctx.ops_cpu_valid(prev_cpu as i32, None) else { return Ok((prev_cpu, false)) };
    if ctx.accept(check_enabled(&ctx.scx.idle)).is_none() || !ctx.permits(CONTEXT, None) {
        return Ok((prev_cpu, false));
    }
    let task = ctx.scx.guest.expect_task(&ctx.vm.memory, task)?;
    let (cpu, idle) = ctx.scx_select_cpu_dfl(task, prev, wake_flags);
    Ok((u64::from(cpu.0), idle))
}

/// `select_cpu_from_kfunc`: an idle CPU, or an errno.
fn select_from_kfunc(
    ctx: &mut Ctx<'_>,
    task: u64,
    prev_cpu: i32,
    choose: impl FnOnce(&mut Ctx<'_>, TaskId, CpuId) -> Result<Option<CpuId>, Fault>,
) -> Result<Result<CpuId, i64>, Fault> {
    let Some(prev) = ctx.ops_cpu_valid(prev_cpu, None) else { return Ok(Err(EINVAL)) };
    if ctx.accept(check_enabled(&ctx.scx.idle)).is_none() {
        return Ok(Err(EBUSY));
    }
    if !ctx.permits(CONTEXT_LATER, None) {
        return Ok(Err(EPERM));
    }
    let task = ctx.scx.guest.expect_task(&ctx.vm.memory, task)?;
    Ok(choose(ctx, task, prev)?.ok_or(EBUSY))
}
