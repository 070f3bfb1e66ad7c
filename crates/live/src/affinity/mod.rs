// SPDX-License-Identifier: MIT OR Apache-2.0
//! What can be done without sched_ext: the kernel's own scheduler decides, within affinities and limits of clocks.
//!
//! `request`: what is wanted. `places`: which thread may go where, and at which clock; it reads and writes nothing.
//! `census`: which threads there are. `acting`: does it. `error`: why not.
//!
//! **Isolation** (Grant & Afsahi, section 6): every thread of the system goes to the OS CPU, with the interrupts and the
//! kernel's work queues; dedicated, applications stay off it. An application is a process that was entered, with all that
//! descend from it, and every child of this process. Clocks are set once, at the beginning. The paper fixes them by the
//! governor `userspace`; here the highest clock that a policy may choose is lowered, which every driver can do and which
//! leaves the governor in place. As under sched_ext, a thread that may not use the OS CPU stays where it is: it was put there by
//! somebody, and may rely on being alone on its CPU.
//!
//! **Longest** (Lakshminarayana & Kim, section VI): of the threads of a process that have a length, as many as there are CPUs
//! of the fastest kind may use only these, the longest; others the rest. Where sched_ext has a wish this has an order:
//! a fast CPU stays idle while no long thread is ready.
//!
//! **Newcomers** inherit the affinity of who started them, so nearly all are where they belong at once. What
//! inherits wrongly (a kernel thread, a thread of a long one) is found by looking at `/proc` every time
//! [`tick`](Affinity::tick) is called, four times a second. The kernel's process events would tell sooner, but need a socket
//! that this kernel may not have, lose events under load, so that one would have to look anyway, and cost a
//! message for each process that a compilation starts, on the CPU that isolation keeps for noise.

mod acting;
mod census;
mod error;
mod places;
mod request;
#[cfg(test)]
mod tests;

pub use acting::Affinity;
pub use error::{AffinityError, NotHinted};
pub use request::AffinityRequest;
