// SPDX-License-Identifier: MIT OR Apache-2.0
//! A thread's steps: what each does at the instant it is reached.

use super::Engine;
use super::events::Event;
use super::lifecycle::usable_cpus;
use super::thread::{Segment, sample};
use super::{cgroups, inherit};
use crate::error::SimulationError;
use crate::kernel::paths::{CLONE, SLEEP};
use crate::kernel::sync::WaitsFor;
use crate::machine::speed::Stall;
use crate::observer::detail::{Detail, WaitReason};
use crate::units::{CpuId, Nanos, TaskId, USEC};
use crate::workload::{Op, Span, TimerRef};

/// The least cost of a `yield`: a loop of them must let time go on.
const YIELD_COST: Nanos = USEC / 4;

/// What becomes of a thread after a step.
pub(super) enum Next {
    /// The thread goes on with the next step.
    Step,
    /// The thread has something to do that takes time.
    Run,
    /// The thread gave up its CPU.
    Stop,
}

impl Engine<'_> {
    /// Reads steps of the thread on `cpu` until one takes time or blocks.
    ///
    /// # Errors
    /// The thread loops without consuming time.
    pub(super) fn advance(&mut self, cpu: CpuId) -> Result<(), SimulationError> {
        let running = &self.running[cpu];
        let Some(task) = running.task else { return Ok(()) };
        if running.start > self.agenda.now() || self.threads[task].segment != Segment::None {
            self.begin(cpu);
            return Ok(());
        }
        self.threads[task].started = true;
        self.sched.set_this_cpu(cpu);
        loop {
            self.threads.count_step(task, self.agenda.now())?;
            self.sched.kernel.gives_cause();
            match self.step(cpu, task) {
                Next::Step => self.outcome.check()?,
                Next::Run => {
                    self.begin(cpu);
                    return Ok(());
                }
                Next::Stop => return Ok(()),
            }
        }
    }

    fn step(&mut self, cpu: CpuId, task: TaskId) -> Next {
        let thread = &mut self.threads[task];
        let Some(op) = thread.kind.program.get(thread.pc as usize) else {
            self.exit(cpu, task);
            return Next::Stop;
        };
        thread.pc += 1;
        match op {
            Op::Run { work, behaviour } => thread.run_work(*work, *behaviour),
            Op::Runtime { time, behaviour } => thread.run_time(*time, *behaviour),
            Op::Memory { bytes, .. } => self.stall(cpu, task, Stall::of_copy(self.machine, cpu, *bytes)),
            Op::Chase { count, buffer } => self.stall(cpu, task, Stall::of_chase(self.machine, cpu, *count, *buffer)),
            Op::Sleep(span) => self.sleep(cpu, task, *span),
            Op::Timer { timer, period, absolute } => self.wait_for_timer(cpu, task, *timer, *period, *absolute),
            Op::Lock(mutex) => self.lock(cpu, task, *mutex),
            Op::Unlock(mutex) => self.unlock(cpu, task, *mutex),
            Op::Wait { condition, mutex } => self.wait(cpu, task, *condition, *mutex),
            Op::Signal(condition) => self.release(cpu, |sync| sync.signal(*condition)),
            Op::Broadcast(condition) => self.release(cpu, |sync| sync.broadcast(*condition)),
            Op::Barrier(barrier) => self.arrive(cpu, task, *barrier),
            Op::Suspend => self.suspend(cpu, task),
            Op::Resume(kind) => self.release(cpu, |sync| sync.resume(*kind)),
            Op::SemPost(semaphore) => self.sem_post(cpu, *semaphore),
            Op::SemWait(semaphore) => self.sem_wait(cpu, task, *semaphore),
            Op::Yield => self.yield_cpu(cpu, task),
            Op::Fork(kind) => self.fork(cpu, task, *kind),
            Op::Join if thread.children == 0 => Next::Step,
            Op::Join => self.wait_for(cpu, task, WaitsFor::Children),
            Op::ParallelLoop(id) => self.take_part(cpu, task, *id),
            Op::Behave(behaviour) => {
                thread.behaviour = *behaviour;
                Next::Step
            }
            Op::SetScheduling(scheduling) => {
                self.set_scheduling(cpu, task, *scheduling);
                Next::Step
            }
            Op::SetAffinity(cpus) => self.set_affinity(cpu, task, cpus.as_deref()),
            Op::SameRound(same) => {
                thread.rounds.keep(*same);
                Next::Step
            }
            Op::MigrateDisable => {
                self.sched.migrate_disable(task);
                Next::Step
            }
            Op::MigrateEnable => self.migrate_enable(cpu, task),
            Op::SetTaskGroup(group) => {
                cgroups::move_to(&mut self.sched, cpu, (task, thread), group.as_deref(), &mut self.outcome);
                self.show_affinity(task);
                // Its new group may not have this CPU.
                if self.sched.kernel.task(task).may_use(cpu) { Next::Step } else { Next::Stop }
            }
            Op::LoopStart { counter, count, end } => {
                thread.enter_loop(*counter, *count, *end);
                Next::Step
            }
            Op::LoopEnd { start } => {
                thread.pc = *start;
                Next::Step
            }
        }
    }

    fn yield_cpu(&mut self, cpu: CpuId, task: TaskId) -> Next {
        let left = self.machine.costs.context_switch.max(YIELD_COST);
        self.threads[task].segment = Segment::Plain { left, stalled: false };
        self.sched.yield_current(cpu);
        Next::Run
    }

    fn set_affinity(&mut self, cpu: CpuId, task: TaskId, cpus: Option<&[u32]>) -> Next {
        let allowed = usable_cpus(self.machine, cpus, &mut self.outcome);
        let thread = (task, &self.threads[task]);
        if !inherit::may_bind(&self.sched, thread, allowed.as_deref(), &mut self.outcome) {
            return Next::Step;
        }
        if let Err(why) = self.sched.sched_setaffinity(task, allowed) {
            let name = self.threads[task].name();
            self.outcome.warn(format!("{name} asks for CPUs {:?}: {why}; it keeps its own", cpus.unwrap_or(&[])));
            return Next::Step;
        }
        self.show_affinity(task);
        if self.sched.kernel.task(task).may_use(cpu) {
            return Next::Step;
        }
        // It must leave, at this instant; the rest of the program follows on the other CPU.
        Next::Stop
    }

    fn migrate_enable(&mut self, cpu: CpuId, task: TaskId) -> Next {
        self.sched.migrate_enable(task);
        // Where the affinity has changed meanwhile, the thread must leave, at this instant.
        if self.sched.kernel.task(task).may_use(cpu) { Next::Step } else { Next::Stop }
    }

    fn fork(&mut self, cpu: CpuId, task: TaskId, kind: u32) -> Next {
        self.threads[task].children += 1;
        self.sched.kernel.executes(cpu, CLONE);
        self.spawn(kind, Some(task), cpu);
        Next::Step
    }

    /// The thread waits for memory at its own pace, whatever else uses memory: `stall` says how long.
    fn stall(&mut self, cpu: CpuId, task: TaskId, stall: Stall) -> Next {
        let thread = &mut self.threads[task];
        thread.segment = Segment::Plain { left: stall.time, stalled: true };
        self.running.touch_memory(cpu, task, &mut self.threads);
        let time = (stall.time as f64 * self.running.memory.latency_factor(cpu)).ceil() as Nanos;
        let thread = &mut self.threads[task];
        thread.rounds.work(time);
        thread.segment = Segment::Plain { left: time, stalled: true };
        if stall.bytes > 0.0 {
            self.running.move_bytes(cpu, thread, stall.bytes);
            self.sched.kernel.pmu.add_bytes(cpu, stall.bytes);
        }
        Next::Run
    }

    /// `sleep`: the thread's round ends, and the next begins when the sleep is over.
    fn sleep(&mut self, cpu: CpuId, task: TaskId, span: Span) -> Next {
        let thread = &mut self.threads[task];
        let until = self.agenda.now().saturating_add(sample(span, &mut thread.rng));
        thread.rounds.end(self.agenda.now(), None);
        self.sleep_until(cpu, task, until)
    }

    /// The thread on `cpu` sleeps.
    fn sleep_until(&mut self, cpu: CpuId, task: TaskId, time: Nanos) -> Next {
        let latest = self.arm_soft(cpu, task, time);
        self.agenda.set(Event::Timer(task), latest);
        self.pauses.timer_set(cpu, self.agenda.now(), latest);
        self.threads.waits.sleeps();
        self.sched.kernel.executes(cpu, SLEEP);
        self.show(|| Detail::Waits { task, on: WaitReason::Sleep, owner: None });
        self.sched.block_current(cpu);
        Next::Stop
    }

    /// `timer`: sleeps until the next expiry. A missed expiry costs nothing; in relative mode the timer then starts anew.
    fn wait_for_timer(&mut self, cpu: CpuId, task: TaskId, timer: TimerRef, period: Span, absolute: bool) -> Next {
        let thread = &mut self.threads[task];
        let period = sample(period, &mut thread.rng);
        // rt-app counts from the workload's start and the thread's delay, for forked threads too.
        let first = thread.kind.delay;
        let expiry = match timer {
            TimerRef::Shared(index) => &mut self.shared.timers[index as usize],
            TimerRef::Unique(index) => &mut thread.timers[index as usize],
        };
        let next = expiry.unwrap_or(first).saturating_add(period);
        let now = self.agenda.now();
        let missed = now >= next;
        *expiry = Some(if missed && !absolute { now } else { next });
        thread.rounds.end(now, Some(next));
        if missed {
            // The next round is late from its beginning on.
            thread.rounds.activate(next);
        }
        self.show(|| Detail::Round { task, due: next, period, absolute });
        if missed {
            return Next::Step;
        }
        self.sleep_until(cpu, task, next)
    }
}
