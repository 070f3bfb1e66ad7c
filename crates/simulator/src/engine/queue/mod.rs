// SPDX-License-Identifier: MIT OR Apache-2.0
//! The event queue: one pending time per slot, earliest first, ties in the order they were set.
//!
//! - `near`: events of the present day, sorted. `far`: those of later days, by day.
//! - this file: which of the two an event belongs to; and beside them a plain queue of those whose times never go backwards from one
//!   call to the next (the ticks: all CPUs share one grid), which costs the same however many there are.

mod far;
mod near;

use std::collections::VecDeque;

use crate::units::Nanos;
use far::Far;
use near::Near;

/// A slot without an event.
const ABSENT: u32 = u32::MAX;
/// A slot whose event is one of a later day.
const FAR: u32 = u32::MAX - 1;

/// An event. The sequence wraps after four thousand million events; ties across that point come out in another, still
/// fixed order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Entry {
    time: Nanos,
    /// The sequence, and below it the slot. Two whole words are compared with two instructions; halves of them had to be put
    /// together first, at every comparison of every step through the heap.
    order: u64,
}

impl Entry {
    #[inline]
    fn new(time: Nanos, sequence: u32, slot: usize) -> Self {
        Self { time, order: u64::from(sequence) << 32 | slot as u64 }
    }

    #[inline]
    fn key(&self) -> u128 {
        u128::from(self.time) << 64 | u128::from(self.order)
    }

    #[inline]
    fn slot(&self) -> usize {
        self.order as u32 as usize
    }

    #[inline]
    fn sequence(&self) -> u32 {
        (self.order >> 32) as u32
    }
}

/// Where the event of a slot is.
#[derive(Debug, Clone, Copy)]
struct Node {
    /// The time of the event, if it is one of a later day.
    time: Nanos,
    /// The time that such a one is filed under, which is no later.
    filed: Nanos,
    /// The sequence of such a one.
    sequence: u32,
    /// The place of the event in the heap, [`ABSENT`] or [`FAR`].
    place: u32,
    /// Slots with events filed under the same day.
    next: u32,
    previous: u32,
}

impl Node {
    const ABSENT: Self = Self { time: 0, filed: 0, sequence: 0, place: ABSENT, next: 0, previous: 0 };

    /// The event of `slot`, whose node this is.
    #[inline]
    fn entry(&self, slot: usize) -> Entry {
        Entry::new(self.time, self.sequence, slot)
    }
}

/// A queue of events; what a slot means is the caller's business.
#[derive(Debug, Default)]
pub struct EventQueue {
    near: Near,
    far: Far,
    /// Per slot.
    nodes: Vec<Node>,
    /// Events of slots set by [`EventQueue::set_in_order`], some cancelled since.
    ordered: VecDeque<Entry>,
    /// Per such slot: the event that counts.
    current: Vec<Option<Entry>>,
    sequence: u32,
}

impl EventQueue {
    /// A queue with room for `slots` slots; [`EventQueue::set`] adds more as needed.
    pub fn with_slots(slots: usize) -> Self {
        Self { nodes: vec![Node::ABSENT; slots], current: vec![None; slots], ..Self::default() }
    }

    fn entry(&mut self, slot: usize, time: Nanos) -> Entry {
        self.sequence = self.sequence.wrapping_add(1);
        Entry::new(time, self.sequence, slot)
    }

    /// Makes room for so many slots at once.
    pub fn have_room(&mut self, slots: usize) {
        self.nodes.reserve_exact(slots.saturating_sub(self.nodes.len()));
    }

    /// Schedules `slot` for `time`, whether it was scheduled before or not.
    pub fn set(&mut self, slot: usize, time: Nanos) {
        if slot >= self.nodes.len() {
            self.nodes.resize(slot + 1, Node::ABSENT);
        }
        let entry = self.entry(slot, time);
        let Self { near, far, nodes, .. } = self;
        match (nodes[slot].place, far.holds(time)) {
            (ABSENT, false) => near.push(nodes, entry),
            (ABSENT, true) => far.file(nodes, entry),
            (FAR, true) => far.refile(nodes, entry),
            (FAR, false) => {
                far.remove(nodes, slot);
                near.push(nodes, entry);
            }
            (place, false) => near.replace(nodes, place, entry),
            (place, true) => {
                near.remove(nodes, place);
                far.file(nodes, entry);
            }
        }
    }

    /// Schedules `slot`, one of those that the queue was made with, for a `time` not before that of any earlier call.
    /// A slot must be scheduled either always by this or always by [`EventQueue::set`].
    pub fn set_in_order(&mut self, slot: usize, time: Nanos) {
        debug_assert!(self.ordered.back().is_none_or(|last| last.time <= time), "times go backwards");
        if self.current[slot].is_some_and(|due| due.time == time) {
            return;
        }
        let entry = self.entry(slot, time);
        self.current[slot] = Some(entry);
        self.ordered.push_back(entry);
    }

    /// Takes `slot` out, if it is scheduled.
    pub fn cancel(&mut self, slot: usize) {
        if let Some(current) = self.current.get_mut(slot) {
            *current = None;
        }
        let Self { near, far, nodes, .. } = self;
        match nodes.get(slot).map_or(ABSENT, |node| node.place) {
            ABSENT => {}
            FAR => far.remove(nodes, slot),
            place => near.remove(nodes, place),
        }
    }

    /// When `slot` is due.
    pub fn time_of(&self, slot: usize) -> Option<Nanos> {
        if let Some(Some(due)) = self.current.get(slot) {
            return Some(due.time);
        }
        let node = self.nodes.get(slot)?;
        match node.place {
            ABSENT => None,
            FAR => Some(node.time),
            place => self.near.time_at(place),
        }
    }

