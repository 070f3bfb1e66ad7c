// SPDX-License-Identifier: MIT OR Apache-2.0
//! The system that is changed: its files, and its threads, which no file can move.

use std::fmt::Debug;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;

use crate::cpus::CpuList;

/// Sets which CPUs threads may use.
pub trait Threads: Debug + Send + Sync {
    /// Lets the thread `tid` of the process `pid` run on `cpus` only. CPUs that the machine does not have are left out.
    ///
    /// # Errors
    /// The thread has ended, may not be moved, or has none of these CPUs.
    fn allow(&self, pid: u32, tid: u32, cpus: &CpuList) -> io::Result<()>;

    /// Lets threads go on for a time: those that are about to start others finish that meanwhile.
    fn pause(&self, time: Duration) {
        sleep(time);
    }
}

/// The threads of the running kernel (`sched_setaffinity`).
#[derive(Debug, Clone, Copy, Default)]
pub struct KernelThreads;

impl Threads for KernelThreads {
    /// CPUs beyond those that `CpuSet` has room for (1,024) are left out.
    fn allow(&self, _: u32, tid: u32, cpus: &CpuList) -> io::Result<()> {
        let mut set = CpuSet::new();
        for cpu in cpus.iter().take_while(|cpu| *cpu < CpuSet::count()) {
            set.set(cpu)?;
        }
        let no_thread = |_| io::Error::new(io::ErrorKind::InvalidData, "no thread has such a number");
        Ok(sched_setaffinity(Pid::from_raw(i32::try_from(tid).map_err(no_thread)?), &set)?)
    }
}

/// What a journal changes: files below a root, and threads.
#[derive(Debug, Clone)]
pub struct System {
    root: PathBuf,
    threads: Arc<dyn Threads>,
}

impl System {
    /// The files `sys` and `proc` below `root`, and these threads.
    pub fn new(root: &Path, threads: Arc<dyn Threads>) -> Self {
        Self { root: root.to_owned(), threads }
    }

    /// Where `/sys` and `/proc` are.
    pub fn root(&self) -> &Path {
        &self.root
    }

    pub(super) fn threads(&self) -> &dyn Threads {
        self.threads.as_ref()
    }
}

/// The files below a root, and the running kernel's threads, whatever the files say.
impl From<&Path> for System {
    fn from(root: &Path) -> Self {
        Self::new(root, Arc::new(KernelThreads))
    }
}
