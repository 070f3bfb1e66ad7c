// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random workloads that end by themselves, and one kind that may not.
//!
//! They end because waiting is orderly. Nested locks are taken in ascending order, and inside them no thread waits.
//! Every thread of a team meets the same barriers and loops in the same order. Each stage of a pipeline posts as often
//! as the next one waits. Forked threads wait for no other thread.

use proptest::prelude::*;
use tandem_simulator::units::{MSEC, Nanos, USEC};
use tandem_simulator::workload::{
    Behaviour, BehaviourId, InterruptSpec, LoopId, LoopSchedule, MemoryPolicy, Op, ParallelLoop, Policy, Scheduling,
    Span, Spread, TaskSpec, TimerRef, Workload,
};

use super::workload::{TaskExt, thread, workload};

/// Behaviours of every random workload.
const BEHAVIOURS: u32 = 4;
/// Loop counters of every thread; nesting never goes deeper.
const COUNTERS: u32 = 4;

/// A piece of a program.
#[derive(Debug, Clone)]
enum Step {
    Plain(Op),
    Locked(u32, Vec<Step>),
    Repeat(u64, Vec<Step>),
}

/// A workload that ends by itself.
pub fn any_workload() -> impl Strategy<Value = Workload> {
    let loners = prop::collection::vec(loner(), 0..5);
    let noise = (prop::collection::vec(noise(), 0..3), interrupts());
    (loners, team(), pipeline(), family(), noise, behaviours(), any::<bool>()).prop_map(
        |(loners, (team, loops), pipeline, family, (noise, interrupts), behaviours, inherit)| {
            let members = team.iter().map(|task| task.instances).sum::<u32>();
            let first_child = loners.len() + team.len() + pipeline.len() + 1;
            let mut tasks = loners;
            tasks.extend(team);
            tasks.extend(pipeline);
            tasks.extend(
                family.map(|(parent, child)| family_of(parent, child, first_child as u32)).into_iter().flatten(),
            );
            tasks.extend(noise);
            let named = |(index, task): (usize, TaskSpec)| TaskSpec { name: format!("t{index}"), ..task };
            let mut whole = workload(members);
            whole.applications = vec!["app0".into(), "app1".into()];
            whole.tasks = tasks.into_iter().enumerate().map(named).collect();
            whole.loops = loops.into_iter().map(|each| ParallelLoop { participants: members, ..each }).collect();
            whole.behaviours = behaviours;
            whole.priority_inheritance = inherit;
            whole.interrupts = interrupts;
            whole
        },
    )
}

/// Sources of interrupts, most often none, which leave a CPU some time.
fn interrupts() -> impl Strategy<Value = Vec<InterruptSpec>> {
    let span =
        |mean: Nanos| Span { mean, spread: if mean.is_multiple_of(2) { Spread::Fixed } else { Spread::Exponential } };
    let cpus = prop::option::of(prop::collection::vec(0..12u32, 1..4));
    let source = (MSEC..40 * MSEC, 1..100 * USEC, prop_oneof![Just(0), 0..300 * USEC], cpus, any::<bool>());
    let source = source.prop_map(move |(gap, hard, soft, cpus, follows_tick)| InterruptSpec {
        name: "device".into(),
        gap: span(gap),
        hard: span(hard),
        soft: span(soft),
        cpus,
        follows_tick,
    });
    prop_oneof![3 => Just(Vec::new()), 1 => prop::collection::vec(source, 1..3)]
}

