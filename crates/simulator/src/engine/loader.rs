// SPDX-License-Identifier: MIT OR Apache-2.0
//! The program that loads a sched_ext scheduler: what it tells the scheduler of threads, when it loads the scheduler again,
//! and what it says at the end.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use tandem_bpf_vm::fault::{FaultKind, Location};
use tandem_bpf_vm::instance::Instance;

use super::agenda::Agenda;
use super::events::Event;
use super::outcome::Outcome;
use super::pauses::Pauses;
use super::threads::Threads;
use crate::error::SimulationError;
use crate::kernel::task::TaskState;
use crate::metrics::{CallbackReport, ExitReport, FinalValue, Frame, LineReport, RecordedExit, SchedExtReport};
use crate::options::{Options, Scheduler};
use crate::sched::core::Sched;
use crate::scx::Scx;
use crate::scx::exit::{ExitInfo, ExitKind};
use crate::scx::frontend::exit_record;
use crate::scx::frontend::scheduler::SchedExt;
use crate::scx::frontend::tasks::TaskMaps;
use crate::scx::limits::LimitStat;
use crate::scx::ops::Op;
use crate::scx::tasks::ForkError;
use crate::scx::tracepoints::Tracepoint;
use crate::streams::Streams;
use crate::units::{CgroupId, CpuId, Nanos, SEC, TaskId, seconds};
use tandem_loader::statistics::{self, Counters, Statistics};

/// How often a loader program looks whether its scheduler has gone: it sleeps for so long in between.
const PERIOD: Nanos = SEC;

/// A scheduler's loader, and what it remembers of a scheduler that it has loaded again since.
#[derive(Debug)]
pub(super) struct Loader<'r> {
    /// The scheduler that was asked for; `None`: Linux's own.
    pub scheduler: Option<&'r SchedExt>,
    /// The random streams of the run.
    pub streams: Streams,
    /// When the loader began to wait for the scheduler's end.
    waits_since: Nanos,
    /// When it will load the scheduler again.
    reload: Option<Nanos>,
    /// Exits after which the scheduler was loaded again.
    restarts: Vec<ExitReport>,
    /// Callbacks before that.
    callbacks: BTreeMap<String, CallbackReport>,
    /// What the scheduler counted before that.
    statistics: Counters,
    /// What became of limits of groups before that.
    limits: BTreeMap<CgroupId, LimitStat>,
    /// What it executed of each line before that.
    lines: Vec<LineReport>,
    /// What it printed before that.
    output: Vec<String>,
    /// Maps of the loaded object that are to be filled for tasks.
    pub maps: TaskMaps,
    /// Time that the scheduler's callbacks took on all CPUs.
    pub callback_time: Nanos,
}

/// What became of limits of groups under a loaded scheduler.
pub(super) struct LoadedLimits {
    /// The scheduler says which threads wait for their group's limit.
    pub told: bool,
    /// By group.
    pub stats: BTreeMap<CgroupId, LimitStat>,
}

impl<'r> Loader<'r> {
    /// The loader of the scheduler that `options` asks for, which is not loaded yet.
    pub fn new(options: &'r Options, streams: Streams) -> Self {
        let scheduler = match &options.scheduler {
            Scheduler::SchedExt(scheduler) => Some(&**scheduler),
            Scheduler::Fair => None,
        };
        Self {
            scheduler,
            streams,
            waits_since: 0,
            reload: None,
            restarts: Vec::new(),
            callbacks: BTreeMap::new(),
            statistics: Counters::default(),
            limits: BTreeMap::new(),
            lines: Vec::new(),
            output: Vec::new(),
            maps: TaskMaps::default(),
            callback_time: 0,
        }
    }

    /// The scheduler is in charge: the loader waits for its end from `now` on.
    pub fn waits(&mut self, now: Nanos) {
        self.waits_since = now;
    }

    /// Whether the scheduler is to be loaded again at `now`; asked once, it is.
    pub fn reloads(&mut self, now: Nanos) -> bool {
        self.reload.take_if(|time| *time <= now).is_some()
    }

