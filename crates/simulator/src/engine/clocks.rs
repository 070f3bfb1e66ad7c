// SPDX-License-Identifier: MIT OR Apache-2.0
//! Clocks and idle states: asks the governors, carries out what they decide.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::Engine;
use crate::kernel::cpufreq::{CpuTimes, Governor, GovernorState, Policy};
use crate::kernel::cpuidle::{IdleEntry, MenuDevice, StateTimes};
use crate::kernel::pelt::freq_scale;
use crate::machine::Machine;
use crate::simulation::Options;
use crate::units::{ClusterId, CpuId, Nanos, PerformanceDomainId};

/// The state of all governors.
pub(super) struct Clocks {
    governor: Governor,
    policies: Vec<Option<(Policy, GovernorState)>>,
    /// Per domain: the OPP that is on its way.
    pending: Vec<Option<usize>>,
    /// Per CPU: its place in its domain.
    place: Vec<usize>,
    menu: Vec<MenuDevice>,
    /// Per cluster: its idle states as the menu governor sees them.
    states: Vec<Vec<StateTimes>>,
    /// Per CPU: expiry of timers set there, some already past.
    timers: Vec<BinaryHeap<Reverse<Nanos>>>,
    idle: Vec<IdleState>,
}

#[derive(Debug, Clone, Copy, Default)]
struct IdleState {
    since: Nanos,
    exit: Nanos,
    calls: u64,
}

impl Clocks {
    pub fn new(machine: &Machine, options: &Options) -> Self {
        let start = |domain: &crate::machine::PerformanceDomain| {
            let online = domain.cpus.iter().any(|cpu| machine.cpus[cpu.index()].online);
            if !domain.scalable || !online {
                return None;
            }
            let policy = Policy::new(domain);
            let capacity =
                if options.kernel.capacity_aware { machine.cpus[domain.cpus[0].index()].capacity } else { 1024 };
            let times = vec![CpuTimes::default(); domain.cpus.len()];
            let state = options.governor.start(&policy, u64::from(capacity), &times, 0, options.kernel.tick());
            Some((policy, state))
        };
        let mut place = vec![0; machine.cpus.len()];
        for domain in &machine.performance_domains {
            for (index, cpu) in domain.cpus.iter().enumerate() {
                place[cpu.index()] = index;
            }
        }
        let times = |cluster: &crate::machine::Cluster| {
            cluster
                .idle_states
                .iter()
                .map(|state| StateTimes { exit: state.exit, residency: state.residency })
                .collect()
        };
        Self {
            governor: options.governor,
            policies: machine.performance_domains.iter().map(start).collect(),
            pending: vec![None; machine.performance_domains.len()],
            place,
            menu: machine.cpus.iter().map(|_| MenuDevice::default()).collect(),
            states: machine.clusters.iter().map(times).collect(),
            timers: machine.cpus.iter().map(|_| BinaryHeap::new()).collect(),
            idle: vec![IdleState::default(); machine.cpus.len()],
        }
    }

    /// Whether the governor wants scheduler updates.
    pub fn listens(&self) -> bool {
        self.governor.listens()
    }

    /// Whether it is schedutil, which energy-aware placement relies on.
    pub fn is_schedutil(&self) -> bool {
        matches!(self.governor, Governor::Schedutil(_))
    }

    /// A timer was set on `cpu`; past ones are forgotten, as a CPU that never idles never asks for them.
    pub fn timer_set(&mut self, cpu: CpuId, now: Nanos, time: Nanos) {
        let timers = &mut self.timers[cpu.index()];
        while timers.peek().is_some_and(|time| time.0 <= now) {
            timers.pop();
        }
        timers.push(Reverse(time));
    }

    fn next_timer(&mut self, cpu: CpuId, now: Nanos) -> Option<Nanos> {
        let timers = &mut self.timers[cpu.index()];
        while timers.peek().is_some_and(|time| time.0 <= now) {
            timers.pop();
        }
        timers.peek().map(|time| time.0 - now)
    }
}

