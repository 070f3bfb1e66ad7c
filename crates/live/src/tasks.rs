// SPDX-License-Identifier: MIT OR Apache-2.0
//! Processes and threads, as `/proc` lists them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::cpus::CpuList;

/// A kernel thread whose affinity nobody may change (`PF_NO_SETAFFINITY`): one that belongs to a CPU, or a worker.
const NO_SETAFFINITY: u64 = 0x0400_0000;

/// A thread of the kernel's own (`PF_KTHREAD`).
const KTHREAD: u64 = 0x0020_0000;

/// The processes below a root.
#[derive(Debug, Clone)]
pub(crate) struct Tasks {
    proc: PathBuf,
}

/// What `/proc/PID/stat` says of a process, or `/proc/PID/task/TID/stat` of a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stat {
    /// Name of the task, of at most 15 bytes.
    pub name: String,
    /// `R`, `S`, `Z` …
    pub state: char,
    /// The process that is its process's parent now.
    pub parent: u32,
    /// `PF_…` of the kernel's `sched.h`.
    pub flags: u64,
    /// Clock ticks after boot: tells it from another one that has its number later.
    pub start_time: u64,
}

impl Stat {
    /// Whether the kernel lets anybody change its affinity.
    pub(crate) fn is_movable(&self) -> bool {
        self.flags & NO_SETAFFINITY == 0
    }

    /// Whether it is one of the kernel's own.
    pub(crate) fn is_of_kernel(&self) -> bool {
        self.flags & KTHREAD != 0
    }

    /// Dead, though its parent has not been told yet.
    pub(crate) fn is_dead(&self) -> bool {
        matches!(self.state, 'Z' | 'X' | 'x')
    }

    /// The name is between the first and the last parenthesis, and may have anything in it, parentheses and blanks too.
    fn parse(text: &str) -> Option<Self> {
        let (before, after) = text.rsplit_once(')')?;
        let (_, name) = before.split_once('(')?;
        // From the third field of proc_pid_stat(5) on.
        let mut fields = after.split_ascii_whitespace();
        let state = fields.next()?.chars().next()?;
        let parent = fields.next()?.parse().ok()?;
        let flags = fields.nth(4)?.parse().ok()?;
        let start_time = fields.nth(12)?.parse().ok()?;
        Some(Self { name: name.to_owned(), state, parent, flags, start_time })
    }
}

impl Tasks {
    pub(crate) fn below(root: &Path) -> Self {
        Self { proc: root.join("proc") }
    }

    /// All processes, by number.
    pub(crate) fn processes(&self) -> Vec<u32> {
        numbers(&self.proc)
    }

    /// All processes, as they are listed while one reads on.
    pub(crate) fn listing(&self) -> Listing {
        Listing(fs::read_dir(&self.proc).ok())
    }

    /// The threads of a process, by number; none if it is gone.
    pub(crate) fn threads(&self, pid: u32) -> Vec<u32> {
        numbers(&self.proc.join(format!("{pid}/task")))
    }

    /// A process; `None` if it is gone.
    pub(crate) fn process(&self, pid: u32) -> Option<Stat> {
        Stat::parse(&fs::read_to_string(self.proc.join(format!("{pid}/stat"))).ok()?)
    }

    /// The process that a thread belongs to; `None` if it is gone.
    pub(crate) fn process_of(&self, tid: u32) -> Option<u32> {
        let status = fs::read_to_string(self.proc.join(format!("{tid}/status"))).ok()?;
        status.lines().find_map(|line| line.strip_prefix("Tgid:"))?.trim().parse().ok()
    }

    /// A thread; `None` if it is gone.
    pub(crate) fn thread(&self, pid: u32, tid: u32) -> Option<Stat> {
        Stat::parse(&fs::read_to_string(self.proc.join(format!("{pid}/task/{tid}/stat"))).ok()?)
    }

    /// The CPUs that a thread may use, those that are offline now included, which `sched_getaffinity` leaves out.
    pub(crate) fn allowed(&self, pid: u32, tid: u32) -> io::Result<CpuList> {
        let text = fs::read_to_string(self.proc.join(format!("{pid}/task/{tid}/status")))?;
        let list = text.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).and_then(CpuList::parse);
        list.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "no Cpus_allowed_list in it"))
    }

    /// Which boot this is; empty if the kernel does not say.
    pub(crate) fn boot(&self) -> String {
        fs::read_to_string(self.proc.join("sys/kernel/random/boot_id")).unwrap_or_default().trim().to_owned()
    }
}

/// The numbers of processes, read as they are asked for.
#[derive(Debug)]
pub(crate) struct Listing(Option<fs::ReadDir>);

impl Iterator for Listing {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        let entries = self.0.as_mut()?;
        // After an error nothing more comes.
        entries.map_while(Result::ok).find_map(|entry| number(&entry))
    }
}

fn number(entry: &fs::DirEntry) -> Option<u32> {
    entry.file_name().to_str()?.parse().ok()
}

/// The names in a folder that are numbers, ascending; none if it is not there.
fn numbers(folder: &Path) -> Vec<u32> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let mut numbers: Vec<u32> = entries.filter_map(|entry| number(&entry.ok()?)).collect();
    numbers.sort_unstable();
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_may_have_parentheses_and_blanks_in_them() {
        let text = "42 (a) R 1 (b) S 7 42 42 0 -1 69238848 0 0 0 0 0 0 0 0 20 0 1 0 123456 0 0";
        let stat = Stat::parse(text).unwrap();
        assert_eq!((stat.name.as_str(), stat.state, stat.parent, stat.start_time), ("a) R 1 (b", 'S', 7, 123_456));
        // 0x4208040: PF_NO_SETAFFINITY and others.
        assert!(!stat.is_movable());
        assert_eq!(Stat::parse("42 (a) R 1"), None);
    }

    #[test]
    fn this_thread_is_in_the_list_and_runs() {
        let (tasks, pid) = (Tasks::below(Path::new("/")), std::process::id());
        assert!(tasks.processes().contains(&pid) && tasks.threads(pid).contains(&pid));
        let stat = tasks.process(pid).unwrap();
        assert!(!stat.is_dead() && stat.is_movable() && stat.start_time > 0);
        let here = nix::sched::sched_getcpu().unwrap();
        assert!(tasks.allowed(pid, nix::unistd::gettid().as_raw() as u32).unwrap().contains(here));
    }
}
