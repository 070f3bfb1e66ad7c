// SPDX-License-Identifier: GPL-2.0-only
//! `tandem restore`: gives back what a session that was killed has left changed.

use std::path::Path;

use clap::Args;
use tandem_live::changes::{ChangeError, Found, LeftBehind, Owner, Restored, left_behind, restore_left_behind};
use tandem_live::session::{FOLDER, ROOT};

use crate::context::Context;
use crate::failure::Failure;
use crate::quantity::count;

const EXAMPLES: &str = "\
Examples:
  sudo tandem restore --list
  sudo tandem restore

A session gives everything back when it ends. Only one that was killed (kill -9) cannot; the next `tandem run` or
`tandem attach` does this by itself.

Exit status: 0 if nothing is left changed; 1 if something could not be given back, or a journal cannot be read, which is named.";

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
        let failed = |error: ChangeError| Failure::System(error.to_string());
        let told = match self.list {
            true => list(&left_behind(root, folder).map_err(failed)?),
            false => told(&restore_left_behind(root, folder).map_err(failed)?),
        };
        context.out.write_all((told.lines.join("\n") + "\n").as_bytes())?;
        if told.is_all { Ok(()) } else { Err(Failure::System("not everything could be given back".to_owned())) }
    }
}

/// What is printed, and whether nothing is left to do.
struct Told {
    lines: Vec<String>,
    is_all: bool,
}

impl Told {
    /// Adds what is no journal, and what to say where nothing else is.
    fn end<T>(mut self, found: &Found<T>) -> Self {
        if self.lines.is_empty() {
            self.lines.push("Nothing was left changed.".to_owned());
            let runs =
                |owner: &Owner| format!("Process {} runs, and gives back by itself what it has changed.", owner.pid);
            self.lines.extend(found.alive.iter().map(runs));
        }
        self.lines.extend(found.unread.iter().map(|why| format!("{why}; look at it, and remove it")));
        Self { is_all: self.is_all && found.unread.is_empty(), ..self }
    }
}

/// What would be given back.
fn list(found: &Found<LeftBehind>) -> Told {
    let mut lines = Vec::new();
    for left in &found.dead {
        lines.push(format!("process {}, which was killed:", left.owner.pid));
        lines.extend(left.changes.iter().map(|left| format!("  {}: was {}", left.setting, left.old)));
    }
    Told { lines, is_all: true }.end(found)
}

/// What was given back.
fn told(found: &Found<(Owner, Restored)>) -> Told {
    let mut lines = Vec::new();
    for (owner, restored) in &found.dead {
        lines.push(format!("process {}, which was killed: {}", owner.pid, summary(restored)));
        lines.extend(describe(restored).iter().map(|line| format!("  {line}")));
    }
    let is_all = found.dead.iter().all(|(_, restored)| restored.stuck.is_empty());
    Told { lines, is_all }.end(found)
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
