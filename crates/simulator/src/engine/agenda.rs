// SPDX-License-Identifier: MIT OR Apache-2.0
//! What time it is, and what is to happen when.

use super::events::{Event, Slots};
use super::queue::EventQueue;
use crate::machine::Machine;
use crate::units::{CpuId, Nanos, TaskId};

/// The clock of a run, and its pending events.
#[derive(Debug)]
pub(super) struct Agenda {
    queue: EventQueue,
    slots: Slots,
    now: Nanos,
    /// Time between two ticks.
    tick: Nanos,
    /// When the first tick of the grid is due that all CPUs share.
    tick_phase: Nanos,
}

impl Agenda {
    /// Nothing is to happen on `machine` yet, at time 0.
    pub fn new(machine: &Machine, tick: Nanos, tick_phase: Nanos) -> Self {
        let slots = Slots { cpus: machine.cpus.len(), domains: machine.performance_domains.len() };
        let fixed = slots.slot(Event::Timer(TaskId(0)));
        Self { queue: EventQueue::with_slots(fixed), slots, now: 0, tick, tick_phase }
    }

    /// Simulated time since the start.
    #[inline]
    pub fn now(&self) -> Nanos {
        self.now
    }

    /// Goes on to the earliest event; `None` if there is none.
    #[inline]
    pub fn next(&mut self) -> Option<Event> {
        let (time, slot) = self.queue.pop()?;
        self.now = time;
        Some(self.slots.event(slot))
    }

    /// `event`, which is no tick, happens at `time`, whether it was to happen before or not.
    #[inline]
    pub fn set(&mut self, event: Event, time: Nanos) {
        self.queue.set(self.slots.slot(event), time);
    }

    /// Makes room for the timers of so many threads at once.
    pub fn have_room(&mut self, threads: usize) {
        self.queue.have_room(self.slots.slot(Event::Timer(TaskId(0))) + threads);
    }

    /// `event`, which is no tick, happens at `time`, or not at all. If that was so already, it keeps its place among the
    /// events of that time.
    #[inline]
    pub fn set_to(&mut self, event: Event, time: Option<Nanos>) {
        match time {
            None => self.cancel(event),
            next if next == self.time_of(event) => {}
            Some(time) => self.set(event, time.max(self.now)),
        }
    }

    /// `event` does not happen, if it was to.
    #[inline]
    pub fn cancel(&mut self, event: Event) {
        self.queue.cancel(self.slots.slot(event));
    }

    /// When `event` is to happen.
    #[inline]
    pub fn time_of(&self, event: Event) -> Option<Nanos> {
        self.queue.time_of(self.slots.slot(event))
    }

    /// Whether an event other than a tick is to happen at this instant.
    pub fn more_is_due(&mut self) -> bool {
        self.queue.is_due(self.now)
    }

    /// Whether nothing is to happen any more.
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Whether nothing is to happen any more but `event`.
    pub fn is_empty_but(&mut self, event: Event) -> bool {
        let time = self.time_of(event);
        self.cancel(event);
        let empty = self.is_empty();
        if let Some(time) = time {
            self.set(event, time);
        }
        empty
    }

    /// The next tick of the grid that all CPUs share.
    pub fn next_tick(&self) -> Nanos {
        let since = (self.now + self.tick - self.tick_phase) % self.tick;
        self.now + self.tick - since
    }

    /// `cpu` ticks at the next tick of the grid.
    #[inline]
    pub fn set_tick(&mut self, cpu: CpuId) {
        let next = self.next_tick();
        self.queue.set_in_order(self.slots.slot(Event::Tick(cpu)), next);
    }

    /// `cpu`, whose tick is now, ticks again one tick later.
    #[inline]
    pub fn repeat_tick(&mut self, cpu: CpuId) {
        self.queue.set_in_order(self.slots.slot(Event::Tick(cpu)), self.now + self.tick);
    }
}
