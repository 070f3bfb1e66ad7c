// SPDX-License-Identifier: MIT OR Apache-2.0
//! The executing CPU and the current task.

use crate::errno::Errno;
use crate::fault::Fault;
use crate::host::{Args, Host};
use crate::instance::Instance;

/// `TASK_COMM_LEN`.
const COMM: usize = 16;

/// `bpf_get_prandom_u32()`.
pub(super) fn random(_: &mut Instance, host: &mut dyn Host, _: Args) -> Result<u64, Fault> {
    Ok(u64::from(host.random()))
}

/// `bpf_get_smp_processor_id()`.
pub(super) fn cpu(_: &mut Instance, host: &mut dyn Host, _: Args) -> Result<u64, Fault> {
    Ok(u64::from(host.cpu()))
}

/// `bpf_get_numa_node_id()`.
pub(super) fn numa_node(_: &mut Instance, host: &mut dyn Host, _: Args) -> Result<u64, Fault> {
    Ok(u64::from(host.numa_node()))
}

/// `bpf_get_current_pid_tgid()`.
pub(super) fn pid_tgid(_: &mut Instance, host: &mut dyn Host, _: Args) -> Result<u64, Fault> {
    Ok(host.current_pid_tgid())
}

/// `bpf_get_current_cgroup_id()`.
pub(super) fn cgroup_id(_: &mut Instance, host: &mut dyn Host, _: Args) -> Result<u64, Fault> {
    Ok(host.current_cgroup_id())
}

/// `bpf_get_current_uid_gid()`: 0, as every task belongs to root.
pub(super) fn uid_gid(_: &mut Instance, _: &mut dyn Host, _: Args) -> Result<u64, Fault> {
    Ok(0)
}

/// `bpf_get_current_comm(buf, size)`: padded with null bytes, cut if there is no room.
pub(super) fn comm(vm: &mut Instance, host: &mut dyn Host, [to, size, ..]: Args) -> Result<u64, Fault> {
    vm.spend_bytes(u64::from(size as u32))?;
    let room = vm.memory.write(to, u64::from(size as u32))?;
    room.fill(0);
    let Some(comm) = host.current_comm() else {
        return Ok(Errno::EINVAL.value() as u64);
    };
    let length = comm.len().min(COMM - 1).min(room.len().saturating_sub(1));
    room[..length].copy_from_slice(&comm.as_bytes()[..length]);
    Ok(0)
}

/// `bpf_get_current_task()` and `bpf_get_current_task_btf()`.
pub(super) fn current(_: &mut Instance, host: &mut dyn Host, _: Args) -> Result<u64, Fault> {
    Ok(host.current())
}
