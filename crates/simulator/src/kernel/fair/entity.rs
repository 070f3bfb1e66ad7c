// SPDX-License-Identifier: MIT OR Apache-2.0
//! A task, or a group on one CPU, as the fair class sees it (`struct sched_entity`).

use super::eevdf::Protect;
use super::layout::QueueId;
use crate::kernel::calc_delta_fair;
use crate::kernel::pelt::SchedAvg;
use crate::units::Nanos;

/// No neighbour in the timeline.
pub(super) const NIL: u32 = u32::MAX;

/// A schedulable entity.
#[derive(Debug, Clone)]
pub struct SchedEntity {
    /// Virtual run time.
    pub vruntime: i64,
    /// Virtual deadline of the current request; relative to `vruntime` while `rel_deadline`.
    pub deadline: i64,
    /// Lag at the last dequeue; up to 6.16, while running, the deadline at the pick (`set_protect_slice`).
    pub vlag: i64,
    /// From 6.17 on, while running: the virtual run time up to which its slice is protected (`vprot`).
    pub vprot: i64,
    /// Request length.
    pub slice: Nanos,
    /// `exec_start`.
    pub exec_start: Nanos,
    /// Load weight.
    pub weight: u32,
    /// The slice was asked for by the task.
    pub custom_slice: bool,
    /// Queued or running.
    pub on_rq: bool,
    /// Blocked, but still queued because it owes service.
    pub sched_delayed: bool,
    /// When periodic balancing last moved it.
    pub(super) balanced_at: Nanos,
    /// `deadline` is relative.
    pub rel_deadline: bool,
    /// `SCHED_IDLE`; of a group, which has no policy, false.
    pub idle: bool,
    /// The queue that it is in, or that its load is counted in while it sleeps (`cfs_rq`).
    pub(super) queue: QueueId,
    /// Runnable tasks of a group when its load was last brought up to date (`runnable_weight`).
    pub(super) runnable_weight: u32,
    /// Load.
    pub avg: SchedAvg,
    // Links of the timeline.
    pub(super) left: u32,
    pub(super) right: u32,
    pub(super) heap: u32,
    pub(super) sequence: u64,
    pub(super) min_vruntime: i64,
    // Links of its queue's list of tasks (`group_node`).
    pub(super) list_previous: u32,
    pub(super) list_next: u32,
}

impl SchedEntity {
    /// An entity that was never queued.
    pub fn new(weight: u32, slice: Option<Nanos>, base_slice: Nanos, heap: u32) -> Self {
        Self {
            vruntime: 0,
            deadline: 0,
            vlag: 0,
            vprot: 0,
            slice: slice.unwrap_or(base_slice),
            exec_start: 0,
            weight,
            custom_slice: slice.is_some(),
            on_rq: false,
            sched_delayed: false,
            balanced_at: Nanos::MAX,
            rel_deadline: false,
            idle: false,
            queue: QueueId(0),
            runnable_weight: 0,
            avg: SchedAvg::default(),
            left: NIL,
            right: NIL,
            heap,
            sequence: 0,
            min_vruntime: 0,
            list_previous: NIL,
            list_next: NIL,
        }
    }

    /// `calc_delta_fair`.
    #[inline]
    pub fn calc_delta_fair(&self, delta: Nanos) -> i64 {
        calc_delta_fair(delta, self.weight)
    }

    /// What it is owed where the mean virtual run time is `mean`, at most `limit` of run time (`entity_lag`).
    #[inline]
    pub fn lag(&self, mean: i64, limit: Nanos) -> i64 {
        let limit = self.calc_delta_fair(limit);
        (mean - self.vruntime).clamp(-limit, limit)
    }

    /// Time since it last ran or began to; huge if it never ran on its CPU.
    #[inline]
    pub fn since_it_ran(&self, now: Nanos) -> Nanos {
        now.saturating_sub(self.exec_start)
    }

    /// `protect_slice`.
    #[inline]
    pub fn is_protected(&self, protect: Protect) -> bool {
        match protect {
            Protect::Not => false,
            Protect::Deadline => self.vlag == self.deadline,
            Protect::Vprot => self.vruntime < self.vprot,
        }
    }
}
