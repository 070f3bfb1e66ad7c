// SPDX-License-Identifier: MIT OR Apache-2.0
//! The event loop: next event, advance work, integrate energy. The only place with time.
//!
//! After each event the scheduler's decisions are carried out until nothing changes any more at this instant
//! ([`Engine::settle`]); then time goes on.
//!
//! - this file: the loop and context switches. `program`: a thread's steps. `blocking`: waiting and waking.
//! - `progress`: how fast running threads go. `clocks`: cpufreq and cpuidle decisions. `memory`, `hardware`: state that
//!   others change and energy follows. `stuck`: who waits for whom when nothing can happen any more. `report`: the end.

mod blocking;
mod clocks;
mod hardware;
mod latency;
mod loops;
mod memory;
mod meter;
mod program;
mod progress;
mod queue;
mod report;
mod stuck;
mod thread;

use std::collections::VecDeque;
use std::sync::Arc;

use rand::RngExt;
use rand::SeedableRng;
use rand_pcg::Pcg32;

use crate::kernel::Kernel;
use crate::kernel::core::{Scheduler, Switch};
use crate::kernel::cpumask::CpuMask;
use crate::kernel::fair::energy::EnergyModel;
use crate::kernel::sync::SyncObjects;
use crate::kernel::task::TaskState;
use crate::machine::Machine;
use crate::observer::{Observer, PrevState, TaskInfo};
use crate::simulation::{Options, SimulationError};
use crate::units::{CpuId, Nanos, PackageId, PerformanceDomainId, TaskId};
use crate::workload::Workload;
use clocks::Clocks;
use hardware::Hardware;
use loops::LoopState;
use memory::Memory;
use progress::Running;
use queue::EventQueue;
use thread::{Segment, Thread};

/// A run in progress.
pub(crate) struct Engine<'r> {
    machine: &'r Machine,
    workload: &'r Workload,
    options: &'r Options,
    observer: &'r mut dyn Observer,
    queue: EventQueue,
    slots: Slots,
    now: Nanos,
    scheduler: Scheduler,
    hardware: Hardware<'r>,
    memory: Memory,
    clocks: Clocks,
    sync: SyncObjects,
    loops: Vec<LoopState>,
    /// Expiry of the timers that threads share.
    shared_timers: Vec<Option<Nanos>>,
    threads: Vec<Thread>,
    /// How many threads of each kind were made.
    made: Vec<u32>,
    running: Vec<Running>,
    /// CPUs whose thread is to read its next step.
    to_advance: VecDeque<CpuId>,
    /// CPUs whose thread goes at another pace from now on.
    to_pace: Vec<CpuId>,
    tick_phase: Nanos,
    live_applications: u32,
    /// Application threads that wait for another thread.
    blocked_applications: u32,
    /// Sleeping threads with a timer.
    sleepers: u32,
    /// Whether system tasks synchronise, so that they could wake an application.
    system_syncs: bool,
    counters: Counters,
    warnings: Vec<String>,
}

#[derive(Debug, Default)]
struct Counters {
    events: u64,
    switches: u64,
    time_limited: bool,
    ended: bool,
    stuck: bool,
}

/// What the slots of the event queue stand for.
#[derive(Debug, Clone, Copy)]
struct Slots {
    cpus: usize,
    domains: usize,
}

/// An event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Event {
    /// What runs on a CPU is through with its segment.
    Run(CpuId),
    /// The scheduler tick.
    Tick(CpuId),
    /// A new clock takes effect.
    Clock(PerformanceDomainId),
    /// The real-time period.
    RtPeriod,
    /// The time limit.
    End,
    /// A thread's sleep is over.
    Timer(TaskId),
}

impl Slots {
    fn run(&self, cpu: CpuId) -> usize {
        cpu.index()
    }

    fn tick(&self, cpu: CpuId) -> usize {
        self.cpus + cpu.index()
    }

    fn clock(&self, domain: PerformanceDomainId) -> usize {
        2 * self.cpus + domain.index()
    }

    fn rt_period(&self) -> usize {
        2 * self.cpus + self.domains
    }

    fn end(&self) -> usize {
        self.rt_period() + 1
    }

    fn timer(&self, task: TaskId) -> usize {
        self.end() + 1 + task.index()
    }

    fn event(&self, slot: usize) -> Event {
        match slot {
            _ if slot < self.cpus => Event::Run(CpuId::at(slot)),
            _ if slot < 2 * self.cpus => Event::Tick(CpuId::at(slot - self.cpus)),
            _ if slot < self.rt_period() => Event::Clock(PerformanceDomainId::at(slot - 2 * self.cpus)),
            _ if slot == self.rt_period() => Event::RtPeriod,
            _ if slot == self.end() => Event::End,
            _ => Event::Timer(TaskId::at(slot - self.end() - 1)),
        }
    }
}

