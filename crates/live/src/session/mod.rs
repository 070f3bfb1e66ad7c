// SPDX-License-Identifier: MIT OR Apache-2.0
//! The life of a session: facts, a plan, changes with a journal, a scheduler that runs, and the machine given back.
//!
//! - [`around`]: a session around one command, which [`launch`] starts as the [`user`] who called, with none of root's
//!   `descriptors` and little of root's [`environment`].
//! - [`stay`]: a session that stays until it is told to go, for all programs.
//! - [`Session`] (`life`): what both have in common. `actor`: the two ways of acting. `lock`: one session at a time.
//! - [`Site`]: all that a session touches: the files below a root, a folder of its own, and traits for what acts on the kernel.
//!   A test puts a temporary folder and fakes there, and has a whole session in its hands.
//! - [`events`]: what happens meanwhile, and the time; `inbox`: in which order. [`Listener`]: hears what a session says
//!   ([`Notice`]).
//! - [`status`]: what a session answers at the control socket. [`applications`]: which processes were announced. `chores`,
//!   `adoption`: what takes long, in portions, so that nobody waits for it who has not asked for it.
//!
//! Nothing here prints: what is to be said is a [`Notice`], a [`SessionError`] or a part of [`Done`].

mod actor;
mod adoption;
pub mod applications;
mod chores;
mod command;
pub(crate) mod descriptors;
pub mod environment;
mod error;
pub mod events;
mod gone;
mod inbox;
pub mod launch;
mod life;
mod lock;
mod notice;
mod published;
mod resident;
mod site;
pub mod status;
#[cfg(test)]
mod tests;
pub mod user;

pub use applications::Application;
pub use command::{Around, CpuTime, Done, around};
pub use error::SessionError;
pub use gone::Gone;
pub use life::{MechanismState, Session, TICK};
pub use notice::{Listener, Notice};
pub use resident::{Resident, application, stay};
pub use site::{Embedded, FOLDER, Kernel, Loaded, ROOT, SOCKET, Site};
