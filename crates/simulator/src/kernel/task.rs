// SPDX-License-Identifier: MIT OR Apache-2.0
//! A thread as every scheduling class sees it (`struct task_struct`).

use std::sync::Arc;

use crate::kernel::cgroup::{CgroupTree, GroupClamps};
use crate::kernel::cpumask::CpuMask;
use crate::kernel::switching::Switching;
use crate::units::{CgroupId, CpuId, Nanos, TaskId};
use crate::workload::{Policy, Scheduling};

/// The scheduling class that a task belongs to, most urgent first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ClassId {
    /// `dl_sched_class`.
    Dl,
    /// `rt_sched_class`.
    Rt,
    /// `fair_sched_class`.
    Fair,
    /// `ext_sched_class`.
    Ext,
}

/// Where a task is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskState {
    /// Not started yet.
    New,
    /// Runnable or running (`TASK_RUNNING`).
    Runnable,
    /// Waits for an event (`TASK_INTERRUPTIBLE`).
    Blocked,
    /// Ended (`TASK_DEAD`).
    Dead,
}

/// A change of a task's CPU, as `sched_migrate_task` tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Migration {
    /// The task.
    pub task: TaskId,
    /// The CPU that it was on.
    pub from: CpuId,
    /// The CPU that it is on from now on.
    pub to: CpuId,
}

/// A task.
#[derive(Debug)]
pub struct Task {
    /// Whether it was there, asleep, long before the run began: its load is nothing, not that of a new task.
    pub settled: bool,
    /// The task's identifier.
    pub id: TaskId,
    /// Where the task is in its life.
    pub state: TaskState,
    /// Whether it is the current task of `cpu`.
    pub on_cpu: bool,
    /// Its CPU: where it runs, waits, or last ran.
    pub cpu: CpuId,
    /// The task's class: its policy's, or that of a task it inherits from.
    pub class: ClassId,
    /// Policy and parameters (`sched_attr`).
    pub scheduling: Scheduling,
    /// Nice value (`static_prio` less 120). Policies that have none leave it as it was.
    pub nice: i8,
    /// Load weight (`sched_prio_to_weight`), of a real-time task that which it would have.
    pub weight: u32,
    /// Real-time priority 1..=99, inherited or its own; 0 for fair, [`DL_PRIORITY`] for deadline.
    pub rt_priority: u8,
    /// Class and priority of the most urgent task that waits for it (`pi_top_task`), if above fair.
    pub inherits: Option<(ClassId, u8)>,
    /// `SCHED_IDLE`.
    pub idle_policy: bool,
    /// `SCHED_BATCH` and `SCHED_IDLE` do not preempt others on wakeup.
    pub batch: bool,
    /// The cgroup that it is in.
    pub cgroup: CgroupId,
    /// Effective clamps of that group; the root's restrict nothing.
    group_clamps: GroupClamps,
    /// The group of its session, if sessions have groups (`signal->autogroup`).
    pub autogroup: Option<CgroupId>,
    /// Allowed CPUs; `None`: all (`cpus_mask`).
    pub allowed: Option<Arc<CpuMask>>,
    /// CPUs that it asked for, whatever its group allows; `None`: it never asked (`user_cpus_ptr`).
    pub asked_cpus: Option<Arc<CpuMask>>,
    /// How often migration was disabled and not enabled again: unless 0, the task stays on its CPU (`migration_disabled`).
    pub migration_disabled: u16,
    /// `cpus_ptr` has only the task's CPU: it left that since migration was disabled (`migrate_disable_switch`).
    pub narrowed: bool,
    /// A CPU that it used before its present one (`recent_used_cpu`).
    pub recent_used_cpu: CpuId,
    /// `wakee_flips`: how often the task began to wake another one than before.
    pub wakee_flips: u32,
    /// The task that this one woke last (`last_wakee`).
    pub last_wakee: Option<TaskId>,
    /// When the flips were last halved.
    pub wakee_flip_decay: Nanos,
    /// When it last left a CPU or was queued; for cache hotness.
    pub last_ran: Nanos,
}

impl Task {
    /// A task that has not started.
    pub fn new(id: TaskId, scheduling: Scheduling, allowed: Option<Arc<CpuMask>>, switching: Switching) -> Self {
        let mut task = Self {
            settled: false,
            id,
            state: TaskState::New,
            on_cpu: false,
            cpu: CpuId(0),
            class: ClassId::Fair,
            scheduling,
            nice: 0,
            weight: 0,
            rt_priority: 0,
            inherits: None,
            idle_policy: false,
            batch: false,
            cgroup: CgroupTree::ROOT,
            autogroup: None,
            group_clamps: GroupClamps::NONE,
            allowed,
            asked_cpus: None,
            migration_disabled: 0,
            narrowed: false,
            recent_used_cpu: CpuId(0),
            wakee_flips: 0,
            last_wakee: None,
            wakee_flip_decay: 0,
            last_ran: 0,
        };
        task.set_scheduling(scheduling, switching);
        task
    }

