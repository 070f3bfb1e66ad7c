// SPDX-License-Identifier: MIT OR Apache-2.0
//! The event loop: next event, advance work, integrate energy. The only place with time.
//!
//! After each event the scheduler's decisions are carried out until nothing changes any more at this instant
//! ([`Engine::settle`]); then time goes on.
//!
//! - this file: the loop. `agenda`: what time it is and what is to happen when. `queue`: what comes next. `events`: what
//!   can happen.
//! - `threads`: all threads; `thread`: where one is; `waits`: how many of them wait; `processes`: which belong together.
//!   `lifecycle`: threads begin and end. `program`: a thread's steps. `shared`: what threads share; `loops`: steps of
//!   loops that they share.
//! - `blocking`: waiting and waking. `inherit`: priority inheritance. `stuck`: which thread waits for which when nothing
//!   can happen any more.
//! - `switching`: context switches and what they cost. `progress`: how far running threads get; `pacing`: how fast they go. `memory`,
//!   `siblings`: what slows them down; `users`: who uses a path to memory. `nodes`: the ways to memory that has a home; `numa`: threads and their memory find each other.
//! - `interrupts`: what takes time from CPUs. `slack`: timers that may go off late, together.
//!   `full_dynticks`: CPUs that do without a tick.
//! - `paths`: what the kernel itself takes; `locks`: where CPUs wait for each other in it.
//! - `clocks`: cpufreq decisions. `pauses`: cpuidle decisions. `hardware`: what the machine then does, and draws;
//!   `meter`: what that sums up to. `steering`: knobs that the processor leaves to programs. `counting`: what performance counters show.
//! - `cgroups`: groups come, go and change. `sched_ext`: a loaded scheduler's coming and cost; `loader`: the program that
//!   loads it. `hotplug`: CPUs come and go.
//! - `outcome`: counts and warnings. `report`: the end; `latency`: how long waits were; `rounds`: how long what threads did took
//!   from its cause on; `gaps`: what a workload asks for in vain; `ignored`: what a loaded scheduler does not heed. `details`: what observers are told. `audit`: whether all of
//!   this agrees.

mod agenda;
mod audit;
mod blocking;
mod cgroups;
mod clocks;
mod counting;
mod details;
mod disturbance;
mod events;
mod full_dynticks;
mod hardware;
mod hotplug;
mod ignored;
mod inherit;
mod interrupts;
mod latency;
mod lifecycle;
mod loader;
mod locks;
mod loops;
mod memory;
mod meter;
mod nodes;
mod numa;
mod outcome;
mod pacing;
mod paths;
mod pauses;
mod processes;
mod program;
mod progress;
mod queue;
mod report;
mod rounds;
mod sched_ext;
mod shared;
mod siblings;
mod slack;
pub(crate) mod steering;
mod stuck;
mod switching;
mod thread;
mod threads;
mod users;
mod waits;

use rand::RngExt;
use tandem_bpf_vm::memory::Account;

use crate::error::SimulationError;
use crate::kernel::Kernel;
use crate::kernel::cgroup::CgroupTree;
use crate::kernel::fair::energy::EnergyModel;
use crate::kernel::fair::numa::Numa;
use crate::machine::Machine;
use crate::observer::{EVENTS_BETWEEN_STOPS, Observer};
use crate::options::Options;
use crate::sched::core::Sched;
use crate::streams::{Stream, Streams};
use crate::units::CpuId;
use crate::workload::Workload;
use agenda::Agenda;
use audit::Auditor;
use cgroups::CgroupChanges;
use clocks::Clocks;
use details::Details;
use events::Event;
use full_dynticks::FullDynticks;
use hardware::{Hardware, limits};
use hotplug::HotplugPlan;
use interrupts::Interrupts;
use loader::Loader;
use outcome::Outcome;
use pauses::Pauses;
use progress::Progress;
use shared::Shared;
use slack::SoftTimers;
use threads::{PER_THREAD, Threads};

