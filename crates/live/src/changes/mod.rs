// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is changed of the machine, so that it can be given back whatever happens.
//!
//! `setting`: what can be changed. `record`: lines of a journal. `journal`: changes things. `restore`: gives back, `heirs` to
//! threads that no journal names. `left_behind`: does that for a process that died. `system`: what is changed, which a test may fake.
//!
//! Every change is written to the owner's journal first, with the value before it, then made. The journal is a file of
//! `/run`, in memory: a line that was written is there after `kill -9`, and after a power cut neither the file nor the
//! settings are. A line that a crash cut off is the last one, and its change was not made.
//!
//! **Giving back** puts the old value where ours still is, last change first. What somebody else has changed since stays
//! theirs, and is said.
//!
//! **Threads inherit affinities**, so there are threads with ours that no journal names. A thread that has exactly a set of
//! CPUs that we gave, began after we did, and is not in the journal gets what its nearest relative in the journal had:
//! another thread of its process, else its parent, and so on. One that chose exactly our set by itself in the meantime
//! cannot be told from those. The kernel keeps what a thread asked for apart from what its cpuset allows; so a thread
//! is first allowed everything, and only if that is not what it had before it gets exactly that.

mod error;
mod heirs;
mod journal;
mod left_behind;
mod record;
mod restore;
mod setting;
mod system;
#[cfg(test)]
mod tests;

pub use error::ChangeError;
pub use journal::{Applied, Journal};
pub use left_behind::{Found, LeftBehind, left_behind, restore_left_behind};
pub use record::{Left, Owner};
pub use restore::{Kept, Restored, Stuck};
pub use setting::{Change, Setting};
pub use system::{KernelThreads, System, Threads};
