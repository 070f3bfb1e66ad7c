// SPDX-License-Identifier: MIT OR Apache-2.0
//! What can be to blame for a wait, and what helps.

use serde::Serialize;

/// What was to blame for most of a wait, or of a round that ended too late.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The loaded scheduler forgot the thread, or left it in a queue that no CPU looked into.
    Stall,
    /// The thread's group had used up its limit on CPU time.
    Throttled,
    /// The CPU had to leave an idle state before it could execute.
    IdleExit,
    /// The caches of the new CPU had to be filled, or those of the old one again.
    ColdCaches,
    /// As cold caches, of a thread that changes its CPU most of the times when it gets one.
    MigrationThrash,
    /// Kernel and callbacks of the scheduler kept the CPU busy.
    KernelOverhead,
    /// A CPU idled that the thread may use.
    MissedIdleCpu,
    /// A CPU idled that the thread's affinity forbids.
    Affinity,
    /// Threads of a more urgent class ran.
    HigherClass,
    /// Threads of the same class with a higher real-time priority ran.
    HigherPriority,
    /// Threads with several times the weight ran.
    Weight,
    /// The clock was low while others ran, or while the thread itself did.
    LateClock,
    /// The thread that ran when this one woke, or came into being, went on to run.
    NotPreempted,
    /// More threads wanted to run than there were CPUs, and took turns.
    Crowded,
    /// The holder of the mutex could not run because of a thread that is less urgent than the one which waits.
    PriorityInversion,
    /// The holder of the mutex was runnable, and another thread ran.
    HolderPreempted,
    /// Several threads held the mutex one after the other.
    LockConvoy,
    /// One thread held the mutex for most of the time.
    LockHeld,
    /// The thread ran on a slower CPU than it may use.
    SlowCpu,
    /// The thread waited for other threads, at a barrier or the like.
    OtherThreads,
    /// The work itself takes longer than there is time, on the fastest CPU that the thread may use.
    TooMuchWork,
}

impl Cause {
    /// All causes.
    pub const ALL: [Self; 21] = [
        Self::Stall,
        Self::Throttled,
        Self::IdleExit,
        Self::ColdCaches,
        Self::MigrationThrash,
        Self::KernelOverhead,
        Self::MissedIdleCpu,
        Self::Affinity,
        Self::HigherClass,
        Self::HigherPriority,
        Self::Weight,
        Self::LateClock,
        Self::NotPreempted,
        Self::Crowded,
        Self::PriorityInversion,
        Self::HolderPreempted,
        Self::LockConvoy,
        Self::LockHeld,
        Self::SlowCpu,
        Self::OtherThreads,
        Self::TooMuchWork,
    ];

    /// The cause in a few words: `missed idle CPU`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Stall => "stall",
            Self::Throttled => "limit of the group",
            Self::IdleExit => "idle exit",
            Self::ColdCaches => "cold caches",
            Self::MigrationThrash => "migration thrash",
            Self::KernelOverhead => "kernel overhead",
            Self::MissedIdleCpu => "missed idle CPU",
            Self::Affinity => "affinity",
            Self::HigherClass => "more urgent class",
            Self::HigherPriority => "higher priority",
            Self::Weight => "weight",
            Self::LateClock => "late clock",
            Self::NotPreempted => "no preemption",
            Self::Crowded => "more threads than CPUs",
            Self::PriorityInversion => "priority inversion",
            Self::HolderPreempted => "lock holder without CPU",
            Self::LockConvoy => "lock convoy",
            Self::LockHeld => "lock held long",
            Self::SlowCpu => "slow CPU",
            Self::OtherThreads => "other threads",
            Self::TooMuchWork => "too much work",
        }
    }

    /// What could be done about it.
    pub fn remedy(self) -> &'static str {
        match self {
            Self::Stall => "every path of enqueue must lead to a queue, and dispatch must look into each of them",
            Self::Throttled => "raise the group's `max`, give it a `burst`, or spread its work over periods",
            Self::IdleExit => "limit the depth of idle states, or leave fewer CPUs to fall asleep between wake-ups",
            Self::ColdCaches => "keep the thread on its CPU, or under the same last-level cache",
            Self::MigrationThrash => "let the choice of a CPU prefer the one where the thread ran last",
            Self::KernelOverhead => "make callbacks shorter, or have fewer of them: longer slices, fewer wake-ups",
            Self::MissedIdleCpu => {
                "look for idle CPUs when the thread wakes, and let idle CPUs look for waiting threads"
            }
            Self::Affinity => "widen the thread's affinity",
            Self::HigherClass => "give the thread a real-time policy, or the others fewer rights or other CPUs",
            Self::HigherPriority => "raise the thread's priority, or give the others other CPUs",
            Self::Weight => "lower the thread's nice value, or use more CPUs",
            Self::LateClock => "let the governor raise clocks earlier: a lower rate limit, uclamp.min, or performance",
            Self::NotPreempted => "shorter slices, or preemption by threads that wake",
            Self::Crowded => "fewer threads or more CPUs; shorter slices spread the waits",
            Self::PriorityInversion => "use mutexes that inherit priority (`pi_enabled`)",
            Self::HolderPreempted => "hold the mutex more briefly, or let its holder run on",
            Self::LockConvoy => "hold the mutex more briefly, or split what it protects",
            Self::LockHeld => "hold the mutex more briefly",
            Self::SlowCpu => "place the thread by its utilisation: uclamp.min, or a hint of its length",
            Self::OtherThreads => "see what the threads did for which this one waited",
            Self::TooMuchWork => "less work for each round, a longer period, or a faster machine",
        }
    }
}
