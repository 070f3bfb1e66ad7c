// SPDX-License-Identifier: MIT OR Apache-2.0
//! `HASH`, `PERCPU_HASH` and their LRU kinds (`kernel/bpf/hashtab.c`).
//!
//! Elements are ordered by their keys' bytes, so that walking a map is the same every time; the kernel's order depends
//! on a random seed. The LRU kinds evict exactly the least recently used element. The kernel approximates that with
//! per-CPU batches and a reference bit, and `BPF_F_NO_COMMON_LRU` gives each CPU its own list. A program can tell by
//! which of several old elements is gone, and because a kernel's map evicts before it is quite full.

use std::collections::BTreeMap;
use std::ops::Bound;

use super::recent::Recent;
use super::retire::Retired;
use super::spec::MapSpec;
use super::{EXIST, Item, LOCK, NOEXIST, value};
use crate::errno::{Errno, OpError};
use crate::fault::FaultKind;
use crate::memory::Memory;

/// Bytes that an element takes outside of the arena, beside its key and its values' addresses.
const PER_ELEMENT: u64 = 64;

/// A hash.
#[derive(Debug)]
pub(super) struct Hash {
    entries: BTreeMap<Box<[u8]>, Entry>,
    max_entries: usize,
    copies: u32,
    /// The most elements that the map has held; room was reserved for these.
    most: usize,
    /// Keys by their last use, in LRU kinds.
    uses: Option<BTreeMap<u64, Box<[u8]>>>,
    clock: u64,
    /// Elements that were looked up lately; see [`Hash::number`].
    recent: Recent,
}

#[derive(Debug)]
struct Entry {
    /// Addresses of the values: one, or one for each CPU.
    values: Box<[u64]>,
    used: u64,
}

/// What an update answers that finds no memory: `-ENOMEM` where the kernel allocates elements one by one
/// (`alloc_htab_elem`). The elements of other maps it allocates when it makes the map, so that the update cannot fail.
fn no_memory(spec: &MapSpec, why: FaultKind) -> OpError {
    if spec.is_preallocated() { why.into() } else { Errno::ENOMEM.into() }
}

impl Entry {
    fn address(&self, cpu: u32) -> Option<u64> {
        let copy = if self.values.len() == 1 { 0 } else { cpu as usize };
        self.values.get(copy).copied()
    }
}

impl Hash {
    pub(super) fn new(spec: &MapSpec, copies: u32) -> Self {
        let uses = spec.is_lru().then(BTreeMap::new);
        Self {
            entries: BTreeMap::new(),
            max_entries: spec.max_entries as usize,
            copies,
            most: 0,
            uses,
            clock: 0,
            recent: Recent::default(),
        }
    }

    /// The number by which a key is remembered: short keys, of maps without order of use or copies for CPUs.
    #[inline]
    fn number(&self, key: &[u8]) -> Option<u64> {
        if self.uses.is_some() || self.copies != 1 {
            return None;
        }
        match *key {
            [a, b, c, d] => Some(u32::from_le_bytes([a, b, c, d]).into()),
            [a, b, c, d, e, f, g, h] => Some(u64::from_le_bytes([a, b, c, d, e, f, g, h])),
            _ => None,
        }
    }

    /// Address of an element's value. The element is then the most recently used.
    pub(super) fn lookup(&mut self, key: &[u8], cpu: u32) -> Option<u64> {
        let Some(number) = self.number(key) else { return self.search(key, cpu) };
        if let Some(address) = self.recent.get(number) {
            return Some(address);
        }
        let address = self.search(key, cpu)?;
        self.recent.set(number, address);
        Some(address)
    }

    fn search(&mut self, key: &[u8], cpu: u32) -> Option<u64> {
        let entry = self.entries.get_mut(key)?;
        if let Some(uses) = &mut self.uses {
            self.clock += 1;
            if let Some(key) = uses.remove(&entry.used) {
                uses.insert(self.clock, key);
            }
            entry.used = self.clock;
        }
        entry.address(cpu)
    }

    /// Address of an element's value; does not count as a use of the element.
    pub(super) fn peek(&self, key: &[u8], cpu: u32) -> Option<u64> {
        self.entries.get(key)?.address(cpu)
    }

