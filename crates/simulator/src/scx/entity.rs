// SPDX-License-Identifier: MIT OR Apache-2.0
//! A task as sched_ext sees it (`struct sched_ext_entity`).
//!
//! One half is the kernel's own, [`ScxEntity`]; the other lies in the programs' memory. [`ExtTask`] is both, for what
//! changes them together.

use std::ops::{Index, IndexMut};

use tandem_bpf_vm::memory::Memory;

use super::abi::Guest;
use super::abi::profile::{SCX_DSQ_INVALID, SCX_TASK_QUEUED, SCX_TASK_RESET_RUNNABLE_AT};
use super::origin::Origin;
use super::rq::Rqs;
use super::tasks::{SCX_TASK_STATE_MASK, ScxTaskState};
use super::{Ctx, State};
use crate::units::{CpuId, Nanos, TaskId};

/// In whose hands a task is (`enum scx_ops_state`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OpsState {
    /// The kernel has it (`SCX_OPSS_NONE`).
    #[default]
    None,
    /// `ops.enqueue` has it, for the time with this number (`SCX_OPSS_QUEUEING`).
    Queueing(u32),
    /// The scheduler has it (`SCX_OPSS_QUEUED`).
    Queued(u32),
}

impl OpsState {
    /// The number that tells this time in the scheduler's hands from others (`SCX_OPSS_QSEQ_MASK`); 0: not in them.
    pub fn qseq(self) -> u32 {
        match self {
            Self::None => 0,
            Self::Queueing(qseq) | Self::Queued(qseq) => qseq,
        }
    }
}

/// The tasks before and behind a task in a list; `None`: the list ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Neighbours {
    pub(super) prev: Option<TaskId>,
    pub(super) next: Option<TaskId>,
}

/// A task as sched_ext sees it (`struct sched_ext_entity`); slice, virtual time and `disallow` are in the programs'
/// memory, and its queue is in [`Dsqs`](super::dsq::Dsqs).
#[derive(Debug)]
pub struct ScxEntity {
    /// `SCX_TASK_*`; programs see them, so only [`ExtTask::change_flags`] changes them.
    pub flags: u32,
    /// The CPU to whose local queue it goes next, whatever the scheduler thinks.
    pub sticky_cpu: Option<CpuId>,
    /// The task's weight, 1..=10000, nice 0 being 100.
    pub weight: u32,
    /// In whose hands the task is.
    pub ops_state: OpsState,
    /// Times it was given to the scheduler.
    pub(super) ops_qseq: u32,
    /// Since when it is runnable without running, in jiffies.
    pub runnable_at: u64,
    /// The task's neighbours in its CPU's list of runnable tasks, if it is there.
    pub(super) waits: Option<Neighbours>,
    /// Where it was dispatched to while it was enqueued; [`SCX_DSQ_INVALID`]: nowhere.
    pub ddsp_dsq_id: u64,
    /// The flags with which it was dispatched there (`SCX_ENQ_*`).
    pub ddsp_enq_flags: u64,
    /// The program that dispatched it there.
    pub ddsp_origin: Origin,
    /// Whether the task is on the way between CPUs (`TASK_ON_RQ_MIGRATING`).
    pub migrating: bool,
    /// `select_task_rq` chose the CPU that it wakes on (`WF_RQ_SELECTED`).
    pub rq_selected: bool,
    /// When its run time was last booked (`se.exec_start`).
    pub exec_start: Nanos,
}

impl ScxEntity {
    /// `init_scx_entity` at `jiffies`.
    pub fn new(jiffies: u64) -> Self {
        Self {
            flags: 0,
            weight: 0,
            sticky_cpu: None,
            ops_state: OpsState::None,
            ops_qseq: 0,
            runnable_at: jiffies,
            waits: None,
            ddsp_dsq_id: SCX_DSQ_INVALID,
            ddsp_enq_flags: 0,
            ddsp_origin: Origin::default(),
            migrating: false,
            rq_selected: false,
            exec_start: 0,
        }
    }

    /// `SCX_TASK_QUEUED`: it is runnable, running or not.
    pub fn queued(&self) -> bool {
        self.flags & SCX_TASK_QUEUED != 0
    }

