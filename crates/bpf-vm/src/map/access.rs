// SPDX-License-Identifier: MIT OR Apache-2.0
//! The host's access to an instance's maps, as the `bpf` system call gives it to user space.

use super::{Item, MapError, MapId, MapSpec, Maps};
use crate::errno::{Errno, OpError};
use crate::instance::Instance;

impl Instance {
    /// The map of this name.
    pub fn map(&self, name: &str) -> Option<MapId> {
        self.maps.by_name(name)
    }

    /// Makes a map.
    ///
    /// # Errors
    /// As [`Maps::create`].
    pub fn map_create(&mut self, spec: MapSpec) -> Result<MapId, MapError> {
        self.maps.create(&mut self.memory, spec, self.nr_cpus)
    }

    /// What a map was made from.
    pub fn map_spec(&self, id: MapId) -> Option<&MapSpec> {
        self.maps.spec(id)
    }

    /// The maps, to work with ring buffers, queues, storage and inner maps.
    pub fn maps(&mut self) -> &mut Maps {
        &mut self.maps
    }

    /// An element's value; for a per-CPU map the values of all CPUs, each padded to 8 bytes, as the system call gives
    /// them.
    pub fn map_lookup(&self, id: MapId, key: &[u8]) -> Option<Vec<u8>> {
        let spec = self.maps.spec(id)?;
        let size = u64::from(spec.value_size);
        if !spec.is_per_cpu() {
            let address = self.maps.peek_address(id, key, 0)?;
            return Some(self.memory.read(address, size).ok()?.to_vec());
        }
        let mut values = Vec::new();
        for cpu in 0..self.nr_cpus {
            let address = self.maps.peek_address(id, key, cpu)?;
            values.extend_from_slice(self.memory.read(address, size).ok()?);
            values.resize(values.len().next_multiple_of(8), 0);
        }
        Some(values)
    }

    /// Stores an element; in a per-CPU map the copy of `cpu`.
    ///
    /// # Errors
    /// As [`Maps::update`].
    pub fn map_update(&mut self, id: MapId, item: Item<'_>, cpu: u32) -> Result<(), OpError> {
        self.maps.update(&mut self.memory, id, item, cpu)
    }

    /// Removes an element.
    ///
    /// # Errors
    /// As [`Maps::delete`].
    pub fn map_delete(&mut self, id: MapId, key: &[u8]) -> Result<(), OpError> {
        self.maps.delete(id, key)
    }

    /// All keys of a map, in the map's order.
    ///
    /// # Errors
    /// `EINVAL`: this kind of map has no keys to walk.
    pub fn map_keys(&self, id: MapId) -> Result<Vec<Vec<u8>>, OpError> {
        let mut keys: Vec<Vec<u8>> = Vec::new();
        while let Some(key) = self.maps.next_key(id, keys.last().map(|key| &**key))? {
            keys.push(key);
        }
        Ok(keys)
    }

    /// Pushes a value onto a queue or stack, or adds it to a Bloom filter.
    ///
    /// # Errors
    /// As [`Maps::push`].
    pub fn map_push(&mut self, id: MapId, value: &[u8], flags: u64) -> Result<(), OpError> {
        self.maps.push(&mut self.memory, id, value, flags)
    }

    /// Takes a value from a queue or stack; `None` if it is empty.
    ///
    /// # Errors
    /// As [`Maps::pop`].
    pub fn map_pop(&mut self, id: MapId) -> Result<Option<Vec<u8>>, OpError> {
        match self.maps.pop(id) {
            Ok(value) => Ok(Some(value.into())),
            Err(OpError::Errno(Errno::ENOENT)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Takes what programs have submitted to a ring buffer, the oldest first.
    ///
    /// # Errors
    /// `EINVAL`: another kind of map.
    pub fn ringbuf_consume(&mut self, id: MapId) -> Result<Vec<Vec<u8>>, OpError> {
        self.maps.ring_consume(id)
    }

    /// Removes the storage of a task or cgroup, by its address, once the task or cgroup is gone.
    pub fn storage_owner_gone(&mut self, owner: u64) {
        self.maps.storage_owner_gone(owner);
    }
}