impl<'r> Engine<'r> {
    /// Sets up a run; nothing has happened yet.
    pub fn new(
        machine: &'r Machine,
        workload: &'r Workload,
        options: &'r Options,
        observer: &'r mut dyn Observer,
    ) -> Self {
        let mut seeds = Pcg32::seed_from_u64(options.seed);
        let kernel_rng = Pcg32::seed_from_u64(seeds.random());
        let tick_phase = seeds.random_range(0..options.kernel.tick());
        let mut kernel = Kernel::new(machine, options.kernel.clone(), kernel_rng);
        let clocks = Clocks::new(machine, options);
        kernel.cpufreq_hook = clocks.listens();
        let energy_aware = options.kernel.energy_aware
            && options.kernel.capacity_aware
            && clocks.is_schedutil()
            && kernel.topology.asym.iter().any(Option::is_some);
        let scheduler = Scheduler::new(kernel, energy_aware.then(|| EnergyModel::of(machine)));
        let slots = Slots { cpus: machine.cpus.len(), domains: machine.performance_domains.len() };
        let mut hardware = Hardware::new(machine);
        hardware.observe = observer.wants_power();
        Self {
            machine,
            workload,
            options,
            observer,
            queue: EventQueue::with_slots(slots.timer(TaskId(0))),
            slots,
            now: 0,
            scheduler,
            hardware,
            memory: Memory::new(machine),
            clocks,
            sync: SyncObjects::new(&workload.objects, workload.tasks.len()),
            loops: workload.loops.iter().map(|_| LoopState::default()).collect(),
            shared_timers: vec![None; workload.objects.timers.len()],
            threads: Vec::new(),
            made: vec![0; workload.tasks.len()],
            running: machine.cpus.iter().map(|_| Running::default()).collect(),
            to_advance: VecDeque::new(),
            to_pace: Vec::new(),
            tick_phase,
            live_applications: 0,
            blocked_applications: 0,
            sleepers: 0,
            system_syncs: stuck::system_syncs(workload),
            counters: Counters::default(),
            warnings: Vec::new(),
        }
    }

    /// Runs to the end: all application threads have ended, or the time limit is reached.
    ///
    /// # Errors
    /// Nothing can happen any more although application threads wait; or a thread loops without consuming time.
    pub fn run(&mut self) -> Result<(), SimulationError> {
        self.start()?;
        while !self.counters.ended {
            let Some((time, slot)) = self.queue.pop() else { return Err(self.stuck()) };
            self.counters.events += 1;
            self.now = time;
            self.scheduler.kernel.now = time;
            self.hardware.set_now(time);
            self.handle(self.slots.event(slot));
            self.settle()?;
        }
        Ok(())
    }

    fn start(&mut self) -> Result<(), SimulationError> {
        self.start_clocks();
        if let Some(limit) = self.options.time_limit.or(self.workload.duration) {
            self.queue.set(self.slots.end(), limit);
        }
        let boot = self.scheduler.kernel.topology.online.first().unwrap_or(CpuId(0));
        for spec in 0..self.workload.tasks.len() {
            for _ in 0..self.workload.tasks[spec].instances {
                self.spawn(spec as u32, None, boot);
            }
        }
        for cpu in self.machine.online() {
            self.enter_idle(cpu);
        }
        self.hardware.tell_all_power();
        if self.live_applications == 0 {
            self.counters.ended = true;
        }
        self.settle()
    }

    /// Makes a thread of kind `spec`; it starts now, or at its delay from the workload's start, as rt-app counts it.
    fn spawn(&mut self, spec: u32, parent: Option<TaskId>, cpu: CpuId) -> TaskId {
        let kind = &self.workload.tasks[spec as usize];
        let allowed = self.affinity(kind.affinity.as_deref());
        let task = self.scheduler.task_new(kind.scheduling, allowed);
        let ordinal = self.made[spec as usize];
        self.made[spec as usize] += 1;
        let several = kind.instances != 1 || parent.is_some();
        let mut thread = Thread::new(spec, kind, several.then_some(ordinal), task, self.options.seed);
        thread.parent = parent;
        if !kind.system {
            self.live_applications += 1;
        }
        let info = TaskInfo {
            id: task,
            name: thread.name(kind),
            application: (!kind.system).then_some(kind.application),
            priority: self.scheduler.kernel.task(task).kernel_priority(),
        };
        self.threads.push(thread);
        self.observer.task_new(self.now, &info);
        if kind.delay > self.now {
            self.scheduler.kernel.task_mut(task).cpu = cpu;
            self.queue.set(self.slots.timer(task), kind.delay);
            self.sleepers += 1;
        } else {
            self.start_thread(task, cpu);
        }
        task
    }

