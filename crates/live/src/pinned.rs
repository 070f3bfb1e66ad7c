// SPDX-License-Identifier: MIT OR Apache-2.0
//! A thread that runs on one CPU for a while, as loaders do that must: some programs want to be run where they belong.

use std::io;

use nix::errno::Errno;
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;

/// This thread.
const SELF: Pid = Pid::from_raw(0);

/// This thread runs on one CPU until this is dropped.
#[derive(Debug)]
pub(crate) struct Pinned {
    /// Where it might run before.
    before: CpuSet,
}

impl Pinned {
    /// Moves this thread to a CPU.
    ///
    /// # Errors
    /// There is no such CPU, or it is offline, or this thread may not use it.
    pub(crate) fn on(cpu: u32) -> io::Result<Self> {
        let before = sched_getaffinity(SELF)?;
        let mut only = CpuSet::new();
        only.set(usize::try_from(cpu).map_err(|_| Errno::EINVAL)?)?;
        sched_setaffinity(SELF, &only)?;
        Ok(Self { before })
    }
}

impl Drop for Pinned {
    /// If its CPUs have all gone meanwhile, the kernel has let it run anywhere.
    fn drop(&mut self) {
        let _ = sched_setaffinity(SELF, &self.before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{cpus_of, has_two_cpus};

    #[test]
    fn a_thread_is_on_its_cpu_and_then_where_it_was() {
        if !has_two_cpus() {
            return;
        }
        let before = cpus_of(0);
        let pinned = Pinned::on(1).unwrap();
        assert_eq!(cpus_of(0), "1");
        drop(pinned);
        assert_eq!(cpus_of(0), before);
        assert!(Pinned::on(100_000).is_err());
    }
}
