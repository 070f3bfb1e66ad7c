// SPDX-License-Identifier: MIT OR Apache-2.0
//! A thread's steps: what each does at the instant it is reached.

use super::Engine;
use super::events::Event;
use super::thread::{Segment, sample};
use crate::error::SimulationError;
use crate::kernel::sync::WaitsFor;
use crate::units::{CpuId, Nanos, TaskId, USEC};
use crate::workload::{BehaviourId, Op, Span, TimerRef};

/// Steps that a thread may make at one instant; more is a loop that consumes no time.
const MAX_IDLE_STEPS: u32 = 1_000_000;
/// Threads of a run, ended ones included: forks that multiply end here rather than when memory does.
const MAX_THREADS: usize = 2_000_000;
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
        if running.start > self.agenda.now() || self.threads[task.index()].segment != Segment::None {
            self.begin(cpu);
            return Ok(());
        }
        self.threads[task.index()].started = true;
        self.scheduler.set_this_cpu(cpu);
        loop {
            self.check_progress(task)?;
            match self.step(cpu, task) {
                Next::Step => {}
                Next::Run => {
                    self.begin(cpu);
                    return Ok(());
                }
                Next::Stop => return Ok(()),
            }
        }
    }

    /// Counts a step; a thread that makes very many at one instant, blocked and woken in between or not, never ends.
    fn check_progress(&mut self, task: TaskId) -> Result<(), SimulationError> {
        let thread = &mut self.threads[task.index()];
        if thread.stepped_at != self.agenda.now() {
            (thread.stepped_at, thread.idle_steps) = (self.agenda.now(), 0);
        }
        thread.idle_steps += 1;
        if thread.idle_steps > MAX_IDLE_STEPS {
            return Err(SimulationError::NoProgress { thread: self.name_of(task), at: self.agenda.now() });
        }
        if self.threads.len() > MAX_THREADS {
            return Err(SimulationError::TooManyThreads { limit: MAX_THREADS, at: self.agenda.now() });
        }
        Ok(())
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
            Op::Runtime { time, behaviour } => self.run_time(task, *time, *behaviour),
            Op::Memory { bytes, .. } => self.run_bytes(cpu, task, *bytes),
            Op::Chase { count, buffer } => self.run_chase(cpu, task, *count, *buffer),
            Op::Sleep(span) => self.sleep(cpu, task, *span),
            Op::Timer { timer, period, absolute } => self.wait_for_timer(cpu, task, *timer, *period, *absolute),
            Op::Lock(mutex) => self.lock(cpu, task, *mutex),
            Op::Unlock(mutex) => self.unlock(cpu, task, *mutex),
            Op::Wait { condition, mutex } => self.wait(cpu, task, *condition, *mutex),
            Op::Signal(condition) => self.signal(cpu, *condition),
            Op::Broadcast(condition) => self.broadcast(cpu, *condition),
            Op::Barrier(barrier) => self.arrive(cpu, task, *barrier),
            Op::Suspend => self.suspend(cpu, task),
            Op::Resume(kind) => self.resume(cpu, *kind),
            Op::SemPost(semaphore) => self.sem_post(cpu, *semaphore),
            Op::SemWait(semaphore) => self.sem_wait(cpu, task, *semaphore),
            Op::Yield => self.yield_cpu(cpu, task),
            Op::Fork(kind) => self.fork(cpu, task, *kind),
            Op::Join => self.join(cpu, task),
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
            Op::SetTaskGroup(group) => {
                self.set_task_group(cpu, task, group.as_deref());
                Next::Step
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
        self.threads[task.index()].segment = Segment::Plain { left, stalled: false };
        self.scheduler.yield_current(cpu);
        Next::Run
    }

    fn fork(&mut self, cpu: CpuId, task: TaskId, kind: u32) -> Next {
        self.threads[task.index()].children += 1;
        self.spawn(kind, Some(task), cpu);
        Next::Step
    }

    fn join(&mut self, cpu: CpuId, task: TaskId) -> Next {
        if self.threads[task.index()].children == 0 {
            return Next::Step;
        }
        self.wait_for(cpu, task, WaitsFor::Children)
    }

    fn set_affinity(&mut self, cpu: CpuId, task: TaskId, cpus: Option<&[u32]>) -> Next {
        let allowed = self.affinity(cpus);
        if !self.may_bind(task, allowed.as_deref()) || !self.some_is_online(task, allowed.as_deref()) {
            return Next::Step;
        }
        self.scheduler.set_affinity(task, allowed);
        if self.scheduler.kernel.task(task).may_use(cpu) {
            return Next::Step;
        }
        // It must leave, at this instant; the rest of the program follows on the other CPU.
        Next::Stop
    }

    fn run_work(&mut self, task: TaskId, work: Span, behaviour: BehaviourId) -> Next {
        let thread = &mut self.threads[task.index()];
        thread.behaviour = behaviour;
        thread.segment = Segment::Work(sample(work, &mut thread.rng) as f64);
        Next::Run
    }

    fn run_time(&mut self, task: TaskId, time: Span, behaviour: BehaviourId) -> Next {
        let thread = &mut self.threads[task.index()];
        thread.behaviour = behaviour;
        thread.segment = Segment::Time(sample(time, &mut thread.rng));
        Next::Run
    }

    /// Moves bytes at one thread's bandwidth, whoever else uses memory; the core waits meanwhile.
    fn run_bytes(&mut self, cpu: CpuId, task: TaskId, bytes: u64) -> Next {
        let domain = &self.machine.memory_domains[self.machine.cpus[cpu.index()].memory_domain.index()];
        let time = bytes as f64 / (domain.thread_bytes_per_s * 1e-9);
        let left = time.ceil() as Nanos;
        self.threads[task.index()].segment = Segment::Plain { left, stalled: true };
        self.move_bytes(cpu, bytes as f64);
        Next::Run
    }

    /// Dependent loads: each waits for a cache line at the pace of one line after the other.
    fn run_chase(&mut self, cpu: CpuId, task: TaskId, count: u64, buffer: u64) -> Next {
        const LINE: f64 = 64.0;
        let cache = self.machine.cpus[cpu.index()].llc.map(|cache| &self.machine.caches[cache.index()]);
        let missing = cache.is_none_or(|cache| buffer > cache.bytes);
        let hit_cost = cache.map_or(1.0, |cache| cache.hit_cost);
        let latency = CHASE_LATENCY as f64 * if missing { 1.0 } else { hit_cost };
        let left = (count as f64 * latency).ceil() as Nanos;
        self.threads[task.index()].segment = Segment::Plain { left, stalled: true };
        if missing {
            self.move_bytes(cpu, count as f64 * LINE);
        }
        Next::Run
    }

    fn move_bytes(&mut self, cpu: CpuId, bytes: f64) {
        self.memory.move_bytes(self.machine, cpu, bytes);
        self.scheduler.kernel.pmu.add_bytes(cpu, bytes);
    }

    fn sleep(&mut self, cpu: CpuId, task: TaskId, span: Span) -> Next {
        let span = sample(span, &mut self.threads[task.index()].rng);
        self.sleep_until(cpu, task, self.agenda.now().saturating_add(span))
    }

    fn sleep_until(&mut self, cpu: CpuId, task: TaskId, time: Nanos) -> Next {
        self.agenda.set(Event::Timer(task), time);
        self.pauses.timer_set(cpu, self.agenda.now(), time);
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
        let next = expiry.unwrap_or(first).saturating_add(period);
        *expiry = Some(next);
        if self.agenda.now() < next {
            return self.sleep_until(cpu, task, next);
        }
        if !absolute {
            *expiry = Some(self.agenda.now());
        }
        Next::Step
    }
}

/// Time of a dependent load from memory: 80 ns, between the 60 of a desktop and the 140 of the papers' machines. A
/// machine description has no latency, only bandwidth; a pointer chase on a certain machine could tell the difference.
const CHASE_LATENCY: Nanos = 80;
