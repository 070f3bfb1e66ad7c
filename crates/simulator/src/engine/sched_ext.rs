// SPDX-License-Identifier: MIT OR Apache-2.0
//! A loaded sched_ext scheduler: when it comes, what it costs, what it leaves to the report.

use super::Engine;
use crate::error::SimulationError;
use crate::kernel::ext::guest_pid;
use crate::metrics::{CallbackReport, ExitReport, Frame, RecordedExit, SchedExtReport};
use crate::options::Scheduler;
use crate::scx::abi::GuestTaskInfo;
use crate::scx::exit::{ExitInfo, ExitKind};
use crate::scx::frontend::{self, Request, SchedulerError, exit_record};
use crate::scx::ops::Op;
use crate::scx::{Scx, kfuncs};
use crate::units::{CpuId, TaskId, seconds};

/// Bytes that the programs' memory may grow to, the kernel's objects in it included.
const MEMORY_LIMIT: u64 = 4 << 30;

impl Engine<'_> {
    /// Loads the scheduler that was asked for, before the first thread exists.
    pub(super) fn load_scheduler(&mut self, boot: CpuId) -> Result<(), SimulationError> {
        let Scheduler::SchedExt(scheduler) = &self.options.scheduler else { return Ok(()) };
        let request = Request {
            settings: &scheduler.settings,
            sidecar: scheduler.sidecar.as_ref(),
            profile: scheduler.profile,
            kfuncs: kfuncs::number,
            memory_limit: MEMORY_LIMIT,
            budget: self.options.kernel.bpf_budget,
        };
        let kernel = &self.scheduler.kernel;
        let loaded = frontend::load_object(scheduler.object.clone(), &request, kernel, self.machine)?;
        let cpu = loaded.init_cpu.unwrap_or(boot);
        let mut scx = Scx::new(loaded, kernel, self.options.seed);
        scx.with(&mut self.scheduler.kernel).scx_cgroups_new().map_err(SchedulerError::Memory)?;
        self.scheduler.scx_enable(Box::new(scx), cpu).map_err(SchedulerError::from)?;
        Ok(())
    }

    /// The scheduler hears of a new thread.
    pub(super) fn fork_into_scheduler(&mut self, task: TaskId, cpu: CpuId) {
        if self.scheduler.ext.is_none() {
            return;
        }
        let thread = &self.threads[task.index()];
        let kind = &self.workload.tasks[thread.spec as usize];
        let comm = thread.name(kind);
        let leader = self.leader_of(task);
        let info = GuestTaskInfo {
            pid: guest_pid(task),
            tgid: guest_pid(leader),
            comm: &comm,
            flags: 0,
            cgroup: Some(self.scheduler.kernel.task(task).cgroup),
            start_time: self.now,
        };
        if let Err(errno) = self.scheduler.scx_fork(task, cpu, &info) {
            self.failure.get_or_insert(SimulationError::ForkRefused { thread: comm, errno });
        }
    }

    /// The first thread of a thread's application; system tasks stand for themselves.
    fn leader_of(&self, task: TaskId) -> TaskId {
        let of = |task: TaskId| &self.workload.tasks[self.threads[task.index()].spec as usize];
        let mine = of(task);
        if mine.system {
            return task;
        }
        let mut all = (0..self.threads.len()).map(TaskId::at);
        all.find(|other| !of(*other).system && of(*other).application == mine.application).unwrap_or(task)
    }

    /// Charges the instructions of callbacks to the CPUs that executed them.
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
            self.charge(*cpu, cost);
        }
        // Keep the buffer; charging never adds to it.
        if let Some(scx) = &mut self.scheduler.ext {
            scx.state.calls.executed = executed;
            scx.state.calls.executed.clear();
        }
    }

    /// Sets when a timer of the scheduler, or its watchdog, is next due.
    pub(super) fn time_sched_ext(&mut self) {
        let Some(scx) = &self.scheduler.ext else { return };
        let slot = self.slots.sched_ext();
        match scx.state.timers.next_timer() {
            None => self.queue.cancel(slot),
            next if next == self.queue.time_of(slot) => {}
            Some(time) => self.queue.set(slot, time.max(self.now)),
        }
    }

    /// A timer of the scheduler is due.
    pub(super) fn sched_ext_timer(&mut self) {
        let Some(scx) = &mut self.scheduler.ext else { return };
        scx.with(&mut self.scheduler.kernel).serve_timers();
    }

    /// What the scheduler did; it is unloaded, as its user would at the end.
    pub(super) fn sched_ext_report(&mut self) -> Option<SchedExtReport> {
        let unloaded = self.scheduler.scx_unreg();
        let exit = self.scheduler.scx_exited.take().or(unloaded.filter(|info| info.kind.is_error()));
        let scx = self.scheduler.ext.as_ref()?;
        let recorded = exit_record::read(&scx.vm).map(recorded_report);
        let callbacks = Op::ALL.iter().filter_map(|op| {
            let (calls, instructions) = scx.state.calls.of(*op);
            (calls > 0).then(|| (op.name().to_owned(), CallbackReport { calls, instructions }))
        });
        Some(SchedExtReport {
            name: scx.state.ops.name.clone(),
            kernel: scx.state.profile.to_string(),
            callbacks: callbacks.collect(),
            overhead_s: seconds(self.callback_time),
            exit: exit.map(|exit| exit_report(exit, recorded)),
            output: scx.state.host.printk.iter().map(|(_, line)| line.clone()).collect(),
        })
    }
}

fn recorded_report(record: exit_record::UserExitInfo) -> RecordedExit {
    let kind = ExitKind::ALL.iter().find(|kind| i64::from(kind.value()) == i64::from(record.kind));
    RecordedExit {
        kind: kind.map_or_else(|| record.kind.to_string(), |kind| kind.name().to_owned()),
        code: record.exit_code,
        reason: record.reason,
        message: record.message,
    }
}

fn exit_report(info: ExitInfo, recorded: Option<RecordedExit>) -> ExitReport {
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
        recorded,
    }
}