    /// Takes over parameters (`__setscheduler_params`); the caller requeues the task around it.
    pub fn set_scheduling(&mut self, scheduling: Scheduling, switching: Switching) {
        self.scheduling = scheduling;
        (self.idle_policy, self.batch, self.rt_priority) = (false, false, 0);
        self.class = switching.class(scheduling.policy);
        match scheduling.policy {
            Policy::Other { nice, .. } | Policy::Ext { nice } => self.nice = nice,
            Policy::Batch { nice } => (self.nice, self.batch) = (nice, true),
            Policy::Idle => (self.batch, self.idle_policy) = (true, true),
            Policy::Fifo { priority } | Policy::RoundRobin { priority } => {
                (self.class, self.rt_priority) = (ClassId::Rt, priority);
            }
            Policy::Deadline { .. } => (self.class, self.rt_priority) = (ClassId::Dl, DL_PRIORITY),
        }
        // `set_load_weight`
        self.weight = if self.idle_policy { WEIGHT_IDLEPRIO } else { weight_of_nice(self.nice) };
        // `rt_effective_prio`
        if let Some((class, priority)) = self.inherits.filter(|(_, priority)| *priority > self.rt_priority) {
            (self.class, self.rt_priority) = (class, priority);
        }
    }

    /// Puts it into a group with these effective clamps (`set_task_rq`); the caller tells the classes.
    pub fn set_group(&mut self, cgroup: CgroupId, clamps: GroupClamps) {
        (self.cgroup, self.group_clamps) = (cgroup, clamps);
    }

    /// The group with which it shares fair time (`task_group`): a session's counts for tasks that are in no cgroup.
    #[inline]
    pub fn task_group(&self) -> CgroupId {
        self.autogroup.filter(|_| self.cgroup == CgroupTree::ROOT).unwrap_or(self.cgroup)
    }

    /// What its group leaves of the clamps that it asks for, 0..=1024 (`uclamp_tg_restrict`).
    #[inline]
    pub fn uclamp_tg_restrict(&self, (min, max): (u64, u64)) -> (u64, u64) {
        let (least, most) = (u64::from(self.group_clamps.min), u64::from(self.group_clamps.max));
        (min.clamp(least, most), max.clamp(least, most))
    }

    /// Whether it may run on `cpu` now.
    #[inline]
    pub fn may_use(&self, cpu: CpuId) -> bool {
        if self.is_migration_disabled() {
            return cpu == self.cpu;
        }
        self.allowed.as_ref().is_none_or(|mask| mask.test(cpu))
    }

    /// Whether nothing keeps it from any CPU.
    #[inline]
    pub fn may_use_all(&self) -> bool {
        self.allowed.is_none() && !self.is_migration_disabled()
    }

    /// `is_migration_disabled`.
    #[inline]
    pub fn is_migration_disabled(&self) -> bool {
        self.migration_disabled > 0
    }

    /// Whether its affinity leaves it one CPU only.
    pub fn is_pinned(&self) -> bool {
        self.allowed.as_ref().is_some_and(|mask| mask.weight() == 1)
    }

    /// Whether it belongs to a loaded scheduler (`task_on_scx`).
    #[inline]
    pub fn is_ext(&self) -> bool {
        self.class == ClassId::Ext
    }

    /// Kernel priority as `sched_switch` prints it: 120 + nice for fair, 99 − priority for rt, −1 for deadline.
    pub fn kernel_priority(&self) -> i32 {
        match self.class {
            ClassId::Fair | ClassId::Ext => 120 + i32::from(self.nice),
            ClassId::Rt | ClassId::Dl => 99 - i32::from(self.rt_priority),
        }
    }
}

/// What a `SCHED_IDLE` task or an idle group weighs (`WEIGHT_IDLEPRIO`).
pub const WEIGHT_IDLEPRIO: u32 = 3;

/// What a deadline task has as [`Task::rt_priority`]: above all real-time ones.
pub const DL_PRIORITY: u8 = 100;

/// Nice 0.
pub const NICE_0_WEIGHT: u64 = 1024;

/// Load weight of a nice value −20..=19 (`sched_prio_to_weight`): each step is 1.25 of the next, nice 0 is 1024.
pub fn weight_of_nice(nice: i8) -> u32 {
    const WEIGHTS: [u32; 40] = [
        88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916, 9548, 7620, 6100, 4904, 3906, 3121, 2501,
        1991, 1586, 1277, 1024, 820, 655, 526, 423, 335, 272, 215, 172, 137, 110, 87, 70, 56, 45, 36, 29, 23, 18, 15,
    ];
    WEIGHTS[(i32::from(nice).clamp(-20, 19) + 20) as usize]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_keeps_what_its_group_leaves_of_its_wishes() {
        let mut task = Task::new(TaskId(0), Scheduling::default(), None, Switching::Partial);
        assert_eq!(task.uclamp_tg_restrict((100, 1024)), (100, 1024), "the root restricts nothing");
        task.set_group(CgroupId(1), GroupClamps { min: 400, max: 800 });
        assert_eq!(task.uclamp_tg_restrict((0, 1024)), (400, 800));
        assert_eq!(task.uclamp_tg_restrict((500, 600)), (500, 600));
        assert_eq!(task.uclamp_tg_restrict((900, 1024)), (800, 800));
        assert_eq!(task.uclamp_tg_restrict((0, 200)), (400, 400), "the group's protection is above its own limit");
    }
}
