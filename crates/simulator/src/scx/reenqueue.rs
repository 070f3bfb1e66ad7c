// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tasks that go back from dispatch queues to the scheduler (`reenq_local`, `reenq_user`).
//!
//! 6.12 gives a CPU's local queue back on demand of `ops.cpu_release`. 7.x does so later, from anywhere and for any of the
//! scheduler's queues; and by itself for tasks inserted with `SCX_ENQ_IMMED` that cannot run at once on that CPU.

use std::collections::BTreeSet;

use super::abi::profile::{
    SCX_DSQ_FLAG_BUILTIN, SCX_DSQ_LOCAL, SCX_DSQ_LOCAL_ON, SCX_ENQ_PREEMPT, SCX_ENQ_REENQ, SCX_REENQ_ANY,
    SCX_REENQ_LOCAL_MAX_REPEAT, SCX_TASK_IMMED, SCX_TASK_REENQ_IMMED, SCX_TASK_REENQ_KFUNC, SCX_TASK_REENQ_REASON_MASK,
};
use super::rq::Rqs;
use super::{Ctx, State};
use crate::kernel::Kernel;
use crate::kernel::instant::Turn;
use crate::kernel::task::ClassId;
use crate::units::{CpuId, TaskId};

/// What of a CPU is to be given back once its run queue can be unlocked.
#[derive(Debug, Default)]
pub struct Reenqueue {
    /// Tasks of its local queue, with these flags (`deferred_reenq_local`).
    local: Option<u64>,
    /// Ids of queues of the scheduler (`deferred_reenq_users`), each once.
    users: Vec<u64>,
    /// The same ids, ordered.
    waiting: BTreeSet<u64>,
}

impl Reenqueue {
    /// Tasks of the local queue are to be given back, with these flags too.
    pub(super) fn add_local(&mut self, reenq_flags: u64) {
        self.local = Some(self.local.unwrap_or(0) | reenq_flags);
    }

    /// All tasks of the scheduler's queue are to be given back; it waits for that once.
    fn add_user(&mut self, dsq_id: u64) {
        if self.waiting.insert(dsq_id) {
            self.users.push(dsq_id);
        }
    }

    fn take_user(&mut self) -> Option<u64> {
        let dsq_id = self.users.pop()?;
        self.waiting.remove(&dsq_id);
        Some(dsq_id)
    }
}

/// `rq_is_open`: whether a task of this class that came to `cpu` now would run at once.
///
/// The kernel knows which class comes next on the CPU before it does. Here it is the class of what runs, or of a more
/// urgent task that waits: between a wakeup on an idle CPU and that CPU's next pass no time goes by.
pub(super) fn rq_is_open(kernel: &Kernel, rqs: &Rqs, cpu: CpuId, enq_flags: u64) -> bool {
    let rq = kernel.rq(cpu);
    let above = rq.nr_running > rq.ext_nr_running;
    match rq.curr.map(|curr| kernel.task(curr).class) {
        _ if above => false,
        None => true,
        Some(ClassId::Ext) => rqs[cpu].in_balance || enq_flags & SCX_ENQ_PREEMPT != 0,
        // It has just blocked or ended: the CPU is about to look for work.
        Some(_) => rqs[cpu].in_balance,
    }
}

/// `SCX_ENQ_IMMED` on the queue with this id, which is not local.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("SCX_ENQ_IMMED on a non-local DSQ 0x{0:x}")]
pub(super) struct ImmedElsewhere(u64);

impl State {
    /// `scx_vet_enq_flags`: the flags with which a task is to be inserted into the queue `dsq_id`.
    ///
    /// # Errors
    /// The flags do not fit the queue.
    pub(super) fn vet_enq_flags(&self, dsq_id: u64, enq_flags: u64) -> Result<u64, ImmedElsewhere> {
        let local = dsq_id == SCX_DSQ_LOCAL || dsq_id & SCX_DSQ_LOCAL_ON == SCX_DSQ_LOCAL_ON;
        let (immed, always) = (self.profile.enq_immed(), self.profile.ops_always_enq_immed());
        if enq_flags & immed != 0 && !local {
            return Err(ImmedElsewhere(dsq_id));
        }
        let adds = local && self.ops.flags & always != 0;
        Ok(if adds { enq_flags | immed } else { enq_flags })
    }
}

