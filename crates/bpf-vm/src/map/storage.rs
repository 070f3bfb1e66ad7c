// SPDX-License-Identifier: MIT OR Apache-2.0
//! `TASK_STORAGE` and `CGRP_STORAGE` (`kernel/bpf/bpf_local_storage.c`): a value for each task or cgroup that has one,
//! removed together with its owner. Owners are known by their addresses.

use std::collections::BTreeMap;

use super::recent::Recent;
use super::{Family, MapId, Maps, find, value};
use crate::errno::{Errno, OpError};
use crate::memory::{Kept, Memory};

/// Bytes that an owner takes in the list of owners, at most.
const PER_OWNER: u64 = 48;

/// Values by their owners' addresses.
#[derive(Debug, Default)]
pub(super) struct Storage {
    values: BTreeMap<u64, u64>,
    most: Kept,
    recent: Recent,
}

impl Maps {
    /// Address of `owner`'s value.
    ///
    /// # Errors
    /// `ENOENT`: the owner has no value. `EINVAL`: another kind of map.
    pub fn storage_get(&mut self, id: MapId, owner: u64) -> Result<u64, OpError> {
        let Family::Storage(storage) = &mut self.map_mut(id)?.family else {
            return Err(Errno::EINVAL.into());
        };
        if let Some(address) = storage.recent.get(owner) {
            return Ok(address);
        }
        let address = *storage.values.get(&owner).ok_or(Errno::ENOENT)?;
        storage.recent.set(owner, address);
        Ok(address)
    }

    /// Address of `owner`'s value. If there is none, it is made: a copy of `initial`, or zero.
    ///
    /// # Errors
    /// `EINVAL`: another kind of map. `ENOMEM`: the memory limit is reached.
    pub fn storage_create(
        &mut self,
        memory: &mut Memory,
        id: MapId,
        owner: u64,
        initial: Option<&[u8]>,
    ) -> Result<u64, OpError> {
        let map = self.map_mut(id)?;
        let Family::Storage(storage) = &mut map.family else {
            return Err(Errno::EINVAL.into());
        };
        if let Some(address) = storage.values.get(&owner) {
            return Ok(*address);
        }
        storage.most.one_more(memory, storage.values.len(), PER_OWNER).map_err(|_| Errno::ENOMEM)?;
        let address = value::alloc(memory, &map.spec, 1).map_err(|_| Errno::ENOMEM)?[0];
        if let Some(initial) = initial {
            value::copy(memory, &map.spec, address, initial)?;
        }
        storage.values.insert(owner, address);
        Ok(address)
    }

    /// Removes `owner`'s value.
    ///
    /// # Errors
    /// `ENOENT`: the owner has no value. `EINVAL`: another kind of map.
    pub fn storage_delete(&mut self, id: MapId, owner: u64) -> Result<(), OpError> {
        let Self { maps, retired } = self;
        let map = find(maps, id)?;
        let Family::Storage(storage) = &mut map.family else {
            return Err(Errno::EINVAL.into());
        };
        let address = storage.values.remove(&owner).ok_or(Errno::ENOENT)?;
        storage.recent.forget(owner);
        retired.value(&map.spec, address);
        Ok(())
    }

    /// Owners that have a value, by address, with their values' addresses.
    pub fn storage_values(&self, id: MapId) -> Vec<(u64, u64)> {
        match self.maps.get(id.0 as usize).map(|map| &map.family) {
            Some(Family::Storage(storage)) => storage.values.iter().map(|(owner, value)| (*owner, *value)).collect(),
            _ => Vec::new(),
        }
    }

    /// Removes the values of a task or cgroup that is gone.
    pub fn storage_owner_gone(&mut self, owner: u64) {
        let Self { maps, retired } = self;
        for map in maps {
            if let Family::Storage(storage) = &mut map.family
                && let Some(address) = storage.values.remove(&owner)
            {
                storage.recent.forget(owner);
                retired.value(&map.spec, address);
            }
        }
    }
}
