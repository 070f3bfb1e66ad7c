// SPDX-License-Identifier: MIT OR Apache-2.0
//! Progress of running threads: how far each got, what it demands of the CPU and of memory, what it loses.

use std::collections::VecDeque;
use std::ops::{Index, IndexMut};

use super::Engine;
use super::agenda::Agenda;
use super::disturbance::bring_in;
use super::events::Event;
use super::hardware::Hardware;
use super::memory::{Memory, bytes_per_ns};
use super::nodes::first_touch;
use super::siblings::Beside;
use super::thread::{Segment, Thread};
use super::threads::Threads;
use crate::kernel::Kernel;
use crate::machine::Machine;
use crate::machine::speed::{Demand, MemoryUse, Pace, demand};
use crate::units::{CpuId, MemoryDomainId, Nanos, TaskId};
use crate::workload::{Behaviour, Workload};

/// The thread on a CPU, if any, and what the CPU knows of it.
#[derive(Debug, Default)]
pub(super) struct Running {
    /// The thread.
    pub task: Option<TaskId>,
    /// Up to when the thread's time and work are booked.
    pub since: Nanos,
    /// Until when the CPU is busy with overhead: waking up, the switch, cold caches, ticks.
    pub start: Nanos,
    /// The part of the overhead that is cold caches, and so leaves with the thread.
    pub cold: Nanos,
    /// Part of the overhead that came while no thread was here, and has not been paid for in energy.
    pub idle_kernel: Nanos,
    /// When the latest interrupt of another CPU arrives that found this one idle.
    pub called_at: Nanos,
    /// What siblings of the CPU know of the thread.
    pub shown: Beside,
    /// The CPU is in the list of those to be paced.
    pub(super) to_be_paced: bool,
    /// The latest round of pacing in which the CPU was in that list.
    pub(super) paced_in: u64,
    /// The thread that ran here last.
    pub last_task: Option<TaskId>,
    /// Sum of the footprints of all threads that have left: what came since a thread left may have pushed out its own.
    pub footprints: u64,
}

/// What runs on every CPU, and what slows it down.
pub(super) struct Progress<'r> {
    pub machine: &'r Machine,
    pub(super) cpus: Vec<Running>,
    /// Per CPU: the switching activity of its core while that waits for memory, of that while it computes.
    pub(super) stall: Vec<f64>,
    /// Caches and memory domains.
    pub memory: Memory,
    /// Whether some thread of the run disturbs what others have in caches.
    pub disturbed: bool,
    /// Whether some thread uses memory or caches, or memory has a home; else all work is computing.
    uses_memory: bool,
    /// CPUs whose thread is to read its next step.
    pub to_advance: VecDeque<CpuId>,
    /// CPUs whose thread goes at another pace from now on.
    pub(super) to_pace: Vec<CpuId>,
    /// Paths to memory whose latency has changed: all of their users are paced behind those CPUs.
    pub(super) changed_paths: Vec<MemoryDomainId>,
}

impl Index<CpuId> for Progress<'_> {
    type Output = Running;

    #[inline]
    fn index(&self, cpu: CpuId) -> &Running {
        &self.cpus[cpu.index()]
    }
}

impl IndexMut<CpuId> for Progress<'_> {
    #[inline]
    fn index_mut(&mut self, cpu: CpuId) -> &mut Running {
        &mut self.cpus[cpu.index()]
    }
}

impl<'r> Progress<'r> {
    /// Nothing of `workload` runs on `machine` yet.
    pub fn new(machine: &'r Machine, workload: &Workload) -> Self {
        let memory = Memory::new(machine);
        let computes = |behaviour: &Behaviour| behaviour.footprint == 0 && memory_use(behaviour).is_none();
        Self {
            machine,
            cpus: machine.cpus.iter().map(|_| Running::default()).collect(),
            stall: (0..machine.cpus.len()).map(|cpu| machine.core_type(CpuId::at(cpu)).stall_activity).collect(),
            disturbed: workload.tasks.iter().any(|task| task.disturbs > 0),
            uses_memory: memory.network.is_some() || !workload.behaviours.iter().all(computes),
            memory,
            to_advance: VecDeque::new(),
            to_pace: Vec::new(),
            changed_paths: Vec::new(),
        }
    }

