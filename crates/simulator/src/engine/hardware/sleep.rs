// SPDX-License-Identifier: MIT OR Apache-2.0
//! Going to sleep and waking up: what the way in and out costs, in time and energy, and when a whole cluster sleeps.
//!
//! A core pays for its own state when a CPU of it wakes, a cluster for its own when the first of its cores does; both in proportion to
//! what has been entered by then (see [`transition`]). Until the first instruction what wakes draws no more than asleep.

use super::Hardware;
use super::state::Sleep;
use crate::machine::power::CoreState;
use crate::machine::{IdleScope, transition};
use crate::units::{ClusterId, CoreId, CpuId, Nanos};

impl Hardware<'_> {
    /// Time to the first instruction, if `cpu` woke now: that of its core's state, or of its cluster's if that is down and takes
    /// longer; and that of its package's.
    pub fn wakeup_latency(&self, cpu: CpuId) -> Nanos {
        let entry = self.machine.cluster(cpu);
        let states = &entry.idle_states;
        let core = self.machine.cpus[cpu.index()].core;
        if self.cores[core.index()].busy_threads > 0 {
            // A thread whose sibling runs waits in C0: nothing is to be powered up but the thread itself.
            return states.first().map_or(0, |idle| idle.typical_exit);
        }
        let package = self.package_wakeup_latency(entry.package);
        let Some(own) = states.get(entry.core_state(self.core_idle_state(core))) else { return package };
        let own = transition::wakeup_latency(own, self.now - self.cores[core.index()].idle_since);
        let Some(down) = self.clusters[self.machine.cores[core.index()].cluster.index()].down else {
            return own + package;
        };
        own.max(transition::wakeup_latency(&states[down.state], self.now - down.since)) + package
    }

    /// `cpu` leaves its idle state: the core, if all of it idled, pays for having gone in and out.
    pub(super) fn book_pause(&mut self, cpu: CpuId) {
        self.count_entry(cpu);
        let core = self.machine.cpus[cpu.index()].core;
        let Some((joules, share)) = self.core_transition(core) else { return };
        let domain = self.core_domain(core);
        let opp = &self.machine.performance_domains[domain.index()].opps[self.domains[domain.index()].effective];
        let specified = self.machine.performance_domains[domain.index()].opps.last().unwrap_or(opp);
        self.cpus[cpu.index()].meter.add(joules * share * transition::scale(opp, specified));
    }

    /// The idle time of `cpu` before its state was entered counts as C0.
    fn count_entry(&mut self, cpu: CpuId) {
        let idle_states = &self.machine.cluster(cpu).idle_states;
        let state = &mut self.cpus[cpu.index()];
        let Some(entry) = idle_states.get(state.idle_state).map(|idle| idle.typical_entry).filter(|entry| *entry > 0)
        else {
            return;
        };
        state.residency.enter(self.now, state.idle_state);
        state.residency.shift(state.idle_state, idle_states.len(), entry.min(self.now - state.idle_since));
    }

    /// Joules of the core's present state, and the share of it that has been entered; nothing for a core that runs, or in a state
    /// that is entered for nothing.
    fn core_transition(&self, core: CoreId) -> Option<(f64, f64)> {
        let Self { cores, machine, .. } = self;
        if cores[core.index()].busy_threads > 0 {
            return None;
        }
        let cluster = machine.cores[core.index()].cluster;
        let entry = &machine.clusters[cluster.index()];
        let state = entry.core_state(self.core_idle_state(core));
        let joules = self.clusters[cluster.index()].core_joules.get(state).copied().filter(|joules| *joules > 0.0)?;
        Some((joules, transition::entered(&entry.idle_states[state], self.now - cores[core.index()].idle_since)))
    }

    /// What wakes `cpu` arrives after so long: it sleeps until then.
    pub fn called_in(&mut self, cpu: CpuId, time: Nanos) {
        self.cpus[cpu.index()].called_in = time;
    }

    /// What `cpu` wakes, its core and perhaps its cluster and the uncore, draws what it does asleep until the first instruction: all
    /// beyond that is the transition's energy.
    pub(super) fn reduce_until_awake(&mut self, cpu: CpuId) {
        let core = self.machine.cpus[cpu.index()].core;
        let latency = self.wakeup_latency(cpu) + std::mem::take(&mut self.cpus[cpu.index()].called_in);
        if latency == 0 || self.cores[core.index()].busy_threads > 0 {
            return;
        }
        let (now, until) = (self.now, self.now + latency);
        let watts = self.core_watts(core, CoreState::Idle(self.core_idle_state(core)));
        self.cpus[cpu.index()].meter.reduce(now, until, watts);
        let cluster = self.machine.cores[core.index()].cluster;
        let state = &mut self.clusters[cluster.index()];
        if state.down.is_some() {
            state.meter.reduce(now, until, state.meter.watts());
        }
        let package = &mut self.packages[self.machine.clusters[cluster.index()].package.index()];
        if package.active_cores == 0 {
            package.meter.reduce(now, until, package.meter.watts());
        }
    }

    /// Whether the kernel may power `cluster` down by a state that its CPUs do not know: all its cores are in their deepest.
    pub fn may_power_down(&self, cluster: ClusterId) -> bool {
        let entry = &self.machine.clusters[cluster.index()];
        let own = entry.cpu_states().len();
        let state = &self.clusters[cluster.index()];
        own < entry.idle_states.len() && state.idle_cores[own - 1..].iter().sum::<u32>() as usize == entry.cores.len()
    }

    /// Powers `cluster` down by this state of its own.
    pub fn power_down(&mut self, cluster: ClusterId, state: usize) {
        self.clusters[cluster.index()].os_state = Some(state);
        for core in &self.machine.clusters[cluster.index()].cores {
            for cpu in &self.machine.cores[core.index()].cpus {
                self.cpus[cpu.index()].residency.enter(self.now, state);
            }
        }
        self.update_cluster(cluster);
    }

    /// A CPU of `cluster` woke: what the kernel powered down is up again.
    pub(super) fn power_up(&mut self, cluster: ClusterId) {
        if self.clusters[cluster.index()].os_state.take().is_none() {
            return;
        }
        for core in &self.machine.clusters[cluster.index()].cores {
            for cpu in &self.machine.cores[core.index()].cpus {
                let cpu = &mut self.cpus[cpu.index()];
                cpu.residency.enter(self.now, cpu.idle_state);
            }
        }
        self.update_cluster(cluster);
    }

    /// The state in which `cluster` sleeps: one that all its cores asked for, or that the kernel chose.
    pub(super) fn sleeping(&self, cluster: ClusterId) -> Option<usize> {
        let state = &self.clusters[cluster.index()];
        if state.active_cores > 0 {
            return None;
        }
        let shallowest = state.idle_cores.iter().position(|cores| *cores > 0)?;
        let states = &self.machine.clusters[cluster.index()].idle_states;
        let asked = states.get(shallowest).is_some_and(|state| state.scope == IdleScope::Cluster);
        if asked { Some(shallowest) } else { state.os_state }
    }

    /// `cluster` sleeps in this state from now on, or is up; it pays for what it leaves.
    pub(super) fn cluster_sleeps(&mut self, cluster: ClusterId, sleeping: Option<usize>) {
        let state = &self.clusters[cluster.index()];
        let down = state.down;
        if down.map(|down| down.state) == sleeping {
            return;
        }
        let goes_deeper = down.is_none_or(|down| sleeping.is_some_and(|state| state > down.state));
        if let Some(Sleep { state: left, since }) = down.filter(|_| !goes_deeper) {
            let share =
                transition::entered(&self.machine.clusters[cluster.index()].idle_states[left], self.now - since);
            let joules = state.cluster_joules[left] * share * self.cluster_scale(cluster);
            self.clusters[cluster.index()].meter.add(joules);
        }
        self.clusters[cluster.index()].down = sleeping.map(|state| Sleep { state, since: self.now });
    }

    /// Energy of a transition of the cluster at its present clock, relative to its highest.
    fn cluster_scale(&self, cluster: ClusterId) -> f64 {
        let scales = self.clusters[cluster.index()].domains.iter().map(|domain| {
            let opps = &self.machine.performance_domains[domain.index()].opps;
            let opp = &opps[self.domains[domain.index()].effective];
            opps.last().map_or(1.0, |highest| transition::scale(opp, highest))
        });
        scales.fold(0.0, f64::max)
    }
}
