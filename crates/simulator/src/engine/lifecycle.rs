// SPDX-License-Identifier: MIT OR Apache-2.0
//! A thread's beginning and end.

use std::sync::Arc;

use super::Engine;
use super::events::Event;
use super::hotplug::some_cpu;
use super::outcome::Outcome;
use super::thread::sample;
use super::threads::PER_THREAD;
use super::{cgroups, inherit};
use crate::kernel::cpumask::CpuMask;
use crate::kernel::paths::{EXIT, TIMER};
use crate::machine::Machine;
use crate::units::{CpuId, TaskId};
use crate::workload::Op;

impl Engine<'_> {
    /// Makes a thread of kind `spec`; it starts now, or at its delay from the workload's start, as rt-app counts it.
    pub(super) fn spawn(&mut self, spec: u32, parent: Option<TaskId>, cpu: CpuId) {
        let now = self.agenda.now();
        // What the workload begins with has been counted as a whole.
        if parent.is_some()
            && let Err(error) = self.threads.have_room(1, now).and_then(|()| Ok(self.account.take(PER_THREAD)?))
        {
            self.outcome.fail(error);
            return;
        }
        let kind = &self.threads.workload.tasks[spec as usize];
        let asked = usable_cpus(self.machine, kind.affinity.as_deref(), &mut self.outcome);
        let group = cgroups::first_group(&mut self.sched, kind.task_group.as_deref(), parent, &mut self.outcome);
        let allowed = cgroups::allowed_cpus(&self.sched, kind, group, asked.clone(), &mut self.outcome);
        let scheduling = inherit::admitted(&self.sched, kind, allowed.as_deref(), &mut self.outcome);
        let task = self.sched.task_new(scheduling, allowed);
        let (clamps, session) = (self.sched.kernel.cgroups.get(group).uclamp, self.sched.kernel.cgroups.session(spec));
        let new = self.sched.kernel.task_mut(task);
        (new.asked_cpus, new.autogroup, new.settled) = (asked, session, kind.disturbance);
        new.set_group(group, clamps);
        self.threads.add(spec, parent, task);
        self.numa_fork(task, parent);
        self.threads[task].rounds.set_policy(kind, scheduling.policy);
        let info = self.threads.info(task, self.sched.kernel.task(task).kernel_priority());
        self.loader.fork(&mut self.sched, &self.threads, task, cpu, &mut self.outcome);
        if self.outcome.has_failed() {
            // There is no such thread, and the run is over.
            return;
        }
        self.observer.task_new(now, &info);
        self.show_scheduling(task);
        self.show_affinity(task);
        if kind.disturbance {
            self.sleeps_already(task);
        } else if kind.delay > now {
            self.sched.kernel.task_mut(task).cpu = cpu;
            self.agenda.set(Event::Timer(task), kind.delay);
            self.pauses.timer_set(cpu, now, kind.delay);
            self.threads.waits.sleeps();
        } else {
            self.start_thread(task, cpu);
        }
    }

    /// A thread that is as old as the system is in one of its sleeps as the run begins, on the CPU to which it is bound.
    fn sleeps_already(&mut self, task: TaskId) {
        let thread = &mut self.threads[task];
        let sleep = thread.kind.program.iter().find_map(|op| match op {
            Op::Sleep(span) => Some(*span),
            _ => None,
        });
        let now = self.agenda.now();
        let until = now + sleep.map_or(0, |span| sample(span, &mut thread.rng));
        let home = thread.kind.affinity.iter().flatten().next().copied().map_or(CpuId(0), CpuId);
        let cpu = some_cpu(&self.sched, home);
        self.sched.kernel.task_mut(task).cpu = cpu;
        let latest = self.arm_soft(cpu, task, until);
        self.agenda.set(Event::Timer(task), latest);
        self.pauses.timer_set(cpu, now, latest);
        self.threads.waits.sleeps();
    }

    fn start_thread(&mut self, task: TaskId, cpu: CpuId) {
        let thread = &mut self.threads[task];
        thread.runnable_since = self.agenda.now();
        thread.rounds.start(self.agenda.now());
        self.sched.wake_up_new_task(task, cpu);
        let target = self.sched.kernel.task(task).cpu;
        self.show_run_queue(task);
        self.observer.sched_waking(self.agenda.now(), task, cpu, cpu);
        self.observer.sched_wakeup_new(self.agenda.now(), task, target, cpu);
    }

    /// A thread's sleep, or the delay before its start, is over; on which CPU its timer went off.
    pub(super) fn timer_expires(&mut self, task: TaskId) -> CpuId {
        self.threads.waits.expires();
        let cpu = some_cpu(&self.sched, self.sched.kernel.task(task).cpu);
        self.sched.kernel.executes(cpu, TIMER);
        if !self.threads[task].started {
            self.start_thread(task, cpu);
        } else {
            self.wake(task, cpu);
        }
        cpu
    }

    /// The thread on `cpu` has ended.
    pub(super) fn exit(&mut self, cpu: CpuId, task: TaskId) {
        let thread = &mut self.threads[task];
        thread.stats.ended = Some(self.agenda.now());
        thread.rounds.exit(self.agenda.now());
        let (parent, kind) = (thread.parent, thread.kind);
        self.sched.kernel.executes(cpu, EXIT);
        self.sched.exit_current(cpu);
        self.outcome.ended |= self.threads.waits.ends(kind);
        if let Some(parent) = parent.filter(|parent| self.threads.child_ends(*parent)) {
            self.satisfy(parent, cpu);
        }
    }
}

/// CPUs of a file's list that `machine` has; all if none of them exists.
pub(super) fn usable_cpus(machine: &Machine, cpus: Option<&[u32]>, outcome: &mut Outcome) -> Option<Arc<CpuMask>> {
    let named = cpus?;
    let count = machine.cpus.len();
    let online = |cpu: &&u32| (**cpu as usize) < count && machine.cpus[**cpu as usize].online;
    let usable: Vec<CpuId> = named.iter().filter(online).map(|cpu| CpuId(*cpu)).collect();
    if usable.is_empty() {
        outcome.warn(format!("affinity {named:?} names no online CPU of {}: ignored", machine.name));
        return None;
    }
    if usable.len() < named.len() {
        outcome.warn(format!("affinity {named:?} names CPUs that {} does not have online: left out", machine.name));
    }
    Some(Arc::new(CpuMask::of(count, usable)))
}
