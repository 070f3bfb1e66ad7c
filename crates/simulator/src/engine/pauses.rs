// SPDX-License-Identifier: MIT OR Apache-2.0
//! Pauses (cpuidle): a CPU goes idle and comes back; asks the cpuidle governor for the state in between.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::Engine;
use super::agenda::Agenda;
use crate::kernel::Kernel;
use crate::kernel::cpuidle::{Device, IdleEntry, StateTimes};
use crate::kernel::params::KernelParameters;
use crate::machine::{self, Cluster, Machine};
use crate::units::{ClusterId, CpuId, Nanos};

/// What is known of the pauses of all CPUs.
pub(super) struct Pauses {
    /// Per CPU.
    governors: Vec<Device>,
    /// Per cluster: its idle states as the governors of its CPUs see them.
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
    state: usize,
    /// Exit latency of its state, as the kernel knows it.
    exit: Nanos,
    /// When the CPU expects to wake by itself, for a timer or a tick (`next_hrtimer`).
    next_event: Nanos,
    /// Idle states entered so far (`tick_nohz_get_idle_calls_cpu`).
    calls: u64,
}

impl Pauses {
    pub fn new(machine: &Machine, kernel: &KernelParameters) -> Self {
        let times = |cluster: &Cluster| {
            let states = cluster.cpu_states().iter().take(kernel.max_cstate + 1);
            let told = |state: &machine::IdleState| StateTimes {
                exit: state.entry + state.exit,
                residency: state.told_residency,
            };
            states.map(told).collect()
        };
        let states: Vec<Vec<StateTimes>> = machine.clusters.iter().map(times).collect();
        let device = |cpu: &machine::Cpu| {
            let cluster = machine.cores[cpu.core.index()].cluster;
            kernel.cpuidle_governor.device(states[cluster.index()].len())
        };
        Self {
            governors: machine.cpus.iter().map(device).collect(),
            timers: machine.cpus.iter().map(|_| BinaryHeap::new()).collect(),
            idle: vec![IdleState::default(); machine.cpus.len()],
            states,
        }
    }

    /// The state in which a CPU of `cluster` idles from now on: the deepest one if it is offline, else the governor's choice, if the
    /// kernel uses deeper states at all. Where that expects a short pause, the tick goes on and wakes the CPU if it was wrong.
    fn choose(&mut self, cpu: CpuId, cluster: ClusterId, kernel: &Kernel, agenda: &mut Agenda) -> usize {
        let states = self.states[cluster.index()].len();
        if !kernel.topology.online.test(cpu) {
            return states.saturating_sub(1);
        }
        if states <= 1 || !kernel.params.cpuidle {
            return 0;
        }
        let timer = self.next_timer(cpu, agenda.now());
        let entry = IdleEntry {
            next_timer: timer,
            next_tick: agenda.next_tick() - agenda.now(),
            tick: kernel.params.tick(),
            tick_stopped: false,
            latency_limit: Nanos::MAX,
        };
        let selection =
            self.governors[cpu.index()].select(&self.states[cluster.index()], &entry, kernel.params.release());
        let mut event = timer.unwrap_or(Nanos::MAX);
        if !selection.stop_tick {
            agenda.set_tick(cpu);
            event = event.min(entry.next_tick);
        }
        self.idle[cpu.index()].next_event = agenda.now().saturating_add(event);
        selection.state
    }

    /// `cpu` idles from `now` on, in a state of `cluster`; returns the state's exit latency.
    fn enter(&mut self, cpu: CpuId, cluster: ClusterId, state: usize, now: Nanos) -> Nanos {
        let exit = self.states[cluster.index()].get(state).map_or(0, |state| state.exit);
        let pause = &mut self.idle[cpu.index()];
        *pause = IdleState { since: now, state, exit, next_event: pause.next_event, calls: pause.calls + 1 };
        exit
    }

    /// The pause of `cpu` ends at `until`, or is interrupted by the tick: the governor learns how long it was.
    fn end(&mut self, cpu: CpuId, until: Nanos, by_tick: bool) {
        let IdleState { since, state, exit, .. } = self.idle[cpu.index()];
        self.governors[cpu.index()].reflect(state, exit, until - since, by_tick);
    }

    /// The deepest state of its own that `cluster` may enter, all of whose CPUs sleep as deeply as they can: one that pays until the
    /// first of them expects to wake (`cpu_power_down_ok`).
    fn domain_state(&self, cluster: &Cluster, machine: &Machine, now: Nanos) -> Option<usize> {
        let cpus = cluster.cores.iter().flat_map(|core| &machine.cores[core.index()].cpus);
        let online = cpus.filter(|cpu| machine.cpus[cpu.index()].online);
        let wakeup = online.map(|cpu| self.idle[cpu.index()].next_event).min().unwrap_or(Nanos::MAX);
        let pays = |state: &machine::IdleState| state.told_residency + state.entry <= wakeup.saturating_sub(now);
        let own = cluster.cpu_states().len();
        cluster.idle_states[own..].iter().rposition(pays).map(|state| own + state)
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

    /// The idle thread takes over `cpu`: the governor chooses a state, and the kernel one for the cluster if that sleeps now.
    pub(super) fn enter_idle(&mut self, cpu: CpuId) {
        let now = self.agenda.now();
        let cluster = self.machine.cores[self.machine.cpus[cpu.index()].core.index()].cluster;
        let choice = self.pauses.choose(cpu, cluster, &self.sched.kernel, &mut self.agenda);
        self.sched.kernel.rq_mut(cpu).exit_latency = self.pauses.enter(cpu, cluster, choice, now);
        self.running.pace_siblings(cpu, &self.sched.kernel.topology);
        self.hardware.idle(cpu, choice);
        if self.hardware.may_power_down(cluster) && self.sched.kernel.params.cpuidle {
            let state = self.pauses.domain_state(&self.machine.clusters[cluster.index()], self.machine, now);
            if let Some(state) = state.filter(|state| *state <= self.sched.kernel.params.max_cstate) {
                self.hardware.power_down(cluster, state);
            }
        }
        self.observer.cpu_idle(now, cpu, Some(choice as u32));
    }

    /// The tick found `cpu` idle: it measures its pause so far and chooses again, for longer.
    pub(super) fn reselect_idle(&mut self, cpu: CpuId) {
        self.pauses.end(cpu, self.agenda.now(), true);
        self.observer.cpu_idle(self.agenda.now(), cpu, None);
        self.enter_idle(cpu);
    }

    /// An interrupt that takes `span` wakes the idle `cpu`, which then chooses its idle state anew; returns the time until
    /// the handler begins.
    pub(super) fn interrupt_idle(&mut self, cpu: CpuId, span: Nanos) -> Nanos {
        let (now, latency) = (self.agenda.now(), self.hardware.wakeup_latency(cpu));
        self.pauses.end(cpu, now + latency, false);
        self.observer.cpu_idle(now, cpu, None);
        self.hardware.interrupt(cpu, span);
        self.enter_idle(cpu);
        latency
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
