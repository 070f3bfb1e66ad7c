// SPDX-License-Identifier: MIT OR Apache-2.0
//! The schedule as a Perfetto trace, for <https://ui.perfetto.dev> and `trace_processor`.
//!
//! [`TraceWriter`] is an [`Observer`] that writes what a kernel with ftrace would have recorded: `sched_switch`,
//! `sched_waking`, `sched_wakeup`, `sched_wakeup_new`, `sched_migrate_task`, `sched_process_fork`, `sched_process_exit`,
//! `cpu_frequency` and `cpu_idle` per CPU, so that Perfetto's CPU
//! tracks and its tables `sched_slice`, `thread_state` and `cpu_counter_track` work; and, as tracks of their own, what ftrace
//! does not know: power in watts, utilisation of CPUs, traffic of memory, what each thread waits for, which thread holds each
//! mutex, how many wait at a barrier and in a dispatch queue, callbacks of a loaded scheduler, and its ejection. Times are
//! nanoseconds of simulated time, on the boot clock.
//!
//! `details` writes what ftrace does not know, on the tracks that `tracks` describes; [`TraceWriter::about`] says what is run.
//!
//! **Names.** Thread `n` has `tid = n + 1`, as 0 is the idle thread. Each application is a process, and all system tasks
//! together are one more, `system`; as in Linux a process has the tid of its first thread as its pid.
//!
//! **Wakeups.** `sched_waking` has the CPU that the thread was on, as the kernel traces it before `select_task_rq`; then comes
//! `sched_migrate_task` if another one was chosen (`set_task_cpu`), then `sched_wakeup` with the chosen one, at the same instant: on the
//! waker's CPU, also where the kernel would leave the rest to the other one (`ttwu_queue_wakelist`). A new thread has
//! `sched_wakeup_new`, and before that `sched_waking`, which the kernel's has not: from this event Perfetto takes that a thread is
//! runnable (`ThreadStateTracker::PushWakingEvent`). Perfetto keeps the other three as they are (`ftrace_event`). There are as many
//! `sched_migrate_task` as the report counts migrations. What another thread than the waker moves, `sched_migrate_task` is on the
//! CPU that it comes to.
//!
//! **`prev_state`** has the kernel's values: 0 (`R`), 1 (`S`), 16 (`X`). A preempted thread shows as `R`, not `R+`: an
//! observer is not told whether a thread was preempted or yielded.
//!
//! **Limits.** Callbacks are instants: the time that they take is the CPU's, and not drawn. Events of two CPUs in the same nanosecond are kept in
//! order within each CPU only, so a thread that blocks on CPU 1 and is woken from CPU 0 in that very nanosecond may
//! show as sleeping until it runs. Perfetto reads no more than 1,024 CPUs.

mod details;
#[allow(missing_docs)] // the names are those of Perfetto's own files
pub mod fields;
mod preamble;
mod protobuf;
#[cfg(test)]
mod tests;
mod tracks;

use std::io::{self, BufWriter, Write};

use self::details::Details;
use self::fields::{
    cpu_state, ftrace_event, ftrace_event_bundle, process_tree, sched_migrate_task, sched_process_exit,
    sched_process_fork, sched_switch, sched_waking, trace, trace_packet, track_event,
};
use self::protobuf::Message;
use crate::machine::Machine;
use crate::observer::detail::Detail;
use crate::observer::{Observer, PrevState, TaskInfo};
use crate::units::{CpuId, Nanos, PackageId, TaskId};

/// Bytes of a CPU's events that are kept before they are written; times the number of CPUs, this bounds the memory.
const BUNDLE_BYTES: usize = 16 << 10;
/// All packets are one sequence, from one writer.
const SEQUENCE_ID: u64 = 1;
/// What ftrace prints for a thread whose name it does not know.
const UNKNOWN_COMM: &str = "<...>";
/// Priority of the idle thread, the same as nice 0's.
const IDLE_PRIO: i32 = 120;
/// The kernel's `PWR_EVENT_EXIT`, −1 as the event's `u32`: the CPU left idle.
const PWR_EVENT_EXIT: u32 = u32::MAX;