/// A workload of any steps at all; it may wait for ever, and its loops may take no time.
pub fn hopeless_workload() -> impl Strategy<Value = Workload> {
    let step = prop_oneof![3 => plain(), 4 => waiting().prop_map(Step::Plain)];
    let program = prop::collection::vec(repeated(step), 0..8);
    let task = (program, kind()).prop_map(|(program, kind)| TaskSpec { program: lower(&program), ..kind });
    let tasks = prop::collection::vec(task, 1..6);
    (tasks, behaviours(), 1..4u32, parallel_loop()).prop_map(|(tasks, behaviours, parties, parallel)| {
        let named = |(index, task): (usize, TaskSpec)| TaskSpec { name: format!("t{index}"), ..task };
        let mut whole = workload(parties);
        whole.applications = vec!["app0".into(), "app1".into()];
        whole.tasks = tasks.into_iter().enumerate().map(named).collect();
        // A thread that forks its own kind would never stop making threads.
        let count = whole.tasks.len() as u32;
        for (index, task) in whole.tasks.iter_mut().enumerate() {
            for op in &mut task.program {
                match op {
                    Op::Resume(kind) => *kind %= count,
                    Op::Fork(_) if index as u32 + 1 == count => *op = Op::Yield,
                    Op::Fork(kind) => *kind = count - 1,
                    _ => {}
                }
            }
        }
        whole.loops = vec![ParallelLoop { participants: parties, ..parallel }];
        whole.behaviours = behaviours;
        whole
    })
}

/// Nanoseconds of work that `workload` asks for in all; needs spans that do not vary.
pub fn work_asked(workload: &Workload) -> Nanos {
    workload
        .tasks
        .iter()
        .filter(|task| !task.system)
        .map(|task| u64::from(task.instances) * work_of(workload, task))
        .sum()
}

/// Work of one thread of a kind and of the threads it forks. Of a parallel loop, a thread's share times the number of
/// participants counts, so that the sum over all participants is the loop's work.
fn work_of(workload: &Workload, task: &TaskSpec) -> Nanos {
    let (mut total, mut factors) = (0, vec![1]);
    for op in &task.program {
        let factor = factors[factors.len() - 1];
        match op {
            Op::LoopStart { count, .. } => factors.push(factor * count.unwrap_or(0)),
            Op::LoopEnd { .. } => _ = factors.pop(),
            Op::Run { work, .. } => total += factor * work.mean,
            Op::Fork(kind) => total += factor * work_of(workload, &workload.tasks[*kind as usize]),
            Op::ParallelLoop(id) => {
                let each = &workload.loops[id.0 as usize];
                total += factor * each.iterations * each.work.mean / u64::from(each.participants);
            }
            _ => {}
        }
    }
    total
}

/// A thread that synchronises by locks only, if at all.
fn loner() -> impl Strategy<Value = TaskSpec> {
    (program(), kind()).prop_map(|(program, kind)| TaskSpec { program, ..kind })
}

/// Threads that meet at barriers and share loops.
fn team() -> impl Strategy<Value = (Vec<TaskSpec>, Vec<ParallelLoop>)> {
    let meetings = prop::collection::vec(prop_oneof![(0..4u32).prop_map(Op::Barrier), Just(Op::Join)], 0..5);
    let members = prop::collection::vec((kind(), prop::collection::vec(program(), 5)), 0..4);
    (meetings, members, prop::collection::vec(parallel_loop(), 2)).prop_map(|(meetings, members, loops)| {
        let member = |(kind, parts): (TaskSpec, Vec<Vec<Op>>)| {
            let mut program = Vec::new();
            for (part, (index, meeting)) in parts.into_iter().zip(meetings.iter().enumerate()) {
                append(&mut program, part);
                // `Join` stands for a loop here.
                let meeting =
                    if *meeting == Op::Join { Op::ParallelLoop(LoopId(index as u32 % 2)) } else { meeting.clone() };
                program.push(meeting);
            }
            TaskSpec { program, ..kind }
        };
        (members.into_iter().map(member).collect(), loops)
    })
}