/// A run in progress.
///
/// Each part knows one thing. A function takes the parts that it needs; a method of the engine is what needs most of them.
pub(crate) struct Engine<'r> {
    machine: &'r Machine,
    options: &'r Options,
    observer: &'r mut dyn Observer,
    /// What is kept for an observer that wants details.
    details: Details,
    agenda: Agenda,
    sched: Sched,
    hardware: Hardware<'r>,
    clocks: Clocks<'r>,
    pauses: Pauses,
    threads: Threads<'r>,
    /// What threads share.
    shared: Shared,
    running: Progress<'r>,
    /// What is still to become of cgroups.
    cgroups: CgroupChanges,
    /// CPUs that are still to come and go.
    hotplug: HotplugPlan,
    /// Interrupts that are still to come.
    interrupts: Interrupts<'r>,
    /// Timers that may go off before they must.
    soft: SoftTimers,
    /// CPUs that may do without a tick.
    full: FullDynticks,
    /// The program that loads a sched_ext scheduler.
    loader: Loader<'r>,
    outcome: Outcome,
    /// What checks all of this, if anything does.
    audit: Option<Box<Auditor>>,
    /// What turns the processor's knobs beside a loaded scheduler, if anything does.
    steered: Option<Box<steering::Steered>>,
    /// What pays for the run's memory.
    account: Account,
    /// How fast the kernel's own code is.
    kernel_pace: paths::Pace,
    /// Locks of run queues and dispatch queues.
    locks: locks::Locks,
}

impl<'r> Engine<'r> {
    /// Sets up a run; nothing has happened yet.
    pub fn new(
        machine: &'r Machine,
        workload: &'r Workload,
        options: &'r Options,
        observer: &'r mut dyn Observer,
    ) -> Self {
        let streams = Streams::new(options.seed);
        let tick_phase = streams.of(Stream::TickPhase).random_range(0..options.kernel.tick());
        let mut kernel = Kernel::new(machine, options.kernel.clone(), streams.of(Stream::Kernel));
        let clocks = Clocks::new(machine, options);
        kernel.cpufreq_hook = clocks.listens();
        kernel.firmware_watches = clocks.watches();
        kernel.cgroups = CgroupTree::of(workload, machine.cpus.len());
        if options.kernel.autogroup {
            kernel.cgroups.add_autogroups(workload);
        }
        kernel.paths.take_time = paths::take_time(machine, &options.kernel);
        kernel.uclamp_used |= kernel.cgroups.has_clamps();
        let energy_aware = options.kernel.energy_aware
            && options.kernel.capacity_aware
            && clocks.is_schedutil()
            && !kernel.topology.smt_active
            && kernel.topology.asym.iter().any(Option::is_some)
            && EnergyModel::is_registered(machine, kernel.params.linux);
        let mut sched = Sched::new(kernel, energy_aware.then(|| EnergyModel::of(machine)).flatten());
        sched.fair.numa = options.kernel.numa_balancing.then(|| Numa::of(machine).map(Box::new)).flatten();
        let mut hardware = Hardware::new(machine, options.kernel.hot_start);
        hardware.observe = observer.wants_power();
        Self {
            machine,
            options,
            details: Details::new(observer.wants_details(), machine),
            observer,
            agenda: Agenda::new(machine, options.kernel.tick(), tick_phase),
            full: FullDynticks::new(machine, &options.kernel, &sched),
            sched,
            hardware,
            clocks,
            pauses: Pauses::new(machine, &options.kernel),
            shared: Shared::new(workload),
            threads: Threads::new(workload, streams),
            running: Progress::new(machine, workload),
            outcome: Outcome::default(),
            cgroups: CgroupChanges::default(),
            hotplug: HotplugPlan::default(),
            interrupts: Interrupts::new(&workload.interrupts, machine, streams),
            soft: SoftTimers::new(machine.cpus.len()),
            loader: Loader::new(options, streams),
            audit: options.audit.map(|audit| Box::new(Auditor::new(audit))),
            steered: None,
            account: options.memory.open(),
            kernel_pace: paths::Pace::new(machine, &options.kernel),
            locks: locks::Locks::default(),
        }
    }

