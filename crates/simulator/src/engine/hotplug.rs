// SPDX-License-Identifier: MIT OR Apache-2.0
//! CPUs that go offline and come back during a run.
//!
//! An offline CPU draws what one draws that the machine's configuration leaves offline: it is in its deepest idle state,
//! without a tick. Left out: the time that taking it down or up needs, and that a frequency policy without CPUs ends; its
//! clock stays where it was.

use std::collections::VecDeque;

use super::Engine;
use super::agenda::Agenda;
use super::events::Event;
use crate::error::SimulationError;
use crate::machine::Machine;
use crate::options::Hotplug;
use crate::sched::core::Sched;
use crate::units::{CpuId, Nanos, seconds};

/// CPUs that are still to come and go.
#[derive(Debug, Default)]
pub(super) struct HotplugPlan {
    /// The next first.
    pending: VecDeque<Hotplug>,
}

impl HotplugPlan {
    /// The plan of the changes that were `asked` for on `machine`, the earliest first; sets when the first is due.
    ///
    /// # Errors
    /// The machine does not have such a CPU online at the start.
    pub fn new(asked: &[Hotplug], machine: &Machine, agenda: &mut Agenda) -> Result<Self, SimulationError> {
        let known = |cpu: CpuId| machine.cpus.get(cpu.index()).is_some_and(|entry| entry.online);
        if let Some(Hotplug { cpu, .. }) = asked.iter().find(|change| !known(change.cpu)) {
            return Err(SimulationError::Hotplug { cpu: *cpu, machine: machine.name.clone() });
        }
        let mut planned = asked.to_vec();
        // What is due at the same time comes in the order in which it was asked for.
        planned.sort_by_key(|change| change.at);
        let plan = Self { pending: VecDeque::from(planned) };
        plan.time(agenda);
        Ok(plan)
    }

    /// The change that is due at `now`, which leaves the plan.
    fn due(&mut self, now: Nanos) -> Option<Hotplug> {
        let due = self.pending.front().is_some_and(|next| next.at <= now);
        if due { self.pending.pop_front() } else { None }
    }

    /// Sets when the next change is due.
    fn time(&self, agenda: &mut Agenda) {
        if let Some(next) = self.pending.front() {
            agenda.set(Event::Hotplug, next.at);
        }
    }
}

impl Engine<'_> {
    /// CPUs come and go that do so at the start of the run, before a scheduler is loaded and CPUs enter idle.
    pub(super) fn hotplug_at_start(&mut self) {
        while let Some(change) = self.hotplug.due(0) {
            self.set_online(change);
        }
        self.hotplug.time(&mut self.agenda);
    }

    /// The next CPU comes or goes now.
    pub(super) fn hotplug_event(&mut self) {
        if let Some(change) = self.hotplug.due(self.agenda.now()) {
            self.plug(change);
        }
        self.hotplug.time(&mut self.agenda);
    }

    /// Tells Linux that a CPU comes or goes; whether it does.
    fn set_online(&mut self, change: Hotplug) -> bool {
        let Hotplug { cpu, online, .. } = change;
        let changed = self.sched.set_cpu_online(self.machine, cpu, online);
        if let Err(error) = changed {
            let going = if online { "online" } else { "offline" };
            let at = seconds(self.agenda.now());
            self.outcome.warn(format!("CPU {cpu} does not go {going} at {at} s: {error}"));
        }
        changed.is_ok()
    }

    fn plug(&mut self, change: Hotplug) {
        let Hotplug { cpu, online, .. } = change;
        if !self.set_online(change) {
            return;
        }
        if online {
            self.clock_changed(self.machine.cpus[cpu.index()].performance_domain);
        } else {
            let other = some_cpu(&self.sched, cpu);
            self.pauses.migrate_timers(cpu, other, self.agenda.now());
            self.soft.migrate(cpu, other);
            self.agenda.cancel(Event::Tick(cpu));
        }
        if self.running[cpu].task.is_none() {
            // What else runs on it leaves it at this instant, and then it enters idle by itself.
            self.observer.cpu_idle(self.agenda.now(), cpu, None);
            self.enter_idle(cpu);
        }
    }
}

/// The first CPU that is online, where nothing says otherwise.
pub(super) fn boot_cpu(sched: &Sched) -> CpuId {
    sched.kernel.topology.online.first().unwrap_or(CpuId(0))
}

/// `cpu`, or the CPU to which its timers went if it is offline (`hrtimers_cpu_dying`).
pub(super) fn some_cpu(sched: &Sched, cpu: CpuId) -> CpuId {
    if sched.kernel.topology.online.test(cpu) { cpu } else { boot_cpu(sched) }
}
