// SPDX-License-Identifier: MIT OR Apache-2.0
//! `bpf_spin_lock`. One program runs at a time here, so no program ever waits. The lock is kept to catch what the
//! kernel's verifier refuses: taking a second lock, releasing one that is not held, ending with it held.

use crate::fault::{Fault, FaultKind};
use crate::host::{Args, Host};
use crate::instance::Instance;

/// `bpf_spin_lock(lock)`.
pub(super) fn lock(vm: &mut Instance, _: &mut dyn Host, [lock, ..]: Args) -> Result<u64, Fault> {
    if let Some(held) = vm.helpers.lock {
        let what = if held == lock { "it is held already" } else { "another one is held" };
        return Err(FaultKind::Misuse(format!("bpf_spin_lock of {lock:#x}: {what}")).into());
    }
    vm.memory.store::<4>(lock, 1)?;
    vm.helpers.lock = Some(lock);
    Ok(0)
}

/// `bpf_spin_unlock(lock)`.
pub(super) fn unlock(vm: &mut Instance, _: &mut dyn Host, [lock, ..]: Args) -> Result<u64, Fault> {
    if vm.helpers.lock != Some(lock) {
        return Err(FaultKind::Misuse(format!("bpf_spin_unlock of {lock:#x}, which is not held")).into());
    }
    vm.memory.store::<4>(lock, 0)?;
    vm.helpers.lock = None;
    Ok(0)
}
