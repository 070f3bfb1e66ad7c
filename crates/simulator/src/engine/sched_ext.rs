// SPDX-License-Identifier: MIT OR Apache-2.0
//! A loaded sched_ext scheduler: when it comes, and what it costs.

use super::Engine;
use super::hotplug::boot_cpu;
use crate::error::SimulationError;
use crate::options::Bpf;
use crate::scx::frontend::facts::System;
use crate::scx::frontend::scheduler::SchedExt;
use crate::scx::frontend::{self, SchedulerError, Syscall};
use crate::scx::{Ctx, Scx};
use crate::units::CpuId;

impl Engine<'_> {
    /// Loads the scheduler that was asked for; its loader runs on `cpu`. Threads may exist.
    pub(super) fn load_scheduler(&mut self, cpu: CpuId) -> Result<(), SimulationError> {
        let Some(scheduler) = self.loader.scheduler else { return Ok(()) };
        let named = |why| SimulationError::Scheduler { scheduler: scheduler.name.clone(), why: Box::new(why) };
        let loaded = self.load(scheduler, cpu);
        loaded.map_err(|why| self.account.refused().map_or_else(|| named(why), SimulationError::Memory))
    }

    fn load(&mut self, scheduler: &SchedExt, cpu: CpuId) -> Result<(), SchedulerError> {
        let request = scheduler.request(&self.options.kernel, &self.account, self.options.bpf.compiles());
        let kernel = &self.sched.kernel;
        let system = System { kernel, machine: self.machine, governor: self.options.governor };
        let mut loaded = frontend::load_object(scheduler.object.clone(), &request, &system)?;
        if self.options.bpf == Bpf::Profiled {
            loaded.vm.profile();
        }
        let cpu = loaded.init_cpu.unwrap_or(cpu);
        let (check, syscalls, attached) = (loaded.check, loaded.syscalls.clone(), loaded.attached.clone());
        let arena = loaded.arena.clone();
        let counts = !loaded.perf.is_empty();
        self.loader.maps = loaded.task_maps;
        let mut scx = Scx::new(loaded, kernel, self.loader.streams);
        scx.state.shown.wanted = self.details.wanted;
        self.open_counters(counts);
        let mut ctx = scx.with(&mut self.sched.kernel);
        check.map_or(Ok(()), |program| frontend::check::ask(&mut ctx, program, cpu))?;
        ctx.scx_cgroups_new().map_err(SchedulerError::Memory)?;
        if let Some(task_ctx) = arena {
            frontend::arena::setup(&mut ctx, &task_ctx, cpu)?;
        }
        syscalls.iter().try_for_each(|call| run_syscall(&mut ctx, call, cpu))?;
        let introduced = self.loader.introduce(&mut scx, &mut self.sched, &self.threads, &mut self.outcome);
        introduced.map_err(SchedulerError::Memory)?;
        self.sched.scx_enable(Box::new(scx), cpu)?;
        if let Some(scx) = &mut self.sched.ext {
            let mut ctx = scx.with(&mut self.sched.kernel);
            attached.iter().try_for_each(|call| run_syscall(&mut ctx, call, cpu))?;
        }
        self.sched.kernel.counts_anew();
        if let Some(lines) = scheduler.sidecar.as_ref().and_then(|sidecar| sidecar.steering.as_ref()) {
            self.begin_steering(lines);
        }
        self.loader.waits(self.agenda.now());
        Ok(())
    }

    /// Charges the instructions of callbacks to the CPUs that executed them: what runs there goes on so much later, and
    /// what comes to an idle CPU meanwhile begins so much later. (On a CPU without a thread the time costs energy only where
    /// paths of the kernel take time.)
    #[inline]
    pub(super) fn charge_callbacks(&mut self) {
        if self.sched.ext.is_some() {
            self.charge_executed_callbacks();
        }
    }

    #[inline(never)]
    fn charge_executed_callbacks(&mut self) {
        let Some(scx) = &mut self.sched.ext else { return };
        if scx.state.calls.executed.is_empty() {
            return;
        }
        let executed = std::mem::take(&mut scx.state.calls.executed);
        let price = self.options.kernel.bpf_insn_ps;
        for (cpu, instructions) in &executed {
            let cost = instructions.saturating_mul(price) / 1000;
            self.loader.callback_time += cost;
            let running = &mut self.running[*cpu];
            if running.start <= self.agenda.now() {
                // Its caches have long been warm: a thread that comes now does not leave with this cost.
                running.cold = 0;
            }
            if running.task.is_none() && self.sched.kernel.paths.take_time {
                running.idle_kernel += cost;
            }
            self.charge(*cpu, cost);
        }
        // Keep the buffer; charging never adds to it.
        if let Some(scx) = &mut self.sched.ext {
            scx.state.calls.executed = executed;
            scx.state.calls.executed.clear();
        }
    }

    /// A timer of the scheduler is due, or it is loaded again.
    ///
    /// # Errors
    /// The scheduler cannot be loaded again.
    pub(super) fn sched_ext_timer(&mut self) -> Result<(), SimulationError> {
        if self.loader.reloads(self.agenda.now()) {
            return self.reload_scheduler();
        }
        let Some(scx) = &mut self.sched.ext else { return Ok(()) };
        scx.with(&mut self.sched.kernel).serve_timers();
        Ok(())
    }

    /// Loads the scheduler again, as loader programs do that are told to (`UEI_ECODE_RESTART`): anew, with the CPUs that
    /// there are now.
    fn reload_scheduler(&mut self) -> Result<(), SimulationError> {
        self.charge_callbacks();
        if let Some(scx) = self.sched.ext.take() {
            let now = self.sched.kernel.now;
            self.loader.remember(&scx, self.sched.scx_exited.take(), now);
        }
        self.load_scheduler(boot_cpu(&self.sched))
    }
}

/// Does a loader's call of a `syscall` program.
fn run_syscall(ctx: &mut Ctx<'_>, call: &Syscall, cpu: CpuId) -> Result<(), SchedulerError> {
    let failed = |why: String| SchedulerError::Syscall { name: call.name.clone(), why };
    match ctx.run_syscall(call.program, &call.args, cpu) {
        Ok(0) => Ok(()),
        Ok(errno) => Err(failed(format!("it returned {errno}"))),
        Err(fault) => Err(failed(fault.to_string())),
    }
}
