// SPDX-License-Identifier: MIT OR Apache-2.0
//! Waiting for other threads and being woken: blocked as on a futex, or spinning first.

use super::Engine;
use super::program::Next;
use super::thread::Segment;
use crate::kernel::sync::WaitsFor;
use crate::kernel::task::TaskState;
use crate::units::{CpuId, TaskId};

impl Engine<'_> {
    /// The thread on `cpu` waits: it spins for as long as its behaviour says, then blocks.
    pub(super) fn wait_for(&mut self, cpu: CpuId, task: TaskId, what: WaitsFor) -> Next {
        let thread = &mut self.threads[task.index()];
        thread.waiting = Some(what);
        let spin = self.workload.behaviours[thread.behaviour.0 as usize].spin;
        if spin > 0 && may_spin(what) {
            thread.spinning = true;
            thread.segment = Segment::Spin(spin);
            return Next::Run;
        }
        self.block(cpu, task);
        Next::Stop
    }

    fn block(&mut self, cpu: CpuId, task: TaskId) {
        self.threads[task.index()].spinning = false;
        self.threads[task.index()].segment = Segment::None;
        if !self.is_system(task) {
            self.blocked_applications += 1;
        }
        self.scheduler.block_current(cpu);
    }

    /// It has spun for long enough.
    pub(super) fn spin_is_over(&mut self, cpu: CpuId, task: TaskId) {
        if self.threads[task.index()].waiting.is_some() {
            self.block(cpu, task);
        } else {
            self.threads[task.index()].segment = Segment::None;
        }
    }

    fn is_system(&self, task: TaskId) -> bool {
        self.workload.tasks[self.threads[task.index()].spec as usize].system
    }

    /// What `task` waits for has come: it wakes, or stops spinning.
    pub(super) fn satisfy(&mut self, task: TaskId, waker: CpuId) {
        let thread = &mut self.threads[task.index()];
        thread.waiting = None;
        if thread.spinning {
            self.stop_spinning(task);
        } else {
            if !self.is_system(task) {
                self.blocked_applications -= 1;
            }
            self.wake(task, waker);
        }
    }

    /// The spinner goes on: at once if it runs, else when it gets a CPU again.
    fn stop_spinning(&mut self, task: TaskId) {
        let cpu = self.scheduler.kernel.task(task).cpu;
        let on_cpu = self.running[cpu.index()].task == Some(task);
        if on_cpu {
            self.account(cpu);
        }
        let thread = &mut self.threads[task.index()];
        thread.spinning = false;
        thread.segment = Segment::None;
        if on_cpu {
            self.begin(cpu);
        }
    }

    /// A thread that spun when it lost its CPU may find the lock free now that it is back.
    pub(super) fn recheck_spin(&mut self, task: TaskId) {
        let thread = &self.threads[task.index()];
        if let Some(WaitsFor::Mutex(mutex)) = thread.waiting
            && thread.spinning
            && self.sync.is_free(mutex)
        {
            self.take_while_spinning(task, mutex);
        }
    }

    /// Wakes a blocked thread.
    pub(super) fn wake(&mut self, task: TaskId, waker: CpuId) {
        debug_assert_eq!(self.scheduler.kernel.task(task).state, TaskState::Blocked);
        let target = self.scheduler.try_to_wake_up(task, waker, false);
        let thread = &mut self.threads[task.index()];
        thread.runnable_since = self.now;
        thread.woken_at = Some(self.now);
        self.observer.sched_waking(self.now, task, target, waker);
    }

    /// Lets several threads go on.
    pub(super) fn release(&mut self, waker: CpuId, waiters: impl IntoIterator<Item = TaskId>) -> Next {
        for waiter in waiters {
            self.satisfy(waiter, waker);
        }
        Next::Step
    }

    /// `lock`: takes a free mutex, else waits; after the wait the same step is tried again.
    pub(super) fn lock(&mut self, cpu: CpuId, task: TaskId, mutex: u32) -> Next {
        if self.sync.try_lock(mutex, task) {
            return Next::Step;
        }
        self.threads[task.index()].pc -= 1;
        self.sync.wait_for_mutex(mutex, task);
        self.wait_for(cpu, task, WaitsFor::Mutex(mutex))
    }

    /// `unlock`: a running spinner takes the mutex at once; else the first sleeper is woken to try again.
    pub(super) fn unlock(&mut self, cpu: CpuId, task: TaskId, mutex: u32) {
        self.sync.unlock(mutex, task);
        if !self.sync.is_free(mutex) {
            return;
        }
        let waiters = self.sync.waiters(mutex);
        let runs =
            |waiter: &&TaskId| self.threads[waiter.index()].spinning && self.scheduler.kernel.task(**waiter).on_cpu;
        if let Some(spinner) = waiters.iter().find(runs).copied() {
            self.take_while_spinning(spinner, mutex);
            return;
        }
        let sleeper = waiters.iter().find(|waiter| !self.threads[waiter.index()].spinning).copied();
        if let Some(sleeper) = sleeper {
            self.sync.leave_mutex(mutex, sleeper);
            self.satisfy(sleeper, cpu);
        }
    }

    fn take_while_spinning(&mut self, task: TaskId, mutex: u32) {
        self.sync.leave_mutex(mutex, task);
        self.sync.try_lock(mutex, task);
        let thread = &mut self.threads[task.index()];
        thread.waiting = None;
        // The step that failed is done: a `lock`, or the second half of a `wait`.
        thread.pc += 1;
        thread.relock = false;
        self.stop_spinning(task);
    }

    /// `wait`: releases the mutex and waits for the condition; when signalled, takes the mutex again.
    pub(super) fn wait(&mut self, cpu: CpuId, task: TaskId, condition: u32, mutex: u32) -> Next {
        if self.threads[task.index()].relock {
            if self.sync.try_lock(mutex, task) {
                self.threads[task.index()].relock = false;
                return Next::Step;
            }
            self.threads[task.index()].pc -= 1;
            self.sync.wait_for_mutex(mutex, task);
            return self.wait_for(cpu, task, WaitsFor::Mutex(mutex));
        }
        let thread = &mut self.threads[task.index()];
        thread.relock = true;
        thread.pc -= 1;
        self.sync.wait_for_condition(condition, task);
        self.unlock(cpu, task, mutex);
        self.wait_for(cpu, task, WaitsFor::Condition(condition))
    }
}

/// Locks, semaphores, barriers, loop ends and joins spin; conditions and `suspend` are meant for long waits and block at once, as in glibc.
fn may_spin(what: WaitsFor) -> bool {
    !matches!(what, WaitsFor::Condition(_) | WaitsFor::Resume)
}
