// SPDX-License-Identifier: MIT OR Apache-2.0
//! The machine in motion: which cores run or idle, at which clock, and what all of it draws.
//!
//! Every change goes through [`Hardware::run`], [`Hardware::idle`] or [`Hardware::request`], and each pays for the power
//! that it ends. Nothing here knows tasks. CPUs that the configuration leaves offline stay in the deepest idle state.
//!
//! - this file: what changes, and what else changes with it. [`state`]: what is known of each part. [`draw`]: watts and
//!   joules. `sleep`: the way into idle states and out of them. [`uncore`]: packages, awake and asleep. [`limits`]: what power and
//!   heat leave of clocks. `audit`: whether all of this agrees.

mod audit;
mod draw;
pub mod limits;
mod sleep;
mod state;
mod uncore;

use crate::machine::Machine;
use crate::units::{ClusterId, CoreId, CpuId, Nanos, PackageId, PerformanceDomainId, seconds};
use limits::Budget;
use state::{ClusterState, Core, CpuState, DomainState, PackageState};

/// The state of all hardware.
#[derive(Debug)]
pub struct Hardware<'m> {
    machine: &'m Machine,
    now: Nanos,
    cpus: Vec<CpuState>,
    cores: Vec<Core>,
    clusters: Vec<ClusterState>,
    packages: Vec<PackageState>,
    domains: Vec<DomainState>,
    /// Packages with limits on power or temperature.
    budgets: Vec<Budget>,
    /// Domains whose effective clock changed; the caller drains the list.
    pub clock_changes: Vec<PerformanceDomainId>,
    /// CPUs whose power changed since an observer was last told; filled only while `observe` is set.
    power_changes: Vec<CpuId>,
    /// Whether an observer wants to see power changes.
    pub observe: bool,
    /// The power of a package's uncore has changed since an observer was last told.
    uncore_changed: bool,
}

impl<'m> Hardware<'m> {
    /// All CPUs idle in their first state, all clocks at the highest allowed OPP. `hot`: packages with limits begin as a long
    /// full load leaves them, else as if nothing had been drawn before.
    pub fn new(machine: &'m Machine, hot: bool) -> Self {
        let mut hardware = Self {
            machine,
            now: 0,
            cpus: machine.cpus.iter().enumerate().map(|(index, _)| CpuState::new(machine, CpuId::at(index))).collect(),
            cores: machine.cores.iter().map(|core| Core::new(machine, core)).collect(),
            clusters: (0..machine.clusters.len())
                .map(|index| ClusterState::new(machine, ClusterId::at(index)))
                .collect(),
            packages: (0..machine.packages.len())
                .map(|index| PackageState::new(machine, PackageId::at(index)))
                .collect(),
            domains: machine.performance_domains.iter().map(|domain| DomainState::new(machine, domain)).collect(),
            budgets: (0..machine.packages.len())
                .filter_map(|index| Budget::new(machine, PackageId::at(index), hot))
                .collect(),
            clock_changes: Vec::new(),
            power_changes: Vec::new(),
            observe: false,
            uncore_changed: false,
        };
        for domain in 0..hardware.domains.len() {
            hardware.apply_boost(PerformanceDomainId::at(domain));
        }
        hardware.clock_changes.clear();
        for core in 0..machine.cores.len() {
            hardware.update_clock(CoreId::at(core));
        }
        for cluster in 0..machine.clusters.len() {
            hardware.update_cluster(ClusterId::at(cluster));
        }
        for package in 0..machine.packages.len() {
            hardware.update_package(PackageId::at(package));
        }
        hardware
    }

    /// Lets time pass.
    #[inline]
    pub fn set_now(&mut self, now: Nanos) {
        self.now = now;
    }

    /// The effective clock of `cpu` in kHz: that of its core, which is the highest that its threads ask for.
    #[inline]
    pub fn khz(&self, cpu: CpuId) -> u32 {
        self.cores[self.machine.cpus[cpu.index()].core.index()].khz
    }

