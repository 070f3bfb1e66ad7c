// SPDX-License-Identifier: MIT OR Apache-2.0
//! The engine on small cases whose outcome can be worked out by hand.

mod accounting;
mod audits;
mod deadline;
mod disturbance;
mod ends;
mod full_dynticks;
mod inheritance;
mod interrupts;
mod rounds;
mod rt;
mod slack;
mod stress;
pub mod support;
mod sync;
