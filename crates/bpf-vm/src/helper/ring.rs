// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ring buffers (`kernel/bpf/ringbuf.c`). No reader is woken: the host reads when it likes.

use super::{bytes, map_of};
use crate::errno::{Errno, answer, pointer};
use crate::fault::Fault;
use crate::host::{Args, Host};
use crate::instance::Instance;

/// `BPF_RB_NO_WAKEUP | BPF_RB_FORCE_WAKEUP`.
const WAKEUP: u64 = 3;

/// `bpf_ringbuf_output(map, data, size, flags)`.
pub(super) fn output(vm: &mut Instance, _: &mut dyn Host, [handle, data, size, flags, _]: Args) -> Result<u64, Fault> {
    answer(map_of(vm, handle).and_then(|id| {
        if flags & !WAKEUP != 0 {
            return Err(Errno::EINVAL.into());
        }
        vm.spend_bytes(size)?;
        let record = bytes(vm, data, size)?;
        vm.maps.ring_output(&mut vm.memory, id, record)?;
        Ok(0)
    }))
}

/// `bpf_ringbuf_reserve(map, size, flags)`.
pub(super) fn reserve(vm: &mut Instance, _: &mut dyn Host, [handle, size, flags, ..]: Args) -> Result<u64, Fault> {
    pointer(map_of(vm, handle).and_then(|id| match flags {
        0 => {
            vm.spend_bytes(size)?;
            vm.maps.ring_reserve(&mut vm.memory, id, size)
        }
        _ => Err(Errno::EINVAL.into()),
    }))
}

/// `bpf_ringbuf_submit(data, flags)`.
pub(super) fn submit(vm: &mut Instance, _: &mut dyn Host, [data, ..]: Args) -> Result<u64, Fault> {
    commit(vm, data, false)
}

/// `bpf_ringbuf_discard(data, flags)`.
pub(super) fn discard(vm: &mut Instance, _: &mut dyn Host, [data, ..]: Args) -> Result<u64, Fault> {
    commit(vm, data, true)
}

/// Submits or discards a record, which is looked for among those that the host has not read.
pub(super) fn commit(vm: &mut Instance, data: u64, discard: bool) -> Result<u64, Fault> {
    let looked_at = vm.maps.ring_commit(&mut vm.memory, data, discard)?;
    vm.spend(looked_at)?;
    Ok(0)
}

/// `bpf_ringbuf_query(map, what)`.
pub(super) fn query(vm: &mut Instance, _: &mut dyn Host, [handle, what, ..]: Args) -> Result<u64, Fault> {
    answer(map_of(vm, handle).and_then(|id| {
        let state = vm.maps.ring_state(id)?;
        Ok(match what {
            0 => state.available,
            1 => state.size,
            2 => state.consumer,
            3 => state.producer,
            _ => 0,
        })
    }))
}