    /// Runs to the end: all application threads have ended, or the time limit is reached.
    ///
    /// # Errors
    /// Nothing can happen any more although application threads wait; or a thread loops without consuming time; or the
    /// observer wants no more.
    pub fn run(&mut self) -> Result<(), SimulationError> {
        self.start()?;
        self.audit();
        while !self.outcome.ended {
            let Some(event) = self.agenda.next() else {
                return Err(stuck::report(&self.threads, &self.shared, self.agenda.now()));
            };
            self.outcome.events += 1;
            if self.outcome.events.is_multiple_of(EVENTS_BETWEEN_STOPS) && self.observer.stopped() {
                return Err(SimulationError::Stopped { at: self.agenda.now() });
            }
            self.sched.kernel.now = self.agenda.now();
            self.hardware.set_now(self.agenda.now());
            self.handle(event)?;
            self.settle()?;
            self.audit();
        }
        Ok(())
    }

    fn start(&mut self) -> Result<(), SimulationError> {
        self.start_clocks();
        let workload = self.threads.workload;
        let limit = self.options.time_limit.or(workload.duration);
        if let Some(limit) = limit {
            self.agenda.set(Event::End, limit);
        }
        self.hotplug = HotplugPlan::new(&self.options.hotplug, self.machine, &mut self.agenda)?;
        self.hotplug_at_start();
        let boot = hotplug::boot_cpu(&self.sched);
        self.load_scheduler(boot)?;
        if self.hardware.has_limits() {
            self.agenda.set(Event::Limits, limits::PERIOD);
        }
        self.agenda.set_to(Event::Interrupt, self.interrupts.next());
        self.machine.odd_nodes().into_iter().for_each(|warning| self.outcome.warn(warning));
        cgroups::check_cpus(&workload.cgroups, self.machine, &mut self.outcome);
        self.cgroups.queue(&workload.cgroups, &self.sched.kernel.cgroups, &mut self.agenda);
        let threads = workload.tasks.iter().map(|kind| u64::from(kind.instances)).fold(0, u64::saturating_add);
        self.threads.have_room(threads, 0)?;
        self.account.take(threads * PER_THREAD)?;
        self.agenda.have_room(threads as usize);
        for spec in 0..workload.tasks.len() {
            for _ in 0..workload.tasks[spec].instances {
                self.spawn(spec as u32, None, boot);
                self.outcome.check()?;
            }
        }
        for cpu in self.machine.online() {
            self.enter_idle(cpu);
        }
        self.hardware.tell_all_power();
        // System tasks alone run up to the limit.
        let applications_live = self.threads.waits.applications_live();
        self.outcome.ended = !applications_live && (limit.is_none() || self.threads.is_empty());
        self.settle()
    }

    fn handle(&mut self, event: Event) -> Result<(), SimulationError> {
        match event {
            Event::Run(cpu) => self.segment_over(cpu),
            Event::Tick(cpu) => {
                self.tick(cpu);
                self.expire_soft(cpu);
            }
            Event::Interrupt => self.interrupts_come(),
            Event::RemoteTick => self.remote_tick(),
            Event::Hrtick(cpu) => self.hrtick(cpu),
            Event::Clock(domain) => self.clocks.arrive(domain, &mut self.hardware),
            Event::Sample(domain) => self.clocks.sample(domain, &self.sched, &mut self.hardware, &mut self.agenda),
            Event::Softirq => self.sched.softirq(),
            Event::FairServer => {
                let Sched { kernel, rt, .. } = &mut self.sched;
                rt.serve(kernel);
            }
            Event::Deadline => {
                let Sched { kernel, dl, .. } = &mut self.sched;
                dl.serve(kernel);
            }
            Event::Bandwidth => {
                let Sched { kernel, fair, .. } = &mut self.sched;
                fair.serve(kernel);
            }
            Event::SchedExt => self.sched_ext_timer()?,
            Event::Cgroup => self.cgroups.carry_out(&mut self.sched, &mut self.outcome, &mut self.agenda),
            Event::Hotplug => self.hotplug_event(),
            Event::Limits => self.enforce_limits(),
            Event::Steer => self.steer(),
            // What ends with the limit has ended: everything else of this instant comes first.
            Event::End if self.agenda.more_is_due() => self.agenda.set(Event::End, self.agenda.now()),
            Event::End => (self.outcome.time_limited, self.outcome.ended) = (true, true),
            Event::Timer(task) => {
                let cpu = self.timer_expires(task);
                self.soft.disarm(task);
                self.expire_soft(cpu);
            }
        }
        Ok(())
    }