    /// The domain that clocks a core: the fastest where SMT siblings have one each.
    #[inline]
    fn core_domain(&self, core: CoreId) -> PerformanceDomainId {
        match &self.cores[core.index()].domains[..] {
            [single] => *single,
            several => several.iter().copied().max_by_key(|domain| self.domain_khz(*domain)).unwrap_or(several[0]),
        }
    }

    /// The effective clock of a domain in kHz.
    #[inline]
    pub fn domain_khz(&self, domain: PerformanceDomainId) -> u32 {
        self.machine.performance_domains[domain.index()].opps[self.domains[domain.index()].effective].khz
    }

    /// Whether an SMT sibling of `cpu` runs.
    #[inline]
    pub fn sibling_busy(&self, cpu: CpuId) -> bool {
        let core = &self.cores[self.machine.cpus[cpu.index()].core.index()];
        core.busy_threads > u32::from(self.cpus[cpu.index()].activity.is_some())
    }

    /// `cpu` runs with this switching activity from now on.
    #[inline]
    pub fn run(&mut self, cpu: CpuId, activity: f64) {
        let state = &mut self.cpus[cpu.index()];
        let core = state.core;
        match state.activity {
            Some(old) if old == activity => return,
            Some(_) => state.activity = Some(activity),
            None => self.wake(cpu, activity),
        }
        if self.cores[core.index()].is_single {
            self.count_core(core, None);
            self.update_single_busy(cpu, core, activity);
        } else {
            self.update_core(core);
        }
    }

    /// An interrupt takes `span` of the idle `cpu`, which wakes for it at the machine's default activity and is to go idle
    /// again at this instant: its core draws for the span what it does when it works, in one lump.
    pub fn interrupt(&mut self, cpu: CpuId, span: Nanos) {
        self.run(cpu, 1.0);
        let meter = &mut self.cpus[cpu.index()].meter;
        meter.add(meter.watts() * seconds(span));
    }

    fn wake(&mut self, cpu: CpuId, activity: f64) {
        self.reduce_until_awake(cpu);
        self.book_pause(cpu);
        let core = self.machine.cpus[cpu.index()].core;
        // All CPUs of a cluster that is powered down are idle: the one that wakes it is booked as busy after that.
        self.power_up(self.machine.cores[core.index()].cluster);
        let busy = self.machine.cluster(cpu).idle_states.len() + 1;
        let state = &mut self.cpus[cpu.index()];
        state.activity = Some(activity);
        state.residency.enter(self.now, busy);
        self.cores[core.index()].busy_threads += 1;
        if self.cores[core.index()].busy_threads == 1 {
            self.core_wakes(core);
        }
    }

    fn core_wakes(&mut self, core: CoreId) {
        let cluster = self.machine.cores[core.index()].cluster;
        self.clusters[cluster.index()].active_cores += 1;
        self.packages[self.machine.clusters[cluster.index()].package.index()].active_cores += 1;
        self.core_count_changed(cluster, 1);
    }

    /// `cpu` goes idle, into this state of its cluster.
    pub fn idle(&mut self, cpu: CpuId, idle_state: usize) {
        let was_busy = self.cpus[cpu.index()].activity.is_some();
        if !was_busy {
            self.book_pause(cpu);
            self.power_up(self.machine.cores[self.machine.cpus[cpu.index()].core.index()].cluster);
        }
        let state = &mut self.cpus[cpu.index()];
        state.activity = None;
        state.idle_state = idle_state;
        state.idle_since = self.now;
        state.residency.enter(self.now, idle_state);
        let core = self.machine.cpus[cpu.index()].core;
        if was_busy {
            self.cores[core.index()].busy_threads -= 1;
        }
        self.update_core(core);
        if self.cores[core.index()].busy_threads > 0 {
            return;
        }
        self.cores[core.index()].idle_since = self.now;
        let cluster = self.machine.cores[core.index()].cluster;
        if was_busy {
            self.clusters[cluster.index()].active_cores -= 1;
            self.packages[self.machine.clusters[cluster.index()].package.index()].active_cores -= 1;
        }
        self.core_count_changed(cluster, 0);
    }

    /// Sets the clock that the governor asks for; boost limits may allow less.
    pub fn request(&mut self, domain: PerformanceDomainId, opp: usize) {
        self.domains[domain.index()].requested = opp;
        self.apply_boost(domain);
    }

