// SPDX-License-Identifier: MIT OR Apache-2.0
//! The journal of a process that died, from any bytes: what it changed is given back on a fake machine.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use tandem_live::changes::{Setting, System, Threads, left_behind, restore_left_behind};
use tandem_live::cpus::CpuList;
use tempfile::TempDir;

use super::scratch;

/// Files that a journal may be about, with what the dead process left in them.
const FILES: &[(&str, &str)] = &[
    ("sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "performance"),
    ("sys/devices/system/cpu/cpufreq/policy0/scaling_min_freq", "1000000"),
    ("sys/devices/system/cpu/cpufreq/policy0/scaling_max_freq", "2000000"),
    ("sys/devices/virtual/workqueue/cpumask", "3"),
    ("proc/irq/5/smp_affinity_list", "0-1"),
    ("proc/irq/default_smp_affinity", "3"),
    ("proc/sys/kernel/random/boot_id", "b"),
    ("proc/10/stat", "10 (p) S 1 0 0 0 0 0 0 0 0 0 0 0 0 0 20 0 2 0 500 0"),
    ("proc/10/status", "Name:\tp\nTgid:\t10\nCpus_allowed_list:\t0-1\n"),
    ("proc/10/task/10/stat", "10 (p) S 1 0 0 0 0 0 0 0 0 0 0 0 0 0 20 0 2 0 500 0"),
    ("proc/10/task/10/status", "Name:\tp\nTgid:\t10\nCpus_allowed_list:\t0-1\n"),
    ("proc/10/task/11/stat", "11 (p) S 1 0 0 0 0 0 0 0 0 0 0 0 0 0 20 0 2 0 600 0"),
    ("proc/10/task/11/status", "Name:\tp\nTgid:\t10\nCpus_allowed_list:\t0-1\n"),
];
/// The last files of these are about threads, and nobody writes them.
const CHANGEABLE: usize = 6;

/// Threads that may be moved, or not, and stay where they are.
#[derive(Debug)]
struct Fake;

impl Threads for Fake {
    fn allow(&self, pid: u32, tid: u32, cpus: &CpuList) -> io::Result<()> {
        assert!(pid == 10 && (tid == 10 || tid == 11), "no such thread: {tid} of {pid}");
        if cpus.is_empty() { Err(io::ErrorKind::InvalidInput.into()) } else { Ok(()) }
    }
}

thread_local! {
    static MACHINE: TempDir = {
        let folder = scratch::folder();
        FILES.iter().for_each(|(path, text)| scratch::write(&folder.path().join("root").join(path), text));
        folder
    };
}

/// Reads bytes as a journal, and gives back what it says.
pub fn run(bytes: &[u8]) {
    MACHINE.with(|folder| give_back(folder.path(), bytes));
}

fn give_back(folder: &Path, bytes: &[u8]) {
    let (root, tandem) = (folder.join("root"), folder.join("run/tandem"));
    let journal = tandem.join("changes/1-2.journal");
    scratch::write(&journal, bytes);
    let left = left_behind(&root, &tandem);
    let Ok(left) = left else { panic!("{left:?}") };
    // Whatever it says, it is a journal, or it is named.
    assert!(left.dead.len() + left.alive.len() + left.unread.len() <= 1, "{left:?}");
    for changed in left.dead.iter().flat_map(|left| &left.changes) {
        check(&changed.setting);
    }
    let restored = restore_left_behind(System::new(&root, Arc::new(Fake)), &tandem);
    let Ok(restored) = restored else { panic!("{restored:?}") };
    assert!(restored.dead.len() >= left.dead.len() && restored.unread.len() == left.unread.len());
    let text = String::from_utf8_lossy(bytes);
    for (_, restored) in &restored.dead {
        assert!(restored.unread_lines <= text.lines().count());
        let said = restored.kept.iter().map(ToString::to_string).chain(restored.stuck.iter().map(ToString::to_string));
        said.for_each(|said| assert!(!said.is_empty()));
        // A journal stays as long as something is still to be given back.
        assert_eq!(journal.exists(), !restored.stuck.is_empty());
    }
    mend(&root);
}

/// What is given back is where its kind is, and nowhere else.
fn check(setting: &Setting) {
    let (Setting::Governor { policy } | Setting::MinFrequency { policy } | Setting::MaxFrequency { policy }) = setting
    else {
        return;
    };
    assert!(!policy.contains('/'), "{policy:?} leads elsewhere");
}

/// Leaves everything as the dead process did.
fn mend(root: &Path) {
    for (path, text) in &FILES[..CHANGEABLE] {
        let place = root.join(path);
        if fs::read(&place).ok().as_deref() != Some(text.as_bytes()) {
            scratch::write(&place, text);
        }
    }
}
