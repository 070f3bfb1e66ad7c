// SPDX-License-Identifier: GPL-2.0-only
//! `tandem restore`: gives back what a session that was killed has left changed.

use std::path::Path;

use clap::Args;
use tandem_live::changes::{Restored, left_behind, restore_left_behind};
use tandem_live::session::{FOLDER, ROOT};

use crate::context::Context;
use crate::failure::Failure;
use crate::quantity::count;

const EXAMPLES: &str = "\
Examples:
  sudo tandem restore --list
  sudo tandem restore

A session gives everything back when it ends. Only one that was killed (kill -9) cannot; the next `tandem run` or
`tandem attach` does this by itself.";

/// Give back what a session that was killed has left changed: governors, limits of clocks, affinities, idle states
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Restore {
    /// Only say what it would be
    #[arg(long)]
    list: bool,
}

impl Restore {
    /// Runs the command.
    pub fn run(&self, context: &mut Context<'_>) -> Result<(), Failure> {
        let (root, folder) = (Path::new(ROOT), Path::new(FOLDER));
        let failed = |error: tandem_live::changes::ChangeError| Failure::System(error.to_string());
        let mut lines = Vec::new();
        let mut stuck = false;
        if self.list {
            for left in left_behind(root, folder).map_err(failed)? {
                lines.push(format!("process {}, which was killed:", left.owner.pid));
                lines.extend(left.changes.iter().map(|left| format!("  {}: was {}", left.setting, left.old)));
            }
        } else {
            for (owner, restored) in restore_left_behind(root, folder).map_err(failed)? {
                lines.push(format!("process {}, which was killed: {}", owner.pid, summary(&restored)));
                lines.extend(describe(&restored).iter().map(|line| format!("  {line}")));
                stuck |= !restored.stuck.is_empty();
            }
        }
        if lines.is_empty() {
            lines.push("Nothing was left changed.".to_owned());
        }
        context.out.write_all((lines.join("\n") + "\n").as_bytes())?;
        if stuck { Err(Failure::System("not everything could be given back".to_owned())) } else { Ok(()) }
    }
}

/// How much of it there was: `3 things are as before, 1 has gone`.
pub fn summary(restored: &Restored) -> String {
    let Restored { given_back, gone, kept, stuck, .. } = restored;
    let counts = [
        (*given_back, "given back"),
        (*gone, "gone by itself"),
        (kept.len(), "changed by somebody else since"),
        (stuck.len(), "still as it was left"),
    ];
    let parts: Vec<String> =
        counts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{} {what}", count(*n as u64))).collect();
    if parts.is_empty() { "nothing was left to give back".to_owned() } else { parts.join(", ") }
}

/// What is not as it was before, a line each.
pub fn describe(restored: &Restored) -> Vec<String> {
    let kept = restored.kept.iter().map(ToString::to_string);
    kept.chain(restored.stuck.iter().map(ToString::to_string)).collect()
}
