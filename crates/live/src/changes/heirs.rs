// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads that no journal names: others have started them, with a set of CPUs that we gave to these.
//!
//! **A thread that is just being started** has its starter's CPUs from the first moment of `fork` on, and is in `/proc` only at the
//! end. Between the two its starter may get its old CPUs back, and nobody would find what it starts. A thread that sleeps is in
//! no fork: the kernel sleeps there as `D` only. So threads are looked for until each starter has been seen asleep, or has ended,
//! and a look after that has found none. A starter that computes all the time cannot be told from one that forks: it is waited for
//! as long as [`PAUSES_MS`] say, in which a fork ends that is not kept from running.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use super::record::{Left, Records};
use super::restore::{Restored, give_back_one};
use super::{Setting, System};
use crate::tasks::{Stat, Tasks};

/// How often is looked, at most, however many threads each look finds.
const MOST_LOOKS: usize = 32;
/// What is waited after looks that found nothing, while a starter has not been seen asleep: a quarter of a second in all.
const PAUSES_MS: [u64; 8] = [1, 2, 4, 8, 16, 32, 64, 128];
/// How often an ancestor may end while a thread's ancestors are followed.
const MOST_ENDINGS: usize = 16;

/// Gives threads that inherited one of our affinities what they would have inherited without us.
pub(super) fn give_back(system: &System, records: &Records, began: u64, restored: &mut Restored) {
    let tasks = Tasks::below(system.root());
    let mut starters: BTreeSet<Setting> = records.in_order().into_iter().map(|left| left.setting.clone()).collect();
    let mut pauses = PAUSES_MS.iter();
    for _ in 0..MOST_LOOKS {
        // Before the look: what these have started is in sight then.
        starters.retain(|starter| may_be_starting(&tasks, starter));
        let found = look(system, records, began, restored);
        if !found.is_empty() {
            starters.extend(found);
            continue;
        }
        if starters.is_empty() {
            return;
        }
        let Some(pause) = pauses.next() else { return };
        system.threads().pause(Duration::from_millis(*pause));
    }
}

/// Whether a thread may be about to start another one: it is there, and awake, or asleep where no signal wakes it. This process
/// is not, since it is here; nor is one of the kernel's, which have others start threads for them.
fn may_be_starting(tasks: &Tasks, thread: &Setting) -> bool {
    let Setting::Affinity { pid, tid, start_time } = thread else { return false };
    let may = |stat: &Stat| stat.start_time == *start_time && matches!(stat.state, 'R' | 'D') && !stat.is_of_kernel();
    *pid != std::process::id() && tasks.thread(*pid, *tid).is_some_and(|stat| may(&stat))
}

/// Looks at all threads once, and gives heirs theirs back; those for which that was done, or that ended meanwhile.
fn look(system: &System, records: &Records, began: u64, restored: &mut Restored) -> Vec<Setting> {
    let root = system.root();
    let (tasks, mut found) = (Tasks::below(root), Vec::new());
    let threads =
        tasks.processes().into_iter().flat_map(|pid| tasks.threads(pid).into_iter().map(move |tid| (pid, tid)));
    for (pid, tid) in threads {
        // The kernel's workers go where its work queues may, not where anybody puts them.
        let is_heir = |stat: &Stat| stat.start_time >= began && stat.is_movable();
        let Some(stat) = tasks.thread(pid, tid).filter(is_heir) else { continue };
        let setting = Setting::Affinity { pid, tid, start_time: stat.start_time };
        if records.get(&setting).is_some() {
            continue;
        }
        let Ok(now) = tasks.allowed(pid, tid).map(|cpus| cpus.to_string()) else { continue };
        let Some(old) = inherited(root, records, began, &setting, &now) else { continue };
        if setting.is_same(&now, &old) {
            continue;
        }
        restored.stuck.retain(|stuck| stuck.setting != setting);
        let before = restored.given_back + restored.gone;
        give_back_one(system, &Left { given: vec![now], setting: setting.clone(), old, number: 0 }, restored);
        // One that has ended may have started others before.
        if restored.given_back + restored.gone > before {
            found.push(setting);
        }
    }
    found
}

/// The CPUs that a thread would have now if we had changed nothing: it has those that we gave to a relative of it in the
/// journal. `None` if it is no thread, older than the journal, or has others.
pub(super) fn inherited(root: &Path, records: &Records, began: u64, thread: &Setting, now: &str) -> Option<String> {
    let Setting::Affinity { pid, start_time, .. } = thread else { return None };
    if *start_time < began || !records.gave(now) {
        return None;
    }
    let tasks = Tasks::below(root);
    let (mut process, mut endings) = (*pid, 0);
    // A chain of parents ends at process 1 or 2; the count is for a /proc that changes while it is read.
    for _ in 0..1000 {
        let Some(stat) = tasks.process(process) else {
            // An ancestor that has just ended has left its children to another process.
            endings += 1;
            if process == *pid || endings > MOST_ENDINGS {
                return None;
            }
            process = *pid;
            continue;
        };
        // Records of an earlier process with its number are not its.
        let mut relatives = records.threads(process, stat.start_time).filter(|left| left.setting != *thread);
        if let Some(left) = relatives.find(|left| left.is_ours(now)) {
            return Some(left.old.clone());
        }
        process = Some(stat.parent).filter(|parent| *parent != 0)?;
    }
    None
}
