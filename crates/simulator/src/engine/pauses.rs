// SPDX-License-Identifier: MIT OR Apache-2.0
//! Pauses (cpuidle): a CPU goes idle and comes back; asks the menu governor for the state in between.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::Engine;
use crate::kernel::cpuidle::{IdleEntry, MenuDevice, StateTimes};
use crate::machine::{Cluster, Machine};
use crate::units::{ClusterId, CpuId, Nanos};

/// What is known of the pauses of all CPUs.
pub(super) struct Pauses {
    /// Per CPU.
    menu: Vec<MenuDevice>,
    /// Per cluster: its idle states as the menu governor sees them.
    states: Vec<Vec<StateTimes>>,
    /// Per CPU: expiry of timers set there, some already past.
    timers: Vec<BinaryHeap<Reverse<Nanos>>>,
    /// Per CPU.
    idle: Vec<IdleState>,
}

/// The present or latest pause of a CPU.
#[derive(Debug, Clone, Copy, Default)]
struct IdleState {
    since: Nanos,
    /// Exit latency of its state.
    exit: Nanos,
    /// Idle states entered so far (`tick_nohz_get_idle_calls_cpu`).
    calls: u64,
}

impl Pauses {
    pub fn new(machine: &Machine) -> Self {
        let times = |cluster: &Cluster| {
            let states = cluster.idle_states.iter();
            states.map(|state| StateTimes { exit: state.exit, residency: state.residency }).collect()
        };
        Self {
            menu: machine.cpus.iter().map(|_| MenuDevice::default()).collect(),
            states: machine.clusters.iter().map(times).collect(),
            timers: machine.cpus.iter().map(|_| BinaryHeap::new()).collect(),
            idle: vec![IdleState::default(); machine.cpus.len()],
        }
    }

    /// How often `cpu` went idle so far; tells schedutil whether it did since last asked.
    pub fn count(&self, cpu: CpuId) -> u64 {
        self.idle[cpu.index()].calls
    }

    /// A timer was set on `cpu`; past ones are forgotten, as a CPU that never idles never asks for them.
    pub fn timer_set(&mut self, cpu: CpuId, now: Nanos, time: Nanos) {
        self.pending_timers(cpu, now).push(Reverse(time));
    }

    /// The timers of `from` will expire on `to`.
    pub fn migrate_timers(&mut self, from: CpuId, to: CpuId, now: Nanos) {
        let mut timers = std::mem::take(self.pending_timers(from, now));
        self.timers[to.index()].append(&mut timers);
    }

    /// How long until the next timer on `cpu`.
    fn next_timer(&mut self, cpu: CpuId, now: Nanos) -> Option<Nanos> {
        self.pending_timers(cpu, now).peek().map(|time| time.0 - now)
    }

    /// The timers on `cpu`, those past dropped.
    fn pending_timers(&mut self, cpu: CpuId, now: Nanos) -> &mut BinaryHeap<Reverse<Nanos>> {
        let timers = &mut self.timers[cpu.index()];
        while timers.peek().is_some_and(|time| time.0 <= now) {
            timers.pop();
        }
        timers
    }
}

impl Engine<'_> {
    /// Idle CPUs that an interrupt woke, to look for work or to serve a timer of the loaded scheduler: those that found none
    /// choose their idle state anew. False if there are none.
    pub(super) fn settle_idle(&mut self) -> bool {
        let kernel = &mut self.sched.kernel;
        if kernel.idle_passes.is_empty() {
            return false;
        }
        let mut woken = std::mem::take(&mut kernel.idle_passes);
        woken.sort_unstable();
        woken.dedup();
        for cpu in &woken {
            let online = self.sched.kernel.topology.online.test(*cpu);
            if self.running[cpu.index()].task.is_none() && online {
                self.reselect_idle(*cpu);
            }
        }
        woken.clear();
        self.sched.kernel.idle_passes = woken;
        true
    }

    /// The idle thread takes over `cpu`: the menu governor chooses a state.
    pub(super) fn enter_idle(&mut self, cpu: CpuId) {
        let cluster = self.machine.cores[self.machine.cpus[cpu.index()].core.index()].cluster;
        let online = self.sched.kernel.topology.online.test(cpu);
        let choice = if !online {
            self.pauses.states[cluster.index()].len().saturating_sub(1)
        } else if self.pauses.states[cluster.index()].len() > 1 && self.options.kernel.cpuidle {
            self.menu_select(cpu, cluster)
        } else {
            0
        };
        let exit = self.pauses.states[cluster.index()].get(choice).map_or(0, |state| state.exit);
        let state = &mut self.pauses.idle[cpu.index()];
        (state.since, state.exit) = (self.agenda.now(), exit);
        state.calls += 1;
        self.sched.kernel.rq_mut(cpu).exit_latency = exit;
        self.pace_siblings(cpu);
        self.hardware.idle(cpu, choice);
        self.observer.cpu_idle(self.agenda.now(), cpu, Some(choice as u32));
    }

    /// Asks the menu governor; where it expects a short pause, the tick goes on and wakes the CPU if it was wrong.
    fn menu_select(&mut self, cpu: CpuId, cluster: ClusterId) -> usize {
        let next_tick = self.agenda.next_tick() - self.agenda.now();
        let entry = IdleEntry {
            next_timer: self.pauses.next_timer(cpu, self.agenda.now()),
            next_tick,
            tick: self.options.kernel.tick(),
            tick_stopped: false,
            latency_limit: Nanos::MAX,
        };
        let selection = self.pauses.menu[cpu.index()].select(&self.pauses.states[cluster.index()], &entry);
        if !selection.stop_tick {
            self.agenda.set_tick(cpu);
        }
        selection.state
    }

    /// The tick found `cpu` idle: it measures its pause so far and chooses again, for longer.
    pub(super) fn reselect_idle(&mut self, cpu: CpuId) {
        let IdleState { since, exit, .. } = self.pauses.idle[cpu.index()];
        self.pauses.menu[cpu.index()].reflect(self.agenda.now() - since, exit, true);
        self.observer.cpu_idle(self.agenda.now(), cpu, None);
        self.enter_idle(cpu);
    }

    /// A thread takes over from the idle one; returns the time until `cpu` executes again.
    pub(super) fn leave_idle(&mut self, cpu: CpuId) -> Nanos {
        let latency = self.hardware.wakeup_latency(cpu);
        let IdleState { since, exit, .. } = self.pauses.idle[cpu.index()];
        self.pauses.menu[cpu.index()].reflect(self.agenda.now() - since + latency, exit, false);
        self.sched.kernel.rq_mut(cpu).exit_latency = 0;
        self.observer.cpu_idle(self.agenda.now(), cpu, None);
        self.pace_siblings(cpu);
        latency
    }

    /// SMT siblings go faster or slower when `cpu` stops or starts.
    fn pace_siblings(&mut self, cpu: CpuId) {
        if !self.sched.kernel.topology.online.test(cpu) {
            // It is no sibling any more, but has just been one.
            for index in 0..self.machine.cores[self.machine.cpus[cpu.index()].core.index()].cpus.len() {
                self.pace_later(self.machine.cores[self.machine.cpus[cpu.index()].core.index()].cpus[index]);
            }
        }
        for index in 0..self.sched.kernel.topology.smt[cpu.index()].len() {
            let sibling = self.sched.kernel.topology.smt[cpu.index()][index];
            if sibling != cpu {
                self.pace_later(sibling);
            }
        }
    }
}