impl Ctx<'_> {
    /// `scx_bpf_dsq_reenq`, and with the local queue `scx_bpf_reenqueue_local` of 7.x: all tasks of a queue go back to the
    /// scheduler, once no run queue is locked any more.
    pub(super) fn scx_bpf_dsq_reenq(&mut self, dsq_id: u64, reenq_flags: u64) {
        if reenq_flags & !SCX_REENQ_ANY != 0 {
            self.ops_error(format!("invalid SCX_REENQ flags 0x{reenq_flags:x}"));
            return;
        }
        let this_cpu = self.scx.calls.this_cpu();
        if dsq_id == SCX_DSQ_LOCAL {
            self.scx.rqs.schedule_reenq_local(this_cpu, SCX_REENQ_ANY);
        } else if dsq_id & SCX_DSQ_LOCAL_ON == SCX_DSQ_LOCAL_ON {
            if let Some(cpu) = self.ops_cpu_valid(dsq_id as i32, Some("in SCX_DSQ_LOCAL_ON dispatch verdict")) {
                self.scx.rqs.schedule_reenq_local(cpu, SCX_REENQ_ANY);
            }
        } else if dsq_id & SCX_DSQ_FLAG_BUILTIN != 0 {
            self.ops_error(format!("DSQ 0x{dsq_id:x} not allowed for reenq"));
        } else if self.scx.dsqs.find_user_dsq(dsq_id).is_none() {
            self.ops_error(format!("non-existent DSQ 0x{dsq_id:x}"));
        } else if !self.scx.rqs[this_cpu].bypassing {
            self.scx.rqs[this_cpu].reenqueue.add_user(dsq_id);
            self.scx.rqs.schedule_deferred(this_cpu);
        }
    }

    /// `process_deferred_reenq_locals` and `process_deferred_reenq_users`. A scheduler that inserts a task again and again
    /// where it cannot run is in error.
    pub(super) fn process_deferred_reenqueues(&mut self, cpu: CpuId) {
        let mut repeats = 0;
        while let Some(reenq_flags) = self.scx.rqs[cpu].reenqueue.local.take() {
            if repeats > SCX_REENQ_LOCAL_MAX_REPEAT {
                self.ops_error(format!("SCX_ENQ_REENQ on SCX_DSQ_LOCAL repeated {repeats} times"));
                return;
            }
            self.reenq_local(cpu, reenq_flags);
            repeats += 1;
        }
        while let Some(dsq_id) = self.scx.rqs[cpu].reenqueue.take_user() {
            if !self.takes_turn(Turn::Reenqueue, cpu) {
                return;
            }
            self.reenq_user(dsq_id);
        }
    }

    /// `reenq_local`: gives tasks in the local queue of `cpu` back; how many. Without `SCX_REENQ_ANY` those that were to run
    /// at once and will not: that is all but the first, and the first if the CPU is taken. (The kernel leaves those that a
    /// stopper is about to move; here a stopper moves at once.)
    pub(super) fn reenq_local(&mut self, cpu: CpuId, reenq_flags: u64) -> u32 {
        let open = rq_is_open(self.kernel, &self.scx.rqs, cpu, 0);
        let mut tasks = Vec::new();
        for (place, task) in self.scx.dsqs.tasks(self.scx.dsqs.local(cpu)).enumerate() {
            let late = self.scx.tasks[task].flags & SCX_TASK_IMMED != 0 && !(place == 0 && open);
            if late || reenq_flags & SCX_REENQ_ANY != 0 {
                tasks.push((task, if late { SCX_TASK_REENQ_IMMED } else { SCX_TASK_REENQ_KFUNC }));
            }
        }
        for (task, _) in &tasks {
            self.queues().dequeue(cpu, *task);
        }
        for (task, reason) in &tasks {
            self.reenqueue(cpu, *task, *reason);
        }
        tasks.len() as u32
    }

    /// `reenq_user`: gives all tasks of the scheduler's queue `dsq_id` back that are in it now.
    fn reenq_user(&mut self, dsq_id: u64) {
        let Some(dsq) = self.scx.dsqs.find_user_dsq(dsq_id) else { return };
        let tasks: Vec<TaskId> = self.scx.dsqs.tasks(dsq).collect();
        for task in tasks {
            if self.scx.dsqs.dsq_of(task) == Some(dsq) {
                let cpu = self.kernel.task(task).cpu;
                self.queues().dequeue(cpu, task);
                self.reenqueue(cpu, task, SCX_TASK_REENQ_KFUNC);
            }
        }
    }

    /// Gives one task back; 7.x says in its flags why.
    fn reenqueue(&mut self, cpu: CpuId, task: TaskId, reason: u32) {
        let reason = if self.scx.profile.rules().reenq_reason { reason } else { 0 };
        self.task(task).change_flags(0, reason);
        self.do_enqueue_task(cpu, task, SCX_ENQ_REENQ, None);
        self.task(task).change_flags(SCX_TASK_REENQ_REASON_MASK, 0);
    }
}
