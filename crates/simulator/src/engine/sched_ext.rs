// SPDX-License-Identifier: MIT OR Apache-2.0
//! A loaded sched_ext scheduler: when it comes, what it costs, what it leaves to the report.

use std::collections::BTreeMap;

use tandem_bpf_vm::instance::Instance;
use tandem_loader::statistics::{self, Counters, Statistics};

use super::Engine;
use crate::error::SimulationError;
use crate::kernel::task::TaskState;
use crate::metrics::{CallbackReport, ExitReport, Frame, RecordedExit, SchedExtReport};
use crate::options::Scheduler;
use crate::scx::exit::{ExitInfo, ExitKind};
use crate::scx::frontend::facts::System;
use crate::scx::frontend::scheduler::SchedExt;
use crate::scx::frontend::tasks::TaskMaps;
use crate::scx::frontend::{self, SchedulerError, Syscall, exit_record};
use crate::scx::ops::Op;
use crate::scx::tracepoints::Tracepoint;
use crate::scx::{Ctx, Scx};
use crate::units::{CpuId, Nanos, SEC, TaskId, seconds};

/// How often a loader program looks whether its scheduler has gone: it sleeps for so long in between.
const LOADER_PERIOD: Nanos = SEC;

/// What is known of a loaded scheduler beside what is loaded now.
#[derive(Debug, Default)]
pub(super) struct Loader {
    /// When its loader program began to wait for its end.
    waits_since: Nanos,
    /// When it will be loaded again.
    reload: Option<Nanos>,
    /// Exits after which it was loaded again.
    restarts: Vec<ExitReport>,
    /// Callbacks before that.
    callbacks: BTreeMap<String, CallbackReport>,
    /// What it counted before that.
    statistics: Counters,
    /// What it printed before that.
    output: Vec<String>,
    /// Maps of the loaded object that are to be filled for tasks.
    maps: TaskMaps,
}

