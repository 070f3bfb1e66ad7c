// SPDX-License-Identifier: MIT OR Apache-2.0
//! Progress of what runs: how far it got, how fast it goes, when it will be through.

use super::Engine;
use super::events::Event;
use super::memory::bytes_per_ns;
use super::thread::Segment;
use crate::machine::speed::{Pace, demand};
use crate::units::{CpuId, Nanos, TaskId};

/// What runs on a CPU.
#[derive(Debug, Default)]
pub(super) struct Running {
    pub task: Option<TaskId>,
    /// Accounted up to here.
    pub since: Nanos,
    /// Until here it is overhead: waking the CPU, the switch, cold caches, ticks.
    pub start: Nanos,
    /// What of the overhead is cold caches, and so leaves with the thread.
    pub cold: Nanos,
    /// It is in the list of CPUs to be paced.
    pub to_be_paced: bool,
    /// Who ran here last.
    pub last_task: Option<TaskId>,
    /// Sum of the footprints of all who have left: what came since a thread left may have pushed out its own.
    pub footprints: u64,
}

impl Engine<'_> {
    /// Books CPU time and progress of what runs on `cpu` up to now.
    pub(super) fn account(&mut self, cpu: CpuId) {
        let running = &mut self.running[cpu.index()];
        let Some(task) = running.task else { return };
        let from = running.since.max(running.start).min(self.agenda.now());
        let elapsed = self.agenda.now() - running.since;
        running.since = self.agenda.now();
        let thread = &mut self.threads[task];
        thread.stats.cpu_time += elapsed;
        let span = self.agenda.now() - from;
        if span == 0 {
            return;
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
            self.memory.move_bytes(self.machine, cpu, done * thread.unit_bytes);
        }
    }

    /// What runs on `cpu` loses so much time to the kernel, from now on or from the end of what it loses already.
    pub(super) fn charge(&mut self, cpu: CpuId, cost: Nanos) {
        if cost == 0 {
            return;
        }
        self.account(cpu);
        let running = &mut self.running[cpu.index()];
        running.start = running.start.max(self.agenda.now()).saturating_add(cost);
        if let Some(due) = self.agenda.time_of(Event::Run(cpu)) {
            self.agenda.set(Event::Run(cpu), due.saturating_add(cost));
        }
        self.count(cpu);
    }

    /// What runs on `cpu` is through with its segment, or with the overhead before it.
    pub(super) fn segment_over(&mut self, cpu: CpuId) {
        self.account(cpu);
        let Some(task) = self.running[cpu.index()].task else { return };
        let thread = &mut self.threads[task];
        match thread.segment {
            Segment::Work(left) => {
                // What rounding to whole nanoseconds left over.
                thread.stats.work += left;
                let bytes = left * thread.unit_bytes;
                if bytes > 0.0 {
                    self.memory.move_bytes(self.machine, cpu, bytes);
                }
                thread.segment = Segment::None;
            }
            Segment::Spin(_) => self.spin_is_over(cpu, task),
            Segment::Time(_) | Segment::Plain { .. } | Segment::None => thread.segment = Segment::None,
        }
        self.to_advance.push_back(cpu);
    }

    /// Tells caches that the thread on `cpu` uses them, and works out what it demands there; its pace is to follow.
    pub(super) fn start_using_caches(&mut self, cpu: CpuId, task: TaskId) {
        let behaviour = self.threads.behaviour(task);
        let llc = self.machine.cpus[cpu.index()].llc;
        let mut share = None;
        if let Some(cache) = llc {
            self.memory.set_footprint(cache, cpu, behaviour.footprint);
            share = (behaviour.footprint > 0).then(|| self.memory.share(self.machine, cache, behaviour.footprint));
        }
        self.threads[task].demand = demand(self.machine, behaviour, cpu, share);
    }

    /// The pace of the thread on `cpu` at the present clock, whether it contends or not.
    fn repace(&mut self, cpu: CpuId, task: TaskId) {
        let core_type = self.machine.core_type(cpu);
        let smt = if self.hardware.sibling_busy(cpu) { core_type.smt_speed } else { 1.0 };
        let domain = &self.machine.memory_domains[self.machine.cpus[cpu.index()].memory_domain.index()];
        let bandwidth = (domain.thread_bytes_per_s * 1e-9, bytes_per_ns(domain));
        let khz_ipc = f64::from(self.hardware.khz(cpu)) * core_type.ipc;
        let thread = &mut self.threads[task];
        let before = thread.pace;
        thread.pace = Pace::new(&thread.demand, &self.machine.reference, khz_ipc, smt, bandwidth);
        let uses = thread.pace.uses_memory();
        if uses || before.uses_memory() {
            self.memory.set_user(self.machine, cpu, uses);
        }
    }

    /// Nobody on `cpu` uses caches and memory any more.
    pub(super) fn stop_using_memory(&mut self, cpu: CpuId) {
        if let Some(cache) = self.machine.cpus[cpu.index()].llc {
            self.memory.set_footprint(cache, cpu, 0);
        }
        let Some(task) = self.running[cpu.index()].task else { return };
        if self.threads[task].pace.uses_memory() {
            self.threads[task].pace = Pace::default();
            self.memory.set_user(self.machine, cpu, false);
        }
        let footprint = self.threads.latest_behaviour(task).footprint;
        let running = &mut self.running[cpu.index()];
        running.footprints = running.footprints.saturating_add(footprint);
        self.threads[task].footprints_seen = running.footprints;
    }

    /// Time to bring back what was lost of the working set: all of it under another cache; on the same CPU, what others
    /// brought in since; at one thread's bandwidth. Another CPU under the same cache finds it there.
    pub(super) fn refill_time(&self, cpu: CpuId, task: TaskId) -> Nanos {
        let footprint = self.threads.latest_behaviour(task).footprint;
        let Some(cache) = self.machine.cpus[cpu.index()].llc.filter(|_| footprint > 0) else { return 0 };
        let thread = &self.threads[task];
        let Some(last) = thread.last_cpu else { return 0 };
        let came = self.running[cpu.index()].footprints.saturating_sub(thread.footprints_seen);
        let lost = match last {
            _ if last == cpu => came.min(footprint),
            _ if self.sched.kernel.cpus_share_cache(last, cpu) => 0,
            _ => footprint,
        };
        let lost = lost.min(self.machine.caches[cache.index()].bytes);
        let domain = &self.machine.memory_domains[self.machine.cpus[cpu.index()].memory_domain.index()];
        (lost as f64 / (domain.thread_bytes_per_s * 1e-9)) as Nanos
    }

    /// What runs on `cpu` is to be paced anew before time goes on.
    pub(super) fn pace_later(&mut self, cpu: CpuId) {
        if !std::mem::replace(&mut self.running[cpu.index()].to_be_paced, true) {
            self.to_pace.push(cpu);
        }
    }

    /// Paces everything anew that something else changed: clocks, siblings, caches, contention.
    pub(super) fn pace_all(&mut self) {
        for cpu in self.memory.cache_changes() {
            if let Some(task) = self.running[cpu.index()].task {
                self.start_using_caches(cpu, task);
                self.pace_later(cpu);
            }
        }
        let mut index = 0;
        while index < self.to_pace.len() {
            let cpu = self.to_pace[index];
            if let Some(task) = self.running[cpu.index()].task {
                self.repace(cpu, task);
            }
            index += 1;
        }
        self.solve_contention();
        let mut to_pace = std::mem::take(&mut self.to_pace);
        for cpu in to_pace.drain(..) {
            self.running[cpu.index()].to_be_paced = false;
            self.account(cpu);
            self.schedule_run(cpu);
            self.count(cpu);
        }
        if self.to_pace.is_empty() {
            self.to_pace = to_pace;
        }
    }

    fn solve_contention(&mut self) {
        if !self.memory.is_dirty() {
            return;
        }
        let Self { memory, machine, running, threads, .. } = self;
        let pace = |cpu: CpuId| running[cpu.index()].task.map_or(Pace::default(), |task| threads[task].pace);
        for cpu in memory.solve(machine, pace) {
            self.pace_later(cpu);
        }
    }

    /// Sets when what runs on `cpu` will be through, and what it draws meanwhile.
    fn schedule_run(&mut self, cpu: CpuId) {
        let Some(task) = self.running[cpu.index()].task else { return };
        let thread = &mut self.threads[task];
        let lambda = self.memory.lambda(self.machine, cpu, &thread.pace);
        (thread.unit_time, thread.unit_bytes) = (thread.pace.time(lambda), thread.pace.bytes);
        let thread = &self.threads[task];
        let behaviour = self.threads.behaviour(task);
        let computing = thread.pace.computing(lambda);
        let stall = self.machine.core_type(cpu).stall_activity;
        let activity = behaviour.activity * (computing + (1.0 - computing) * stall);
        let (left, activity) = match thread.segment {
            Segment::None => return,
            Segment::Time(left) | Segment::Spin(left) => (left, activity),
            Segment::Plain { left, stalled } => (left, if stalled { stall } else { 1.0 }),
            Segment::Work(left) => ((left * thread.unit_time).ceil() as Nanos, activity),
        };
        let start = self.running[cpu.index()].start.max(self.agenda.now());
        self.agenda.set(Event::Run(cpu), start.saturating_add(left));
        self.hardware.run(cpu, activity);
    }
}
