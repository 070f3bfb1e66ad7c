// SPDX-License-Identifier: MIT OR Apache-2.0
//! Progress of running threads: how far each got, how fast it goes, when it will be through.

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
use super::users::Slowed;
use crate::kernel::Kernel;
use crate::kernel::topology::Topology;
use crate::machine::Machine;
use crate::machine::speed::{MemoryUse, Pace, demand};
use crate::units::{CpuId, Nanos, TaskId};
use crate::workload::Behaviour;

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
    to_be_paced: bool,
    /// The thread that ran here last.
    pub last_task: Option<TaskId>,
    /// Sum of the footprints of all threads that have left: what came since a thread left may have pushed out its own.
    pub footprints: u64,
}

/// What runs on every CPU, and what slows it down.
pub(super) struct Progress<'r> {
    pub machine: &'r Machine,
    cpus: Vec<Running>,
    /// Caches and memory domains.
    pub memory: Memory,
    /// Whether some thread of the run disturbs what others have in caches.
    pub disturbed: bool,
    /// CPUs whose thread is to read its next step.
    pub to_advance: VecDeque<CpuId>,
    /// CPUs whose thread goes at another pace from now on.
    to_pace: Vec<CpuId>,
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
    /// Nothing runs on `machine` yet; some thread of the workload disturbs what others have in caches, or none does.
    pub fn new(machine: &'r Machine, disturbed: bool) -> Self {
        Self {
            machine,
            cpus: machine.cpus.iter().map(|_| Running::default()).collect(),
            memory: Memory::new(machine),
            disturbed,
            to_advance: VecDeque::new(),
            to_pace: Vec::new(),
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
        let from = running.since.max(running.start).min(now);
        let elapsed = now - running.since;
        running.since = now;
        let thread = &mut threads[task];
        thread.stats.cpu_time += elapsed;
        let span = now - from;
        if span == 0 {
            return;
        }
        if self.disturbed {
            bring_in(self.machine, &mut self.memory, cpu, thread, span);
        }
        let mut done = span as f64 / thread.unit_time;
        match &mut thread.segment {
            Segment::None => return,
            Segment::Time(left) | Segment::Spin(left) | Segment::Plain { left, .. } => {
                *left = left.saturating_sub(span)
            }
            Segment::Work(left) => {
                done = done.min(*left);
                *left -= done;
                thread.stats.work += done;
            }
        }
        if thread.unit_bytes > 0.0 {
            self.move_bytes(cpu, thread, done * thread.unit_bytes);
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
    pub(super) fn use_caches(&mut self, cpu: CpuId, task: TaskId, threads: &mut Threads<'_>) {
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
    pub fn move_bytes(&mut self, cpu: CpuId, thread: &mut Thread<'_>, bytes: f64) {
        self.memory.move_bytes(self.machine, cpu, bytes);
        if let Some(network) = &self.memory.network {
            let remote = bytes * network.remote(self.machine, cpu);
            thread.stats.remote_bytes += remote;
            thread.stats.local_bytes += bytes - remote;
        }
    }

    /// The pace of the thread on `cpu` at the present clock, whether it contends or not.
    fn repace(&mut self, cpu: CpuId, threads: &mut Threads<'_>, hardware: &Hardware<'_>) {
        let Some(task) = self[cpu].task else { return };
        self.show_siblings(cpu, threads);
        let smt = self.shared_speed(cpu, threads, hardware);
        let pace = self.pace_at(cpu, smt, &threads[task].demand, hardware);
        let before = std::mem::replace(&mut threads[task].pace, pace);
        let uses = pace.uses_memory();
        if uses || before.uses_memory() {
            self.memory.set_user(self.machine, cpu, uses.then_some(pace));
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

    /// The thread on `cpu`, if any, is to be paced anew before time goes on.
    pub fn pace_later(&mut self, cpu: CpuId) {
        if !std::mem::replace(&mut self.cpus[cpu.index()].to_be_paced, true) {
            self.to_pace.push(cpu);
        }
    }

    /// SMT siblings of `cpu` go faster or slower when it stops or starts.
    pub fn pace_siblings(&mut self, cpu: CpuId, topology: &Topology) {
        if !topology.online.test(cpu) {
            // It is no sibling any more, but has just been one.
            let machine = self.machine;
            for sibling in &machine.cores[machine.cpus[cpu.index()].core.index()].cpus {
                self.pace_later(*sibling);
            }
        }
        for sibling in topology.smt[cpu.index()].iter().filter(|sibling| **sibling != cpu) {
            self.pace_later(*sibling);
        }
    }

    /// Whether threads are to be paced anew.
    pub fn paces_change(&self) -> bool {
        !self.to_pace.is_empty() || self.memory.is_dirty()
    }

    /// Works out the pace of all threads for which something changed: clocks, siblings, caches, contention. They stand in
    /// `to_pace` afterwards.
    fn repace_all(&mut self, threads: &mut Threads<'_>, hardware: &Hardware<'_>) {
        let changes = if self.memory.caches_changed() { self.memory.cache_changes() } else { Vec::new() };
        for cpu in changes {
            if let Some(task) = self[cpu].task {
                self.use_caches(cpu, task, threads);
                self.pace_later(cpu);
            }
        }
        let mut index = 0;
        while index < self.to_pace.len() {
            self.repace(self.to_pace[index], threads, hardware);
            index += 1;
        }
        if !self.memory.is_dirty() {
            return;
        }
        let Self { memory, machine, cpus, .. } = self;
        let pace = |cpu: CpuId| cpus[cpu.index()].task.map_or(Pace::default(), |task| threads[task].pace);
        for cpu in memory.solve(machine, pace) {
            self.pace_later(cpu);
        }
    }

    /// Sets when the thread on `cpu` will be through with its segment, and what the CPU draws meanwhile.
    fn set_pace(&mut self, cpu: CpuId, threads: &mut Threads<'_>, hardware: &mut Hardware<'_>, agenda: &mut Agenda) {
        let Some(task) = self[cpu].task else { return };
        let thread = &mut threads[task];
        let Slowed { unit_time, computing } = self.memory.slowed(self.machine, cpu, &thread.pace);
        (thread.unit_time, thread.unit_bytes) = (unit_time, thread.pace.bytes);
        let thread = &threads[task];
        let behaviour = threads.behaviour(task);
        let stall = self.machine.core_type(cpu).stall_activity;
        let activity = behaviour.activity * (computing + (1.0 - computing) * stall);
        let (left, activity) = match thread.segment {
            Segment::None => return,
            Segment::Time(left) | Segment::Spin(left) => (left, activity),
            Segment::Plain { left, stalled } => (left, if stalled { stall } else { 1.0 }),
            Segment::Work(left) => (rounded_up(left * thread.unit_time), activity),
        };
        let start = self[cpu].start.max(agenda.now());
        agenda.set(Event::Run(cpu), start.saturating_add(left));
        hardware.run(cpu, activity);
    }
}

/// Whole nanoseconds, rounded up, as `f64::ceil` does: that is a call into the C library on processors without SSE 4.1.
#[inline]
fn rounded_up(time: f64) -> Nanos {
    let whole = time as Nanos;
    whole.saturating_add(Nanos::from((whole as f64) < time))
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

    /// Paces everything anew for which something changed.
    pub(super) fn pace_all(&mut self) {
        self.running.repace_all(&mut self.threads, &self.hardware);
        let mut to_pace = std::mem::take(&mut self.running.to_pace);
        self.running.memory.begin_round();
        for cpu in to_pace.iter().copied() {
            self.running[cpu].to_be_paced = false;
            self.account(cpu);
            self.running.set_pace(cpu, &mut self.threads, &mut self.hardware, &mut self.agenda);
            self.count(cpu);
        }
        to_pace.clear();
        if self.running.to_pace.is_empty() {
            self.running.to_pace = to_pace;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::rounded_up;

    #[test]
    fn times_are_rounded_up_as_the_c_library_does() {
        for time in [0.0, 0.1, 1.0, 1.5, 2.999, 1e9 + 0.5, 9_007_199_254_740_993.0, 1e19, 1e300, -0.5, -3.0, f64::NAN] {
            assert_eq!(rounded_up(time), time.ceil() as u64, "{time}");
        }
    }
}
