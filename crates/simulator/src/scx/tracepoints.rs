// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs of the object at tracepoints of the scheduler (`SEC("tp_btf/...")`), which its loader attaches.
//!
//! They may read performance counters; the kernel's verifier does not let callbacks of sched_ext do that
//! (`bpf_scx_get_func_proto`). The two tracepoints here are enough to book what each task caused: one says whenever run
//! time is booked, before `stopping` and `tick` hear of it, the other when a CPU changes hands, after `running`.
//!
//! Left out: other tracepoints, and `sched_stat_runtime` where the fair class books run time without a tick or a switch.

use tandem_bpf_vm::instance::{Instance, ProgramId};
use tandem_bpf_vm::object::Object;
use tandem_bpf_vm::open::Needs;

use super::Ctx;
use super::callbacks::Active;
use super::host::ScxHost;
use crate::kernel::task::TaskState;
use crate::units::{CpuId, Nanos, TaskId};

/// A tracepoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tracepoint {
    /// `sched_switch(preempt, prev, next, prev_state)`: `next` takes the CPU from `prev`, which is still current. Idle
    /// tasks are tasks here.
    SchedSwitch,
    /// `sched_stat_runtime(tsk, runtime)`: the current task's run time, ns, is booked.
    SchedStatRuntime,
}

impl Tracepoint {
    /// All tracepoints.
    pub const ALL: [Self; 2] = [Self::SchedSwitch, Self::SchedStatRuntime];

    /// The section that its programs are in.
    pub fn section(self) -> &'static str {
        match self {
            Self::SchedSwitch => "tp_btf/sched_switch",
            Self::SchedStatRuntime => "tp_btf/sched_stat_runtime",
        }
    }
}

/// Programs of one tracepoint, how often they ran, and the instructions they took.
#[derive(Debug, Clone, Default)]
struct Attached {
    programs: Vec<ProgramId>,
    calls: u64,
    instructions: u64,
}

/// The programs of all tracepoints.
#[derive(Debug, Clone, Default)]
pub struct Tracepoints {
    /// By [`Tracepoint`].
    attached: [Attached; 2],
}

impl Tracepoints {
    /// The programs of a loaded object, in its order, but for those that no setting needs. (Optional ones, whose section
    /// begins with `?`, are not loaded.)
    pub fn of(object: &Object, vm: &Instance, needs: &Needs) -> Self {
        let programs = |point: Tracepoint| {
            let here = object.functions.iter().filter(|function| function.section == point.section());
            let wanted = here.filter(|function| !function.optional && !needs.leave_out(&function.name));
            wanted.filter_map(|function| vm.program(&function.name)).collect()
        };
        Self { attached: Tracepoint::ALL.map(|point| Attached { programs: programs(point), ..Attached::default() }) }
    }

    /// How often programs ran at `point`, and the instructions that they executed.
    pub fn ran(&self, point: Tracepoint) -> (u64, u64) {
        let attached = &self.attached[point as usize];
        (attached.calls, attached.instructions)
    }

    #[inline]
    fn has(&self, point: Tracepoint) -> bool {
        !self.attached[point as usize].programs.is_empty()
    }
}

/// `prev_state` of a task that sleeps (`TASK_INTERRUPTIBLE`), and of one that has ended (`TASK_DEAD`).
const SLEEPING: u64 = 0x1;
const DEAD: u64 = 0x80;

impl Ctx<'_> {
    /// `trace_sched_switch` on `cpu`; `None` is its idle task. (`preempt` says that `prev` could go on: the kernel says no
    /// of those that yield, too.)
    pub fn trace_sched_switch(&mut self, cpu: CpuId, prev: Option<TaskId>, next: Option<TaskId>) {
        if !self.scx.tracepoints.has(Tracepoint::SchedSwitch) {
            return;
        }
        let state = prev.map_or(TaskState::Runnable, |prev| self.kernel.task(prev).state);
        let state = match state {
            TaskState::New | TaskState::Runnable => 0,
            TaskState::Blocked => SLEEPING,
            TaskState::Dead => DEAD,
        };
        let address =
            |task: Option<TaskId>| task.map_or_else(|| self.scx.guest.idle_task(cpu), |task| self.scx.guest.task(task));
        let args = [u64::from(prev.is_some() && state == 0), address(prev), address(next), state];
        self.trace(Tracepoint::SchedSwitch, cpu, &args);
    }

    /// `trace_sched_stat_runtime` of the current task of `cpu`.
    #[inline]
    pub fn trace_sched_stat_runtime(&mut self, cpu: CpuId, task: TaskId, runtime: Nanos) {
        if self.scx.tracepoints.has(Tracepoint::SchedStatRuntime) {
            let args = [self.scx.guest.task(task), runtime];
            self.trace(Tracepoint::SchedStatRuntime, cpu, &args);
        }
    }

    fn trace(&mut self, point: Tracepoint, cpu: CpuId, args: &[u64]) {
        for index in 0..self.scx.tracepoints.attached[point as usize].programs.len() {
            let program = self.scx.tracepoints.attached[point as usize].programs[index];
            self.scx.calls.active.push(Active::outside(cpu, true));
            let mut host = ScxHost { scx: &mut *self.scx, kernel: &mut *self.kernel };
            let instructions = match self.vm.run(program, args, &mut host) {
                Ok(outcome) => outcome.instructions,
                Err(fault) => {
                    self.scx_fault(&fault);
                    self.vm.executed()
                }
            };
            self.scx.calls.active.pop();
            let attached = &mut self.scx.tracepoints.attached[point as usize];
            (attached.calls, attached.instructions) = (attached.calls + 1, attached.instructions + instructions);
            if self.scx.calls.active.is_empty() {
                self.scx.calls.charge(cpu, instructions);
            }
        }
    }
}
