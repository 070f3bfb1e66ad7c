// SPDX-License-Identifier: MIT OR Apache-2.0
//! BPF maps: containers that programs and the host share. The authority is `kernel/bpf` of Linux 6.12.
//!
//! Values are objects of their own in the arena, so that pointers to them stay valid and an overrun is caught. Each
//! kind of map has its file. This file holds what all kinds share, and passes an operation to the map's kind.
//!
//! - [`spec`]: the description of a map. [`field`]: special fields in values. [`value`]: how values are copied.
//! - [`access`]: what a host does with maps, by name. [`retire`]: values that are no longer in a map. `recent`: what was
//!   looked up lately.

pub mod access;
pub mod array;
pub mod bloom;
pub mod field;
pub mod hash;
pub mod nested;
pub mod queue;
mod recent;
pub mod retire;
pub mod ringbuf;
pub mod spec;
pub mod storage;
pub mod value;

#[cfg(test)]
mod tests;

use crate::errno::{Errno, OpError};
use crate::fault::FaultKind;
use crate::memory::Memory;
use array::Array;
use bloom::Bloom;
pub(crate) use field::fields;
pub use field::{Field, FieldKind};
use hash::Hash;
use nested::{ArrayOfMaps, HashOfMaps};
use queue::Queue;
pub use retire::DroppedKptr;
use retire::Retired;
use ringbuf::RingBuf;
pub use spec::{MapError, MapSpec, kind};
use storage::Storage;
pub(crate) use value::set_apart;

/// Handle of the first map: what `ld_imm64` of a map gives a program. It is no address in the arena.
pub const MAP_BASE: u64 = 0xffff_d000_0000_0000;
/// From one map's handle to the next.
const MAP_STRIDE: u64 = 0x100;

/// `BPF_NOEXIST`: create a new element only.
pub const NOEXIST: u64 = 1;
/// `BPF_EXIST`: update an existing element only.
pub const EXIST: u64 = 2;
/// `BPF_F_LOCK`: copy under the value's spin lock.
pub const LOCK: u64 = 4;

/// A map of an instance, by the order of creation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct MapId(pub u32);

impl MapId {
    /// The handle that programs hold.
    pub fn handle(self) -> u64 {
        MAP_BASE + u64::from(self.0) * MAP_STRIDE
    }
}

/// The maps of an instance.
#[derive(Debug, Default)]
pub struct Maps {
    maps: Vec<Map>,
    retired: Retired,
}

/// A map.
#[derive(Debug)]
pub struct Map {
    spec: MapSpec,
    family: Family,
}

/// What a map holds.
#[derive(Debug)]
enum Family {
    Array(Array),
    Hash(Hash),
    Queue(Queue),
    RingBuf(RingBuf),
    Storage(Storage),
    ArrayOfMaps(ArrayOfMaps),
    HashOfMaps(HashOfMaps),
    Bloom(Bloom),
    /// An arena, whose pages the memory has: [`crate::memory::Arena`].
    Arena,
    /// Performance counters, which the host has.
    PerfEvents,
}

impl Maps {
    /// Makes a map for `nr_cpus` CPUs. Its inner maps, if it is a map of maps, are set afterwards.
    ///
    /// # Errors
    /// [`MapError`]: the kernel would refuse it, this kind is not supported, or it does not fit the memory limit.
    pub fn create(&mut self, memory: &mut Memory, spec: MapSpec, nr_cpus: u32) -> Result<MapId, MapError> {
        spec.check()?;
        let family = Family::new(memory, &spec, nr_cpus.max(1))?;
        self.maps.push(Map { spec, family });
        Ok(MapId((self.maps.len() - 1) as u32))
    }

    /// Number of maps.
    pub fn len(&self) -> usize {
        self.maps.len()
    }

    /// Whether there is no map.
    pub fn is_empty(&self) -> bool {
        self.maps.is_empty()
    }

    /// The map that a program holds as `handle`.
    pub fn by_handle(&self, handle: u64) -> Option<MapId> {
        let offset = handle.wrapping_sub(MAP_BASE);
        let known = offset.is_multiple_of(MAP_STRIDE) && offset / MAP_STRIDE < self.maps.len() as u64;
        known.then_some(MapId((offset / MAP_STRIDE) as u32))
    }

