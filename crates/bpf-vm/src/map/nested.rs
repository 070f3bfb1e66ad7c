// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ARRAY_OF_MAPS` and `HASH_OF_MAPS` (`kernel/bpf/map_in_map.c`). Programs look inner maps up; only the host sets
//! them.

use std::collections::BTreeMap;
use std::ops::Bound;

use super::spec::MapSpec;
use super::{Family, MapId, Maps, array_index};
use crate::errno::{Errno, OpError};

/// Inner maps by index.
#[derive(Debug)]
pub(super) struct ArrayOfMaps {
    inner: BTreeMap<u32, MapId>,
    max_entries: u32,
}

/// Inner maps by key.
#[derive(Debug)]
pub(super) struct HashOfMaps {
    inner: BTreeMap<Box<[u8]>, MapId>,
    max_entries: usize,
}

impl ArrayOfMaps {
    pub(super) fn new(spec: &MapSpec) -> Self {
        Self { inner: BTreeMap::new(), max_entries: spec.max_entries }
    }

    pub(super) fn get(&self, index: u32) -> Option<MapId> {
        self.inner.get(&index).copied()
    }

    pub(super) fn next_key(&self, key: Option<&[u8]>) -> Option<Vec<u8>> {
        let next = key.map_or(Some(0), |key| array_index(key).checked_add(1))?;
        (next < self.max_entries).then(|| next.to_le_bytes().to_vec())
    }
}

impl HashOfMaps {
    pub(super) fn new(spec: &MapSpec) -> Self {
        Self { inner: BTreeMap::new(), max_entries: spec.max_entries as usize }
    }

    pub(super) fn get(&self, key: &[u8]) -> Option<MapId> {
        self.inner.get(key).copied()
    }

    pub(super) fn delete(&mut self, key: &[u8]) -> Result<(), OpError> {
        self.inner.remove(key).map(|_| ()).ok_or(Errno::ENOENT.into())
    }

    pub(super) fn next_key(&self, key: Option<&[u8]>) -> Option<Vec<u8>> {
        let start = key.map_or(Bound::Unbounded, Bound::Excluded);
        self.inner.range::<[u8], _>((start, Bound::Unbounded)).next().map(|(key, _)| key.to_vec())
    }
}

impl Maps {
    /// Puts a map into a map of maps.
    ///
    /// # Errors
    /// `E2BIG`: the map is full, or the index lies beyond the array. `EINVAL`: no map of maps, or a key of the wrong
    /// size.
    pub fn set_inner(&mut self, outer: MapId, key: &[u8], inner: MapId) -> Result<(), OpError> {
        self.map(inner)?;
        let map = self.map_mut(outer)?;
        if key.len() != map.spec.key_size as usize {
            return Err(Errno::EINVAL.into());
        }
        match &mut map.family {
            Family::ArrayOfMaps(array) if array_index(key) < array.max_entries => {
                array.inner.insert(array_index(key), inner);
            }
            Family::HashOfMaps(hash) if hash.inner.contains_key(key) || hash.inner.len() < hash.max_entries => {
                hash.inner.insert(key.into(), inner);
            }
            Family::ArrayOfMaps(_) | Family::HashOfMaps(_) => return Err(Errno::E2BIG.into()),
            _ => return Err(Errno::EINVAL.into()),
        }
        Ok(())
    }

    /// The inner map under a key of a map of maps.
    pub fn inner(&self, outer: MapId, key: &[u8]) -> Option<MapId> {
        match &self.maps.get(outer.0 as usize)?.family {
            Family::ArrayOfMaps(array) if key.len() == 4 => array.get(array_index(key)),
            Family::HashOfMaps(hash) => hash.get(key),
            _ => None,
        }
    }
}
