// SPDX-License-Identifier: MIT OR Apache-2.0
//! A workload: threads and what each does, step by step.
//!
//! Plain data, read from rt-app JSON. This room does not know machines, time or scheduling. Start with [`Workload`].

pub mod bundled;
mod disturbances;
pub mod generate;
mod json;
mod listing;
mod rt_app;
pub mod traits;

use std::collections::BTreeMap;

use crate::units::Nanos;

/// A workload, ready to run.
#[derive(Debug, Clone, PartialEq)]
pub struct Workload {
    /// Name of the workload: the file's stem.
    pub name: String,
    /// Thread kinds, in file order; `instances` of each start with the workload unless it is only forked.
    pub tasks: Vec<TaskSpec>,
    /// Names of the applications, in order of first appearance. A task that names none belongs to the application with
    /// the workload's name.
    pub applications: Vec<String>,
    /// The synchronisation objects.
    pub objects: Objects,
    /// Parallel loops, by [`LoopId`].
    pub loops: Vec<ParallelLoop>,
    /// How memory behaves while work runs, by [`BehaviourId`]; entry 0 is the default.
    pub behaviours: Vec<Behaviour>,
    /// `global.duration`: the time after which all threads end. `None`: the threads end themselves.
    pub duration: Option<Nanos>,
    /// `global.pi_enabled`: the owner of a mutex inherits the priority of the threads that wait for it.
    pub priority_inheritance: bool,
    /// Cgroups that have weights, clamps or a lifetime, by path. A group that is only named by threads is not among them.
    pub cgroups: Vec<CgroupSpec>,
    /// Interrupts that come while it runs.
    pub interrupts: Vec<InterruptSpec>,
    /// What was read but has no meaning in a simulation, and what was assumed; one line each, with the place in the
    /// file.
    pub warnings: Vec<String>,
}

/// A source of interrupts (`tandem.interrupts` of a file): each takes time from whatever a CPU does.
#[derive(Debug, Clone, PartialEq)]
pub struct InterruptSpec {
    /// What raises them.
    pub name: String,
    /// From one interrupt of a CPU to the next, in ns.
    pub gap: Span,
    /// What the handler takes, in ns.
    pub hard: Span,
    /// What is left to be done after the handler, with interrupts on (softirq), in ns; its mean may be 0.
    pub soft: Span,
    /// The CPUs that get such interrupts, each as many as `gap` says; `None`: all.
    pub cpus: Option<Vec<u32>>,
    /// Whether they follow the tick: a CPU that idles, and so has stopped its tick, has none.
    pub follows_tick: bool,
}

/// A cgroup's life (`tandem.cgroups` of a file).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CgroupSpec {
    /// Path of the cgroup: `/a/b`.
    pub path: String,
    /// When the cgroup is made; earlier, if a thread enters it earlier.
    pub made: Nanos,
    /// When the cgroup is removed; it stays if threads or groups are in it then.
    pub removed: Option<Nanos>,
    /// What is written to the group's files, by time; at 0 before anything runs.
    pub writes: Vec<(Nanos, CgroupWrite)>,
    /// `cpu.uclamp.min`, 0..=1024. `None`: no protection.
    pub util_min: Option<u32>,
    /// `cpu.uclamp.max`, 0..=1024. `None`: no limit.
    pub util_max: Option<u32>,
}

/// What is written to one of a cgroup's files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CgroupWrite {
    /// `cpu.weight`, 1..=10000.
    Weight(u32),
    /// `cpu.weight.nice`, -20..=19: the group weighs what a thread of that nice value does.
    WeightNice(i8),
    /// `cpu.idle`: its threads get what `SCHED_IDLE` ones do, whatever the group weighs.
    Idle(bool),
    /// `cpu.max` and `cpu.max.burst`. `None`: no limit.
    Max(Option<CpuMax>),
    /// `cpuset.cpus`: the CPUs that its threads may use, at least one.
    Cpus(Vec<u32>),
}

/// What a group may have of CPU time at most (`cpu.max`, `cpu.max.burst`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CpuMax {
    /// CPU time per period, in ns.
    pub quota: Nanos,
    /// Length of a period, in ns.
    pub period: Nanos,
    /// What may be kept of earlier periods, in ns.
    pub burst: Nanos,
}

