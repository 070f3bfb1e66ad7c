// SPDX-License-Identifier: MIT OR Apache-2.0
//! Loads sched_ext objects into the running kernel.
//!
//! The object file is the one that the simulator runs, and its settings are read and checked by the same code
//! ([`tandem_bpf_vm::open`]); libbpf does the rest. One life, top to bottom:
//!
//! 1. [`OpenScheduler::open`] reads a file; [`set`](OpenScheduler::set) sets global variables by name.
//!    What the object wants to know of the machine ([`machine`]) is said in the TOML file beside it.
//! 2. [`OpenScheduler::load`] gives it to the kernel's verifier, which accepts it or says why not ([`Refusal`]).
//! 3. [`Scheduler::attach`] lets it schedule.
//! 4. [`Scheduler::exit`] says whether and why it ended; [`Scheduler::detach`] ends it.
//!
//! Before it, [`host`] gathers the facts of kernel and machine, and [`plan`] decides what can be done with them; what that
//! changes of the machine stands in a journal ([`changes`]). Meanwhile a [`meter`] measures energy, programs say at the
//! [`control`] socket how long their threads are, and [`metrics`] tells whoever asks. Without sched_ext [`affinity`] does what can
//! be done.
//!
//! All this needs root, and a kernel with `CONFIG_SCHED_CLASS_EXT`.

pub mod affinity;
pub mod changes;
pub mod control;
mod counters;
mod error;
mod exit;
pub mod host;
pub mod kernel;
mod load;
mod messages;
pub mod meter;
pub mod metrics;
mod observer;
mod open;
mod pinned;
pub mod plan;
pub mod process;
mod refusal;
mod scheduler;
mod tasks;
#[cfg(test)]
mod testing;

pub use tandem_loader::{cpus, machine};
use tandem_loader::{pmus, tree};

pub use counters::CounterSource;
pub use error::LiveError;
pub use exit::Exit;
pub use observer::Observer;
pub use open::{LINUX, OpenScheduler};
pub use refusal::Refusal;
pub use scheduler::{Scheduler, Uncounted, Verified};
