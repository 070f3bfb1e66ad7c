// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel's own code takes time: of the CPU that executes it.
//!
//! What the kernel's model notes in [`crate::kernel::paths`] is paid here: a thread that runs there goes on so much later, and what
//! comes to an idle CPU meanwhile begins so much later. See docs/models.md, "Paths of the kernel".

use super::Engine;
use crate::kernel::params::KernelParameters;
use crate::kernel::paths::{INTERRUPT_LINES, Path, SCHEDULE, WAKE_UP};
use crate::machine::Machine;
use crate::units::{CpuId, Nanos, TaskId};

/// How long instructions of the kernel take on each CPU.
pub(super) struct Pace {
    /// Per CPU: kHz times nanoseconds for an instruction.
    per_insn: Vec<f64>,
    /// What the machine's `context_switch_us` has of waking a thread up, which the CPU that wakes pays.
    pub wake_up: Nanos,
}

/// Whether the kernel's paths take time on `machine`: not on one whose switches take none.
pub(super) fn take_time(machine: &Machine, kernel: &KernelParameters) -> bool {
    kernel.path_costs && machine.costs.context_switch > 0
}

impl Pace {
    /// That of `machine`, whose fastest core executes `kernel_ipc` instructions of the kernel per cycle.
    pub fn new(machine: &Machine, kernel: &KernelParameters) -> Self {
        let reference = machine.core_type(machine.reference.cpu).ipc;
        let per_insn = |cpu: usize| 1e6 / (kernel.kernel_ipc * machine.core_type(CpuId::at(cpu)).ipc / reference);
        let khz = machine.reference.khz_ipc / reference;
        let wake_up = (f64::from(WAKE_UP) * 1e6 / (kernel.kernel_ipc * khz)) as Nanos;
        Self {
            per_insn: (0..machine.cpus.len()).map(per_insn).collect(),
            wake_up: wake_up.min(machine.costs.context_switch),
        }
    }

    /// So many instructions on `cpu`, clocked with `khz`.
    #[inline]
    pub fn time(&self, cpu: CpuId, khz: u32, instructions: u32) -> Nanos {
        (f64::from(instructions) * self.per_insn[cpu.index()] / f64::from(khz)) as Nanos
    }
}

impl Engine<'_> {
    /// CPUs pay for what they have executed for the kernel.
    #[inline]
    pub(super) fn charge_paths(&mut self) {
        if !self.sched.kernel.paths.executed.is_empty() {
            self.charge_executed();
        }
    }

    #[inline(never)]
    fn charge_executed(&mut self) {
        let mut executed = std::mem::take(&mut self.sched.kernel.paths.executed);
        // What a CPU does in one go is paid in one go, unless something asks meanwhile how late it is.
        let mut bill = None;
        for (cpu, path) in executed.iter().copied() {
            match path {
                Path::Instructions(instructions) => self.owe(&mut bill, cpu, self.kernel_time(cpu, instructions)),
                Path::Stall(time) => self.owe(&mut bill, cpu, time),
                Path::Lines(other, lines) => {
                    let time = self.machine.line_transfer(other, cpu) * Nanos::from(lines);
                    self.owe(&mut bill, cpu, time);
                }
                Path::Interrupts(other, instructions) => {
                    self.pay(&mut bill);
                    self.interrupts(cpu, other, instructions);
                }
                Path::Locked(lock, instructions) => {
                    self.pay(&mut bill);
                    let hold = self.kernel_time(cpu, instructions);
                    let at = self.running[cpu].start.max(self.agenda.now());
                    let line = |last| self.machine.line_transfer(last, cpu);
                    let taken = self.locks.take(lock, cpu, (self.agenda.now(), at), hold, line);
                    self.charge_kernel(cpu, taken);
                }
            }
        }
        self.pay(&mut bill);
        executed.clear();
        // Keep the buffer; paying never adds to it.
        self.sched.kernel.paths.executed = executed;
    }

    /// `cpu` is to pay `cost`, after whatever another CPU owes.
    fn owe(&mut self, bill: &mut Option<(CpuId, Nanos)>, cpu: CpuId, cost: Nanos) {
        match bill {
            Some((same, sum)) if *same == cpu => *sum += cost,
            _ => {
                self.pay(bill);
                *bill = Some((cpu, cost));
            }
        }
    }

    fn pay(&mut self, bill: &mut Option<(CpuId, Nanos)>) {
        if let Some((cpu, cost)) = bill.take() {
            self.charge_kernel(cpu, cost);
        }
    }

    fn kernel_time(&self, cpu: CpuId, instructions: u32) -> Nanos {
        self.kernel_pace.time(cpu, self.hardware.khz(cpu), instructions)
    }

    /// `cpu` has sent an interrupt to `other`, which receives it when what the sender did before is done. A thread that runs there
    /// is held up by receiving it; an idle CPU begins then.
    fn interrupts(&mut self, cpu: CpuId, other: CpuId, instructions: u32) {
        if self.running[other].task.is_none() {
            let sent = self.running[cpu].start;
            let running = &mut self.running[other];
            running.called_at = sent;
            running.start = running.start.max(sent);
        }
        let line = self.machine.line_transfer(cpu, other) * Nanos::from(INTERRUPT_LINES);
        self.charge_kernel(other, self.kernel_time(other, instructions) + line);
    }

    /// What is left of `switch`, what `task` loses for getting `cpu`, after whatever woke it has paid for that. The same thread as
    /// before must be switched to as well, from the idle thread.
    pub(super) fn switch_without_wake_up(&self, cpu: CpuId, task: TaskId, switch: Nanos) -> Nanos {
        let woken = self.threads[task].woken_at.is_some();
        match switch {
            0 => self.kernel_time(cpu, SCHEDULE),
            _ if woken => switch - self.kernel_pace.wake_up,
            _ => switch,
        }
    }

    fn charge_kernel(&mut self, cpu: CpuId, cost: Nanos) {
        let running = &mut self.running[cpu];
        if running.start <= self.agenda.now() {
            // Its caches have long been warm: a thread that comes now does not leave with this cost.
            running.cold = 0;
        }
        if running.task.is_none() {
            running.idle_kernel += cost;
        }
        self.charge(cpu, cost);
    }

    /// What `cpu` executed for the kernel while it counted as idle draws what running does.
    pub(super) fn pay_idle_kernel(&mut self, cpu: CpuId) {
        let running = &mut self.running[cpu];
        let spent = std::mem::take(&mut running.idle_kernel);
        if spent > 0 {
            let left = running.start.saturating_sub(self.agenda.now());
            self.hardware.has_run(cpu, spent.saturating_sub(left));
        }
    }
}
