// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why affinities cannot do what is wanted.

use crate::changes::ChangeError;

/// Why nothing was begun, or it cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum AffinityError {
    /// A mechanism that only a scheduler can have.
    #[error(
        "{setting} needs a scheduler of its own, which sched_ext loads: affinities and clocks can do `isolate` and \
         `longest` only"
    )]
    NeedsScheduler {
        /// The setting of the mechanism.
        setting: String,
    },
    /// A value of another kind.
    #[error("{setting}={value}: expected {expected}")]
    Value {
        /// What was set.
        setting: String,
        /// To what.
        value: String,
        /// What would do.
        expected: &'static str,
    },
    /// A CPU and clocks for noise that is not isolated.
    #[error("os_cpu, os_mhz and rest_mhz mean something with isolate=dedicated or isolate=shared only")]
    NotIsolated,
    /// The OS CPU is not there.
    #[error("os_cpu={cpu}: that CPU is not online; these are: {online}")]
    OsCpu {
        /// What was set.
        cpu: usize,
        /// A list of those that are.
        online: String,
    },
    /// Isolation has nothing to choose from.
    #[error("isolate=dedicated leaves applications no CPU: one is online")]
    OneCpu,
    /// The journal cannot be written, or a clock not be set.
    #[error(transparent)]
    Change(#[from] ChangeError),
}

/// Why a thread's length is not heeded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotHinted {
    /// Nobody asked for it.
    #[error("lengths mean something with longest=true only")]
    NotAsked,
    /// It is not of an application, or there is no such thread.
    #[error("thread {tid} is none of an application's: only what `run` starts or `attach` was told of has lengths")]
    NoApplication {
        /// The thread.
        tid: u32,
    },
    /// There are too many already.
    #[error("{most} threads have lengths already, and more of this process, or of all, are not kept")]
    TooMany {
        /// How many there may be.
        most: usize,
    },
}