    /// Whether no CPU runs a thread.
    pub fn is_idle(&self) -> bool {
        self.cpus.iter().all(|running| running.task.is_none())
    }

    /// Books CPU time and progress of the thread on `cpu` up to `now`.
    pub fn account(&mut self, cpu: CpuId, threads: &mut Threads<'_>, now: Nanos) {
        let running = &mut self.cpus[cpu.index()];
        let Some(task) = running.task else { return };
        let thread = &mut threads[task];
        let span = running.pass(thread, now);
        if self.disturbed && span > 0 {
            bring_in(self.machine, &mut self.memory, cpu, thread, span);
        }
        let bytes = thread.get_on(span);
        if bytes > 0.0 {
            self.move_bytes(cpu, thread, bytes);
        }
    }

    /// The thread `task` on `cpu` begins a stay there or a segment: its next step is read now, or when its overhead is over.
    pub fn begin(
        &mut self,
        cpu: CpuId,
        task: TaskId,
        threads: &mut Threads<'_>,
        hardware: &mut Hardware<'_>,
        agenda: &mut Agenda,
    ) {
        self.use_caches(cpu, task, threads);
        if threads[task].segment != Segment::None {
            self.pace_later(cpu);
            return;
        }
        hardware.run(cpu, threads.behaviour(task).activity);
        let start = self[cpu].start;
        if start > agenda.now() {
            agenda.set(Event::Run(cpu), start);
        } else {
            agenda.cancel(Event::Run(cpu));
            self.to_advance.push_back(cpu);
        }
    }

    /// Tells caches that the thread on `cpu` uses them, and works out what it demands there; its pace is to follow.
    #[inline]
    pub(super) fn use_caches(&mut self, cpu: CpuId, task: TaskId, threads: &mut Threads<'_>) {
        if self.uses_memory {
            self.use_caches_or_memory(cpu, task, threads);
        } else {
            threads[task].demand = Demand::COMPUTING;
        }
    }

    #[inline(never)]
    fn use_caches_or_memory(&mut self, cpu: CpuId, task: TaskId, threads: &mut Threads<'_>) {
        let behaviour = threads.behaviour(task);
        let llc = self.machine.cpus[cpu.index()].llc;
        let mut share = None;
        if let Some(cache) = llc {
            self.memory.set_footprint(cache, cpu, behaviour.footprint);
            share = (behaviour.footprint > 0).then(|| self.memory.share(self.machine, cache, behaviour.footprint));
        }
        threads[task].demand = demand(self.machine, memory_use(behaviour), cpu, share);
        if self.memory.network.is_some() {
            self.touch_memory(cpu, task, threads);
            threads[task].demand.miss *= self.memory.latency_factor(cpu);
        }
    }

    /// The thread on `cpu` uses memory where that is; a thread's first work says where.
    pub fn touch_memory(&mut self, cpu: CpuId, task: TaskId, threads: &mut Threads<'_>) {
        let Some((network, nodes)) = self.memory.network.as_mut().zip(self.machine.nodes.as_ref()) else { return };
        let thread = &mut threads[task];
        if thread.pages.is_empty() && thread.segment != Segment::None {
            let from = self.machine.cpus[cpu.index()].node;
            thread.pages = first_touch(nodes, &thread.kind.memory, from).into();
        }
        network.set_pages(self.machine, cpu, &thread.pages);
    }

    /// Bytes per nanosecond that the thread on `cpu` can move, and all together where that is least.
    #[inline]
    pub(super) fn bandwidth(&self, cpu: CpuId) -> (f64, f64) {
        let domain = &self.machine.memory_domains[self.machine.cpus[cpu.index()].memory_domain.index()];
        let alone = domain.thread_bytes_per_s * 1e-9;
        match &self.memory.network {
            None => (alone, bytes_per_ns(domain)),
            // So many misses at a time, each of which takes longer.
            Some(network) => (alone / network.factor(cpu), network.bandwidth(self.machine, cpu)),
        }
    }