    /// The earliest event other than those set in order.
    #[inline]
    fn first(&mut self) -> Option<Entry> {
        if self.near.first().is_none() && !self.far.is_empty() {
            self.far.advance(&mut self.nodes, &mut self.near);
        }
        self.near.first()
    }

    /// Whether an event other than those set in order is due by `time`.
    pub fn is_due(&mut self, time: Nanos) -> bool {
        self.first().is_some_and(|first| first.time <= time)
    }

    /// Whether no event is left; one that was cancelled may count for a while.
    pub fn is_empty(&self) -> bool {
        self.near.first().is_none() && self.far.is_empty() && self.ordered.is_empty()
    }

    /// The earliest event, which leaves the queue.
    pub fn pop(&mut self) -> Option<(Nanos, usize)> {
        let other = self.first();
        while let Some(first) = self.ordered.front().copied() {
            let slot = first.slot();
            let stale = self.current[slot] != Some(first);
            if !stale && other.is_some_and(|other| other.key() < first.key()) {
                break;
            }
            self.ordered.pop_front();
            if !stale {
                self.current[slot] = None;
                return Some((first.time, slot));
            }
        }
        let first = other?;
        self.near.remove(&mut self.nodes, 0);
        self.far.passes(&mut self.nodes, first.time);
        Some((first.time, first.slot()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ties_come_out_in_the_order_they_were_set() {
        let mut queue = EventQueue::with_slots(3);
        for slot in [2, 0, 1] {
            queue.set(slot, 5);
        }
        queue.set(2, 5);
        let order: Vec<usize> = std::iter::from_fn(|| queue.pop()).map(|(_, slot)| slot).collect();
        assert_eq!(order, [0, 1, 2]);
    }

    #[test]
    fn ordered_slots_mix_with_the_others_and_can_be_cancelled() {
        let mut queue = EventQueue::with_slots(4);
        queue.set_in_order(0, 5);
        queue.set(1, 5);
        queue.set_in_order(2, 7);
        queue.cancel(0);
        assert_eq!((queue.time_of(0), queue.time_of(2)), (None, Some(7)));
        queue.set_in_order(0, 9);
        queue.set(3, 8);
        let order: Vec<_> = std::iter::from_fn(|| queue.pop()).collect();
        assert_eq!(order, [(5, 1), (7, 2), (8, 3), (9, 0)]);
    }

    /// Times of every length.
    fn times() -> impl Strategy<Value = u64> {
        (0u32..64, any::<u64>()).prop_map(|(shift, time)| time >> shift)
    }

    /// So many events at a time, few and far between and many at once, put off and cancelled: the calendar is made anew many times.
    #[test]
    fn the_order_holds_over_calendars() {
        let mut queue = EventQueue::default();
        let mut model = std::collections::BTreeSet::new();
        let mut due = vec![None; 5000];
        let mut random = 1u64;
        let mut now = 0;
        for step in 0..120_000u64 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let (slot, gap) = ((random >> 40) as usize % 5000, [3, 40_000, 900_000_000][step as usize / 7000 % 3]);
            if random >> 60 < 7 {
                let first = model.pop_first();
                assert_eq!(queue.pop(), first.map(|(time, _, slot)| (time, slot)));
                first.inspect(|(time, _, slot)| (now, due[*slot]) = (*time, None));
                continue;
            }
            if let Some(known) = due[slot].take() {
                model.remove(&known);
            }
            if random >> 60 == 15 {
                queue.cancel(slot);
                continue;
            }
            let time = now + (random >> 20) % (gap * 100);
            queue.set(slot, time);
            due[slot] = Some((time, step, slot));
            model.insert((time, step, slot));
        }
    }

    proptest! {
        /// Whatever is set, moved and cancelled, what comes out is sorted and complete.
        #[test]
        fn it_behaves_as_a_sorted_map(
            steps in prop::collection::vec((0usize..16, prop::option::of(prop_oneof![0u64..30, times()])), 0..300),
        ) {
            let mut queue = EventQueue::with_slots(4);
            let mut model = std::collections::BTreeMap::new();
            for (sequence, (slot, time)) in steps.into_iter().enumerate() {
                prop_assert_eq!(queue.is_empty(), model.is_empty());
                let due = model.values().map(|(time, _)| *time).min();
                prop_assert!((10..20).all(|time| queue.is_due(time) == due.is_some_and(|due| due <= time)));
                match time {
                    // The slots above are none: the earliest event is handed out.
                    _ if slot >= 12 => {
                        let first = model.iter().map(|(slot, key)| (*key, *slot)).min();
                        prop_assert_eq!(queue.pop(), first.map(|((time, _), slot)| (time, slot)));
                        first.map(|(_, slot)| model.remove(&slot));
                        continue;
                    }
                    Some(time) => {
                        queue.set(slot, time);
                        model.insert(slot, (time, sequence));
                    }
                    None => {
                        queue.cancel(slot);
                        model.remove(&slot);
                    }
                }
                prop_assert_eq!(queue.time_of(slot), model.get(&slot).map(|entry| entry.0));
            }
            let mut expected: Vec<_> = model.into_iter().map(|(slot, key)| (key, slot)).collect();
            expected.sort_unstable();
            let popped: Vec<_> = std::iter::from_fn(|| queue.pop()).collect();
            prop_assert_eq!(popped, expected.into_iter().map(|((time, _), slot)| (time, slot)).collect::<Vec<_>>());
        }
    }
}
