// SPDX-License-Identifier: MIT OR Apache-2.0
//! What `ops.dispatch` dispatches is written down and carried out when it returns or consumes (`struct scx_dsp_ctx`).

use super::super::Ctx;
use super::super::abi::profile::SCX_ENQ_CLEAR_OPSS;
use super::super::entity::OpsState;
use super::super::ops::Ops;
use super::super::origin::Origin;
use super::direct::DirectDispatch;
use crate::units::{CpuId, TaskId};

/// Per-CPU dispatch buffers (`scx_dsp_ctx`), and what else is kept per executing CPU.
#[derive(Debug, Default)]
pub struct DispatchBuffers {
    /// By executing CPU.
    buffers: Vec<Buffer>,
}

#[derive(Debug, Default)]
struct Buffer {
    /// The CPU that looks for work (`dspc->rq`).
    rq: Option<CpuId>,
    entries: Vec<Entry>,
    /// Tasks dispatched or consumed in this call of `ops.dispatch`.
    nr_tasks: u32,
    /// `direct_dispatch_task`.
    direct: Option<DirectDispatch>,
}

/// `struct scx_dsp_buf_ent`.
#[derive(Debug, Clone, Copy)]
struct Entry {
    task: TaskId,
    qseq: u32,
    dsq_id: u64,
    enq_flags: u64,
    /// The program that wrote it.
    origin: Origin,
}

/// A program forgets a dispatch and there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("dispatch buffer underflow")]
pub(in crate::scx) struct Underflow;

impl DispatchBuffers {
    /// Empty buffers for `nr_cpus` CPUs.
    pub fn new(nr_cpus: usize) -> Self {
        Self { buffers: (0..nr_cpus).map(|_| Buffer::default()).collect() }
    }

    /// Which task may be dispatched directly on `cpu`; `None`: dispatches go through the buffer.
    pub(in crate::scx) fn set_direct_dispatch_task(&mut self, cpu: CpuId, task: Option<DirectDispatch>) {
        self.buffers[cpu.index()].direct = task;
    }

    pub(super) fn direct_dispatch_task(&self, cpu: CpuId) -> Option<DirectDispatch> {
        self.buffers[cpu.index()].direct
    }

    /// `cpu` looks for work for `rq`.
    pub(in crate::scx) fn set_rq(&mut self, cpu: CpuId, rq: CpuId) {
        self.buffers[cpu.index()].rq = Some(rq);
    }

    /// For which CPU `cpu` looks for work.
    pub(super) fn rq(&self, cpu: CpuId) -> CpuId {
        self.buffers[cpu.index()].rq.unwrap_or(cpu)
    }

    /// Tasks dispatched or consumed so far in this call of `ops.dispatch`.
    pub(in crate::scx) fn nr_tasks_mut(&mut self, cpu: CpuId) -> &mut u32 {
        &mut self.buffers[cpu.index()].nr_tasks
    }

    /// Entries written and not yet carried out (`dspc->cursor`).
    pub(super) fn cursor(&self, cpu: CpuId) -> u32 {
        self.buffers[cpu.index()].entries.len() as u32
    }

    /// `scx_bpf_dispatch_nr_slots`: room in the buffer of `cpu`, with as many entries in all as `ops` says.
    pub(in crate::scx) fn nr_slots(&self, cpu: CpuId, ops: &Ops) -> u32 {
        ops.dsp_max_batch().saturating_sub(self.cursor(cpu))
    }

    /// `scx_bpf_dispatch_cancel`: forgets the latest dispatch on `cpu`.
    ///
    /// # Errors
    /// There is none.
    pub(in crate::scx) fn cancel(&mut self, cpu: CpuId) -> Result<(), Underflow> {
        self.buffers[cpu.index()].entries.pop().map(|_| ()).ok_or(Underflow)
    }
}

impl Ctx<'_> {
    /// `scx_dispatch_commit`: a program dispatched `task`: directly while it is being enqueued, else through the buffer of
    /// the executing CPU.
    pub fn scx_dispatch_commit(&mut self, task: TaskId, dsq_id: u64, enq_flags: u64) {
        let cpu = self.scx.calls.this_cpu();
        if let Some(allowed) = self.scx.buffers.direct_dispatch_task(cpu) {
            self.mark_direct_dispatch(allowed, task, dsq_id, enq_flags);
            return;
        }
        if self.scx.buffers.nr_slots(cpu, &self.scx.ops) == 0 {
            self.ops_error("dispatch buffer overflow".to_owned());
            return;
        }
        let (qseq, origin) = (self.scx.tasks[task].ops_state.qseq(), Origin::now(&self.scx.calls, self.vm));
        let entry = Entry { task, qseq, dsq_id, enq_flags, origin };
        self.scx.buffers.buffers[cpu.index()].entries.push(entry);
    }

    /// `flush_dispatch_buf`: carries out what the executing CPU has written down, for the run queue `rq`.
    pub(in crate::scx) fn flush_dispatch_buf(&mut self, rq: CpuId) {
        let cpu = self.scx.calls.this_cpu();
        if self.scx.buffers.cursor(cpu) == 0 {
            return;
        }
        let mut entries = std::mem::take(&mut self.scx.buffers.buffers[cpu.index()].entries);
        for entry in &entries {
            self.blaming(entry.origin, |ctx| ctx.finish_dispatch(rq, *entry));
        }
        let buffer = &mut self.scx.buffers.buffers[cpu.index()];
        buffer.nr_tasks += entries.len() as u32;
        entries.clear();
        // The memory is used again.
        buffer.entries = entries;
    }

    /// `finish_dispatch`: if the task is still in the scheduler's hands since the program dispatched it, it goes to its
    /// queue. If not, another dispatch was faster, or the scheduler never had the task:
    /// nothing happens.
    fn finish_dispatch(&mut self, rq: CpuId, entry: Entry) {
        if self.scx.tasks[entry.task].ops_state != OpsState::Queued(entry.qseq) {
            return;
        }
        let dsq = self.find_dsq_for_dispatch(self.scx.calls.this_cpu(), entry.dsq_id, entry.task);
        match self.scx.dsqs.local_cpu(dsq) {
            Some(dst) => self.dispatch_to_local_dsq(rq, dst, entry.task, entry.enq_flags),
            None => self.dispatch_enqueue(dsq, entry.task, entry.enq_flags | SCX_ENQ_CLEAR_OPSS),
        }
    }
}
