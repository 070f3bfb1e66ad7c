// SPDX-License-Identifier: MIT OR Apache-2.0
//! A thread's beginning and end.

use std::sync::Arc;

use super::Engine;
use super::events::Event;
use super::thread::Thread;
use crate::kernel::cpumask::CpuMask;
use crate::kernel::sync::WaitsFor;
use crate::observer::TaskInfo;
use crate::units::{CpuId, TaskId};

impl Engine<'_> {
    /// Makes a thread of kind `spec`; it starts now, or at its delay from the workload's start, as rt-app counts it.
    pub(super) fn spawn(&mut self, spec: u32, parent: Option<TaskId>, cpu: CpuId) -> TaskId {
        let kind = &self.workload.tasks[spec as usize];
        let allowed = self.affinity(kind.affinity.as_deref());
        let scheduling = self.admitted(&kind.name, kind.scheduling, allowed.as_deref());
        let task = self.scheduler.task_new(scheduling, allowed);
        self.scheduler.kernel.task_mut(task).cgroup = self.first_task_group(kind.task_group.as_deref(), parent);
        let ordinal = self.made[spec as usize];
        self.made[spec as usize] += 1;
        let several = kind.instances != 1 || parent.is_some();
        let mut thread = Thread::new(spec, kind, several.then_some(ordinal), task, self.options.seed);
        thread.parent = parent;
        if !kind.system {
            self.live_applications += 1;
        }
        let info = TaskInfo {
            id: task,
            name: thread.name(kind),
            application: (!kind.system).then_some(kind.application),
            priority: self.scheduler.kernel.task(task).kernel_priority(),
        };
        self.threads.push(thread);
        self.fork_into_scheduler(task, cpu);
        self.observer.task_new(self.agenda.now(), &info);
        if kind.delay > self.agenda.now() {
            self.scheduler.kernel.task_mut(task).cpu = cpu;
            self.agenda.set(Event::Timer(task), kind.delay);
            self.pauses.timer_set(cpu, self.agenda.now(), kind.delay);
            self.sleepers += 1;
        } else {
            self.start_thread(task, cpu);
        }
        task
    }

    pub(super) fn start_thread(&mut self, task: TaskId, cpu: CpuId) {
        self.threads[task.index()].runnable_since = self.agenda.now();
        self.scheduler.wake_up_new_task(task, cpu);
        let target = self.scheduler.kernel.task(task).cpu;
        self.observer.sched_waking(self.agenda.now(), task, target, cpu);
    }

    /// CPUs of a file's list that this machine has; all if none of them exists.
    pub(super) fn affinity(&mut self, cpus: Option<&[u32]>) -> Option<Arc<CpuMask>> {
        let count = self.machine.cpus.len();
        let online = |cpu: &&u32| (**cpu as usize) < count && self.machine.cpus[**cpu as usize].online;
        let usable: Vec<CpuId> = cpus?.iter().filter(online).map(|cpu| CpuId(*cpu)).collect();
        let named = cpus.unwrap_or_default();
        if usable.is_empty() {
            self.outcome.warn(format!("affinity {named:?} names no online CPU of {}: ignored", self.machine.name));
            return None;
        }
        if usable.len() < named.len() {
            self.outcome.warn(format!(
                "affinity {named:?} names CPUs that {} does not have online: left out",
                self.machine.name
            ));
        }
        Some(Arc::new(CpuMask::of(count, usable)))
    }

    /// A thread's sleep, or the delay before its start, is over.
    pub(super) fn timer_expires(&mut self, task: TaskId) {
        self.sleepers -= 1;
        let cpu = self.some_cpu(self.scheduler.kernel.task(task).cpu);
        if !self.threads[task.index()].started {
            self.start_thread(task, cpu);
        } else {
            self.wake(task, cpu);
        }
    }

    pub(super) fn exit(&mut self, cpu: CpuId, task: TaskId) {
        let now = self.agenda.now();
        let thread = &mut self.threads[task.index()];
        thread.stats.ended = Some(now);
        let (parent, kind) = (thread.parent, &self.workload.tasks[thread.spec as usize]);
        self.scheduler.exit_current(cpu);
        if !kind.system {
            self.live_applications -= 1;
            self.outcome.ended |= self.live_applications == 0;
        }
        let Some(parent) = parent else { return };
        let waiting = &mut self.threads[parent.index()];
        waiting.children -= 1;
        if waiting.children == 0 && waiting.waiting == Some(WaitsFor::Children) {
            self.satisfy(parent, cpu);
        }
    }
}