impl Engine<'_> {
    /// Loads the scheduler that was asked for; its loader runs on `cpu`. Threads may exist.
    pub(super) fn load_scheduler(&mut self, cpu: CpuId) -> Result<(), SimulationError> {
        let Scheduler::SchedExt(scheduler) = &self.options.scheduler else { return Ok(()) };
        let named = |why| SimulationError::Scheduler { scheduler: scheduler.name.clone(), why: Box::new(why) };
        self.load(scheduler, cpu).map_err(named)
    }

    fn load(&mut self, scheduler: &SchedExt, cpu: CpuId) -> Result<(), SchedulerError> {
        let request = scheduler.request(self.options.kernel.bpf_budget);
        let kernel = &self.scheduler.kernel;
        let system = System { kernel, machine: self.machine, governor: self.options.governor };
        let loaded = frontend::load_object(scheduler.object.clone(), &request, &system)?;
        let cpu = loaded.init_cpu.unwrap_or(cpu);
        let (check, syscalls, attached) = (loaded.check, loaded.syscalls.clone(), loaded.attached.clone());
        let arena = loaded.arena.clone();
        let counts = !loaded.perf.is_empty();
        self.loader.maps = loaded.task_maps;
        let mut scx = Scx::new(loaded, kernel, self.options.seed);
        self.open_counters(counts);
        let mut ctx = scx.with(&mut self.scheduler.kernel);
        check.map_or(Ok(()), |program| frontend::check::ask(&mut ctx, program, cpu))?;
        ctx.scx_cgroups_new().map_err(SchedulerError::Memory)?;
        if let Some(task_ctx) = arena {
            frontend::arena::setup(&mut ctx, &task_ctx, cpu)?;
        }
        syscalls.iter().try_for_each(|call| run_syscall(&mut ctx, call, cpu))?;
        self.threads_for_scheduler(&mut scx);
        self.scheduler.scx_enable(Box::new(scx), cpu)?;
        if let Some(scx) = &mut self.scheduler.ext {
            let mut ctx = scx.with(&mut self.scheduler.kernel);
            attached.iter().try_for_each(|call| run_syscall(&mut ctx, call, cpu))?;
        }
        self.loader.waits_since = self.now;
        Ok(())
    }

    /// Makes the objects of all threads that exist.
    fn threads_for_scheduler(&mut self, scx: &mut Scx) {
        let maps = self.loader.maps;
        for task in (0..self.threads.len()).map(TaskId::at) {
            if self.scheduler.kernel.task(task).state != TaskState::Dead {
                let comm = self.name_of(task);
                let info = self.guest_info(task, &comm);
                scx.with(&mut self.scheduler.kernel).scx_task_new(task, &info);
                self.enter_in_maps(scx, &maps, task);
            }
        }
    }

    /// The scheduler hears of a new thread.
    pub(super) fn fork_into_scheduler(&mut self, task: TaskId, cpu: CpuId) {
        self.join_process(task);
        if !self.scheduler.kernel.scx_enabled() {
            return;
        }
        if let Some(mut scx) = self.scheduler.ext.take() {
            let maps = self.loader.maps;
            self.enter_in_maps(&mut scx, &maps, task);
            self.scheduler.ext = Some(scx);
        }
        let comm = self.name_of(task);
        let info = self.guest_info(task, &comm);
        if let Err(errno) = self.scheduler.scx_fork(task, cpu, &info) {
            self.failure.get_or_insert(SimulationError::ForkRefused { thread: comm, errno });
        }
    }

    /// Charges the instructions of callbacks to the CPUs that executed them: what runs there goes on so much later, and
    /// what comes to an idle CPU meanwhile begins so much later. (On a CPU without a thread the time costs no energy.)
    pub(super) fn charge_callbacks(&mut self) {
        let Some(scx) = &mut self.scheduler.ext else { return };
        if scx.state.calls.executed.is_empty() {
            return;
        }
        let executed = std::mem::take(&mut scx.state.calls.executed);
        let price = self.options.kernel.bpf_insn_ps;
        for (cpu, instructions) in &executed {
            let cost = instructions.saturating_mul(price) / 1000;
            self.callback_time += cost;
            let running = &mut self.running[cpu.index()];
            if running.start <= self.now {
                // Its caches have long been warm: whoever comes now does not leave with what this costs.
                running.cold = 0;
            }
            self.charge(*cpu, cost);
        }
        // Keep the buffer; charging never adds to it.
        if let Some(scx) = &mut self.scheduler.ext {
            scx.state.calls.executed = executed;
            scx.state.calls.executed.clear();
        }
    }

    /// Sets when a timer of the scheduler, or its watchdog, is next due; or when it will be loaded again, once it has gone.
    pub(super) fn time_sched_ext(&mut self) {
        let Some(scx) = &mut self.scheduler.ext else { return };
        for (cpu, time) in scx.state.timers.armed_on.drain(..) {
            self.pauses.timer_set(cpu, self.now, time);
        }
        let slot = self.slots.sched_ext();
        if self.loader.reload.is_none()
            && let Some(info) = self.scheduler.scx_exited.as_ref().filter(|info| info.wants_restart())
        {
            // The loader looks at whole periods after it began to wait.
            let periods = (info.at - self.loader.waits_since) / LOADER_PERIOD + 1;
            self.loader.reload = Some(self.loader.waits_since + periods * LOADER_PERIOD);
        }
        match self.loader.reload.or(scx.state.timers.next_timer()) {
            None => self.queue.cancel(slot),
            next if next == self.queue.time_of(slot) => {}
            Some(time) => self.queue.set(slot, time.max(self.now)),
        }
    }

    /// A timer of the scheduler is due, or it is loaded again.
    ///
    /// # Errors
    /// It cannot be loaded again.
    pub(super) fn sched_ext_timer(&mut self) -> Result<(), SimulationError> {
        if self.loader.reload.take_if(|time| *time <= self.now).is_some() {
            return self.reload_scheduler();
        }
        let Some(scx) = &mut self.scheduler.ext else { return Ok(()) };
        scx.with(&mut self.scheduler.kernel).serve_timers();
        Ok(())
    }

    /// Loads the scheduler again, as loader programs do that are told to (`UEI_ECODE_RESTART`): anew, with the CPUs that
    /// there are now.
    fn reload_scheduler(&mut self) -> Result<(), SimulationError> {
        self.charge_callbacks();
        if let Some(scx) = self.scheduler.ext.take() {
            let exited = self.scheduler.scx_exited.take();
            self.loader.restarts.extend(exited.map(|info| exit_report(info, &scx)));
            self.loader.callbacks = self.callbacks_so_far(&scx);
            self.loader.statistics = self.statistics_so_far(&scx);
            self.loader.output.extend(scx.state.host.printk.iter().map(|(_, line)| line.clone()));
        }
        let cpu = self.scheduler.kernel.topology.online.first().unwrap_or(CpuId(0));
        self.load_scheduler(cpu)
    }

    /// Callbacks of `scx` and its programs at tracepoints, and those before it was loaded again.
    fn callbacks_so_far(&self, scx: &Scx) -> BTreeMap<String, CallbackReport> {
        let mut all = self.loader.callbacks.clone();
        let callbacks = Op::ALL.iter().map(|op| (op.name(), scx.state.calls.of(*op)));
        let traced = Tracepoint::ALL.map(|point| (point.section(), scx.state.tracepoints.ran(point)));
        for (name, (calls, instructions)) in callbacks.chain(traced).filter(|(_, (calls, _))| *calls > 0) {
            let report = all.entry(name.to_owned()).or_insert(CallbackReport { calls: 0, instructions: 0 });
            (report.calls, report.instructions) = (report.calls + calls, report.instructions + instructions);
        }
        all
    }

    /// What `scx` counted, and what was counted before it was loaded again.
    fn statistics_so_far(&self, scx: &Scx) -> Counters {
        let mut all = self.loader.statistics.clone();
        statistics::add(&mut all, self.statistics().map_or_else(Vec::new, |wanted| wanted.counters(&scx.vm)));
        all
    }

    /// Where the scheduler keeps them.
    fn statistics(&self) -> Option<&Statistics> {
        let Scheduler::SchedExt(scheduler) = &self.options.scheduler else { return None };
        scheduler.sidecar.as_ref().map(|sidecar| &sidecar.statistics)
    }

    /// What the scheduler did; it is unloaded, as its user would at the end.
    pub(super) fn sched_ext_report(&mut self) -> Option<SchedExtReport> {
        let unloaded = self.scheduler.scx_unreg();
        let exit = self.scheduler.scx_exited.take().or(unloaded.filter(|info| info.kind.is_error()));
        let scx = self.scheduler.ext.as_ref()?;
        let mut output = std::mem::take(&mut self.loader.output);
        output.extend(scx.state.host.printk.iter().map(|(_, line)| line.clone()).chain(missing_pages(&scx.vm)));
        Some(SchedExtReport {
            name: scx.state.ops.name.clone(),
            kernel: scx.state.profile.to_string(),
            callbacks: self.callbacks_so_far(scx),
            overhead_s: seconds(self.callback_time),
            statistics: self.statistics_so_far(scx),
            states: self.statistics().map_or_else(Vec::new, |wanted| wanted.states(&scx.vm)),
            restarts: std::mem::take(&mut self.loader.restarts),
            exit: exit.map(|exit| exit_report(exit, scx)),
            output,
        })
    }
}