impl Engine<'_> {
    /// Governors that do not look at load set their clock once.
    pub(super) fn start_clocks(&mut self) {
        for domain in 0..self.machine.performance_domains.len() {
            let id = PerformanceDomainId::at(domain);
            let target =
                self.clocks.policies[domain].as_ref().and_then(|(policy, _)| self.clocks.governor.fixed_target(policy));
            if let Some(opp) = target {
                self.set_clock(id, opp);
            }
            self.clock_changed(id);
        }
        self.hardware.clock_changes.clear();
    }

    /// Does what changed clocks, utilisation and siblings ask for; false if there is nothing to do.
    pub(super) fn power_and_pace(&mut self) -> bool {
        let mut busy = false;
        while let Some(domain) = self.hardware.clock_changes.pop() {
            self.clock_changed(domain);
            busy = true;
        }
        if !self.scheduler.kernel.cpufreq_updates.is_empty() {
            let updates = std::mem::take(&mut self.scheduler.kernel.cpufreq_updates);
            for cpu in &updates {
                self.ask_governor(*cpu);
            }
            // Keep the buffer; asking a governor never adds to it.
            self.scheduler.kernel.cpufreq_updates = updates;
            self.scheduler.kernel.cpufreq_updates.clear();
            busy = true;
        }
        if !self.to_pace.is_empty() || self.memory.is_dirty() {
            self.pace_all();
            busy = true;
        }
        busy
    }

    fn ask_governor(&mut self, cpu: CpuId) {
        let domain = self.machine.cpus[cpu.index()].performance_domain;
        let cpus = &self.machine.performance_domains[domain.index()].cpus;
        let Some((policy, state)) = &mut self.clocks.policies[domain.index()] else { return };
        let hardware = &mut self.hardware;
        let mut idle_times = |cpus: &[CpuId]| -> Vec<CpuTimes> {
            let idle = |cpu: &CpuId| CpuTimes { idle: hardware.idle_time(*cpu), ..CpuTimes::default() };
            cpus.iter().map(idle).collect()
        };
        let target = match state {
            GovernorState::Fixed(_) => None,
            GovernorState::Ondemand(ondemand) => {
                if !ondemand.dbs().due(self.now) {
                    return;
                }
                let times = idle_times(cpus);
                ondemand.sample(policy, self.now, |index| times[index])
            }
            GovernorState::Conservative(conservative) => {
                if !conservative.dbs().due(self.now) {
                    return;
                }
                let times = idle_times(cpus);
                conservative.sample(policy, self.now, |index| times[index])
            }
            GovernorState::Schedutil(schedutil) => {
                let (scheduler, idle) = (&self.scheduler, &self.clocks.idle);
                let util = |index: usize| scheduler.cpufreq_util(cpus[index], idle[cpus[index].index()].calls);
                schedutil.update(policy, self.now, self.clocks.place[cpu.index()], false, util)
            }
        };
        if let Some(opp) = target {
            policy.set_current(opp);
            self.request_clock(domain, opp);
        }
    }

    /// A new clock takes effect after the transition latency; a request during a transition replaces its target.
    fn request_clock(&mut self, domain: PerformanceDomainId, opp: usize) {
        let latency = self.machine.performance_domains[domain.index()].transition_latency;
        if latency == 0 {
            self.set_clock(domain, opp);
            return;
        }
        if self.clocks.pending[domain.index()].replace(opp).is_none() {
            self.queue.set(self.slots.clock(domain), self.now + latency);
        }
    }

    pub(super) fn clock_arrives(&mut self, domain: PerformanceDomainId) {
        if let Some(opp) = self.clocks.pending[domain.index()].take() {
            self.set_clock(domain, opp);
        }
    }

    fn set_clock(&mut self, domain: PerformanceDomainId, opp: usize) {
        if let Some((policy, _)) = &mut self.clocks.policies[domain.index()] {
            policy.set_current(opp);
        }
        self.hardware.request(domain, opp);
    }

    /// The effective clock of a domain is another one: load tracking and progress follow.
    fn clock_changed(&mut self, domain: PerformanceDomainId) {
        let entry = &self.machine.performance_domains[domain.index()];
        let top = entry.opps[entry.opps.len() - 1].khz;
        for cpu in entry.cpus.iter().copied().filter(|cpu| self.machine.cpus[cpu.index()].online) {
            for index in 0..self.scheduler.kernel.topology.smt[cpu.index()].len() {
                let sibling = self.scheduler.kernel.topology.smt[cpu.index()][index];
                // A sibling with a clock of its own goes as fast as the faster of the two.
                if sibling == cpu || self.machine.cpus[sibling.index()].performance_domain != domain {
                    self.cpu_clock_changed(sibling, top);
                }
            }
        }
    }

    fn cpu_clock_changed(&mut self, cpu: CpuId, top_khz: u32) {
        let khz = self.hardware.khz(cpu);
        self.scheduler.kernel.update_rq_clock(cpu);
        self.scheduler.kernel.rq_mut(cpu).freq_scale = freq_scale(khz, top_khz) as u32;
        self.observer.cpu_frequency(self.now, cpu, khz);
        self.pace_later(cpu);
    }

    /// The idle thread takes over `cpu`: the menu governor chooses a state.
    pub(super) fn enter_idle(&mut self, cpu: CpuId) {
        let cluster = self.machine.cores[self.machine.cpus[cpu.index()].core.index()].cluster;
        let choice = if self.clocks.states[cluster.index()].len() > 1 && self.options.kernel.cpuidle {
            self.menu_select(cpu, cluster)
        } else {
            0
        };
        let exit = self.clocks.states[cluster.index()].get(choice).map_or(0, |state| state.exit);
        let state = &mut self.clocks.idle[cpu.index()];
        (state.since, state.exit) = (self.now, exit);
        state.calls += 1;
        self.scheduler.kernel.rq_mut(cpu).exit_latency = exit;
        self.pace_siblings(cpu);
        self.hardware.idle(cpu, choice);
        self.observer.cpu_idle(self.now, cpu, Some(choice as u32));
    }

    /// Asks the menu governor; where it expects a short pause, the tick goes on and wakes the CPU if it was wrong.
    fn menu_select(&mut self, cpu: CpuId, cluster: ClusterId) -> usize {
        let next_tick = self.next_tick() - self.now;
        let entry = IdleEntry {
            next_timer: self.clocks.next_timer(cpu, self.now),
            next_tick,
            tick: self.options.kernel.tick(),
            tick_stopped: false,
            latency_limit: Nanos::MAX,
        };
        let selection = self.clocks.menu[cpu.index()].select(&self.clocks.states[cluster.index()], &entry);
        if !selection.stop_tick {
            self.queue.set_in_order(self.slots.tick(cpu), self.now + next_tick);
        }
        selection.state
    }

    /// The tick found `cpu` idle: it measures its pause so far and chooses again, for longer.
    pub(super) fn reselect_idle(&mut self, cpu: CpuId) {
        let IdleState { since, exit, .. } = self.clocks.idle[cpu.index()];
        self.clocks.menu[cpu.index()].reflect(self.now - since, exit, true);
        self.observer.cpu_idle(self.now, cpu, None);
        self.enter_idle(cpu);
    }

    /// A thread takes over from the idle one; returns the time until `cpu` executes again.
    pub(super) fn leave_idle(&mut self, cpu: CpuId) -> Nanos {
        let latency = self.hardware.wakeup_latency(cpu);
        let IdleState { since, exit, .. } = self.clocks.idle[cpu.index()];
        self.clocks.menu[cpu.index()].reflect(self.now - since + latency, exit, false);
        self.scheduler.kernel.rq_mut(cpu).exit_latency = 0;
        self.observer.cpu_idle(self.now, cpu, None);
        self.pace_siblings(cpu);
        latency
    }

    /// SMT siblings go faster or slower when `cpu` stops or starts.
    fn pace_siblings(&mut self, cpu: CpuId) {
        for index in 0..self.scheduler.kernel.topology.smt[cpu.index()].len() {
            let sibling = self.scheduler.kernel.topology.smt[cpu.index()][index];
            if sibling != cpu {
                self.pace_later(sibling);
            }
        }
    }
}
