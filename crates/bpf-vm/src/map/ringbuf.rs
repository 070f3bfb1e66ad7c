// SPDX-License-Identifier: MIT OR Apache-2.0
//! `RINGBUF` (`kernel/bpf/ringbuf.c`): records that programs reserve, fill and submit, and that the host reads in
//! order.
//!
//! A record under construction is an object of its own in the arena, where the kernel has bytes in one ring. It counts
//! with the bytes that it would take in the ring, so the buffer is full when the kernel's is.

use std::collections::VecDeque;

use super::spec::{MapError, MapSpec};
use super::{Family, MapId, Maps};
use crate::errno::{Errno, OpError};
use crate::fault::FaultKind;
use crate::memory::{Kept, Memory, Protection};

/// `BPF_RINGBUF_HDR_SZ`: bytes before each record.
const HEADER: u64 = 8;
/// `RINGBUF_MAX_RECORD_SZ`: largest record.
const MAX_RECORD: u64 = u32::MAX as u64 / 4;
/// Bytes that a record takes beside its own and its place in the ring.
const PER_RECORD: u64 = 64;

/// A ring buffer.
#[derive(Debug)]
pub(super) struct RingBuf {
    size: u64,
    producer: u64,
    consumer: u64,
    /// Records that the host has not read yet, the oldest first.
    records: VecDeque<Record>,
    most: Kept,
}

#[derive(Debug)]
struct Record {
    /// Bytes that the record takes in the ring.
    length: u64,
    state: State,
}

#[derive(Debug, PartialEq, Eq)]
enum State {
    /// A program fills the record, at this address.
    Busy(u64),
    Submitted(Vec<u8>),
    Discarded,
}

/// What a ring buffer tells about itself (`bpf_ringbuf_query`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RingState {
    /// Bytes not read yet, reserved ones included.
    pub available: u64,
    /// Bytes of the buffer.
    pub size: u64,
    /// Bytes ever read.
    pub consumer: u64,
    /// Bytes ever reserved.
    pub producer: u64,
}

impl RingBuf {
    pub(super) fn new(memory: &mut Memory, spec: &MapSpec) -> Result<Self, MapError> {
        let size = u64::from(spec.max_entries);
        memory.reserve(size).map_err(|why| spec.no_memory(why))?;
        Ok(Self { size, producer: 0, consumer: 0, records: VecDeque::new(), most: Kept::default() })
    }

    /// Room for a record of `size` bytes, if there is any. Submitted records take room until they are read. A record
    /// behind one that is still being filled cannot be read yet.
    fn reserve(&mut self, memory: &mut Memory, size: u64) -> Result<&mut Record, OpError> {
        if size > MAX_RECORD {
            return Err(Errno::EAGAIN.into());
        }
        let length = (size + HEADER).next_multiple_of(8);
        // The kernel never fills the last byte: a full ring would look like an empty one.
        if self.producer + length - self.consumer > self.size - 1 {
            return Err(Errno::EAGAIN.into());
        }
        self.most.one_more(memory, self.records.len(), PER_RECORD)?;
        self.producer += length;
        self.records.push_back(Record { length, state: State::Discarded });
        self.records.back_mut().ok_or(Errno::EAGAIN.into())
    }

    fn consume(&mut self) -> Vec<Vec<u8>> {
        let mut read = Vec::new();
        while self.records.front().is_some_and(|record| !matches!(record.state, State::Busy(_))) {
            let Some(record) = self.records.pop_front() else { break };
            self.consumer += record.length;
            if let State::Submitted(bytes) = record.state {
                read.push(bytes);
            }
        }
        read
    }
}

impl Maps {
    /// Reserves a record; returns the address where its bytes, all zero, may be written.
    ///
    /// # Errors
    /// `EAGAIN`: no room. `EINVAL`: another kind of map. A fault: the memory limit.
    pub fn ring_reserve(&mut self, memory: &mut Memory, id: MapId, size: u64) -> Result<u64, OpError> {
        let ring = self.ring(id)?;
        let record = ring.reserve(memory, size)?;
        let address = memory.alloc(size, Protection::ReadWrite)?;
        record.state = State::Busy(address);
        Ok(address)
    }

    /// Submits or discards the record at `address`, which must not be used any more. Returns how many records lie before it and
    /// so were looked at.
    ///
    /// # Errors
    /// A fault: no record is being filled there.
    pub fn ring_commit(&mut self, memory: &mut Memory, address: u64, discard: bool) -> Result<u64, FaultKind> {
        let records = self.maps.iter_mut().flat_map(|map| match &mut map.family {
            Family::RingBuf(ring) => ring.records.iter_mut(),
            _ => std::collections::vec_deque::IterMut::default(),
        });
        let mut records = records.enumerate();
        let Some((before, record)) = records.find(|(_, record)| record.state == State::Busy(address)) else {
            return Err(FaultKind::Misuse(format!("{address:#x} is no reserved record of a ring buffer")));
        };
        let size = memory.size_of(address).unwrap_or(0);
        record.state = match discard {
            true => State::Discarded,
            false => State::Submitted(memory.read(address, size)?.to_vec()),
        };
        memory.free(address)?;
        Ok(before as u64)
    }

    /// Writes a whole record.
    ///
    /// # Errors
    /// `EAGAIN`: no room. `EINVAL`: another kind of map.
    pub fn ring_output(&mut self, memory: &mut Memory, id: MapId, bytes: Vec<u8>) -> Result<(), OpError> {
        let record = self.ring(id)?.reserve(memory, bytes.len() as u64)?;
        record.state = State::Submitted(bytes);
        Ok(())
    }

    /// The buffer's state.
    ///
    /// # Errors
    /// `EINVAL`: another kind of map.
    pub fn ring_state(&mut self, id: MapId) -> Result<RingState, OpError> {
        let RingBuf { size, producer, consumer, .. } = *self.ring(id)?;
        Ok(RingState { available: producer - consumer, size, consumer, producer })
    }

    /// Takes the records that were submitted, the oldest first, up to the first that is still being filled.
    ///
    /// # Errors
    /// `EINVAL`: another kind of map.
    pub fn ring_consume(&mut self, id: MapId) -> Result<Vec<Vec<u8>>, OpError> {
        Ok(self.ring(id)?.consume())
    }

    fn ring(&mut self, id: MapId) -> Result<&mut RingBuf, OpError> {
        match &mut self.map_mut(id)?.family {
            Family::RingBuf(ring) => Ok(ring),
            _ => Err(Errno::EINVAL.into()),
        }
    }
}