    /// The map of this name, the first if there are several.
    pub fn by_name(&self, name: &str) -> Option<MapId> {
        self.maps.iter().position(|map| map.spec.name == name).map(|index| MapId(index as u32))
    }

    /// What the map was made from.
    pub fn spec(&self, id: MapId) -> Option<&MapSpec> {
        Some(&self.maps.get(id.0 as usize)?.spec)
    }

    /// Address of an element's value, or handle of an inner map; `cpu`'s copy in per-CPU maps.
    ///
    /// # Errors
    /// `ENOENT`: no such element. `EOPNOTSUPP`: this kind has no lookup. A fault: the key cannot be read.
    pub fn lookup(&mut self, memory: &Memory, id: MapId, key: u64, cpu: u32) -> Result<u64, OpError> {
        let map = self.map_mut(id)?;
        if let Family::Array(array) = &map.family {
            let index = memory.host_load::<4>(key)?;
            return array.address(index as u32, cpu).ok_or(Errno::ENOENT.into());
        }
        let key = memory.read(key, u64::from(map.spec.key_size))?;
        match &mut map.family {
            Family::Hash(hash) => hash.lookup(key, cpu),
            Family::ArrayOfMaps(outer) => outer.get(array_index(key)).map(MapId::handle),
            Family::HashOfMaps(outer) => outer.get(key).map(MapId::handle),
            _ => return Err(Errno::EOPNOTSUPP.into()),
        }
        .ok_or(Errno::ENOENT.into())
    }

    /// Stores an element; `cpu`'s copy in per-CPU maps, whose other copies are zeroed if it is new.
    ///
    /// # Errors
    /// As the kernel: `EINVAL` (flags, kind), `E2BIG`, `EEXIST`, `ENOENT`. A fault: the value does not fit the memory.
    pub fn update(&mut self, memory: &mut Memory, id: MapId, item: Item<'_>, cpu: u32) -> Result<(), OpError> {
        let Self { maps, retired } = self;
        let map = find(maps, id)?;
        item.check(&map.spec)?;
        match &mut map.family {
            Family::Array(array) => array.update(memory, retired, &map.spec, item, cpu),
            Family::Hash(hash) => hash.update(memory, retired, &map.spec, item, cpu),
            Family::Queue(queue) if item.key.is_empty() => queue.push(memory, item.value, item.flags),
            Family::Bloom(bloom) if item.key.is_empty() => bloom.push(item.value, item.flags),
            _ => Err(Errno::EINVAL.into()),
        }
    }

    /// Removes an element. Its value stays readable until the outermost program has ended.
    ///
    /// # Errors
    /// `ENOENT`: no such element. `EINVAL`: this kind has no deletion.
    pub fn delete(&mut self, id: MapId, key: &[u8]) -> Result<(), OpError> {
        let Self { maps, retired } = self;
        let map = find(maps, id)?;
        match &mut map.family {
            Family::Hash(hash) => hash.delete(retired, &map.spec, key),
            Family::HashOfMaps(outer) => outer.delete(key),
            Family::Bloom(_) | Family::Storage(_) => Err(Errno::EOPNOTSUPP.into()),
            _ => Err(Errno::EINVAL.into()),
        }
    }

    /// The key after `key`, or the first one: how `bpf_for_each_map_elem` and the host go through a map.
    ///
    /// # Errors
    /// `EINVAL`: this kind cannot be gone through.
    pub fn next_key(&self, id: MapId, key: Option<&[u8]>) -> Result<Option<Vec<u8>>, OpError> {
        let map = self.map(id)?;
        Ok(match &map.family {
            Family::Array(array) => array.next_key(key),
            Family::Hash(hash) => hash.next_key(key),
            Family::ArrayOfMaps(outer) => outer.next_key(key),
            Family::HashOfMaps(outer) => outer.next_key(key),
            _ => return Err(Errno::EINVAL.into()),
        })
    }

