// SPDX-License-Identifier: MIT OR Apache-2.0
//! Clocks (cpufreq): asks the governors, carries out what they decide.

use std::collections::BTreeSet;

use super::Engine;
use super::events::Event;
use crate::kernel::cpufreq::{CpuTimes, Governor, GovernorState, Policy};
use crate::kernel::pelt::freq_scale;
use crate::machine::{Machine, PerformanceDomain};
use crate::options::Options;
use crate::units::{CpuId, PerformanceDomainId};

/// The governors of all performance domains.
pub(super) struct Clocks {
    governor: Governor,
    policies: Vec<Option<(Policy, GovernorState)>>,
    /// Per domain: the OPP that is on its way.
    pending: Vec<Option<usize>>,
    /// Per CPU: its place in its domain.
    place: Vec<usize>,
}

impl Clocks {
    pub fn new(machine: &Machine, options: &Options) -> Self {
        let start = |domain: &PerformanceDomain| {
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
        Self {
            governor: options.governor,
            policies: machine.performance_domains.iter().map(start).collect(),
            pending: vec![None; machine.performance_domains.len()],
            place,
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
}

impl Engine<'_> {
    /// Governors that do not look at load set their clock once.
    pub(super) fn start_clocks(&mut self) {
        self.warn_of_governor();
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

    /// Says what the governor cannot do here. `userspace` with a clock beyond the operating points is brought within
    /// them, as the kernel does; it may well be a slip of the unit.
    fn warn_of_governor(&mut self) {
        let governor = self.clocks.governor;
        let policies = || self.clocks.policies.iter().flatten();
        let ranges: BTreeSet<(u32, u32)> = policies().map(|(policy, _)| (policy.min_khz(), policy.max_khz())).collect();
        // Nobody has to ask for schedutil to get it.
        if ranges.is_empty() && !self.clocks.is_schedutil() {
            self.outcome
                .warn(format!("{}: no CPU's clock can be changed, so {governor} does nothing", self.machine.name));
        }
        let Governor::Userspace { khz: Some(asked) } = governor else { return };
        for (min, max) in ranges.into_iter().filter(|(min, max)| !(min..=max).contains(&&asked)) {
            let [asked, min, max] = [asked, min, max].map(|khz| f64::from(khz) / 1000.0);
            let used = if asked < min { min } else { max };
            self.outcome.warn(format!("userspace: CPUs of {min} to {max} MHz run at {used} MHz, not at {asked} MHz"));
        }
    }

    /// Does what changed clocks, utilisation and siblings ask for; false if there is nothing to do.
    pub(super) fn power_and_pace(&mut self) -> bool {
        let mut busy = false;
        while let Some(domain) = self.hardware.clock_changes.pop() {
            self.clock_changed(domain);
            busy = true;
        }
        if !self.sched.kernel.cpufreq_updates.is_empty() {
            let updates = std::mem::take(&mut self.sched.kernel.cpufreq_updates);
            for cpu in &updates {
                self.ask_governor(*cpu);
            }
            // Keep the buffer; asking a governor never adds to it.
            self.sched.kernel.cpufreq_updates = updates;
            self.sched.kernel.cpufreq_updates.clear();
            busy = true;
        }
        if self.running.paces_change() {
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
                if !ondemand.dbs().due(self.agenda.now()) {
                    return;
                }
                let times = idle_times(cpus);
                ondemand.sample(policy, self.agenda.now(), |index| times[index])
            }
            GovernorState::Conservative(conservative) => {
                if !conservative.dbs().due(self.agenda.now()) {
                    return;
                }
                let times = idle_times(cpus);
                conservative.sample(policy, self.agenda.now(), |index| times[index])
            }
            GovernorState::Schedutil(schedutil) => {
                let (scheduler, pauses) = (&self.sched, &self.pauses);
                let util = |index: usize| scheduler.cpufreq_util(cpus[index], pauses.count(cpus[index]));
                if scheduler.kernel.dl_active {
                    schedutil.ignore_dl_rate_limit(self.clocks.place[cpu.index()], scheduler.dl.bandwidth(cpu));
                }
                schedutil.update(policy, self.agenda.now(), self.clocks.place[cpu.index()], false, util)
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
            self.agenda.set(Event::Clock(domain), self.agenda.now() + latency);
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
    pub(super) fn clock_changed(&mut self, domain: PerformanceDomainId) {
        let entry = &self.machine.performance_domains[domain.index()];
        let top = entry.opps[entry.opps.len() - 1].khz;
        for cpu in entry.cpus.iter().copied().filter(|cpu| self.machine.cpus[cpu.index()].online) {
            for index in 0..self.sched.kernel.topology.smt[cpu.index()].len() {
                let sibling = self.sched.kernel.topology.smt[cpu.index()][index];
                // A sibling with a clock of its own goes as fast as the faster of the two.
                if sibling == cpu || self.machine.cpus[sibling.index()].performance_domain != domain {
                    self.cpu_clock_changed(sibling, top);
                }
            }
        }
    }

    fn cpu_clock_changed(&mut self, cpu: CpuId, top_khz: u32) {
        let khz = self.hardware.khz(cpu);
        self.sched.kernel.update_rq_clock(cpu);
        self.sched.kernel.rq_mut(cpu).freq_scale = freq_scale(khz, top_khz) as u32;
        self.observer.cpu_frequency(self.agenda.now(), cpu, khz);
        self.running.pace_later(cpu);
    }
}
