// SPDX-License-Identifier: MIT OR Apache-2.0
//! Elements of maps (`kernel/bpf/helpers.c`).

use super::{bytes, map_of};
use crate::errno::{Errno, OpError, answer, pointer};
use crate::fault::Fault;
use crate::host::{Args, Host};
use crate::instance::Instance;
use crate::map::{Item, MapId};

/// `bpf_map_lookup_elem(map, key)`.
pub(super) fn lookup(vm: &mut Instance, host: &mut dyn Host, [handle, key, ..]: Args) -> Result<u64, Fault> {
    let id = map_for(vm, handle);
    pointer(id.and_then(|id| vm.maps.lookup(&vm.memory, id, key, host.cpu())))
}

/// Longer keys than this cost beside the instruction.
const LONG_KEY: u32 = 64;

/// The map in which a key is to be looked up.
#[inline]
fn map_for(vm: &mut Instance, handle: u64) -> Result<MapId, OpError> {
    let id = map_of(vm, handle)?;
    let key_size = vm.maps.spec(id).map_or(0, |spec| spec.key_size);
    if key_size > LONG_KEY {
        vm.spend_bytes(key_size.into())?;
    }
    Ok(id)
}

/// `bpf_map_lookup_percpu_elem(map, key, cpu)`.
pub(super) fn lookup_percpu(vm: &mut Instance, _: &mut dyn Host, [handle, key, cpu, ..]: Args) -> Result<u64, Fault> {
    let cpu = cpu as u32;
    if cpu >= vm.nr_cpus {
        return Ok(0);
    }
    let id = map_for(vm, handle);
    pointer(id.and_then(|id| vm.maps.lookup(&vm.memory, id, key, cpu)))
}

/// `bpf_map_update_elem(map, key, value, flags)`.
pub(super) fn update(vm: &mut Instance, host: &mut dyn Host, args: Args) -> Result<u64, Fault> {
    let result = do_update(vm, host.cpu(), args);
    vm.disarm_retired(host);
    answer(result)
}

fn do_update(vm: &mut Instance, cpu: u32, [handle, key, value, flags, _]: Args) -> Result<u64, OpError> {
    let id = map_of(vm, handle)?;
    let (key_size, value_size) = sizes(vm, id);
    let copies = vm.maps.spec(id).filter(|spec| spec.is_per_cpu()).map_or(1, |_| u64::from(vm.nr_cpus));
    vm.spend((key_size + value_size * (1 + copies)) / 8)?;
    let (key, value) = (bytes(vm, key, key_size)?, bytes(vm, value, value_size)?);
    vm.maps.update(&mut vm.memory, id, Item { key: &key, value: &value, flags }, cpu)?;
    Ok(0)
}

/// `bpf_map_delete_elem(map, key)`.
pub(super) fn delete(vm: &mut Instance, host: &mut dyn Host, [handle, key, ..]: Args) -> Result<u64, Fault> {
    let result = map_of(vm, handle).and_then(|id| {
        let size = sizes(vm, id).0;
        vm.spend_bytes(size)?;
        let key = bytes(vm, key, size)?;
        vm.maps.delete(id, &key)
    });
    vm.disarm_retired(host);
    answer(result.map(|()| 0))
}

/// `bpf_map_push_elem(map, value, flags)`.
pub(super) fn push(vm: &mut Instance, _: &mut dyn Host, [handle, value, flags, ..]: Args) -> Result<u64, Fault> {
    answer(map_of(vm, handle).and_then(|id| {
        let size = sizes(vm, id).1;
        vm.spend_bytes(size)?;
        let value = bytes(vm, value, size)?;
        vm.maps.push(&mut vm.memory, id, &value, flags)?;
        Ok(0)
    }))
}

/// `bpf_map_pop_elem(map, value)`: writes zeros if the map is empty.
pub(super) fn pop(vm: &mut Instance, _: &mut dyn Host, [handle, to, ..]: Args) -> Result<u64, Fault> {
    answer(map_of(vm, handle).and_then(|id| {
        let size = sizes(vm, id).1;
        vm.spend_bytes(size)?;
        let room = vm.memory.write(to, size)?;
        take(room, vm.maps.pop(id).as_deref().map_err(Clone::clone))
    }))
}

/// `bpf_map_peek_elem(map, value)`: writes zeros if the map is empty; of a Bloom filter, whether it may contain the
/// value.
pub(super) fn peek(vm: &mut Instance, _: &mut dyn Host, [handle, to, ..]: Args) -> Result<u64, Fault> {
    answer(map_of(vm, handle).and_then(|id| {
        let size = sizes(vm, id).1;
        vm.spend_bytes(size)?;
        match vm.maps.may_contain(id, vm.memory.read(to, size)?) {
            Some(true) => return Ok(0),
            Some(false) => return Err(Errno::ENOENT.into()),
            None => {}
        }
        take(vm.memory.write(to, size)?, vm.maps.peek(id))
    }))
}

fn take(room: &mut [u8], value: Result<&[u8], OpError>) -> Result<u64, OpError> {
    match value {
        Ok(value) => room.copy_from_slice(value),
        Err(error) => {
            room.fill(0);
            return Err(error);
        }
    }
    Ok(0)
}

/// Bytes of a key and of a value.
fn sizes(vm: &Instance, id: MapId) -> (u64, u64) {
    vm.maps.spec(id).map_or((0, 0), |spec| (u64::from(spec.key_size), u64::from(spec.value_size)))
}