/// Names of the synchronisation objects; programs refer to them by index.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Objects {
    /// Mutexes.
    pub mutexes: Vec<String>,
    /// Condition variables (`wait`, `signal`, `broad`, `sync`).
    pub conditions: Vec<String>,
    /// Barriers: name and number of threads that must arrive.
    pub barriers: Vec<(String, u32)>,
    /// Semaphores; all start at 0.
    pub semaphores: Vec<String>,
    /// Timers that all users share; `unique` ones are per thread and are listed per use instead.
    pub timers: Vec<String>,
}

/// A kind of thread.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskSpec {
    /// The key in the file. Instance `i` of several is called `name-i`.
    pub name: String,
    /// Threads to create at the start; 0 where only `fork` creates them.
    pub instances: u32,
    /// Index into [`Workload::applications`].
    pub application: usize,
    /// Operating-system noise: not part of any application, never keeps a run from ending.
    pub system: bool,
    /// Time from the workload's start (or the fork) to the thread's.
    pub delay: Nanos,
    /// Scheduling parameters at the start.
    pub scheduling: Scheduling,
    /// CPUs that the thread may use; `None`: all.
    pub affinity: Option<Vec<u32>>,
    /// `taskgroup`, if the file names one.
    pub task_group: Option<String>,
    /// Length relative to the thread's siblings, in any unit: the hint that "longest job to the fastest CPU" uses.
    pub relative_length: Option<u64>,
    /// Whether each thread is a process of its own: a child of the process that forked it, else of the application's
    /// first.
    pub process: bool,
    /// Whether the thread is a kernel thread (`PF_KTHREAD`), of the system.
    pub kernel_thread: bool,
    /// Bytes that the thread brings into its CPU's caches each time that it wakes, beside what it reuses: they push out what
    /// others hold there.
    pub disturbs: u64,
    /// How much later than asked for the thread's timers may go off (`prctl(PR_SET_TIMERSLACK)`); `None`: as the kernel
    /// does. Real-time and deadline threads have none.
    pub timer_slack: Option<Nanos>,
    /// Whether it is one of the threads that every system has beside what a file describes ([`Workload::disturbed`]).
    pub disturbance: bool,
    /// From what activates a round to its deadline; `None`: the policy's, or the timer's at which the round ends.
    pub deadline: Option<Nanos>,
    /// Whether the thread's rounds are frames.
    pub frame: bool,
    /// On which NUMA nodes the thread's memory is.
    pub memory: MemoryPolicy,
    /// Steps that the thread takes.
    pub program: Vec<Op>,
    /// Number of loop counters that each instance needs.
    pub counters: u32,
    /// Number of timers that each instance has of its own.
    pub unique_timers: u32,
}

impl TaskSpec {
    /// One thread of the first application that starts at once and runs `program`, which has no loops or timers of its
    /// own. Callers change the fields in which other tasks differ.
    pub fn new(name: impl Into<String>, program: Vec<Op>) -> Self {
        Self {
            name: name.into(),
            instances: 1,
            application: 0,
            system: false,
            delay: 0,
            scheduling: Scheduling::default(),
            affinity: None,
            task_group: None,
            relative_length: None,
            process: false,
            kernel_thread: false,
            disturbs: 0,
            timer_slack: None,
            disturbance: false,
            deadline: None,
            frame: false,
            memory: MemoryPolicy::Local,
            program,
            counters: 0,
            unique_timers: 0,
        }
    }
}

/// Scheduling parameters: policy, priority, uclamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scheduling {
    /// The policy, with its own parameters.
    pub policy: Policy,
    /// Lower clamp of the utilisation (`util_min`), 0..=1024.
    pub util_min: Option<u32>,
    /// Upper clamp of the utilisation (`util_max`), 0..=1024.
    pub util_max: Option<u32>,
}

impl Default for Scheduling {
    fn default() -> Self {
        Self { policy: Policy::Other { nice: 0, slice: None }, util_min: None, util_max: None }
    }
}

/// A scheduling policy with its own parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    /// `SCHED_OTHER`: nice −20..=19, and the custom slice of Linux ≥ 6.12 (`dl-runtime`).
    Other {
        /// Nice value.
        nice: i8,
        /// Requested slice.
        slice: Option<Nanos>,
    },
    /// `SCHED_BATCH`.
    Batch {
        /// Nice value.
        nice: i8,
    },
    /// `SCHED_IDLE`.
    Idle,
    /// `SCHED_EXT`: as `SCHED_OTHER`, unless a scheduler is loaded that takes only tasks which ask for it.
    Ext {
        /// Nice value.
        nice: i8,
    },
    /// `SCHED_FIFO`, priority 1..=99.
    Fifo {
        /// Real-time priority, higher is more urgent.
        priority: u8,
    },
    /// `SCHED_RR`, priority 1..=99.
    RoundRobin {
        /// Real-time priority, higher is more urgent.
        priority: u8,
    },
    /// `SCHED_DEADLINE`.
    Deadline {
        /// Budget per period.
        runtime: Nanos,
        /// Relative deadline.
        deadline: Nanos,
        /// Period.
        period: Nanos,
    },
}

