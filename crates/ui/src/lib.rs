// SPDX-License-Identifier: MIT OR Apache-2.0
//! A page on this computer alone: choose a machine, a workload and schedulers, run, compare, share.
//!
//! A [`Server`] listens on 127.0.0.1. Its address has a token that nobody else knows; whatever does not come from its own page is
//! refused. Each run is a process of the command, started with the words that the page shows, in a folder that goes when the server
//! ends. So results are those of the command, to the byte, a run can be ended at any moment, and what goes wrong in it ends nothing else.
//!
//! - `gate`: which requests are let in
//! - `door`: who waits to be let in, few of each user
//! - `server`: connections, and their limits
//! - `api`: what the requests do
//! - `catalogue`: machines, workloads and schedulers to choose from
//! - `check`: mistakes in texts, with line and column
//! - `request`: what a person asked for, as words of a command line
//! - `jobs`: runs, one after the other
//! - `page`: the page itself, from `src/page/`

mod api;
mod catalogue;
mod check;
mod door;
mod gate;
mod jobs;
mod page;
mod request;
mod server;

pub use catalogue::Carried;
pub use server::{Server, UiError};
