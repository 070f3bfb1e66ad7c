// SPDX-License-Identifier: MIT OR Apache-2.0
//! The events of later days: a calendar, whose year has as many days as there are events, each about four events long.
//!
//! An event is filed under its day without looking at others, and a day's events are sorted when it comes. What is put off, as the end
//! of a thread's work is whenever the thread is held up, stays where it is filed until that day comes. (Brown, "Calendar queues",
//! Communications of the ACM 31(10), 1988; with a heap for the day that has come, so that a day of many events costs no more than
//! sorting them.)

use super::near::Near;
use super::{ABSENT, Entry, FAR, Node};
use crate::units::Nanos;

/// No slot.
const NONE: u32 = u32::MAX;
/// The shortest year, and how many events pass at least before the calendar is made anew.
const FEWEST_DAYS: usize = 16;
const FEWEST_EVENTS: usize = 1024;
/// How many looks at days and events a passing event may cost before the calendar is made anew.
const MOST_LOOKS: usize = 8;
/// A day is that many times as long as it is from event to event, as a power of two. From 1 to 8 made no difference of more than a
/// tenth in the instructions of the queue at 8, 256 and 1,024 CPUs.
const LENGTH: u32 = 2;

/// Events by day.
#[derive(Debug)]
pub(super) struct Far {
    /// Per day of the year: the slot of one of its events, which leads to the others.
    heads: Vec<u32>,
    /// The logarithm of a day's length in nanoseconds.
    shift: u32,
    /// The next day to come.
    day: Nanos,
    /// The last nanosecond that is near: every event up to then is in the heap, and none after that.
    until: Nanos,
    /// How many events there are.
    len: usize,
    /// Events that passed, and looks at days and events, since the calendar was made, at `since`.
    passed: usize,
    looks: usize,
    since: Nanos,
}

impl Default for Far {
    fn default() -> Self {
        // 16 µs, until it is known what happens.
        let shift = 14;
        let (day, until) = (1, (1 << shift) - 1);
        Self { heads: vec![NONE; FEWEST_DAYS], shift, day, until, len: 0, passed: 0, looks: 0, since: 0 }
    }
}

impl Far {
    /// Whether an event of this time belongs here, and not into the heap.
    #[inline]
    pub fn holds(&self, time: Nanos) -> bool {
        time > self.until
    }

    /// Whether there is no event.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[inline]
    fn index(&self, time: Nanos) -> usize {
        (time >> self.shift) as usize & (self.heads.len() - 1)
    }

    /// Files `entry`, whose slot is in no list.
    pub fn file(&mut self, nodes: &mut [Node], entry: Entry) {
        let slot = entry.slot();
        let head = self.index(entry.time);
        let next = std::mem::replace(&mut self.heads[head], slot as u32);
        let (time, sequence) = (entry.time, entry.sequence());
        nodes[slot] = Node { time, filed: time, sequence, place: FAR, next, previous: NONE };
        if let Some(next) = nodes.get_mut(next as usize) {
            next.previous = slot as u32;
        }
        self.len += 1;
        if self.len > 4 * self.heads.len() {
            self.make_room(nodes);
        }
    }

    /// `entry` takes the place of the event that is filed for its slot.
    pub fn refile(&mut self, nodes: &mut [Node], entry: Entry) {
        let node = &mut nodes[entry.slot()];
        if entry.time >> self.shift >= node.filed >> self.shift {
            (node.time, node.sequence) = (entry.time, entry.sequence());
            return;
        }
        self.remove(nodes, entry.slot());
        self.file(nodes, entry);
    }

    /// Takes the event that is filed for `slot` out.
    pub fn remove(&mut self, nodes: &mut [Node], slot: usize) {
        let Node { filed, next, previous, .. } = nodes[slot];
        nodes[slot].place = ABSENT;
        if let Some(next) = nodes.get_mut(next as usize) {
            next.previous = previous;
        }
        match nodes.get_mut(previous as usize) {
            Some(previous) => previous.next = next,
            None => {
                let head = self.index(filed);
                self.heads[head] = next;
            }
        }
        self.len -= 1;
    }

