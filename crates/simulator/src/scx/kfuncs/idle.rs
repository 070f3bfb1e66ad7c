// SPDX-License-Identifier: MIT OR Apache-2.0
//! Idle CPUs: masks, claims, searches. In 7.x each NUMA node may have masks of its own; then functions without a node
//! are refused, and otherwise those with one.

use tandem_bpf_vm::fault::Fault;
use tandem_bpf_vm::host::Args;

use super::{Handler, errno};
use crate::scx::Ctx;
use crate::scx::errno::{EBUSY, EINVAL, ENOENT, EOPNOTSUPP};
use crate::scx::idle::bits::Allowed;
use crate::scx::idle::{IdleTracking, NUMA_NO_NODE, PICK_IDLE_IN_NODE, pick_any_by};
use crate::units::CpuId;

/// Why a function of the built-in idle tracking does not work now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unusable {
    #[error("built-in idle tracking is disabled")]
    Disabled,
    #[error("per-node idle tracking is enabled")]
    PerNode,
    #[error("per-node idle tracking is disabled")]
    NotPerNode,
    #[error("invalid node {0}")]
    Node(i32),
}

impl Unusable {
    fn errno(self) -> i64 {
        match self {
            Self::Disabled | Self::PerNode => EBUSY,
            Self::NotPerNode => EOPNOTSUPP,
            Self::Node(_) => EINVAL,
        }
    }
}

/// `check_builtin_idle_enabled`.
pub(super) fn check_enabled(idle: &IdleTracking) -> Result<(), Unusable> {
    if idle.is_enabled() { Ok(()) } else { Err(Unusable::Disabled) }
}

/// Whether functions without a NUMA node may be called.
fn check_nodeless(idle: &IdleTracking) -> Result<(), Unusable> {
    if idle.is_per_node() { Err(Unusable::PerNode) } else { Ok(()) }
}

/// `validate_node`, and whether nodes are told apart at all; `None`: the caller names no node.
fn validate_node(idle: &IdleTracking, node: i32) -> Result<Option<usize>, Unusable> {
    check_enabled(idle)?;
    if !idle.is_per_node() {
        return Err(Unusable::NotPerNode);
    }
    if node == NUMA_NO_NODE {
        return Ok(None);
    }
    let known = usize::try_from(node).ok().filter(|node| idle.node_span(*node).is_some());
    known.map(Some).ok_or(Unusable::Node(node))
}

/// The node that a program names, or the errno with which the function ends; an error of the scheduler unless it names
/// none.
fn named_node(ctx: &mut Ctx<'_>, node: u64) -> Result<usize, i64> {
    let valid = validate_node(&ctx.scx.idle, node as i32);
    let errno = valid.map_or_else(Unusable::errno, |_| ENOENT);
    ctx.accept(valid).flatten().ok_or(errno)
}

/// `scx_bpf_test_and_clear_cpu_idle(cpu)`: claims it; whether it was idle.
pub fn test_and_clear(ctx: &mut Ctx<'_>, [cpu, ..]: Args) -> Result<u64, Fault> {
    if ctx.accept(check_enabled(&ctx.scx.idle)).is_none() {
        return Ok(0);
    }
    let Some(cpu) = ctx.ops_cpu_valid(cpu as i32, None) else { return Ok(0) };
    Ok(u64::from(ctx.scx.idle.test_and_clear(&mut ctx.vm.memory, cpu)))
}

/// What `address` finds if CPUs are tracked, of all nodes together; else a mask without CPUs.
fn nodeless_mask(ctx: &mut Ctx<'_>, address: fn(&IdleTracking, Option<usize>) -> Option<u64>) -> Result<u64, Fault> {
    let idle = &ctx.scx.idle;
    let usable = check_nodeless(idle).and_then(|()| check_enabled(idle));
    let address = ctx.accept(usable).and_then(|()| address(&ctx.scx.idle, None));
    Ok(ctx.scx.idle.address_or_none(&mut ctx.vm.memory, address)?)
}

/// What `address` finds for the NUMA node that a program names; else a mask without CPUs.
fn node_mask(
    ctx: &mut Ctx<'_>,
    node: u64,
    address: fn(&IdleTracking, Option<usize>) -> Option<u64>,
) -> Result<u64, Fault> {
    let address = named_node(ctx, node).ok().and_then(|node| address(&ctx.scx.idle, Some(node)));
    Ok(ctx.scx.idle.address_or_none(&mut ctx.vm.memory, address)?)
}

/// `scx_bpf_get_idle_cpumask()`.
pub const IDLE_CPUMASK: Handler = |ctx, _| nodeless_mask(ctx, IdleTracking::cpu_address);

/// `scx_bpf_get_idle_smtmask()`.
pub const IDLE_SMTMASK: Handler = |ctx, _| nodeless_mask(ctx, IdleTracking::smt_address);

/// `scx_bpf_get_idle_cpumask_node(node)`.
pub const IDLE_CPUMASK_NODE: Handler = |ctx, [node, ..]| node_mask(ctx, node, IdleTracking::cpu_address);

/// `scx_bpf_get_idle_smtmask_node(node)`.
pub const IDLE_SMTMASK_NODE: Handler = |ctx, [node, ..]| node_mask(ctx, node, IdleTracking::smt_address);