    /// Makes the objects of all threads that exist.
    ///
    /// # Errors
    /// They do not fit into the simulated kernel's memory.
    pub fn introduce(
        &self,
        scx: &mut Scx,
        sched: &mut Sched,
        threads: &Threads<'_>,
        outcome: &mut Outcome,
    ) -> Result<(), FaultKind> {
        for task in threads.ids() {
            if sched.kernel.task(task).state == TaskState::Dead {
                continue;
            }
            let comm = threads[task].name();
            let info = threads.guest_info(task, &sched.kernel, &comm);
            scx.with(&mut sched.kernel).scx_task_new(task, &info)?;
            self.enter_in_maps(scx, threads, task, outcome);
        }
        Ok(())
    }

    /// The scheduler hears of a new thread that begins on `cpu`.
    pub fn fork(&self, sched: &mut Sched, threads: &Threads<'_>, task: TaskId, cpu: CpuId, outcome: &mut Outcome) {
        if !sched.kernel.scx_enabled() {
            return;
        }
        if let Some(scx) = &mut sched.ext {
            self.enter_in_maps(scx, threads, task, outcome);
        }
        let comm = threads[task].name();
        let info = threads.guest_info(task, &sched.kernel, &comm);
        match sched.scx_fork(task, cpu, &info) {
            Ok(()) => {}
            Err(ForkError::Refused(errno)) => outcome.fail(SimulationError::ForkRefused { thread: comm, errno }),
            Err(ForkError::Memory(why)) => {
                let at = sched.kernel.now;
                outcome.fail(SimulationError::KernelMemory { thread: comm, why: why.to_string(), at });
            }
        }
    }

    /// Enters in the scheduler's maps what its loader, or the thread's program, knows of `task` before `init_task` runs for
    /// it. Without room the scheduler does not know, and a warning says so.
    fn enter_in_maps(&self, scx: &mut Scx, threads: &Threads<'_>, task: TaskId, outcome: &mut Outcome) {
        let kind = threads[task].kind;
        let begins = !kind.system && threads.processes.begins(kind.application, task);
        let hint = kind.relative_length.is_none_or(|length| self.maps.hint(&mut scx.vm, task.pid(), length));
        let application = kind.application as u32 + 1;
        let entered = !begins || self.maps.enter_application(&mut scx.vm, task.pid(), application);
        if !hint {
            outcome.warn("the scheduler's map of relative lengths is full: it does not get them all".to_owned());
        }
        if !entered {
            outcome.warn("the scheduler's map of applications is full: it does not get them all".to_owned());
        }
    }

    /// Sets when a timer of the scheduler, or its watchdog, is next due; or when it will be loaded again, once it has gone.
    #[inline]
    pub fn set_timer(&mut self, sched: &mut Sched, pauses: &mut Pauses, agenda: &mut Agenda) {
        if sched.ext.is_some() {
            self.set_timer_of_scheduler(sched, pauses, agenda);
        }
    }

    #[inline(never)]
    fn set_timer_of_scheduler(&mut self, sched: &mut Sched, pauses: &mut Pauses, agenda: &mut Agenda) {
        let Some(scx) = &mut sched.ext else { return };
        for (cpu, time) in scx.state.timers.armed_on.drain(..) {
            pauses.timer_set(cpu, agenda.now(), time);
        }
        if self.reload.is_none()
            && let Some(info) = sched.scx_exited.as_ref().filter(|info| info.wants_restart())
        {
            // The loader looks at whole periods after it began to wait.
            let periods = (info.at - self.waits_since) / PERIOD + 1;
            self.reload = Some(self.waits_since + periods * PERIOD);
        }
        agenda.set_to(Event::SchedExt, self.reload.or(scx.state.timers.next_timer()));
    }

    /// Remembers what a scheduler did that has gone and is to be loaded again.
    pub fn remember(&mut self, scx: &Scx, exited: Option<ExitInfo>, now: Nanos) {
        self.restarts.extend(exited.map(|info| exit_report(info, scx)));
        self.callbacks = self.callbacks_so_far(scx);
        self.statistics = self.statistics_so_far(scx);
        self.limits = self.limits_so_far(scx, now);
        self.lines = self.lines_so_far(scx);
        self.output.extend(scx.state.host.printk.iter().map(|(_, line)| line.clone()));
    }

