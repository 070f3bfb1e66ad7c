// SPDX-License-Identifier: GPL-2.0-only
//! Tandem on the kernel that is running: `tandem run`, `attach`, `status`, `hint` and `restore`.
//!
//! - [`session`]: facts, plan, a scheduler that runs, and the machine given back; [`backend`]: the two ways of acting.
//! - [`run`]: a session around one command, which [`launch`] starts as the [`user`] who called. [`attach`]: one that stays.
//! - [`events`]: what happens meanwhile. [`mechanisms`]: options of both.
//! - [`status`], [`hint`]: questions to a session that runs. [`restore`]: what a killed one left.
//! - [`activity`]: a line of what was done lately. [`report`]: what a run was.

pub mod activity;
pub mod attach;
mod backend;
mod events;
pub mod hint;
pub mod launch;
mod mechanisms;
pub mod report;
pub mod restore;
pub mod run;
mod session;
pub mod status;
mod user;

use std::io::{Write, stderr};
use std::time::Duration;

/// Says something on standard error, beside what a command says there; whoever closed it does not want to know.
fn say(text: &str) {
    let _ = writeln!(stderr(), "tandem: {text}");
}

/// Reads a number of seconds, such as `5`, `0.5` or `2s`.
fn seconds(text: &str) -> Result<Duration, String> {
    let expected = || "expected seconds, from 0.1 to 86400".to_owned();
    let number: f64 = text.strip_suffix('s').unwrap_or(text).parse().map_err(|_| expected())?;
    if (0.1..=86400.0).contains(&number) { Ok(Duration::from_secs_f64(number)) } else { Err(expected()) }
}
