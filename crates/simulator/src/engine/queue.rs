// SPDX-License-Identifier: MIT OR Apache-2.0
//! The event queue: one pending time per slot, earliest first, ties in the order they were set.
//!
//! Most slots live in a heap. Those whose times never go backwards from one call to the next (the ticks: all CPUs share
//! one grid) live in a plain queue beside it, which costs the same however many there are.

use std::collections::VecDeque;

use crate::units::Nanos;

/// Children per node: flatter than a binary heap, and four entries are one cache line.
const ARITY: usize = 4;
/// A slot that is not in the heap.
const ABSENT: u32 = u32::MAX;

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
}

/// A queue of events; what a slot means is the caller's business.
#[derive(Debug, Default)]
pub struct EventQueue {
    heap: Vec<Entry>,
    /// Per slot: its place in the heap.
    places: Vec<u32>,
    /// Events of slots set by [`EventQueue::set_in_order`], some cancelled since.
    ordered: VecDeque<Entry>,
    /// Per such slot: the event that counts.
    current: Vec<Option<Entry>>,
    sequence: u32,
}

impl EventQueue {
    /// A queue with room for `slots` slots; [`EventQueue::set`] adds more as needed.
    pub fn with_slots(slots: usize) -> Self {
        Self { places: vec![ABSENT; slots], current: vec![None; slots], ..Self::default() }
    }

    fn entry(&mut self, slot: usize, time: Nanos) -> Entry {
        self.sequence = self.sequence.wrapping_add(1);
        Entry::new(time, self.sequence, slot)
    }

    /// Schedules `slot` for `time`, whether it was scheduled before or not.
    pub fn set(&mut self, slot: usize, time: Nanos) {
        if slot >= self.places.len() {
            self.places.resize(slot + 1, ABSENT);
        }
        let entry = self.entry(slot, time);
        match self.places[slot] {
            ABSENT => {
                self.heap.push(entry);
                self.sift_up(self.heap.len() - 1, entry);
            }
            place => {
                let earlier = entry.key() < self.heap[place as usize].key();
                if earlier { self.sift_up(place as usize, entry) } else { self.sift_down(place as usize, entry) }
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
        let Some(&place) = self.places.get(slot).filter(|place| **place != ABSENT) else { return };
        self.places[slot] = ABSENT;
        let place = place as usize;
        let Some(last) = self.heap.pop() else { return };
        if place < self.heap.len() {
            let earlier = last.key() < self.heap[place].key();
            if earlier { self.sift_up(place, last) } else { self.sift_down(place, last) }
        }
    }

    /// When `slot` is due.
    pub fn time_of(&self, slot: usize) -> Option<Nanos> {
        if let Some(Some(due)) = self.current.get(slot) {
            return Some(due.time);
        }
        self.places.get(slot).filter(|place| **place != ABSENT).map(|place| self.heap[*place as usize].time)
    }

    /// Whether an event other than those set in order is due by `time`.
    pub fn is_due(&self, time: Nanos) -> bool {
        self.heap.first().is_some_and(|first| first.time <= time)
    }

    /// Whether no event is left; one that was cancelled may count for a while.
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty() && self.ordered.is_empty()
    }

    /// The earliest event, which leaves the queue.
    pub fn pop(&mut self) -> Option<(Nanos, usize)> {
        while let Some(first) = self.ordered.front().copied() {
            let slot = first.slot();
            let stale = self.current[slot] != Some(first);
            if !stale && self.heap.first().is_some_and(|other| other.key() < first.key()) {
                break;
            }
            self.ordered.pop_front();
            if !stale {
                self.current[slot] = None;
                return Some((first.time, slot));
            }
        }
        let first = *self.heap.first()?;
        self.places[first.slot()] = ABSENT;
        let last = self.heap.pop()?;
        if !self.heap.is_empty() {
            self.sift_down(0, last);
        }
        Some((first.time, first.slot()))
    }

    fn place(&mut self, place: usize, entry: Entry) {
        self.heap[place] = entry;
        self.places[entry.slot()] = place as u32;
    }

    fn sift_up(&mut self, mut place: usize, entry: Entry) {
        while place > 0 {
            let parent = (place - 1) / ARITY;
            let above = self.heap[parent];
            if above.key() <= entry.key() {
                break;
            }
            self.place(place, above);
            place = parent;
        }
        self.place(place, entry);
    }

    fn sift_down(&mut self, mut place: usize, entry: Entry) {
        let key = entry.key();
        loop {
            let first = place * ARITY + 1;
            let last = (first + ARITY).min(self.heap.len());
            let Some([eldest, others @ ..]) = self.heap.get(first..last) else { break };
            let (mut least, mut least_place) = (*eldest, first);
            for (child, at) in others.iter().zip(first + 1..) {
                // Without a branch, which nobody could predict.
                let earlier = child.key() < least.key();
                least = if earlier { *child } else { least };
                least_place = if earlier { at } else { least_place };
            }
            if key <= least.key() {
                break;
            }
            self.place(place, least);
            place = least_place;
        }
        self.place(place, entry);
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

    proptest! {
        /// Whatever is set, moved and cancelled, what comes out is sorted and complete.
        #[test]
        fn it_behaves_as_a_sorted_map(steps in prop::collection::vec((0usize..12, prop::option::of(0u64..30)), 0..80)) {
            let mut queue = EventQueue::with_slots(4);
            let mut model = std::collections::BTreeMap::new();
            for (sequence, (slot, time)) in steps.into_iter().enumerate() {
                match time {
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
