// SPDX-License-Identifier: MIT OR Apache-2.0
//! Waiting for other threads and being woken: blocked as on a futex, or spinning first.

use super::Engine;
use super::inherit;
use super::program::Next;
use super::thread::Segment;
use crate::kernel::paths::{FUTEX_WAIT, FUTEX_WAKE};
use crate::kernel::sync::{SyncObjects, WaitsFor};
use crate::kernel::task::TaskState;
use crate::observer::detail::Detail;
use crate::units::{CpuId, TaskId};

impl Engine<'_> {
    /// The thread on `cpu` waits: it spins for as long as its behaviour says, then blocks.
    pub(super) fn wait_for(&mut self, cpu: CpuId, task: TaskId, what: WaitsFor) -> Next {
        let may_spin = may_spin(what, self.threads.workload.priority_inheritance);
        let spin = self.threads.latest_behaviour(task).spin;
        let thread = &mut self.threads[task];
        thread.waiting = Some(what);
        // What holds up the work is part of the round.
        if !matches!(what, WaitsFor::Mutex(_)) {
            thread.rounds.end(self.agenda.now(), None);
        }
        self.show_wait(task, what);
        let thread = &mut self.threads[task];
        if spin > 0 && may_spin {
            thread.spinning = true;
            thread.segment = Segment::Spin(spin);
            return Next::Run;
        }
        self.block(cpu, task);
        Next::Stop
    }

    fn block(&mut self, cpu: CpuId, task: TaskId) {
        self.sched.kernel.executes(cpu, FUTEX_WAIT);
        let thread = &mut self.threads[task];
        thread.spinning = false;
        thread.segment = Segment::None;
        self.threads.blocks(task);
        self.sched.block_current(cpu);
    }

    /// The thread has spun for long enough.
    pub(super) fn spin_is_over(&mut self, cpu: CpuId, task: TaskId) {
        if self.threads[task].waiting.is_some() {
            self.block(cpu, task);
        } else {
            self.threads[task].segment = Segment::None;
        }
    }

    /// What `task` waits for has come: it wakes, or stops spinning.
    pub(super) fn satisfy(&mut self, task: TaskId, waker: CpuId) {
        let thread = &mut self.threads[task];
        if thread.spinning {
            thread.waiting = None;
            self.stop_spinning(task);
        } else {
            self.threads.unblocks(task);
            self.wake(task, waker);
        }
    }

    /// The spinner goes on: at once if it runs, else when it gets a CPU again.
    fn stop_spinning(&mut self, task: TaskId) {
        let cpu = self.sched.kernel.task(task).cpu;
        let on_cpu = self.running[cpu].task == Some(task);
        if on_cpu {
            self.account(cpu);
        }
        self.show(|| Detail::StopsSpinning { task });
        let thread = &mut self.threads[task];
        thread.rounds.activate(self.agenda.now());
        thread.spinning = false;
        thread.segment = Segment::None;
        if on_cpu {
            self.begin(cpu);
        }
    }

    /// A thread that spun when it lost its CPU may find the lock free now that it is back.
    pub(super) fn recheck_spin(&mut self, task: TaskId) {
        let thread = &self.threads[task];
        if let Some(WaitsFor::Mutex(mutex)) = thread.waiting
            && thread.spinning
            && self.shared.sync.is_free(mutex)
        {
            self.take_while_spinning(task, mutex);
        }
    }

    /// Wakes a blocked thread.
    pub(super) fn wake(&mut self, task: TaskId, waker: CpuId) {
        debug_assert_eq!(self.sched.kernel.task(task).state, TaskState::Blocked);
        let prev = self.sched.kernel.task(task).cpu;
        let target = self.sched.try_to_wake_up(task, waker, false);
        let thread = &mut self.threads[task];
        thread.runnable_since = self.agenda.now();
        thread.woken_at = Some(self.agenda.now());
        thread.rounds.activate(self.agenda.now());
        self.show_run_queue(task);
        self.observer.sched_waking(self.agenda.now(), task, prev, waker);
        self.observer.sched_wakeup(self.agenda.now(), task, target, waker);
    }

    /// Lets the threads go on that `take` takes out of the synchronisation objects.
    pub(super) fn release<T>(&mut self, waker: CpuId, take: impl FnOnce(&mut SyncObjects) -> T) -> Next
    where
        T: IntoIterator<Item = TaskId>,
    {
        let mut wakes = false;
        for waiter in take(&mut self.shared.sync) {
            if !self.threads[waiter].spinning && !std::mem::replace(&mut wakes, true) {
                // One call for all of them, and none where nobody sleeps.
                self.sched.kernel.executes(waker, FUTEX_WAKE);
            }
            self.satisfy(waiter, waker);
        }
        Next::Step
    }

    /// `barrier`: the last thread to come lets the others go on.
    pub(super) fn arrive(&mut self, cpu: CpuId, task: TaskId, barrier: u32) -> Next {
        match self.shared.sync.arrive(barrier, task) {
            None => self.wait_for(cpu, task, WaitsFor::Barrier(barrier)),
            Some(others) => {
                self.threads[task].rounds.next(self.agenda.now());
                self.release(cpu, |_| others)
            }
        }
    }

    /// `suspend`: waits until another thread resumes its kind.
    pub(super) fn suspend(&mut self, cpu: CpuId, task: TaskId) -> Next {
        let kind = self.threads[task].spec;
        self.shared.sync.suspend(kind, task);
        self.wait_for(cpu, task, WaitsFor::Resume(kind))
    }

    /// `sem_post`: gives one to the first that waits for the semaphore, or keeps it.
    pub(super) fn sem_post(&mut self, cpu: CpuId, semaphore: u32) -> Next {
        let now = self.agenda.now();
        self.release(cpu, |sync| sync.sem_post(semaphore, now))
    }

    /// `sem_wait`: takes one from the semaphore, or waits for it.
    pub(super) fn sem_wait(&mut self, cpu: CpuId, task: TaskId, semaphore: u32) -> Next {
        let Some(posted) = self.shared.sync.sem_wait(semaphore, task) else {
            return self.wait_for(cpu, task, WaitsFor::Semaphore(semaphore));
        };
        self.threads[task].rounds.take(self.agenda.now(), posted);
        Next::Step
    }

    /// `lock`: takes a free mutex, else waits; after the wait the same step is tried again.
    pub(super) fn lock(&mut self, cpu: CpuId, task: TaskId, mutex: u32) -> Next {
        if self.shared.sync.try_lock(mutex, task) {
            self.show(|| Detail::Locks { task, mutex });
            return Next::Step;
        }
        self.threads[task].pc -= 1;
        self.shared.sync.wait_for_mutex(mutex, task);
        inherit::lend_priority(mutex, &self.threads, &self.shared.sync, &mut self.sched);
        if let Some(owner) = self.shared.sync.owner(mutex).filter(|_| self.threads.workload.priority_inheritance) {
            self.show_scheduling(owner);
        }
        self.wait_for(cpu, task, WaitsFor::Mutex(mutex))
    }

    /// `unlock`: a running spinner takes the mutex at once; else the first sleeper is woken to try again.
    pub(super) fn unlock(&mut self, cpu: CpuId, task: TaskId, mutex: u32) -> Next {
        if self.threads.workload.priority_inheritance {
            self.unlock_pi(cpu, task, mutex);
            return Next::Step;
        }
        let owner = self.shared.sync.unlock(mutex);
        self.show(|| Detail::Unlocks { task: owner.unwrap_or(task), mutex });
        if let Some(owner) = owner.filter(|owner| *owner != task) {
            let warning = self.threads.wrong_unlock(task, mutex, owner, "freed, as glibc's default mutex is");
            self.outcome.warn(warning);
        }
        let waiters = self.shared.sync.waiters(mutex);
        let runs = |waiter: &&TaskId| self.threads[**waiter].spinning && self.sched.kernel.task(**waiter).on_cpu;
        if let Some(spinner) = waiters.iter().find(runs).copied() {
            self.take_while_spinning(spinner, mutex);
            return Next::Step;
        }
        let sleeper = waiters.iter().find(|waiter| !self.threads[**waiter].spinning).copied();
        if let Some(sleeper) = sleeper {
            self.shared.sync.leave_mutex(mutex, sleeper);
            self.sched.kernel.executes(cpu, FUTEX_WAKE);
            self.satisfy(sleeper, cpu);
        }
        Next::Step
    }

    fn take_while_spinning(&mut self, task: TaskId, mutex: u32) {
        self.shared.sync.leave_mutex(mutex, task);
        self.shared.sync.try_lock(mutex, task);
        self.show(|| Detail::Locks { task, mutex });
        let thread = &mut self.threads[task];
        thread.waiting = None;
        // The step that failed is done: a `lock`, or the second half of a `wait`.
        thread.pc += 1;
        thread.relock = false;
        self.stop_spinning(task);
    }

    /// `wait`: releases the mutex and waits for the condition; when signalled, takes the mutex again.
    pub(super) fn wait(&mut self, cpu: CpuId, task: TaskId, condition: u32, mutex: u32) -> Next {
        if self.threads[task].relock {
            let next = self.lock(cpu, task, mutex);
            self.threads[task].relock = !matches!(next, Next::Step);
            return next;
        }
        let thread = &mut self.threads[task];
        thread.relock = true;
        thread.pc -= 1;
        self.shared.sync.wait_for_condition(condition, task);
        self.unlock(cpu, task, mutex);
        self.wait_for(cpu, task, WaitsFor::Condition(condition))
    }
}

/// Locks, barriers and joins spin; conditions, semaphores and `suspend` block at once, as in glibc. So do mutexes that
/// inherit priority.
fn may_spin(what: WaitsFor, priority_inheritance: bool) -> bool {
    match what {
        WaitsFor::Mutex(_) => !priority_inheritance,
        WaitsFor::Barrier(_) | WaitsFor::Loop(_) | WaitsFor::Children => true,
        WaitsFor::Condition(_) | WaitsFor::Semaphore(_) | WaitsFor::Resume(_) => false,
    }
}
