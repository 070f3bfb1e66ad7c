// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tasks change their cgroup, groups come and go, and programs write to their files: a loaded scheduler hears of it.

use super::core::Sched;
use super::priority::Bracket;
use crate::kernel::cgroup::Refused;
use crate::kernel::task::{ClassId, Task, TaskState};
use crate::units::{CgroupId, CpuId, TaskId};
use crate::workload::CgroupWrite;

impl Sched {
    /// Moves `task` into another group (`cgroup_attach_task`, `sched_move_task`), by a program on `cpu`.
    ///
    /// # Errors
    /// The loaded scheduler's negative errno: the task stays where it is.
    pub fn cgroup_attach_task(&mut self, task: TaskId, to: CgroupId, cpu: CpuId) -> Result<(), i32> {
        if self.kernel.task(task).cgroup == to {
            return Ok(());
        }
        if let Some(ext) = &mut self.ext {
            ext.with(&mut self.kernel).scx_cgroup_can_attach(task, to, cpu)?;
        }
        self.sched_move_task(task, to, cpu);
        self.cpuset_attach_task(task);
        Ok(())
    }

    fn sched_move_task(&mut self, task: TaskId, to: CgroupId, cpu: CpuId) {
        if self.kernel.task(task).class < ClassId::Fair {
            return self.sched_change_group(task, to, cpu);
        }
        self.change(task, Bracket::Move { head: false }, |scheduler| scheduler.sched_change_group(task, to, cpu));
        if self.kernel.task(task).on_cpu {
            self.kernel.resched_curr(self.kernel.task(task).cpu);
        }
    }

    fn sched_change_group(&mut self, task: TaskId, to: CgroupId, cpu: CpuId) {
        let clamps = self.kernel.cgroups.get(to).uclamp;
        self.kernel.task_mut(task).set_group(to, clamps);
        self.fair.task_change_group(&mut self.kernel, task);
        // One that has gone knows nothing of tasks that came since.
        let in_charge = self.kernel.scx_enabled();
        if let Some(ext) = self.ext.as_mut().filter(|_| in_charge) {
            ext.with(&mut self.kernel).scx_cgroup_move_task(task, cpu);
        }
    }

    /// A program on `cpu` makes a group and those above it (`mkdir -p`, `cpu_cgroup_css_online`).
    ///
    /// # Errors
    /// The loaded scheduler's negative errno: there is no such group then.
    pub fn cgroup_mkdir(&mut self, cgroup: CgroupId, cpu: CpuId) -> Result<(), i32> {
        if self.kernel.cgroups.get(cgroup).online {
            return Ok(());
        }
        if let Some(parent) = self.kernel.cgroups.get(cgroup).parent {
            self.cgroup_mkdir(parent, cpu)?;
        }
        if let Some(ext) = &mut self.ext {
            ext.with(&mut self.kernel).scx_tg_online(cgroup, cpu)?;
        }
        self.kernel.cgroups.get_mut(cgroup).online = true;
        Ok(())
    }

    /// A program on `cpu` removes a group (`rmdir`, `cpu_cgroup_css_offline`); false if it is in use.
    pub fn cgroup_rmdir(&mut self, cgroup: CgroupId, cpu: CpuId) -> bool {
        let inside = |task: &Task| task.cgroup == cgroup && task.state != TaskState::Dead;
        if !self.kernel.cgroups.is_empty(cgroup) || self.kernel.tasks.iter().any(inside) {
            return false;
        }
        if let Some(ext) = &mut self.ext {
            ext.with(&mut self.kernel).scx_tg_offline(cgroup, cpu);
        }
        self.kernel.cgroups.get_mut(cgroup).online = false;
        true
    }

    /// A program on `cpu` writes to one of a group's files.
    ///
    /// # Errors
    /// The kernel refuses it: nothing changes.
    pub fn cgroup_write(&mut self, cgroup: CgroupId, write: &CgroupWrite, cpu: CpuId) -> Result<(), Refused> {
        let group = self.kernel.cgroups.get(cgroup);
        let (before, max) = (group.weight, group.max);
        let nr_cpus = self.kernel.topology.nr_cpus;
        self.kernel.cgroups.write(cgroup, write, nr_cpus)?;
        match write {
            CgroupWrite::Weight(_) | CgroupWrite::WeightNice(_) => {
                self.fair.sched_group_set_shares(&mut self.kernel, cgroup);
                if let Some(ext) = &mut self.ext {
                    ext.with(&mut self.kernel).scx_group_set_weight(cgroup, before, cpu);
                }
            }
            CgroupWrite::Idle(_) => {
                self.fair.sched_group_set_idle(&mut self.kernel, cgroup);
                if let Some(ext) = &mut self.ext {
                    ext.with(&mut self.kernel).scx_group_set_idle(cgroup, cpu);
                }
            }
            CgroupWrite::Max(_) => {
                self.fair.tg_set_cfs_bandwidth(&mut self.kernel, cgroup, cpu);
                if let Some(ext) = &mut self.ext {
                    ext.with(&mut self.kernel).scx_group_set_bandwidth(cgroup, max, cpu);
                }
            }
            CgroupWrite::Cpus(_) => self.update_tasks_cpumask(),
        }
        Ok(())
    }
}
