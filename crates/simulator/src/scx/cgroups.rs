// SPDX-License-Identifier: MIT OR Apache-2.0
//! The cgroup callbacks (`scx_cgroup_init`, `scx_cgroup_can_attach` and their kin).

use super::Ctx;
use super::abi::guest::args::CgroupInitArgs;
use super::ops::Op;
use super::origin::Origin;
use crate::kernel::cgroup::CgroupTree;
use crate::units::{CgroupId, CpuId, TaskId};
use crate::workload::CpuMax;

/// Cgroups and what the scheduler knows of them.
#[derive(Debug, Default)]
pub struct Cgroups {
    /// The scheduler hears of them (`scx_cgroup_enabled`).
    enabled: bool,
    /// By cgroup: the scheduler has taken note of it (`SCX_TG_INITED`).
    inited: Vec<bool>,
    /// Tasks under way to another cgroup, and where they come from (`cgrp_moving_from`).
    moving: Vec<(TaskId, CgroupId)>,
}

impl Cgroups {
    /// Whether the scheduler knows `cgroup`.
    pub fn is_inited(&self, cgroup: CgroupId) -> bool {
        self.inited.get(cgroup.index()).copied().unwrap_or(false)
    }

    fn set_inited(&mut self, cgroup: CgroupId, inited: bool) {
        if self.inited.len() <= cgroup.index() {
            self.inited.resize(cgroup.index() + 1, false);
        }
        self.inited[cgroup.index()] = inited;
    }

    fn take_moving(&mut self, task: TaskId) -> Option<CgroupId> {
        let place = self.moving.iter().position(|(moving, _)| *moving == task)?;
        Some(self.moving.remove(place).1)
    }
}

