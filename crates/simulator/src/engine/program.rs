// SPDX-License-Identifier: MIT OR Apache-2.0
//! A thread's steps: what each does at the instant it is reached.

use super::thread::{Segment, sample};
use super::{Engine, loops};
use crate::kernel::sync::WaitsFor;
use crate::simulation::SimulationError;
use crate::units::{CpuId, Nanos, TaskId, USEC};
use crate::workload::{BehaviourId, Op, Span, TimerRef};

/// Steps that a thread may make at one instant; more is a loop that consumes no time.
const MAX_IDLE_STEPS: u32 = 1_000_000;
/// What a `yield` costs at least; a loop of them must let time go on.
const YIELD_COST: Nanos = USEC / 4;

/// What becomes of a thread after a step.
pub(super) enum Next {
    /// It goes on with the next step.
    Step,
    /// It has something to do that takes time.
    Run,
    /// It gave up its CPU.
    Stop,
}

impl Engine<'_> {
    /// Reads steps of the thread on `cpu` until one takes time or blocks.
    ///
    /// # Errors
    /// The thread loops without consuming time.
    pub(super) fn advance(&mut self, cpu: CpuId) -> Result<(), SimulationError> {
        let running = &self.running[cpu.index()];
        let Some(task) = running.task else { return Ok(()) };
        if running.start > self.now || self.threads[task.index()].segment != Segment::None {
            self.begin(cpu);
            return Ok(());
        }
        self.threads[task.index()].started = true;
        loop {
            let thread = &mut self.threads[task.index()];
            thread.idle_steps += 1;
            if thread.idle_steps > MAX_IDLE_STEPS {
                let name = thread.name(&self.workload.tasks[thread.spec as usize]);
                return Err(SimulationError::NoProgress { thread: name, at: self.now });
            }
            match self.step(cpu, task) {
                Next::Step => {}
                Next::Run => {
                    self.threads[task.index()].idle_steps = 0;
                    self.begin(cpu);
                    return Ok(());
                }
                Next::Stop => return Ok(()),
            }
        }
    }

    fn step(&mut self, cpu: CpuId, task: TaskId) -> Next {
        let thread = &mut self.threads[task.index()];
        let program = &self.workload.tasks[thread.spec as usize].program;
        let Some(op) = program.get(thread.pc as usize) else {
            self.exit(cpu, task);
            return Next::Stop;
        };
        thread.pc += 1;
        match op {
            Op::Run { work, behaviour } => self.run_work(task, *work, *behaviour),
            Op::Runtime { time, behaviour } => {
                thread.behaviour = *behaviour;
                thread.segment = Segment::Time(sample(*time, &mut thread.rng));
                Next::Run
            }
            Op::Memory { bytes, .. } => self.run_bytes(cpu, task, *bytes),
            Op::Chase { count, buffer } => self.run_chase(cpu, task, *count, *buffer),
            Op::Sleep(span) => {
                let span = sample(*span, &mut thread.rng);
                self.sleep_until(cpu, task, self.now + span)
            }
            Op::Timer { timer, period, absolute } => self.wait_for_timer(cpu, task, *timer, *period, *absolute),
            Op::ParallelLoop(id) => self.take_part(cpu, task, *id),
            Op::LoopStart { counter, count, end } => {
                loops::enter_loop(thread, *counter, *count, *end);
                Next::Step
            }
            Op::LoopEnd { start } => {
                thread.pc = *start;
                Next::Step
            }
            Op::Fork(_) | Op::Join | Op::Yield | Op::SetScheduling(_) | Op::SetAffinity(_) | Op::SetTaskGroup(_) => {
                self.scheduling_step(cpu, task, op)
            }
            _ => self.sync_step(cpu, task, op),
        }
    }

    /// Steps that make threads or change how they are scheduled.
    fn scheduling_step(&mut self, cpu: CpuId, task: TaskId, op: &Op) -> Next {
        let thread = &mut self.threads[task.index()];
        match op {
            Op::Yield => {
                thread.segment = Segment::Time(self.machine.costs.context_switch.max(YIELD_COST));
                thread.behaviour = BehaviourId(0);
                self.scheduler.yield_current(cpu);
                Next::Run
            }
            Op::Fork(kind) => {
                thread.children += 1;
                self.spawn(*kind, Some(task), cpu);
                Next::Step
            }
            Op::Join if thread.children > 0 => self.wait_for(cpu, task, WaitsFor::Children),
            Op::SetScheduling(scheduling) => {
                self.scheduler.set_scheduling_of_current(cpu, *scheduling);
                Next::Step
            }
            Op::SetAffinity(cpus) => {
                let allowed = self.affinity(cpus.as_deref());
                self.scheduler.set_affinity(task, allowed);
                self.stay_or_move(cpu, task)
            }
            _ => Next::Step,
        }
    }

    /// Steps that wait for other threads or let them go on.
    fn sync_step(&mut self, cpu: CpuId, task: TaskId, op: &Op) -> Next {
        match op {
            Op::Lock(mutex) => self.lock(cpu, task, *mutex),
            Op::Unlock(mutex) => {
                self.unlock(cpu, task, *mutex);
                Next::Step
            }
            Op::Wait { condition, mutex } => self.wait(cpu, task, *condition, *mutex),
            Op::Signal(condition) => {
                let waiter = self.sync.signal(*condition);
                self.release(cpu, waiter)
            }
            Op::Broadcast(condition) => {
                let waiters = self.sync.broadcast(*condition);
                self.release(cpu, waiters)
            }
            Op::Barrier(barrier) => match self.sync.arrive(*barrier, task) {
                None => self.wait_for(cpu, task, WaitsFor::Barrier(*barrier)),
                Some(others) => self.release(cpu, others),
            },
            Op::Suspend => {
                self.sync.suspend(self.threads[task.index()].spec, task);
                self.wait_for(cpu, task, WaitsFor::Resume)
            }
            Op::Resume(kind) => {
                let suspended = self.sync.resume(*kind);
                self.release(cpu, suspended)
            }
            Op::SemPost(semaphore) => {
                let waiter = self.sync.sem_post(*semaphore);
                self.release(cpu, waiter)
            }
            Op::SemWait(semaphore) => {
                if self.sync.sem_wait(*semaphore, task) {
                    return Next::Step;
                }
                self.wait_for(cpu, task, WaitsFor::Semaphore(*semaphore))
            }
            _ => Next::Step,
        }
    }

    /// A thread that must leave its CPU does so before its next step.
    fn stay_or_move(&mut self, cpu: CpuId, task: TaskId) -> Next {
        if self.scheduler.kernel.task(task).may_use(cpu) {
            return Next::Step;
        }
        // The switch away happens at this instant; the rest of the program follows on the other CPU.
        Next::Stop
    }

    pub(super) fn run_work(&mut self, task: TaskId, work: Span, behaviour: BehaviourId) -> Next {
        let thread = &mut self.threads[task.index()];
        thread.behaviour = behaviour;
        thread.segment = Segment::Work(sample(work, &mut thread.rng) as f64);
        Next::Run
    }

    /// Moves bytes at one thread's bandwidth, whoever else uses memory; the core is busy meanwhile.
    fn run_bytes(&mut self, cpu: CpuId, task: TaskId, bytes: u64) -> Next {
        let domain = &self.machine.memory_domains[self.machine.cpus[cpu.index()].memory_domain.index()];
        let time = bytes as f64 / (domain.thread_bytes_per_s * 1e-9);
        let thread = &mut self.threads[task.index()];
        thread.behaviour = BehaviourId(0);
        thread.segment = Segment::Time(time.ceil() as Nanos);
        self.memory.move_bytes(self.machine, cpu, bytes as f64);
        Next::Run
    }

    /// Dependent loads: each waits for a cache line at the pace of one line after the other.
    fn run_chase(&mut self, cpu: CpuId, task: TaskId, count: u64, buffer: u64) -> Next {
        const LINE: u64 = 64;
        let cache = self.machine.cpus[cpu.index()].llc.map(|cache| &self.machine.caches[cache.index()]);
        let missing = cache.is_none_or(|cache| buffer > cache.bytes);
        let hit_cost = cache.map_or(1.0, |cache| cache.hit_cost);
        let latency = CHASE_LATENCY as f64 * if missing { 1.0 } else { hit_cost };
        let thread = &mut self.threads[task.index()];
        thread.behaviour = BehaviourId(0);
        thread.segment = Segment::Time((count as f64 * latency).ceil() as Nanos);
        if missing {
            self.memory.move_bytes(self.machine, cpu, (count * LINE) as f64);
        }
        Next::Run
    }

    fn sleep_until(&mut self, cpu: CpuId, task: TaskId, time: Nanos) -> Next {
        self.queue.set(self.slots.timer(task), time);
        self.clocks.timer_set(cpu, time);
        self.sleepers += 1;
        self.scheduler.block_current(cpu);
        Next::Stop
    }

    /// `timer`: sleeps until the next expiry. A missed expiry costs nothing; in relative mode the timer then starts anew.
    fn wait_for_timer(&mut self, cpu: CpuId, task: TaskId, timer: TimerRef, period: Span, absolute: bool) -> Next {
        let thread = &mut self.threads[task.index()];
        let period = sample(period, &mut thread.rng);
        // rt-app counts from the workload's start and the thread's delay, for forked threads too.
        let first = self.workload.tasks[thread.spec as usize].delay;
        let expiry = match timer {
            TimerRef::Shared(index) => &mut self.shared_timers[index as usize],
            TimerRef::Unique(index) => &mut thread.timers[index as usize],
        };
        let next = expiry.unwrap_or(first) + period;
        *expiry = Some(next);
        if self.now < next {
            return self.sleep_until(cpu, task, next);
        }
        if !absolute {
            *expiry = Some(self.now);
        }
        Next::Step
    }

    /// A thread's sleep, or the delay before its start, is over.
    pub(super) fn timer_expires(&mut self, task: TaskId) {
        self.sleepers -= 1;
        let cpu = self.scheduler.kernel.task(task).cpu;
        if !self.threads[task.index()].started {
            self.start_thread(task, cpu);
        } else {
            self.wake(task, cpu);
        }
    }

    fn exit(&mut self, cpu: CpuId, task: TaskId) {
        let now = self.now;
        let thread = &mut self.threads[task.index()];
        thread.stats.ended = Some(now);
        let (parent, kind) = (thread.parent, &self.workload.tasks[thread.spec as usize]);
        self.scheduler.exit_current(cpu);
        if !kind.system {
            self.live_applications -= 1;
            self.counters.ended |= self.live_applications == 0;
        }
        let Some(parent) = parent else { return };
        let waiting = &mut self.threads[parent.index()];
        waiting.children -= 1;
        if waiting.children == 0 && waiting.waiting == Some(WaitsFor::Children) {
            self.satisfy(parent, cpu);
        }
    }
}

/// Time of a dependent load from memory: 80 ns, between the 60 of a desktop and the 140 of the papers' machines. A
/// machine description has no latency, only bandwidth; a pointer chase on a certain machine could tell the difference.
const CHASE_LATENCY: Nanos = 80;
