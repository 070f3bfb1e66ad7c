// SPDX-License-Identifier: MIT OR Apache-2.0
//! Gives back what was changed.

use std::fmt;

use super::error::is_gone;
use super::heirs;
use super::record::{Left, Records};
use super::{ChangeError, Setting, System};

/// What became of changes when they were given back.
#[derive(Debug, Default)]
pub struct Restored {
    /// So many things are as they were before.
    pub given_back: usize,
    /// So many are not there any more.
    pub gone: usize,
    /// Somebody else has changed these since, so they stay.
    pub kept: Vec<Kept>,
    /// These are still as we left them.
    pub stuck: Vec<Stuck>,
    /// So many lines of the journal mean nothing: it was cut off there, or is a newer version's.
    pub unread_lines: usize,
}

/// Something that somebody else has changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// The setting that stays as it is.
    pub setting: Setting,
    /// What it was before us.
    pub old: String,
    /// What we made of it.
    pub ours: String,
    /// What they made of it.
    pub theirs: String,
}

/// Something that could not be given back.
#[derive(Debug)]
pub struct Stuck {
    /// The setting that could not be given back.
    pub setting: Setting,
    /// What it was before us.
    pub old: String,
    /// Why the setting could not be given back.
    pub why: ChangeError,
}

impl fmt::Display for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { setting, old, ours, theirs } = self;
        write!(f, "{setting}: somebody has changed that from {ours} to {theirs}, so it stays; it was {old} at first")
    }
}

impl fmt::Display for Stuck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; that it was at first", self.why)
    }
}

/// Gives back all of it, and to threads that began since `began` (clock ticks) what their relatives had. What is done with
/// is forgotten.
pub(super) fn give_back(system: &System, records: &mut Records, began: u64) -> Restored {
    let mut restored = Restored::default();
    for left in records.last_first() {
        give_back_one(system, left, &mut restored);
    }
    if records.has_threads() {
        heirs::give_back(system, records, began, &mut restored);
    }
    let stuck: Vec<Setting> = restored.stuck.iter().map(|stuck| stuck.setting.clone()).collect();
    records.keep(&stuck);
    restored
}

pub(super) fn give_back_one(system: &System, left: &Left, restored: &mut Restored) {
    let Left { setting, old, given, .. } = left;
    let done = match setting.read(system.root()) {
        Ok(now) if setting.is_same(&now, old) => Ok(()),
        Ok(now) if !left.is_ours(&now) => {
            let ours = given.last().cloned().unwrap_or_default();
            restored.kept.push(Kept { setting: setting.clone(), old: old.clone(), ours, theirs: now });
            return;
        }
        Ok(_) => setting.give_back(system, old).map_err(|why| (true, why)),
        Err(why) => Err((false, why)),
    };
    match done {
        Ok(()) => restored.given_back += 1,
        Err((_, why)) if is_gone(&why) => restored.gone += 1,
        Err((is_write, why)) => {
            let (setting, to) = (setting.clone(), old.clone());
            let why = match is_write {
                true => ChangeError::Refused { setting: setting.clone(), to: to.clone(), why },
                false => ChangeError::Unreadable { setting: setting.clone(), why },
            };
            restored.stuck.push(Stuck { setting, old: to, why });
        }
    }
}
