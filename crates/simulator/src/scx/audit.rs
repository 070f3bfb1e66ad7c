// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether what sched_ext knows of tasks, queues and CPUs agrees. A panic where it does not: that is a mistake of the
//! simulator, whatever a scheduler did. (Which CPUs count as idle is not among it: a scheduler begins with all of them.)

use super::Scx;
use super::abi::profile::SCX_DSQ_INVALID;
use super::enable::EnableState;
use super::entity::OpsState;
use crate::kernel::Kernel;
use crate::kernel::task::ClassId;
use crate::units::{CpuId, TaskId};

impl Scx {
    /// Asserts all of it.
    pub fn audit(&self, kernel: &Kernel) {
        if !kernel.scx_enabled() || self.state.enable.state != EnableState::Enabled {
            return;
        }
        self.state.dsqs.audit();
        let mut on_cpus = vec![0; kernel.topology.nr_cpus];
        for task in (0..self.state.tasks.len()).map(TaskId::at) {
            let known = kernel.task(task);
            if known.class == ClassId::Ext {
                self.audit_task(kernel, task);
                on_cpus[known.cpu.index()] += u32::from(self.state.tasks[task].queued());
            } else {
                assert_eq!(self.state.dsqs.dsq_of(task), None, "task {task} of another class is in a queue");
            }
        }
        for cpu in (0..kernel.topology.nr_cpus).map(CpuId::at) {
            let rq = kernel.rq(cpu);
            assert_eq!(rq.ext_nr_running, on_cpus[cpu.index()], "tasks of the scheduler on CPU {cpu}");
            let local = self.state.dsqs.local_nr(cpu);
            assert!(rq.curr.is_some() || local == 0, "CPU {cpu} idles while {local} tasks wait in its queue");
        }
    }

    /// A runnable task is in one place: on its CPU, in a queue, on its way to another CPU, or in the scheduler's hands.
    fn audit_task(&self, kernel: &Kernel, task: TaskId) {
        let (entity, known) = (&self.state.tasks[task], kernel.task(task));
        let in_queue = self.state.dsqs.dsq_of(task).is_some();
        let running = kernel.rq(known.cpu).curr == Some(task);
        let in_hands = entity.ops_state != OpsState::None;
        assert!(!matches!(entity.ops_state, OpsState::Queueing(_)), "task {task} is being enqueued for ever");
        assert!(entity.queued() || !(in_queue || running), "task {task} is not runnable, but queued or running");
        assert!(!(in_queue && running), "task {task} runs and is in a queue");
        assert!(!(in_hands && running), "task {task} runs and is in the scheduler's hands");
        assert!(!(in_hands && in_queue), "task {task} is in a queue and in the scheduler's hands");
        let is_on_its_way = entity.ddsp_dsq_id != SCX_DSQ_INVALID;
        let somewhere = in_queue || running || in_hands || is_on_its_way;
        assert!(!entity.queued() || somewhere, "task {task} is runnable, but nowhere");
        let waits = self.state.rqs[known.cpu].runnable_list(&self.state.tasks).contains(&task);
        assert_eq!(waits, entity.waits.is_some(), "whether task {task} is in the list of its CPU");
        assert_eq!(waits, entity.queued() && !running, "whether task {task} is in the list of those that wait");
        if let Some(cpu) = self.state.dsqs.dsq_of(task).and_then(|dsq| self.state.dsqs.local_cpu(dsq)) {
            assert_eq!(cpu, known.cpu, "task {task} is in the local queue of another CPU");
            assert!(known.may_use(cpu), "task {task} is in the local queue of CPU {cpu}, which it may not use");
        }
    }
}
