// SPDX-License-Identifier: MIT OR Apache-2.0
//! The event queue: one pending time per slot, earliest first, ties in the order they were set.

use crate::units::Nanos;

/// Children per node: flatter than a binary heap, so fewer cache lines per operation.
const ARITY: usize = 4;
/// A slot that is not scheduled.
const ABSENT: u32 = u32::MAX;

#[derive(Debug, Clone, Copy)]
struct Entry {
    time: Nanos,
    sequence: u64,
    slot: u32,
}

impl Entry {
    fn key(&self) -> (Nanos, u64) {
        (self.time, self.sequence)
    }
}

/// A queue of events; what a slot means is the caller's business.
#[derive(Debug, Default)]
pub struct EventQueue {
    heap: Vec<Entry>,
    /// Per slot: its place in the heap.
    places: Vec<u32>,
    sequence: u64,
}

impl EventQueue {
    /// A queue with room for `slots` slots; [`EventQueue::set`] adds more as needed.
    pub fn with_slots(slots: usize) -> Self {
        Self { heap: Vec::new(), places: vec![ABSENT; slots], sequence: 0 }
    }

    /// Schedules `slot` for `time`, whether it was scheduled before or not.
    pub fn set(&mut self, slot: usize, time: Nanos) {
        if slot >= self.places.len() {
            self.places.resize(slot + 1, ABSENT);
        }
        self.sequence += 1;
        let entry = Entry { time, sequence: self.sequence, slot: slot as u32 };
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

    /// Takes `slot` out, if it is scheduled.
    pub fn cancel(&mut self, slot: usize) {
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
        self.places.get(slot).filter(|place| **place != ABSENT).map(|place| self.heap[*place as usize].time)
    }

    /// The earliest event, which leaves the queue.
    pub fn pop(&mut self) -> Option<(Nanos, usize)> {
        let first = *self.heap.first()?;
        self.places[first.slot as usize] = ABSENT;
        let last = self.heap.pop()?;
        if !self.heap.is_empty() {
            self.sift_down(0, last);
        }
        Some((first.time, first.slot as usize))
    }

    fn place(&mut self, place: usize, entry: Entry) {
        self.heap[place] = entry;
        self.places[entry.slot as usize] = place as u32;
    }

    fn sift_up(&mut self, mut place: usize, entry: Entry) {
        while place > 0 {
            let parent = (place - 1) / ARITY;
            if self.heap[parent].key() <= entry.key() {
                break;
            }
            self.place(place, self.heap[parent]);
            place = parent;
        }
        self.place(place, entry);
    }

    fn sift_down(&mut self, mut place: usize, entry: Entry) {
        loop {
            let first = place * ARITY + 1;
            let children = first..(first + ARITY).min(self.heap.len());
            let Some(least) = children.min_by_key(|child| self.heap[*child].key()) else { break };
            if entry.key() <= self.heap[least].key() {
                break;
            }
            self.place(place, self.heap[least]);
            place = least;
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
