// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why threads waited: the longest waits of a run, each with what happened meanwhile and what was to blame.
//!
//! A [`Recorder`] watches a run as an [`Observer`](crate::Observer) and keeps the worst waits only, so its memory is bounded,
//! whatever the run's length. [`Recorder::finish`] makes a [`Report`] of them.
//!
//! ```
//! use tandem_simulator::{Machine, Options, Workload, simulate, why::Recorder};
//!
//! let machine = Machine::load("hikey960")?;
//! let workload = Workload::load("pipeline".as_ref())?;
//! let mut recorder = Recorder::new(&machine, &workload, 3);
//! let report = simulate(&machine, &workload, &Options::default(), &mut recorder)?;
//! let why = recorder.finish(report.time_s);
//! assert_eq!(why.waits.len(), 3);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! - `record`: what is kept of a wait for a CPU. Start here. `waits`: all of them that go on. `locks`: waits for a mutex;
//!   `rounds`: what periodic threads do between two expiries of their timer, and how late they are. `worst`: the longest of many.
//! - [`cause`]: what can be to blame, and what helps. `classify`: from a record to its cause, a pure function.
//! - `recorder`: the observer, which puts all of this together.
//! - [`report`]: the records with names, as people and programs read them; `named` makes it of them.
//!
//! # Limits
//!
//! A wait for a CPU begins when the thread becomes runnable and ends with its first instruction: what it takes to leave an
//! idle state, to switch and to fill caches again is part of it. Threads that spin for a mutex wait for it, too. What the
//! partners at a barrier or in a join did is not followed. An offline CPU that comes during the run counts as none. A round
//! is what `timer` steps of rt-app files bound; of deadline threads without such a step none is known.

pub mod cause;
mod classify;
mod locks;
mod named;
mod record;
mod recorder;
pub mod report;
mod rounds;
mod waits;
mod worst;

#[cfg(test)]
mod tests;

pub use cause::Cause;
pub use recorder::Recorder;
pub use report::Report;