impl Policy {
    /// Whether the policy is `SCHED_EXT`.
    pub fn is_ext(self) -> bool {
        matches!(self, Self::Ext { .. })
    }
}

/// Index into [`Workload::loops`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LoopId(pub u32);

/// On which NUMA nodes a thread's memory is, from the thread's first work on (`set_mempolicy`).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum MemoryPolicy {
    /// On the node of the CPU that touches it first (`MPOL_LOCAL`).
    #[default]
    Local,
    /// On the nearest of these nodes (`MPOL_BIND`, as long as no node is full).
    Bind(Vec<u32>),
    /// Equally on these nodes (`MPOL_INTERLEAVE`); none: on all.
    Interleave(Vec<u32>),
}

/// Index into [`Workload::behaviours`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BehaviourId(pub u32);

/// How memory and switching behave while work runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Behaviour {
    /// Share of the work's time on the reference CPU, alone, that waits for memory if nothing of the footprint is
    /// cached, 0..=1.
    pub memory_bound: f64,
    /// Memory traffic if nothing of the footprint is cached: bytes per nanosecond of work.
    pub bytes_per_work: f64,
    /// Bytes that the thread reuses; 0: a stream that no cache holds.
    pub footprint: u64,
    /// Switching activity relative to a typical compute-bound thread.
    pub activity: f64,
    /// Time that a thread spins on a lock, barrier, join or the end of a parallel loop before it blocks.
    pub spin: Nanos,
}

impl Default for Behaviour {
    fn default() -> Self {
        Self { memory_bound: 0.0, bytes_per_work: 0.0, footprint: 0, activity: 1.0, spin: 0 }
    }
}

/// A span that may vary from use to use.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Span {
    /// Mean of the span.
    pub mean: Nanos,
    /// How the span varies.
    pub spread: Spread,
}

impl Span {
    /// A span that never varies.
    pub const fn fixed(mean: Nanos) -> Self {
        Self { mean, spread: Spread::Fixed }
    }
}

/// A distribution around a mean.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Spread {
    /// The mean each time.
    Fixed,
    /// Uniform between `mean·(1−w)` and `mean·(1+w)`, 0 ≤ w ≤ 1.
    Uniform(f64),
    /// Exponential.
    Exponential,
    /// Log-normal with this sigma of the logarithm, scaled to the mean.
    LogNormal(f64),
}

