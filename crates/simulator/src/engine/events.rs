// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kinds of events, and the slots of the queue that stand for them.

use crate::units::{CpuId, PerformanceDomainId, TaskId};

/// What the slots of the event queue stand for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slots {
    /// How many CPUs the machine has.
    pub cpus: usize,
    /// How many performance domains it has.
    pub domains: usize,
}

/// An event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Event {
    /// The thread on a CPU is through with its segment.
    Run(CpuId),
    /// The scheduler tick.
    Tick(CpuId),
    /// The timer that ends slices of fair tasks on time.
    Hrtick(CpuId),
    /// A new clock takes effect.
    Clock(PerformanceDomainId),
    /// Firmware looks at the load of a clock's CPUs.
    Sample(PerformanceDomainId),
    /// Fair tasks have waited long enough for real-time ones, or had their share.
    FairServer,
    /// The work that the scheduler ticks of this instant left for later (`SCHED_SOFTIRQ`).
    Softirq,
    /// A deadline task gets new budget, or another of the class's timers is due.
    Deadline,
    /// A period of a group's limit on CPU time ends.
    Bandwidth,
    /// A timer of the loaded scheduler is due, or its watchdog.
    SchedExt,
    /// A cgroup comes, goes or gets another weight.
    Cgroup,
    /// A CPU comes or goes.
    Hotplug,
    /// Packages with limits on power or temperature look at what they drew.
    Limits,
    /// Some CPU gets an interrupt.
    Interrupt,
    /// A CPU ticks for those whose tick has stopped.
    RemoteTick,
    /// The program that loaded the scheduler looks how busy CPUs are, and turns what the processor leaves it to turn.
    Steer,
    /// The time limit.
    End,
    /// A thread's sleep is over.
    Timer(TaskId),
}

impl Slots {
    /// The slot of an event. Those of timers come last: there are as many as threads.
    #[inline]
    pub fn slot(&self, event: Event) -> usize {
        let single = 3 * self.cpus + 2 * self.domains;
        match event {
            Event::Run(cpu) => cpu.index(),
            Event::Tick(cpu) => self.cpus + cpu.index(),
            Event::Hrtick(cpu) => 2 * self.cpus + cpu.index(),
            Event::Clock(domain) => 3 * self.cpus + domain.index(),
            Event::Sample(domain) => 3 * self.cpus + self.domains + domain.index(),
            Event::FairServer => single,
            Event::Softirq => single + 1,
            Event::Deadline => single + 2,
            Event::Bandwidth => single + 3,
            Event::SchedExt => single + 4,
            Event::Cgroup => single + 5,
            Event::Hotplug => single + 6,
            Event::Limits => single + 7,
            Event::Interrupt => single + 8,
            Event::RemoteTick => single + 9,
            Event::Steer => single + 10,
            Event::End => single + 11,
            Event::Timer(task) => single + 12 + task.index(),
        }
    }

    /// The event of a slot.
    #[inline]
    pub fn event(&self, slot: usize) -> Event {
        let single = 3 * self.cpus + 2 * self.domains;
        match slot {
            _ if slot < self.cpus => Event::Run(CpuId::at(slot)),
            _ if slot < 2 * self.cpus => Event::Tick(CpuId::at(slot - self.cpus)),
            _ if slot < 3 * self.cpus => Event::Hrtick(CpuId::at(slot - 2 * self.cpus)),
            _ if slot >= 3 * self.cpus + self.domains && slot < single => {
                Event::Sample(PerformanceDomainId::at(slot - 3 * self.cpus - self.domains))
            }
            _ if slot < single => Event::Clock(PerformanceDomainId::at(slot - 3 * self.cpus)),
            _ => match slot - single {
                0 => Event::FairServer,
                1 => Event::Softirq,
                2 => Event::Deadline,
                3 => Event::Bandwidth,
                4 => Event::SchedExt,
                5 => Event::Cgroup,
                6 => Event::Hotplug,
                7 => Event::Limits,
                8 => Event::Interrupt,
                9 => Event::RemoteTick,
                10 => Event::Steer,
                11 => Event::End,
                timer => Event::Timer(TaskId::at(timer - 12)),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_slot_stands_for_one_event() {
        let slots = Slots { cpus: 3, domains: 2 };
        for slot in 0..34 {
            assert_eq!(slots.slot(slots.event(slot)), slot, "{:?}", slots.event(slot));
        }
        assert_eq!(slots.event(slots.slot(Event::Timer(TaskId(5)))), Event::Timer(TaskId(5)));
    }
}
