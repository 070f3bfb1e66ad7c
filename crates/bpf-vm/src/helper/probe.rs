// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reads that may fail (`kernel/trace/bpf_trace.c`): a failure gives `-EFAULT` and zeros, not a fault. User memory is
//! not modelled: reads of user memory read the arena, where a host may put what user space would have.

use crate::errno::Errno;
use crate::fault::Fault;
use crate::host::{Args, Host};
use crate::instance::Instance;

fn fault() -> u64 {
    Errno::EFAULT.value() as u64
}

/// `bpf_probe_read(to, size, from)`, in its kernel and user forms.
pub(super) fn read(vm: &mut Instance, _: &mut dyn Host, [to, size, from, ..]: Args) -> Result<u64, Fault> {
    copy(vm, to, u64::from(size as u32), from)
}

/// `bpf_copy_from_user(to, size, from)`.
pub(super) fn copy_from_user(vm: &mut Instance, _: &mut dyn Host, [to, size, from, ..]: Args) -> Result<u64, Fault> {
    copy(vm, to, u64::from(size as u32), from)
}

/// `bpf_copy_from_user_task(to, size, from, task, flags)`.
pub(super) fn copy_from_user_task(vm: &mut Instance, _: &mut dyn Host, args: Args) -> Result<u64, Fault> {
    let [to, size, from, _, flags] = args;
    if flags != 0 {
        return Ok(Errno::EINVAL.value() as u64);
    }
    copy(vm, to, u64::from(size as u32), from)
}

fn copy(vm: &mut Instance, to: u64, size: u64, from: u64) -> Result<u64, Fault> {
    vm.spend_bytes(size)?;
    let memory = &mut vm.memory;
    let bytes = memory.read(from, size).map(<[u8]>::to_vec).ok();
    let room = memory.write(to, size)?;
    let Some(bytes) = bytes else {
        room.fill(0);
        return Ok(fault());
    };
    room.copy_from_slice(&bytes);
    Ok(0)
}

/// `bpf_probe_read_str(to, size, from)` and its forms: returns the number of bytes copied, the null byte included. A
/// text that is cut gets a null byte at the end.
pub(super) fn read_str(vm: &mut Instance, _: &mut dyn Host, [to, size, from, ..]: Args) -> Result<u64, Fault> {
    let size = u64::from(size as u32);
    if size == 0 {
        return Ok(0);
    }
    let text = vm.memory.read_string(from, size - 1).map(<[u8]>::to_vec).ok();
    vm.spend(text.as_ref().map_or(0, Vec::len) as u64)?;
    vm.spend_bytes(size)?;
    let room = vm.memory.write(to, size)?;
    let Some(text) = text else {
        room.fill(0);
        return Ok(fault());
    };
    room[..text.len()].copy_from_slice(&text);
    room[text.len()] = 0;
    Ok(text.len() as u64 + 1)
}