/// A step of a thread. Loops are flat: `LoopStart` … `LoopEnd` with a counter of the instance.
#[derive(Debug, Clone, PartialEq)]
pub enum Op {
    /// `run`: nanoseconds of work on the reference CPU.
    Run {
        /// Work.
        work: Span,
        /// How memory behaves during the work.
        behaviour: BehaviourId,
    },
    /// `runtime`: nanoseconds on a CPU, however fast.
    Runtime {
        /// CPU time.
        time: Span,
        /// How memory behaves during this time.
        behaviour: BehaviourId,
    },
    /// `mem`, `memrun` read and write: moves a number of bytes at memory speed.
    Memory {
        /// Bytes.
        bytes: u64,
        /// Buffer size, the footprint.
        buffer: u64,
    },
    /// `memrun` chase: a number of dependent loads, each of memory latency if the buffer exceeds the cache.
    Chase {
        /// Number of loads.
        count: u64,
        /// Buffer size, the footprint.
        buffer: u64,
    },
    /// `sleep`: waits for this time.
    Sleep(Span),
    /// `timer`: sleep until the timer's next expiry.
    Timer {
        /// The timer.
        timer: TimerRef,
        /// Period of the timer.
        period: Span,
        /// `mode: absolute`: expiries are counted from the timer's first use, missed ones catch up.
        absolute: bool,
    },
    /// `lock`: takes the mutex.
    Lock(u32),
    /// `unlock`: releases the mutex.
    Unlock(u32),
    /// `wait`: releases the mutex, waits for the condition, takes the mutex again.
    Wait {
        /// The condition.
        condition: u32,
        /// The mutex.
        mutex: u32,
    },
    /// `signal`: wakes the first waiter.
    Signal(u32),
    /// `broad`: wakes all waiters.
    Broadcast(u32),
    /// `barrier`: waits until all threads have arrived.
    Barrier(u32),
    /// `suspend`: waits for a `resume` of this thread's kind.
    Suspend,
    /// `resume`: wakes suspended threads of task `0` (index into [`Workload::tasks`]).
    Resume(u32),
    /// `sem_post`: adds one to the semaphore.
    SemPost(u32),
    /// `sem_wait`: takes one from the semaphore, or waits for one.
    SemWait(u32),
    /// `yield`: lets other threads of the CPU run.
    Yield,
    /// `fork`: starts one thread of the task with this index.
    Fork(u32),
    /// Waits until all threads that this thread forked have ended (`tandem.join`).
    Join,
    /// Stays on its CPU until the matching `MigrateEnable`, as the kernel's `migrate_disable()` has it
    /// (`tandem.migration_disabled`).
    MigrateDisable,
    /// Ends that.
    MigrateEnable,
    /// Waits from here on are part of the round in which they come (`tandem.same_round`), or end it again.
    SameRound(bool),
    /// Takes part in a parallel loop until its iterations are used up, then waits for the other participants.
    ParallelLoop(LoopId),
    /// The behaviour from here on, until another step changes it: how long the thread spins when it waits.
    Behave(BehaviourId),
    /// Changes scheduling parameters (a phase's policy, priority, uclamp).
    SetScheduling(Scheduling),
    /// Changes the affinity (a phase's `cpus`).
    SetAffinity(Option<Vec<u32>>),
    /// Changes the task group (a phase's `taskgroup`), which only loaded schedulers see; `None`: the root.
    SetTaskGroup(Option<String>),
    /// Head of a loop: repeats the steps up to the matching `LoopEnd`, then jumps behind it. `None`: for ever.
    LoopStart {
        /// Counter of the instance.
        counter: u32,
        /// Repetitions.
        count: Option<u64>,
        /// Index of the matching `LoopEnd`.
        end: u32,
    },
    /// Foot of a loop.
    LoopEnd {
        /// Index of the matching `LoopStart`.
        start: u32,
    },
}

/// A timer of the workload or of the thread itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimerRef {
    /// Index into [`Objects::timers`].
    Shared(u32),
    /// Index among the instance's own timers.
    Unique(u32),
}

/// A loop whose iterations several threads share, as OpenMP's `parallel for`; ends with a join of its participants.
#[derive(Debug, Clone, PartialEq)]
pub struct ParallelLoop {
    /// Name of the loop; all `parallel_for` steps of that name share its iterations.
    pub name: String,
    /// Number of iterations per execution of the loop.
    pub iterations: u64,
    /// Work of one iteration.
    pub work: Span,
    /// How memory behaves during an iteration.
    pub behaviour: BehaviourId,
    /// How iterations are dealt to threads.
    pub schedule: LoopSchedule,
    /// Number of threads that take part (counted from the file's uses and instances).
    pub participants: u32,
}

/// OpenMP's loop schedules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoopSchedule {
    /// Equal shares, one per participant, dealt as they arrive.
    Static,
    /// The next `chunk` iterations to the next thread that is free.
    Dynamic {
        /// Iterations dealt at a time (≥ 1).
        chunk: u64,
    },
    /// As dynamic, but `max(remaining / participants, chunk)` iterations at a time.
    Guided {
        /// Least iterations dealt at a time (≥ 1).
        chunk: u64,
    },
}

impl Workload {
    /// The workload with the tasks of one application (and system tasks) only, to see how it performs alone. Barriers
    /// keep only the participants that remain. `None` if there is no such application.
    pub fn alone(&self, application: &str) -> Option<Self> {
        let keep = self.applications.iter().position(|name| name == application)?;
        let mut alone = self.clone();
        for task in &mut alone.tasks {
            if !task.system && task.application != keep {
                task.instances = 0;
            }
        }
        let mut arrivals: BTreeMap<u32, u32> = BTreeMap::new();
        for task in &alone.tasks {
            for op in &task.program {
                if let Op::Barrier(barrier) = op {
                    *arrivals.entry(*barrier).or_default() += task.instances;
                }
            }
        }
        for (barrier, count) in arrivals {
            let users = &mut alone.objects.barriers[barrier as usize].1;
            *users = (*users).min(count.max(1));
        }
        Some(alone)
    }
}
