// SPDX-License-Identifier: MIT OR Apache-2.0
//! NUMA balancing meets the machine: where threads' memory is, and the ticks at which the kernel looks for it.

use super::Engine;
use crate::kernel::fair::numa::WINDOW;
use crate::kernel::task::ClassId;
use crate::units::{CpuId, TaskId};
use crate::workload::{Behaviour, MemoryPolicy};

/// Memory of a thread that hardly uses any: its stack and what the program has (assumed).
const LITTLE: u64 = 1 << 20;

impl Engine<'_> {
    /// NUMA balancing hears of a new thread.
    pub(super) fn numa_fork(&mut self, task: TaskId, parent: Option<TaskId>) {
        if let Some(numa) = &mut self.sched.fair.numa {
            numa.fork(self.threads.address_space(task), parent, self.sched.kernel.params.tick());
        }
    }

    /// The part of a tick that is about where the memory of the running thread is (`task_tick_numa`), which only fair tasks have.
    /// Memory for which the workload asked for certain nodes stays there, and is not looked at (`vma_policy_mof`).
    pub(super) fn numa_tick(&mut self, cpu: CpuId) {
        let Some(task) = self.running[cpu].task else { return };
        let local = self.threads[task].kind.memory == MemoryPolicy::Local;
        if !local || self.sched.kernel.task(task).class != ClassId::Fair || self.threads[task].pages.is_empty() {
            return;
        }
        let bytes = memory_of(self.threads.latest_behaviour(task));
        let Some(numa) = &mut self.sched.fair.numa else { return };
        if !numa.knows_memory(task) {
            numa.set_memory(task, bytes, &self.threads[task].pages);
        }
        self.account(cpu);
        let cpu_time = self.threads[task].stats.cpu_time;
        if self.sched.fair.task_tick_numa(&mut self.sched.kernel, cpu, task, cpu_time) {
            self.pages_moved(cpu, task);
        }
    }

    /// The running thread's memory is on other nodes from now on.
    fn pages_moved(&mut self, cpu: CpuId, task: TaskId) {
        let Some(numa) = &self.sched.fair.numa else { return };
        self.threads[task].pages = numa.shares(task).into();
        self.running.use_caches(cpu, task, &mut self.threads);
        self.running.pace_later(cpu);
    }
}

/// How much memory a thread has: its working set; as much as one scan marks where it streams through more than any cache holds
/// (assumed).
fn memory_of(behaviour: &Behaviour) -> u64 {
    match behaviour.footprint {
        0 if behaviour.memory_bound > 0.0 || behaviour.bytes_per_work > 0.0 => WINDOW,
        footprint => footprint.max(LITTLE),
    }
}
