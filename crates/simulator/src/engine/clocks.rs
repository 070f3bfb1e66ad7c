// SPDX-License-Identifier: MIT OR Apache-2.0
//! Clocks (cpufreq): asks the governors, carries out what they decide.

use std::collections::BTreeSet;

use super::Engine;
use super::agenda::Agenda;
use super::events::Event;
use super::hardware::{Hardware, limits};
use super::outcome::Outcome;
use super::pauses::Pauses;
use crate::kernel::cpufreq::{CpuTimes, Governor, GovernorState, Policy, Relation};
use crate::kernel::pelt::freq_scale;
use crate::machine::{Machine, PerformanceDomain, ThrottleSeen};
use crate::options::Options;
use crate::sched::core::Sched;
use crate::units::{CpuId, PerformanceDomainId};

/// The governors of all performance domains.
pub(super) struct Clocks<'r> {
    machine: &'r Machine,
    governor: Governor,
    pub policies: Vec<Option<(Policy, GovernorState)>>,
    /// Per domain: the OPP that is on its way.
    pending: Vec<Option<usize>>,
    /// Per CPU: its place in its domain.
    place: Vec<usize>,
}

impl<'r> Clocks<'r> {
    /// All clocks of `machine` under the governor that `options` asks for.
    pub fn new(machine: &'r Machine, options: &Options) -> Self {
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
            machine,
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

    /// Whether firmware chooses clocks by what it sees, beside what the scheduler says.
    pub fn watches(&self) -> bool {
        self.governor.is_autonomous()
    }

    /// Whether the governor is schedutil, which energy-aware placement relies on.
    pub fn is_schedutil(&self) -> bool {
        matches!(self.governor, Governor::Schedutil(_))
    }

    /// A governor that does not look at load sets the clock of `domain` once.
    fn start(&mut self, domain: PerformanceDomainId, hardware: &mut Hardware<'_>) {
        let Some((policy, _)) = &mut self.policies[domain.index()] else { return };
        if let Some(opp) = self.governor.fixed_target(policy) {
            policy.set_current(opp);
            hardware.request(domain, opp);
        }
    }

    /// Says what the governor cannot do here. `userspace` with a clock beyond the operating points is brought within
    /// them, as the kernel does; it may well be a slip of the unit.
    fn warn(&self, outcome: &mut Outcome) {
        let governor = self.governor;
        let policies = self.policies.iter().flatten();
        let ranges: BTreeSet<(u32, u32)> = policies.map(|(policy, _)| (policy.min_khz(), policy.max_khz())).collect();
        // A run has schedutil without asking for it.
        if ranges.is_empty() && !self.is_schedutil() {
            outcome.warn(format!("{}: no CPU's clock can be changed, so {governor} does nothing", self.machine.name));
        }
        let Governor::Userspace { khz: Some(asked) } = governor else { return };
        for (min, max) in ranges.into_iter().filter(|(min, max)| !(min..=max).contains(&&asked)) {
            let [asked, min, max] = [asked, min, max].map(|khz| f64::from(khz) / 1000.0);
            let used = if asked < min { min } else { max };
            outcome.warn(format!("userspace: CPUs of {min} to {max} MHz run at {used} MHz, not at {asked} MHz"));
        }
    }

    /// The utilisation of `cpu` changed: asks the governor of its domain, and requests the clock that it decides on.
    fn ask(&mut self, cpu: CpuId, sched: &Sched, pauses: &Pauses, hardware: &mut Hardware<'_>, agenda: &mut Agenda) {
        let now = agenda.now();
        let domain = self.machine.cpus[cpu.index()].performance_domain;
        let cpus = &self.machine.performance_domains[domain.index()].cpus;
        let Some((policy, state)) = &mut self.policies[domain.index()] else { return };
        let mut idle_times = |cpus: &[CpuId]| -> Vec<CpuTimes> {
            let idle = |cpu: &CpuId| CpuTimes { idle: hardware.idle_time(*cpu), ..CpuTimes::default() };
            cpus.iter().map(idle).collect()
        };
        let target = match state {
            GovernorState::Fixed(_) => None,
            GovernorState::Ondemand(ondemand) => {
                if !ondemand.dbs().due(now) {
                    return;
                }
                let times = idle_times(cpus);
                ondemand.sample(policy, now, |index| times[index])
            }
            GovernorState::Conservative(conservative) => {
                if !conservative.dbs().due(now) {
                    return;
                }
                let times = idle_times(cpus);
                conservative.sample(policy, now, |index| times[index])
            }
            GovernorState::Schedutil(schedutil) => {
                let util = |index: usize| sched.cpufreq_util(cpus[index], pauses.count(cpus[index]));
                if sched.kernel.dl_active {
                    schedutil.ignore_dl_rate_limit(self.place[cpu.index()], sched.dl.bandwidth(cpu));
                }
                schedutil.update(policy, now, self.place[cpu.index()], false, util)
            }
            GovernorState::Pstate(pstate) => {
                // Firmware looks when its time comes; until then nothing tells it anything.
                if now >= pstate.next_sample() {
                    self.sample(domain, sched, hardware, agenda);
                } else if pstate.is_autonomous() && agenda.time_of(Event::Sample(domain)).is_none() {
                    agenda.set(Event::Sample(domain), pstate.next_sample());
                }
                return;
            }
        };
        if let Some(opp) = target {
            policy.set_current(opp);
            self.request(domain, opp, hardware, agenda);
        }
    }

    /// What follows the load of `domain` looks at it, and again soon if the clock may have to change while CPUs stay busy.
    pub fn sample(
        &mut self,
        domain: PerformanceDomainId,
        sched: &Sched,
        hardware: &mut Hardware<'_>,
        agenda: &mut Agenda,
    ) {
        let now = agenda.now();
        let cpus = &self.machine.performance_domains[domain.index()].cpus;
        let Some((policy, GovernorState::Pstate(pstate))) = &mut self.policies[domain.index()] else { return };
        let idle = |cpu: &CpuId| CpuTimes { idle: hardware.idle_time(*cpu), ..CpuTimes::default() };
        let times: Vec<CpuTimes> = cpus.iter().map(idle).collect();
        let target = pstate.sample(policy, now, |index| times[index]);
        if let Some(opp) = target {
            policy.set_current(opp);
        }
        let busy = || cpus.iter().any(|cpu| sched.kernel.rq(*cpu).curr.is_some());
        if pstate.is_autonomous() && !pstate.is_settled(policy) && busy() {
            agenda.set(Event::Sample(domain), pstate.next_sample());
        }
        if let Some(opp) = target {
            self.request(domain, opp, hardware, agenda);
        }
    }

    /// A new clock takes effect after the transition latency; a request during a transition replaces its target.
    fn request(&mut self, domain: PerformanceDomainId, opp: usize, hardware: &mut Hardware<'_>, agenda: &mut Agenda) {
        let latency = self.machine.performance_domains[domain.index()].transition_latency;
        if latency == 0 {
            hardware.request(domain, opp);
        } else if self.pending[domain.index()].replace(opp).is_none() {
            agenda.set(Event::Clock(domain), agenda.now() + latency);
        }
    }

    /// Asks for the operating point closest to `khz` within the limits.
    pub fn move_to(&mut self, domain: PerformanceDomainId, khz: u32, hardware: &mut Hardware<'_>, agenda: &mut Agenda) {
        let Some((policy, _)) = &mut self.policies[domain.index()] else { return };
        let opp = policy.resolve(khz, Relation::Closest);
        policy.set_current(opp);
        self.request(domain, opp, hardware, agenda);
    }

    /// The transition of a domain's clock is over.
    pub fn arrive(&mut self, domain: PerformanceDomainId, hardware: &mut Hardware<'_>) {
        let Some(opp) = self.pending[domain.index()].take() else { return };
        if let Some((policy, _)) = &mut self.policies[domain.index()] {
            policy.set_current(opp);
        }
        hardware.request(domain, opp);
    }
}

impl Engine<'_> {
    /// All clocks begin as their governors want them.
    pub(super) fn start_clocks(&mut self) {
        self.clocks.warn(&mut self.outcome);
        for domain in (0..self.machine.performance_domains.len()).map(PerformanceDomainId::at) {
            self.clocks.start(domain, &mut self.hardware);
            self.clock_changed(domain);
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
        if !self.sched.kernel.cpufreq_updates.is_empty() {
            let mut updates = std::mem::take(&mut self.sched.kernel.cpufreq_updates);
            for cpu in updates.iter().copied() {
                self.clocks.ask(cpu, &self.sched, &self.pauses, &mut self.hardware, &mut self.agenda);
            }
            updates.clear();
            // Keep the buffer; asking a governor never adds to it.
            self.sched.kernel.cpufreq_updates = updates;
            busy = true;
        }
        if self.running.paces_change() {
            self.pace_all();
            busy = true;
        }
        busy
    }

    /// Packages with limits look at what they drew, and once more a period later.
    pub(super) fn enforce_limits(&mut self) {
        // A look at limits is no event of the workload's.
        self.outcome.events -= 1;
        if self.hardware.enforce_limits() {
            self.tell_of_limits();
        }
        // Where nothing else will ever happen, neither must this.
        if !self.agenda.is_empty_but(Event::Steer) {
            self.agenda.set(Event::Limits, self.agenda.now() + limits::PERIOD);
        }
    }

    /// The kernel learns of the clocks that limits leave, in the way that the description of the package says.
    fn tell_of_limits(&mut self) {
        for (domain, khz) in self.hardware.limited_clocks() {
            let entry = &self.machine.performance_domains[domain.index()];
            let top = entry.opps[entry.opps.len() - 1].khz;
            let seen = self.machine.packages[self.machine.cluster(entry.cpus[0]).package.index()].throttle_seen_as;
            for cpu in entry.cpus.iter().filter(|cpu| self.machine.cpus[cpu.index()].online) {
                match seen {
                    ThrottleSeen::Nothing => {}
                    ThrottleSeen::CpufreqPressure => self.sched.kernel.update_cpufreq_pressure(*cpu, khz, top),
                    ThrottleSeen::HwPressure => self.sched.kernel.update_hw_pressure(*cpu, khz, top),
                }
            }
        }
    }

    /// The effective clock of a domain is another one: load tracking and progress follow.
    pub(super) fn clock_changed(&mut self, domain: PerformanceDomainId) {
        let machine = self.machine;
        let entry = &machine.performance_domains[domain.index()];
        let top_khz = entry.opps[entry.opps.len() - 1].khz;
        for cpu in entry.cpus.iter().filter(|cpu| machine.cpus[cpu.index()].online) {
            for index in 0..self.sched.kernel.topology.smt[cpu.index()].len() {
                let sibling = self.sched.kernel.topology.smt[cpu.index()][index];
                // A sibling with a clock of its own goes as fast as the faster of the two.
                if sibling != *cpu && machine.cpus[sibling.index()].performance_domain == domain {
                    continue;
                }
                let khz = self.hardware.khz(sibling);
                self.sched.kernel.update_rq_clock(sibling);
                self.sched.kernel.rq_mut(sibling).freq_scale = freq_scale(khz, top_khz) as u32;
                self.observer.cpu_frequency(self.agenda.now(), sibling, khz);
                self.running.pace_later(sibling);
            }
        }
    }
}