    fn start_thread(&mut self, task: TaskId, cpu: CpuId) {
        self.threads[task.index()].runnable_since = self.now;
        self.scheduler.wake_up_new_task(task, cpu);
        let target = self.scheduler.kernel.task(task).cpu;
        self.observer.sched_waking(self.now, task, target, cpu);
    }

    /// CPUs of a file's list that this machine has; all if none of them exists.
    fn affinity(&mut self, cpus: Option<&[u32]>) -> Option<Arc<CpuMask>> {
        let count = self.machine.cpus.len();
        let online = |cpu: &&u32| (**cpu as usize) < count && self.machine.cpus[**cpu as usize].online;
        let usable: Vec<CpuId> = cpus?.iter().filter(online).map(|cpu| CpuId(*cpu)).collect();
        if usable.is_empty() {
            self.warn(format!("affinity {cpus:?} names no online CPU of {}: ignored", self.machine.name));
            return None;
        }
        Some(Arc::new(CpuMask::of(count, usable)))
    }

    fn warn(&mut self, warning: String) {
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Run(cpu) => self.segment_over(cpu),
            Event::Tick(cpu) => self.tick(cpu),
            Event::Clock(domain) => self.clock_arrives(domain),
            Event::RtPeriod => {
                let Scheduler { kernel, rt, .. } = &mut self.scheduler;
                if rt.period(kernel) {
                    self.queue.set(self.slots.rt_period(), self.now + self.options.kernel.rt_period);
                }
            }
            Event::End => {
                self.counters.time_limited = true;
                self.counters.ended = true;
            }
            Event::Timer(task) => self.timer_expires(task),
        }
    }

    fn tick(&mut self, cpu: CpuId) {
        if self.running[cpu.index()].task.is_none() {
            // The tick ran on because the governor expected a short pause: it wakes the CPU, which chooses anew.
            self.reselect_idle(cpu);
            return;
        }
        self.queue.set_in_order(self.slots.tick(cpu), self.now + self.options.kernel.tick());
        self.charge(cpu, self.machine.costs.tick);
        self.scheduler.tick(cpu);
    }

    /// The next tick of the grid that all CPUs share.
    fn next_tick(&self) -> Nanos {
        let tick = self.options.kernel.tick();
        let since = (self.now + tick - self.tick_phase) % tick;
        self.now + tick - since
    }

    /// Carries out decisions until nothing changes any more at this instant.
    fn settle(&mut self) -> Result<(), SimulationError> {
        loop {
            if let Some(switch) = self.scheduler.next_switch() {
                self.switch(switch);
            } else if let Some(cpu) = self.to_advance.pop_front() {
                self.advance(cpu)?;
            } else if !self.power_and_pace() {
                break;
            }
        }
        self.note_migrations();
        if self.hardware.observe {
            self.show_power();
        }
        if self.scheduler.kernel.rt_active && self.queue.time_of(self.slots.rt_period()).is_none() {
            self.queue.set(self.slots.rt_period(), self.now + self.options.kernel.rt_period);
        }
        if !self.counters.ended && !self.counters.stuck && self.nothing_can_happen() {
            return self.end_or_wait_for_limit();
        }
        Ok(())
    }

    /// With a time limit the machine idles up to it, as rt-app does up to its duration, and the report says so.
    fn end_or_wait_for_limit(&mut self) -> Result<(), SimulationError> {
        let stuck = self.stuck();
        if self.queue.time_of(self.slots.end()).is_none() {
            return Err(stuck);
        }
        self.counters.stuck = true;
        self.warn(stuck.to_string());
        Ok(())
    }

    fn note_migrations(&mut self) {
        for task in self.scheduler.kernel.migrated.drain(..) {
            self.threads[task.index()].stats.migrations += 1;
        }
    }

    /// A context switch, as the scheduler decided it.
    fn switch(&mut self, switch: Switch) {
        let Switch { cpu, prev, next } = switch;
        self.counters.switches += 1;
        self.account(cpu);
        let left = prev.map(|task| (task, self.leave(cpu, task)));
        self.observer.sched_switch(self.now, cpu, left, next);
        match next {
            Some(task) => self.enter(cpu, task, prev.is_none()),
            None => {
                self.running[cpu.index()].task = None;
                self.queue.cancel(self.slots.run(cpu));
                self.queue.cancel(self.slots.tick(cpu));
                self.enter_idle(cpu);
            }
        }
    }

    fn leave(&mut self, cpu: CpuId, task: TaskId) -> PrevState {
        self.stop_using_memory(cpu);
        self.running[cpu.index()].last_task = Some(task);
        self.note_warm_up(cpu, task);
        match self.scheduler.kernel.task(task).state {
            TaskState::Dead => PrevState::Dead,
            TaskState::Blocked => PrevState::Sleeping,
            TaskState::New | TaskState::Runnable => {
                self.threads[task.index()].runnable_since = self.now;
                PrevState::Runnable
            }
        }
    }

    /// `task` gets `cpu`: after what waking the CPU and switching to it cost, it goes on.
    fn enter(&mut self, cpu: CpuId, task: TaskId, from_idle: bool) {
        let latency = if from_idle { self.leave_idle(cpu) } else { 0 };
        let tick = self.running[cpu.index()].kernel_until.saturating_sub(self.now);
        let overhead = latency + tick + self.switch_cost(cpu, task) + self.warm_up(cpu, task);
        let thread = &mut self.threads[task.index()];
        thread.stats.switches += 1;
        thread.stats.wait_time += self.now - thread.runnable_since;
        if let Some(woken) = thread.woken_at.take() {
            thread.stats.latencies.add(self.now + overhead - woken);
        }
        thread.last_cpu = Some(cpu);
        let running = &mut self.running[cpu.index()];
        (running.task, running.since, running.start) = (Some(task), self.now, self.now + overhead);
        if from_idle {
            self.queue.set_in_order(self.slots.tick(cpu), self.next_tick());
        }
        self.recheck_spin(task);
        self.begin(cpu);
    }

    /// Whether `task` comes back to `cpu` and nobody ran there meanwhile.
    fn is_untouched(&self, cpu: CpuId, task: TaskId) -> bool {
        self.running[cpu.index()].last_task == Some(task) && self.threads[task.index()].last_cpu == Some(cpu)
    }

    /// Cost of the switch to `task` itself.
    fn switch_cost(&self, cpu: CpuId, task: TaskId) -> Nanos {
        if self.is_untouched(cpu, task) { 0 } else { self.machine.costs.context_switch }
    }

    /// Cost of cold caches: a migration, the return of its footprint.
    ///
    /// A stay that ended before this was paid leaves the rest to the next one, which then costs nothing more: a real
    /// thread gets on, slowly, while it misses, and must not be held up for ever by slices shorter than this.
    fn warm_up(&mut self, cpu: CpuId, task: TaskId) -> Nanos {
        if self.threads[task.index()].warm_up == 0 && !self.is_untouched(cpu, task) {
            self.threads[task.index()].warm_up = self.migration_cost(cpu, task) + self.refill_time(cpu, task);
        }
        self.threads[task.index()].warm_up
    }

    /// What of its warm-up `task` leaves unpaid as it leaves `cpu`. Cut off just as it was about to get on, a nanosecond
    /// stays, or the next stay would cost the whole again.
    fn note_warm_up(&mut self, cpu: CpuId, task: TaskId) {
        let running = &self.running[cpu.index()];
        let since = running.kernel_until.max(self.now);
        let unpaid = if running.start < self.now { 0 } else { running.start.saturating_sub(since).max(1) };
        let thread = &mut self.threads[task.index()];
        thread.warm_up = thread.warm_up.min(unpaid);
    }

    fn migration_cost(&self, cpu: CpuId, task: TaskId) -> Nanos {
        let Some(last) = self.threads[task.index()].last_cpu.filter(|last| *last != cpu) else { return 0 };
        let costs = &self.machine.costs;
        let shared = self.scheduler.kernel.cpus_share_cache(last, cpu);
        costs.migration + if shared { 0 } else { costs.migration_llc }
    }

    /// Moves on whatever runs on `cpu`: its next step is read now, or when its overhead is over.
    fn begin(&mut self, cpu: CpuId) {
        let Some(task) = self.running[cpu.index()].task else { return };
        self.start_using_memory(cpu, task);
        if self.threads[task.index()].segment != Segment::None {
            self.pace_later(cpu);
            return;
        }
        self.hardware.run(cpu, self.activity_of(task));
        let start = self.running[cpu.index()].start;
        if start > self.now {
            self.queue.set(self.slots.run(cpu), start);
        } else {
            self.queue.cancel(self.slots.run(cpu));
            self.to_advance.push_back(cpu);
        }
    }

    fn show_power(&mut self) {
        let mut changes = std::mem::take(&mut self.hardware.power_changes);
        if changes.is_empty() {
            return;
        }
        changes.sort_unstable();
        changes.dedup();
        for cpu in &changes {
            self.observer.cpu_power(self.now, *cpu, self.hardware.cpu_watts(*cpu));
        }
        for package in 0..self.machine.packages.len() {
            let package = PackageId::at(package);
            self.observer.package_power(self.now, package, self.hardware.package_watts(package));
        }
    }
}
