// SPDX-License-Identifier: MIT OR Apache-2.0
//! From the file's tasks to flat programs: the steps of a thread.

use super::super::{Behaviour, BehaviourId, MemoryPolicy, Op, Span, Spread, TaskSpec, TimerRef};
use super::fields::Source;
use super::names::{Names, intern, is_unique};
use super::phases::{PhaseStart, PhaseStarts};
use super::syntax::{Event, Phase, Repeat, Step, Tandem, Task};
use crate::input::InputError;

/// Lowers one task.
pub(super) fn task(
    source: &Source,
    names: &mut Names,
    default_name: &str,
    task: &Task,
) -> Result<TaskSpec, InputError> {
    let starts = PhaseStarts::of(source, task)?;
    let scheduling = starts.scheduling;
    let mut program = Program { source, names, task, ops: Vec::new(), counters: 0, depth: 0, timers: Vec::new() };
    program.task(&starts)?;
    let Program { ops, counters, timers, .. } = program;
    let application = match &task.tandem.application {
        // A system task belongs to no application; any valid index will do.
        _ if task.tandem.system => 0,
        Some(name) => names.application(name),
        None => names.application(default_name),
    };
    Ok(TaskSpec {
        name: task.name.clone(),
        instances: task.instances,
        application,
        system: task.tandem.system,
        delay: task.delay,
        scheduling,
        affinity: task.settings.cpus.clone(),
        task_group: task.settings.task_group.clone().map(|(name, _)| name),
        relative_length: task.tandem.relative_length,
        process: task.tandem.process,
        kernel_thread: task.tandem.kernel_thread,
        disturbs: task.tandem.disturbs.unwrap_or(0),
        timer_slack: task.tandem.timer_slack,
        disturbance: false,
        deadline: task.tandem.deadline,
        frame: task.tandem.frame,
        memory: memory_policy(task),
        program: ops,
        counters,
        unique_timers: timers.len() as u32,
    })
}

/// `nodes_membind` and the `memory` of the `tandem` object together.
fn memory_policy(task: &Task) -> MemoryPolicy {
    match (task.tandem.interleave, &task.membind) {
        (true, nodes) => MemoryPolicy::Interleave(nodes.clone().unwrap_or_default()),
        (false, Some(nodes)) => MemoryPolicy::Bind(nodes.clone()),
        (false, None) => MemoryPolicy::Local,
    }
}

struct Program<'a> {
    source: &'a Source<'a>,
    names: &'a mut Names,
    task: &'a Task,
    ops: Vec<Op>,
    /// Most loop counters needed so far, and the number in use at the next step.
    counters: u32,
    depth: u32,
    /// Names of the instance's own timers.
    timers: Vec<String>,
}