/// Writes a run as a Perfetto trace while it goes on; see the [module](self).
///
/// Memory is bounded, whatever the run's length: events are written in bundles. Writing stops at the first write error,
/// which [`finish`](Self::finish) returns.
#[derive(Debug)]
pub struct TraceWriter<W: Write> {
    sink: Sink<W>,
    cpus: Vec<CpuTrace>,
    threads: Vec<Option<TaskInfo>>,
    /// By thread: the CPU that it is on as far as events have told; `None` before it begins.
    places: Vec<Option<CpuId>>,
    /// Processes, by application, the system tasks last: pid, once there is a first thread, and name.
    processes: Vec<(Option<u32>, String)>,
    /// Last power that was written, by package.
    package_watts: Vec<Option<f64>>,
    /// Names of the memory domains.
    memory: Vec<String>,
    /// The thread that came into being last, and when, until it is first woken.
    newcomer: Option<(TaskId, Nanos)>,
    details: Details,
}

/// Whether `bytes`, the beginning of a file, begin as every trace of [`TraceWriter`] does: with the packet that says which
/// clocks it has, and that all of them begin at 0.
pub fn is_trace(bytes: &[u8]) -> bool {
    let mut sink = Sink::new(Vec::new());
    sink.packet(preamble::clocks());
    sink.finish().is_ok_and(|first| bytes.starts_with(&first))
}

/// What is kept per CPU.
#[derive(Debug)]
struct CpuTrace {
    /// Encoded fields of the `FtraceEventBundle` under way; empty if there are no events yet.
    bundle: Message,
    running: Option<TaskId>,
    idle_comm: String,
    /// Last power that was written.
    watts: Option<f64>,
}

/// What an event shows of a thread.
struct Label<'a> {
    comm: &'a str,
    pid: u32,
    prio: i32,
}

impl<W: Write> TraceWriter<W> {
    /// Starts a trace of a run on `machine`; `applications` are the names of the workload's, by index.
    pub fn new(output: W, machine: &Machine, applications: &[String]) -> Self {
        let system = std::iter::once("system");
        let names = applications.iter().map(String::as_str).chain(system);
        let cpu = |index| CpuTrace {
            bundle: Message::default(),
            running: None,
            idle_comm: format!("swapper/{index}"),
            watts: None,
        };
        let mut writer = Self {
            sink: Sink::new(output),
            cpus: (0..machine.cpus.len()).map(cpu).collect(),
            threads: Vec::new(),
            places: Vec::new(),
            processes: names.map(|name| (None, name.to_owned())).collect(),
            package_watts: vec![None; machine.packages.len()],
            memory: machine.memory_domains.iter().map(|domain| domain.name.clone()).collect(),
            newcomer: None,
            details: Details::default(),
        };
        for packet in preamble::packets(machine) {
            writer.sink.packet(packet);
        }
        writer
    }

    /// Writes the events that are left and returns the output.
    ///
    /// # Errors
    /// The first error of any write; the output is then incomplete.
    pub fn finish(mut self) -> io::Result<W> {
        for index in 0..self.cpus.len() {
            self.flush(CpuId::at(index));
        }
        self.sink.finish()
    }

    /// The process that a thread belongs to.
    fn tgid(&self, task: TaskId) -> u32 {
        let system = self.processes.len() - 1;
        let thread = self.threads.get(task.index()).and_then(Option::as_ref);
        let process = thread.map(|thread| &self.processes[thread.application.unwrap_or(system)]);
        process.and_then(|(pid, _)| *pid).unwrap_or(task.pid())
    }

