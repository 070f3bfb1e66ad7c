// SPDX-License-Identifier: MIT OR Apache-2.0
//! Dispatch queues together with what tasks, run queues and programs know of them.
//!
//! [`Dsqs`] has the queues alone. Here a change of a queue is seen by all that hold a copy: programs read the number of
//! tasks and the queue that a task is in, and a CPU counts the tasks in its local queue that shall run at once. Nothing
//! here calls the scheduler.

use tandem_bpf_vm::fault::FaultKind;
use tandem_bpf_vm::memory::Memory;

use super::super::Ctx;
use super::super::abi::Guest;
use super::super::abi::profile::{Profile, SCX_ENQ_PREEMPT, SCX_TASK_IMMED};
use super::super::callbacks::Calls;
use super::super::dsq::{DsqRef, Dsqs, Mixed, Place};
use super::super::entity::Entities;
use super::super::errno::{EINVAL, ENOMEM};
use super::super::exit::ExitState;
use super::super::idle::NUMA_NO_NODE;
use super::super::limits::Limits;
use super::super::reenqueue::rq_is_open;
use super::super::rq::Rqs;
use super::super::shown::Shown;
use crate::kernel::Kernel;
use crate::units::{CpuId, TaskId};

/// Bytes that a queue of the scheduler takes here, beside its object, at most: what is kept of it, and its place among the
/// ids.
const PER_QUEUE: u64 = 256;

/// Dispatch queues and the copies of what is in them.
pub struct Queues<'a> {
    dsqs: &'a mut Dsqs,
    tasks: &'a mut Entities,
    rqs: &'a mut Rqs,
    guest: &'a Guest,
    memory: &'a mut Memory,
    kernel: &'a Kernel,
    limits: &'a mut Limits,
    shown: &'a mut Shown,
    exit: &'a ExitState,
    calls: &'a Calls,
    profile: Profile,
}

impl Ctx<'_> {
    /// Dispatch queues and the copies of what is in them.
    #[inline]
    pub fn queues(&mut self) -> Queues<'_> {
        Queues {
            dsqs: &mut self.scx.dsqs,
            tasks: &mut self.scx.tasks,
            rqs: &mut self.scx.rqs,
            guest: &self.scx.guest,
            memory: &mut self.vm.memory,
            kernel: self.kernel,
            limits: &mut self.scx.limits,
            shown: &mut self.scx.shown,
            exit: &self.scx.exit,
            calls: &self.scx.calls,
            profile: self.scx.profile,
        }
    }
}

/// A queue is to be destroyed and tasks are in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("attempting to destroy in-use dsq 0x{id:016x} (nr={nr})")]
pub struct InUse {
    id: u64,
    nr: u32,
}