/// Stages of which each waits for the one before, item by item.
fn pipeline() -> impl Strategy<Value = Vec<TaskSpec>> {
    let stages = prop::collection::vec((kind(), program()), 0..4);
    (stages, 1..5u64).prop_map(|(stages, items)| {
        let last = stages.len().saturating_sub(1);
        let stage = |(index, (kind, body)): (usize, (TaskSpec, Vec<Op>))| {
            let mut program = vec![Op::LoopStart { counter: COUNTERS - 1, count: Some(items), end: 0 }];
            if index > 0 {
                program.push(Op::SemWait(index as u32 - 1));
            }
            append(&mut program, body);
            if index < last {
                program.push(Op::SemPost(index as u32));
            }
            let end = program.len() as u32;
            program[0] = Op::LoopStart { counter: COUNTERS - 1, count: Some(items), end };
            program.push(Op::LoopEnd { start: 0 });
            TaskSpec { program, instances: 1, ..kind }
        };
        stages.into_iter().enumerate().map(stage).collect()
    })
}

/// A parent that forks and joins, and its child.
fn family() -> impl Strategy<Value = Option<((TaskSpec, u64), TaskSpec)>> {
    prop::option::of(((kind(), 1..5u64), loner()))
}

fn family_of(parent: (TaskSpec, u64), child: TaskSpec, child_kind: u32) -> [TaskSpec; 2] {
    let (parent, forks) = parent;
    let mut program = vec![Op::Fork(child_kind); forks as usize];
    program.push(Op::Join);
    [TaskSpec { program, ..parent }, TaskSpec { instances: 0, delay: 0, ..child }]
}

/// Noise of the operating system: short, at irregular intervals, for ever.
fn noise() -> impl Strategy<Value = TaskSpec> {
    let spread = || {
        prop_oneof![
            Just(Spread::Fixed),
            (0.0..1.0).prop_map(Spread::Uniform),
            Just(Spread::Exponential),
            (0.1..1.0).prop_map(Spread::LogNormal)
        ]
    };
    (2_000..20_000u64, 10..300u64, spread(), spread(), kind()).prop_map(|(pause, busy, pauses, spans, kind)| {
        let sleep = Op::Sleep(Span { mean: pause * USEC, spread: pauses });
        let time = Span { mean: busy * USEC, spread: spans };
        let busy = Op::Runtime { time, behaviour: BehaviourId(0) };
        let ends = (Op::LoopStart { counter: 0, count: None, end: 3 }, Op::LoopEnd { start: 0 });
        TaskSpec { program: vec![ends.0, sleep, busy, ends.1], ..kind }.system()
    })
}

/// A kind of thread without a program.
fn kind() -> impl Strategy<Value = TaskSpec> {
    (1..4u32, 0..2usize, prop_oneof![2 => Just(0), 1 => 0..20u64], scheduling(), affinity(), memory()).prop_map(
        |(instances, application, delay, scheduling, affinity, memory)| TaskSpec {
            instances,
            application,
            delay: delay * MSEC,
            scheduling,
            affinity,
            memory,
            counters: COUNTERS,
            ..thread("", [])
        },
    )
}

/// Nodes of the thread's memory, some of which few machines have.
fn memory() -> impl Strategy<Value = MemoryPolicy> {
    let nodes = || prop::collection::btree_set(0..5u32, 0..3).prop_map(|nodes| nodes.into_iter().collect());
    prop_oneof![
        3 => Just(MemoryPolicy::Local),
        1 => nodes().prop_map(MemoryPolicy::Bind),
        1 => nodes().prop_map(MemoryPolicy::Interleave),
    ]
}

