// SPDX-License-Identifier: MIT OR Apache-2.0
//! Idle CPUs: masks, claims, searches. In 7.x each NUMA node may have masks of its own; then functions without a node
//! are refused, and otherwise those with one.

use tandem_bpf_vm::fault::Fault;
use tandem_bpf_vm::host::Args;

use super::{Handler, errno};
use crate::scx::Ctx;
use crate::scx::idle::PICK_IDLE_IN_NODE;
use crate::scx::idle::bits::Allowed;
use crate::units::CpuId;

const ENOENT: i64 = 2;
const EBUSY: i64 = 16;
const EINVAL: i64 = 22;
const EOPNOTSUPP: i64 = 95;

/// `scx_bpf_test_and_clear_cpu_idle(cpu)`: claims it; whether it was idle.
pub fn test_and_clear(ctx: &mut Ctx<'_>, [cpu, ..]: Args) -> Result<u64, Fault> {
    if !ctx.check_builtin_idle_enabled() {
        return Ok(0);
    }
    let Some(cpu) = ctx.ops_cpu_valid(cpu as i32, None) else { return Ok(0) };
    Ok(u64::from(ctx.test_and_clear_cpu_idle(cpu)))
}

/// `scx_bpf_get_idle_cpumask()`.
pub const IDLE_CPUMASK: Handler = |ctx, _| {
    let usable = ctx.check_nodeless() && ctx.check_builtin_idle_enabled();
    let address = if usable { ctx.scx.idle.cpu_address(None) } else { None };
    ctx.mask_or_none(address)
};

/// `scx_bpf_get_idle_smtmask()`.
pub const IDLE_SMTMASK: Handler = |ctx, _| {
    let usable = ctx.check_nodeless() && ctx.check_builtin_idle_enabled();
    let address = if usable { ctx.scx.idle.smt_address(None) } else { None };
    ctx.mask_or_none(address)
};

/// `scx_bpf_get_idle_cpumask_node(node)`.
pub const IDLE_CPUMASK_NODE: Handler = |ctx, [node, ..]| {
    let address = ctx.validate_node(node as i32).ok().and_then(|node| ctx.scx.idle.cpu_address(Some(node)));
    ctx.mask_or_none(address)
};

/// `scx_bpf_get_idle_smtmask_node(node)`.
pub const IDLE_SMTMASK_NODE: Handler = |ctx, [node, ..]| {
    let address = ctx.validate_node(node as i32).ok().and_then(|node| ctx.scx.idle.smt_address(Some(node)));
    ctx.mask_or_none(address)
};

/// `scx_bpf_pick_idle_cpu(mask, flags)`: a claimed CPU, or `-EBUSY`.
pub fn pick_idle(ctx: &mut Ctx<'_>, [mask, flags, ..]: Args) -> Result<u64, Fault> {
    if !ctx.check_nodeless() || !ctx.check_builtin_idle_enabled() {
        return errno(EBUSY);
    }
    let found = ctx.with_mask(mask, |ctx, allowed| ctx.pick_idle(allowed, None, flags))?;
    cpu_or_busy(found)
}

/// `scx_bpf_pick_any_cpu(mask, flags)`: a claimed idle CPU, else any of `mask`, or `-EBUSY`.
pub fn pick_any(ctx: &mut Ctx<'_>, [mask, flags, ..]: Args) -> Result<u64, Fault> {
    if !ctx.check_nodeless() {
        return errno(EBUSY);
    }
    let found = ctx.with_mask(mask, |ctx, allowed| {
        let idle = if ctx.scx.idle.is_enabled() { ctx.pick_idle(allowed, None, flags) } else { None };
        idle.or_else(|| ctx.any_distribute(allowed))
    })?;
    cpu_or_busy(found)
}

/// `scx_bpf_pick_idle_cpu_node(mask, node, flags)`.
pub fn pick_idle_node(ctx: &mut Ctx<'_>, [mask, node, flags, ..]: Args) -> Result<u64, Fault> {
    let node = match ctx.validate_node(node as i32) {
        Ok(node) => node,
        Err(error) => return errno(error),
    };
    let found = ctx.with_mask(mask, |ctx, allowed| ctx.pick_idle(allowed, Some(node), flags))?;
    cpu_or_busy(found)
}

/// `scx_bpf_pick_any_cpu_node(mask, node, flags)`.
pub fn pick_any_node(ctx: &mut Ctx<'_>, [mask, node, flags, ..]: Args) -> Result<u64, Fault> {
    let node = match ctx.validate_node(node as i32) {
        Ok(node) => node,
        Err(error) => return errno(error),
    };
    let found = ctx.with_mask(mask, |ctx, allowed| {
        if let Some(idle) = ctx.pick_idle(allowed, Some(node), flags) {
            return Some(idle);
        }
        if flags & PICK_IDLE_IN_NODE == 0 {
            return ctx.any_distribute(allowed);
        }
        let span = ctx.scx.idle.node_span(node).map(<[u64]>::to_vec);
        ctx.any_distribute(allowed.and(span.as_deref()))
    })?;
    cpu_or_busy(found)
}

fn cpu_or_busy(found: Option<CpuId>) -> Result<u64, Fault> {
    found.map_or(errno(EBUSY), |cpu| Ok(u64::from(cpu.0)))
}

impl Ctx<'_> {
    /// Whether functions without a NUMA node may be called; an error if not.
    fn check_nodeless(&mut self) -> bool {
        if self.scx.idle.is_per_node() {
            self.ops_error("per-node idle tracking is enabled".into());
        }
        !self.scx.idle.is_per_node()
    }

    /// `validate_node`, and whether nodes are told apart at all; an errno if not.
    fn validate_node(&mut self, node: i32) -> Result<usize, i64> {
        if !self.check_builtin_idle_enabled() {
            return Err(EBUSY);
        }
        if !self.scx.idle.is_per_node() {
            self.ops_error("per-node idle tracking is disabled".into());
            return Err(EOPNOTSUPP);
        }
        if node == -1 {
            return Err(ENOENT);
        }
        let valid = usize::try_from(node).ok().filter(|node| self.scx.idle.node_span(*node).is_some());
        if valid.is_none() {
            self.ops_error(format!("invalid node {node}"));
        }
        valid.ok_or(EINVAL)
    }

    fn mask_or_none(&mut self, address: Option<u64>) -> Result<u64, Fault> {
        match address {
            Some(address) => Ok(address),
            None => self.scx.idle.none_address(&mut self.vm.memory).map_err(Fault::from),
        }
    }

    /// Does `what` with the CPUs of a program's mask at `address`.
    fn with_mask<R>(&mut self, address: u64, what: impl FnOnce(&mut Self, Allowed<'_>) -> R) -> Result<R, Fault> {
        self.with_words(address, |ctx, words| what(ctx, Allowed::default().and(Some(words))))
    }

    /// Likewise, as a bitmap of as many words as there can be CPUs. It is copied, as programs' masks may lie where idle
    /// CPUs are written to; to a place that is kept, so that nothing is allocated.
    pub(super) fn with_words<R>(
        &mut self,
        address: u64,
        what: impl FnOnce(&mut Self, &[u64]) -> R,
    ) -> Result<R, Fault> {
        let mut mask = std::mem::take(&mut self.scx.host.mask);
        mask.clear();
        for index in 0..self.kernel.topology.online.words().len() as u64 {
            mask.push(self.vm.memory.load::<8>(address.wrapping_add(8 * index))?);
        }
        clear_beyond(&mut mask, self.kernel.topology.nr_cpus);
        let result = what(self, &mask);
        self.scx.host.mask = mask;
        Ok(result)
    }
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