    /// Goes on to the next day that has events, which become near; there must be some.
    pub fn advance(&mut self, nodes: &mut [Node], near: &mut Near) {
        while self.len > 0 && near.first().is_none() {
            let found = (0..self.heads.len()).any(|_| self.begin_day(nodes, near));
            if !found {
                // There is nothing all year: on to the year of the first event.
                let first = self.slots(nodes).map(|slot| nodes[slot].filed).min();
                self.looks += self.len;
                self.day = first.map_or(self.day, |first| first >> self.shift);
            }
        }
    }

    /// The events of the next day become near, but for those that have been put off; false if none was filed for it.
    fn begin_day(&mut self, nodes: &mut [Node], near: &mut Near) -> bool {
        self.until = self.day << self.shift | ((1 << self.shift) - 1);
        let mut slot = self.heads[self.index(self.until)];
        self.day = self.day.wrapping_add(1);
        self.looks += 1;
        let mut any = false;
        while let Some(node) = nodes.get(slot as usize).copied() {
            self.looks += 1;
            if node.filed <= self.until {
                any = true;
                let entry = node.entry(slot as usize);
                self.remove(nodes, slot as usize);
                if self.holds(entry.time) { self.file(nodes, entry) } else { near.push(nodes, entry) }
            }
            slot = node.next;
        }
        any
    }

    /// The slots of all events.
    fn slots<'n>(&'n self, nodes: &'n [Node]) -> impl Iterator<Item = usize> + 'n {
        let slot = |slot: u32| (slot != NONE).then_some(slot as usize);
        self.heads.iter().flat_map(move |head| std::iter::successors(slot(*head), move |at| slot(nodes[*at].next)))
    }

    /// An event passed, at `now`: the calendar is made anew if others would suit what happens much better.
    #[inline]
    pub fn passes(&mut self, nodes: &mut [Node], now: Nanos) {
        self.passed += 1;
        let few = FEWEST_EVENTS.max(self.len);
        if self.passed >= few || self.looks >= MOST_LOOKS * few {
            self.suit(nodes, now);
        }
    }

    #[cold]
    fn suit(&mut self, nodes: &mut [Node], now: Nanos) {
        let shift = day_length(now.saturating_sub(self.since) / self.passed as Nanos);
        let days = self.len.next_power_of_two().max(FEWEST_DAYS);
        let suits = shift.abs_diff(self.shift) <= 1 && days <= 2 * self.heads.len() && self.heads.len() <= 4 * days;
        if !suits {
            self.make(nodes, shift, days);
        }
        (self.passed, self.looks, self.since) = (0, 0, now);
    }

    /// Many more events came than passed: where they are tells how long days should be.
    #[cold]
    fn make_room(&mut self, nodes: &mut [Node]) {
        let times = || self.slots(nodes).map(|slot| nodes[slot].time);
        let (first, last) = (times().min().unwrap_or(0), times().max().unwrap_or(0));
        let (shift, days) = (day_length((last - first) / self.len as Nanos), self.len.next_power_of_two());
        self.make(nodes, shift, days);
    }

    /// Makes the calendar anew.
    fn make(&mut self, nodes: &mut [Node], shift: u32, days: usize) {
        let slots: Vec<u32> = self.slots(nodes).map(|slot| slot as u32).collect();
        (self.heads, self.shift, self.len) = (vec![NONE; days], shift, 0);
        // The day in which the near time ends may have a rest that is not near.
        self.day = self.until >> shift;
        for slot in slots {
            self.file(nodes, nodes[slot as usize].entry(slot as usize));
        }
    }
}

/// The logarithm of the length of a day where it is so long from event to event.
fn day_length(gap: Nanos) -> u32 {
    gap.max(1).ilog2().min(Nanos::BITS - 8) + LENGTH
}