fn scheduling() -> impl Strategy<Value = Scheduling> {
    let slice = prop::option::weighted(0.2, (100..20_000u64).prop_map(|us| us * USEC));
    let deadline = |(share, before, period): (u64, u64, u64)| Policy::Deadline {
        runtime: period * MSEC * share / 10,
        deadline: period * MSEC * before.clamp(share, 10) / 10,
        period: period * MSEC,
    };
    let policy = prop_oneof![
        5 => Just(Policy::Other { nice: 0, slice: None }),
        3 => (-20..20i8, slice).prop_map(|(nice, slice)| Policy::Other { nice, slice }),
        1 => (-20..20i8).prop_map(|nice| Policy::Batch { nice }),
        1 => Just(Policy::Idle),
        1 => (1..100u8).prop_map(|priority| Policy::Fifo { priority }),
        1 => (1..100u8).prop_map(|priority| Policy::RoundRobin { priority }),
        1 => (1..10u64, 1..20u64, 5..50u64).prop_map(deadline),
    ];
    let clamp = || prop::option::weighted(0.2, 0..1025u32);
    (policy, clamp(), clamp()).prop_map(|(policy, low, high)| {
        let (util_min, util_max) = match (low, high) {
            (Some(low), Some(high)) => (Some(low.min(high)), Some(low.max(high))),
            either => either,
        };
        Scheduling { policy, util_min, util_max }
    })
}

fn affinity() -> impl Strategy<Value = Option<Vec<u32>>> {
    prop::option::weighted(0.25, prop::collection::btree_set(0..6u32, 1..4).prop_map(|set| set.into_iter().collect()))
}

fn behaviours() -> impl Strategy<Value = Vec<Behaviour>> {
    let behaviour = (0.0..=1.0, 0.0..8.0, prop_oneof![Just(0u64), 1..16_000_000u64], 0.3..1.5, 0..200u64);
    let behaviour = behaviour.prop_map(|(memory_bound, bytes_per_work, footprint, activity, spin)| Behaviour {
        memory_bound,
        bytes_per_work,
        footprint,
        activity,
        spin: spin.saturating_sub(100) * USEC,
    });
    // The first behaviour is the default, which noise has too: refilling its footprint must not take whole CPUs.
    prop::collection::vec(behaviour, BEHAVIOURS as usize - 1)
        .prop_map(|others| std::iter::once(Behaviour::default()).chain(others).collect())
}

fn parallel_loop() -> impl Strategy<Value = ParallelLoop> {
    let schedule = prop_oneof![
        Just(LoopSchedule::Static),
        (1..8u64).prop_map(|chunk| LoopSchedule::Dynamic { chunk }),
        (1..8u64).prop_map(|chunk| LoopSchedule::Guided { chunk }),
    ];
    // The work of an iteration can be divided by every number of participants up to 12, so that shares are whole.
    (0..30u64, 1..20u64, behaviour(), schedule).prop_map(|(iterations, units, behaviour, schedule)| ParallelLoop {
        name: "loop".into(),
        iterations,
        work: Span::fixed(units * 27_720),
        behaviour,
        schedule,
        participants: 1,
    })
}

fn behaviour() -> impl Strategy<Value = BehaviourId> {
    (0..BEHAVIOURS).prop_map(BehaviourId)
}

fn us(most: u64) -> impl Strategy<Value = Span> {
    (1..most).prop_map(|us| Span::fixed(us * USEC))
}

/// Steps that wait for no thread.
fn plain() -> impl Strategy<Value = Step> {
    let timer = (any::<bool>(), us(5_000), any::<bool>()).prop_map(|(unique, period, absolute)| Op::Timer {
        timer: if unique { TimerRef::Unique(0) } else { TimerRef::Shared(0) },
        period,
        absolute,
    });
    prop_oneof![
        6 => (us(8_000), behaviour()).prop_map(|(work, behaviour)| Op::Run { work, behaviour }),
        2 => (us(3_000), behaviour()).prop_map(|(time, behaviour)| Op::Runtime { time, behaviour }),
        3 => us(5_000).prop_map(Op::Sleep),
        1 => timer,
        1 => (0..2_000_000u64, 0..8_000_000u64).prop_map(|(bytes, buffer)| Op::Memory { bytes, buffer }),
        1 => (0..5_000u64, 0..8_000_000u64).prop_map(|(count, buffer)| Op::Chase { count, buffer }),
        1 => Just(Op::Yield),
        1 => scheduling().prop_map(Op::SetScheduling),
        1 => affinity().prop_map(Op::SetAffinity),
        // In no order: what is enabled twice, or never again, must do no harm.
        1 => prop_oneof![Just(Op::MigrateDisable), Just(Op::MigrateEnable)],
        1 => any::<bool>().prop_map(Op::SameRound),
    ]
    .prop_map(Step::Plain)
}