    /// Address of an element's value without making it the most recently used; `cpu`'s copy in per-CPU maps.
    pub fn peek_address(&self, id: MapId, key: &[u8], cpu: u32) -> Option<u64> {
        match &self.maps.get(id.0 as usize)?.family {
            Family::Array(array) if key.len() == 4 => array.address(array_index(key), cpu),
            Family::Hash(hash) => hash.peek(key, cpu),
            _ => None,
        }
    }

    /// How many values [`Maps::key_of`] looks at, at most.
    pub(crate) fn values(&self, id: MapId) -> u64 {
        match self.maps.get(id.0 as usize).map(|map| &map.family) {
            Some(Family::Array(array)) => array.values(),
            Some(Family::Hash(hash)) => hash.values(),
            _ => 0,
        }
    }

    /// Key of the element whose value is at `address`.
    pub fn key_of(&self, id: MapId, address: u64) -> Option<Vec<u8>> {
        match &self.maps.get(id.0 as usize)?.family {
            Family::Array(array) => array.key_of(address),
            Family::Hash(hash) => hash.key_of(address),
            _ => None,
        }
    }

    fn map(&self, id: MapId) -> Result<&Map, OpError> {
        self.maps.get(id.0 as usize).ok_or_else(|| no_map(id))
    }

    fn map_mut(&mut self, id: MapId) -> Result<&mut Map, OpError> {
        find(&mut self.maps, id)
    }
}

fn find(maps: &mut [Map], id: MapId) -> Result<&mut Map, OpError> {
    maps.get_mut(id.0 as usize).ok_or_else(|| no_map(id))
}

fn no_map(id: MapId) -> OpError {
    FaultKind::Misuse(format!("there is no map {}", id.0)).into()
}

/// The index that an array's key is.
fn array_index(key: &[u8]) -> u32 {
    key.first_chunk().map_or(u32::MAX, |bytes| u32::from_le_bytes(*bytes))
}

/// What an update stores.
#[derive(Debug, Clone, Copy)]
pub struct Item<'a> {
    /// The element's key, of the map's key size.
    pub key: &'a [u8],
    /// The value, of the map's value size.
    pub value: &'a [u8],
    /// `BPF_ANY`, [`NOEXIST`], [`EXIST`], [`LOCK`].
    pub flags: u64,
}

impl Item<'_> {
    fn check(&self, spec: &MapSpec) -> Result<(), OpError> {
        let fits = self.key.len() == spec.key_size as usize && self.value.len() == spec.value_size as usize;
        if fits { Ok(()) } else { Err(Errno::EINVAL.into()) }
    }
}

impl Family {
    fn new(memory: &mut Memory, spec: &MapSpec, nr_cpus: u32) -> Result<Self, MapError> {
        let copies = if spec.is_per_cpu() { nr_cpus } else { 1 };
        Ok(match spec.kind {
            kind::ARRAY | kind::PERCPU_ARRAY => Self::Array(Array::new(memory, spec, copies)?),
            kind::HASH | kind::PERCPU_HASH | kind::LRU_HASH | kind::LRU_PERCPU_HASH => {
                Self::Hash(Hash::new(spec, copies))
            }
            kind::QUEUE | kind::STACK => Self::Queue(Queue::new(spec)),
            kind::RINGBUF => Self::RingBuf(RingBuf::new(memory, spec)?),
            kind::TASK_STORAGE | kind::CGRP_STORAGE => Self::Storage(Storage::default()),
            kind::ARRAY_OF_MAPS => Self::ArrayOfMaps(ArrayOfMaps::new(spec)),
            kind::HASH_OF_MAPS => Self::HashOfMaps(HashOfMaps::new(spec)),
            kind::BLOOM_FILTER => Self::Bloom(Bloom::new(memory, spec)?),
            kind::PERF_EVENT_ARRAY => Self::PerfEvents,
            kind::ARENA if memory.make_arena(spec.arena()) => Self::Arena,
            kind::ARENA => return Err(spec.refused("an object has one arena at most")),
            _ => return Err(MapError::Unsupported { map: spec.name.clone(), kind: kind::name(spec.kind) }),
        })
    }
}