impl Queues<'_> {
    /// Puts `task`, which is in no queue, into `dsq`: by its virtual time if `by_vtime`. Says what the queue held that does
    /// not fit.
    #[inline]
    pub(super) fn insert(&mut self, dsq: DsqRef, task: TaskId, by_vtime: bool, enq_flags: u64) -> Option<Mixed> {
        let place = match by_vtime {
            true => Place::Vtime(self.guest.dsq_vtime(self.memory, task)),
            false => self.fifo_place(enq_flags),
        };
        let mixed = self.dsqs.insert(dsq, task, place);
        if self.limits.held().is_queue(self.dsqs.id(dsq)) {
            self.limits.begin_wait(self.kernel, task);
        }
        self.mirror(dsq, Some(task));
        let (exit, calls) = (self.exit, self.calls);
        self.shown.queued(self.dsqs, dsq, task, || exit.decided_by(calls));
        mixed
    }

    /// Puts `task`, on `cpu` and in no queue, into the local queue of `cpu`, as `move_local_task_to_local_dsq` does.
    #[inline]
    pub(super) fn insert_moved(&mut self, cpu: CpuId, task: TaskId, enq_flags: u64) {
        self.dsqs.insert_moved(cpu, task, self.fifo_place(enq_flags));
        let local = self.dsqs.local(cpu);
        self.mirror(local, Some(task));
        let (exit, calls) = (self.exit, self.calls);
        self.shown.queued(self.dsqs, local, task, || exit.decided_by(calls));
    }

    /// `task_unlink_from_dsq`: takes `task` out of its queue, if it is in one.
    #[inline]
    pub(super) fn remove(&mut self, task: TaskId) -> bool {
        let Some(dsq) = self.dsqs.remove(task) else { return false };
        if self.limits.held().is_queue(self.dsqs.id(dsq)) {
            self.limits.end_wait(task, self.kernel.now);
        }
        self.mirror(dsq, None);
        self.shown.unqueued(self.dsqs, dsq, task);
        if let Some(cpu) = self.dsqs.local_cpu(dsq)
            && self.tasks[task].flags & SCX_TASK_IMMED != 0
        {
            // `dsq_dec_nr`
            self.rqs[cpu].nr_immed -= 1;
        }
        self.guest.set_dsq(self.memory, task, 0);
        true
    }

    /// `dispatch_dequeue`: takes `task`, which is on `cpu`, out of its queue, if it is in one or on its way to one.
    #[inline]
    pub fn dequeue(&mut self, cpu: CpuId, task: TaskId) {
        if !self.remove(task) {
            self.rqs[cpu].ddsp_deferred_locals.retain(|deferred| *deferred != task);
        }
    }

    /// The last part of `dsq_inc_nr`: `task`, which shall run at once, came into the local queue of `cpu`. If it cannot, it
    /// is given back.
    pub(super) fn count_immed(&mut self, cpu: CpuId, enq_flags: u64) {
        self.rqs[cpu].nr_immed += 1;
        if self.dsqs.local_nr(cpu) > 1 || !rq_is_open(self.kernel, self.rqs, cpu, enq_flags) {
            self.rqs.schedule_reenq_local(cpu, 0);
        }
    }

    /// `scx_bpf_create_dsq`: a queue of the scheduler with this id, for the NUMA node `node`, -1 for any; 0 or a negative
    /// errno.
    pub fn create(&mut self, id: u64, node: i32) -> i64 {
        let known = usize::try_from(node).is_ok_and(|node| node < self.dsqs.nodes());
        if !known && node != NUMA_NO_NODE {
            return -EINVAL;
        }
        let dsq = match self.dsqs.create(id) {
            Ok(dsq) => dsq,
            Err(errno) => return errno,
        };
        let Ok(address) = self.dsq_new(dsq, id) else {
            self.dsqs.destroy(id).expect("a new queue is empty");
            return -ENOMEM;
        };
        self.dsqs.set_address(dsq, address);
        0
    }

    /// Makes the object of a queue, and counts what the queue itself takes: a queue that was destroyed leaves its place to
    /// the next.
    fn dsq_new(&mut self, dsq: DsqRef, id: u64) -> Result<u64, FaultKind> {
        if self.dsqs.takes_room(dsq) {
            self.memory.reserve(PER_QUEUE)?;
            self.dsqs.has_room(dsq);
        }
        self.guest.dsq_new(self.memory, id)
    }

    /// `destroy_dsq`; no such queue: nothing happens.
    ///
    /// # Errors
    /// Tasks are in the queue, which stays.
    pub fn destroy(&mut self, id: u64) -> Result<(), InUse> {
        let Some(dsq) = self.dsqs.find_user_dsq(id) else { return Ok(()) };
        let address = self.dsqs.address(dsq);
        self.dsqs.destroy(id).map_err(|nr| InUse { id, nr })?;
        if address != 0 {
            self.guest.dsq_free(self.memory, address);
        }
        Ok(())
    }

    /// Where in a queue ordered by arrival a task goes.
    fn fifo_place(&self, enq_flags: u64) -> Place {
        if enq_flags & (self.profile.enq_head() | SCX_ENQ_PREEMPT) != 0 { Place::Head } else { Place::Tail }
    }

    /// Tells programs how many tasks are in `dsq`, and `task` that it is in it. A task in one of the kernel's own queues
    /// points to none; only a program that follows `p->scx.dsq` can tell.
    #[inline]
    fn mirror(&mut self, dsq: DsqRef, task: Option<TaskId>) {
        let (nr, address) = (self.dsqs.nr(dsq), self.dsqs.address(dsq));
        if let Some(cpu) = self.dsqs.local_cpu(dsq) {
            self.guest.set_local_dsq_nr(self.memory, cpu, nr);
        } else if address != 0 {
            self.guest.set_dsq_nr(self.memory, address, nr);
        }
        if let Some(task) = task.filter(|_| address != 0) {
            self.guest.set_dsq(self.memory, task, address);
        }
    }
}
