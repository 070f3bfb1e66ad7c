// SPDX-License-Identifier: MIT OR Apache-2.0
//! Performance counters (`kernel/trace/bpf_trace.c`), which only a host can have.

use super::map_of;
use crate::errno::{Errno, OpError, answer};
use crate::fault::Fault;
use crate::host::{Args, Host};
use crate::instance::Instance;
use crate::map::kind;

/// `BPF_F_INDEX_MASK`; `BPF_F_CURRENT_CPU` has all its bits.
const INDEX: u64 = 0xffff_ffff;
/// Bytes of `struct bpf_perf_event_value`.
const VALUE: u64 = 24;

/// Counter, enabled and running time of an entry of a perf event array.
fn counter(vm: &Instance, host: &mut dyn Host, handle: u64, flags: u64) -> Result<(u64, u64, u64), OpError> {
    let id = map_of(vm, handle)?;
    let spec = vm.maps.spec(id).filter(|spec| spec.kind == kind::PERF_EVENT_ARRAY).ok_or(Errno::EINVAL)?;
    if flags & !INDEX != 0 {
        return Err(Errno::EINVAL.into());
    }
    let index = if flags == INDEX { host.cpu() } else { flags as u32 };
    if index >= spec.max_entries {
        return Err(Errno::E2BIG.into());
    }
    host.perf_event_value(&spec.name, index)
}

/// `bpf_perf_event_read(map, flags)`: returns the counter. A program cannot tell a huge counter from an error.
pub(super) fn read(vm: &mut Instance, host: &mut dyn Host, [handle, flags, ..]: Args) -> Result<u64, Fault> {
    answer(counter(vm, host, handle, flags).map(|(counter, ..)| counter))
}

/// `bpf_perf_event_read_value(map, flags, to, size)`: writes zeros on an error.
pub(super) fn read_value(vm: &mut Instance, host: &mut dyn Host, args: Args) -> Result<u64, Fault> {
    let [handle, flags, to, size, _] = args;
    let size = u64::from(size as u32);
    let result = match size {
        VALUE => counter(vm, host, handle, flags),
        _ => Err(Errno::EINVAL.into()),
    };
    vm.spend_bytes(size)?;
    let room = vm.memory.write(to, size)?;
    room.fill(0);
    answer(result.map(|(counter, enabled, running)| {
        for (place, value) in room.chunks_exact_mut(8).zip([counter, enabled, running]) {
            place.copy_from_slice(&value.to_le_bytes());
        }
        0
    }))
}

/// `bpf_perf_event_output(ctx, map, flags, data, size)`: answers `-ENOENT`, as the kernel does when no program reads
/// the events.
pub(super) fn output(vm: &mut Instance, _: &mut dyn Host, [_, handle, _, data, size]: Args) -> Result<u64, Fault> {
    vm.spend_bytes(size)?;
    vm.memory.read(data, size)?;
    answer(map_of(vm, handle).and_then(|_| Err(Errno::ENOENT.into())))
}