    /// `htab_map_update_elem` and its LRU and per-CPU forms.
    pub(super) fn update(
        &mut self,
        memory: &mut Memory,
        retired: &mut Retired,
        spec: &MapSpec,
        item: Item<'_>,
        cpu: u32,
    ) -> Result<(), OpError> {
        let locked = item.flags & LOCK != 0;
        if item.flags & !LOCK > EXIST || (locked && (!spec.has_spin_lock() || spec.is_lru() || spec.is_per_cpu())) {
            return Err(Errno::EINVAL.into());
        }
        if let Some(address) = self.peek(item.key, cpu) {
            if item.flags & NOEXIST != 0 {
                return Err(Errno::EEXIST.into());
            }
            // Per-CPU values and values under their lock are updated in place. Other values are replaced, so that a
            // program which holds the old value's address still reads the old value.
            if spec.is_per_cpu() || locked {
                self.lookup(item.key, cpu);
                value::copy(memory, spec, address, item.value)?;
                // `pcpu_copy_value` drops what the value owned; an update under the lock keeps it.
                return if locked { Ok(()) } else { Ok(retired.fields(memory, spec, address)?) };
            }
        } else if item.flags & EXIST != 0 {
            return Err(Errno::ENOENT.into());
        }
        self.insert(memory, retired, spec, item, cpu)
    }

    fn insert(
        &mut self,
        memory: &mut Memory,
        retired: &mut Retired,
        spec: &MapSpec,
        item: Item<'_>,
        cpu: u32,
    ) -> Result<(), OpError> {
        let new = !self.entries.contains_key(item.key);
        if new && self.entries.len() >= self.max_entries && !self.evict(retired, spec) {
            return Err(Errno::E2BIG.into());
        }
        if new && self.entries.len() == self.most {
            // The key counts twice: the list of uses of an LRU kind has it too.
            let bytes = 2 * item.key.len() as u64 + u64::from(self.copies) * 8 + PER_ELEMENT;
            memory.reserve(bytes).map_err(|why| no_memory(spec, why))?;
            self.most += 1;
        }
        let values = value::alloc(memory, spec, self.copies).map_err(|why| no_memory(spec, why))?;
        self.clock += 1;
        let entry = Entry { values, used: self.clock };
        if let Some(address) = entry.address(cpu) {
            value::copy(memory, spec, address, item.value)?;
        }
        if let Some(uses) = &mut self.uses {
            uses.insert(self.clock, item.key.into());
        }
        if let Some(old) = self.entries.insert(item.key.into(), entry) {
            self.forget(item.key);
            self.retire(retired, spec, old);
        }
        Ok(())
    }

    /// Removes the least recently used element, if this is an LRU kind.
    fn evict(&mut self, retired: &mut Retired, spec: &MapSpec) -> bool {
        let Some(key) = self.uses.as_ref().and_then(|uses| uses.values().next().cloned()) else {
            return false;
        };
        self.delete(retired, spec, &key).is_ok()
    }

    pub(super) fn delete(&mut self, retired: &mut Retired, spec: &MapSpec, key: &[u8]) -> Result<(), OpError> {
        let old = self.entries.remove(key).ok_or(Errno::ENOENT)?;
        self.forget(key);
        self.retire(retired, spec, old);
        Ok(())
    }

    fn forget(&mut self, key: &[u8]) {
        if let Some(number) = self.number(key) {
            self.recent.forget(number);
        }
    }

    fn retire(&mut self, retired: &mut Retired, spec: &MapSpec, old: Entry) {
        if let Some(uses) = &mut self.uses {
            uses.remove(&old.used);
        }
        old.values.iter().for_each(|address| retired.value(spec, *address));
    }

    /// The key that follows in the order of bytes.
    pub(super) fn next_key(&self, key: Option<&[u8]>) -> Option<Vec<u8>> {
        let start = key.map_or(Bound::Unbounded, Bound::Excluded);
        let (key, _) = self.entries.range::<[u8], _>((start, Bound::Unbounded)).next()?;
        Some(key.to_vec())
    }

    pub(super) fn values(&self) -> u64 {
        self.entries.len() as u64 * u64::from(self.copies)
    }

    pub(super) fn key_of(&self, address: u64) -> Option<Vec<u8>> {
        self.entries.iter().find(|(_, entry)| entry.values.contains(&address)).map(|(key, _)| key.to_vec())
    }
}