/// `scx_bpf_pick_idle_cpu(mask, flags)`: a claimed CPU, or `-EBUSY`.
pub fn pick_idle(ctx: &mut Ctx<'_>, [mask, flags, ..]: Args) -> Result<u64, Fault> {
    let idle = &ctx.scx.idle;
    let usable = check_nodeless(idle).and_then(|()| check_enabled(idle));
    if ctx.accept(usable).is_none() {
        return errno(EBUSY);
    }
    let found = with_mask(ctx, mask, |ctx, allowed| claim(ctx, allowed, None, flags))?;
    cpu_or_busy(found)
}

/// `scx_bpf_pick_any_cpu(mask, flags)`: a claimed idle CPU, else any of `mask`, or `-EBUSY`.
pub fn pick_any(ctx: &mut Ctx<'_>, [mask, flags, ..]: Args) -> Result<u64, Fault> {
    if ctx.accept(check_nodeless(&ctx.scx.idle)).is_none() {
        return errno(EBUSY);
    }
    let found = with_mask(ctx, mask, |ctx, allowed| {
        let idle = if ctx.scx.idle.is_enabled() { claim(ctx, allowed, None, flags) } else { None };
        idle.or_else(|| any_of(ctx, allowed))
    })?;
    cpu_or_busy(found)
}

/// `scx_bpf_pick_idle_cpu_node(mask, node, flags)`.
pub fn pick_idle_node(ctx: &mut Ctx<'_>, [mask, node, flags, ..]: Args) -> Result<u64, Fault> {
    let node = match named_node(ctx, node) {
        Ok(node) => node,
        Err(error) => return errno(error),
    };
    let found = with_mask(ctx, mask, |ctx, allowed| claim(ctx, allowed, Some(node), flags))?;
    cpu_or_busy(found)
}

/// `scx_bpf_pick_any_cpu_node(mask, node, flags)`.
pub fn pick_any_node(ctx: &mut Ctx<'_>, [mask, node, flags, ..]: Args) -> Result<u64, Fault> {
    let node = match named_node(ctx, node) {
        Ok(node) => node,
        Err(error) => return errno(error),
    };
    let found = with_mask(ctx, mask, |ctx, allowed| {
        if let Some(idle) = claim(ctx, allowed, Some(node), flags) {
            return Some(idle);
        }
        if flags & PICK_IDLE_IN_NODE == 0 {
            return any_of(ctx, allowed);
        }
        let span = ctx.scx.idle.node_span(node).map(<[u64]>::to_vec);
        any_of(ctx, allowed.and(span.as_deref()))
    })?;
    cpu_or_busy(found)
}

fn cpu_or_busy(found: Option<CpuId>) -> Result<u64, Fault> {
    found.map_or(errno(EBUSY), |cpu| Ok(u64::from(cpu.0)))
}

/// Claims an idle CPU of `allowed`.
fn claim(ctx: &mut Ctx<'_>, allowed: Allowed<'_>, node: Option<usize>, flags: u64) -> Option<CpuId> {
    let this_cpu = ctx.scx.calls.this_cpu();
    ctx.scx.idle.pick_by(ctx.vm, this_cpu, allowed, node, flags)
}

/// One CPU of `allowed` after the other.
fn any_of(ctx: &mut Ctx<'_>, allowed: Allowed<'_>) -> Option<CpuId> {
    pick_any_by(ctx.vm, &ctx.kernel.topology, ctx.scx.calls.this_cpu(), allowed)
}

/// Does `what` with the CPUs of a program's mask at `address`.
fn with_mask<R>(
    ctx: &mut Ctx<'_>,
    address: u64,
    what: impl FnOnce(&mut Ctx<'_>, Allowed<'_>) -> R,
) -> Result<R, Fault> {
    with_words(ctx, address, |ctx, words| what(ctx, Allowed::default().and(Some(words))))
}

/// Does `what` with the CPUs of a program's mask at `address`, as a bitmap of as many words as there can be CPUs. It is
/// copied, as programs' masks may lie where idle CPUs are written to; to a place that is kept, so that nothing is allocated.
pub(super) fn with_words<R>(
    ctx: &mut Ctx<'_>,
    address: u64,
    what: impl FnOnce(&mut Ctx<'_>, &[u64]) -> R,
) -> Result<R, Fault> {
    let mut mask = std::mem::take(&mut ctx.scx.host.mask);
    mask.clear();
    for index in 0..ctx.kernel.topology.online.words().len() as u64 {
        mask.push(ctx.vm.memory.load::<8>(address.wrapping_add(8 * index))?);
    }
    clear_beyond(&mut mask, ctx.kernel.topology.nr_cpus);
    let result = what(ctx, &mask);
    ctx.scx.host.mask = mask;
    Ok(result)
}

/// Bits of CPUs that there cannot be mean nothing.
fn clear_beyond(mask: &mut [u64], nr_cpus: usize) {
    if let Some(last) = mask.last_mut().filter(|_| !nr_cpus.is_multiple_of(64)) {
        *last &= (1 << (nr_cpus % 64)) - 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_beyond_the_last_cpu_are_not_cpus() {
        let mut mask = [u64::MAX; 2];
        clear_beyond(&mut mask, 66);
        assert_eq!(mask, [u64::MAX, 0b11]);
        clear_beyond(&mut mask, 128);
        assert_eq!(mask, [u64::MAX, 0b11]);
    }
}
