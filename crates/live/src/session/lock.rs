// SPDX-License-Identifier: MIT OR Apache-2.0
//! The lock of the one session that there may be.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};

use super::error::SessionError;

/// Makes the folder, and sees to it that no other session begins while the lock is held.
pub(super) fn lock(folder: &Path) -> Result<Flock<File>, SessionError> {
    let path = folder.join("lock");
    let failed = |why: io::Error| SessionError::Lock { path: path.clone(), why };
    fs::create_dir_all(folder).map_err(failed)?;
    // Whatever the umask says: programs have to find the socket. Of the lock no other user shall take hold.
    fs::set_permissions(folder, Permissions::from_mode(0o755)).map_err(failed)?;
    let mut options = OpenOptions::new();
    let file = options.read(true).write(true).create(true).truncate(false).mode(0o600).open(&path).map_err(failed)?;
    let mut lock = Flock::lock(file, FlockArg::LockExclusiveNonblock).map_err(|(_, why)| match why {
        Errno::EWOULDBLOCK => {
            let process = fs::read_to_string(&path).unwrap_or_default().trim().to_owned();
            SessionError::Running { process }
        }
        why => failed(why.into()),
    })?;
    lock.set_len(0).and_then(|()| writeln!(lock, "{}", std::process::id())).map_err(failed)?;
    Ok(lock)
}
