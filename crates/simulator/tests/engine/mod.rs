// SPDX-License-Identifier: MIT OR Apache-2.0
//! The engine on small cases whose outcome can be worked out by hand.

mod accounting;
mod audits;
mod deadline;
mod disturbance;
mod ends;
mod inheritance;
mod rounds;
mod rt;
mod stress;
pub mod support;
mod sync;
