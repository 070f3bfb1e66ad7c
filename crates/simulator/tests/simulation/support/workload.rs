// SPDX-License-Identifier: MIT OR Apache-2.0
//! Workloads in a few words. Work and times are in milliseconds, as round numbers read best.

use tandem_simulator::units::MSEC;
use tandem_simulator::workload::{
    Behaviour, BehaviourId, LoopId, LoopSchedule, Objects, Op, ParallelLoop, Policy, Scheduling, Span, Spread,
    TaskSpec, TimerRef, Workload,
};

/// A workload with no tasks yet, all of one application. Objects: four of each kind, and barriers of `parties` threads.
pub fn workload(parties: u32) -> Workload {
    let names = |kind: &str| (0..4).map(|index| format!("{kind}{index}")).collect::<Vec<_>>();
    Workload {
        name: "test".into(),
        tasks: Vec::new(),
        applications: vec!["app".into()],
        objects: Objects {
            mutexes: names("mutex"),
            conditions: names("condition"),
            barriers: names("barrier").into_iter().map(|name| (name, parties)).collect(),
            semaphores: names("semaphore"),
            timers: names("timer"),
        },
        loops: Vec::new(),
        behaviours: vec![Behaviour::default()],
        duration: None,
        priority_inheritance: false,
        cgroups: Vec::new(),
        interrupts: Vec::new(),
        warnings: Vec::new(),
    }
}

/// A workload of these tasks.
pub fn of<const N: usize>(tasks: [TaskSpec; N]) -> Workload {
    Workload { tasks: tasks.into(), ..workload(N as u32) }
}

/// One thread called `name` with this program.
pub fn thread(name: &str, program: impl Into<Vec<Op>>) -> TaskSpec {
    TaskSpec { counters: 4, unique_timers: 1, ..TaskSpec::new(name, program.into()) }
}

/// Changes of a task, one word each.
pub trait TaskExt: Sized {
    /// Number of threads.
    fn times(self, instances: u32) -> Self;
    /// CPUs that the threads may use.
    fn on(self, cpus: &[u32]) -> Self;
    /// Delay of the start.
    fn after(self, ms: u64) -> Self;
    /// Policy of the threads.
    fn policy(self, policy: Policy) -> Self;
    /// Nice value; the threads are fair.
    fn nice(self, nice: i8) -> Self;
    /// Makes the threads operating-system noise.
    fn system(self) -> Self;
}

impl TaskExt for TaskSpec {
    fn times(self, instances: u32) -> Self {
        Self { instances, ..self }
    }

    fn on(self, cpus: &[u32]) -> Self {
        Self { affinity: Some(cpus.into()), ..self }
    }

    fn after(self, ms: u64) -> Self {
        Self { delay: ms * MSEC, ..self }
    }

    fn policy(self, policy: Policy) -> Self {
        Self { scheduling: Scheduling { policy, ..self.scheduling }, ..self }
    }

    fn nice(self, nice: i8) -> Self {
        self.policy(Policy::Other { nice, slice: None })
    }

    fn system(self) -> Self {
        Self { system: true, ..self }
    }
}

impl WorkloadExt for Workload {
    fn behaving(self, behaviour: Behaviour) -> Self {
        Self { behaviours: vec![behaviour], ..self }
    }

    fn with_loop(mut self, iterations: u64, ms: u64, schedule: LoopSchedule, participants: u32) -> Self {
        let name = format!("loop{}", self.loops.len());
        let work = Span::fixed(ms * MSEC);
        self.loops.push(ParallelLoop { name, iterations, work, behaviour: BehaviourId(0), schedule, participants });
        self
    }
}

/// Changes of a workload.
pub trait WorkloadExt {
    /// Gives all work this behaviour.
    fn behaving(self, behaviour: Behaviour) -> Self;
    /// Adds a parallel loop of iterations of `ms` milliseconds.
    fn with_loop(self, iterations: u64, ms: u64, schedule: LoopSchedule, participants: u32) -> Self;
}

/// Milliseconds as a span.
pub fn ms(ms: u64) -> Span {
    Span::fixed(ms * MSEC)
}

/// Work of `of` milliseconds.
pub fn work(of: u64) -> Op {
    Op::Run { work: ms(of), behaviour: BehaviourId(0) }
}

/// CPU time of `of` milliseconds.
pub fn runtime(of: u64) -> Op {
    Op::Runtime { time: ms(of), behaviour: BehaviourId(0) }
}

/// A sleep of `of` milliseconds.
pub fn sleep(of: u64) -> Op {
    Op::Sleep(ms(of))
}

/// Waits for the next expiry of the thread's own timer.
pub fn timer(period: u64) -> Op {
    Op::Timer { timer: TimerRef::Unique(0), period: ms(period), absolute: false }
}

/// Takes part in loop 0.
pub fn parallel_for() -> Op {
    Op::ParallelLoop(LoopId(0))
}

/// `body`, `count` times.
pub fn repeat(count: u64, body: impl Into<Vec<Op>>) -> Vec<Op> {
    let body = body.into();
    let end = body.len() as u32 + 1;
    let mut program = vec![Op::LoopStart { counter: 0, count: Some(count), end }];
    program.extend(body);
    program.push(Op::LoopEnd { start: 0 });
    program
}

/// Two workers and two irregular system tasks, for 200 ms: a run that depends on its seed.
pub fn noisy() -> Workload {
    let forever = |body: [Op; 2]| {
        let [first, second] = body;
        vec![Op::LoopStart { counter: 0, count: None, end: 3 }, first, second, Op::LoopEnd { start: 0 }]
    };
    let varied = |mean| Span { mean, spread: Spread::Exponential };
    let busy = Op::Runtime { time: varied(MSEC / 4), behaviour: BehaviourId(0) };
    let noise = thread("noise", forever([Op::Sleep(varied(3 * MSEC)), busy])).times(2).system();
    of([thread("worker", repeat(20, [work(5), sleep(5)])).times(2), noise])
}