    /// `clear_direct_dispatch`.
    pub fn clear_direct_dispatch(&mut self) {
        (self.ddsp_dsq_id, self.ddsp_enq_flags) = (SCX_DSQ_INVALID, 0);
    }
}

impl Default for ScxEntity {
    fn default() -> Self {
        Self::new(0)
    }
}

/// The entities of all tasks, by [`TaskId`].
#[derive(Debug, Default)]
pub struct Entities(Vec<ScxEntity>);

impl Entities {
    /// Number of tasks that have one.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The next task gets one.
    pub fn push(&mut self, entity: ScxEntity) {
        self.0.push(entity);
    }
}

impl Index<TaskId> for Entities {
    type Output = ScxEntity;

    #[inline]
    fn index(&self, task: TaskId) -> &ScxEntity {
        &self.0[task.index()]
    }
}

impl IndexMut<TaskId> for Entities {
    #[inline]
    fn index_mut(&mut self, task: TaskId) -> &mut ScxEntity {
        &mut self.0[task.index()]
    }
}

/// Both halves of a task's `struct sched_ext_entity`, and the run queues whose lists it stands in.
pub struct ExtTask<'a> {
    id: TaskId,
    tasks: &'a mut Entities,
    rqs: &'a mut Rqs,
    guest: &'a Guest,
    memory: &'a mut Memory,
}

impl ExtTask<'_> {
    /// `p->scx.slice`, ns.
    #[inline]
    pub fn slice(&self) -> Nanos {
        self.guest.slice(self.memory, self.id)
    }

    /// Sets `p->scx.slice`, ns.
    #[inline]
    pub fn set_slice(&mut self, slice: Nanos) {
        self.guest.set_slice(self.memory, self.id, slice);
    }

    /// Sets `p->scx.weight`, 1..=10000.
    pub fn set_weight(&mut self, weight: u32) {
        self.tasks[self.id].weight = weight;
        self.guest.set_weight(self.memory, self.id, weight);
    }

    /// Clears and sets flags (`p->scx.flags`), which programs can read.
    #[inline]
    pub fn change_flags(&mut self, clear: u32, set: u32) {
        let entity = &mut self.tasks[self.id];
        let flags = (entity.flags & !clear) | set;
        if entity.flags != flags {
            entity.flags = flags;
            self.guest.set_scx_flags(self.memory, self.id, flags);
        }
    }

    /// How far the scheduler knows the task (`scx_get_task_state`).
    pub fn state(&self) -> ScxTaskState {
        ScxTaskState::of(self.tasks[self.id].flags)
    }

    /// `scx_set_task_state`.
    pub fn set_state(&mut self, state: ScxTaskState) {
        self.change_flags(SCX_TASK_STATE_MASK, state.bits());
    }

    /// `set_task_runnable` at `jiffies`: the task waits on `cpu`.
    #[inline]
    pub fn set_runnable(&mut self, cpu: CpuId, jiffies: u64) {
        if self.tasks[self.id].flags & SCX_TASK_RESET_RUNNABLE_AT != 0 {
            self.tasks[self.id].runnable_at = jiffies;
            self.guest.set_runnable_at(self.memory, self.id, jiffies);
            self.change_flags(SCX_TASK_RESET_RUNNABLE_AT, 0);
        }
        self.rqs[cpu].add_runnable(self.tasks, self.id);
    }

    /// `clr_task_runnable`: the task, on `cpu`, no longer waits; if it runs, the time it waits starts anew after that.
    #[inline]
    pub fn clr_runnable(&mut self, cpu: CpuId, reset_runnable_at: bool) {
        self.rqs[cpu].remove_runnable(self.tasks, self.id);
        if reset_runnable_at {
            self.change_flags(0, SCX_TASK_RESET_RUNNABLE_AT);
        }
    }

    /// The task as messages name it: `comm[pid]`.
    pub fn comm_pid(&self) -> String {
        self.guest.comm_pid(self.memory, self.id)
    }
}

impl Ctx<'_> {
    /// Both halves of `task`'s `struct sched_ext_entity`.
    #[inline]
    pub fn task(&mut self, task: TaskId) -> ExtTask<'_> {
        let State { tasks, rqs, guest, .. } = &mut *self.scx;
        ExtTask { id: task, tasks, rqs, guest, memory: &mut self.vm.memory }
    }
}
