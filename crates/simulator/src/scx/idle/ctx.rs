// SPDX-License-Identifier: MIT OR Apache-2.0
//! Idle tracking of a loaded scheduler.

use tandem_bpf_vm::fault::FaultKind;

use super::IdleSetup;
use super::bits::{Allowed, any_distribute};
use crate::scx::Ctx;
use crate::scx::abi::Mask;
use crate::scx::ops::Op;
use crate::units::CpuId;

/// `SCX_OPS_KEEP_BUILTIN_IDLE`.
const OPS_KEEP_BUILTIN_IDLE: u64 = 1;
/// `SCX_OPS_BUILTIN_IDLE_PER_NODE`, 7.x only.
const OPS_BUILTIN_IDLE_PER_NODE: u64 = 0x40;

impl Ctx<'_> {
    /// A scheduler takes over (`scx_idle_enable`): CPUs are tracked unless it does so in `update_idle`.
    ///
    /// # Errors
    /// The programs' memory is exhausted.
    pub fn scx_idle_enable(&mut self) -> Result<(), FaultKind> {
        let flags = self.scx.ops.flags;
        if self.scx.ops.has(Op::UpdateIdle) && flags & OPS_KEEP_BUILTIN_IDLE == 0 {
            self.scx.idle.disable();
            return Ok(());
        }
        let setup = IdleSetup {
            cpu_address: self.scx.guest.mask(Mask::IdleCpu),
            smt_address: self.scx.guest.mask(Mask::IdleSmt),
            per_node: self.scx.profile.is_v7() && flags & OPS_BUILTIN_IDLE_PER_NODE != 0,
        };
        self.scx.idle.enable(&mut self.vm.memory, &self.kernel.topology, setup)
    }

    /// `__scx_update_idle`: `cpu` goes into or out of idle; with `do_notify` a task came or went, without it the idle
    /// thread was picked again and only the masks are renewed. 6.12 tells the scheduler before it changes the masks, 7.x
    /// afterwards.
    pub fn scx_update_idle(&mut self, cpu: CpuId, idle: bool, do_notify: bool) {
        let masks_first = self.scx.profile.is_v7();
        if masks_first {
            self.refresh_idle(cpu, idle, do_notify);
        }
        if do_notify && self.scx.ops.has(Op::UpdateIdle) && !self.scx.rqs[cpu].bypassing {
            self.call_op(Op::UpdateIdle, cpu, Some(cpu), [None; 2], &[u64::from(cpu.0), u64::from(idle)]);
        }
        if !masks_first {
            self.refresh_idle(cpu, idle, do_notify);
        }
    }

    fn refresh_idle(&mut self, cpu: CpuId, idle: bool, do_notify: bool) {
        if self.scx.idle.is_enabled() && (do_notify || self.kernel.rq(cpu).curr.is_none()) {
            self.scx.idle.update(&mut self.vm.memory, cpu, idle);
        }
    }

    /// `test_and_clear_cpu_idle`: claims `cpu`; whether it was idle.
    pub fn test_and_clear_cpu_idle(&mut self, cpu: CpuId) -> bool {
        self.scx.idle.test_and_clear(&mut self.vm.memory, cpu)
    }

    /// Likewise of CPUs that the caller names as it likes.
    pub(in crate::scx) fn pick_idle(&mut self, allowed: Allowed<'_>, node: Option<usize>, flags: u64) -> Option<CpuId> {
        let this_cpu = self.scx.calls.this_cpu();
        let mut cursor = *self.vm.distribute_cursor(this_cpu.0);
        let found = self.scx.idle.pick(&mut self.vm.memory, &mut cursor, allowed, node, flags);
        *self.vm.distribute_cursor(this_cpu.0) = cursor;
        found
    }

    /// `cpumask_any_distribute`: one CPU of `allowed` after the other.
    pub(in crate::scx) fn any_distribute(&mut self, allowed: Allowed<'_>) -> Option<CpuId> {
        let this_cpu = self.scx.calls.this_cpu();
        let words = self.kernel.topology.online.words().len();
        any_distribute(words, self.vm.distribute_cursor(this_cpu.0), |index| allowed.word(index))
    }

    /// Whether idle CPUs are tracked; an error if not.
    pub(in crate::scx) fn check_builtin_idle_enabled(&mut self) -> bool {
        if !self.scx.idle.is_enabled() {
            self.ops_error("built-in idle tracking is disabled".into());
        }
        self.scx.idle.is_enabled()
    }
}
