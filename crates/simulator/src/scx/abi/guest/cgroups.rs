// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cgroups.

use tandem_bpf_vm::fault::{Fault, FaultKind};
use tandem_bpf_vm::memory::{Memory, Protection};

use crate::scx::abi::types::cgroup::{Cgroup, CssSet, KernfsNode, TaskGroup};
use crate::scx::abi::types::task::TaskStruct;
use crate::units::{CgroupId, MSEC, TaskId};
use crate::workload::CpuMax;

use super::Guest;
use super::access::{self, at, get, put};

/// The objects of a cgroup; all 0 once it is gone.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct CgroupObject {
    cgroup: u64,
    kn: u64,
    name: u64,
    css_set: u64,
    task_group: u64,
}

impl Guest {
    /// Makes the objects of a cgroup with kernfs number `kernfs_id` (the root's is 1) below `parent`.
    ///
    /// # Errors
    /// [`FaultKind::Exhausted`] if they do not fit into the memory.
    pub fn cgroup_new(
        &mut self,
        memory: &mut Memory,
        cgroup: CgroupId,
        parent: Option<CgroupId>,
        kernfs_id: u64,
        name: &str,
    ) -> Result<u64, FaultKind> {
        let parent = parent.and_then(|parent| self.cgroups.get(parent.index())).copied().unwrap_or_default();
        let level = match parent.cgroup {
            0 => 0,
            above => get::<4>(memory, above + at!(Cgroup, level)) + 1,
        };
        let object = CgroupObject {
            cgroup: memory.alloc(at!(Cgroup, ancestors) + 8 * (level + 1), Protection::ReadOnly)?,
            kn: memory.alloc(size_of::<KernfsNode>() as u64, Protection::ReadOnly)?,
            name: memory.alloc(name.len() as u64 + 1, Protection::ReadOnly)?,
            css_set: memory.alloc(size_of::<CssSet>() as u64, Protection::ReadOnly)?,
            task_group: memory.alloc(size_of::<TaskGroup>() as u64, Protection::ReadOnly)?,
        };
        access::put_text(memory, object.name, name.len() as u64 + 1, name);
        put::<8>(memory, object.kn + at!(KernfsNode, id), kernfs_id);
        put::<8>(memory, object.kn + at!(KernfsNode, name), object.name);
        put::<8>(memory, object.kn + at!(KernfsNode, parent), parent.kn);
        put::<8>(memory, object.css_set + at!(CssSet, dfl_cgrp), object.cgroup);
        put::<8>(memory, object.task_group + at!(TaskGroup, parent), parent.task_group);
        put::<4>(memory, object.cgroup + at!(Cgroup, level), level);
        put::<4>(memory, object.cgroup + at!(Cgroup, owner), u64::from(cgroup.0));
        put::<8>(memory, object.cgroup + at!(Cgroup, kn), object.kn);
        put::<8>(memory, object.cgroup + at!(Cgroup, dom_cgrp), object.cgroup);
        put::<8>(memory, object.cgroup + at!(Cgroup, css.cgroup), object.cgroup);
        put::<8>(memory, object.cgroup + at!(Cgroup, css.parent), parent.cgroup);
        put::<4>(memory, object.cgroup + at!(Cgroup, css.id), kernfs_id);
        for above in 0..level {
            let ancestor = get::<8>(memory, parent.cgroup + at!(Cgroup, ancestors) + 8 * above);
            put::<8>(memory, object.cgroup + at!(Cgroup, ancestors) + 8 * above, ancestor);
        }
        put::<8>(memory, object.cgroup + at!(Cgroup, ancestors) + 8 * level, object.cgroup);
        if self.cgroups.len() <= cgroup.index() {
            self.cgroups.resize(cgroup.index() + 1, CgroupObject::default());
        }
        self.cgroups[cgroup.index()] = object;
        Ok(object.cgroup)
    }

    /// Address of a cgroup's object, which is that of its `self` too; 0 if it has none.
    #[inline]
    pub fn cgroup(&self, cgroup: CgroupId) -> u64 {
        self.cgroups.get(cgroup.index()).map_or(0, |object| object.cgroup)
    }

    /// The cgroup whose object begins at `address`.
    #[inline]
    pub fn cgroup_at(&self, memory: &Memory, address: u64) -> Option<CgroupId> {
        let owner = memory.load::<4>(address.wrapping_add(at!(Cgroup, owner))).ok()? as u32;
        (address != 0 && self.cgroup(CgroupId(owner)) == address).then_some(CgroupId(owner))
    }

    /// The cgroup whose object a program gives.
    ///
    /// # Errors
    /// There is none there.
    pub fn expect_cgroup(&self, memory: &Memory, address: u64) -> Result<CgroupId, Fault> {
        let cgroup = self.cgroup_at(memory, address);
        cgroup.ok_or_else(|| FaultKind::Misuse(format!("{address:#x} is no cgroup")).into())
    }

    /// The arguments of a callback about `task`, which moves from a cgroup to another.
    pub fn move_args(&self, task: TaskId, from: CgroupId, to: CgroupId) -> [u64; 3] {
        [self.task(task), self.cgroup(from), self.cgroup(to)]
    }

    /// A cgroup has this limit (`cpu.max`); `None`: none (`RUNTIME_INF`), and the period is 100 ms (`default_cfs_period`).
    pub fn set_cgroup_max(&self, memory: &mut Memory, cgroup: CgroupId, max: Option<CpuMax>) {
        let Some(object) = self.cgroups.get(cgroup.index()).filter(|object| object.task_group != 0) else { return };
        let max = max.unwrap_or(CpuMax { quota: u64::MAX, period: 100 * MSEC, burst: 0 });
        put::<8>(memory, object.task_group + at!(TaskGroup, cfs_bandwidth.period), max.period);
        put::<8>(memory, object.task_group + at!(TaskGroup, cfs_bandwidth.quota), max.quota);
        put::<8>(memory, object.task_group + at!(TaskGroup, cfs_bandwidth.burst), max.burst);
    }

    /// `task` is in `cgroup` from now on (`task->cgroups->dfl_cgrp`, `task->sched_task_group`).
    pub fn set_task_cgroup(&self, memory: &mut Memory, task: TaskId, cgroup: CgroupId) {
        let object = self.cgroups.get(cgroup.index()).copied().unwrap_or_default();
        put::<8>(memory, self.task(task) + at!(TaskStruct, cgroups), object.css_set);
        put::<8>(memory, self.task(task) + at!(TaskStruct, sched_task_group), object.task_group);
    }
}
