// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs sched_ext objects in the running kernel: loads them, watches over them, and gives the machine back.
//!
//! # Where to start
//!
//! - *Load one object and let it schedule*: [`OpenScheduler`], below.
//! - *Let Tandem's scheduler run around a command, or until told otherwise*, with all that belongs to it: [`session`].
//! - *Look without touching*: [`host`] has the facts of a kernel and a machine, [`plan`] what could be done with them.
//! - *Measure energy*: [`meter`]; *what memory can move*: [`bandwidth`]; *what cores draw and threads' switches cost*:
//!   [`calibrate`]. *Talk to a session that runs*: [`control`].
//!
//! # One object, top to bottom
//!
//! The object file is the one that the simulator runs, and its settings are read and checked by the same code
//! ([`tandem_bpf_vm::open`]); libbpf does the rest.
//!
//! 1. [`OpenScheduler::open`] reads a file; [`set`](OpenScheduler::set) sets global variables by name.
//!    What the object wants to know of the machine ([`machine`]) is said in the TOML file beside it.
//! 2. [`OpenScheduler::load`] gives it to the kernel's verifier, which accepts it or says why not ([`Refusal`]).
//! 3. [`LoadedScheduler::attach`] lets it schedule. [`LoadedScheduler::counters`] says what it does.
//! 4. [`LoadedScheduler::exit`] says whether and why it ended ([`Exit`]); [`LoadedScheduler::detach`] ends it.
//!
//! ```no_run
//! use std::path::Path;
//! use tandem_live::{LiveError, Machine, OpenScheduler};
//!
//! fn main() -> Result<(), LiveError> {
//!     let machine = Machine::running()?;
//!     let mut scheduler = OpenScheduler::open(Path::new("scx_simple.bpf.o"), &machine)?.load()?;
//!     scheduler.attach()?;
//!     std::thread::sleep(std::time::Duration::from_secs(10));
//!     scheduler.detach();
//!     if let Some(exit) = scheduler.exit() {
//!         println!("{exit}");
//!     }
//!     Ok(())
//! }
//! ```
//!
//! Loading takes root, and a kernel with `CONFIG_SCHED_CLASS_EXT`: Linux 6.12 or newer. [`kernel`] says what sched_ext is doing.
//! [`Observer`] attaches programs that only watch.
//!
//! # One session, top to bottom
//!
//! [`session::around`] and [`session::stay`] live through all of this; each step is a module that can be used alone.
//!
//! 1. [`host`] gathers the facts of kernel and machine. Nothing is decided yet.
//! 2. [`plan`] decides what can be done, and says what will have no effect. It reads and writes nothing.
//! 3. [`changes`] changes governors, limits and affinities, each with a line in a journal before it.
//! 4. A scheduler is loaded as above, or [`affinity`] does without one what it can.
//! 5. Meanwhile a [`meter`] counts energy, programs say at the [`control`] socket how long their threads are, and [`metrics`]
//!    tells monitoring systems.
//!    [`steered`] turns what processors leave to programs that choose clocks themselves.
//! 6. The scheduler goes, and the journal gives everything back: after an error and a panic, too, and after `kill -9` the
//!    next session does it.
//!
//! Everything is read and written below a root that a test chooses, and what acts on the kernel is behind a trait
//! ([`session::Site`]).

mod accounts;
pub mod affinity;
pub mod bandwidth;
pub mod calibrate;
pub mod changes;
pub mod control;
mod counters;
mod error;
mod exit;
mod fitting;
pub mod host;
pub mod kernel;
mod load;
mod messages;
pub mod meter;
pub mod metrics;
mod observer;
mod open;
mod ops_types;
mod pinned;
pub mod plan;
pub mod process;
mod refusal;
mod scheduler;
pub mod session;
pub mod steered;
mod tasks;
#[cfg(test)]
mod testing;

pub use tandem_loader::{cpus, machine};
use tandem_loader::{pmus, tree};

pub use counters::CounterSource;
pub use error::LiveError;
pub use exit::Exit;
pub use fitting::LeftOut;
pub use host::Host;
pub use load::{KeepsLimits, keeps_limits};
pub use machine::Machine;
pub use meter::Meters;
pub use observer::Observer;
pub use open::{LINUX, OpenScheduler};
pub use plan::{Plan, SessionRequest, clause};
pub use refusal::Refusal;
pub use scheduler::{LoadedScheduler, Uncounted, Verified};
pub use session::{Session, SessionError, Site};