    /// Books traffic of `thread` on `cpu`, and how much of it goes to another node.
    #[inline]
    pub fn move_bytes(&mut self, cpu: CpuId, thread: &mut Thread<'_>, bytes: f64) {
        self.memory.move_bytes(cpu, bytes);
        if let Some(network) = &self.memory.network {
            let remote = bytes * network.remote(self.machine, cpu);
            thread.stats.remote_bytes += remote;
            thread.stats.local_bytes += bytes - remote;
        }
    }

    /// The thread `task` no longer runs on `cpu` at `now`: it uses neither caches nor memory, and takes what it has not
    /// paid of warming its caches up with it.
    pub fn leave(&mut self, cpu: CpuId, task: TaskId, threads: &mut Threads<'_>, now: Nanos) {
        self.stop_using_memory(cpu, task, threads);
        let running = &mut self.cpus[cpu.index()];
        running.last_task = Some(task);
        // The thread must still warm up its own caches when it is back; the rest of the overhead is the CPU's.
        // Cut off just as it was about to get on, a nanosecond stays, or the next stay would cost the whole again.
        let unpaid = running.start.checked_sub(now).map_or(0, |unpaid| unpaid.max(1));
        let cold = running.cold.min(unpaid);
        running.start -= cold.min(running.start.saturating_sub(now));
        threads[task].cold = cold;
    }

    fn stop_using_memory(&mut self, cpu: CpuId, task: TaskId, threads: &mut Threads<'_>) {
        if !self.uses_memory {
            return;
        }
        if let Some(cache) = self.machine.cpus[cpu.index()].llc {
            self.memory.set_footprint(cache, cpu, 0);
        }
        let footprint = threads.latest_behaviour(task).footprint;
        let thread = &mut threads[task];
        if thread.pace.uses_memory() {
            thread.pace = Pace::default();
            self.memory.set_user(self.machine, cpu, None);
        }
        let running = &mut self.cpus[cpu.index()];
        running.footprints = running.footprints.saturating_add(footprint);
        thread.footprints_seen = running.footprints;
    }

    /// Cost of putting `task` on `cpu`: the switch itself; and cold caches after a migration, its footprint's return.
    ///
    /// A stay that ended before the caches were warm leaves the rest to the next one, which then costs nothing more: a
    /// real thread gets on, slowly, while it misses, and must not be held up for ever by slices shorter than this.
    pub fn switch_cost(&self, cpu: CpuId, task: TaskId, threads: &Threads<'_>, kernel: &Kernel) -> (Nanos, Nanos) {
        let thread = &threads[task];
        let costs = &self.machine.costs;
        let untouched = self[cpu].last_task == Some(task) && thread.last_cpu == Some(cpu);
        let switch = if untouched { 0 } else { costs.context_switch };
        if untouched || thread.cold > 0 {
            return (switch, thread.cold);
        }
        let migration = match thread.last_cpu.filter(|last| *last != cpu) {
            Some(last) if kernel.cpus_share_cache(last, cpu) => costs.migration,
            Some(_) => costs.migration + costs.migration_llc,
            None => 0,
        };
        (switch, migration + self.refill_time(cpu, task, threads, kernel))
    }

    /// Time to bring back what was lost of the working set: all of it under another cache; on the same CPU, what others
    /// brought in since; at one thread's bandwidth. Another CPU under the same cache finds it there.
    fn refill_time(&self, cpu: CpuId, task: TaskId, threads: &Threads<'_>, kernel: &Kernel) -> Nanos {
        let footprint = threads.latest_behaviour(task).footprint;
        let Some(cache) = self.machine.cpus[cpu.index()].llc.filter(|_| footprint > 0) else { return 0 };
        let thread = &threads[task];
        let Some(last) = thread.last_cpu else { return 0 };
        let came = self[cpu].footprints.saturating_sub(thread.footprints_seen);
        let lost = match last {
            _ if last == cpu => came.min(footprint),
            _ if kernel.cpus_share_cache(last, cpu) => 0,
            _ => footprint,
        };
        let lost = lost.min(self.machine.caches[cache.index()].bytes);
        let (place, nodes) = (&self.machine.cpus[cpu.index()], self.machine.nodes.as_ref());
        let domain = &self.machine.memory_domains[place.memory_domain.index()];
        let farther = nodes.map_or(1.0, |nodes| nodes.mean_latency(place.node, &thread.pages));
        (lost as f64 / (domain.thread_bytes_per_s * 1e-9) * farther) as Nanos
    }
}