impl Program<'_> {
    fn task(&mut self, starts: &PhaseStarts) -> Result<(), InputError> {
        let Some(first) = &starts.first else { return self.repeat(self.task.repeat, |it| it.pass(&starts.next)) };
        if self.task.repeat == Some(0) {
            return Ok(());
        }
        self.pass(first)?;
        self.repeat(self.task.repeat.map(|count| count - 1), |it| it.pass(&starts.next))
    }

    /// Adds all phases once.
    fn pass(&mut self, starts: &[PhaseStart]) -> Result<(), InputError> {
        for (phase, start) in self.task.phases.iter().zip(starts) {
            self.phase_start(start);
            self.repeat(phase.repeat, |it| it.phase(phase))?;
        }
        Ok(())
    }

    fn phase_start(&mut self, start: &PhaseStart) {
        self.ops.extend(start.affinity.clone().map(Op::SetAffinity));
        self.ops.extend(start.scheduling.map(Op::SetScheduling));
        self.ops.extend(start.task_group.clone().map(|group| Op::SetTaskGroup(Some(group))));
    }

    /// Adds `body`, repeated `count` times.
    fn repeat(
        &mut self,
        count: Repeat,
        body: impl FnOnce(&mut Self) -> Result<(), InputError>,
    ) -> Result<(), InputError> {
        match count {
            Some(0) => return Ok(()),
            Some(1) => return body(self),
            _ => {}
        }
        let start = self.ops.len();
        let counter = self.depth;
        self.depth += 1;
        self.counters = self.counters.max(self.depth);
        self.ops.push(Op::LoopStart { counter, count, end: 0 });
        body(self)?;
        let end = self.ops.len() as u32;
        self.ops[start] = Op::LoopStart { counter, count, end };
        self.ops.push(Op::LoopEnd { start: start as u32 });
        self.depth -= 1;
        Ok(())
    }

    fn phase(&mut self, phase: &Phase) -> Result<(), InputError> {
        let style = self.style(&phase.tandem);
        if self.waits_first(phase) {
            self.ops.push(Op::Behave(style.behaviour));
        }
        if phase.tandem.migration_disabled {
            self.ops.push(Op::MigrateDisable);
        }
        if phase.tandem.same_round {
            self.ops.push(Op::SameRound(true));
        }
        for step in &phase.steps {
            self.step(step, &style)?;
        }
        if phase.tandem.join {
            self.ops.push(Op::Join);
        }
        if phase.tandem.same_round {
            self.ops.push(Op::SameRound(false));
        }
        if phase.tandem.migration_disabled {
            self.ops.push(Op::MigrateEnable);
        }
        Ok(())
    }

    /// Whether the phase waits before any of its work sets a behaviour, in a task that spins anywhere.
    fn waits_first(&self, phase: &Phase) -> bool {
        let spins = |tandem: &Tandem| tandem.spin.is_some_and(|spin| spin > 0);
        let works = |event: &Event| matches!(event, Event::Run(_) | Event::Runtime(_) | Event::ParallelFor(_));
        let waits = |event: &Event| {
            matches!(event, Event::Lock(_) | Event::Wait { .. } | Event::Sync { .. } | Event::Barrier(_))
        };
        let mut before_work = phase.steps.iter().take_while(|step| !works(&step.event));
        let joins = phase.tandem.join && !phase.steps.iter().any(|step| works(&step.event));
        (spins(&self.task.tandem) || self.task.phases.iter().any(|phase| spins(&phase.tandem)))
            && (joins || before_work.any(|step| waits(&step.event)))
    }

    /// How a phase's work behaves: what the phase says, else what its task says.
    fn style(&mut self, phase: &Tandem) -> Style {
        let task = &self.task.tandem;
        let default = Behaviour::default();
        let behaviour = Behaviour {
            memory_bound: phase.memory_bound.or(task.memory_bound).unwrap_or(default.memory_bound),
            bytes_per_work: phase.bytes_per_work.or(task.bytes_per_work).unwrap_or(default.bytes_per_work),
            footprint: phase.footprint.or(task.footprint).unwrap_or(default.footprint),
            activity: phase.activity.or(task.activity).unwrap_or(default.activity),
            spin: phase.spin.or(task.spin).unwrap_or(default.spin),
        };
        Style {
            behaviour: self.names.behaviour(&behaviour),
            run: phase.run_spread.or(task.run_spread).unwrap_or(Spread::Fixed),
            sleep: phase.sleep_spread.or(task.sleep_spread).unwrap_or(Spread::Fixed),
        }
    }

    fn step(&mut self, step: &Step, style: &Style) -> Result<(), InputError> {
        let run = |mean| Span { mean, spread: style.run };
        let sleep = |mean| Span { mean, spread: style.sleep };
        let behaviour = style.behaviour;
        let op = match &step.event {
            Event::Run(work) => Op::Run { work: run(*work), behaviour },
            Event::Runtime(time) => Op::Runtime { time: run(*time), behaviour },
            Event::Sleep(time) => Op::Sleep(sleep(*time)),
            Event::Timer { timer, period, absolute } => {
                let (timer, absolute) = self.timer(timer, *absolute);
                Op::Timer { timer, period: sleep(*period), absolute }
            }
            Event::Memory { bytes, buffer } => Op::Memory { bytes: *bytes, buffer: *buffer },
            Event::Chase { count, buffer } => Op::Chase { count: *count, buffer: *buffer },
            Event::Lock(mutex) => Op::Lock(self.names.mutex(mutex)),
            Event::Unlock(mutex) => Op::Unlock(self.names.mutex(mutex)),
            Event::Wait { condition, mutex } => self.wait(condition, mutex),
            Event::Sync { condition, mutex } => {
                let signal = Op::Signal(self.names.condition(condition));
                self.ops.push(signal);
                self.wait(condition, mutex)
            }
            Event::Signal(condition) => Op::Signal(self.names.condition(condition)),
            Event::Broadcast(condition) => Op::Broadcast(self.names.condition(condition)),
            Event::Barrier(barrier) => Op::Barrier(self.names.barrier(barrier)),
            Event::Suspend(name) => return self.suspend(name),
            Event::Resume(task) => return self.resume(task),
            Event::SemPost(semaphore) => Op::SemPost(self.names.semaphore(semaphore)),
            Event::SemWait(semaphore) => Op::SemWait(self.names.semaphore(semaphore)),
            Event::Yield => Op::Yield,
            Event::Fork(task) => Op::Fork(self.forked(step, task)?),
            Event::ParallelFor(parallel) => Op::ParallelLoop(self.names.parallel_loop(
                self.source,
                step.offset,
                parallel,
                run(parallel.work),
                behaviour,
            )?),
        };
        self.ops.push(op);
        Ok(())
    }

    /// The timer called `name`, and whether it is absolute. A timer of the instance's own is absolute from the first
    /// use that says so.
    fn timer(&mut self, name: &str, absolute: bool) -> (TimerRef, bool) {
        if !is_unique(name) {
            return (TimerRef::Shared(self.names.timer(name)), self.names.is_absolute(name));
        }
        let elsewhere = self
            .task
            .steps()
            .any(|step| matches!(&step.event, Event::Timer { timer, absolute: true, .. } if timer == name));
        (TimerRef::Unique(intern(&mut self.timers, name)), absolute || elsewhere)
    }

    fn wait(&mut self, condition: &str, mutex: &str) -> Op {
        Op::Wait { condition: self.names.condition(condition), mutex: self.names.mutex(mutex) }
    }

    fn suspend(&mut self, name: &str) -> Result<(), InputError> {
        if name == self.task.name && self.names.resumed(name).is_some() {
            self.ops.push(Op::Suspend);
            return Ok(());
        }
        let (mutex, condition) = (self.names.mutex(name), self.names.condition(name));
        self.ops.extend([Op::Lock(mutex), Op::Wait { condition, mutex }, Op::Unlock(mutex)]);
        Ok(())
    }

    fn resume(&mut self, name: &str) -> Result<(), InputError> {
        if let Some(task) = self.names.resumed(name) {
            self.ops.push(Op::Resume(task));
            return Ok(());
        }
        let (mutex, condition) = (self.names.mutex(name), self.names.condition(name));
        self.ops.extend([Op::Lock(mutex), Op::Broadcast(condition), Op::Unlock(mutex)]);
        Ok(())
    }

    fn forked(&self, step: &Step, name: &str) -> Result<u32, InputError> {
        self.names.task(name).ok_or_else(|| self.source.error(step.offset, format!("no task is called `{name}`")))
    }
}

/// How the work and the pauses of a phase behave.
struct Style {
    behaviour: BehaviourId,
    run: Spread,
    sleep: Spread,
}
