// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where a scheduler decided what is found out to be wrong only later: after its callback has returned, or outside of any.
//!
//! A kernel's backtrace then shows the kernel's own functions, and a person has to guess. Here each dispatch remembers the
//! place that made it.

use tandem_bpf_vm::fault::Location;
use tandem_bpf_vm::interp::Trace;

use super::Ctx;
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

/// Whose error something is: the callback, the CPU, the place in the programs.
pub(super) type Culprit = (Option<Op>, CpuId, Vec<Location>);

/// A decision that is being carried out.
#[derive(Debug, Clone, Copy)]
pub struct Blame {
    origin: Origin,
    /// Callbacks at work around it: those inside it answer for themselves.
    depth: usize,
}

impl Ctx<'_> {
    /// The program at work decides something now.
    pub(super) fn origin(&self) -> Origin {
        let op = self.scx.calls.active.last().and_then(|active| active.op);
        Origin { op, cpu: self.scx.calls.this_cpu(), trace: self.vm.trace() }
    }

    /// `op` has returned on `cpu`, and what it returned is its decision.
    pub(super) fn returned(&self, op: Op, cpu: CpuId) -> Origin {
        Origin { op: Some(op), cpu, trace: self.vm.exit_trace() }
    }

    /// Carries out what was decided at `origin`: its errors are that place's.
    pub(super) fn blaming<R>(&mut self, origin: Origin, work: impl FnOnce(&mut Self) -> R) -> R {
        let blame = Blame { origin, depth: self.scx.calls.active.len() };
        let outer = self.scx.exit.blame.replace(blame);
        let result = work(self);
        self.scx.exit.blame = outer;
        result
    }

    /// Whose error it is that happens now.
    pub(super) fn culprit(&self) -> Culprit {
        let depth = self.scx.calls.active.len();
        match self.scx.exit.blame.filter(|blame| blame.depth == depth) {
            Some(Blame { origin: Origin { op, cpu, trace }, .. }) => (op, cpu, self.vm.locate(&trace)),
            None => {
                let op = self.scx.calls.active.last().and_then(|active| active.op);
                (op, self.scx.calls.this_cpu(), self.vm.backtrace())
            }
        }
    }
}