    /// Callbacks of `scx` and its programs at tracepoints, and those before it was loaded again.
    fn callbacks_so_far(&self, scx: &Scx) -> BTreeMap<String, CallbackReport> {
        let mut all = self.callbacks.clone();
        let callbacks = Op::ALL.iter().map(|op| (op.name(), scx.state.calls.of(*op)));
        let traced = Tracepoint::ALL.map(|point| (point.section(), scx.state.tracepoints.ran(point)));
        for (name, (calls, instructions)) in callbacks.chain(traced).filter(|(_, (calls, _))| *calls > 0) {
            let report = all.entry(name.to_owned()).or_insert(CallbackReport { calls: 0, instructions: 0 });
            (report.calls, report.instructions) = (report.calls + calls, report.instructions + instructions);
        }
        all
    }

    /// What `scx` executed of each line, and what was executed before it was loaded again, the most first.
    fn lines_so_far(&self, scx: &Scx) -> Vec<LineReport> {
        let mut all = self.lines.clone();
        for (place, instructions) in scx.vm.profiled() {
            let Location { function, file, line, text, .. } = place;
            let same = |other: &&mut LineReport| (&other.function, &other.file, other.line) == (&function, &file, line);
            match all[..self.lines.len()].iter_mut().find(same) {
                Some(known) => known.instructions += instructions,
                None => all.push(LineReport { function, file, line, text, instructions }),
            }
        }
        all.sort_by_key(|line| Reverse(line.instructions));
        all
    }

    /// What `scx` counted, and what was counted before it was loaded again.
    fn statistics_so_far(&self, scx: &Scx) -> Counters {
        let mut all = self.statistics.clone();
        statistics::add(&mut all, self.counts().map_or_else(Vec::new, |wanted| wanted.counters(&scx.vm)));
        all
    }

    /// What became of limits of groups up to `now` under `scx`, and before it was loaded again.
    fn limits_so_far(&self, scx: &Scx, now: Nanos) -> BTreeMap<CgroupId, LimitStat> {
        let mut all = self.limits.clone();
        for (group, stat) in scx.state.limits.stats(now) {
            all.entry(group).or_default().add(stat);
        }
        all
    }

    /// What became of limits of groups up to `now` under the loaded scheduler; `None` under Linux's own.
    pub fn limits(&self, sched: &Sched, now: Nanos) -> Option<LoadedLimits> {
        let scx = sched.ext.as_ref()?;
        Some(LoadedLimits { told: scx.state.limits.held().is_told(), stats: self.limits_so_far(scx, now) })
    }

    /// What the variables have now that the file beside the object wants printed.
    fn values(&self, scx: &Scx) -> Vec<(String, FinalValue)> {
        let print = self.scheduler.and_then(|scheduler| Some(&scheduler.sidecar.as_ref()?.run.print));
        let names: Vec<String> = print.into_iter().flatten().map(|(name, _)| name.clone()).collect();
        let values = statistics::values(&scx.vm, &names).into_iter();
        values.map(|(name, text)| (name, FinalValue::of(text))).collect()
    }

    /// Where the scheduler keeps its counts.
    fn counts(&self) -> Option<&'r Statistics> {
        self.scheduler?.sidecar.as_ref().map(|sidecar| &sidecar.statistics)
    }

    /// What the scheduler did; it is unloaded, as its user would at the end.
    pub fn report(&mut self, sched: &mut Sched) -> Option<SchedExtReport> {
        let unloaded = sched.scx_unreg();
        let exit = sched.scx_exited.take().or(unloaded.filter(|info| info.kind.is_error()));
        let scx = sched.ext.as_ref()?;
        let mut output = std::mem::take(&mut self.output);
        output.extend(scx.state.host.printk.iter().map(|(_, line)| line.clone()).chain(missing_pages(&scx.vm)));
        Some(SchedExtReport {
            name: scx.state.ops.name.clone(),
            kernel: scx.state.profile.to_string(),
            without: self.scheduler.and_then(|scheduler| scheduler.sidecar.as_ref()?.without.clone()),
            ignored: Vec::new(),
            callbacks: self.callbacks_so_far(scx),
            lines: self.lines_so_far(scx),
            overhead_s: seconds(self.callback_time),
            statistics: self.statistics_so_far(scx),
            states: self.counts().map_or_else(Vec::new, |wanted| wanted.states(&scx.vm)),
            values: self.values(scx),
            restarts: std::mem::take(&mut self.restarts),
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
