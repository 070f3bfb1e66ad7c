// SPDX-License-Identifier: MIT OR Apache-2.0
//! `QUEUE` and `STACK` (`kernel/bpf/queue_stack_maps.c`). Programs never point into them, so values are not in the
//! arena.

use std::collections::VecDeque;

use super::spec::{MapSpec, kind};
use super::{EXIST, Family, MapId, Maps, NOEXIST};
use crate::errno::{Errno, OpError};
use crate::memory::Memory;

/// Bytes that a value takes beside its own bytes.
const PER_VALUE: u64 = 32;

/// A queue or a stack.
#[derive(Debug)]
pub(super) struct Queue {
    /// Values, the oldest first.
    values: VecDeque<Box<[u8]>>,
    max_entries: usize,
    /// The most values that the map has held; room was reserved for these.
    most: usize,
    stack: bool,
}

impl Queue {
    pub(super) fn new(spec: &MapSpec) -> Self {
        let stack = spec.kind == kind::STACK;
        Self { values: VecDeque::new(), max_entries: spec.max_entries as usize, most: 0, stack }
    }

    /// `queue_stack_map_push_elem`: with `BPF_EXIST` a full map drops its oldest value.
    pub(super) fn push(&mut self, memory: &mut Memory, value: &[u8], flags: u64) -> Result<(), OpError> {
        if flags & NOEXIST != 0 || flags > EXIST {
            return Err(Errno::EINVAL.into());
        }
        if self.values.len() >= self.max_entries {
            if flags & EXIST == 0 {
                return Err(Errno::E2BIG.into());
            }
            self.values.pop_front();
        }
        // Values count against the arena's limit although they lie elsewhere: a huge map must not take the machine's
        // memory.
        if self.values.len() == self.most {
            memory.reserve(value.len() as u64 + PER_VALUE)?;
            self.most += 1;
        }
        self.values.push_back(value.into());
        Ok(())
    }

    fn first(&self) -> Option<&[u8]> {
        if self.stack { self.values.back() } else { self.values.front() }.map(|value| &**value)
    }

    fn pop(&mut self) -> Option<Box<[u8]>> {
        if self.stack { self.values.pop_back() } else { self.values.pop_front() }
    }

    pub(super) fn len(&self) -> usize {
        self.values.len()
    }
}

impl Maps {
    /// Pushes a value onto a queue or stack, or adds it to a Bloom filter.
    ///
    /// # Errors
    /// `E2BIG`: the map is full. `EINVAL`: wrong flags or size, or another kind of map.
    pub fn push(&mut self, memory: &mut Memory, id: MapId, value: &[u8], flags: u64) -> Result<(), OpError> {
        let map = self.map_mut(id)?;
        if value.len() != map.spec.value_size as usize {
            return Err(Errno::EINVAL.into());
        }
        match &mut map.family {
            Family::Queue(queue) => queue.push(memory, value, flags),
            Family::Bloom(bloom) => bloom.push(value, flags),
            _ => Err(Errno::EINVAL.into()),
        }
    }

    /// Takes the first value of a queue (the oldest) or stack (the newest).
    ///
    /// # Errors
    /// `ENOENT`: the map is empty. `EOPNOTSUPP`: another kind of map.
    pub fn pop(&mut self, id: MapId) -> Result<Box<[u8]>, OpError> {
        match &mut self.map_mut(id)?.family {
            Family::Queue(queue) => queue.pop().ok_or(Errno::ENOENT.into()),
            _ => Err(Errno::EOPNOTSUPP.into()),
        }
    }

    /// The value that [`Maps::pop`] would take.
    ///
    /// # Errors
    /// `ENOENT`: the map is empty. `EOPNOTSUPP`: another kind of map.
    pub fn peek(&self, id: MapId) -> Result<&[u8], OpError> {
        match &self.map(id)?.family {
            Family::Queue(queue) => queue.first().ok_or(Errno::ENOENT.into()),
            _ => Err(Errno::EOPNOTSUPP.into()),
        }
    }

    /// Values in a queue or stack.
    pub fn queued(&self, id: MapId) -> Option<usize> {
        match &self.maps.get(id.0 as usize)?.family {
            Family::Queue(queue) => Some(queue.len()),
            _ => None,
        }
    }
}
