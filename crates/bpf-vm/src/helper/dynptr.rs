// SPDX-License-Identifier: MIT OR Apache-2.0
//! Dynptrs (`kernel/bpf/helpers.c`): views of memory that check their size on each use. The program sees the 16 bytes of one:
//! address, then size with type and flags in its top byte, then offset. What counts is kept elsewhere ([`crate::handle`]).

use super::{map_of, ring};
use crate::errno::{Errno, OpError, answer, pointer};
use crate::fault::{Fault, FaultKind};
use crate::handle::HandleKind;
use crate::host::{Args, Host};
use crate::instance::Instance;

/// `DYNPTR_MAX_SIZE`.
const MAX_SIZE: u32 = (1 << 24) - 1;
/// `DYNPTR_RDONLY_BIT`.
const READ_ONLY: u32 = 1 << 31;
/// `BPF_DYNPTR_TYPE_LOCAL << DYNPTR_TYPE_SHIFT`.
const LOCAL: u32 = 1 << 28;
/// `BPF_DYNPTR_TYPE_RINGBUF << DYNPTR_TYPE_SHIFT`.
const RINGBUF: u32 = 2 << 28;

/// What a program's dynptr says.
struct Dynptr {
    data: u64,
    size: u32,
    offset: u32,
}

impl Dynptr {
    fn load(vm: &mut Instance, at: u64) -> Result<Self, FaultKind> {
        let [data, size, offset, _] = *vm.handle(at, HandleKind::Dynptr)?;
        Ok(Self { data, size: size as u32, offset: offset as u32 })
    }

    fn store(&self, vm: &mut Instance, at: u64) -> Result<(), FaultKind> {
        vm.memory.store::<8>(at, self.data)?;
        vm.memory.store::<4>(at.wrapping_add(8), self.size.into())?;
        vm.memory.store::<4>(at.wrapping_add(12), self.offset.into())?;
        vm.open_handle(at, HandleKind::Dynptr, [self.data, self.size.into(), self.offset.into(), 0])
    }

    fn null(vm: &mut Instance, at: u64) -> Result<(), FaultKind> {
        Self { data: 0, size: 0, offset: 0 }.store(vm, at)
    }

    /// Address of a part (`bpf_dynptr_check_off_len`).
    fn part(&self, offset: u32, length: u32) -> Result<u64, Errno> {
        let size = self.size & MAX_SIZE;
        if length > size || offset > size - length {
            return Err(Errno::E2BIG);
        }
        Ok(self.data.wrapping_add(self.offset.into()).wrapping_add(offset.into()))
    }
}

fn check(size: u32, flags: u64) -> Result<(), Errno> {
    match (size > MAX_SIZE, flags) {
        (true, _) => Err(Errno::E2BIG),
        (false, 0) => Ok(()),
        _ => Err(Errno::EINVAL),
    }
}

/// `bpf_dynptr_from_mem(data, size, flags, dynptr)`.
pub(super) fn from_mem(vm: &mut Instance, _: &mut dyn Host, args: Args) -> Result<u64, Fault> {
    let [data, size, flags, at, _] = args;
    let size = size as u32;
    if let Err(errno) = check(size, flags) {
        Dynptr::null(vm, at)?;
        return Ok(errno.value() as u64);
    }
    Dynptr { data, size: size | LOCAL, offset: 0 }.store(vm, at)?;
    Ok(0)
}

/// `bpf_dynptr_read(to, length, dynptr, offset, flags)`.
pub(super) fn read(vm: &mut Instance, _: &mut dyn Host, args: Args) -> Result<u64, Fault> {
    answer(do_read(vm, args))
}

fn do_read(vm: &mut Instance, [to, length, at, offset, flags]: Args) -> Result<u64, OpError> {
    let dynptr = Dynptr::load(vm, at)?;
    if dynptr.data == 0 || flags != 0 {
        return Err(Errno::EINVAL.into());
    }
    let from = dynptr.part(offset as u32, length as u32)?;
    move_bytes(vm, to, from, length as u32)
}

/// `bpf_dynptr_write(dynptr, offset, from, length, flags)`.
pub(super) fn write(vm: &mut Instance, _: &mut dyn Host, args: Args) -> Result<u64, Fault> {
    answer(do_write(vm, args))
}

fn do_write(vm: &mut Instance, [at, offset, from, length, flags]: Args) -> Result<u64, OpError> {
    let dynptr = Dynptr::load(vm, at)?;
    if dynptr.data == 0 || dynptr.size & READ_ONLY != 0 {
        return Err(Errno::EINVAL.into());
    }
    let to = dynptr.part(offset as u32, length as u32)?;
    if flags != 0 {
        return Err(Errno::EINVAL.into());
    }
    move_bytes(vm, to, from, length as u32)
}

/// Copies bytes between places that may overlap.
fn move_bytes(vm: &mut Instance, to: u64, from: u64, length: u32) -> Result<u64, OpError> {
    vm.spend_bytes(length.into())?;
    let bytes = vm.memory.read(from, length.into())?.to_vec();
    vm.memory.write(to, length.into())?.copy_from_slice(&bytes);
    Ok(0)
}

/// `bpf_dynptr_data(dynptr, offset, length)`.
pub(super) fn data(vm: &mut Instance, _: &mut dyn Host, [at, offset, length, ..]: Args) -> Result<u64, Fault> {
    let dynptr = Dynptr::load(vm, at)?;
    if dynptr.data == 0 || dynptr.size & READ_ONLY != 0 {
        return Ok(0);
    }
    pointer(dynptr.part(offset as u32, length as u32).map_err(Into::into))
}

/// `bpf_ringbuf_reserve_dynptr(map, size, flags, dynptr)`.
pub(super) fn ringbuf_reserve(vm: &mut Instance, _: &mut dyn Host, args: Args) -> Result<u64, Fault> {
    let [handle, size, flags, at, _] = args;
    let size = size as u32;
    let reserved = map_of(vm, handle).and_then(|id| {
        check(size, flags)?;
        vm.spend_bytes(size.into())?;
        match vm.maps.ring_reserve(&mut vm.memory, id, size.into()) {
            Err(OpError::Errno(_)) => Err(Errno::EINVAL.into()),
            reserved => reserved,
        }
    });
    match reserved {
        Ok(data) => Dynptr { data, size: size | RINGBUF, offset: 0 }.store(vm, at)?,
        Err(error) => {
            Dynptr::null(vm, at)?;
            return answer(Err(error));
        }
    }
    Ok(0)
}

/// `bpf_ringbuf_submit_dynptr(dynptr, flags)`.
pub(super) fn ringbuf_submit(vm: &mut Instance, _: &mut dyn Host, [at, ..]: Args) -> Result<u64, Fault> {
    commit(vm, at, false)
}

/// `bpf_ringbuf_discard_dynptr(dynptr, flags)`.
pub(super) fn ringbuf_discard(vm: &mut Instance, _: &mut dyn Host, [at, ..]: Args) -> Result<u64, Fault> {
    commit(vm, at, true)
}

fn commit(vm: &mut Instance, at: u64, discard: bool) -> Result<u64, Fault> {
    let dynptr = Dynptr::load(vm, at)?;
    if dynptr.data != 0 {
        ring::commit(vm, dynptr.data, discard)?;
        Dynptr::null(vm, at)?;
    }
    Ok(0)
}
