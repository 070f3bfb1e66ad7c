// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads' cgroups: who is in which, and how groups come, go and change their weights.

use super::Engine;
use super::events::Event;
use crate::kernel::cgroup::CgroupTree;
use crate::units::{CgroupId, CpuId, TaskId};

/// What becomes of a cgroup.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum CgroupChange {
    Made,
    /// `cpu.weight` is written.
    Weight(u32),
    Removed,
}

impl Engine<'_> {
    /// Puts what the workload says of cgroups in order of time.
    pub(super) fn queue_cgroups(&mut self) {
        for spec in &self.workload.cgroups {
            let Some(group) = self.scheduler.kernel.cgroups.find(&spec.path) else { continue };
            let made = (spec.made > 0).then_some((spec.made, CgroupChange::Made));
            let later = spec.weights.iter().filter(|(at, _)| *at > 0);
            let weights = later.map(|(at, weight)| (*at, CgroupChange::Weight(*weight)));
            let removed = spec.removed.map(|at| (at, CgroupChange::Removed));
            let all = made.into_iter().chain(weights).chain(removed);
            self.cgroup_changes.extend(all.map(|(at, change)| (at, group, change)));
        }
        // Stable; what is next stands last.
        self.cgroup_changes.sort_by_key(|(at, ..)| *at);
        self.cgroup_changes.reverse();
        self.time_cgroups();
    }

    fn time_cgroups(&mut self) {
        if let Some((at, ..)) = self.cgroup_changes.last() {
            self.agenda.set(Event::Cgroup, *at);
        }
    }

    /// The next change of a cgroup; whoever makes it runs on the first CPU.
    pub(super) fn change_cgroups(&mut self) {
        let Some((_, group, change)) = self.cgroup_changes.pop() else { return };
        let cpu = self.boot_cpu();
        match change {
            CgroupChange::Made => _ = self.make_group(group, cpu),
            CgroupChange::Weight(weight) => self.scheduler.sched_group_set_weight(group, weight, cpu),
            CgroupChange::Removed => {
                if !self.scheduler.cgroup_rmdir(group, cpu) {
                    let path = self.scheduler.kernel.cgroups.path(group);
                    self.outcome.warn(format!("cgroup {path} is in use: it is not removed"));
                }
            }
        }
        self.time_cgroups();
    }

    /// The first CPU that is online, where nothing says otherwise.
    fn boot_cpu(&self) -> CpuId {
        self.scheduler.kernel.topology.online.first().unwrap_or(CpuId(0))
    }

    /// Makes a group if there is none; false if the loaded scheduler refuses it.
    fn make_group(&mut self, group: CgroupId, cpu: CpuId) -> bool {
        let Err(errno) = self.scheduler.cgroup_mkdir(group, cpu) else { return true };
        let path = self.scheduler.kernel.cgroups.path(group);
        self.outcome.warn(format!("cgroup {path} cannot be made: the scheduler refuses it ({errno})"));
        false
    }

    /// The group in which a thread begins: the one that its kind names, else its parent's.
    pub(super) fn first_task_group(&mut self, named: Option<&str>, parent: Option<TaskId>) -> CgroupId {
        let kernel = &self.scheduler.kernel;
        let inherited = parent.map_or(CgroupTree::ROOT, |parent| kernel.task(parent).cgroup);
        let Some(group) = named.and_then(|path| kernel.cgroups.find(path)) else { return inherited };
        let cpu = parent.map_or(self.boot_cpu(), |parent| kernel.task(parent).cpu);
        if self.make_group(group, cpu) { group } else { inherited }
    }

    /// The thread on `cpu` moves into another group, or into the root.
    pub(super) fn set_task_group(&mut self, cpu: CpuId, task: TaskId, path: Option<&str>) {
        let path = path.unwrap_or("/");
        let Some(group) = self.scheduler.kernel.cgroups.find(path) else { return };
        if !self.make_group(group, cpu) {
            return;
        }
        if let Err(errno) = self.scheduler.cgroup_attach_task(task, group, cpu) {
            let name = self.name_of(task);
            self.outcome.warn(format!("{name} stays out of group {path}: the scheduler refuses it ({errno})"));
        }
    }
}
