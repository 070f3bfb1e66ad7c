// SPDX-License-Identifier: MIT OR Apache-2.0
//! Storage of tasks and cgroups (`kernel/bpf/bpf_task_storage.c`, `bpf_cgrp_storage.c`).

use super::{bytes, map_of};
use crate::errno::{Errno, OpError, answer, pointer};
use crate::fault::{Fault, FaultKind};
use crate::host::{Args, Host};
use crate::instance::Instance;

/// `BPF_LOCAL_STORAGE_GET_F_CREATE`.
const CREATE: u64 = 1;

/// `bpf_task_storage_get(map, task, value, flags)` and `bpf_cgrp_storage_get`.
pub(super) fn get(vm: &mut Instance, host: &mut dyn Host, args: Args) -> Result<u64, Fault> {
    pointer(do_get(vm, host, args))
}

fn do_get(vm: &mut Instance, host: &mut dyn Host, [handle, owner, value, flags, _]: Args) -> Result<u64, OpError> {
    let id = map_of(vm, handle)?;
    if owner == 0 || flags & !CREATE != 0 {
        return Err(Errno::EINVAL.into());
    }
    match vm.maps.storage_get(id, owner) {
        Err(OpError::Errno(Errno::ENOENT)) if flags & CREATE != 0 => {}
        found => return found,
    }
    // A number that stands for nothing would have storage that nothing removes.
    if !host.owns(&vm.memory, owner) {
        return Err(FaultKind::Misuse(format!("{owner:#x} is no object that can have storage")).into());
    }
    let size = vm.maps.spec(id).map_or(0, |spec| u64::from(spec.value_size));
    vm.spend(size / 8)?;
    let initial = if value == 0 { None } else { Some(bytes(vm, value, size)?) };
    vm.maps.storage_create(&mut vm.memory, id, owner, initial.as_deref())
}

/// `bpf_task_storage_delete(map, task)` and `bpf_cgrp_storage_delete`.
pub(super) fn delete(vm: &mut Instance, host: &mut dyn Host, [handle, owner, ..]: Args) -> Result<u64, Fault> {
    let result = map_of(vm, handle).and_then(|id| match owner {
        0 => Err(Errno::EINVAL.into()),
        owner => vm.maps.storage_delete(id, owner),
    });
    vm.disarm_retired(host);
    answer(result.map(|()| 0))
}
