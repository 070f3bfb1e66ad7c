// SPDX-License-Identifier: GPL-2.0-only
//! Tandem on the kernel that is running: `tandem run`, `attach`, `status`, `hint` and `restore`. What they do is
//! [`tandem_live::session`]; here are their arguments and their words.
//!
//! - [`run`]: a session around one command, which [`launch`] becomes. [`attach`]: a session that stays.
//! - [`mechanisms`]: options of both; [`bandwidth`]: what one of them takes from a description. [`words`]: what both say meanwhile. [`failure`]: why one did not begin.
//! - [`status`], [`hint`]: questions to a session that runs. [`restore`]: what a killed one left.
//! - [`activity`]: a line of what was done lately. [`report`]: what a run was.

pub mod activity;
pub mod attach;
mod bandwidth;
mod failure;
pub mod hint;
pub mod launch;
mod mechanisms;
pub mod report;
pub mod restore;
pub mod run;
pub mod status;
mod words;

use std::io::{Write, stderr};
use std::time::Duration;

use tandem_live::session::{Embedded, Site};

use crate::bundled::TANDEM;

/// This machine, and the scheduler that this program carries.
fn site() -> Site {
    Site::of_this_machine(Embedded { name: TANDEM.name, object: TANDEM.object, sidecar: TANDEM.sidecar })
}

/// Says something on standard error, beside what a command says there; if that is closed it is not wanted.
fn say(text: &str) {
    let _ = writeln!(stderr(), "tandem: {text}");
}

/// Reads a number of seconds, such as `5`, `0.5` or `2s`.
fn seconds(text: &str) -> Result<Duration, String> {
    let expected = || "expected seconds, from 0.1 to 86400".to_owned();
    let number: f64 = text.strip_suffix('s').unwrap_or(text).parse().map_err(|_| expected())?;
    if (0.1..=86400.0).contains(&number) { Ok(Duration::from_secs_f64(number)) } else { Err(expected()) }
}
