// SPDX-License-Identifier: MIT OR Apache-2.0
//! The events of the present day, earliest first: a heap with four children per node, which knows where each slot's event is.

use super::{ABSENT, Entry, Node};
use crate::units::Nanos;

/// Children per node: flatter than a binary heap, and four entries are one cache line.
const ARITY: usize = 4;

/// A heap of events. Where each is, stands in its slot's node.
#[derive(Debug, Default)]
pub(super) struct Near {
    heap: Vec<Entry>,
}

impl Near {
    /// The earliest event.
    #[inline]
    pub fn first(&self) -> Option<Entry> {
        self.heap.first().copied()
    }

    /// When the event at `place` is due.
    #[inline]
    pub fn time_at(&self, place: u32) -> Option<Nanos> {
        self.heap.get(place as usize).map(|entry| entry.time)
    }

    /// Adds an event.
    pub fn push(&mut self, nodes: &mut [Node], entry: Entry) {
        self.heap.push(entry);
        self.sift_up(nodes, self.heap.len() - 1, entry);
    }

    /// The event at `place` is this one from now on.
    pub fn replace(&mut self, nodes: &mut [Node], place: u32, entry: Entry) {
        let place = place as usize;
        let earlier = entry.key() < self.heap[place].key();
        if earlier { self.sift_up(nodes, place, entry) } else { self.sift_down(nodes, place, entry) }
    }

    /// Takes the event at `place` out.
    pub fn remove(&mut self, nodes: &mut [Node], place: u32) {
        nodes[self.heap[place as usize].slot()].place = ABSENT;
        let Some(last) = self.heap.pop() else { return };
        if (place as usize) < self.heap.len() {
            self.replace(nodes, place, last);
        }
    }

    #[inline]
    fn place(&mut self, nodes: &mut [Node], place: usize, entry: Entry) {
        self.heap[place] = entry;
        nodes[entry.slot()].place = place as u32;
    }

    fn sift_up(&mut self, nodes: &mut [Node], mut place: usize, entry: Entry) {
        while place > 0 {
            let parent = (place - 1) / ARITY;
            let above = self.heap[parent];
            if above.key() <= entry.key() {
                break;
            }
            self.place(nodes, place, above);
            place = parent;
        }
        self.place(nodes, place, entry);
    }

    fn sift_down(&mut self, nodes: &mut [Node], mut place: usize, entry: Entry) {
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
            self.place(nodes, place, least);
            place = least_place;
        }
        self.place(nodes, place, entry);
    }
}
