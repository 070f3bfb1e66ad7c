// SPDX-License-Identifier: MIT OR Apache-2.0
//! Calling a scheduler's callbacks (`SCX_CALL_OP` and its kin).
//!
//! Which kernel functions a callback may call follows from which callback it is; [`Calls::active`] has what is at work.

use super::abi::Guest;
use super::exit::ExitKind;
use super::host::{ScxHost, UPTIME};
use super::ops::Op;
use super::{Ctx, State};
use crate::kernel::Kernel;
use crate::kernel::pelt::PeltClock;
use crate::observer::detail::Detail;
use crate::units::{CpuId, TaskId};
use tandem_bpf_vm::fault::Fault;
use tandem_bpf_vm::instance::{Outcome, ProgramId};
use tandem_bpf_vm::memory::{Memory, Protection};

/// Callbacks at work, and the instructions they took.
#[derive(Debug)]
pub struct Calls {
    /// Callbacks at work, outermost first; programs of timers count as callbacks without an [`Op`].
    pub active: Vec<Active>,
    /// Instructions executed on each CPU since the engine last charged them.
    pub executed: Vec<(CpuId, u64)>,
    /// The CPU that executes the kernel while no callback is at work.
    kernel_cpu: CpuId,
    /// Address of the task that makes another one now: it is the current one, although engines make tasks at any time.
    pub maker: Option<u64>,
    /// Calls of each callback and their instructions, by [`Op`].
    counts: Vec<(u64, u64)>,
}

/// A callback at work.
#[derive(Debug, Clone, Copy)]
pub struct Active {
    /// Which callback; `None` for timers, and for `syscall` and tracing programs.
    pub op: Option<Op>,
    /// Whether it is a `syscall` or tracing program, to which the kernel offers more helpers than to callbacks and timers.
    pub tracing: bool,
    /// The CPU that executes it.
    pub cpu: CpuId,
    /// The CPU whose run queue is locked around it (`scx_locked_rq`).
    pub locked: Option<CpuId>,
    /// The tasks that are its arguments (`kf_tasks`).
    pub tasks: [Option<TaskId>; 2],
}

impl Active {
    /// A program that is no callback, on `cpu`.
    pub fn outside(cpu: CpuId, tracing: bool) -> Self {
        Self { op: None, tracing, cpu, locked: None, tasks: [None; 2] }
    }
}

impl Default for Calls {
    fn default() -> Self {
        Self {
            active: Vec::new(),
            executed: Vec::new(),
            kernel_cpu: CpuId(0),
            maker: None,
            counts: vec![(0, 0); Op::ALL.len()],
        }
    }
}

impl Calls {
    /// How often `op` was called, and the instructions that it executed, kernel functions' callbacks included.
    pub fn of(&self, op: Op) -> (u64, u64) {
        self.counts[op as usize]
    }

    /// The CPU that executes (`smp_processor_id`): of the callback at work, else as the last hook said. Hooks say it that
    /// happen on the CPU they are about; before others, for instance a wakeup from another CPU, the caller does, by
    /// [`Calls::set_this_cpu`].
    #[inline]
    pub fn this_cpu(&self) -> CpuId {
        self.active.last().map_or(self.kernel_cpu, |active| active.cpu)
    }

    /// The callback at work, if one is.
    pub fn op(&self) -> Option<Op> {
        self.active.last().and_then(|active| active.op)
    }

    /// From now on `cpu` executes the kernel.
    #[inline]
    pub fn set_this_cpu(&mut self, cpu: CpuId) {
        self.kernel_cpu = cpu;
    }

    fn count(&mut self, op: Op, instructions: u64) {
        let (calls, executed) = &mut self.counts[op as usize];
        (*calls, *executed) = (*calls + 1, *executed + instructions);
    }

    /// Notes instructions that a program executed on `cpu`; those of programs inside it are part of them.
    pub fn charge(&mut self, cpu: CpuId, instructions: u64) {
        match self.executed.last_mut() {
            Some((last, executed)) if *last == cpu => *executed += instructions,
            _ => self.executed.push((cpu, instructions)),
        }
    }
}

impl State {
    /// Address of what is current on `cpu` for programs: the task that makes another one, or what runs there.
    #[inline]
    pub(super) fn current(&self, kernel: &Kernel, cpu: CpuId) -> u64 {
        self.calls.maker.unwrap_or_else(|| self.guest.curr(kernel, cpu))
    }
}

