// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tracing programs of a scheduler's object, which its loader attaches: those of `tp_btf/sched_stat_runtime`.
//!
//! The kernel announces there what a task has just run (`update_curr_task`), on the CPU that the task runs on: at each tick,
//! and before it leaves, ahead of `ops.stopping`. Schedulers read performance counters at this point, which callbacks may not.
//! Left out: every other tracepoint and probe. A scheduler that learns something from those (futexes, for instance) behaves
//! here as if it never happened.

use super::Ctx;
use super::callbacks::Active;
use super::host::ScxHost;
use crate::units::{CpuId, Nanos, TaskId};
use tandem_bpf_vm::instance::{Instance, Outcome, ProgramId};

/// The tracepoint that is modelled.
pub const TRACEPOINT: &str = "sched_stat_runtime";

/// Tracing programs, and what they took.
#[derive(Debug, Default)]
pub struct Tracing {
    stat_runtime: Vec<ProgramId>,
    calls: u64,
    instructions: u64,
}

impl Tracing {
    /// The programs of an object that loaders attach by themselves.
    pub fn of(vm: &Instance) -> Self {
        let ours = |section: &str| section.strip_prefix("tp_btf/") == Some(TRACEPOINT);
        let functions = vm.object().functions.iter().filter(|function| ours(&function.section));
        let stat_runtime = functions.filter_map(|function| vm.program(&function.name)).collect();
        Self { stat_runtime, ..Self::default() }
    }

    /// How often programs were called, and the instructions that they executed.
    pub fn counts(&self) -> (u64, u64) {
        (self.calls, self.instructions)
    }
}

impl Ctx<'_> {
    /// `trace_sched_stat_runtime`: `task`, which runs on `cpu`, has run for another `delta`.
    pub fn trace_sched_stat_runtime(&mut self, cpu: CpuId, task: TaskId, delta: Nanos) {
        for at in 0..self.scx.tracing.stat_runtime.len() {
            let program = self.scx.tracing.stat_runtime[at];
            let args = [self.scx.guest.task(task), delta];
            self.scx.calls.active.push(Active { op: None, cpu, locked: Some(cpu), tasks: [None; 2] });
            let mut host = ScxHost { scx: &mut *self.scx, kernel: &mut *self.kernel };
            let outcome = self.vm.run(program, &args, &mut host);
            let outcome = outcome.unwrap_or_else(|fault| {
                self.scx_fault(&fault);
                Outcome { value: 0, instructions: self.vm.executed() }
            });
            self.scx.calls.active.pop();
            self.scx.tracing.calls += 1;
            self.scx.tracing.instructions += outcome.instructions;
            if self.scx.calls.active.is_empty() {
                self.scx.calls.charge(cpu, outcome.instructions);
            }
        }
    }
}
