// SPDX-License-Identifier: MIT OR Apache-2.0
//! CPUs that go offline and come back during a run.
//!
//! An offline CPU draws what one draws that the machine's configuration leaves offline: it is in its deepest idle state,
//! without a tick. Left out: the time that taking it down or up needs, and that a frequency policy without CPUs ends; its
//! clock stays where it was.

use std::collections::VecDeque;

use super::Engine;
use super::events::Event;
use crate::error::SimulationError;
use crate::options::Hotplug;
use crate::units::{CpuId, seconds};

impl Engine<'_> {
    /// What shall come and go, the earliest first; sets when the first is due.
    ///
    /// # Errors
    /// The machine does not have such a CPU online at the start.
    pub(super) fn plan_hotplug(&mut self) -> Result<(), SimulationError> {
        let known = |cpu: CpuId| self.machine.cpus.get(cpu.index()).is_some_and(|entry| entry.online);
        if let Some(Hotplug { cpu, .. }) = self.options.hotplug.iter().find(|change| !known(change.cpu)) {
            return Err(SimulationError::Hotplug { cpu: *cpu, machine: self.machine.name.clone() });
        }
        let mut planned = self.options.hotplug.clone();
        // What is due at the same time comes in the order in which it was asked for.
        planned.sort_by_key(|change| change.at);
        self.hotplug = VecDeque::from(planned);
        self.time_hotplug();
        Ok(())
    }

    fn time_hotplug(&mut self) {
        if let Some(next) = self.hotplug.front() {
            self.agenda.set(Event::Hotplug, next.at);
        }
    }

    /// The next CPU comes or goes now.
    pub(super) fn hotplug_event(&mut self) {
        if let Some(change) = self.hotplug.pop_front() {
            self.plug(change);
        }
        self.time_hotplug();
    }

    fn plug(&mut self, change: Hotplug) {
        let Hotplug { cpu, online, .. } = change;
        if let Err(error) = self.scheduler.set_cpu_online(self.machine, cpu, online) {
            let going = if online { "online" } else { "offline" };
            self.outcome.warn(format!("CPU {cpu} does not go {going} at {} s: {error}", seconds(self.agenda.now())));
            return;
        }
        if online {
            self.clock_changed(self.machine.cpus[cpu.index()].performance_domain);
        } else {
            self.pauses.migrate_timers(cpu, self.some_cpu(cpu), self.agenda.now());
            self.agenda.cancel(Event::Tick(cpu));
        }
        if self.running[cpu.index()].task.is_none() {
            // What else runs on it leaves it at this instant, and then it enters idle by itself.
            self.observer.cpu_idle(self.agenda.now(), cpu, None);
            self.enter_idle(cpu);
        }
    }

    /// `cpu`, or where its timers went if it is offline (`hrtimers_cpu_dying`).
    pub(super) fn some_cpu(&self, cpu: CpuId) -> CpuId {
        let online = &self.scheduler.kernel.topology.online;
        if online.test(cpu) { cpu } else { online.first().unwrap_or(cpu) }
    }
}