/// Steps that wait for other threads, or end other threads' waits.
fn waiting() -> impl Strategy<Value = Op> {
    prop_oneof![
        (0..4u32).prop_map(Op::Lock),
        (0..4u32).prop_map(Op::Unlock),
        (0..4u32, 0..4u32).prop_map(|(condition, mutex)| Op::Wait { condition, mutex }),
        (0..4u32).prop_map(Op::Signal),
        (0..4u32).prop_map(Op::Broadcast),
        (0..4u32).prop_map(Op::Barrier),
        (0..4u32).prop_map(Op::SemPost),
        (0..4u32).prop_map(Op::SemWait),
        Just(Op::Suspend),
        (0..4u32).prop_map(Op::Resume),
        Just(Op::Fork(0)),
        Just(Op::Join),
        Just(Op::ParallelLoop(LoopId(0))),
    ]
}

/// A program that waits for other threads at locks only.
fn program() -> impl Strategy<Value = Vec<Op>> {
    let inside = || prop::collection::vec(inside_lock(), 0..3);
    let nested = (prop::option::weighted(0.3, inside()), inside()).prop_map(|(inner, mut outer)| {
        outer.extend(inner.map(|inner| Step::Locked(2, inner)));
        outer
    });
    let locked = (0..2u32, nested).prop_map(|(mutex, body)| Step::Locked(mutex, body));
    prop::collection::vec(repeated(prop_oneof![5 => plain(), 1 => locked]), 0..8)
        .prop_map(|steps: Vec<Step>| lower(&steps))
}

/// Steps of a thread that holds a lock: none lasts for ever or moves the thread.
fn inside_lock() -> impl Strategy<Value = Step> {
    let run = (us(1_000), behaviour()).prop_map(|(work, behaviour)| Op::Run { work, behaviour });
    prop_oneof![3 => run, 1 => us(500).prop_map(Op::Sleep)].prop_map(Step::Plain)
}

fn repeated(step: impl Strategy<Value = Step> + 'static) -> impl Strategy<Value = Step> {
    let step = step.boxed();
    let body = prop::collection::vec(step.clone(), 1..4);
    prop_oneof![4 => step, 1 => (0..5u64, body).prop_map(|(count, body)| Step::Repeat(count, body))]
}

fn lower(steps: &[Step]) -> Vec<Op> {
    let mut program = Vec::new();
    lower_into(&mut program, steps, 0);
    program
}

fn lower_into(program: &mut Vec<Op>, steps: &[Step], depth: u32) {
    for step in steps {
        match step {
            Step::Plain(op) => program.push(op.clone()),
            Step::Locked(mutex, body) => {
                program.push(Op::Lock(*mutex));
                lower_into(program, body, depth);
                program.push(Op::Unlock(*mutex));
            }
            Step::Repeat(count, body) => {
                let start = program.len();
                program.push(Op::LoopEnd { start: 0 });
                lower_into(program, body, depth + 1);
                let end = program.len() as u32;
                program[start] = Op::LoopStart { counter: depth, count: Some(*count), end };
                program.push(Op::LoopEnd { start: start as u32 });
            }
        }
    }
}

/// Appends a program to another; the indices in its loops are shifted.
fn append(program: &mut Vec<Op>, part: Vec<Op>) {
    let base = program.len() as u32;
    program.extend(part.into_iter().map(|op| match op {
        Op::LoopStart { counter, count, end } => Op::LoopStart { counter, count, end: end + base },
        Op::LoopEnd { start } => Op::LoopEnd { start: start + base },
        other => other,
    }));
}
