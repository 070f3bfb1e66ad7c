// SPDX-License-Identifier: MIT OR Apache-2.0
//! What happens under a loaded scheduler, kept until the engine shows it to an observer that wants details.

use super::dsq::{DsqRef, Dsqs};
use crate::observer::detail::{Detail, Queue};
use crate::units::{CpuId, TaskId};

/// Details that no observer has been shown yet, in order; empty unless one wants them.
#[derive(Debug, Default)]
pub struct Shown {
    /// Whether an observer wants details.
    pub wanted: bool,
    details: Vec<Detail>,
}

impl Shown {
    /// Keeps a detail, if any is wanted.
    #[inline]
    pub fn add(&mut self, detail: impl FnOnce() -> Detail) {
        if self.wanted {
            self.details.push(detail());
        }
    }

    /// `task` came into `dsq`, as a callback decided that `by` names.
    #[inline]
    pub fn queued(
        &mut self,
        dsqs: &Dsqs,
        dsq: DsqRef,
        task: TaskId,
        by: impl FnOnce() -> Option<(&'static str, CpuId)>,
    ) {
        self.add(|| Detail::Queued { task, queue: dsqs.shown_as(dsq), depth: dsqs.nr(dsq), by: by() });
    }

    /// `task` left `dsq`.
    #[inline]
    pub fn unqueued(&mut self, dsqs: &Dsqs, dsq: DsqRef, task: TaskId) {
        self.add(|| Detail::Unqueued { task, queue: dsqs.shown_as(dsq), depth: dsqs.nr(dsq) });
    }

    /// Takes the details; [`Shown::put_back`] keeps their memory.
    pub fn take(&mut self) -> Vec<Detail> {
        std::mem::take(&mut self.details)
    }

    /// Whether nothing is left to be shown.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.details.is_empty()
    }

    /// Takes over the memory of details that have been shown.
    pub fn put_back(&mut self, mut details: Vec<Detail>) {
        details.clear();
        self.details = details;
    }
}

impl Dsqs {
    /// The queue as observers name it.
    fn shown_as(&self, dsq: DsqRef) -> Queue {
        match (self.local_cpu(dsq), self.node_of(dsq)) {
            (Some(cpu), _) => Queue::Local(cpu),
            (None, Some(node)) => Queue::Global(node),
            (None, None) => Queue::User(self.id(dsq)),
        }
    }
}
