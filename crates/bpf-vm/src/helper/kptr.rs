// SPDX-License-Identifier: MIT OR Apache-2.0
//! Owned pointers in map values and globals.

use crate::fault::Fault;
use crate::host::{Args, Host};
use crate::instance::Instance;

/// `bpf_kptr_xchg(slot, pointer)`: returns what the slot held, which the program owns from now on.
pub(super) fn xchg(vm: &mut Instance, _: &mut dyn Host, [slot, pointer, ..]: Args) -> Result<u64, Fault> {
    let old = vm.memory.load::<8>(slot)?;
    vm.memory.store::<8>(slot, pointer)?;
    Ok(old)
}