    /// A core of `cluster` woke, of which there are `woken`, or went idle. Among others that are awake, it changes nothing of what the
    /// cluster and the package draw, unless the fastest clock of those awake says that.
    fn core_count_changed(&mut self, cluster: ClusterId, woken: u32) {
        let package = self.machine.clusters[cluster.index()].package;
        if self.clusters[cluster.index()].active_cores == woken {
            self.update_cluster(cluster);
            self.update_followers(cluster);
        }
        let clocked = self.machine.packages[package.index()].uncore_clock.is_some();
        if self.packages[package.index()].active_cores == woken || clocked {
            self.update_package(package);
        }
        let state = &mut self.clusters[cluster.index()];
        if state.boost.update(&self.machine.clusters[cluster.index()].boost, state.active_cores) {
            for index in 0..self.clusters[cluster.index()].boost.domains.len() {
                self.apply_boost(self.clusters[cluster.index()].boost.domains[index]);
            }
        }
        let state = &mut self.packages[package.index()];
        if state.boost.update(&self.machine.packages[package.index()].boost, state.active_cores) {
            for index in 0..self.packages[package.index()].boost.domains.len() {
                self.apply_boost(self.packages[package.index()].boost.domains[index]);
            }
        }
    }

    /// Notes the clock of a core, and what it draws at that.
    fn update_clock(&mut self, core: CoreId) {
        self.cores[core.index()].khz = self.domain_khz(self.core_domain(core));
        self.update_core(core);
    }

    /// The highest OPP that boost limits allow, given how many cores are active.
    fn boost_opp(&self, domain: PerformanceDomainId) -> usize {
        let limits = self.domains[domain.index()].clusters.iter().map(|cluster| {
            let package = self.machine.clusters[cluster.index()].package;
            self.clusters[cluster.index()].boost.max_khz.min(self.packages[package.index()].boost.max_khz)
        });
        let limit = limits.min().unwrap_or(u32::MAX);
        let opps = &self.machine.performance_domains[domain.index()].opps;
        opps.partition_point(|opp| opp.khz <= limit).saturating_sub(1)
    }

    /// The highest allowed OPP not above the request, given how many cores are active and what limits leave.
    fn apply_boost(&mut self, domain: PerformanceDomainId) {
        let allowed = self.boost_opp(domain);
        let state = &self.domains[domain.index()];
        let effective = state.requested.min(allowed).min(state.cap);
        if effective == state.effective {
            return;
        }
        let state = &mut self.domains[domain.index()];
        state.effective = effective;
        state.residency.enter(self.now, effective);
        self.clock_changes.push(domain);
        for index in 0..self.domains[domain.index()].cores.len() {
            self.update_clock(self.domains[domain.index()].cores[index]);
        }
        for index in 0..self.domains[domain.index()].clusters.len() {
            let cluster = self.domains[domain.index()].clusters[index];
            self.update_cluster(cluster);
            self.update_followers(cluster);
            let package = self.machine.clusters[cluster.index()].package;
            if self.machine.packages[package.index()].uncore_clock.is_some() {
                self.update_package(package);
            }
        }
    }

    fn update_followers(&mut self, leader: ClusterId) {
        for index in 0..self.clusters[leader.index()].followers.len() {
            let follower = self.clusters[leader.index()].followers[index];
            for core in &self.machine.clusters[follower.index()].cores {
                self.update_core(*core);
            }
        }
    }

    /// Time of a domain at each OPP so far.
    pub fn frequency_residency(&mut self, domain: PerformanceDomainId) -> &[Nanos] {
        self.domains[domain.index()].residency.read(self.now)
    }

    /// Time of `cpu` in each idle state, then idle but not yet in one, then busy.
    pub fn cpu_residency(&mut self, cpu: CpuId) -> &[Nanos] {
        self.cpus[cpu.index()].residency.read(self.now)
    }

    /// Time that `cpu` was idle up to now.
    pub fn idle_time(&mut self, cpu: CpuId) -> Nanos {
        let residency = self.cpu_residency(cpu);
        residency[..residency.len() - 1].iter().sum()
    }
}
