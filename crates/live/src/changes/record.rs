// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lines of a journal, and what they say together.
//!
//! A line is a JSON object: one that was cut off is none, and is passed over.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::Setting;
use crate::tasks::Tasks;

/// The process that makes changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// Number of the process.
    pub pid: u32,
    /// When it began, in clock ticks after boot.
    pub start_time: u64,
    /// Which boot that was (`/proc/sys/kernel/random/boot_id`).
    pub boot: String,
}

impl Owner {
    /// This process.
    pub(super) fn this(root: &Path) -> Option<Self> {
        let (tasks, pid) = (Tasks::below(root), std::process::id());
        Some(Self { pid, start_time: tasks.process(pid)?.start_time, boot: tasks.boot() })
    }

    /// Whether it runs.
    pub fn lives(&self, root: &Path) -> bool {
        let tasks = Tasks::below(root);
        let process = tasks.process(self.pid).filter(|stat| stat.start_time == self.start_time && !stat.is_dead());
        process.is_some() && tasks.boot() == self.boot
    }
}

/// A line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Line {
    /// The first one.
    Owner(Owner),
    /// Will be changed now.
    Change { setting: Setting, old: String, to: String },
    /// Was changed, but not to exactly that: clocks are rounded.
    Became { setting: Setting, value: String },
    /// The kernel did not want the first change of it: it is as it was.
    Refused { setting: Setting },
    /// Somebody else has changed it since, and it is theirs.
    Released { setting: Setting },
}

/// Whether a line is about something that a session changes: no name in it leads to a file elsewhere.
fn line_is_plain(line: &Line) -> bool {
    match line {
        Line::Owner(_) => true,
        Line::Change { setting, .. } | Line::Became { setting, .. } => setting.is_plain(),
        Line::Refused { setting } | Line::Released { setting } => setting.is_plain(),
    }
}

/// A change as it was left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    /// The setting that was changed.
    pub setting: Setting,
    /// Value of the setting before the first change.
    pub old: String,
    /// The values that it was given since, different ones; the last is that of the last change.
    pub given: Vec<String>,
    /// Which change it was: they are given back from the last to the first.
    pub(super) number: usize,
}

impl Left {
    /// Whether a value is one that we gave.
    pub(super) fn is_ours(&self, value: &str) -> bool {
        self.given.iter().any(|given| self.setting.is_same(given, value))
    }

    /// Lines that say the same.
    pub(super) fn to_lines(&self) -> Vec<Line> {
        let line = |to: &String| Line::Change { setting: self.setting.clone(), old: self.old.clone(), to: to.clone() };
        self.given.iter().map(line).collect()
    }

    fn give(&mut self, value: String) {
        self.given.retain(|given| !self.setting.is_same(given, &value));
        self.given.push(value);
    }
}

/// What a journal says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Records {
    changes: BTreeMap<Setting, Left>,
    /// Sets of CPUs that threads were given.
    given: BTreeSet<String>,
    /// Changes so far, forgotten ones included.
    count: usize,
    /// Lines of the file.
    lines: usize,
}

impl Records {
    /// The owner, what was changed, and how many lines mean nothing. `None` if the first line is not the owner's.
    pub(super) fn read(text: &str) -> Option<(Owner, Self, usize)> {
        let mut lines = text.lines();
        let Ok(Line::Owner(owner)) = serde_json::from_str(lines.next()?) else { return None };
        let (mut records, mut unread) = (Self::default(), 0);
        for line in lines {
            match serde_json::from_str(line) {
                Ok(line) if line_is_plain(&line) => records.add(line),
                _ => unread += 1,
            }
        }
        Some((owner, records, unread))
    }

    pub(super) fn add(&mut self, line: Line) {
        self.count += 1;
        self.lines += 1;
        match line {
            Line::Owner(_) => {}
            Line::Change { setting, old, to } => {
                if matches!(setting, Setting::Affinity { .. }) {
                    self.given.insert(to.clone());
                }
                let new = Left { setting: setting.clone(), old, given: Vec::new(), number: self.count };
                self.changes.entry(setting).or_insert(new).give(to);
            }
            Line::Became { setting, value } => {
                if let Some(left) = self.changes.get_mut(&setting) {
                    left.give(value);
                }
            }
            Line::Refused { setting } | Line::Released { setting } => drop(self.changes.remove(&setting)),
        }
    }

    pub(super) fn get(&self, setting: &Setting) -> Option<&Left> {
        self.changes.get(setting)
    }

    /// The last first.
    pub(super) fn last_first(&self) -> Vec<&Left> {
        self.in_order().into_iter().rev().collect()
    }

    /// The first first.
    pub(super) fn in_order(&self) -> Vec<&Left> {
        let mut all: Vec<&Left> = self.changes.values().collect();
        all.sort_by_key(|left| left.number);
        all
    }

    /// Lines since it was begun or written anew.
    pub(super) fn lines(&self) -> usize {
        self.lines
    }

    /// Notes that the journal was written anew, with `lines` lines.
    pub(super) fn count_again(&mut self, lines: usize) {
        self.lines = lines;
    }

    /// Forgets threads of processes that are no more. Those of others may have heirs.
    pub(super) fn forget_ended(&mut self, tasks: &Tasks) {
        let mut began: BTreeMap<u32, Option<u64>> = BTreeMap::new();
        self.changes.retain(|setting, _| {
            let Setting::Affinity { pid, start_time, .. } = setting else { return true };
            let began = began.entry(*pid).or_insert_with(|| tasks.process(*pid).map(|stat| stat.start_time));
            began.is_some_and(|began| *start_time >= began)
        });
    }

    /// Threads of a process that began at or after a time, by number.
    pub(super) fn threads(&self, process: u32, since: u64) -> impl Iterator<Item = &Left> {
        let first = Setting::Affinity { pid: process, tid: 0, start_time: 0 };
        let last = Setting::Affinity { pid: process, tid: u32::MAX, start_time: u64::MAX };
        let is_later =
            move |left: &&Left| matches!(left.setting, Setting::Affinity { start_time, .. } if start_time >= since);
        self.changes.range(first..=last).map(|(_, left)| left).filter(is_later)
    }

    /// Whether any thread was given this set of CPUs, as a list in its shortest form.
    pub(super) fn gave(&self, cpus: &str) -> bool {
        self.given.contains(cpus)
    }

    pub(super) fn has_threads(&self) -> bool {
        self.changes.keys().any(|setting| matches!(setting, Setting::Affinity { .. }))
    }

    /// Forgets all but these.
    pub(super) fn keep(&mut self, settings: &[Setting]) {
        self.changes.retain(|setting, _| settings.contains(setting));
    }

    pub(super) fn len(&self) -> usize {
        self.changes.len()
    }
}
