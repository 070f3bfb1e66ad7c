// SPDX-License-Identifier: MIT OR Apache-2.0
//! What any program may ask or do: kicks, CPUs, tasks, time, wanted performance.

use tandem_bpf_vm::fault::Fault;
use tandem_bpf_vm::host::Args;

use super::Handler;
use crate::scx::Ctx;
use crate::scx::abi::Mask;
use crate::scx::cpuperf::CPUPERF_ONE;
use crate::scx::host::monotonic;
use crate::scx::idle::nr_nodes;

/// `scx_bpf_kick_cpu(cpu, flags)`.
pub const KICK_CPU: Handler = |ctx, [cpu, flags, ..]| {
    ctx.scx_bpf_kick_cpu(cpu as i32, flags);
    Ok(0)
};

/// `scx_bpf_cpuperf_cap(cpu)`: the capacity of `cpu` at its highest clock, 1..=1024; an error and 1024 for no CPU.
pub const CPUPERF_CAP: Handler = |ctx, [cpu, ..]| {
    let cpu = ctx.ops_cpu_valid(cpu as i32, None);
    Ok(cpu.map_or(CPUPERF_ONE, |cpu| ctx.kernel.rq(cpu).capacity_orig).into())
};

/// `scx_bpf_cpuperf_cur(cpu)`: the clock of `cpu` now, of its own highest, 0..=1024; an error and 1024 for no CPU.
pub const CPUPERF_CUR: Handler = |ctx, [cpu, ..]| {
    let cpu = ctx.ops_cpu_valid(cpu as i32, None);
    Ok(cpu.map_or(CPUPERF_ONE, |cpu| ctx.kernel.rq(cpu).freq_scale).into())
};

/// `scx_bpf_cpuperf_set(cpu, perf)`: from now on `cpu` shall provide `perf`, 0..=1024. After 6.12, a callback that holds a run
/// queue may only speak for that CPU.
pub fn cpuperf_set(ctx: &mut Ctx<'_>, [cpu, perf, ..]: Args) -> Result<u64, Fault> {
    let (cpu, perf) = (cpu as i32, perf as u32);
    if perf > CPUPERF_ONE {
        ctx.ops_error(format!("Invalid cpuperf target {perf} for CPU {cpu}"));
        return Ok(0);
    }
    let Some(id) = ctx.ops_cpu_valid(cpu, None) else { return Ok(0) };
    if ctx.scx.profile.rules().cpuperf_of_locked_cpu && ctx.scx.calls.locked_cpu().is_some_and(|locked| locked != id) {
        ctx.ops_error(format!("Invalid target CPU {cpu}"));
        return Ok(0);
    }
    ctx.scx.cpuperf.set(id, perf);
    let this_cpu = ctx.scx.calls.this_cpu();
    ctx.kernel.cpufreq_update_util_from(this_cpu, id);
    Ok(0)
}

/// `scx_bpf_nr_cpu_ids()`.
pub const NR_CPU_IDS: Handler = |ctx, _| Ok(ctx.kernel.topology.nr_cpus as u64);

/// `scx_bpf_nr_node_ids()`.
pub const NR_NODE_IDS: Handler = |ctx, _| Ok(nr_nodes(&ctx.kernel.topology) as u64);

/// `scx_bpf_cpu_node(cpu)`: its NUMA node; an error and -1 (`NUMA_NO_NODE`) for no CPU.
pub const CPU_NODE: Handler = |ctx, [cpu, ..]| {
    let cpu = ctx.ops_cpu_valid(cpu as i32, None);
    Ok(cpu.map_or(u64::MAX, |cpu| ctx.kernel.topology.node_of(cpu) as u64))
};

/// `scx_bpf_get_possible_cpumask()`.
pub const POSSIBLE: Handler = |ctx, _| Ok(ctx.scx.guest.mask(Mask::Possible));

/// `scx_bpf_get_online_cpumask()`.
pub const ONLINE: Handler = |ctx, _| Ok(ctx.scx.guest.mask(Mask::Online));

/// `scx_bpf_put_cpumask(mask)`: the kernel's masks are not counted.
pub const PUT_CPUMASK: Handler = |_, _| Ok(0);

/// `scx_bpf_task_running(p)`: whether it is the current task of its CPU.
pub fn task_running(ctx: &mut Ctx<'_>, [task, ..]: Args) -> Result<u64, Fault> {
    if let Some(cpu) = ctx.scx.guest.idle_task_at(&ctx.vm.memory, task) {
        return Ok(u64::from(ctx.kernel.rq(cpu).curr.is_none()));
    }
    let task = ctx.scx.guest.expect_task(&ctx.vm.memory, task)?;
    let cpu = ctx.kernel.task(task).cpu;
    Ok(u64::from(ctx.kernel.rq(cpu).curr == Some(task)))
}

/// `scx_bpf_task_cpu(p)`: where it is, waits or last was.
pub fn task_cpu(ctx: &mut Ctx<'_>, [task, ..]: Args) -> Result<u64, Fault> {
    if let Some(cpu) = ctx.scx.guest.idle_task_at(&ctx.vm.memory, task) {
        return Ok(u64::from(cpu.0));
    }
    let task = ctx.scx.guest.expect_task(&ctx.vm.memory, task)?;
    Ok(u64::from(ctx.kernel.task(task).cpu.0))
}

/// `scx_bpf_cpu_rq(cpu)`: its run queue; an error and 0 for no CPU.
pub const CPU_RQ: Handler = |ctx, [cpu, ..]| {
    let cpu = ctx.ops_cpu_valid(cpu as i32, None);
    Ok(cpu.map_or(0, |cpu| ctx.scx.guest.rq(cpu)))
};

/// `scx_bpf_locked_rq()`: the run queue that is locked around the callback; an error and 0 if none is.
pub const LOCKED_RQ: Handler = |ctx, _| match ctx.scx.calls.locked_cpu() {
    Some(cpu) => Ok(ctx.scx.guest.rq(cpu)),
    None => {
        ctx.ops_error("accessing rq without holding rq lock".into());
        Ok(0)
    }
};

/// `scx_bpf_cpu_curr(cpu)`: its current task, an idle one too; an error and 0 for no CPU.
pub const CPU_CURR: Handler = |ctx, [cpu, ..]| {
    let cpu = ctx.ops_cpu_valid(cpu as i32, None);
    Ok(cpu.map_or(0, |cpu| ctx.scx.guest.curr(ctx.kernel, cpu)))
};

/// `scx_bpf_now()`: time does not go on while a program runs, so a cached clock and a fresh one are the same.
pub const NOW: Handler = |ctx, _| Ok(monotonic(ctx.kernel));

/// `scx_bpf_task_set_slice(p, slice)`: true, as there are no schedulers below others that could lack the right.
pub fn set_slice(ctx: &mut Ctx<'_>, [task, slice, ..]: Args) -> Result<u64, Fault> {
    let task = ctx.scx.guest.expect_task(&ctx.vm.memory, task)?;
    ctx.scx.guest.set_slice(&mut ctx.vm.memory, task, slice);
    Ok(1)
}

/// `scx_bpf_task_set_dsq_vtime(p, vtime)`: true, as there are no schedulers below others that could lack the right.
pub fn set_dsq_vtime(ctx: &mut Ctx<'_>, [task, vtime, ..]: Args) -> Result<u64, Fault> {
    let task = ctx.scx.guest.expect_task(&ctx.vm.memory, task)?;
    ctx.scx.guest.set_dsq_vtime(&mut ctx.vm.memory, task, vtime);
    Ok(1)
}
