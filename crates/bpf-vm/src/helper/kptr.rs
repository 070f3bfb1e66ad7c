// SPDX-License-Identifier: MIT OR Apache-2.0
//! Owned pointers in map values, objects and globals.

use crate::fault::{Fault, FaultKind};
use crate::host::{Args, Host};
use crate::instance::Instance;
use crate::memory::Special;

/// `bpf_kptr_xchg(slot, pointer)`: returns what the slot held, which the program owns from now on. The slot must be one, by the types of
/// the object, and the pointer that of an object which can be owned: what is in a slot is dropped later as such.
pub(super) fn xchg(vm: &mut Instance, host: &mut dyn Host, [slot, pointer, ..]: Args) -> Result<u64, Fault> {
    let old = vm.memory.load::<8>(slot)?;
    if !vm.memory.is_apart(slot, 8, Special::Kptr) {
        return Err(FaultKind::Misuse(format!("bpf_kptr_xchg: {slot:#x} is no pointer that owns (__kptr)")).into());
    }
    if pointer != 0 && !vm.allocated(pointer) && !host.owns(&vm.memory, pointer) {
        let text = format!("bpf_kptr_xchg: {pointer:#x} is no object that a program can own");
        return Err(FaultKind::Misuse(text).into());
    }
    vm.memory.host_store::<8>(slot, pointer)?;
    Ok(old)
}
