// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where a scheduler decided what is found out to be wrong only later: after its callback has returned, or outside of any.
//!
//! A kernel's backtrace then shows the kernel's own functions, and a person has to guess. Here each dispatch remembers the
//! place that made it.

use tandem_bpf_vm::fault::Location;
use tandem_bpf_vm::instance::Instance;
use tandem_bpf_vm::interp::Trace;

use super::Ctx;
use super::callbacks::Calls;
use super::exit::ExitState;
use super::ops::Op;
use crate::units::CpuId;

/// Where a scheduler decided something.
#[derive(Debug, Clone, Copy, Default)]
pub struct Origin {
    /// The callback at work, if one was.
    op: Option<Op>,
    /// The CPU that executed it.
    cpu: CpuId,
    /// The place in the programs.
    trace: Trace,
}

/// What an error is blamed on: the callback, the CPU, the place in the programs.
pub(super) type Culprit = (Option<Op>, CpuId, Vec<Location>);

/// A decision that is being carried out.
#[derive(Debug, Clone, Copy)]
pub struct Blame {
    origin: Origin,
    /// Callbacks at work around it: those inside it answer for themselves.
    depth: usize,
}

impl Origin {
    /// The program of `vm` that is at work decides something now.
    pub(super) fn now(calls: &Calls, vm: &Instance) -> Self {
        Self { op: calls.op(), cpu: calls.this_cpu(), trace: vm.trace() }
    }

    /// `op` has returned on `cpu`, and what it returned is its decision.
    pub(super) fn returned(vm: &Instance, op: Op, cpu: CpuId) -> Self {
        Self { op: Some(op), cpu, trace: vm.exit_trace() }
    }
}

impl ExitState {
    /// What an error that happens now is blamed on.
    pub(super) fn culprit(&self, calls: &Calls, vm: &Instance) -> Culprit {
        match self.blame.filter(|blame| blame.depth == calls.active.len()) {
            Some(Blame { origin: Origin { op, cpu, trace }, .. }) => (op, cpu, vm.locate(&trace)),
            None => (calls.op(), calls.this_cpu(), vm.backtrace()),
        }
    }
}

impl ExitState {
    /// The callback whose decision is being carried out, and the CPU that executed it; `None` if the kernel decides.
    pub(super) fn decided_by(&self, calls: &Calls) -> Option<(&'static str, CpuId)> {
        let blame = self.blame.filter(|blame| blame.depth == calls.active.len());
        let (op, cpu) = blame.map_or_else(|| (calls.op(), calls.this_cpu()), |it| (it.origin.op, it.origin.cpu));
        Some((op?.name(), cpu))
    }
}

impl Ctx<'_> {
    /// Carries out what was decided at `origin`: its errors are that place's.
    pub(super) fn blaming<R>(&mut self, origin: Origin, work: impl FnOnce(&mut Self) -> R) -> R {
        let blame = Blame { origin, depth: self.scx.calls.active.len() };
        let outer = self.scx.exit.blame.replace(blame);
        let result = work(self);
        self.scx.exit.blame = outer;
        result
    }
}
