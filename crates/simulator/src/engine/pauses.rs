// SPDX-License-Identifier: MIT OR Apache-2.0
//! Pauses (cpuidle): a CPU goes idle and comes back; asks the menu governor for the state in between.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::Engine;
use super::agenda::Agenda;
use crate::kernel::Kernel;
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

    /// The state in which a CPU of `cluster` idles from now on: the deepest one if it is offline, else the choice of the
    /// menu governor, if the kernel uses deeper states at all. Where that expects a short pause, the tick goes on and
    /// wakes the CPU if it was wrong.
    fn choose(&mut self, cpu: CpuId, cluster: ClusterId, kernel: &Kernel, agenda: &mut Agenda) -> usize {
        let states = self.states[cluster.index()].len();
        if !kernel.topology.online.test(cpu) {
            return states.saturating_sub(1);
        }
        if states <= 1 || !kernel.params.cpuidle {
            return 0;
        }
        let entry = IdleEntry {
            next_timer: self.next_timer(cpu, agenda.now()),
            next_tick: agenda.next_tick() - agenda.now(),
            tick: kernel.params.tick(),
            tick_stopped: false,
            latency_limit: Nanos::MAX,
        };
        let selection = self.menu[cpu.index()].select(&self.states[cluster.index()], &entry);
        if !selection.stop_tick {
            agenda.set_tick(cpu);
        }
        selection.state
    }

    /// `cpu` idles from `now` on, in a state of `cluster`; returns the state's exit latency.
    fn enter(&mut self, cpu: CpuId, cluster: ClusterId, state: usize, now: Nanos) -> Nanos {
        let exit = self.states[cluster.index()].get(state).map_or(0, |state| state.exit);
        let pause = &mut self.idle[cpu.index()];
        *pause = IdleState { since: now, exit, calls: pause.calls + 1 };
        exit
    }

    /// The pause of `cpu` ends at `until`, or is interrupted by the tick: the menu governor learns how long it was.
    fn end(&mut self, cpu: CpuId, until: Nanos, by_tick: bool) {
        let IdleState { since, exit, .. } = self.idle[cpu.index()];
        self.menu[cpu.index()].reflect(until - since, exit, by_tick);
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
            if self.running[*cpu].task.is_none() && online {
                self.reselect_idle(*cpu);
            }
        }
        woken.clear();
        self.sched.kernel.idle_passes = woken;
        true
    }

    /// The idle thread takes over `cpu`: the menu governor chooses a state.
    pub(super) fn enter_idle(&mut self, cpu: CpuId) {
        let now = self.agenda.now();
        let cluster = self.machine.cores[self.machine.cpus[cpu.index()].core.index()].cluster;
        let choice = self.pauses.choose(cpu, cluster, &self.sched.kernel, &mut self.agenda);
        self.sched.kernel.rq_mut(cpu).exit_latency = self.pauses.enter(cpu, cluster, choice, now);
        self.running.pace_siblings(cpu, &self.sched.kernel.topology);
        self.hardware.idle(cpu, choice);
        self.observer.cpu_idle(now, cpu, Some(choice as u32));
    }

    /// The tick found `cpu` idle: it measures its pause so far and chooses again, for longer.
    pub(super) fn reselect_idle(&mut self, cpu: CpuId) {
        self.pauses.end(cpu, self.agenda.now(), true);
        self.observer.cpu_idle(self.agenda.now(), cpu, None);
        self.enter_idle(cpu);
    }

    /// A thread takes over from the idle one; returns the time until `cpu` executes again.
    pub(super) fn leave_idle(&mut self, cpu: CpuId) -> Nanos {
        let latency = self.hardware.wakeup_latency(cpu);
        self.pauses.end(cpu, self.agenda.now() + latency, false);
        self.sched.kernel.rq_mut(cpu).exit_latency = 0;
        self.observer.cpu_idle(self.agenda.now(), cpu, None);
        self.running.pace_siblings(cpu, &self.sched.kernel.topology);
        latency
    }
}