impl Running {
    /// Books CPU time of `thread`, which runs here, up to `now`; for how long it has got on with its segment since that was last booked.
    #[inline]
    pub(super) fn pass(&mut self, thread: &mut Thread<'_>, now: Nanos) -> Nanos {
        let from = self.since.max(self.start).min(now);
        thread.stats.cpu_time += now - self.since;
        self.since = now;
        now - from
    }
}

impl Thread<'_> {
    /// Books progress of `span` nanoseconds in the present segment; the bytes that this moved.
    #[inline]
    pub(super) fn get_on(&mut self, span: Nanos) -> f64 {
        if span == 0 {
            return 0.0;
        }
        let mut done = span as f64 / self.unit_time;
        match &mut self.segment {
            Segment::None => return 0.0,
            Segment::Time(left) | Segment::Spin(left) | Segment::Plain { left, .. } => {
                *left = left.saturating_sub(span)
            }
            Segment::Work(left) => {
                done = done.min(*left);
                *left -= done;
                self.stats.work += done;
            }
        }
        if self.unit_bytes > 0.0 { done * self.unit_bytes } else { 0.0 }
    }
}

/// How work that behaves like this uses memory.
#[inline]
fn memory_use(behaviour: &Behaviour) -> MemoryUse {
    let Behaviour { memory_bound, bytes_per_work, footprint, .. } = *behaviour;
    MemoryUse { memory_bound, bytes_per_work, footprint }
}

impl Engine<'_> {
    /// Books CPU time and progress of the thread on `cpu` up to now.
    pub(super) fn account(&mut self, cpu: CpuId) {
        self.running.account(cpu, &mut self.threads, self.agenda.now());
    }

    /// The thread on `cpu`, if any, goes on: its next step is read now, or when its overhead is over.
    pub(super) fn begin(&mut self, cpu: CpuId) {
        if let Some(task) = self.running[cpu].task {
            self.running.begin(cpu, task, &mut self.threads, &mut self.hardware, &mut self.agenda);
            self.refetch(cpu);
        }
    }

    /// The thread on `cpu` loses so much time to the kernel, from now on or from the end of what it loses already.
    pub(super) fn charge(&mut self, cpu: CpuId, cost: Nanos) {
        if cost == 0 {
            return;
        }
        self.account(cpu);
        let running = &mut self.running[cpu];
        running.start = running.start.max(self.agenda.now()).saturating_add(cost);
        if let Some(due) = self.agenda.time_of(Event::Run(cpu)) {
            self.agenda.set(Event::Run(cpu), due.saturating_add(cost));
        }
        self.count(cpu);
    }

    /// The thread on `cpu` is through with its segment, or with the overhead before it.
    pub(super) fn segment_over(&mut self, cpu: CpuId) {
        self.account(cpu);
        let Some(task) = self.running[cpu].task else { return };
        let thread = &mut self.threads[task];
        match thread.segment {
            Segment::Work(left) => {
                // What rounding to whole nanoseconds left over.
                thread.stats.work += left;
                let bytes = left * thread.unit_bytes;
                if bytes > 0.0 {
                    self.running.move_bytes(cpu, thread, bytes);
                }
                thread.segment = Segment::None;
            }
            Segment::Spin(_) => self.spin_is_over(cpu, task),
            Segment::Time(_) | Segment::Plain { .. } | Segment::None => thread.segment = Segment::None,
        }
        self.running.to_advance.push_back(cpu);
    }
}