    /// `task` is woken for the first time, on `cpu`, at the instant at which the thread there made it.
    fn forked(&mut self, now: Nanos, task: TaskId, cpu: CpuId) {
        let is_new = self.newcomer.take() == Some((task, now));
        let Some(parent) = self.cpus[cpu.index()].running.filter(|_| is_new) else { return };
        self.ftrace(now, cpu, ftrace_event::SCHED_PROCESS_FORK, |trace, event| {
            let (parent, child) = (trace.label(Some(parent), cpu), trace.label(Some(task), cpu));
            event
                .text(sched_process_fork::PARENT_COMM, parent.comm)
                .uint(sched_process_fork::PARENT_PID, parent.pid.into())
                .text(sched_process_fork::CHILD_COMM, child.comm)
                .uint(sched_process_fork::CHILD_PID, child.pid.into());
        });
    }

    /// `kind` is one of the events of a wakeup, which have the same fields.
    fn wakes(&mut self, now: Nanos, waker: CpuId, kind: u32, task: TaskId, cpu: CpuId) {
        self.ftrace(now, waker, kind, |trace, event| {
            let woken = trace.label(Some(task), cpu);
            event
                .text(sched_waking::COMM, woken.comm)
                .uint(sched_waking::PID, woken.pid.into())
                .int(sched_waking::PRIO, woken.prio.into())
                .uint(sched_waking::TARGET_CPU, cpu.0.into());
        });
    }

    /// `task` goes to the CPU `to`, by what `by` executes; nothing is told if it is there.
    fn migrates(&mut self, now: Nanos, by: CpuId, task: TaskId, to: CpuId) {
        let Some(from) = self.place(task).replace(to).filter(|from| *from != to) else { return };
        self.ftrace(now, by, ftrace_event::SCHED_MIGRATE_TASK, |trace, event| {
            let moved = trace.label(Some(task), to);
            event
                .text(sched_migrate_task::COMM, moved.comm)
                .uint(sched_migrate_task::PID, moved.pid.into())
                .int(sched_migrate_task::PRIO, moved.prio.into())
                .uint(sched_migrate_task::ORIG_CPU, from.0.into())
                .uint(sched_migrate_task::DEST_CPU, to.0.into());
        });
    }

    /// The CPU that `task` is on as far as events have told.
    fn place(&mut self, task: TaskId) -> &mut Option<CpuId> {
        if self.places.len() <= task.index() {
            self.places.resize(task.index() + 1, None);
        }
        &mut self.places[task.index()]
    }

    fn exits(&mut self, now: Nanos, task: TaskId, cpu: CpuId) {
        self.ftrace(now, cpu, ftrace_event::SCHED_PROCESS_EXIT, |trace, event| {
            let label = trace.label(Some(task), cpu);
            event
                .text(sched_process_exit::COMM, label.comm)
                .uint(sched_process_exit::PID, label.pid.into())
                .uint(sched_process_exit::TGID, trace.tgid(task).into())
                .int(sched_process_exit::PRIO, label.prio.into());
        });
    }

