// SPDX-License-Identifier: MIT OR Apache-2.0
//! Asymmetric packing (`SD_ASYM_PACKING`): where the kernel ranks CPUs, an idle one takes work from those that rank lower, and
//! from cores whose threads share, whatever their rank.

use super::IdleType;
use super::env::LoadBalance;
use super::stats::GroupStats;
use crate::kernel::Kernel;
use crate::kernel::topology::{Level, SchedDomain, SchedGroup};
use crate::units::CpuId;

/// `sched_use_asym_prio`: whether ranks count for `cpu`. Between cores they do only while the whole core idles.
pub(super) fn sched_use_asym_prio(kernel: &Kernel, domain: &SchedDomain, cpu: CpuId) -> bool {
    domain.asym_packing && (!kernel.topology.smt_active || domain.level == Level::Smt || kernel.is_core_idle(cpu))
}

/// `sched_asym`: whether `dst` may take work because it ranks above `src`.
pub(super) fn sched_asym(kernel: &Kernel, domain: &SchedDomain, dst: CpuId, src: CpuId) -> bool {
    sched_use_asym_prio(kernel, domain, dst) && kernel.topology.sched_asym_prefer(dst, src)
}

/// `sched_group_asym`: whether `dst` may take the work of a group because it ranks above it. A core of which two threads or none
/// are busy has no rank.
pub(super) fn sched_group_asym(
    kernel: &Kernel,
    domain: &SchedDomain,
    dst: CpuId,
    group: &SchedGroup,
    stats: &GroupStats,
) -> bool {
    if group.smt && stats.weight - stats.idle_cpus != 1 {
        return false;
    }
    sched_asym(kernel, domain, dst, group.asym_prefer_cpu)
}

/// `asym_active_balance`: whether the running task of `src` is to be moved: to a higher rank, or off a core that it shares.
pub(super) fn asym_active_balance(kernel: &Kernel, domain: &SchedDomain, env: &LoadBalance, src: CpuId) -> bool {
    env.idle != IdleType::NotIdle
        && sched_use_asym_prio(kernel, domain, env.dst)
        && (kernel.topology.sched_asym_prefer(env.dst, src) || !sched_use_asym_prio(kernel, domain, src))
}
