// SPDX-License-Identifier: MIT OR Apache-2.0
//! Idle tracking of a loaded scheduler.

use tandem_bpf_vm::fault::FaultKind;
use tandem_bpf_vm::instance::Instance;
use tandem_bpf_vm::memory::Memory;

use super::bits::{Allowed, any_distribute};
use super::{IdleSetup, IdleTracking};
use crate::kernel::Kernel;
use crate::kernel::topology::Topology;
use crate::scx::abi::Mask;
use crate::scx::ops::Op;
use crate::scx::{Ctx, State};
use crate::units::CpuId;

/// `SCX_OPS_KEEP_BUILTIN_IDLE`.
const OPS_KEEP_BUILTIN_IDLE: u64 = 1;
/// `SCX_OPS_BUILTIN_IDLE_PER_NODE`, 7.x only.
const OPS_BUILTIN_IDLE_PER_NODE: u64 = 0x40;

/// What happens to the idle thread of a CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdleChange {
    /// The idle thread begins, after the task before it was put (`set_next_task_idle`).
    Begins,
    /// The idle thread ends, before the next task is set (`put_prev_task_idle`).
    Ends,
    /// The idle thread is picked, though it may run already (`pick_task_idle`): no task came or went.
    PickedAgain,
}

impl State {
    /// A scheduler takes over (`scx_idle_enable`): CPUs are tracked unless it does so in `update_idle`.
    ///
    /// # Errors
    /// The programs' memory is exhausted.
    pub fn scx_idle_enable(&mut self, memory: &mut Memory, topology: &Topology) -> Result<(), FaultKind> {
        let flags = self.ops.flags;
        if self.ops.has(Op::UpdateIdle) && flags & OPS_KEEP_BUILTIN_IDLE == 0 {
            self.idle.disable();
            return Ok(());
        }
        let setup = IdleSetup {
            cpu_address: self.guest.mask(Mask::IdleCpu),
            smt_address: self.guest.mask(Mask::IdleSmt),
            per_node: self.profile.rules().builtin_idle_per_node && flags & OPS_BUILTIN_IDLE_PER_NODE != 0,
        };
        self.idle.enable(memory, topology, setup)
    }
}

impl IdleTracking {
    /// The masks follow `change` on `cpu`; where no task came or went, only if the idle thread runs.
    fn follow(&mut self, memory: &mut Memory, kernel: &Kernel, cpu: CpuId, change: IdleChange) {
        if self.is_enabled() && (change != IdleChange::PickedAgain || kernel.rq(cpu).curr.is_none()) {
            self.update(memory, cpu, change != IdleChange::Ends);
        }
    }

    /// [`IdleTracking::pick`] by `this_cpu`, whose search begins after what its last one found.
    pub(in crate::scx) fn pick_by(
        &mut self,
        vm: &mut Instance,
        this_cpu: CpuId,
        allowed: Allowed<'_>,
        node: Option<usize>,
        flags: u64,
    ) -> Option<CpuId> {
        let mut cursor = *vm.distribute_cursor(this_cpu.0);
        let found = self.pick(&mut vm.memory, &mut cursor, allowed, node, flags);
        *vm.distribute_cursor(this_cpu.0) = cursor;
        found
    }
}

/// `cpumask_any_distribute` by `this_cpu`: one CPU of `allowed` after the other.
pub(in crate::scx) fn pick_any_by(
    vm: &mut Instance,
    topology: &Topology,
    this_cpu: CpuId,
    allowed: Allowed<'_>,
) -> Option<CpuId> {
    let words = topology.online.words().len();
    any_distribute(words, vm.distribute_cursor(this_cpu.0), |index| allowed.word(index))
}

impl Ctx<'_> {
    /// `__scx_update_idle`: what the masks show of `cpu` changes, and the scheduler hears of it unless its idle thread is
    /// only picked again. 6.12 tells the scheduler before it changes the masks, later kernels afterwards.
    pub fn update_idle(&mut self, cpu: CpuId, change: IdleChange) {
        self.scx.calls.set_this_cpu(cpu);
        let masks_first = self.scx.profile.rules().masks_before_update_idle;
        if masks_first {
            self.scx.idle.follow(&mut self.vm.memory, self.kernel, cpu, change);
        }
        let tells = change != IdleChange::PickedAgain && !self.scx.rqs[cpu].bypassing;
        if tells && self.scx.ops.has(Op::UpdateIdle) {
            let idle = change != IdleChange::Ends;
            self.call_op(Op::UpdateIdle, cpu, Some(cpu), [None; 2], &[u64::from(cpu.0), u64::from(idle)]);
        }
        if !masks_first {
            self.scx.idle.follow(&mut self.vm.memory, self.kernel, cpu, change);
        }
    }
}