    fn label(&self, task: Option<TaskId>, cpu: CpuId) -> Label<'_> {
        let Some(task) = task else {
            return Label { comm: &self.cpus[cpu.index()].idle_comm, pid: 0, prio: IDLE_PRIO };
        };
        let (comm, prio) = match self.threads.get(task.index()) {
            Some(Some(info)) => (info.name.as_str(), info.priority),
            _ => (UNKNOWN_COMM, IDLE_PRIO),
        };
        Label { comm, pid: task.pid(), prio }
    }

    /// Adds an event to `cpu`'s bundle: `kind` is the event's field in `FtraceEvent`, and the event's thread is the one
    /// that runs on `cpu`.
    fn ftrace(&mut self, now: Nanos, cpu: CpuId, kind: u32, fill: impl FnOnce(&Self, &mut Message)) {
        let mut bundle = std::mem::take(&mut self.cpus[cpu.index()].bundle);
        if bundle.bytes().is_empty() {
            bundle.uint(ftrace_event_bundle::CPU, cpu.0.into());
        }
        let current = self.cpus[cpu.index()].running.map_or(0, TaskId::pid);
        bundle.message(ftrace_event_bundle::EVENT, |event| {
            // The time and the pid come first, even a pid of 0: readers look for them there.
            event.uint(ftrace_event::TIMESTAMP, now).uint(ftrace_event::PID, current.into());
            event.message(kind, |fields| fill(self, fields));
        });
        let full = bundle.bytes().len() >= BUNDLE_BYTES;
        self.cpus[cpu.index()].bundle = bundle;
        if full {
            self.flush(cpu);
        }
    }

    fn flush(&mut self, cpu: CpuId) {
        let bundle = &mut self.cpus[cpu.index()].bundle;
        if bundle.bytes().is_empty() {
            return;
        }
        let mut packet = Message::default();
        packet.encoded(trace_packet::FTRACE_EVENTS, bundle);
        bundle.clear();
        self.sink.packet(packet);
    }

    fn cpu_state(&mut self, now: Nanos, cpu: CpuId, kind: u32, state: u32) {
        self.ftrace(now, cpu, kind, |_, event| {
            event.uint(cpu_state::STATE, state.into()).uint(cpu_state::CPU_ID, cpu.0.into());
        });
    }

    fn counter(&mut self, now: Nanos, track: u64, value: f64) {
        let mut packet = Message::default();
        packet.uint(trace_packet::TIMESTAMP, now).message(trace_packet::TRACK_EVENT, |event| {
            event
                .uint(track_event::TYPE, track_event::COUNTER)
                .uint(track_event::TRACK_UUID, track)
                .double(track_event::DOUBLE_COUNTER_VALUE, value);
        });
        self.sink.packet(packet);
    }
}

impl<W: Write> Observer for TraceWriter<W> {
    fn wants_power(&self) -> bool {
        true
    }

    fn wants_details(&self) -> bool {
        true
    }

    fn detail(&mut self, now: Nanos, detail: &Detail) {
        match *detail {
            // Of a migration by a wakeup the event stands between those of the wakeup: the thread is no longer where it comes from.
            Detail::Migrates { task, from, to } if *self.place(task) == Some(from) => self.migrates(now, to, task, to),
            _ => self.write_detail(now, detail),
        }
    }

    fn task_new(&mut self, now: Nanos, task: &TaskInfo) {
        self.newcomer = Some((task.id, now));
        let system = self.processes.len() - 1;
        let (pid, process) = &mut self.processes[task.application.unwrap_or(system)];
        let first = pid.is_none();
        let pid = *pid.get_or_insert(task.id.pid());

        let mut packet = Message::default();
        packet.uint(trace_packet::TIMESTAMP, now).message(trace_packet::PROCESS_TREE, |tree| {
            if first {
                tree.message(process_tree::PROCESSES, |fields| {
                    fields.uint(process_tree::process::PID, pid.into()).uint(process_tree::process::PPID, 0);
                    fields.text(process_tree::process::CMDLINE, process);
                });
            }
            tree.message(process_tree::THREADS, |fields| {
                fields.uint(process_tree::thread::TID, task.id.pid().into());
                fields.text(process_tree::thread::NAME, &task.name).uint(process_tree::thread::TGID, pid.into());
            });
        });
        self.sink.packet(packet);

        if self.threads.len() <= task.id.index() {
            self.threads.resize(task.id.index() + 1, None);
        }
        self.threads[task.id.index()] = Some(task.clone());
    }