    fn tick(&mut self, cpu: CpuId) {
        if self.running[cpu].task.is_none() {
            // The tick ran on because the governor expected a short pause: it wakes the CPU, which balances and, unless
            // that gave it work, chooses anew.
            if !self.sched.idle_tick(cpu) {
                self.reselect_idle(cpu);
            }
            return;
        }
        self.agenda.repeat_tick(cpu);
        self.charge(cpu, self.machine.costs.tick);
        self.refetch(cpu);
        self.sched.tick(cpu, self.machine.costs.tick);
        if self.sched.fair.numa.is_some() {
            self.numa_tick(cpu);
        }
        self.show_utilisation(cpu);
        self.tick_nohz_full_update_tick(cpu);
        if self.sched.fair.softirq_pending() {
            // Behind the ticks of the other CPUs, which are due at this instant too.
            self.agenda.set(Event::Softirq, self.agenda.now());
        }
    }

    /// The timer that ends slices on time: an interrupt as a tick is, without what only a tick does.
    fn hrtick(&mut self, cpu: CpuId) {
        if self.running[cpu].task.is_some() {
            self.charge(cpu, self.machine.costs.tick);
            self.refetch(cpu);
        }
        self.sched.hrtick(cpu, self.machine.costs.tick);
    }

    /// Carries out decisions until nothing changes any more at this instant.
    fn settle(&mut self) -> Result<(), SimulationError> {
        loop {
            if let Some(audit) = &mut self.audit {
                audit.step(self.sched.kernel.turns_so_far())?;
            }
            if let Some(switch) = self.sched.next_switch() {
                self.switch(switch);
                continue;
            }
            self.charge_callbacks();
            self.charge_paths();
            if !self.running.to_advance.is_empty()
                && let Some(cpu) = self.running.to_advance.pop_front()
            {
                self.advance(cpu)?;
            } else if !self.power_and_pace() && !self.settle_idle() {
                break;
            }
        }
        self.outcome.check()?;
        if let Some(over) = self.account.refused() {
            return Err(over.into());
        }
        self.count_migrations();
        self.show_rest();
        if self.hardware.observe {
            self.hardware.show_power(self.observer);
        }
        self.set_timers_of_classes();
        self.restart_ticks();
        self.loader.set_timer(&mut self.sched, &mut self.pauses, &mut self.agenda);
        if !self.outcome.ended && !self.outcome.stuck && self.nothing_can_happen() {
            return self.end_or_wait_for_limit();
        }
        Ok(())
    }

    /// Whether every application thread waits for another one, and no system task will help.
    fn nothing_can_happen(&self) -> bool {
        let waits = &self.threads.waits;
        let idle = || self.running.is_idle() && !self.sched.dl.has_throttled() && !self.sched.fair.has_throttled();
        waits.all_applications_block() && waits.nobody_helps(idle)
    }

    /// With a time limit the machine idles up to it, as rt-app does up to its duration, and the report says so.
    fn end_or_wait_for_limit(&mut self) -> Result<(), SimulationError> {
        let stuck = stuck::report(&self.threads, &self.shared, self.agenda.now());
        if self.agenda.time_of(Event::End).is_none() {
            return Err(stuck);
        }
        self.outcome.stuck = true;
        self.outcome.warn(stuck.to_string());
        Ok(())
    }

    /// Sets when groups' limits, fair tasks that wait for real-time ones, and deadline tasks are next to be looked after. Idle CPUs
    /// know of the timers of the first and the last.
    fn set_timers_of_classes(&mut self) {
        let Sched { kernel, rt, dl, fair, .. } = &mut self.sched;
        if fair.bandwidth_used() {
            for (cpu, time) in fair.armed.drain(..) {
                self.pauses.timer_set(cpu, self.agenda.now(), time);
            }
            self.agenda.set_to(Event::Bandwidth, fair.next_timer());
        }
        while let Some((cpu, time)) = fair.changed_hrticks() {
            self.agenda.set_to(Event::Hrtick(cpu), time);
        }
        if kernel.rt_active {
            self.agenda.set_to(Event::FairServer, rt.next_service(kernel));
        }
        if kernel.dl_active {
            for (cpu, time) in dl.armed.drain(..) {
                self.pauses.timer_set(cpu, self.agenda.now(), time);
            }
            self.agenda.set_to(Event::Deadline, dl.next_timer(kernel));
        }
    }
}