impl Ctx<'_> {
    /// Makes the objects of all cgroups that have none yet; to be done once before the scheduler is loaded.
    ///
    /// # Errors
    /// The objects do not fit into the memory.
    pub fn scx_cgroups_new(&mut self) -> Result<(), tandem_bpf_vm::fault::FaultKind> {
        for id in (0..self.kernel.cgroups.len()).map(CgroupId::at) {
            let group = self.kernel.cgroups.get(id);
            if self.scx.guest.cgroup(id) != 0 || group.autogroup {
                continue;
            }
            let name = if group.parent.is_none() { "/" } else { &group.name };
            let number = CgroupTree::kernfs_id(id);
            self.scx.guest.cgroup_new(&mut self.vm.memory, id, group.parent, number, name)?;
            self.scx.guest.set_cgroup_max(&mut self.vm.memory, id, group.max);
        }
        Ok(())
    }

    /// The scheduler is loaded: `cgroup_init` for every cgroup, each before those in it (`scx_cgroup_init`).
    ///
    /// # Errors
    /// The scheduler's negative errno; the exit is claimed.
    pub(super) fn scx_cgroup_init(&mut self) -> Result<(), i32> {
        for cgroup in self.kernel.cgroups.pre_order() {
            if !self.scx.cgroups.is_inited(cgroup)
                && let Err(errno) = self.call_cgroup_init(cgroup, self.scx.enable.cpu)
            {
                let message = format!("ops.cgroup_init() failed ({errno})");
                let origin = Origin::returned(self.vm, Op::CgroupInit, self.scx.enable.cpu);
                self.blaming(origin, |ctx| ctx.ops_error(message));
                return Err(errno);
            }
            self.scx.cgroups.set_inited(cgroup, true);
        }
        self.scx.cgroups.enabled = true;
        Ok(())
    }

    /// Calls `cgroup_init`.
    ///
    /// # Errors
    /// What it returned, if that is not 0; it need not be an errno.
    fn call_cgroup_init(&mut self, cgroup: CgroupId, cpu: CpuId) -> Result<(), i32> {
        let group = self.kernel.cgroups.get(cgroup);
        let args = CgroupInitArgs::of(group.weight, group.max);
        let args = self.scx.guest.cgroup_init_args(&mut self.vm.memory, args);
        let address = self.scx.guest.cgroup(cgroup);
        match self.call_op(Op::CgroupInit, cpu, None, [None; 2], &[address, args]).unwrap_or(0) as i32 {
            0 => Ok(()),
            returned => Err(returned),
        }
    }

    /// The scheduler is unloaded: `cgroup_exit` for every cgroup it knows, each after those in it (`scx_cgroup_exit`).
    pub(super) fn scx_cgroup_exit(&mut self) {
        self.scx.cgroups.enabled = false;
        for cgroup in self.kernel.cgroups.post_order() {
            if self.scx.cgroups.is_inited(cgroup) {
                self.scx.cgroups.set_inited(cgroup, false);
                self.call_cgroup_exit(cgroup, self.scx.enable.cpu);
            }
        }
    }

    fn call_cgroup_exit(&mut self, cgroup: CgroupId, cpu: CpuId) {
        let address = self.scx.guest.cgroup(cgroup);
        self.call_op(Op::CgroupExit, cpu, None, [None; 2], &[address]);
    }

    /// A program on `cpu` makes a cgroup (`scx_tg_online`).
    ///
    /// # Errors
    /// The scheduler's negative errno: there is no cgroup then.
    pub fn scx_tg_online(&mut self, cgroup: CgroupId, cpu: CpuId) -> Result<(), i32> {
        if !self.scx.cgroups.enabled {
            return Ok(());
        }
        if let Err(returned) = self.call_cgroup_init(cgroup, cpu) {
            return Err(self.ops_sanitize_err(Op::CgroupInit, i64::from(returned)));
        }
        self.scx.cgroups.set_inited(cgroup, true);
        Ok(())
    }

    /// A cgroup is removed (`scx_tg_offline`).
    pub fn scx_tg_offline(&mut self, cgroup: CgroupId, cpu: CpuId) {
        if self.scx.cgroups.is_inited(cgroup) {
            self.call_cgroup_exit(cgroup, cpu);
        }
        self.scx.cgroups.set_inited(cgroup, false);
    }

    /// Whether `task` may move to the cgroup `to`: `cgroup_prep_move` (`scx_cgroup_can_attach`); a program on
    /// `cpu` moves it. Then [`Ctx::scx_cgroup_move_task`] must follow.
    ///
    /// # Errors
    /// The scheduler's negative errno: the task stays.
    pub fn scx_cgroup_can_attach(&mut self, task: TaskId, to: CgroupId, cpu: CpuId) -> Result<(), i32> {
        let from = self.kernel.task(task).cgroup;
        if !self.scx.cgroups.enabled || from == to {
            return Ok(());
        }
        let args = self.scx.guest.move_args(task, from, to);
        // The only task that moves has not been prepared if this fails, so there is nothing to cancel.
        match self.call_op(Op::CgroupPrepMove, cpu, None, [None; 2], &args).unwrap_or(0) as i32 {
            0 => {
                self.scx.cgroups.moving.push((task, from));
                Ok(())
            }
            returned => Err(self.ops_sanitize_err(Op::CgroupPrepMove, i64::from(returned))),
        }
    }

    /// `task`, on no queue, is in its new cgroup: `cgroup_move` (`scx_cgroup_move_task`).
    pub fn scx_cgroup_move_task(&mut self, task: TaskId, cpu: CpuId) {
        let to = self.kernel.task(task).cgroup;
        self.scx.guest.set_task_cgroup(&mut self.vm.memory, task, to);
        if !self.scx.cgroups.enabled {
            return;
        }
        if let Some(from) = self.scx.cgroups.take_moving(task) {
            let args = self.scx.guest.move_args(task, from, to);
            let locked = Some(self.kernel.task(task).cpu);
            self.call_op(Op::CgroupMove, cpu, locked, [Some(task), None], &args);
        }
    }

    /// A program on `cpu` has written `cpu.weight`, which was `before` (`scx_group_set_weight`).
    pub fn scx_group_set_weight(&mut self, cgroup: CgroupId, before: u32, cpu: CpuId) {
        let weight = self.kernel.cgroups.get(cgroup).weight;
        if self.scx.cgroups.enabled && weight != before {
            let address = self.scx.guest.cgroup(cgroup);
            self.call_op(Op::CgroupSetWeight, cpu, None, [None; 2], &[address, u64::from(weight)]);
        }
    }

    /// A program on `cpu` has written `cpu.max`, which was `before` (`scx_group_set_bandwidth`, since Linux 6.17).
    pub fn scx_group_set_bandwidth(&mut self, cgroup: CgroupId, before: Option<CpuMax>, cpu: CpuId) {
        let group = self.kernel.cgroups.get(cgroup);
        let (max, args) = (group.max, CgroupInitArgs::of(group.weight, group.max));
        self.scx.guest.set_cgroup_max(&mut self.vm.memory, cgroup, max);
        if self.scx.cgroups.enabled && max != before {
            let address = self.scx.guest.cgroup(cgroup);
            let args = [address, args.bw_period_us, args.bw_quota_us, args.bw_burst_us];
            self.call_op(Op::CgroupSetBandwidth, cpu, None, [None; 2], &args);
        }
    }

    /// A program on `cpu` has written `cpu.idle` (`scx_group_set_idle`); the scheduler hears of it whatever was there before.
    pub fn scx_group_set_idle(&mut self, cgroup: CgroupId, cpu: CpuId) {
        let idle = self.kernel.cgroups.get(cgroup).idle;
        if self.scx.cgroups.enabled {
            let address = self.scx.guest.cgroup(cgroup);
            self.call_op(Op::CgroupSetIdle, cpu, None, [None; 2], &[address, u64::from(idle)]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_under_way_is_remembered_once() {
        let mut cgroups = Cgroups::default();
        cgroups.moving.push((TaskId(3), CgroupId(1)));
        cgroups.moving.push((TaskId(4), CgroupId(2)));
        assert_eq!(cgroups.take_moving(TaskId(4)), Some(CgroupId(2)));
        assert_eq!(cgroups.take_moving(TaskId(4)), None);
        assert_eq!(cgroups.take_moving(TaskId(3)), Some(CgroupId(1)));
    }

    #[test]
    fn an_unknown_cgroup_is_not_initialised() {
        let mut cgroups = Cgroups::default();
        cgroups.set_inited(CgroupId(2), true);
        assert_eq!([1, 2, 9].map(|id| cgroups.is_inited(CgroupId(id))), [false, true, false]);
    }
}