    fn sched_switch(&mut self, now: Nanos, cpu: CpuId, prev: Option<(TaskId, PrevState)>, next: Option<TaskId>) {
        // The event belongs to the thread that leaves.
        self.cpus[cpu.index()].running = prev.map(|(task, _)| task);
        if let Some((task, PrevState::Dead)) = prev {
            self.exits(now, task, cpu);
        }
        self.ftrace(now, cpu, ftrace_event::SCHED_SWITCH, |trace, event| {
            let leaves = trace.label(prev.map(|(task, _)| task), cpu);
            let comes = trace.label(next, cpu);
            event
                .text(sched_switch::PREV_COMM, leaves.comm)
                .uint(sched_switch::PREV_PID, leaves.pid.into())
                .int(sched_switch::PREV_PRIO, leaves.prio.into())
                .int(sched_switch::PREV_STATE, prev.map_or(0, |(_, state)| kernel_state(state)))
                .text(sched_switch::NEXT_COMM, comes.comm)
                .uint(sched_switch::NEXT_PID, comes.pid.into())
                .int(sched_switch::NEXT_PRIO, comes.prio.into());
        });
        self.cpus[cpu.index()].running = next;
    }

    fn sched_waking(&mut self, now: Nanos, task: TaskId, prev: CpuId, waker: CpuId) {
        self.end_wait(now, task);
        self.forked(now, task, waker);
        self.place(task).get_or_insert(prev);
        self.wakes(now, waker, ftrace_event::SCHED_WAKING, task, prev);
    }

    fn sched_wakeup(&mut self, now: Nanos, task: TaskId, target: CpuId, waker: CpuId) {
        self.migrates(now, waker, task, target);
        self.wakes(now, waker, ftrace_event::SCHED_WAKEUP, task, target);
    }

    fn sched_wakeup_new(&mut self, now: Nanos, task: TaskId, target: CpuId, waker: CpuId) {
        // `wake_up_new_task` chooses a CPU, too, but that is no migration.
        *self.place(task) = Some(target);
        self.wakes(now, waker, ftrace_event::SCHED_WAKEUP_NEW, task, target);
    }

    fn cpu_frequency(&mut self, now: Nanos, cpu: CpuId, khz: u32) {
        self.cpu_state(now, cpu, ftrace_event::CPU_FREQUENCY, khz);
    }

    fn cpu_idle(&mut self, now: Nanos, cpu: CpuId, state: Option<u32>) {
        self.cpu_state(now, cpu, ftrace_event::CPU_IDLE, state.unwrap_or(PWR_EVENT_EXIT));
    }

    fn cpu_power(&mut self, now: Nanos, cpu: CpuId, watts: f64) {
        if self.cpus[cpu.index()].watts.replace(watts) != Some(watts) {
            self.counter(now, preamble::cpu_track(cpu), watts);
        }
    }

    fn package_power(&mut self, now: Nanos, package: PackageId, watts: f64) {
        if self.package_watts[package.index()].replace(watts) != Some(watts) {
            self.counter(now, preamble::package_track(package), watts);
        }
    }
}

/// The value of `prev_state` as Linux's `sched_switch` has it (`__trace_sched_switch_state`).
fn kernel_state(state: PrevState) -> i64 {
    match state {
        PrevState::Runnable => 0, // TASK_RUNNING
        PrevState::Sleeping => 1, // TASK_INTERRUPTIBLE
        PrevState::Dead => 0x10,  // EXIT_DEAD
    }
}

/// The output for packets, and the first error of writing them.
#[derive(Debug)]
struct Sink<W: Write> {
    output: BufWriter<W>,
    error: Option<io::Error>,
    /// The packet in its frame; kept so that its memory is used again.
    framed: Message,
}

impl<W: Write> Sink<W> {
    fn new(output: W) -> Self {
        Self { output: BufWriter::new(output), error: None, framed: Message::default() }
    }

    /// Writes one packet; does nothing after an error.
    fn packet(&mut self, mut packet: Message) {
        if self.error.is_some() {
            return;
        }
        packet.uint(trace_packet::TRUSTED_PACKET_SEQUENCE_ID, SEQUENCE_ID);
        self.framed.clear();
        self.framed.encoded(trace::PACKET, &packet);
        self.error = self.output.write_all(self.framed.bytes()).err();
    }

    fn finish(self) -> io::Result<W> {
        match self.error {
            Some(error) => Err(error),
            None => self.output.into_inner().map_err(io::IntoInnerError::into_error),
        }
    }
}
