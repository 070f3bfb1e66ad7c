// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ARRAY` and `PERCPU_ARRAY` (`kernel/bpf/arraymap.c`): all elements exist from the start.

use super::retire::Retired;
use super::spec::{MapError, MapSpec};
use super::{EXIST, Item, LOCK, NOEXIST, array_index, value};
use crate::errno::{Errno, OpError};
use crate::fault::FaultKind;
use crate::memory::Memory;

/// Bytes that a value takes outside of the arena: its address here.
const PER_VALUE: u64 = 8;

/// An array.
#[derive(Debug)]
pub(super) struct Array {
    /// Addresses of values: element by element, each with a copy for every CPU.
    values: Vec<u64>,
    copies: u32,
}

impl Array {
    pub(super) fn new(memory: &mut Memory, spec: &MapSpec, copies: u32) -> Result<Self, MapError> {
        let count = u64::from(spec.max_entries) * u64::from(copies);
        // Values that cannot fit are refused before any is allocated.
        let each = Memory::cost(u64::from(spec.value_size)).unwrap_or(u64::MAX);
        let needed = count.saturating_mul(each.saturating_add(PER_VALUE));
        if needed > memory.available() {
            let why = format!("{needed} bytes of values over the {} left", memory.available());
            return Err(spec.no_memory(FaultKind::Exhausted(why)));
        }
        memory.reserve(count * PER_VALUE).map_err(|why| spec.no_memory(why))?;
        let mut values = Vec::new();
        for _ in 0..spec.max_entries {
            values.extend(value::alloc(memory, spec, copies).map_err(|why| spec.no_memory(why))?);
        }
        Ok(Self { values, copies })
    }

    fn len(&self) -> u32 {
        (self.values.len() / self.copies as usize) as u32
    }

    pub(super) fn address(&self, index: u32, cpu: u32) -> Option<u64> {
        let copy = if self.copies == 1 { 0 } else { cpu as usize };
        if copy >= self.copies as usize {
            return None;
        }
        self.values.get(index as usize * self.copies as usize + copy).copied()
    }

    /// `array_map_update_elem`.
    pub(super) fn update(
        &mut self,
        memory: &mut Memory,
        retired: &mut Retired,
        spec: &MapSpec,
        item: Item<'_>,
        cpu: u32,
    ) -> Result<(), OpError> {
        if item.flags & !LOCK > EXIST || (item.flags & LOCK != 0 && !spec.has_spin_lock()) {
            return Err(Errno::EINVAL.into());
        }
        let address = self.address(array_index(item.key), cpu).ok_or(Errno::E2BIG)?;
        if item.flags & NOEXIST != 0 {
            return Err(Errno::EEXIST.into());
        }
        value::copy(memory, spec, address, item.value)?;
        Ok(retired.fields(memory, spec, address)?)
    }

    pub(super) fn next_key(&self, key: Option<&[u8]>) -> Option<Vec<u8>> {
        let next = key.map_or(Some(0), |key| array_index(key).checked_add(1))?;
        (next < self.len()).then(|| next.to_le_bytes().to_vec())
    }

    pub(super) fn values(&self) -> u64 {
        self.values.len() as u64
    }

    pub(super) fn key_of(&self, address: u64) -> Option<Vec<u8>> {
        let index = self.values.iter().position(|value| *value == address)?;
        Some(((index / self.copies as usize) as u32).to_le_bytes().to_vec())
    }
}
