// SPDX-License-Identifier: MIT OR Apache-2.0
//! What load balancing leaves where it is: tasks near their memory (`migrate_degrades_locality`, `fbq_classify_group`), and what
//! it sends there.

use super::super::Fair;
use crate::kernel::Kernel;
use crate::kernel::topology::{DomainId, Level, SchedDomain, SchedGroup};
use crate::units::{CpuId, TaskId};

/// Which tasks are worth moving (`enum fbq_type`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in super::super) enum FbqType {
    /// Some have no preferred node.
    Regular,
    /// Some are not on their preferred node.
    Remote,
    /// There is no distinction.
    All,
}

impl Fair {
    /// `migrate_degrades_locality`: whether balancing of `domain` would take `task` away from its memory, to `dst`, which `idles` or
    /// not; `None` if it does not matter.
    pub(in super::super) fn migrate_degrades_locality(
        &self,
        kernel: &Kernel,
        domain: DomainId,
        task: TaskId,
        dst: CpuId,
        idles: bool,
    ) -> Option<bool> {
        let numa = self.numa.as_ref().filter(|_| kernel.topology.domains[domain].level == Level::Numa)?;
        let known = numa.tasks.get(task.index()).filter(|known| known.faults.is_some())?;
        let src = kernel.task(task).cpu;
        let (src_nid, dst_nid) = (numa.node(src), numa.node(dst));
        if src_nid == dst_nid {
            return None;
        }
        if known.preferred == Some(src_nid) {
            // Migrating away from the preferred node is bad as long as another task could go.
            return (kernel.rq(src).nr_running > self.nr_numa_running(src).1).then_some(true);
        }
        if known.preferred == Some(dst_nid) {
            return Some(false);
        }
        if idles {
            return None;
        }
        Some(numa.task_weight(task, dst_nid) < numa.task_weight(task, src_nid))
    }

    /// `rq->nr_numa_running` and `rq->nr_preferred_running`: queued tasks of `cpu` that have a preferred node, and that are there.
    fn nr_numa_running(&self, cpu: CpuId) -> (u32, u32) {
        let Some(numa) = &self.numa else { return (0, 0) };
        let preferred = self.queued_on(cpu).filter_map(|task| numa.preferred(task));
        let count = |(all, there): (u32, u32), node: u32| (all + 1, there + u32::from(node == numa.node(cpu)));
        preferred.fold((0, 0), count)
    }

    /// `fbq_classify_group` of the busiest group: which of its queues are worth a look. `None` where it does not matter.
    pub(in super::super) fn fbq_classify_group(
        &self,
        domain: &SchedDomain,
        group: &SchedGroup,
        excluded: &[CpuId],
    ) -> Option<FbqType> {
        self.numa.as_ref().filter(|_| domain.level == Level::Numa)?;
        let mut sums = (0, 0, 0);
        for cpu in group.cpus.iter().copied().filter(|cpu| !excluded.contains(cpu)) {
            let (all, there) = self.nr_numa_running(cpu);
            sums = (sums.0 + self.queue(cpu).h_nr_queued, sums.1 + all, sums.2 + there);
        }
        Some(classify(sums))
    }

    /// `fbq_classify_rq`.
    pub(in super::super) fn fbq_classify_rq(&self, kernel: &Kernel, cpu: CpuId) -> FbqType {
        let (all, there) = self.nr_numa_running(cpu);
        classify((kernel.rq(cpu).nr_running, all, there))
    }

    /// Where a new or waking task belongs that finds spare capacity on several nodes (`sched_balance_find_dst_group`): whether it
    /// goes to the `idlest` group; `None`: nothing speaks for either.
    pub(in super::super) fn numa_prefers(&self, task: TaskId, this_cpu: CpuId, idlest: &SchedGroup) -> Option<bool> {
        let numa = self.numa.as_ref()?;
        let preferred = numa.preferred(task)?;
        if numa.node(this_cpu) == preferred {
            return Some(false);
        }
        (numa.node(*idlest.cpus.first()?) == preferred).then_some(true)
    }
}

/// Of so many tasks so many have a preferred node, and so many are there.
fn classify((running, numa, preferred): (u32, u32, u32)) -> FbqType {
    if running > numa {
        FbqType::Regular
    } else if running > preferred {
        FbqType::Remote
    } else {
        FbqType::All
    }
}
