// SPDX-License-Identifier: MIT OR Apache-2.0
//! Who may say what of whom: root of every process, anyone else of their own.

use std::path::Path;

use crate::process::Process;

/// Who asks: what the kernel says of the other end of a socket (`SO_PEERCRED`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer {
    /// User at the other end.
    pub user: u32,
    /// The user's group when the process connected.
    pub group: u32,
    /// Process at the other end.
    pub process: u32,
}

/// Number of the user who may do everything.
pub const ROOT_USER: u32 = 0;

impl Peer {
    /// Whether root asks.
    pub fn is_root(self) -> bool {
        self.user == ROOT_USER
    }
}

/// Why somebody may not say something of a process.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Denied {
    /// The process does not exist, or no more.
    #[error("there is no thread {0}")]
    Nobody(u32),
    /// The thread is the kernel's own.
    #[error("{0} is one of the kernel's own threads")]
    Kernel(u32),
    /// The process belongs to another user.
    #[error("{0} belongs to another user: only root may say something of it")]
    Foreign(u32),
    /// A thread, where a process is wanted.
    #[error("{0} is a thread of the process {1}, not a process")]
    NoProcess(u32, u32),
}

/// The thread or process `id`, if `peer` may speak for it.
///
/// # Errors
/// [`Denied`].
pub fn spoken_for(root: &Path, peer: Peer, id: u32) -> Result<Process, Denied> {
    let process = Process::read(root, id).ok_or(Denied::Nobody(id))?;
    if process.kernel {
        return Err(Denied::Kernel(id));
    }
    if !peer.is_root() && process.user() != Some(peer.user) {
        return Err(Denied::Foreign(id));
    }
    Ok(process)
}

/// The process, if `peer` may speak for all of it.
///
/// # Errors
/// [`Denied`].
pub fn spoken_for_process(root: &Path, peer: Peer, id: u32) -> Result<Process, Denied> {
    let process = spoken_for(root, peer, id)?;
    if process.group != id { Err(Denied::NoProcess(id, process.group)) } else { Ok(process) }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Thread 11 of process 10 of the user 7, and a thread of the kernel.
    fn tree() -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (id, group, user, flags) in [(10, 10, 7, 0), (11, 10, 7, 0), (2, 2, 0, 0x0020_0000)] {
            let folder = root.path().join(format!("proc/{id}"));
            fs::create_dir_all(&folder).unwrap();
            let status = format!("Name:\tp\nTgid:\t{group}\nPPid:\t1\nUid:\t{user}\t{user}\t{user}\t{user}\n");
            fs::write(folder.join("status"), status).unwrap();
            let stat = format!("{id} (p) S 1 0 0 0 0 {flags} 0 0 0 0 0 0 0 0 20 0 1 0 4321 0");
            fs::write(folder.join("stat"), stat).unwrap();
        }
        root
    }

    #[test]
    fn a_user_speaks_for_threads_of_their_own_and_root_for_all() {
        let root = tree();
        let said =
            |user, id| spoken_for(root.path(), Peer { user, group: 7, process: 1 }, id).map(|process| process.group);
        assert_eq!(said(7, 11), Ok(10));
        assert_eq!(said(8, 11), Err(Denied::Foreign(11)));
        assert_eq!(said(0, 11), Ok(10));
        assert_eq!(said(0, 12), Err(Denied::Nobody(12)));
        assert_eq!(said(0, 2), Err(Denied::Kernel(2)));
    }

    #[test]
    fn an_application_is_a_process_and_no_thread() {
        let root = tree();
        let peer = Peer { user: 7, group: 7, process: 1 };
        assert!(spoken_for_process(root.path(), peer, 10).is_ok());
        assert_eq!(spoken_for_process(root.path(), peer, 11), Err(Denied::NoProcess(11, 10)));
    }
}