impl Ctx<'_> {
    /// `SCX_CALL_OP`, `SCX_CALL_OP_2TASKS_RET`: calls `op` on `cpu` with these arguments; `None` if the scheduler does
    /// not have it. A program that is stopped is an error of the scheduler, and returns 0.
    ///
    /// `locked` and `tasks` say what its kernel functions may do; see [`Active`].
    pub fn call_op(
        &mut self,
        op: Op,
        cpu: CpuId,
        locked: Option<CpuId>,
        tasks: [Option<TaskId>; 2],
        args: &[u64],
    ) -> Option<i64> {
        let program = self.scx.ops.program(op)?;
        if let Some(locked) = locked {
            self.kernel.update_rq_clock(locked);
            mirror_rq_clock(&self.scx.guest, &mut self.vm.memory, self.kernel, locked);
        }
        if !self.kernel.pressed.is_empty() {
            mirror_pressure(&self.scx.guest, &mut self.vm.memory, self.kernel);
        }
        self.scx.calls.active.push(Active { op: Some(op), tracing: false, cpu, locked, tasks });
        // The kernel disables migration of the current task around a callback (`__bpf_prog_enter`), which programs see.
        let current = self.scx.current(self.kernel, cpu);
        self.scx.guest.add_migration_disabled(&mut self.vm.memory, current, 1);
        let mut host = ScxHost { scx: &mut *self.scx, kernel: &mut *self.kernel };
        let outcome = self.vm.run(program, args, &mut host);
        self.scx.guest.add_migration_disabled(&mut self.vm.memory, current, -1);
        let outcome = outcome.unwrap_or_else(|fault| {
            self.scx_fault(&fault);
            Outcome { value: 0, instructions: self.vm.executed() }
        });
        self.scx.calls.active.pop();
        self.scx.calls.count(op, outcome.instructions);
        let (result, instructions) = (outcome.value as i64, outcome.instructions);
        self.scx.shown.add(|| Detail::Callback { name: op.name(), cpu, task: tasks[0], result, instructions });
        if self.scx.calls.active.is_empty() {
            self.scx.calls.charge(cpu, outcome.instructions);
            self.kernel.takes_instructions(outcome.instructions);
        }
        Some(outcome.value as i64)
    }

    /// Runs a `syscall` program on `cpu` for user space (`bpf_prog_test_run_syscall`), with the structure `args`, and
    /// returns what it does. Its instructions are charged to no CPU.
    ///
    /// # Errors
    /// The program was stopped, or there is no memory left for its arguments.
    pub fn run_syscall(&mut self, program: ProgramId, args: &[u8], cpu: CpuId) -> Result<i32, Fault> {
        let size = args.len().max(1) as u64;
        let address = self.vm.memory.alloc(size, Protection::ReadWrite)?;
        self.vm.memory.host_write(address, args.len() as u64)?.copy_from_slice(args);
        self.scx.calls.active.push(Active::outside(cpu, true));
        let mut host = ScxHost { scx: &mut *self.scx, kernel: &mut *self.kernel };
        let outcome = self.vm.run_raw(program, [address, 0, 0, 0, 0], &mut host);
        self.scx.calls.active.pop();
        self.vm.memory.free(address)?;
        Ok(outcome?.value as i32)
    }

    /// `SCX_CALL_OP_TASK`: calls `op` for `task`, whose run queue is locked, with `rest` behind it as arguments.
    pub fn call_op_task(&mut self, op: Op, task: TaskId, rest: &[u64]) -> Option<i64> {
        if !self.scx.ops.has(op) {
            return None;
        }
        let mut args = [self.scx.guest.task(task), 0, 0];
        args[1..=rest.len()].copy_from_slice(rest);
        let (cpu, locked) = (self.scx.calls.this_cpu(), self.kernel.task(task).cpu);
        self.call_op(op, cpu, Some(locked), [Some(task), None], &args[..=rest.len()])
    }

    /// `ops_cpu_valid`: a CPU number that came from the scheduler, which may be any; out of range it is an error, to
    /// whose message `place` is added.
    pub fn ops_cpu_valid(&mut self, cpu: i32, place: Option<&str>) -> Option<CpuId> {
        if let Ok(index) = usize::try_from(cpu)
            && index < self.kernel.topology.nr_cpus
        {
            return Some(CpuId::at(index));
        }
        let place = place.map(|place| format!(" {place}")).unwrap_or_default();
        self.ops_error(format!("invalid CPU {cpu}{place}"));
        None
    }

    /// `scx_ops_error`: the scheduler misused the kernel's interface.
    pub(super) fn ops_error(&mut self, message: String) {
        self.scx_ops_exit_kind(ExitKind::Error, 0, message);
    }
}

/// Lets programs read the clocks of a run queue that is about to be locked. Those of others are as old as their last
/// callback: the kernel's are not much younger, as nothing updates the clock of a CPU whose tick has stopped.
fn mirror_rq_clock(guest: &Guest, memory: &mut Memory, kernel: &Kernel, cpu: CpuId) {
    let rq = kernel.rq(cpu);
    let mut clock = rq.clock;
    clock.update(rq.clock_ahead, u64::from(rq.capacity_orig), u64::from(rq.freq_scale), rq.curr.is_none());
    let PeltClock { pelt, task, lost_idle } = clock;
    guest.set_rq_clock(memory, cpu, UPTIME + task, UPTIME + pelt, lost_idle);
}

/// Lets programs read what takes time and capacity of CPUs, as far as it has changed.
#[cold]
fn mirror_pressure(guest: &Guest, memory: &mut Memory, kernel: &mut Kernel) {
    kernel.show_pressed(|cpu, rq| guest.set_pressure(memory, cpu, rq, UPTIME));
}