/// What a newer kernel writes to a scheduler's error stream, in one line: it has accessed pages that its arena does not have.
fn missing_pages(vm: &Instance) -> Option<String> {
    let (count, first) = vm.missing_pages();
    let first = first?;
    let place = first.backtrace().first().map(|place| format!(" in {place}")).unwrap_or_default();
    Some(format!("{first}{place}; {count} such accesses in all"))
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

/// What the object recorded of its end.
fn recorded(scx: &Scx) -> Option<RecordedExit> {
    let record = exit_record::read(&scx.vm)?;
    let kind = ExitKind::ALL.iter().find(|kind| i64::from(kind.value()) == i64::from(record.kind));
    Some(RecordedExit {
        kind: kind.map_or_else(|| record.kind.to_string(), |kind| kind.name().to_owned()),
        code: record.exit_code,
        reason: record.reason,
        message: record.message,
    })
}

fn exit_report(info: ExitInfo, scx: &Scx) -> ExitReport {
    let frame = |place: tandem_bpf_vm::fault::Location| Frame {
        function: place.function,
        file: place.file,
        line: place.line,
        column: place.column,
        text: place.text,
    };
    ExitReport {
        at_s: seconds(info.at),
        kind: info.kind.name().to_owned(),
        code: info.exit_code,
        reason: info.reason.to_owned(),
        message: info.message,
        callback: info.op.map(|op| op.name().to_owned()),
        cpu: info.cpu.0,
        backtrace: info.backtrace.into_iter().map(frame).collect(),
        dump: info.dump,
        recorded: recorded(scx),
    }
}
